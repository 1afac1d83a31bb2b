"""The traits that an attacker sees in the marked words of a corpus, one list per word.

``code_look`` is for an attacker with our lists and our code: whether our lists contain the word or one that differs by
a letter, how common it is in the world, how often our code generates it, and how it is written.

``repeat_look`` is for an attacker who counts: how often the value occurs, in how many notes and for how many patients.
Our surrogates differ between patients, so a value that many patients share is more likely an original.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from sys import intern
from typing import Final

from deid_runtime.audit.marked_words import PEOPLE, MarkedNote, MarkedWord, all_words
from deid_runtime.audit.our_lists import is_near, lists_with
from deid_runtime.lexicon.word_codes import load_lexicon, word_key
from deid_runtime.text.words import SHAPES, shape_of

#: For each note, for each of its marked words, the traits of the word.
Traits = list[list[list[str]]]
#: A function from notes with marks to traits.
Look = Callable[[Sequence[MarkedNote]], Traits]

_LONGEST: Final = 12  # letters; longer words have one trait
_ENDS: Final = (2, 3)  # letters at the start and the end of names


def code_look(made: Sequence[MarkedNote]) -> Look:
    """Return the look of an attacker with our lists and with ``made``, notes whose surrogates our code generated."""
    drawn = {kind: Counter[str]() for kind in (True, False)}
    for word in (word for words in all_words(made) for word in words):
        drawn[word.label in PEOPLE][word.form] += 1
    return lambda notes: [[_code_traits(word, drawn[word.label in PEOPLE]) for word in row] for row in all_words(notes)]


def _code_traits(word: MarkedWord, drawn: Mapping[str, int]) -> list[str]:
    label, form = word.label, word.form
    kinds = "+".join(lists_with(form)) or ("near" if is_near(form) else "")
    code = load_lexicon().get(word_key(word.text), 0)
    times = _step(drawn.get(form, 0))
    shape = f"{SHAPES[shape_of(word.text)]}{min(len(word.text), _LONGEST)}"
    traits = [
        f"{label} lists={kinds}",
        f"{label} made={times}",
        f"{label} known={code}",
        f"{label} lists={kinds} made={times} known={code}",
        f"{label} shape={shape}",
        f"{label} word {word.place} of {word.words}",
    ]
    if label in PEOPLE:
        traits += [f"starts {form[:size]}" for size in _ENDS] + [f"ends {form[-size:]}" for size in _ENDS]
        traits += [f"ends {form[-2:]} of {min(len(form), _LONGEST)}"]
    return [intern(trait) for trait in traits]  # interned, so that equal traits take memory once


def repeat_look(notes: Sequence[MarkedNote]) -> Traits:
    """Return the traits for an attacker who counts values and words in the notes themselves."""
    rows = all_words(notes)
    of_values = _counts(notes, rows, lambda word: (word.label in PEOPLE, word.value))
    of_words = _counts(notes, rows, lambda word: (word.label in PEOPLE, word.form))
    return [
        [_repeat_traits(word, note, of_values, of_words) for word in row] for note, row in zip(notes, rows, strict=True)
    ]


_Key = tuple[bool, str]


class _Counts:
    """How often a key occurs in total, and in how many notes and patients."""

    def __init__(self) -> None:
        self.mentions: Counter[_Key] = Counter()
        self.of_patient: Counter[tuple[str, _Key]] = Counter()
        self.patients: defaultdict[_Key, set[str]] = defaultdict(set)


def _counts(
    notes: Sequence[MarkedNote], rows: Sequence[Sequence[MarkedWord]], key: Callable[[MarkedWord], _Key]
) -> _Counts:
    counts = _Counts()
    for note, row in zip(notes, rows, strict=True):
        for each in map(key, row):
            counts.mentions[each] += 1
            counts.of_patient[note.patient, each] += 1
            counts.patients[each].add(note.patient)
    return counts


def _repeat_traits(word: MarkedWord, note: MarkedNote, of_values: _Counts, of_words: _Counts) -> list[str]:
    traits = []
    known = load_lexicon().get(word_key(word.text), 0)
    for name, counts, key in (
        ("value", of_values, (word.label in PEOPLE, word.value)),
        ("word", of_words, (word.label in PEOPLE, word.form)),
    ):
        patients, own = _step(len(counts.patients[key])), _step(counts.of_patient[note.patient, key])
        traits += [
            f"{word.label} {name} patients={patients}",
            f"{word.label} {name} patients={patients} mentions={_step(counts.mentions[key])}",
            f"{word.label} {name} of this patient={own}",
            f"{word.label} {name} patients={patients} known={known}",
        ]
    return [intern(trait) for trait in traits]


def _step(count: int) -> int:
    """Return 0, 1, 2, 3, 4 for 0, 1, 2 to 3, 4 to 7, 8 to 15, and so on: which are equal steps of the logarithm."""
    return count.bit_length()
