"""Test the arithmetic, the plan and the loop of the serving benchmarks, not their results."""

import asyncio
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from deid_runtime.models.manifest import find_models, read_manifest
from deid_runtime.text.sentences import split_sentences
from tests.benchmarks.scripts import load_script

pytest.importorskip("tritonclient.grpc")

TEXTS = (
    "Seen 3/11/2019 by Dr. Lindqvist in Dundas.\nBP 120/80, no fever.\n\nCall 507-882-4417 if the cough is back.\n",
    "BP 120/80, no fever.\nAdmitted with chest pain.\n" * 12,
)


@pytest.fixture(scope="module")
def loop():
    return load_script("closed_loop")


@pytest.fixture(scope="module")
def questions():
    return load_script("questions")


@pytest.fixture(scope="module")
def planning():
    return load_script("serving_plan")


@pytest.fixture(scope="module")
def encoder():
    return read_manifest(find_models(None)).word_encoder()


def test_percentiles_are_in_milliseconds_and_none_where_nothing_came(loop):
    assert loop.percentiles_ms([each / 1000 for each in range(101)]) == {"p50": 50.0, "p95": 95.0, "p99": 99.0}
    assert loop.percentiles_ms([]) == {"p50": None, "p95": None, "p99": None}


def test_the_average_batch_is_rows_by_executions_between_two_readings(loop):
    before = loop.ServerCounts(rows=100, executions=90, requests=100, queue_ns=0, compute_ns=0)
    after = loop.ServerCounts(rows=420, executions=110, requests=140, queue_ns=80_000_000, compute_ns=4_000_000)

    described = loop.describe_server(before, after)

    assert described["average_batch"] == 16.0
    assert (described["queue_ms_a_request"], described["compute_ms_a_request"]) == (2.0, 0.1)
    assert loop.describe_server(after, after)["average_batch"] is None


def test_a_sentence_asked_about_twice_counts_once(loop, questions):
    pool = [questions.Question((np.zeros((1, 32), np.int32),) * 3, new) for new in (1, 2, 4)]

    assert loop.distinct_sentences([0, 1, 3, 4], pool) == 3
    assert loop.distinct_sentences(range(30), pool) == 7


def test_the_loop_keeps_as_many_questions_under_way_as_asked_and_counts_the_measured_time_alone(loop):
    under_way, most = 0, 0
    readings = iter([loop.ServerCounts(0, 0, 0, 0, 0), loop.ServerCounts(1, 1, 1, 1, 1)])

    async def ask(number):
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0.01)
        under_way -= 1
        if number % 5 == 4:
            raise TimeoutError

    async def counts():
        return next(readings)

    measured = asyncio.run(loop.run_loop(ask, counts, concurrency=7, warm_s=0.1, measured_s=0.2))

    assert most == 7
    assert under_way == 0
    assert 0.2 <= measured.seconds < 5
    assert min(measured.numbers) >= 7  # the first ones came during the warm-up
    assert len(set(measured.numbers)) == len(measured.numbers) == len(measured.latencies_s)
    assert min(measured.latencies_s) >= 0.01
    assert measured.failures.keys() == {"TimeoutError"}


def test_rows_of_sentences_hold_every_sentence_once(questions, encoder):
    rows = list(questions.make_rows(TEXTS, encoder, "sentence"))

    assert [row.new_sentences for row in rows] == [1, 1, 1, 1]


def test_rows_of_windows_count_the_sentences_that_no_earlier_row_had(questions, encoder):
    rows = list(questions.make_rows(TEXTS, encoder, "window"))

    assert len(rows) > 2
    assert [row.new_sentences for row in rows[:2]] == [3, 1]
    assert sum(row.new_sentences for row in rows) == len(
        {text[each.start : each.end].strip() for text in TEXTS for each in split_sentences(text)}
    )


