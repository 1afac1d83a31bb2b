"""The records that all stages share: notes, sentences and spans. Only this module does arithmetic on offsets.

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
    """One clinical note.

    ``patient`` is the patient id, empty when unknown. All notes with one patient id get the same surrogates and the
    same date shift. ``extra`` has the other columns of the record; the output has them only on request. ``position``
    is the place of the note in its input (``notes.jsonl:17``); it is empty for notes that are not from a file.
    """

    id: str
    text: str = field(repr=False)
    patient: str = field(default="", repr=False)
    type: str = ""
    extra: Mapping[str, object] = field(default_factory=dict, repr=False)
    position: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class PatientRecord:
    """The data of one patient in the hospital's tables: field name (``given``, ``dob``, ``mrn`` ...) to value."""

    id: str = field(repr=False)
    fields: Mapping[str, str] = field(repr=False)


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A labelled stretch ``[start, end)`` of one text, in code points.

    ``label`` is one of :data:`deid_runtime.labels.LABELS`; ``score`` is in [0, 1]; ``sources`` names the detectors that
    found it (``"pattern"``, ``"record"``, ``"model:name"`` ...). After fusion a span can have several sources.
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
            # Quote the value only when it looks like a label: if columns are mixed up, it can be note text.
            shown = repr(self.label) if _LABEL_LIKE.fullmatch(self.label) else f"of {len(self.label)} characters"
            raise InputError(f"unknown label {shown}; expected one of deid_runtime.labels.LABELS")

    def shift(self, by: int) -> "Span":
        """Return the span moved ``by`` code points to the right."""
        return replace(self, start=self.start + by, end=self.end + by)

    def overlaps(self, other: "Span") -> bool:
        """Return whether the two spans share a code point."""
        return self.start < other.end and other.start < self.end


@dataclass(frozen=True, slots=True)
class Sentence:
    """A stretch ``[start, end)`` of a note, in code points. The sentences of a note cover it without gap or overlap.

    ``is_known`` marks a context sentence: models read it as context for its neighbours only; its words are not scored.
    """

    start: int
    end: int
    is_known: bool = False


def covered(spans: Iterable[Span | Sentence]) -> list[tuple[int, int]]:
    """Return the code points that ``spans`` cover, as sorted half-open ``(start, end)`` that do not touch."""
    stretches: list[tuple[int, int]] = []
    for start, end in sorted((span.start, span.end) for span in spans):
        if stretches and start <= stretches[-1][1]:
            if end > stretches[-1][1]:
                stretches[-1] = (stretches[-1][0], end)
        else:
            stretches.append((start, end))
    return stretches


#: Returns one row of spans per text, in order. Offsets are those of that text. Rows never depend on each other.
Detector = Callable[[Sequence[str]], list[list[Span]]]

#: A detector that also needs the sentences. Takes the texts and one row of sentences per text; returns the same rows
#: as :data:`Detector`.
Tagger = Callable[[Sequence[str], Sequence[Sequence[Sentence]]], list[list[Span]]]


class LoadedTagger(Protocol):
    """A :data:`Tagger` with loaded models, in this process or on a server.

    ``manifest`` is the model manifest with the selected options, ready for JSON. A restart does not change it.
    """

    manifest: Mapping[str, object]

    def window_counts(self) -> Mapping[str, int]:
        """Return how many windows were read so far (``read``), and how many had a kept answer (``from_cache``)."""

    def __call__(self, texts: Sequence[str], sentences: Sequence[Sequence[Sentence]]) -> list[list[Span]]:
        """Return one row of spans and traces per text, in order.

        Raises ModelError when a server does not answer, EngineError when an engine of this process fails.

        A trace (:data:`~deid_runtime.models.doubts.TRACE`) is not a finding. The pipeline uses it and removes it.
        """
