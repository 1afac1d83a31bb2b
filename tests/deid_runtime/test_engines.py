"""Which engine ``auto`` is, by what the processor can do."""

import importlib.util
import platform
from pathlib import Path

import pytest

from deid_runtime.engines import fastest_engine

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
