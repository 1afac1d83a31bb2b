"""How fast is a GPU? A sweep over batch size and threads, and ``deid run --server`` from many client processes."""

import json
import random
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np
from gpu_graphs import GpuEngine, engine_of, models_for, provider_of
from gpu_state import State
from served_models import free_ports
from throughput import vary, write_notes

from deid_runtime.annotations.read import read_annotated
from deid_runtime.serving.grpc_probe import answers_grpc
from deid_runtime.serving.server_options import ServerOptions
from deid_runtime.text.sentences import split_sentences

_WIDTH: Final = 128
_WARM_CALLS: Final = 5
_READY_S: Final = 600.0
_TRAIN: Final = Path(__file__).resolve().parents[2] / "export" / "corpus" / "notes" / "train"


def measure_sweep(state: State) -> None:
    """Measure every batch size with every number of threads, each graph and provider: full windows of 128 tokens."""
    for kind in ("cuda", "tensorrt"):
        if provider_of(kind, state.device)[1]:
            continue
        manifest = models_for(kind, state)
        vocabulary = manifest.word_encoder().vocabulary
        for graph in manifest.graphs.values():
            engine = engine_of(graph, kind, state)
            for rows in state.options.batches:
                for threads in state.options.threads:
                    if state.is_over:
                        state.end("cut off")
                        return
                    cell = {"provider": engine.name, "graph": graph.name, "rows": rows, "threads": threads}
                    state.add_row("cells", {**cell, **_cell(engine, vocabulary, rows, threads, state)})
            engine.close()
    state.end("done")


def _cell(engine: GpuEngine, vocabulary: int, rows: int, threads: int, state: State) -> dict[str, Any]:
    """Let threads ask in a closed loop; return rates of windows and tokens, and the latency of a call."""
    choose = np.random.default_rng(0)
    ids = choose.integers(1, vocabulary, (rows, _WIDTH), dtype=np.int32)
    types, mask = np.ones_like(ids), np.ones_like(ids)
    for _ in range(_WARM_CALLS):
        engine(ids, types, mask)
    spent: list[float] = []
    until = time.perf_counter() + state.options.cell_seconds

    def ask() -> None:
        while True:
            began = time.perf_counter()
            engine(ids, types, mask)
            spent.append(time.perf_counter() - began)
            if time.perf_counter() >= until:
                return

    asking = [threading.Thread(target=ask) for _ in range(threads)]
    began = time.perf_counter()
    for each in asking:
        each.start()
    for each in asking:
        each.join()
    taken = time.perf_counter() - began
    cuts = statistics.quantiles(spent, n=100) if len(spent) > 1 else spent * 99
    return {
        "calls": len(spent),
        "windows_per_second": round(len(spent) * rows / taken, 1),
        "tokens_per_second": round(len(spent) * rows * _WIDTH / taken),
        "p50_ms": round(1e3 * cuts[49], 2),
        "p95_ms": round(1e3 * cuts[94], 2),
        "p99_ms": round(1e3 * cuts[98], 2),
    }


def measure_clients(state: State) -> None:
    """Run ``deid run --server`` from more and more processes at once; a run that quarantines a note fails the step."""
    records = [{"id": note.id, "patient": note.patient, "text": note.text} for note in read_annotated([_TRAIN])[:400]]
    most, each = max(state.options.clients), state.options.client_notes
    varied = vary(records, most * each, random.Random(0))
    sentences = []
    for number in range(most):
        notes = [next(varied) for _ in range(each)]
        write_notes(state.out / f"client-{number}.jsonl", notes)
        sentences.append(sum(len(split_sentences(note["text"])) for note in notes))
    key = state.out / "gpu.key"
    if not key.exists():
        subprocess.run([sys.executable, "-m", "deid_runtime", "key", "new", str(key)], check=True)
    with _server(state) as address:
        for count in state.options.clients:
            if state.is_over:
                state.end("cut off")
                return
            row = {"clients": count, "notes": count * each, **_run_clients(state, address, key, count)}
            row["sentences_per_second"] = round(sum(sentences[:count]) / row["seconds"], 1)
            state.add_row("rows", row)
    state.end("done")


def _run_clients(state: State, address: str, key: Path, count: int) -> dict[str, Any]:
    """Run clients at once, one for each file; return the seconds from the first start to the last end."""
    models = state.out / ("models-float16" if state.device == "cuda" else "models-float32")
    began = time.perf_counter()
    running = []
    for number in range(count):
        out = state.out / f"client-{number}-out.jsonl"
        command = [
            sys.executable, "-m", "deid_runtime", "run", str(state.out / f"client-{number}.jsonl"), "--out", str(out),
            "--key", str(key), "--server", address, "--models", str(models), "--trust-models", "--workers", "1",
            "--quiet", "--overwrite",
        ]  # fmt: skip
        running.append(subprocess.Popen(command, stdin=subprocess.DEVNULL))
    codes = [process.wait() for process in running]
    seconds = time.perf_counter() - began
    if any(codes):
        raise RuntimeError(f"clients ended with the exit codes {sorted(set(codes))}; a measurement needs clean runs")
    reports = [
        json.loads((state.out / f"client-{number}-out.jsonl.manifest.json").read_text(encoding="utf-8"))
        for number in range(count)
    ]
    return {
        "seconds": round(seconds, 2),
        "seconds_in_models": round(statistics.mean(each["seconds_by_stage"]["models"] for each in reports), 2),
        "models_sha256": reports[0]["pipeline"]["models"]["models_sha256"],
    }


@contextmanager
def _server(state: State) -> Iterator[str]:
    """Yield the address of the given server, or of ``deid serve`` with these graphs until the block ends."""
    if state.options.server:
        yield state.options.server
        return
    grpc, metrics = free_ports(2)
    models = state.out / ("models-float16" if state.device == "cuda" else "models-float32")
    command = [
        sys.executable, "-m", "deid_runtime", "serve", "--models", str(models), "--trust-models", "--grpc-port",
        str(grpc), "--metrics-port", str(metrics), "--engine", "onnxruntime", "--instances", "1",
    ]  # fmt: skip
    with subprocess.Popen(command, stdin=subprocess.DEVNULL) as process:
        try:
            options = ServerOptions(repository=Path(), grpc_port=grpc, metrics_port=metrics)
            until = time.monotonic() + min(_READY_S, state.left_s)
            while not answers_grpc(options, 5.0):
                if process.poll() is not None or time.monotonic() > until:
                    raise RuntimeError(f"deid serve did not become ready (exit code {process.poll()})")
                time.sleep(0.5)
            yield options.grpc
        finally:
            process.terminate()
