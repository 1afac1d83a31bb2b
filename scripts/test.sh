#!/usr/bin/env bash
# Install everything, training included, into .venv-dev and run all checks, the build of the documentation among them. Arguments go to pytest.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/environment.sh

make_environment .venv-dev
bin=.venv-dev/bin
install_shared_python "$bin/python"
install_browser
install_prometheus
install_postgresql
install_java
pip() { "$bin/python" -m pip --disable-pip-version-check "$@"; }
echo "== installing"
# First and by its exact version, with what it needs: other builds and plain "torch" pull gigabytes of GPU libraries.
# The locks then set everything else; they hold no torch, so pip must not look for the dependencies of what is in them.
pip install --quiet --no-compile torch==2.13.0
files=()
for lock in export base-model build docs spark ray kubernetes kserve; do
    files+=(--requirement "requirements/$lock.txt")
done
pip install --quiet --no-compile --require-hashes --no-deps "${files[@]}"
pip install --quiet --no-deps --no-build-isolation --editable .
# The tests start hundreds of processes: each of them would compile the modules again.
unset PYTHONDONTWRITEBYTECODE
"$bin/python" -m compileall -q deid_runtime client/deid_client export/deid_export

echo "== ruff"
"$bin/ruff" check .
"$bin/ruff" format --check .
echo "== mypy"
"$bin/mypy"
"$bin/mypy" benchmarks/*.py benchmarks/*/*.py examples/*.py scripts/*.py
echo "== documentation"
bash scripts/docs.sh
echo "== pytest"
# A file of tests stays in one process: its tests share servers and browsers. tests/conftest.py sorts the files.
ray=tests/deid_runtime/spark/test_ray_data.py
"$bin/python" -m pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder --ignore "$ray" "$@"
echo "== pytest, with Ray"
# In a process of its own: what Ray loads can end children that other tests fork.
"$bin/python" -m pytest "$ray"
