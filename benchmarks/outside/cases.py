"""One person in a short piece of real prose, written in a chosen form: the cases of the outside check."""

import gzip
import json
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from deid_export.data.substitution.mentions import Mention, find_mentions
from deid_export.data.substitution.persons import CULTURES, Person, PersonDrawer
from deid_runtime.detectors.people.cues import CREDENTIALS, TITLES
from deid_runtime.lexicon.word_codes import load_lexicon, word_key
from deid_runtime.text.legibility import illegible
from deid_runtime.text.reading.view import read_view

_LEAST_WORDS: Final = 64
_MOST_WORDS: Final = 120
#: What public prose holds in place of names, and what looks like a further person: such excerpts are left out.
_OTHER_PEOPLE: Final = re.compile(
    r"\b(?:Mr|Mrs|Ms|Miss|Drs?|Doctor|Prof)\b\.?|\b[A-Z]{3}(?:YZ|D)?\b, M\.?D|\bXYZ|\bABC"
)

_WORD: Final = re.compile(r"[^\s,]+")
#: Letters of a made name, and tries to make one.
_LEAST_LETTERS: Final = 3
_MOST_LETTERS: Final = 12
_TRIES: Final = 500

#: Frames with a cue, for prose without one: set before or behind the excerpt, on a line of their own.
_CUED: Final = (
    ("before", "Patient: {}\n"), ("before", "Name: {}\n"), ("before", "Re: {}\n"), ("before", "Dear Dr. {},\n\n"),
    ("behind", "\n\nDictated by: {}"), ("behind", "\n\nSigned, {}, MD"), ("behind", "\ncc: Dr. {}"),
    ("behind", " Discussed with Dr. {}."), ("behind", " Her sister {} was present."), ("behind", " Nurse {} aware."),
    ("behind", "\nAttending: {}"), ("behind", " Mrs. {} agrees."),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Case:
    """A note and the one person in it: ``[start, end)`` of ``text``, a culture and the form of the name."""

    id: str
    text: str = field(repr=False)
    start: int
    end: int
    form: str
    culture: str
    source: str = ""


def make_cases(documents: list[str], per_cell: int, seed: int) -> list[Case]:
    """Return ``per_cell`` cases for every form and culture; the documents take turns in a random order."""
    rng = random.Random(seed)
    drawer = PersonDrawer(None, rng, held_out=True)
    excerpts = _excerpts(documents, rng)
    cases: list[Case] = []
    for form in FORMS:
        for culture in CULTURES:
            for number in range(per_cell):
                sex = "FM"[number % 2]
                person = _unlisted(drawer, culture, sex, rng) if form in _UNLISTED else drawer.of_culture(culture, sex)
                excerpt, mention = next(excerpts)
                note_id = f"{form}-{culture}-{number}".replace(" ", "_")
                cases.append(_set(note_id, excerpt, mention, person, form, culture, rng))
    return cases


def _excerpts(documents: list[str], rng: random.Random) -> Iterator[tuple[str, Mention]]:
    """Yield excerpts of whole words around a mention of the patient, a relative or staff, for ever."""
    while True:
        for text in rng.sample(documents, len(documents)):
            mentions = [mention for mention in find_mentions(text) if mention.role != "titled"]
            if not mentions:
                continue
            mention = rng.choice(mentions)
            words = [match.span() for match in re.finditer(r"\S+", text)]
            at = next(i for i, (_, end) in enumerate(words) if end > mention.start)
            count = rng.randrange(_LEAST_WORDS, _MOST_WORDS + 1)
            first = max(0, min(at - rng.randrange(count), len(words) - count))
            last = min(len(words), first + count) - 1
            start, end = words[first][0], words[last][1]
            excerpt = text[start:end]
            if last - first + 1 < _LEAST_WORDS or mention.end > end or _OTHER_PEOPLE.search(excerpt):
                continue
            yield excerpt, Mention(mention.start - start, mention.end - start, mention.role, mention.possessive)


def _set(
    note_id: str, excerpt: str, mention: Mention, person: Person, form: str, culture: str, rng: random.Random
) -> Case:
    name = FORMS[form](person, rng)
    if form == "with a cue":
        side, frame = rng.choice(_CUED)
        before, behind = frame.split("{}")
        if side == "before":
            return Case(note_id, before + name + behind + excerpt, len(before), len(before) + len(name), form, culture)
        start = len(excerpt) + len(before)
        return Case(note_id, excerpt + before + name + behind, start, start + len(name), form, culture)
    tail = "'s" if mention.possessive else ""
    text = excerpt[: mention.start] + name + tail + excerpt[mention.end :]
    return Case(note_id, text, mention.start, mention.start + len(name), form, culture)


def _unlisted(drawer: PersonDrawer, culture: str, sex: str, rng: random.Random) -> Person:
    """Return a person with a given and a family name that the detectors have in no list, made like the culture's."""
    person = drawer.of_culture(culture, sex)
    given = _joined(lambda: drawer.of_culture(culture, sex).given, rng)
    return replace(person, given=given, family=_joined(lambda: drawer.of_culture(culture, sex).family, rng))


def _joined(draw: Callable[[], str], rng: random.Random) -> str:
    """Return the beginning of one name with the end of another, so that no list of names or words has the result."""
    for _ in range(_TRIES):
        one, other = draw(), draw()
        made = one[: rng.randrange(2, max(len(one), 3))] + other[len(other) // 2 :].lower()
        if made.isalpha() and _LEAST_LETTERS <= len(made) <= _MOST_LETTERS and word_key(made) not in load_lexicon():
            return made
    raise AssertionError(f"no new name in {_TRIES} tries")


def _full(person: Person, rng: random.Random) -> str:
    if person.family_first and rng.random() < 0.3:
        return f"{person.family} {person.given}"
    return f"{person.given} {person.family}"


def _initialled(person: Person, rng: random.Random) -> str:
    return rng.choice(
        (
            f"{person.given[0]}. {person.family}",
            f"{person.given} {person.middle[0]}. {person.family}",
            f"{person.given} {person.family[0]}.",
        )
    )


def _misspelt(person: Person, rng: random.Random) -> str:
    name = _full(person, rng)
    letters = [at for at, char in enumerate(name[:-1]) if char.isalpha() and name[at + 1].isalpha() and at]
    at = rng.choice(letters or [1])
    return rng.choice((name[:at] + name[at + 1 :], name[:at] + name[at] + name[at:], name[:at] + "e" + name[at + 1 :]))


#: How a name is written, by form.
FORMS: Final[dict[str, Any]] = {
    "with a cue": _full,
    "full": _full,
    "given alone": lambda person, rng: person.given,
    "family alone": lambda person, rng: person.family,
    "lower case": lambda person, rng: _full(person, rng).lower(),
    "capitals": lambda person, rng: _full(person, rng).upper(),
    "family first": lambda person, rng: f"{person.family}, {person.given}",
    "initialled": _initialled,
    "misspelt": _misspelt,
    "line end inside": lambda person, rng: "\n".join(_full(person, rng).split(" ", 1)),
    "full, in no list": _full,
    "given alone, in no list": lambda person, rng: person.given,
    "lower case, in no list": lambda person, rng: _full(person, rng).lower(),
}
_UNLISTED: Final = frozenset(form for form in FORMS if form.endswith("in no list"))


def read_name_set(path: Path) -> list[Case]:
    """Return a case for each person in the sentences of a public set (``full_text``, spans with ``PERSON``).

    Titles (``Dr.``) before a name and credentials (``MD``) after it do not identify anyone. As in the annotation
    guidelines, they are not part of the name.
    """
    cases: list[Case] = []
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for number, line in enumerate(lines):
            row = json.loads(line)
            text = row["full_text"]
            for each in row["spans"]:
                start, end = _without_titles(text, each["start_position"], each["end_position"])
                if each["entity_type"] != "PERSON" or not text[start:end].strip():
                    continue
                for form, change in (("unchanged", str), ("lower case", str.lower), ("capitals", str.upper)):
                    value = change(text[start:end])
                    # What the pipeline would hold back, as wrongly decoded, is neither found nor leaked.
                    if len(value) == end - start and not illegible(read_view(text).text):
                        note_id = f"{path.stem}-{number}-{start}-{form}".replace(" ", "_")
                        cases.append(Case(note_id, text[:start] + value + text[end:], start, end, form, "", path.stem))
    return cases


def _without_titles(text: str, start: int, end: int) -> tuple[int, int]:
    """Return ``[start, end)`` of ``text`` without titles at its start and credentials at its end."""
    words = [match.span() for match in _WORD.finditer(text, start, end)]
    while len(words) > 1 and _key(text, words[0]) in TITLES:
        words.pop(0)
    while len(words) > 1 and _key(text, words[-1]) in CREDENTIALS:
        words.pop()
    return (words[0][0], words[-1][1]) if words else (start, end)


def _key(text: str, word: tuple[int, int]) -> str:
    return text[slice(*word)].replace(".", "").lower()
