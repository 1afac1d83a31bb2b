#!/usr/bin/env bash
# Build a TensorRT plan for every graph of a repository, on the GPU host that will serve it.
#
# NOT RUN on a GPU by those who wrote it: none was at hand. The options are those of trtexec in TensorRT 10 and 11.
#
# A plan fits one GPU model and one TensorRT version: run this on the host that serves, and again when either changes.
# The repository is that of `deid-export models repository SOURCE -o REPOSITORY --backend tensorrt`.
#
#   docker run --rm --gpus all -v "$PWD/REPOSITORY:/models" -v "$PWD/docker:/scripts:ro" \
#       "$TENSORRT_IMAGE" bash /scripts/build_plans.sh /models
#   tritonserver --model-repository=/models --model-config-name=plans ...
#
# TENSORRT_IMAGE: NVIDIA's image `tensorrt` of the same month as the server's, which has the same TensorRT.
set -euo pipefail

repository=${1:?usage: build_plans.sh REPOSITORY [TRTEXEC OPTION]...}
shift
trtexec=${TRTEXEC:-trtexec}
max_rows=$(sed -n 's/^max_batch_size: *//p' "$repository/v0/config.pbtxt")
max_tokens=128

command -v "$trtexec" > /dev/null || {
    echo "build_plans.sh: no $trtexec on the path; run this in NVIDIA's TensorRT container, or set TRTEXEC" >&2
    exit 2
}

# TensorRT 11 has no such option any more: there a graph runs in the types it is written in.
precision=()
if "$trtexec" --help 2>&1 | grep --quiet -e '--fp16'; then
    precision=(--fp16)
fi

# Print the shapes of a model's inputs for so many rows and tokens, as trtexec takes them.
shapes() {
    local config=$1 rows=$2 tokens=$3
    local inputs
    inputs=$(sed -n '/^input {/,/^}/p' "$config")
    if grep --quiet 'name: "hidden"' <<< "$inputs"; then
        echo "hidden:${rows}x${tokens}x$(sed -n 's/^ *dims: *\([0-9]\)/\1/p' <<< "$inputs")"
    else
        echo "input_ids:${rows}x${tokens},token_type_ids:${rows}x${tokens},attention_mask:${rows}x${tokens}"
    fi
}

for config in "$repository"/*/configs/plans.pbtxt; do
    model=$(dirname "$(dirname "$config")")
    version=$(dirname "$model"/*/model.onnx)
    echo "== $(basename "$model")"
    "$trtexec" --onnx="$version/model.onnx" --saveEngine="$version/model.plan" "${precision[@]}" \
        --minShapes="$(shapes "$config" 1 32)" \
        --optShapes="$(shapes "$config" $((max_rows / 2)) 64)" \
        --maxShapes="$(shapes "$config" "$max_rows" "$max_tokens")" \
        --skipInference "$@"
done
