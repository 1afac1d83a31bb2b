#!/usr/bin/env bash
# Install the tools that build an image into /opt/tools. Runs inside the build of the image, and stays behind there.
set -euo pipefail
cd "$(dirname "$0")"
source locks.sh

# PYTHON may name the Python of the base image; server-cpu needs 3.11.
python=${PYTHON:-}
for candidate in python3.11 python3; do
    [ -n "$python" ] || python=$(command -v "$candidate" || true)
done
"${python:-false}" -c 'import sys, venv; sys.exit(sys.version_info < (3, 11))' || {
    echo "tools.sh: the base image needs Python 3.11 or newer on its path, with the module venv" >&2
    exit 2
}

# A base need not have pip: pip runs from its own wheel, after that was compared with the lock.
tools=../../requirements/image-tools.txt
wheel=$(echo "/wheels/pip-$(sed --quiet 's/^pip==\([^ ]*\).*/\1/p' "$tools")"-*.whl)
digest=$(sha256sum "$wheel" | cut --delimiter ' ' --fields 1)
sed --quiet '/^pip==/,/^[^ p]/p' "$tools" | grep --quiet "sha256:$digest" || {
    echo "tools.sh: $wheel is not the file that $tools names" >&2
    exit 1
}
"$python" -m venv --without-pip /opt/tools
for lock in $TOOL_LOCKS; do
    /opt/tools/bin/python "$wheel/pip" --isolated --disable-pip-version-check --no-cache-dir install --quiet \
        --no-index --find-links /wheels --require-hashes --no-deps -r "../../requirements/$lock.txt"
done
# The environment that goes into the image has no pip: nothing is installed there later.
"$python" -m venv --without-pip /opt/deid
