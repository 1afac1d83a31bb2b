"""Are the answers on a GPU those of a processor? Spans of whole notes, and rows alone against rows in a batch."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from gpu_graphs import GpuEngine, engine_of, models_for, provider_of
from gpu_state import State

from deid_runtime.annotations.read import read_annotated
from deid_runtime.models.batching import pad
from deid_runtime.models.doubts import TRACE
from deid_runtime.models.engines import Engine
from deid_runtime.models.manifest import Graph, Manifest
from deid_runtime.models.tagger import ModelTagger
from deid_runtime.text.sentences import split_sentences
from deid_runtime.text.windows import Window, WordEncoder, make_windows

_BATCH: Final = 64
_ROWS: Final = (2, 8, 32, 64)
_TEXT: Final = (
    "Seen by Dr. Ruth Hartman in Millbrook, Ohio on 03/12/2019; son Ben, 91, of Harmon Steel. Call 614-555-0133.\n"
)

#: (number of the text, start, end, label)
Found = set[tuple[int, int, int, str]]


def compare_spans(state: State) -> None:
    """Compare the spans of the models, before rules, of all notes; the gate counts spans that only one side has."""
    notes = read_annotated([state.options.notes])[: state.options.most_notes]
    texts = [note.text for note in notes]
    base = models_for("float32", state)
    expected = _found(base, _processor_engines(base, state), texts, state)
    result: dict[str, Any] = {"notes": len(texts), "spans": len(expected), "profile": state.options.profile}
    is_passed = True
    for kind in ("cuda", "tensorrt"):
        if provider_of(kind, state.device)[1]:
            continue
        manifest = models_for(kind, state)
        graphs = manifest.profiles[state.options.profile].graphs
        found = _found(manifest, [(graph, engine_of(graph, kind, state)) for graph in graphs], texts, state)
        only = {"only_on_processor": len(expected - found), "only_here": len(found - expected)}
        differing = sum(only.values())
        is_passed &= differing <= state.options.most_differences
        result[kind] = {
            **only,
            "notes_that_differ": len({each[0] for each in expected ^ found}),
            "most_differences": state.options.most_differences,
            "passed": differing <= state.options.most_differences,
        }
        state.add(**result)
    state.end("done" if is_passed else "not passed")


def _processor_engines(manifest: Manifest, state: State) -> list[tuple[Graph, Engine]]:
    """Return engines on the processor for the float32 graphs; the runtime would take a GPU where there is one."""
    import onnxruntime

    return [
        (
            graph,
            GpuEngine(
                onnxruntime.InferenceSession(str(graph.file), providers=["CPUExecutionProvider"]),
                [each.output for each in graph.heads],
                "processor",
            ),
        )
        for graph in manifest.profiles[state.options.profile].graphs
    ]


def _found(manifest: Manifest, engines: Sequence[tuple[Graph, Engine]], texts: Sequence[str], state: State) -> Found:
    profile = manifest.profiles[state.options.profile]
    encoder = manifest.word_encoder()
    with ModelTagger(engines, profile, {}, encoder, _BATCH, manifest.content) as tagger:
        rows = tagger(texts, [split_sentences(text) for text in texts])
    return {
        (number, span.start, span.end, span.label)
        for number, row in enumerate(rows)
        for span in row
        if TRACE not in span.sources
    }


def compare_rows(state: State) -> None:
    """Compare each row of a batch with the row alone, and a batch with itself; passed when all tags are equal."""
    is_passed = True
    for kind in ("cuda", "tensorrt"):
        if provider_of(kind, state.device)[1]:
            continue
        manifest = models_for(kind, state)
        encoder = manifest.word_encoder()
        windows = _windows(encoder, max(_ROWS))
        for graph in manifest.graphs.values():
            engine = engine_of(graph, kind, state)
            alone = [engine(*pad([window], encoder.pad)) for window in windows]
            for count in _ROWS:
                arrays = pad(windows[:count], encoder.pad)
                batch, again = engine(*arrays), engine(*arrays)
                row = {"provider": engine.name, "graph": graph.name, "rows": count, **_difference(alone, batch, count)}
                row["same_batch_twice_is_equal"] = all(
                    np.array_equal(one.scores, two.scores) and np.array_equal(one.tags, two.tags)
                    for one, two in zip(batch, again, strict=True)
                )
                is_passed &= row["tags_that_differ"] == 0
                state.add_row("rows", row)
            engine.close()
    state.end("done" if is_passed else "not passed")


def _windows(encoder: WordEncoder, count: int) -> list[Window]:
    """Return windows of one padded width with other numbers in each."""
    texts = [_TEXT.replace("03/12", f"{number % 12 + 1:02}/{number % 28 + 1:02}") for number in range(count)]
    return [next(iter(make_windows(text, split_sentences(text), encoder))) for text in texts]


def _difference(alone: Sequence[Sequence[Any]], batch: Sequence[Any], count: int) -> dict[str, Any]:
    tags, scores, most = 0, 0, 0.0
    for head, answer in enumerate(batch):
        for row in range(count):
            one = alone[row][head]
            tags += int((one.tags[0] != answer.tags[row]).sum())
            apart = np.abs(one.scores[0] - answer.scores[row])
            scores += int((apart > 0).sum())
            most = max(most, float(apart.max()))
    return {"tags_that_differ": tags, "scores_that_differ": scores, "largest_score_difference": most}
