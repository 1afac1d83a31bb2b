"""Ask for a decision on each candidate in a terminal. Every decision is saved before the next question."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from rich.console import Console, Group
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from deid_export.adapt.harvest.candidates import Candidate, Status, read_review, write_review

#: Maps a key to its decision.
DECISIONS: Final[Mapping[str, Status]] = {"a": "accepted", "r": "rejected"}
KEYS: Final = "a accept   r reject   s skip for now   b back, undo   q quit"

_TITLES: Final = {
    "frequent": "sentence that seems to have no identifier",
    "term": "sentence with a disease or drug that seems to have no identifier",
    "template": "template",
}
#: Evidence against a candidate when it is not zero or empty.
_DOUBTS: Final = frozenset(
    {
        "occurrences_with_identifier",
        "share_beside_identifier",
        "words_also_in_names",
        "sentences_matched_with_other_identifiers",
        "sentences_matched_with_a_leak",
        "sentences_of_its_syntax_with_other_entities",
    }
)


def review_pending(path: Path, console: Console, read_key: Callable[[], str]) -> Counter[str]:
    """Ask about every pending line of ``path`` and return the number of lines by status afterwards.

    ``read_key`` returns one character, or an empty string at the end of input, which counts as ``q``.
    """
    candidates = read_review(path)
    pending = [i for i, candidate in enumerate(candidates) if candidate.status == "pending"]
    at = 0
    while at < len(pending):
        candidate = candidates[pending[at]]
        console.print(show(candidate, f"{at + 1} of {len(pending)} pending"))
        console.print(KEYS, style="dim", highlight=False)
        key = _ask(read_key)
        if key == "q":
            break
        if key == "b":
            at = max(0, at - 1)
            _decide(path, candidates, pending[at], "pending")
        elif key in DECISIONS:
            _decide(path, candidates, pending[at], DECISIONS[key])
            console.print(DECISIONS[key], style="green" if key == "a" else "red", highlight=False)
            at += 1
        else:
            at += 1
    return Counter(candidate.status for candidate in candidates)


def accept_above(path: Path, patients: int) -> int:
    """Accept every pending line with at least ``patients`` patients, marked as decided in bulk; return their number."""
    candidates = read_review(path)
    chosen = bulk(candidates, patients)
    write_review(
        path, [replace(c, status="accepted", decided="bulk") if i in chosen else c for i, c in enumerate(candidates)]
    )
    return len(chosen)


def bulk(candidates: Sequence[Candidate], patients: int) -> set[int]:
    """Return the positions of the pending candidates with at least ``patients`` patients."""
    return {i for i, c in enumerate(candidates) if c.status == "pending" and c.patients >= patients}


def show(candidate: Candidate, position: str) -> Panel:
    """Return the panel that shows one candidate."""
    facts = Table.grid(padding=(0, 2))
    about = "" if candidate.patients_exact else "about "
    facts.add_row("patients", f"{about}{candidate.patients:,}")
    facts.add_row("notes", f"{candidate.notes:,}")
    facts.add_row("occurrences", f"{candidate.occurrences:,}")
    for name, value in candidate.evidence.items():
        is_doubt = name in _DOUBTS and bool(value)
        facts.add_row(name.replace("_", " "), Text(_plain(value)), style="yellow" if is_doubt else "")
    line = Text(_printable(candidate.line), style="bold")
    if candidate.kind == "template":
        line.highlight_regex(r"\{[^{}]*\}", "cyan")
    return Panel(Group(line, "", facts), title=_TITLES[candidate.kind], subtitle=position, title_align="left")


def _ask(read_key: Callable[[], str]) -> str:
    while True:
        key = read_key().lower()
        if not key:
            return "q"
        if key in (*DECISIONS, "s", "b", "q"):
            return key


def _decide(path: Path, candidates: list[Candidate], at: int, status: Status) -> None:
    candidates[at] = replace(candidates[at], status=status, decided="" if status == "pending" else "line")
    write_review(path, candidates)


def _plain(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {item}" for name, item in value.items()) or "none"
    if isinstance(value, list):
        return "; ".join(map(str, value)) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return _printable(str(value))


def _printable(text: str) -> str:
    """Return ``text`` without characters that could control a terminal."""
    return "".join(character if character.isprintable() else "\ufffd" for character in text)
