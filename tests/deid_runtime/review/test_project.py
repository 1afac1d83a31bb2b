"""Test the store of review projects: what is saved, by whom, and what is refused."""

import os
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from deid_runtime.errors import InputError, OutputError, SourceError
from deid_runtime.review.export import export_gold
from deid_runtime.review.project import ConflictError, ReviewProject
from deid_runtime.review.schema import Decision, Filter, Mode, Reviewable, create_project
from deid_runtime.spans import Note, Span

TEXTS = ("Ann saw Dee.", "Dee left. DEE, Dee-Dee.", "Nothing.")


def notes() -> Iterator[Reviewable]:
    found = ((Span(0, 3, "PATIENT", 0.6),), (Span(0, 3, "DOCTOR", 0.9),), ())
    for number, (text, spans) in enumerate(zip(TEXTS, found, strict=True)):
        yield Reviewable(Note(f"n{number}", text, patient="p", type="letter" if number else "visit"), spans)


def make(path: Path, mode: Mode = "correct", second_share: float = 0.0) -> ReviewProject:
    create_project(path / "p.review", notes(), mode=mode, second_share=second_share)
    return ReviewProject(path / "p.review")


def test_uncertain_notes_come_first_and_filters_hold(tmp_path: Path) -> None:
    with make(tmp_path) as project:
        rows = project.listed("ann", Filter(), first=0, count=10)
        assert [row["id"] for row in rows] == ["n0", "n1", "n2"]
        assert [row["doubt"] for row in rows] == [0.4, 0.1, 0.0]
        project.save(1, "ann", Decision((), read_whole=True, version=0))
        project.save(2, "ann", Decision((), read_whole=False, version=0))
        for chosen, ids in (
            (Filter("open"), ["n2"]),
            (Filter("empty"), ["n0"]),
            (Filter("started"), ["n1"]),
            (Filter(label="DOCTOR"), ["n1"]),
            (Filter(type="letter"), ["n1", "n2"]),
        ):
            assert [row["id"] for row in project.listed("ann", chosen, first=0, count=10)] == ids
        assert project.counts("ann")["empty"] == 1
        assert project.counts("ben")["open"] == 3
        assert project.neighbour("ben", Filter(), 1, 1) == 2
        assert project.neighbour("ben", Filter(), 1, -1) is None
        with pytest.raises(InputError, match="unknown state"):
            project.listed("ann", Filter("1; DROP TABLE notes"), first=0, count=1)


def test_the_file_is_the_owners_alone(tmp_path: Path) -> None:
    with make(tmp_path) as project:
        project.save(1, "ann", Decision((), read_whole=True, version=0))
        for file in tmp_path.iterdir():
            assert stat.S_IMODE(file.stat().st_mode) == 0o600
    os.chmod(tmp_path / "p.review", 0o644)
    with pytest.raises(SourceError, match="other users can read"):
        ReviewProject(tmp_path / "p.review")
    with pytest.raises(OutputError, match="never overwritten"):
        create_project(tmp_path / "p.review", notes(), mode="correct")
    (tmp_path / "other").write_text("no database", encoding="utf-8")
    os.chmod(tmp_path / "other", 0o600)
    with pytest.raises(SourceError, match="not a review project"):
        ReviewProject(tmp_path / "other")


@pytest.mark.parametrize(
    "spans", [(Span(0, 99, "PATIENT"),), (Span(0, 3, "PATIENT"), Span(2, 5, "DOCTOR")), (Span(0, 1, "PATIENT"),) * 2]
)
def test_impossible_spans_are_refused_and_nothing_is_saved(tmp_path: Path, spans: tuple[Span, ...]) -> None:
    with make(tmp_path) as project:
        with pytest.raises(InputError):
            project.save(1, "ann", Decision(spans, read_whole=True, version=0))
        assert project.decision(1, "ann") is None


def test_two_windows_of_one_reviewer_cannot_write_over_each_other(tmp_path: Path) -> None:
    with make(tmp_path) as project:
        assert project.save(1, "ann", Decision((), read_whole=False, version=0)) == 1
        with pytest.raises(ConflictError):
            project.save(1, "ann", Decision((), read_whole=True, version=0))
        assert project.save(1, "ben", Decision((), read_whole=True, version=0)) == 1
        assert project.save(1, "ann", Decision((), read_whole=True, version=1)) == 2


def test_reviewers_in_many_threads_lose_nothing(tmp_path: Path) -> None:
    make(tmp_path).close()

    def work(name: str) -> None:
        with ReviewProject(tmp_path / "p.review") as project:
            for version in range(20):
                project.save(1, name, Decision((Span(0, 1 + version % 5, "PATIENT"),), False, version))

    threads = [threading.Thread(target=work, args=(f"r{number}",)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with ReviewProject(tmp_path / "p.review") as project:
        for number in range(4):
            decision = project.decision(1, f"r{number}")
            assert decision is not None
            assert decision.version == 20


def test_spread_marks_whole_words_in_all_notes_of_the_patient(tmp_path: Path) -> None:
    with make(tmp_path) as project:
        added = project.spread(1, "ann", 8, 11, "PATIENT")
        assert added == [(1, 8, 11), (2, 15, 18), (2, 19, 22)]  # the found DOCTOR and DEE stay
        decision = project.decision(2, "ann")
        assert decision is not None
        assert [span.label for span in decision.spans] == ["DOCTOR", "PATIENT", "PATIENT"]
        project.unspread("ann", added)
        decision = project.decision(2, "ann")
        assert decision is not None
        assert [span.label for span in decision.spans] == ["DOCTOR"]
        with pytest.raises(InputError, match="two letters"):
            project.spread(1, "ann", 11, 12, "PATIENT")


def test_export_holds_what_was_read_whole_and_settled(tmp_path: Path) -> None:
    with make(tmp_path, second_share=1.0) as project:
        project.save(1, "ann", Decision((Span(0, 3, "PATIENT", 0.6),), read_whole=True, version=0))
        project.save(1, "ben", Decision((Span(0, 3, "PATIENT"),), read_whole=True, version=0))  # the same decision
        project.save(2, "ann", Decision((), read_whole=True, version=0))
        project.save(2, "ben", Decision((Span(0, 3, "DOCTOR"),), read_whole=True, version=0))
        project.save(3, "ann", Decision((), read_whole=False, version=0))
        assert project.counts("adjudication")["differ"] == 1
        counts = export_gold(project, tmp_path / "gold.jsonl")
        assert (counts.written, counts.empty, counts.unsettled) == (1, 0, 1)
        project.save(2, "adjudication", Decision((), read_whole=True, version=0))
        assert project.counts("adjudication")["differ"] == 0
        counts = export_gold(project, tmp_path / "settled.jsonl")
        assert (counts.written, counts.empty, counts.unsettled) == (2, 1, 0)
        with pytest.raises(OutputError):
            export_gold(project, tmp_path / "gold.jsonl")
