"""Make clinical text without identifiers, against false positives: screened and carrier sentences.

Public transcription samples contain stray names and dates. So a sentence is used only when all its words are known
common or medical English and nothing in it has the form of an identifier.
"""

import gzip
import json
import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Final

from deid_export.data.gazetteers import Gazetteers
from deid_runtime.errors import SourceError
from deid_runtime.lexicon.calendar_words import MONTH_NAMES, SHORT_MONTHS, WEEKDAY_NAMES
from deid_runtime.lexicon.vocabulary import alternation, kin
from deid_runtime.text.sentences import split_sentences

_SUSPECT = re.compile(
    r"\b(?:Drs?|Mr|Mrs|Ms|Miss|Prof|MD|RN|aged?|year|yr|y/?o|sample|abc|xyz|street|avenue|hospital|clinic|cent(?:er|re)|university|"
    rf"{alternation({*MONTH_NAMES, *SHORT_MONTHS, 'sept'})}|"
    rf"(?:{alternation(WEEKDAY_NAMES)})s?|christmas|thanksgiving|easter|"
    r"county|city|states?|named?|called|room|floor|ward)\b"
    r"|\d{4,}|\d+[/-]\d+[/-]\d+|[#@*_<>\[\]]|\bX{2,}|\d{3}-\d|years?[- ]old",
    re.IGNORECASE,
)
_KIN = alternation(kin("negative")) + r"|grand\w+"
#: Ages of people, and dates of two numbers that cannot be fractions. A model that learns them as clean text learns
#: to miss them.
_IDENTIFIES = re.compile(
    rf"""\bages?\W{{0,2}}\d
    | \d\W{{0,2}}(?:day|week|wk|month|mo|year|yr)s?\W{{0,2}}olds?\b
    | \dy/?o\b
    | \b(?:his|her|their|mid|early|late)\W{{1,2}}(?:(?:mid|early|late)\W)?\d0'?s\b
    | \b(?:{_KIN}|died)\b.{{0,80}}?(?<![\d.])\d{{1,3}}(?!\d|[.]\d|%)
    | \b0\d/\d{{1,2}}\b | \b\d{{1,2}}/0\d\b | \(\d{{1,2}}/\d{{1,2}}\) | ^\d{{1,2}}/\d{{2}}:
    | \b(?:in|on|since|until)\s\d{{1,2}}/\d{{2}}\b""",
    re.IGNORECASE | re.VERBOSE,
)
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")

LONE_LINES = 0.35  # of the texts: one carrier sentence alone
LISTS = 0.1  # of the texts: carrier sentences of one kind, one per line

#: Maps a kind of term to its weight among the carriers; each kind has a file of sentences in ``carriers/``. Facts are
#: lines of clinical values, codes and words that look like identifiers but are not.
_KINDS: Final[Mapping[str, int]] = {
    "eponyms": 4, "scores": 1, "drugs": 4, "devices": 2, "labs": 1, "phrases": 2, "facts": 12,
}  # fmt: skip
_SCORE = re.compile(r"\b(?:score|scale|index|criteria|classification|grade|stag(?:e|ing))\b", re.IGNORECASE)


@cache
def carriers() -> Mapping[str, tuple[str, ...]]:
    """Return sentences without identifiers by kind of term; slots ``{x} {y} {z}`` take terms, ``{n} {m}`` numbers."""
    folder = files("deid_export") / "data" / "carriers"
    return {kind: tuple((folder / f"{kind}.txt").read_text(encoding="utf-8").splitlines()) for kind in _KINDS}


def screened_sentences(paths: Sequence[Path], lists: Gazetteers) -> list[list[str]]:
    """Return, for each source text, its sentences without identifiers.

    ``paths`` are ``.jsonl.gz`` files whose rows have ``text`` or ``note``. Raises SourceError for a row with neither.
    """
    return screened(each_text(paths), lists)


