"""Test the shipped models: loaded by both engines, independent of batches, and able to find identifiers."""

import subprocess
import sys
from collections.abc import Iterator
from typing import Literal

import numpy as np
import pytest

from deid_runtime.labels import HEADS
from deid_runtime.models.batching import pad
from deid_runtime.models.doubts import TRACE
from deid_runtime.models.engines import Engine, load_engine
from deid_runtime.models.manifest import Graph, find_models, read_manifest
from deid_runtime.models.tagger import ModelTagger, load_tagger
from deid_runtime.settings import Settings
from deid_runtime.text.sentences import split_sentences
from deid_runtime.text.windows import Window, make_windows

NOTE = """DISCHARGE SUMMARY
Patient: Rosalind Thackeray   MRN: 8841207   DOB: 04/17/1951
Ms. Thackeray is a 68 year old retired teacher from Millbrook who was admitted on March 3, 2019 with chest pain.
She was seen by Dr. Marcus Oyelaran of Cardiology at Lakeview Regional Medical Center.
Her daughter Imogen can be reached at (414) 882-7719. She worked at Harmon Steel for 20 years.
Vitals: BP 128/76, HR 84, T 98.6. Troponin 0.02. Parkinson's disease, stable on Sinemet 25/100 TID.
Follow up Thursday with Dr. Oyelaran. cc: Priya Raman, NP, 22 Alder Court, Millbrook, WI 53119
"""
IDENTIFIERS = (
    "Rosalind",
    "Thackeray",
    "Marcus",
    "Oyelaran",
    "Lakeview",
    "Imogen",
    "Harmon",
    "Priya",
    "Raman",
    "Millbrook",
)
CLINICAL = ("chest pain", "Troponin", "Parkinson", "Sinemet", "Vitals", "Cardiology")


@pytest.fixture(scope="module", params=[("openvino", "fast"), ("openvino", "full"), ("onnxruntime", "fast")])
def tagger(request: pytest.FixtureRequest) -> Iterator[ModelTagger]:
    engine, profile = request.param
    pytest.importorskip(engine)
    with load_tagger(Settings(engine=engine, profile=profile)) as loaded:
        yield loaded


def windows() -> list[Window]:
    encoder = read_manifest(find_models(None)).word_encoder()
    texts = [NOTE, NOTE.upper(), NOTE.replace("\n", " "), NOTE * 3]
    return [window for text in texts for window in make_windows(text, split_sentences(text), encoder)]


GRAPHS = tuple(read_manifest(find_models(None)).graphs.values())


def load(kind: Literal["openvino", "onnxruntime"], graph: Graph) -> Engine:
    return load_engine(kind, graph.file, [version.output for version in graph.heads], 1)


def test_every_profile_has_a_head_for_every_entity_class() -> None:
    for profile in read_manifest(find_models(None)).profiles.values():
        assert {version.head for graph in profile.graphs for version in graph.heads} == set(HEADS)


def test_the_models_fit_in_80_megabytes() -> None:
    folder = find_models(None)

    assert sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) < 80_000_000


def test_the_models_find_names_and_places_and_leave_clinical_words(tagger: ModelTagger) -> None:
    [spans] = tagger([NOTE], [split_sentences(NOTE)])
    found = {index for span in spans if TRACE not in span.sources for index in range(span.start, span.end)}

    for word in IDENTIFIERS:
        assert NOTE.index(word) in found, f"{word} was missed"
    for word in CLINICAL:
        assert NOTE.index(word) not in found, f"{word} was tagged"


@pytest.mark.parametrize("graph", GRAPHS, ids=lambda graph: graph.name)
@pytest.mark.parametrize("engine", ["openvino", "onnxruntime"])
def test_a_row_answers_alike_alone_and_in_any_batch(engine: Literal["openvino", "onnxruntime"], graph: Graph) -> None:
    run = load(engine, graph)
    rows = [window for window in windows() if len(window.ids) > 112][:6]
    assert len(rows) > 2
    together = run(*pad(rows, 0))
    for number, row in enumerate(rows):
        for all_rows, alone in zip(together, run(*pad([row], 0)), strict=True):
            assert np.array_equal(all_rows.scores[number], alone.scores[0])
            assert np.array_equal(all_rows.tags[number], alone.tags[0])


@pytest.mark.parametrize("profile", ["fast", "full"])
def test_answers_do_not_depend_on_the_batch_size(profile: Literal["fast", "full"]) -> None:
    texts = [NOTE, NOTE.upper(), NOTE * 4, "", "short."]
    sentences = [split_sentences(text) for text in texts]
    answers = []
    for size in (1, 7, 256):
        with load_tagger(Settings(batch_windows=size, profile=profile)) as tagger:
            answers.append(tagger(texts, sentences))
            assert answers[-1] == [tagger([t], [s])[0] for t, s in zip(texts, sentences, strict=True)]

    assert answers[0] == answers[1] == answers[2]


@pytest.mark.parametrize("graph", GRAPHS, ids=lambda graph: graph.name)
def test_the_engines_agree_to_within_rounding(graph: Graph) -> None:
    rows = [window for window in windows() if len(window.ids) > 112][:4]
    inputs = pad(rows, 0)
    openvino, onnxruntime = load("openvino", graph)(*inputs), load("onnxruntime", graph)(*inputs)

    for one, other in zip(openvino, onnxruntime, strict=True):
        assert np.mean(np.abs(one.scores - other.scores)) < 0.02


def test_loading_the_engine_brings_in_no_telemetry() -> None:
    code = (
        "import socket, sys\n"
        "def refuse(*a, **k): raise AssertionError('a socket was opened')\n"
        "socket.socket.connect = refuse; socket.getaddrinfo = refuse\n"
        "from deid_runtime.models.tagger import load_tagger\n"
        "from deid_runtime.settings import Settings\n"
        "load_tagger(Settings(engine='openvino')).close()\n"
        "assert sys.modules['openvino_telemetry'] is None\n"
        "assert not [m for m in sys.modules if m.startswith('openvino_telemetry.')]\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)

    assert done.returncode == 0, done.stderr
