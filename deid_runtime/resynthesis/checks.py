"""The checks of a resynthesis: counts, unique values, forms of values, and consistency before and after."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Final

from deid_runtime.annotations.note import AnnotatedNote
from deid_runtime.labels import LABELS
from deid_runtime.resynthesis.chi_square import ChiSquare, compare_counts
from deid_runtime.resynthesis.constraints import KINDS, Violations
from deid_runtime.resynthesis.originals import MOVING_LABELS, patient_key
from deid_runtime.surrogates.forms import normal_form

_PIECE: Final = re.compile(r"[^\W\d_]+|\d+|\s+|[\W_]")
_GROUPED_AGE: Final = re.compile(r"90\+|(?:90s|ninety|nineties) or older|(?:90th|ninetieth) or later", re.I)
_MOST_PIECES: Final = 12  # longest form; an ellipsis replaces the rest


@dataclass(frozen=True, slots=True)
class LabelCheck:
    """One label: its spans and distinct values before and after, and how well their forms are preserved.

    ``same_form`` is the share of spans with an unchanged form. ``forms`` tests whether forms have the same
    distribution. Ages over 89 are excluded from both, because they get the form of their group on purpose.
    """

    spans_before: int
    spans_after: int
    unique_before: int
    unique_after: int
    same_form: float | None
    forms: ChiSquare


@dataclass(frozen=True)
class Checks:
    """The checks of one resynthesis. Contains no note text.

    - ``violations``: number of violations by kind.
    - ``ordinary_words``: number of original family names in the new corpus that are ordinary words.
      ``ordinary_outside`` and ``ordinary_inside`` count their occurrences outside and inside spans.
    - ``repeated``: number of values that a patient's notes have more than once. ``consistent``: how many of them have
      one surrogate.
    """

    notes: int
    patients: int
    labels: Mapping[str, LabelCheck]
    label_distribution: ChiSquare
    family_names: int
    violations: Mapping[str, int]
    ordinary_words: int
    ordinary_outside: int
    ordinary_inside: int
    repeated: int
    consistent: int

    @property
    def is_clean(self) -> bool:
        """Whether there is no violation and every label has as many spans as before."""
        same = all(check.spans_before == check.spans_after for check in self.labels.values())
        return same and not sum(self.violations.values())

    def to_json(self) -> dict[str, object]:
        """Return the checks as JSON values."""
        return asdict(self)


def form_of(label: str, value: str) -> str:
    """Return the form of a value: words as ``a``, ``A``, ``Aa`` or ``aA``, each digit as ``9``, blanks as one space.

    In dates and ages, one or two digits are ``9``, so that the 9th and the 10th have the same form. Example:
    ``SMITH-Jones, 14`` is ``A-Aa, 99``, and the date ``14 March 2019`` is ``9 Aa 9999``.
    """
    pieces = _PIECE.findall(value)
    forms = [_piece_form(piece) for piece in pieces[:_MOST_PIECES]]
    if label in MOVING_LABELS:
        forms = ["9" if piece == "99" else piece for piece in forms]
    return "".join(forms) + ("…" if len(pieces) > _MOST_PIECES else "")


def _piece_form(piece: str) -> str:
    if piece[0].isdigit():
        return "9" * len(piece)
    if piece.isspace():
        return " "
    if not piece[0].isalpha():
        return piece
    if piece.islower():
        return "a"
    if piece.isupper():
        return "A"
    return "Aa" if piece[0].isupper() and not any(map(str.isupper, piece[1:])) else "aA"


def check_corpus(
    before: Sequence[AnnotatedNote], after: Sequence[AnnotatedNote], family_names: int, found: Violations
) -> Checks:
    """Compare a corpus with its resynthesis: the same notes with the same number of spans, in the same order."""
    old, new = _by_label(before), _by_label(after)
    repeated, consistent = _consistency(before, after)
    outside = Counter[str]()
    inside = Counter[str]()
    for (form, label), places in found.ordinary.items():
        (inside if label else outside)[form] += places
    kinds = Counter(violation.kind for violation in found.violations)
    return Checks(
        notes=len(after),
        patients=len({patient_key(note) for note in before}),
        labels={label: _check_label(label, old[label], new[label]) for label in LABELS if old[label] or new[label]},
        label_distribution=compare_counts(_sizes(old), _sizes(new)),
        family_names=family_names,
        violations={kind: kinds[kind] for kind in KINDS},
        ordinary_words=len(outside.keys() | inside.keys()),
        ordinary_outside=outside.total(),
        ordinary_inside=inside.total(),
        repeated=repeated,
        consistent=consistent,
    )


def _by_label(notes: Iterable[AnnotatedNote]) -> defaultdict[str, list[str]]:
    values: defaultdict[str, list[str]] = defaultdict(list)
    for note in notes:
        for span in note.spans:
            values[span.label].append(note.text[span.start : span.end])
    return values


def _sizes(values: Mapping[str, Sequence[str]]) -> dict[str, int]:
    return {label: len(found) for label, found in values.items()}


def _check_label(label: str, old: Sequence[str], new: Sequence[str]) -> LabelCheck:
    # If spans were lost, the counts differ and the corpus is rejected. Then only the common number of values is
    # compared.
    both = zip(old, new, strict=False)
    pairs = [pair for pair in both if not (label == "AGE" and _GROUPED_AGE.search(pair[1]))]
    forms = [[form_of(label, pair[place]) for pair in pairs] for place in (0, 1)]
    kept = sum(first == second for first, second in zip(*forms, strict=True))
    return LabelCheck(
        spans_before=len(old),
        spans_after=len(new),
        unique_before=len(set(old)),
        unique_after=len(set(new)),
        same_form=kept / len(pairs) if pairs else None,
        forms=compare_counts(Counter(forms[0]), Counter(forms[1])),
    )


def _consistency(before: Sequence[AnnotatedNote], after: Sequence[AnnotatedNote]) -> tuple[int, int]:
    """Return how many values the notes of a patient repeat, and how many of these have only one surrogate."""
    surrogates: defaultdict[tuple[str, str, str], list[str]] = defaultdict(list)
    for old, new in zip(before, after, strict=True):
        for one, other in zip(old.spans, new.spans, strict=True):
            if one.label not in MOVING_LABELS:
                value, made = old.text[one.start : one.end], new.text[other.start : other.end]
                surrogates[patient_key(old), one.label, normal_form(value)].append(normal_form(made))
    repeated = [made for made in surrogates.values() if len(made) > 1]
    return len(repeated), sum(len(set(made)) == 1 for made in repeated)