def screened(texts: Iterable[str], lists: Gazetteers) -> list[list[str]]:
    """Return, for each text that has any, its sentences without identifiers."""
    known = set(lists.common_words)
    for values in (lists.drugs, lists.devices, lists.eponyms, lists.labs, lists.phrases):
        for value in values:
            known.update(word.lower() for word in _WORD.findall(value))
    rows = ([sentence for sentence in _sentences(text) if _is_clean(sentence, known)] for text in texts)
    return [row for row in rows if row]


def each_text(paths: Sequence[Path]) -> Iterator[str]:
    """Yield the texts of ``.jsonl.gz`` files whose rows have ``text`` or ``note``.

    Raises SourceError for a row with neither.
    """
    for path in paths:
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                row = json.loads(line)
                text = row.get("text") or row.get("note")
                if not isinstance(text, str):
                    raise SourceError(f"{path}: expected JSON lines with a text or note")
                yield text


def _sentences(text: str) -> Iterator[str]:
    for sentence in split_sentences(text):
        yield text[sentence.start : sentence.end].strip()


def _is_clean(sentence: str, known: set[str]) -> bool:
    if not 3 <= len(sentence) <= 400 or _SUSPECT.search(sentence) or not identifies_nobody(sentence):
        return False
    words = [word.lower() for word in _WORD.findall(sentence)]
    return all(len(w) == 1 or w in known or re.sub(r"['’]s$", "", w) in known for w in words)


def identifies_nobody(sentence: str) -> bool:
    """Return whether a sentence has no age of a person and no unambiguous date."""
    return _IDENTIFIES.search(sentence) is None


def carrier_sentence(lists: Gazetteers, rng: random.Random, kind: str | None = None) -> str:
    """Return one invented sentence with medical names of ``kind`` (None: any), in a case that clinicians use."""
    kind = kind or rng.choices(list(_KINDS), weights=list(_KINDS.values()))[0]
    sentence = rng.choice(carriers()[kind])
    if kind != "facts":  # facts are whole lines without slots
        terms = {gap: _term(lists, kind, rng) for gap in "xyz"}
        numbers = {gap: rng.randint(1, rng.choice((9, 30, 99))) for gap in "nm"}
        sentence = sentence.format(**terms, **numbers)
    roll = rng.random()
    return sentence.upper() if roll < 0.12 else sentence.lower() if roll < 0.24 else sentence


def _term(lists: Gazetteers, kind: str, rng: random.Random) -> str:
    terms: Sequence[str] = _scores(tuple(lists.eponyms)) if kind == "scores" else getattr(lists, kind)
    term = rng.choice(terms)
    if term.islower() and kind in {"drugs", "phrases"} and rng.random() < 0.5:
        return term.title() if kind == "drugs" else term[0].upper() + term[1:]
    return term


@cache
def _scores(eponyms: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(term for term in eponyms if _SCORE.search(term)) or eponyms


def negative_text(pool: Sequence[Sequence[str]], lists: Gazetteers, rng: random.Random) -> str:
    """Return clean clinical text: sentences of one source mixed with carriers, a list, or one line alone.

    Lists and forms have lone lines. Without context, the name of a drug looks like any other name.
    """
    roll = rng.random()
    if roll < LONE_LINES:
        return carrier_sentence(lists, rng)
    if roll < LONE_LINES + LISTS:
        kind = rng.choices(list(_KINDS), weights=list(_KINDS.values()))[0]
        return "\n".join(carrier_sentence(lists, rng, kind) for _ in range(rng.randrange(3, 12)))
    source = rng.choice(pool)
    start = rng.randrange(len(source))
    lines: list[str] = []
    for sentence in source[start : start + rng.randrange(4, 14)]:
        if rng.random() < 0.25:
            lines.append(carrier_sentence(lists, rng))
        lines.append(sentence)
    text = lines[0]
    for line in lines[1:]:
        text += rng.choice((" ", " ", "\n", "\n\n")) + line
    roll = rng.random()
    return text.upper() if roll < 0.06 else text.lower() if roll < 0.1 else text
