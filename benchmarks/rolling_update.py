"""Does a note fail while servers are exchanged one after the other, and does every answer name the models that made it?

    python benchmarks/rolling_update.py --results benchmarks/results/rolling_update.json

Method: two real ``deid serve`` on one machine, each with a signed release that it checks. Threads send whole notes to
``deidentify`` of both and repeat a refused note on the other server; runs of ``deid run --server A,B`` come and go.
Four exchanges follow each other, always one server after the other, each stopped with SIGTERM:

- program: both servers are started again with the release that they had;
- one head: a release whose graph has other weights in the name head alone. A run with the old models that began before
  goes on with the second server; then a run with the new models uses the first one; only then the second is exchanged;
- version: a release with other thresholds for all heads and another graph;
- roll back: the first release again.

A note fails when it has no answer, is held back, or has another text than a run without a server gives with the
models that the answer names. So ``other_text`` also counts answers that name the wrong models.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

BENCHMARKS: Final = Path(__file__).resolve().parent
sys.path += [str(BENCHMARKS / "chaos"), str(BENCHMARKS / "hostile")]

from attacked_runs import RESULTS, describe_machine, run_command, write_notes  # noqa: E402
from changed_models import with_other_head, with_other_thresholds  # noqa: E402
from live_service import KEY_NAME, Answer, NoteClients, ServeProcess, compare_job, start_job  # noqa: E402
from looking import read_rows  # noqa: E402
from served_models import free_ports  # noqa: E402

from deid_export.onnx.release import write_release  # noqa: E402
from deid_runtime.models.manifest import find_models, served_version  # noqa: E402
from deid_runtime.serving.graph_models import ServingOptions  # noqa: E402
from deid_runtime.serving.note_models import NoteOptions  # noqa: E402
from deid_runtime.serving.repository import write_repository  # noqa: E402
from deid_runtime.surrogates import write_key  # noqa: E402
from deid_runtime.system.signatures import write_signing_pair  # noqa: E402

_JOB_LIMIT_S: Final = 400.0
_FAILED: Final = ("lost", "doubled", "held_back", "other_text")


@dataclass(frozen=True)
class Release:
    """One signed release: the models for `deid run`, the repository for `deid serve`, and the texts that they give."""

    name: str
    models: Path
    repository: Path
    version: str  # of the model `deidentify` in answers
    expected: Mapping[str, str] = field(repr=False)


@dataclass
class Setting:
    """Notes, keys, the two servers, and the releases by name."""

    folder: Path
    notes: list[dict[str, str]]
    servers: list[ServeProcess]
    releases: dict[str, Release]

    @property
    def key(self) -> Path:
        """The key of the runs and of the servers."""
        return self.folder / "keys" / f"{KEY_NAME}.key"

    def is_right(self, note: str, answer: Answer) -> bool:
        """Return whether an answer is that of the release whose version it names."""
        return any(
            answer.version == release.version and answer.text == release.expected[note]
            for release in self.releases.values()
        )


def main() -> None:
    """Do all exchanges, print a line for each, write the results; exit with 1 when a note failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--notes", type=int, default=40)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--results", type=Path, default=RESULTS / "rolling_update.json")
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as name:
        setting = prepare(Path(name), options.notes)
        first, second = setting.servers
        with first, second:
            for each in setting.servers:
                each.start()
            for each in setting.servers:
                each.wait_ready()
            for kind, before, after in (
                ("program", "one", "one"),
                ("one head", "one", "head"),
                ("version", "head", "two"),
                ("roll back", "two", "one"),
            ):
                rows.append(exchange(setting, kind, before, after, options.threads))
                write_result(rows, setting, options)
    raise SystemExit(1 if any(row[name] for row in rows for name in (*_FAILED, "failed")) else 0)


def exchange(setting: Setting, kind: str, before: str, after: str, threads: int) -> dict[str, Any]:
    """Exchange both servers, one after the other, under load; return what came of all notes."""
    old, new = setting.releases[before], setting.releases[after]
    addresses = [each.address for each in setting.servers]
    began = time.monotonic()
    jobs: list[dict[str, Any]] = []
    with NoteClients(addresses, setting.notes, setting.is_right, threads) as clients:
        job = Job(setting, old, addresses)
        time.sleep(4.0)  # it has begun with its notes
        restart(setting.servers[0], new)
        later = Job(setting, new, addresses)  # at this moment the second server has the old models
        jobs += [job.end(), later.end()]
        restart(setting.servers[1], new)
        jobs.append(Job(setting, new, addresses).end())
        until = clients.answered + len(setting.notes)
        while clients.answered < until:
            time.sleep(0.2)
    row = {
        "exchange": kind,
        "models_before": old.version,
        "models_after": new.version,
        **{name: sum(each[name] for each in jobs) for name in ("lost", "doubled", "held_back")},
        "other_text": sum(each["other_text"] for each in jobs) + clients.counts["other_text"],
        "failed": clients.counts["failed"],
        "runs": len(jobs),
        "notes_of_runs": len(jobs) * len(setting.notes),
        "notes_answered": clients.answered,
        "answers_by_version": dict(clients.versions),
        "calls_repeated": clients.counts["calls_repeated"],
        "longest_note_s": round(clients.longest_s, 1),
        "seconds": round(time.monotonic() - began, 1),
    }
    print(json.dumps(row), flush=True)
    return row