def test_requests_hold_full_batches_of_one_width(questions, encoder):
    rows = list(questions.make_rows(["\n".join(f"Line {number} of it." for number in range(50))], encoder, "sentence"))

    made = questions.make_questions(rows, 8, encoder.pad, seed=0)
    message = made[0].message("v0", ["name_label"])

    assert [question.rows for question in made] == [8] * 6
    assert {question.inputs[0].shape for question in made} == {(8, 32)}
    assert made[0].tokens == int((made[0].inputs[0] != encoder.pad).sum())
    assert [(each.name, each.datatype, list(each.shape)) for each in message.inputs] == [
        (name, "INT32", [8, 32]) for name in ("input_ids", "token_type_ids", "attention_mask")
    ]
    assert message.raw_input_contents[0] == made[0].inputs[0].tobytes()


def test_the_plan_compares_one_thing_at_a_time(planning):
    cells, skipped = planning.plan(quick=False, missing={})

    assert not skipped
    assert len(set(cells)) == len(cells)
    reference = planning.REFERENCE
    for cell in cells:
        differs = [cell.variant != reference and cell.variant != planning.PARTS, cell.unit != "sentence",
                   cell.route != "fused", cell.streaming]  # fmt: skip
        assert sum(differs) == (cell.series != reference.name)
    of_reference = {(cell.concurrency, cell.rows) for cell in cells if cell.series == reference.name}
    assert of_reference == {(concurrency, rows) for concurrency in (1, 4, 16, 64) for rows in (1, 8, 32)}
    assert len(cells) * (3 + 0.7) < 6 * 60  # of twelve minutes for the whole benchmark


def test_what_cannot_be_served_is_left_out_with_a_reason(planning):
    cells, skipped = planning.plan(quick=True, missing={"float32": "none was given", "in parts": "no exporter"})

    assert {(each.series, each.reason) for each in skipped} == {
        ("float32", "none was given"),
        ("ensemble", "no exporter"),
    }
    assert {cell.variant.name for cell in cells}.isdisjoint({"float32", "in parts"})


def test_each_server_is_started_once(planning):
    cells, _ = planning.plan(quick=False, missing={})

    groups = planning.by_variant(cells)

    assert Counter(cell for group in groups.values() for cell in group) == Counter(cells)
    assert next(iter(groups)) == planning.REFERENCE


def test_the_embedded_rate_runs_full_batches_and_shares_out_the_sentences(questions, encoder):
    script = load_script("embedded_rate")
    rows = questions.make_rows(["\n".join(f"Line {number} of it." for number in range(70))], encoder, "sentence")
    shapes = []

    def engine(ids, types, mask):
        shapes.append(ids.shape)

    rate = script.embedded_rate(engine, questions.make_questions(rows, 32, encoder.pad, seed=0), 0.05)

    assert set(shapes) == {(16, 32)}
    assert 0 < rate <= 16 * (len(shapes) - 1) / 0.05


def test_the_plot_has_a_line_for_every_series(tmp_path: Path):
    pytest.importorskip("matplotlib")
    script = load_script("serving_plot")
    rows = [
        {"series": series, "concurrency": concurrency, "rows_a_request": 1, "distinct_sentences_per_second": 10.0,
         "latency_ms": {"p50": 1.0, "p95": 2.0, "p99": 3.0}}
        for series in ("reference", "streaming")
        for concurrency in (16, 4)
    ]  # fmt: skip
    failed = {"series": "float32", "concurrency": 1, "rows_a_request": 1, "failed": "the server was ended by SIGSEGV"}

    points = script.series_points([*rows, failed], 1)
    script.draw([*rows, failed], tmp_path / "plot.svg")

    assert {name: [row["concurrency"] for row in each] for name, each in points.items()} == {
        "reference": [4, 16],
        "streaming": [4, 16],
    }
    assert "<svg" in (tmp_path / "plot.svg").read_text(encoding="utf-8")


def test_the_report_of_perf_analyzer_is_read():
    script = load_script("perf_analyzer")

    [row] = script.read_report(
        [
            "Concurrency,Inferences/Second,Client Send,p50 latency,p90 latency,p95 latency,p99 latency",
            "4,123.456,20,15000,1,18500,21000",
        ]
    )

    assert row == {"concurrency": 4, "rows_per_second": 123.5, "p50": 15.0, "p95": 18.5, "p99": 21.0}
