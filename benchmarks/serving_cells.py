"""The cells of ``serving.py``: every server under every load that the plan names."""

import argparse
import asyncio
import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import closed_loop
import grpc
import numpy as np
from embedded_rate import embedded_rate, padded
from perf_analyzer import run_perf_analyzer
from questions import Question, make_questions, make_rows, output_names
from served_models import Served, write_variant
from serving_plan import FLOAT32, PARTS, REFERENCE, Cell, Skipped, by_variant, plan

from deid_runtime.models.engines import Array, Engine, TokenScores, load_engine
from deid_runtime.models.manifest import Graph, Manifest, find_models, read_manifest

_COMPARED: Final = 6  # requests of each cell whose answers are compared with the engine's
_ENSEMBLE_DIFFERENCE: Final = 0.1  # of a score
_WANTED_BATCH: Final = 16


class Pools:
    """The questions of the cells, made once for each kind of row and number of rows."""

    def __init__(self, texts: Sequence[str], seed: int) -> None:
        self._texts = texts
        self._seed = seed
        self._encoder = read_manifest(find_models(None)).word_encoder()
        self._made: dict[tuple[str, int], list[Question]] = {}

    def get(self, cell: Cell) -> list[Question]:
        """Return the questions for a cell."""
        kind = cell.unit, cell.rows
        if kind not in self._made:
            rows = make_rows(self._texts, self._encoder, cell.unit)
            self._made[kind] = make_questions(rows, cell.rows, self._encoder.pad, self._seed)
        return self._made[kind]