class Job:
    """One ``deid run`` with the models of a release on both servers."""

    _number = 0

    def __init__(self, setting: Setting, release: Release, addresses: list[str]) -> None:
        Job._number += 1
        self._release = release
        self._out = setting.folder / f"job-{Job._number}.jsonl"
        models = ("--models", str(release.models), "--models-key", str(setting.folder / "maker.pem.pub"))
        self._process = start_job(setting.folder / "notes.jsonl", self._out, setting.key, addresses, *models)

    def end(self) -> dict[str, Any]:
        """Wait for the end; count the notes that failed, and check that the report names the models."""
        compared = compare_job(self._process, self._out, self._release.expected, _JOB_LIMIT_S)
        report = json.loads(self._out.with_name(f"{self._out.name}.manifest.json").read_text(encoding="utf-8"))
        if served_version(report["pipeline"]["models"]["models_sha256"]) != self._release.version:
            raise RuntimeError("the report of a run names other models than those it was given")
        return compared


def restart(server: ServeProcess, release: Release) -> None:
    """Stop a server and start it with a release, as a platform does; wait until its models answer."""
    server.stop()
    server.serve(release.repository)
    server.start()
    server.wait_ready()


def prepare(folder: Path, count: int) -> Setting:
    """Write notes, keys and the three releases, and de-identify the notes with each of them without a server."""
    source, keys = folder / "notes.jsonl", folder / "keys"
    write_notes(source, count)
    keys.mkdir()
    write_key(keys / f"{KEY_NAME}.key")
    write_signing_pair(folder / "maker.pem")
    makers: dict[str, Callable[[Path], Path]] = {
        "one": lambda out: find_models(None),
        "head": lambda out: with_other_head("name", out),
        "two": lambda out: with_other_thresholds(with_other_head("location", out.with_name("made-graph")), out),
    }
    releases = {}
    notes = read_rows(source.read_bytes())
    for name, make in makers.items():
        releases[name] = make_release(folder, name, make(folder / f"made-{name}"), source)
        notes = [note for note in notes if note["id"] in releases[name].expected]
    source.write_text("".join(json.dumps(note) + "\n" for note in notes), encoding="utf-8")
    kept = {note["id"] for note in notes}
    for name, release in releases.items():
        texts = {note: text for note, text in release.expected.items() if note in kept}
        releases[name] = Release(release.name, release.models, release.repository, release.version, texts)
    servers = [
        ServeProcess(
            releases["one"].repository, keys, folder / f"server-{number}.log", _ports(),
            "--models-key", str(folder / "maker.pem.pub"),
        )
        for number in range(2)
    ]  # fmt: skip
    return Setting(folder, notes, servers, releases)


def make_release(folder: Path, name: str, models: Path, source: Path) -> Release:
    """Sign models and a repository of them as `deid-export release` does; run the notes with them."""
    key, card = folder / "maker.pem", find_models(None) / "MODEL_CARD.md"
    signed = folder / f"release-{name}"
    manifest = write_release(models, signed, key=key, version=name, card=card)
    unsigned = folder / f"unsigned-{name}"
    write_repository(manifest.only("fast"), unsigned, ServingOptions(), NoteOptions())
    write_release(unsigned, folder / f"served-{name}", key=key, version=name, card=card)
    out = folder / f"expected-{name}.jsonl"
    command = run_command(source, out, folder / "keys" / f"{KEY_NAME}.key", "--workers", "1")
    done = subprocess.run([*command, "--models", str(signed), "--models-key", f"{key}.pub"], check=False)
    if done.returncode not in (0, 1):
        raise SystemExit(f"the run without a server ended with {done.returncode}; nothing can be compared with it")
    expected = {row["id"]: row["text"] for row in read_rows(out.read_bytes())}
    version = served_version(manifest.profile_sha256("fast"))
    return Release(name, signed, folder / f"served-{name}", version, expected)


def write_result(rows: list[dict[str, Any]], setting: Setting, options: argparse.Namespace) -> None:
    """Write what came of all exchanges so far."""
    texts = {name: release.expected for name, release in setting.releases.items()}
    result = {
        "question": str(__doc__).splitlines()[0],
        "machine": describe_machine(),
        "machine_was_shared": "other work ran on the same cores; times are upper bounds",
        "arguments": {each: value for each, value in vars(options).items() if each != "results"},
        "notes_that_differ_between_releases": {
            f"{one} and {two}": sum(texts[one][note] != texts[two][note] for note in texts[one])
            for one, two in (("one", "head"), ("head", "two"))
        },
        **{name: sum(row[name] for row in rows) for name in (*_FAILED, "failed", "notes_answered", "notes_of_runs")},
        "rows": rows,
    }
    options.results.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


def _ports() -> tuple[int, int, int]:
    grpc, http, metrics = free_ports(3)
    return grpc, http, metrics


if __name__ == "__main__":
    main()
