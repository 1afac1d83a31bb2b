"""Test the choice of engine ``auto``, engines with little memory, and engines on other processors."""

import importlib.util
import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from deid_runtime.errors import SettingsError
from deid_runtime.models.engines import fastest_engine, instruction_set, load_engine
from deid_runtime.models.manifest import find_models, read_manifest

ROOT = Path(__file__).resolve().parents[3]

_X86 = platform.machine().lower() in {"x86_64", "amd64"} and importlib.util.find_spec("openvino") is not None


def described(folder: Path, flags: str) -> Path:
    path = folder / "cpuinfo"
    path.write_text(f"processor\t: 0\nflags\t\t: fpu {flags} lm\nbugs\t\t: avx512f\n\nprocessor\t: 1\n")
    return path


@pytest.mark.skipif(not _X86, reason="there is one engine alone")
@pytest.mark.parametrize(
    ("flags", "engine"),
    [
        ("avx2 fma", "onnxruntime"),
        ("avx2 avx_vnni", "openvino"),
        ("avx2 avx512f avx512bw", "openvino"),
        ("avx2 avx512f avx512_vnni amx_int8", "openvino"),
    ],
)
def test_openvino_where_the_processor_multiplies_bytes_fast(tmp_path: Path, flags: str, engine: str) -> None:
    assert fastest_engine(described(tmp_path, flags)) == engine


@pytest.mark.skipif(not _X86, reason="there is one engine alone")
def test_openvino_where_the_system_does_not_tell(tmp_path: Path) -> None:
    assert fastest_engine(tmp_path / "missing") == "openvino"


@pytest.mark.skipif(_X86, reason="this machine has both engines")
def test_onnx_runtime_where_there_is_no_other(tmp_path: Path) -> None:
    assert fastest_engine(described(tmp_path, "avx512f")) == "onnxruntime"


def test_the_instruction_set_is_named(tmp_path: Path) -> None:
    assert instruction_set(described(tmp_path, "avx2 avx512f avx512_vnni")) == "avx2 avx512f avx512_vnni"
    assert instruction_set(tmp_path / "missing") == platform.machine().lower()


#: Loads an engine, limits the memory, requests shapes that it has not run yet, and compares the answers with those of
#: an engine without a limit.
_SHORT_OF_MEMORY = """
import resource, sys
import numpy as np
from deid_runtime.models.manifest import find_models, read_manifest
from deid_runtime.models.engines import load_engine
from deid_runtime.errors import EngineError

graph = read_manifest(find_models(None)).graphs["v0"]
def load():
    return load_engine(sys.argv[1], graph.file, [version.output for version in graph.heads], 1)

random = np.random.default_rng(0)
def question(rows, tokens):
    ids = random.integers(1000, 20000, (rows, tokens)).astype(np.int32)
    return ids, np.zeros_like(ids), np.ones_like(ids)

questions = [question(*shape) for shape in ((2, 64), (1, 128), (8, 128), (4, 96), (8, 32), (2, 64), (8, 128))]
engine, other = load(), load()
expected = [other(*each) for each in questions]
other.close()
engine(*questions[0])  # so that there is an answer of an earlier call to repeat

held_bytes = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
limit_bytes = held_bytes + int(sys.argv[2]) * 2**20
resource.setrlimit(resource.RLIMIT_AS, (limit_bytes, limit_bytes))
right = refused = 0
for asked, answers in zip(questions, expected):
    try:
        came = engine(*asked)
    except (EngineError, MemoryError):
        refused += 1
        continue
    for answer, known in zip(came, answers, strict=True):
        assert np.array_equal(answer.tags, known.tags) and np.array_equal(answer.scores, known.scores), "a wrong answer"
    right += 1
print(right, refused)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not limit address space so")
@pytest.mark.parametrize("free_mib", [0, 16, 100])
@pytest.mark.parametrize("engine", ["openvino", "onnxruntime"])
def test_an_engine_short_of_memory_raises_or_is_right(engine: str, free_mib: int) -> None:
    pytest.importorskip(engine)

    done = subprocess.run(
        [sys.executable, "-c", _SHORT_OF_MEMORY, engine, str(free_mib)], capture_output=True, text=True, timeout=120
    )

    if done.returncode >= 0:  # killed by the system or by a library that cannot report: no answer, so no wrong answer
        assert done.returncode == 0, done.stderr[-2000:]
        right, refused = map(int, done.stdout.split())
        assert right + refused == 7


@pytest.mark.skipif(not _X86, reason="there is one engine alone")
def test_bfloat16_is_refused_where_it_cannot_be_had() -> None:
    graph = read_manifest(find_models(None)).graphs["v0"]
    outputs = [version.output for version in graph.heads]

    with pytest.raises(SettingsError, match="bfloat16 needs the engine openvino"):
        load_engine("onnxruntime", graph.file, outputs, 1, "bfloat16")
    if not {"avx512_bf16", "amx_bf16"} & set(instruction_set().split()):
        with pytest.raises(SettingsError, match="does not support bfloat16"):
            load_engine("openvino", graph.file, outputs, 1, "bfloat16")


_SPANS = """
import json, sys
from deid_runtime import Note, Settings, load_pipeline
notes = [Note(str(number), text) for number, text in enumerate(json.load(sys.stdin))]
with load_pipeline(Settings(engine="openvino"), key=None, records={}) as pipeline:
    print(json.dumps([[(span.start, span.end) for span in found.spans] for found in pipeline.detect(notes)]))
"""


@pytest.mark.skipif(not _X86, reason="the variable is of a library for x86-64")
def test_other_instruction_sets_find_the_same_words_but_for_rounding() -> None:
    """Scores differ in their last digits, so a word near a threshold may differ: at most one span in 100 here."""
    lines = (ROOT / "examples" / "notes.jsonl").read_text(encoding="utf-8").splitlines()
    texts = [json.loads(line)["text"] for line in lines]
    found = {}
    for instructions in ("AVX2", "AVX512_CORE", ""):
        done = subprocess.run(
            [sys.executable, "-c", _SPANS],
            input=json.dumps(texts),
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "ONEDNN_MAX_CPU_ISA": instructions},
        )
        found[instructions] = {(note, *span) for note, spans in enumerate(json.loads(done.stdout)) for span in spans}

    assert len(found[""]) > 50
    for spans in found.values():
        assert len(spans ^ found[""]) <= len(found[""]) / 100
