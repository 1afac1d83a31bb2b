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

version_of() {
    "$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])'
}

# install_package PACKAGE WHAT: what a bare system lacks, parts of Python among it.
install_package() {
    local package=$1
    if [ "$(id -u)" != 0 ] || ! command -v apt-get > /dev/null; then
        echo "the $2 is missing; install it as root and try again: apt-get install $package" >&2
        return 1
    fi
    echo "== installing $package"
    apt-get update --quiet=2
    DEBIAN_FRONTEND=noninteractive apt-get install --yes --quiet=2 --no-install-recommends "$package" > /dev/null
}

# install_shared_python PYTHON: the inference server loads Python as a library.
install_shared_python() {
    local version
    version=$(version_of "$1")
    "$1" - "libpython$version.so.1.0" 2> /dev/null << 'EOF' || install_package "libpython$version" "shared library of Python"
import ctypes, pathlib, sys, sysconfig
beside = pathlib.Path(sysconfig.get_config_var("LIBDIR"), sys.argv[1])
ctypes.CDLL(str(beside) if beside.exists() else sys.argv[1])
EOF
}

# install_browser: the tests of the pages drive a real browser.
install_browser() {
    command -v chromium > /dev/null || command -v chromium-browser > /dev/null || install_package chromium "browser for tests"
}

# install_prometheus: the tests load alerts and the queries of the dashboard into a real one.
install_prometheus() {
    command -v promtool > /dev/null || install_package prometheus "Prometheus for tests"
}

# install_postgresql: the tests read tables of a real server, which they start themselves.
install_postgresql() {
    command -v initdb > /dev/null || compgen -G '/usr/lib/postgresql/*/bin/initdb' > /dev/null \
        || install_package postgresql "PostgreSQL for tests"
}

# Spark needs Java 17 or newer.
install_java() {
    local told
    told=$("${JAVA_HOME:+$JAVA_HOME/bin/}java" -version 2>&1 | sed --quiet '1s/.*version "\([0-9]*\).*/\1/p') || true
    [ "${told:-0}" -ge 17 ] || install_package openjdk-17-jre-headless "Java 17 that Spark needs"
}

make_environment() {
    local python pip
    if "$1/bin/python" -m pip --version > /dev/null 2>&1; then
        return
    fi
    python=$(find_python)
    "$python" -c 'import ensurepip, venv' 2> /dev/null || install_package "python$(version_of "$python")-venv" "venv module of Python"
    rm -rf "$1"
    "$python" -m venv --without-pip "$1"
    # As ensurepip does, but without compiling the modules of pip, which takes longer than all else here.
    pip=$("$python" -c 'import ensurepip, pathlib
folder = getattr(ensurepip, "_WHEEL_PKG_DIR", None) or pathlib.Path(ensurepip.__file__).parent / "_bundled"
print(next(pathlib.Path(folder).glob("pip-*.whl"), ""))')
    if [ -n "$pip" ]; then
        "$1/bin/python" "$pip/pip" --disable-pip-version-check install --quiet --no-compile --no-index "$pip"
    else
        "$1/bin/python" -m ensurepip > /dev/null
    fi
}
