#!/usr/bin/env bash
# Install deid-runtime into .venv and de-identify examples/notes.jsonl into out/.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/environment.sh

make_environment .venv
echo "== installing"
pip() { .venv/bin/python -m pip --disable-pip-version-check "$@"; }
# What is not compiled now is compiled when it is first imported, and most of it never is.
pip install --quiet --no-compile --require-hashes -r requirements/runtime.txt -r requirements/build.txt
pip install --quiet --no-compile --no-deps --no-build-isolation --force-reinstall .

echo "== de-identifying examples/notes.jsonl into out/notes.jsonl"
mkdir -p out
[ -e out/demo.key ] || .venv/bin/deid key new out/demo.key
.venv/bin/deid run examples/notes.jsonl --patients examples/patients.jsonl --key out/demo.key --out out/notes.jsonl \
    --overwrite

echo "== the first note, before and after"
for file in examples/notes.jsonl out/notes.jsonl; do
    head -n 1 "$file" | .venv/bin/python -c 'import json, sys; print(json.loads(sys.stdin.readline())["text"])'
    echo "----"
done
echo "All of them: out/notes.jsonl. What was done: out/notes.jsonl.manifest.json. The command: .venv/bin/deid --help"
