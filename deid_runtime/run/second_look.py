"""A second look at de-identified notes: check whether anything in them still identifies a person.

The run is repeated with the same key, so it is known which parts of a released note are surrogates. Detectors that
did not take part in the run, such as the models of the profile ``full``, then read the released text. What they find
outside the surrogates was overlooked by the run, or a person must check it.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from deid_runtime.evaluation.errors import is_telling
from deid_runtime.evaluation.tokens import TOKEN
from deid_runtime.labels import HEADS
from deid_runtime.lexicon.name_cues import fold, is_ordinary
from deid_runtime.pipeline.outcomes import Deidentified
from deid_runtime.settings import Settings
from deid_runtime.spans import Span

#: Words of the originals that are searched for in the released text: words of names, and numbers of four or more
#: digits.
_NAMES: Final = frozenset((*HEADS["name"], "CITY", "STREET", "HOSPITAL", "ORGANIZATION"))
#: Labels whose form alone identifies a person, even outside surrogates.
_SURE_FORMS: Final = frozenset(
    {
        "PHONE", "FAX", "EMAIL", "URL", "IPADDR", "SSN", "MEDICALRECORD", "HEALTHPLAN", "ACCOUNT", "LICENSE", "VEHICLE",
        "IDNUM",
    }
)  # fmt: skip
_NUMBER: Final = re.compile(r"\d{4,}")
#: Lowest score at which a span of the second search is shown to a person. Below it, most spans are not identifiers.
_LEAST_SCORE: Final = 0.5


class Verdict(StrEnum):
    """The result of the second look at a note, from good to bad."""

    PASS = "PASS"
    REVIEW = "REVIEW"
    FAIL = "FAIL"


class Reason(StrEnum):
    """Why a note did not pass."""

    OTHER_TEXT = "the released text is not what this key, program and input give"
    RECORD = "a value of the patient's record is there"
    ORIGINAL = "a word of an identifier of this note is still there"
    FORM = "text has the form of a number or address that identifies"
    SECOND_SEARCH = "other models find an identifier that was not replaced"
    HELD_BACK = "the released text cannot be searched a second time"


_FAILS: Final = frozenset({Reason.OTHER_TEXT, Reason.RECORD, Reason.ORIGINAL, Reason.FORM})


@dataclass(frozen=True, slots=True)
class Looked:
    """The verdict on one note, and how often each reason was found."""

    note_id: str
    reasons: Mapping[Reason, int] = field(default_factory=dict)

    @property
    def verdict(self) -> Verdict:
        """Return FAIL when an identifier is certainly left, REVIEW when a person must check, PASS otherwise."""
        if not self.reasons:
            return Verdict.PASS
        return Verdict.FAIL if _FAILS & self.reasons.keys() else Verdict.REVIEW

    def to_json(self) -> dict[str, object]:
        """Return the verdict as JSON values, without text."""
        return {
            "id": self.note_id,
            "verdict": str(self.verdict),
            "reasons": {str(k): n for k, n in self.reasons.items()},
        }


def second_settings(run: Settings) -> Settings:
    """Return the settings of the second search after a run: the profile ``full`` of its models, on this machine."""
    return Settings(
        models=run.models, models_key=run.models_key, trust_models=run.trust_models, profile="full",
        engine=run.engine, precision=run.precision, hold_back_unreadable=False,
    )  # fmt: skip


def look_again(original: str, released: Deidentified, found: Sequence[Span]) -> Looked:
    """Return the verdict on a released note. ``found`` are the spans of the second search in ``released.text``."""
    reasons: Counter[Reason] = Counter()
    for span in found:
        reason = _reason(released, span)
        if reason is not None:
            reasons[reason] += 1
    left = _originals_left(original, released)
    if left:
        reasons[Reason.ORIGINAL] = left
    return Looked(released.note_id, dict(sorted(reasons.items())))


def _reason(released: Deidentified, span: Span) -> Reason | None:
    """Return what a found span means, or None when it is a surrogate or has no specific word outside a surrogate."""
    if "record" in span.sources:
        return Reason.RECORD  # surrogates never equal a value of the record
    outside = [
        token
        for token in TOKEN.finditer(released.text, span.start, span.end)
        if is_telling(token[0]) and not _touches(released.replacements, token.start(), token.end())
    ]
    if not outside:
        return None
    if span.label in _SURE_FORMS and "pattern" in span.sources:
        return Reason.FORM
    return Reason.SECOND_SEARCH if span.score >= _LEAST_SCORE else None


def _originals_left(original: str, released: Deidentified) -> int:
    """Count the words of the originals that occur outside the surrogates of the released text."""
    words = set(_words_of_originals(original, released.spans))
    if not words:
        return 0
    return sum(
        token[0] in words and not _touches(released.replacements, token.start(), token.end())
        for token in TOKEN.finditer(released.text)
    )


def _words_of_originals(original: str, spans: Iterable[Span]) -> Iterable[str]:
    for span in spans:
        for token in TOKEN.finditer(original, span.start, span.end):
            word = token[0]
            if span.label in _NAMES and word[0].isupper() and len(word) >= 3 and word.isalpha():
                if not is_ordinary(fold(word)):
                    yield word
            elif span.label not in ("AGE", "DATE") and _NUMBER.fullmatch(word):
                yield word


def _touches(stretches: Sequence[tuple[int, int]], start: int, end: int) -> bool:
    return any(first < end and start < last for first, last in stretches)