def measure_cells(pools: Pools, folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Measure all cells, a server after the other."""
    manifests = {"int8": read_manifest(find_models(None))}
    missing = {}
    if options.float32:
        manifests["float32"] = float32_models(options.float32, folder)
    else:
        missing[FLOAT32.name] = "no --float32 was given"
    if find_spec("onnx") is None:
        missing[PARTS.name] = "cutting a graph into parts needs the extra export"
    cells, skipped = plan(quick=options.quick, missing=missing)
    rows: list[dict[str, Any]] = []
    analyzed: list[dict[str, Any]] = []
    for number, (variant, group) in enumerate(by_variant(cells).items()):
        manifest = manifests[variant.precision]
        repository = folder / f"variant-{number}"
        [graph] = manifest.profiles["fast"].graphs
        write_variant(variant, manifest, graph.name, repository)
        engine = load_engine("auto", graph.file, [version.output for version in graph.heads], 1)
        with Served(repository) as served:
            rows += measure_variant(served, group, pools, engine, graph, options)
            if variant == REFERENCE and options.perf_analyzer:
                analyzed = analyze(served, pools, graph.name, options)
        engine.close()
    return {"cells": rows, **summary(rows, skipped), "perf_analyzer": analyzed, "models": describe_models(manifests)}


def measure_variant(
    served: Served,
    cells: Sequence[Cell],
    pools: Pools,
    engine: Engine,
    graph: Graph,
    options: argparse.Namespace,
) -> list[dict[str, Any]]:
    """Measure the cells of one server, with the embedded rate for the same rows before and after."""
    rates: dict[tuple[str, int], list[float]] = {(cell.unit, cell.rows): [] for cell in cells}
    kinds = {(cell.unit, cell.rows): cell for cell in cells}

    def measure_embedded() -> None:
        for kind, cell in kinds.items():
            rates[kind].append(embedded_rate(engine, pools.get(cell), options.cell_seconds / 2))

    measure_embedded()
    rows = []
    for cell in cells:
        questions = pools.get(cell)
        try:
            measured = asyncio.run(measure(served.address, cell, questions, engine, graph, options))
        except grpc.RpcError as error:  # the server is gone, or never answered before the loop
            failed = {"failed": served.restart_if_dead() or f"no answer: {type(error).__name__}"}
            rows.append({**describe_cell(cell), **failed})
        else:
            crash = {"crash": served.restart_if_dead()}
            rows.append({**describe_cell(cell), **describe_measured(measured, questions), **crash})
        print_row(rows[-1])
    measure_embedded()
    for row in rows:
        rate = statistics.mean(rates[row["unit"], row["rows_a_request"]])
        row["embedded_sentences_per_second"] = round(rate, 1)
        if "failed" not in row:
            row["served_to_embedded"] = round(row["sentences_per_second"] / rate, 3)
    return rows


async def measure(
    address: str, cell: Cell, questions: Sequence[Question], engine: Engine, graph: Graph, options: argparse.Namespace
) -> closed_loop.Measured:
    """Measure one cell over a connection of its own."""
    async with closed_loop.Connection(address) as connection:
        await check_answers(connection, cell, questions, engine, graph)
        ask = closed_loop.asking(connection, questions, graph, route=cell.route, streaming=cell.streaming)
        asked = graph.name if cell.route == "fused" else f"encoder_{graph.name}"
        return await closed_loop.run_loop(
            ask,
            lambda: connection.counts(asked),
            concurrency=cell.concurrency,
            warm_s=options.warm_seconds,
            measured_s=options.cell_seconds,
        )


async def check_answers(
    connection: closed_loop.Connection, cell: Cell, questions: Sequence[Question], engine: Engine, graph: Graph
) -> None:
    """Stop the benchmark unless the server answers some questions as the engine does.

    Whole graphs must do so bit for bit. An ensemble hands hidden states from graph to graph, which the engine rounds
    otherwise than inside one: its scores may differ a little.
    """
    is_whole = cell.route == "fused"
    model = graph.name if cell.route == "fused" else f"deid_{graph.name}"
    for question in questions[:_COMPARED]:
        answer = await connection.unary(question.message(model, output_names(graph)))
        outputs = output_names(graph)
        expected = dict(zip(outputs, _arrays(engine(*padded(question))), strict=True))
        is_token = question.inputs[2] == 1
        for output, content in zip(answer.outputs, answer.raw_output_contents, strict=True):
            dtype = np.uint8 if output.datatype == "UINT8" else np.float16
            came = np.frombuffer(content, dtype).reshape(tuple(output.shape))
            wanted = expected[output.name][: question.rows]
            if dtype is np.float16 and not is_whole:
                is_right = np.abs(came.astype(np.float32) - wanted)[is_token].max() <= _ENSEMBLE_DIFFERENCE
            else:
                is_right = not is_whole or (came[is_token] == wanted[is_token]).all()
            if not is_right:
                sys.exit(f"{model} answers other than the embedded engine; no figure is worth that")


def _arrays(answers: Sequence[TokenScores]) -> list[Array]:
    return [array for each in answers for array in (each.tags, each.scores)]


def analyze(served: Served, pools: Pools, model: str, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Measure with ``perf_analyzer`` at the reference's concurrencies, single sentences of the commonest width."""
    questions = pools.get(Cell(REFERENCE, 1, 1))
    widths = [question.inputs[0].shape[1] for question in questions]
    common = [question for question in questions if question.inputs[0].shape[1] == statistics.mode(widths)]
    return [
        {"rows_a_request": count, **row}
        for count in ((1,) if options.quick else (1, 32))
        for row in run_perf_analyzer(
            options.perf_analyzer, served.address, model, common[:1000], rows_a_request=count,
            concurrencies=(4,) if options.quick else (1, 4, 16, 64), seconds=options.cell_seconds,
        )
    ]  # fmt: skip


def float32_models(source: Path, folder: Path) -> Manifest:
    """Return the models of a folder, or export them from a model file."""
    if source.is_dir():
        return read_manifest(source)
    out, notes = folder / "float32", folder / "unused.jsonl"
    # Notes calibrate int8; float32 needs none, the command one.
    notes.write_text('{"id": "0", "patient": "0", "text": "BP 120/80", "spans": []}\n', encoding="utf-8")
    subprocess.run(
        [
            sys.executable,
            "-m",
            "deid_export.cli.main",
            "models",
            "onnx",
            str(source),
            "--notes",
            str(notes),
            "--float32",
            "-o",
            out,
        ],
        check=True,
    )
    return read_manifest(out)


def describe_cell(cell: Cell) -> dict[str, Any]:
    """Return what was asked of a cell."""
    return {
        "series": cell.series,
        "variant": cell.variant.name,
        "route": cell.route,
        "streaming": cell.streaming,
        "unit": cell.unit,
        "concurrency": cell.concurrency,
        "rows_a_request": cell.rows,
    }


def describe_measured(measured: closed_loop.Measured, questions: Sequence[Question]) -> dict[str, Any]:
    """Return what a cell gave."""
    asked = [questions[number % len(questions)] for number in measured.numbers]
    distinct = closed_loop.distinct_sentences(measured.numbers, questions)
    sentences = sum(question.new_sentences for question in asked)
    return {
        "requests_per_second": round(len(asked) / measured.seconds, 1),
        "rows_per_second": round(sum(question.rows for question in asked) / measured.seconds, 1),
        "tokens_per_second": round(sum(question.tokens for question in asked) / measured.seconds),
        "sentences_per_second": round(sentences / measured.seconds, 1),
        "distinct_sentences_per_second": round(distinct / measured.seconds, 1),
        "latency_ms": closed_loop.percentiles_ms(measured.latencies_s),
        "failures": measured.failures,
        "server": closed_loop.describe_server(measured.before, measured.after),
    }


def summary(rows: Sequence[dict[str, Any]], skipped: Sequence[Skipped]) -> dict[str, Any]:
    """Return what is asked of the cells as a whole, and which are not there."""
    batches = [
        row["server"]["average_batch"]
        for row in rows
        if (row["series"], row["concurrency"], row["rows_a_request"]) == (REFERENCE.name, 64, 1) and "server" in row
    ]
    return {
        "average_batch_of_64_single_sentences": {"wanted_over": _WANTED_BATCH, "measured": next(iter(batches), None)},
        "skipped": [{"series": each.series, "reason": each.reason} for each in skipped],
    }


def describe_models(manifests: Mapping[str, Manifest]) -> dict[str, Any]:
    """Name the graphs by their digests."""
    return {
        precision: {name: entry["sha256"] for name, entry in _graphs(manifest).items()}
        for precision, manifest in manifests.items()
    }


def _graphs(manifest: Manifest) -> dict[str, Any]:
    content: Any = manifest.content
    return dict(content["graphs"])


def print_row(row: dict[str, Any]) -> None:
    """Print the figures of a cell on a line."""
    what = f"{row['series']:<20} {row['concurrency']:>3} x {row['rows_a_request']:>2} {row['unit']}s"
    if "failed" in row:
        print(f"{what}: FAILED, {row['failed']}")
        return
    latency = row["latency_ms"]
    print(
        f"{what}: {row['distinct_sentences_per_second']:>7.0f} distinct sentences/s, p50 {latency['p50']} p95 "
        f"{latency['p95']} p99 {latency['p99']} ms, average batch {row['server']['average_batch']}"
        + (f", failures {row['failures']}" if row["failures"] else "")
        + (f", {row['crash']}" if row["crash"] else "")
    )
