# Sourced by the other scripts: make_environment FOLDER makes a virtual environment with Python 3.11 or newer.

# Print a Python of 3.11 or newer: $PYTHON, or the first one on the path.
find_python() {
    local candidate
    for candidate in "${PYTHON:-}" python3.11 python3 python3.12 python3.13; do
        if [ -n "$candidate" ] && "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2> /dev/null; then
            echo "$candidate"
            return
        fi
    done
    echo "Python 3.11 or newer is needed; on Debian and Ubuntu: apt-get install python3.11 python3.11-venv" >&2
    return 1
}

# Debian splits venv off into a package of its own, which a bare system lacks.
install_venv_module() {
    local version package
    version=$("$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    package="python$version-venv"
    if [ "$(id -u)" != 0 ] || ! command -v apt-get > /dev/null; then
        echo "Python's venv module is missing; install it as root and try again: apt-get install $package" >&2
        return 1
    fi
    echo "== installing $package"
    apt-get update --quiet=2
    DEBIAN_FRONTEND=noninteractive apt-get install --yes --quiet=2 --no-install-recommends "$package" > /dev/null
}

make_environment() {
    local python
    if "$1/bin/python" -m pip --version > /dev/null 2>&1; then
        return
    fi
    python=$(find_python)
    "$python" -c 'import ensurepip, venv' 2> /dev/null || install_venv_module "$python"
    rm -rf "$1"
    "$python" -m venv "$1"
}
