"""The records every stage hands on: notes, sentences, spans. Only this module does arithmetic on offsets.

All offsets are half-open code points of a Python ``str``. No ``repr`` here shows note text.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Protocol

from deid_runtime.errors import InputError
from deid_runtime.labels import LABELS

_LABEL_LIKE: Final = re.compile(r"[A-Z][A-Z0-9_-]{1,30}")


@dataclass(frozen=True, slots=True)
class Note:
    """One clinical note. ``patient`` is the id under which surrogates and date shifts stay the same; empty: none known.

    ``extra`` carries the record's other columns, which are dropped from the output unless asked for. ``position`` says
    where the note stands in its input (``notes.jsonl:17``), empty for notes that come from no file.
    """

    id: str
    text: str = field(repr=False)
    patient: str = field(default="", repr=False)
    type: str = ""
    extra: Mapping[str, object] = field(default_factory=dict, repr=False)
    position: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class PatientRecord:
    """What the hospital's tables say of one patient: field name (``given``, ``dob``, ``mrn`` ...) to value."""

    id: str = field(repr=False)
    fields: Mapping[str, str] = field(repr=False)


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A labelled stretch ``[start, end)`` of one text, in code points.

    ``label`` is one of :data:`deid_runtime.labels.LABELS`; ``score`` is in [0, 1]; ``sources`` names who found it, as
    ``"pattern"``, ``"record"``, ``"model:name"`` ..., several after fusion.
    """

    start: int
    end: int
    label: str
    score: float = 1.0
    sources: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not 0 <= self.start < self.end:
            raise InputError(
                f"span [{self.start}, {self.end}) of {self.sources or 'an unnamed source'} is empty or reversed; "
                "expected 0 <= start < end"
            )
        if self.label not in LABELS:
            # Only what looks like a label is quoted: columns mixed up may bring a stretch of text here.
            shown = repr(self.label) if _LABEL_LIKE.fullmatch(self.label) else f"of {len(self.label)} characters"
            raise InputError(f"unknown label {shown}; expected one of deid_runtime.labels.LABELS")

    def shift(self, by: int) -> "Span":
        """Return the span moved ``by`` code points to the right."""
        return replace(self, start=self.start + by, end=self.end + by)

    def overlaps(self, other: "Span") -> bool:
        """Say whether the two share a code point."""
        return self.start < other.end and other.start < self.end


@dataclass(frozen=True, slots=True)
class Sentence:
    """A stretch ``[start, end)`` of a note; the sentences of a note tile it.

    What is in one that ``is_known`` is known already: models see it beside its neighbours, and are not asked of it.
    """

    start: int
    end: int
    is_known: bool = False


def covered(spans: Iterable[Span | Sentence]) -> list[tuple[int, int]]:
    """Return the stretches of code points that ``spans`` cover, ``(start, end)``, sorted, none touching another."""
    stretches: list[tuple[int, int]] = []
    for start, end in sorted((span.start, span.end) for span in spans):
        if stretches and start <= stretches[-1][1]:
            if end > stretches[-1][1]:
                stretches[-1] = (stretches[-1][0], end)
        else:
            stretches.append((start, end))
    return stretches


#: One row of spans per text, in order, in the offsets of that text. Rows never depend on each other.
Detector = Callable[[Sequence[str]], list[list[Span]]]

#: As :data:`Detector`, for finders that need the sentences: texts, the sentences of each text; one row each.
Tagger = Callable[[Sequence[str], Sequence[Sequence[Sentence]]], list[list[Span]]]


class LoadedTagger(Protocol):
    """A :data:`Tagger` with its models, wherever they run.

    ``manifest`` is that of the models with what was chosen of them, ready for JSON; no restart changes it.
    """

    manifest: Mapping[str, object]

    def __call__(self, texts: Sequence[str], sentences: Sequence[Sequence[Sentence]]) -> list[list[Span]]:
        """Return one row of spans and traces per text, in order.

        Raises ModelError when a server does not answer, EngineError when an engine of this process fails.

        A trace (:data:`~deid_runtime.models.doubts.TRACE`) is no finding: the pipeline uses it up.
        """
