#!/usr/bin/env bash
# Build a TensorRT plan for every graph of a repository, on the GPU host that will serve it.
#
# NOT RUN by those who wrote it: no GPU was at hand. The options are those of trtexec in TensorRT 10.
#
# A plan fits one GPU model and one TensorRT version: run this on the host that serves, and again when either changes. The repository is that of `deid-export repository SOURCE -o REPOSITORY --backend tensorrt`.
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
hidden=384
max_tokens=128

command -v "$trtexec" > /dev/null || {
    echo "build_plans.sh: no $trtexec on the path; run this in NVIDIA's TensorRT container, or set TRTEXEC" >&2
    exit 2
}

# Print the shapes of a model's inputs for so many rows and tokens, as trtexec takes them.
shapes() {
    local config=$1 rows=$2 tokens=$3
    if grep --quiet 'name: "hidden"' <(sed -n '/^input {/,/^}/p' "$config"); then
        echo "hidden:${rows}x${tokens}x${hidden}"
    else
        echo "input_ids:${rows}x${tokens},token_type_ids:${rows}x${tokens},attention_mask:${rows}x${tokens}"
    fi
}

for config in "$repository"/*/configs/plans.pbtxt; do
    model=$(dirname "$(dirname "$config")")
    echo "== $(basename "$model")"
    # int8 where the graph is quantised (its Q and DQ nodes say where), fp16 elsewhere.
    "$trtexec" --onnx="$model/1/model.onnx" --saveEngine="$model/1/model.plan" --fp16 --int8 \
        --minShapes="$(shapes "$config" 1 32)" \
        --optShapes="$(shapes "$config" $((max_rows / 2)) 64)" \
        --maxShapes="$(shapes "$config" "$max_rows" "$max_tokens")" \
        --skipInference "$@"
done
