#!/usr/bin/env bash
# Build the documentation into site/ with the Python of $PYTHON, or of .venv-dev. Any warning is an error.
set -euo pipefail
cd "$(dirname "$0")/.."
# The theme would print a note about other tools, which hides what matters in a log.
NO_MKDOCS_2_WARNING=true exec "${PYTHON:-.venv-dev/bin/python}" -m mkdocs build --strict --quiet "$@"
