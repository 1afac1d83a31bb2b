#!/usr/bin/env bash
# Build the documentation into site/ with the Python of $PYTHON, or of .venv-dev. Any warning is an error.
set -euo pipefail
cd "$(dirname "$0")/.."
# No promotion of other tools in the output, which is read by people and by continuous integration.
DISABLE_MKDOCS_2_WARNING=true NO_MKDOCS_2_WARNING=true exec "${PYTHON:-.venv-dev/bin/python}" -m mkdocs build --strict --quiet "$@"
