#!/usr/bin/env bash
# Build the images of docker/Dockerfile.
#
#   images.sh wheels IMAGE...   put what the locks of these images name into dist/wheels; this alone asks an index
#   images.sh build IMAGE...    build each image from dist/wheels, without a network, as deid-IMAGE:TAG
#
# IMAGE is cli, server-cpu, server-gpu, gateway, worker or review. Environment variables:
#
#   BASE_IMAGE      base of the images (docker/Dockerfile says what it must hold; scripts/base_image.sh makes one)
#   TAG             tag of the images; default: the version of deid-runtime
#   BUILDER         buildah (default), podman or docker
#   BUILD_OPTIONS   more options for the builder, as "--isolation chroot"
#   PYTHON_VERSION  version of Python in the base image, which decides on the wheels; default 3.11
#   PYTHON          the Python on this machine that asks the index
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/environment.sh
source docker/steps/locks.sh

python_version=${PYTHON_VERSION:-3.11}
version=$(sed --quiet 's/^version = "\(.*\)"$/\1/p' pyproject.toml)

# wheels IMAGE...: download the archives of all locks that these images need.
wheels() {
    local images=("$@") work lock image platform
    local -a locks=($TOOL_LOCKS) target=()
    for image in "${images[@]}"; do
        lock=$(lock_of "$image")
        locks+=("$lock")
    done
    if [ "$(version_of "$(find_python)")" != "$python_version" ]; then
        target=(--python-version "$python_version" --implementation cp)
        for platform in manylinux_2_{28,27,26,24,17,12,5} manylinux{2014,2010,1}; do
            target+=(--platform "${platform}_$(uname -m)")
        done
    fi
    work=$(mktemp -d)
    trap "rm -rf '$work'" EXIT
    make_environment "$work/tools"
    for lock in $TOOL_LOCKS; do
        "$work/tools/bin/python" -m pip install --quiet --require-hashes --no-deps -r "requirements/$lock.txt"
    done
    mkdir -p dist/wheels
    for lock in $(printf '%s\n' "${locks[@]}" | sort --unique); do
        echo "== dist/wheels: requirements/$lock.txt" >&2
        # Spark comes as source alone, and is built in the image.
        "$work/tools/bin/python" -m pip download --quiet --require-hashes --no-deps --no-build-isolation \
            --only-binary :all: --no-binary pyspark "${target[@]}" --dest dist/wheels -r "requirements/$lock.txt"
    done
}

# digest_of BUILDER IMAGE: print the digest that IMAGE is named with or that the builder knows; nothing when neither.
digest_of() {
    case $1,$2 in
        *@sha256:*) echo "${2#*@}" ;;
        buildah,*) buildah inspect --type image --format '{{.FromImageDigest}}' "$2" 2> /dev/null ;;
        podman,*) podman image inspect --format '{{.Digest}}' "$2" 2> /dev/null ;;
        *) "$1" image inspect --format '{{index .RepoDigests 0}}' "$2" 2> /dev/null | sed 's/.*@//' ;;
    esac || true
}

# build IMAGE: build one image from dist/wheels.
build() {
    local image=$1 builder=${BUILDER:-buildah} commit="" changed="" digest=""
    if commit=$(git rev-parse HEAD 2> /dev/null); then
        changed=$(git status --porcelain -- . | head -n 1)
    fi
    case $builder in
        buildah) set -- buildah bud --format docker ;;
        podman) set -- podman build --format docker ;;
        *) set -- "$builder" build ;;
    esac
    digest=$(digest_of "$builder" "$BASE_IMAGE")
    echo "== deid-$image:${TAG:-$version}" >&2
    # shellcheck disable=SC2086 # several options
    "$@" ${BUILD_OPTIONS:-} --file docker/Dockerfile --target "$image" --tag "deid-$image:${TAG:-$version}" \
        --build-arg BASE_IMAGE="$BASE_IMAGE" --build-arg BASE_DIGEST="$digest" --build-arg VERSION="$version" \
        --build-arg SOURCE_COMMIT="$commit" --build-arg SOURCE_CHANGED="$changed" .
}

command=${1:-}
[ $# -ge 2 ] || command=""
case $command in
    wheels | build) shift ;;
    *)
        sed --quiet '2,/^set /{s/^# \{0,1\}//p}' "$0" >&2
        exit 2
        ;;
esac
for image in "$@"; do
    lock_of "$image" > /dev/null
done
if [ "$command" = wheels ]; then
    wheels "$@"
    exit
fi
: "${BASE_IMAGE:?name the base of the images; scripts/base_image.sh makes one of packages of Debian}"
for image in "$@"; do
    build "$image"
done
