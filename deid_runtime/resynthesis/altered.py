"""The last resort when every candidate for a surrogate contains an original: alter the word that is the original.

A large corpus may have every family name of a small naming culture. Then *Chen* becomes *Chenn*, an unlisted but
plausible spelling, which is the same in all notes of a patient.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Final

from deid_runtime.annotations.note import AnnotatedNote
from deid_runtime.lexicon.letter_case import case_like
from deid_runtime.resynthesis.constraints import Constraints
from deid_runtime.resynthesis.originals import DIRECTIONS, MOVING_LABELS, STREET_KINDS, street_word, words_of
from deid_runtime.rewrite import rewrite
from deid_runtime.spans import Span
from deid_runtime.surrogates.forms import changed, misspell, normal_form, vary
from deid_runtime.surrogates.gazetteer import places

_TURNS: Final = 64
_SHORT_WORD: Final = 3  # letters; in a shorter word, one letter more or less makes another word


def with_values(note: AnnotatedNote, values: Sequence[str]) -> AnnotatedNote:
    """Return the note with ``values`` in place of its span values, one for each span, and with the new offsets."""
    text, offsets = rewrite(note.text, note.spans, values)
    spans = tuple(Span(start, end, span.label) for span, (start, end) in zip(note.spans, offsets, strict=True))
    return replace(note, text=text, spans=spans)


def alter_offending(
    note: AnnotatedNote, constraints: Constraints, originals: Collection[str], avoid: Collection[str]
) -> AnnotatedNote:
    """Return a new note whose surrogates contain no original, as far as a change of letters can achieve that.

    ``originals`` are the normal forms that no surrogate of this patient may equal. Altered values avoid ``avoid`` too,
    if possible.
    """
    return with_values(
        note,
        [_altered(span.label, note.text[span.start : span.end], constraints, originals, avoid) for span in note.spans],
    )


def _altered(
    label: str, value: str, constraints: Constraints, originals: Collection[str], avoid: Collection[str]
) -> str:
    # From right to left, so that offsets on the left stay valid.
    for start, end, kind in sorted(constraints.in_surrogate(label, value), reverse=True):
        if kind == "street":
            words = [word for word in words_of(value) if word.form.isalpha() and word.form not in DIRECTIONS]
            # In Court Square both words are street kinds: use the first as the name.
            name = next((word for word in words if street_word(word.form) not in STREET_KINDS), words[0])
            start, end = name.start, name.end
        value = value[:start] + _other_spelling(value[start:end], constraints, avoid) + value[end:]
    if label in MOVING_LABELS or normal_form(value) not in originals:
        return value
    if label == "STATE":
        return _other_state(value, avoid)
    long = next((w for w in words_of(value) if w.form.isalpha() and w.end - w.start > _SHORT_WORD), None)
    if long is None:
        return changed(value)
    return value[: long.start] + _other_spelling(value[long.start : long.end], constraints, avoid) + value[long.end :]


def _other_spelling(word: str, constraints: Constraints, avoid: Collection[str]) -> str:
    named = word.capitalize() if word.isupper() or word.islower() else word
    # Change more and more letters, until the word is not a family name of the corpus.
    odd = named
    for turn in range(_TURNS):
        odd = vary(named if turn < _TURNS // 2 else odd, turn)
        for made in (odd, misspell(odd, turn)):
            form = normal_form(made)
            if form not in constraints.originals.bearers and form not in avoid:
                return case_like(made, word)
    return word


def _other_state(value: str, avoid: Collection[str]) -> str:
    """Return a state in the form of ``value`` with no form in ``avoid``; the next state when all are in it."""
    states = places().states
    found = places().state_forms.get(normal_form(value))
    if found is None:
        return changed(value)
    index, form = found
    order = [*states[index + 1 :], *states[:index]]
    free = (s for s in order if not {normal_form(each) for each in (s.code, s.name, s.short)} & set(avoid))
    return case_like(getattr(next(free, order[0]), form), value)
