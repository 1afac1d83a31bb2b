#!/usr/bin/env bash
# Install the libraries of one image and the wheel of this tree into /opt/deid, and write what is in it to /usr/share/deid:
# the bill of materials, the provenance file, the licence. Runs inside the build of that image.
set -euo pipefail
image=$1
cd "$(dirname "$0")"
source locks.sh
lock=/src/requirements/$(lock_of "$image").txt
share=/usr/share/deid
packages=$(/opt/deid/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')

pip() {
    /opt/tools/bin/python -m pip --isolated --disable-pip-version-check --no-cache-dir "$@"
}

# Compare each file with its hash, and build what comes as source, with the tools of the lock.
pip wheel --quiet --no-index --find-links /wheels --no-deps --no-build-isolation --require-hashes --wheel-dir /opt/checked -r "$lock"
pip --python /opt/deid/bin/python install --quiet --no-index --no-deps --no-compile /opt/checked/*.whl /opt/own/*.whl
# What the lock leaves out on purpose; see requirements/cli.in.
pip --python /opt/deid/bin/python check > /opt/check.txt || true
left_out='^No broken requirements found|requires (huggingface-hub|openvino), which is not installed'
[ "$image" = cli ] || left_out='^No broken requirements found'
if grep --invert-match --extended-regexp "$left_out" /opt/check.txt; then
    echo "install.sh: the lock of $image lacks the libraries above" >&2
    exit 1
fi

mkdir -p "$share"
cp /src/LICENSE /src/NOTICE health.py "$share"
# Before files are taken out: the bill lists what was installed.
/opt/tools/bin/cyclonedx-py environment --output-format JSON --spec-version 1.6 --output-reproducible \
    --pyproject /src/pyproject.toml --mc-type application --output-file /opt/python.cdx.json /opt/deid/bin/python
dpkg-query --show --showformat '${binary:Package}\t${Version}\t${Architecture}\t${source:Package}\n' > /opt/packages.tsv
/opt/tools/bin/python sbom.py --python-bill /opt/python.cdx.json --system-packages /opt/packages.tsv \
    --os-release /etc/os-release --archives /wheels --site-packages "$packages" --image "deid-$image" --out "$share/sbom.cdx.json"
/opt/tools/bin/python provenance.py --image "deid-$image" --source /src --wheel /opt/own/*.whl \
    --lock "$lock" $(printf -- '--lock /src/requirements/%s.txt ' $TOOL_LOCKS) --out "$share/provenance.json"
/opt/tools/bin/python prune.py "$packages" prune.txt

# Compiled once, since a read-only root keeps nothing. The files are not compared with their sources, whose times a builder
# may change.
/opt/deid/bin/python -m compileall -q --invalidation-mode unchecked-hash -x '/(lib2to3|bad_)' "$packages"
ln -s "$packages" /opt/deid/packages
/opt/deid/bin/deid --version
