"""Figures of NVIDIA's ``perf_analyzer`` beside ours: the same rows, the same server, its own closed loop.

Its binary comes in the wheel of tritonclient 2.45.0 (``data/bin/perf_analyzer``; the package of its own name is empty).
It wants ``libb64.so.0d`` and ``libcudart.so.12``, which the wheel of nvidia-pytriton has under longer names: link them
into a folder and put that on ``LD_LIBRARY_PATH``.
"""

import csv
import json
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from questions import Question

from deid_runtime.models.manifest import INPUTS

_STABILITY_PERCENT = 50  # of three windows in a row; a machine that also runs the server is not steadier


def input_data(questions: Sequence[Question]) -> str:
    """Return the rows of ``questions``, which have one row each, as its JSON; all of one width, as it wants them."""
    rows = [
        {
            name: {"content": array[0].tolist(), "shape": [array.shape[1]]}
            for name, array in zip(INPUTS, question.inputs, strict=True)
        }
        for question in questions
    ]
    return json.dumps({"data": rows})


def read_report(lines: Iterable[str]) -> list[dict[str, float]]:
    """Return concurrency, rows a second and percentiles in milliseconds from its CSV."""
    return [
        {
            "concurrency": int(row["Concurrency"]),
            "rows_per_second": round(float(row["Inferences/Second"]), 1),
            **{name: round(float(row[f"{name} latency"]) / 1000, 2) for name in ("p50", "p95", "p99")},
        }
        for row in csv.DictReader(lines)
    ]


def run_perf_analyzer(
    binary: Path,
    address: str,
    model: str,
    questions: Sequence[Question],
    *,
    rows_a_request: int,
    concurrencies: Sequence[int],
    seconds: float,
) -> list[dict[str, Any]]:
    """Measure each concurrency; ``questions`` have one row each, all of one width.

    Where it finds no measurement steady enough, the row says ``failed``.
    """
    report: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        data, out = Path(folder) / "data.json", Path(folder) / "report.csv"
        data.write_text(input_data(questions), encoding="utf-8")
        for concurrency in concurrencies:
            ended = subprocess.run(
                [
                    str(binary), "-m", model, "-u", address, "-i", "grpc", "--async", "--input-data", str(data),
                    "-b", str(rows_a_request), "--concurrency-range", str(concurrency), "-p", str(int(1000 * seconds)),
                    "-s", str(_STABILITY_PERCENT), "-r", "4", "--percentile", "95", "-f", str(out),
                ],
                check=False,
                capture_output=True,
                timeout=60 + 20 * seconds,
            )  # fmt: skip
            if ended.returncode:
                # Its last line says why; the usual reason is a machine that does other things, too.
                why = ended.stderr.decode(errors="replace").strip().splitlines()
                report.append({"concurrency": concurrency, "failed": why[-1] if why else f"code {ended.returncode}"})
            else:
                report += read_report(out.read_text(encoding="utf-8").splitlines())
    return report
