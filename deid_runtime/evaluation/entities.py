"""Entity and token scores as the i2b2 2014 track 1 evaluation script defines them, for comparison with papers.

The definitions come from the script (``evaluate.py phi``, Kotfila 2014, Apache-2.0); the code is new. For each note,
gold and found are *sets* of keys. A key in both is a true positive:

- ``strict``: same TYPE, start and end.
- ``relaxed``: same TYPE and start, ends at most 2 code points apart (so ``'s`` may be included or not).
- ``token``: a span is split into runs of ASCII letters and digits (``[a-zA-Z0-9]+``, letters and digits together,
  unlike in :mod:`deid_runtime.evaluation.tokens`). The key of each run is TYPE, start and end.
- ``binary_strict`` and ``binary_token``: start and end only.
- ``hipaa_...``: the same for the TYPEs that the script counts as HIPAA's. Its pattern for IDNUM ends in a space and so
  never matches. IDNUM is also omitted here, otherwise figures would not be comparable. All ages are included.

Micro averages (the primary figures of the track) pool all notes. Macro averages are means over notes, with standard
deviations over notes. A ratio with a denominator of 0 is 0, for a note and for all. Both F1 are computed from the
precision and recall beside them. :func:`printed` writes the figures as the script does: four significant digits, two
for deviations.

Two differences remain. First, our label set has no PROFESSION, so on i2b2's own gold the figures of the script include
that TYPE (run it with ``--filter`` to compare). Second, a note without found spans counts as completely missed. The
script skips documents that a system did not return.
"""

import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from deid_runtime.annotations.note import AnnotatedNote
from deid_runtime.evaluation.tokens import Score
from deid_runtime.spans import Span

HIPAA_LABELS: Final = frozenset({
    "PATIENT", "AGE", "CITY", "STREET", "ZIP", "ORGANIZATION", "DATE", "PHONE", "FAX", "EMAIL", "SSN", "MEDICALRECORD",
    "HEALTHPLAN", "ACCOUNT", "LICENSE", "VEHICLE", "DEVICE", "BIOID",
})  # fmt: skip

_RELAXED_CHARS: Final = 2
_TOKEN: Final = re.compile(r"[a-zA-Z0-9]+")


@dataclass(frozen=True, slots=True)
class EntityScore:
    """Pooled counts, and the means and standard deviations over notes of the precision and recall of each note."""

    micro: Score
    macro_precision: float
    macro_recall: float
    macro_precision_deviation: float
    macro_recall_deviation: float


def printed(score: EntityScore) -> dict[str, tuple[str, str]]:
    """Return the macro and micro figure of each measure as the script prints them, for instance ``0.8776``."""
    precision, recall = score.micro.precision or 0.0, score.micro.recall or 0.0
    macro_f1, micro_f1 = _f1(score.macro_precision, score.macro_recall), _f1(precision, recall)
    return {
        "precision": (f"{score.macro_precision:.4} ({score.macro_precision_deviation:.2})", f"{precision:.4}"),
        "recall": (f"{score.macro_recall:.4} ({score.macro_recall_deviation:.2})", f"{recall:.4}"),
        "f1": (f"{macro_f1:.4}", f"{micro_f1:.4}"),
    }


def _f1(precision: float, recall: float) -> float:
    return 2 * ((precision * recall) / (precision + recall)) if precision + recall else 0.0


class _Relaxed:
    """A span that equals any other span with its label and start and a close end, as the tags of the script do.

    This is not an equivalence relation (0-2 equals 0-4 equals 0-6). So with several gold spans at one start, the result
    depends on the order of set operations, here and in the script. This never happens when spans do not overlap.
    """

    __slots__ = ("end", "key")

    def __init__(self, span: Span) -> None:
        self.key = (span.label, span.start)
        self.end = span.end

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Relaxed) and self.key == other.key and abs(self.end - other.end) <= _RELAXED_CHARS


_Keys = Callable[[str, Sequence[Span]], set[Hashable]]


def _strict(text: str, spans: Sequence[Span]) -> set[Hashable]:
    return {(span.label, span.start, span.end) for span in spans}


def _relaxed(text: str, spans: Sequence[Span]) -> set[Hashable]:
    return {_Relaxed(span) for span in spans}


def _binary_strict(text: str, spans: Sequence[Span]) -> set[Hashable]:
    return {(span.start, span.end) for span in spans}


def _token(text: str, spans: Sequence[Span]) -> set[Hashable]:
    return {(span.label, *match.span()) for span in spans for match in _TOKEN.finditer(text, span.start, span.end)}


def _binary_token(text: str, spans: Sequence[Span]) -> set[Hashable]:
    return {match.span() for span in spans for match in _TOKEN.finditer(text, span.start, span.end)}


_MEASURES: Final[Mapping[str, _Keys]] = {
    "strict": _strict,
    "relaxed": _relaxed,
    "token": _token,
    "binary_strict": _binary_strict,
    "binary_token": _binary_token,
}


def score_entities(gold: Sequence[AnnotatedNote], found: Mapping[str, Sequence[Span]]) -> dict[str, EntityScore]:
    """Return each measure of the module docstring by name: over all labels and, as ``hipaa_<name>``, over HIPAA's."""
    pairs = [(note.text, note.spans, found.get(note.id, ())) for note in gold]
    hipaa = [(text, _of_hipaa(marked), _of_hipaa(spans)) for text, marked, spans in pairs]
    return {
        prefix + name: _score([_compare(keys, *pair) for pair in chosen])
        for prefix, chosen in (("", pairs), ("hipaa_", hipaa))
        for name, keys in _MEASURES.items()
    }


def _of_hipaa(spans: Sequence[Span]) -> list[Span]:
    return [span for span in spans if span.label in HIPAA_LABELS]


def _compare(keys: _Keys, text: str, gold: Sequence[Span], found: Sequence[Span]) -> Score:
    marked, claimed = keys(text, gold), keys(text, found)
    return Score(len(marked & claimed), len(claimed - marked), len(marked - claimed))


def _score(notes: Sequence[Score]) -> EntityScore:
    micro = Score(
        sum(note.true_positives for note in notes),
        sum(note.false_positives for note in notes),
        sum(note.false_negatives for note in notes),
    )
    precisions, recalls = (
        np.array([getattr(note, name) or 0.0 for note in notes] or [0.0]) for name in ("precision", "recall")
    )
    return EntityScore(
        micro, float(precisions.mean()), float(recalls.mean()), float(precisions.std()), float(recalls.std())
    )
