#!/usr/bin/env bash
# Adapt the models to a site: new thresholds, then new heads, each kept only when it is better on notes kept apart.
#
#   bash examples/adapt_to_site.sh LEARN CHOOSE MEASURE LISTS OUT
#
# LEARN    annotated notes (.jsonl with spans) to train on
# CHOOSE   annotated notes of other patients, to choose thresholds and versions of the heads by
# MEASURE  annotated notes of still other patients, to measure on and for nothing else
# LISTS    folder of names, places and words that training draws values from (`deid-export train --lists`)
# OUT      new folder; OUT/current links to the models that did best
#
# Options are environment variables: RECALL to reach on CHOOSE (0.98), TOKENS of the training (800000), THREADS (2),
# MODELS to begin with (those of the package), BASE that they were trained from (the packaged one), LAYERS that the
# heads share (4), and ITERATE and ONNX for further options of `deid-export adapt iterate` and `deid-export models onnx`.
set -euo pipefail
learn=$1 choose=$2 measure=$3 lists=$4 out=$5
: "${RECALL:=0.98}" "${TOKENS:=800000}" "${THREADS:=2}" "${LAYERS:=4}" "${ITERATE:=}" "${ONNX:=}" "${BASE:=}"
: "${MODELS:=$(python -c 'from deid_runtime.models.manifest import find_models; print(find_models(None))')}"
base=(${BASE:+--base "$BASE"})
mkdir "$out"

# score FOLDER: what the models of FOLDER reach on MEASURE: F2 of all labels, which weighs recall more, recall, precision.
score() {
    local found=$1/measured.jsonl
    # 1: some notes were held back; they count as missed.
    deid detect "$measure" -o "$found" --models "$1" --trust-models --workers 1 --quiet || test $? -eq 1
    deid evaluate --gold "$measure" --found "$found" --json | python -c '
import json, sys
tokens = json.load(sys.stdin)["groups"]["C"]["tokens"]
recall, precision = tokens["recall"] or 0.0, tokens["precision"] or 0.0
f2 = 5 * precision * recall / ((4 * precision + recall) or 1)
print(f"{f2:.4f} {recall:.4f} {precision:.4f}")'
}

# keep FOLDER: link OUT/current to it when it is better than what was best so far.
keep() {
    local reached
    reached=$(score "$out/$1")
    if python -c 'import sys; sys.exit(float(sys.argv[1].split()[0]) <= float(sys.argv[2].split()[0]))' "$reached" "$best"; then
        ln -sfn "$1" "$out/current"
        echo "$1: F2, recall, precision $reached, before $best: kept"
        best=$reached
    else
        echo "$1: F2, recall, precision $reached, before $best: rolled back"
    fi
}

echo "== 0: the models to begin with"
cp -r "$MODELS" "$out/0-before"
ln -s 0-before "$out/current"
best=$(score "$out/0-before")
echo "0-before: F2, recall, precision $best"

echo "== 1: thresholds for a recall of $RECALL"
cp -r "$MODELS" "$out/1-threshold"
deid-export models calibrate "$out/1-threshold" --dev "$choose" --recall "$RECALL"
keep 1-threshold

echo "== 2: heads that learn from what the system gets wrong"
deid-export models restore "$MODELS/v0/1/model.onnx" -o "$out/heads.pt" --shared-layers "$LAYERS" "${base[@]}"
# shellcheck disable=SC2086 # several options in one variable
deid-export adapt iterate "$out/registry" --trained "$out/heads.pt" --notes "$learn" --dev "$choose" --lists "$lists" \
    --tokens "$TOKENS" --threads "$THREADS" "${base[@]}" $ITERATE
deid-export adapt versions "$out/registry" -o "$out/best.pt" --place 1
# shellcheck disable=SC2086 # several options in one variable
deid-export models onnx "$out/best.pt" --notes "$learn" -o "$out/2-heads" "${base[@]}" $ONNX
deid-export models calibrate "$out/2-heads" --dev "$choose" --recall "$RECALL"
keep 2-heads

echo "== in use: $out/current -> $(readlink "$out/current")"
