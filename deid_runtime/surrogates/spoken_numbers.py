"""Surrogates of numbers in words, as in dictated notes: other words of the same kind for ``three one, seven oh``."""

import re
from typing import Final

from deid_runtime.lexicon.letter_case import case_like
from deid_runtime.lexicon.numbers import NUMBER_WORDS, ONES, TEENS, TENS
from deid_runtime.surrogates.forms import scramble
from deid_runtime.surrogates.patient import Patient

_UNITS: Final = ("oh", *ONES)
_WORD: Final = re.compile(r"[^\W\d_]+")
_DIGIT_OF: Final = {word: str(number) for word, number in NUMBER_WORDS.items() if number < 10} | {"oh": "0", "o": "0"}
_WORD_OF: Final = {digit: word for word, digit in _DIGIT_OF.items() if word not in ("oh", "o")}

#: Three words of numbers in a row.
NUMBER_SPEECH: Final = re.compile(
    rf"(?:\b(?:zero|hundred|double|triple|{'|'.join((*_UNITS, *TEENS, *TENS))})\b[\s,-]*){{3,}}", re.I
)


def spoken_digits(value: str) -> str:
    """Return the digits that ``value`` spells in words, one word a digit; empty when it has anything else."""
    words = [word.lower() for word in _WORD.findall(value)]
    if len(words) < 2 or any(word not in _DIGIT_OF for word in words) or any(char.isdecimal() for char in value):
        return ""
    return "".join(_DIGIT_OF[word] for word in words)


def speak_like(digits: str, value: str) -> str:
    """Return ``value`` with each word replaced by the word for one digit, in order.

    ``digits`` has as many digits as ``value`` has words.
    """
    zero = next((word.lower() for word in _WORD.findall(value) if _DIGIT_OF[word.lower()] == "0"), "zero")
    words = iter(zero if digit == "0" else _WORD_OF[digit] for digit in digits)
    return _WORD.sub(lambda match: case_like(next(words), match[0]), value)


def respoken(patient: Patient, value: str, attempt: int) -> str:
    """Return a number in words with other words of the same kind: ``six`` for ``four``, ``thirty`` for ``sixty``."""
    words = [word.lower() for word in _WORD.findall(value)]
    choices = iter(patient.keyed.stream(len(words), f"spoken/{attempt}", " ".join(words)))

    def other(match: re.Match[str]) -> str:
        word, choice = "oh" if match[0].lower() == "zero" else match[0].lower(), next(choices)
        kind = next((kind for kind in (_UNITS, TEENS, TENS) if word in kind), None)
        if kind is None:
            return match[0]
        options = kind[1:] if kind is _UNITS and word != "oh" else kind
        return case_like(options[(options.index(word) + 1 + choice % (len(options) - 1)) % len(options)], match[0])

    figures = (scramble(patient.keyed, f"spoken/{attempt}", part) for part in re.findall(r"\d+", value))
    return re.sub(r"\d+", lambda _: next(figures), _WORD.sub(other, value))
