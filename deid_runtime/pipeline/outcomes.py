"""What the pipeline returns for a note, and why it stopped."""

from dataclasses import dataclass, field

from deid_runtime.spans import Span


@dataclass(frozen=True, slots=True)
class Deidentified:
    """One note with every identifier replaced.

    ``spans`` have offsets of the original text. ``replacements`` has, in the same order, the half-open offsets in
    ``text`` of the replacement of each span.
    """

    note_id: str
    text: str = field(repr=False)
    note_pseudonym: str
    patient_pseudonym: str
    spans: tuple[Span, ...]
    replacements: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Detected:
    """The identifiers of one note: sorted, disjoint spans in offsets of its text."""

    note_id: str
    spans: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Quarantined:
    """A note that could not be processed. ``reason`` contains no note text."""

    note_id: str
    stage: str
    reason: str


#: The result for one note: Detected from ``detect``, Deidentified from ``deidentify``, or Quarantined from both.
Outcome = Deidentified | Detected | Quarantined


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a pipeline has stopped: the stage that failed, and a reason without note text."""

    stage: str
    reason: str
