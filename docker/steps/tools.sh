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
"${python:-false}" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
    echo "tools.sh: the base image needs Python 3.11 or newer on its path" >&2
    exit 2
}

options=(--isolated --disable-pip-version-check --no-cache-dir)
if "$python" -c 'import ensurepip' 2> /dev/null; then
    "$python" -m venv /opt/tools
    pip=(/opt/tools/bin/python -m pip "${options[@]}")
else # a base with pip and without the package that makes environments
    "$python" -m venv --without-pip /opt/tools
    pip=("$python" -m pip --python /opt/tools/bin/python "${options[@]}")
fi
for lock in $TOOL_LOCKS; do
    "${pip[@]}" install --quiet --no-index --find-links /wheels --require-hashes --no-deps -r "../../requirements/$lock.txt"
done
# The environment that goes into the image has no pip: nothing is installed there later.
"$python" -m venv --without-pip /opt/deid
