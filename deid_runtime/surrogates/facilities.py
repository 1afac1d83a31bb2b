"""Surrogates of names made of words: hospitals, organisations, streets, wards and landmarks.

Words for the kind of thing (``Hospital``, ``Pharmacy``, ``Ave``, ``Ward``) stay, with their abbreviations and letter
case. The identifying words become about as many other words; numbers become numbers. So a clinic stays
a clinic, and ``Wasatch Crest`` agrees with ``Wasatch Crest Sports Medicine`` without a table. Letters of an
abbreviation follow the full name when the note has it.
"""

import re
import string
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from deid_runtime.lexicon.clinical_initials import clinical_initials
from deid_runtime.lexicon.letter_case import case_like
from deid_runtime.lexicon.numbers import ORDINAL_WORDS, ordinal, ordinal_ending
from deid_runtime.lexicon.vocabulary import unit_words
from deid_runtime.surrogates.chain_names import other_chain
from deid_runtime.surrogates.facility_words import LEAST_POSSESSIVE, POSSESSIVE, new_words
from deid_runtime.surrogates.forms import holds_text, normal_form, scramble
from deid_runtime.surrogates.kind_words import (
    HEADS,
    SKIPPED,
    is_church_letter,
    is_road_letter,
    is_royal,
    name_of_kind_words,
    stays,
    tells,
)
from deid_runtime.surrogates.lists import phrases
from deid_runtime.surrogates.patient import Patient, first_free
from deid_runtime.surrogates.words_by_locale import chain_of, chain_starts

_LONGEST_PHRASE_CHARS: Final = 160
_TOKEN: Final = re.compile(r"\d+(?:st|nd|rd|th)\b|\d+|[^\W\d_]+(?:['’ʻʼ][^\W\d_]+)*|[\W_]", re.I)
_ABBREVIATION: Final = re.compile(r"(?:[A-Z]\.){2,6}|[A-Z]{2,4}(?:-[A-Z]{2,4})?|[B-DF-HJ-NP-TV-Z]{5,6}|[A-Z]{2,5}\d")
_LONGEST_CHAIN_WORDS: Final = 5
#: A brand of words run together, such as LifeFlight, and its words; the prefix of a family name is not such a word.
_JOINED: Final = re.compile(r"(?!(?:Mac|Mc|De|Del|Di|Du|La|Le|Van|Von|Fitz|St)[A-Z])(?:[A-Z][a-z]+){2,4}")
_JOINED_WORD: Final = re.compile(r"[A-Z][a-z]+")
_INNER_CAPITAL: Final = re.compile(r"[A-Z][a-z]+[A-Z]")
#: Word endings that take the second capital of an original with an inner capital, such as LifeBridge.
_SECOND_HALF: Final = re.compile(
    r"(?<=[a-z]{3})(?:wood|dale|view|field|brook|ford|bridge|ridge|hurst|crest|gate|haven|water|mont|bury|worth|land|side|"
    r"lake|vale|croft|mere|shore|bend|well|bourne|ville|burg|more|moor|wick|town|stone|way|ton|ley|ham|ter)$"
)
_LOWER_CASE_LETTERS: Final = 3  # longer lower-case strings are words, not abbreviations
_APOSTROPHE: Final = re.compile("['’ʻʼ]")
_NAMED: Final = ("facility", "organization")  # kinds with brands and abbreviations
#: Words before the number of a room; its floor is the digits before the last two.
_ROOMS: Final = frozenset(unit_words("room"))
_FLOORS: Final = "1234567"  # floors that replace each other
_ROOMS_ON_FLOOR: Final = 40  # most floors have fewer rooms, so a lower number stays below this one
_LETTER_TURNS: Final = 8  # number of draws to find a word with another first letter than the original
_VOWEL: Final = re.compile("[AEIOUY]")
_KEPT_ENDINGS: Final = ("RMC", "MC", "GH", "CH", "H", "PD", "FD")
_ORDINAL_FIGURE: Final = re.compile(r"(\d+)(st|nd|rd|th)", re.I)


def abbreviations(values: Iterable[str]) -> dict[str, str]:
    """Return abbreviation -> full name for the names in ``values`` of two words or more. The first name wins."""
    known: dict[str, str] = {}
    for value in values:
        words = re.findall(r"[^\W\d_]+", value[:_LONGEST_PHRASE_CHARS])
        if len(words) > 1:
            known.setdefault("".join(word[0] for word in words).upper(), value)
            known.setdefault("".join(word[0] for word in words if word.lower() not in SKIPPED).upper(), value)
    return known


def spelled_apart(values: Iterable[str]) -> dict[str, str]:
    """Return normal form -> name for the names in ``values`` with several words or an apostrophe.

    LifeFlight may be Life Flight, and Cruikshanks may be Cruikshank's.
    """
    return {normal_form(value): value for value in sorted(values) if " " in value.strip() or _APOSTROPHE.search(value)}


@dataclass(frozen=True, slots=True)
class Around:
    """The known context of a name.

    ``town`` returns the surrogate of a town, or None. ``full_names`` maps first letters to the full name and comes from
    :func:`abbreviations`. ``apart`` comes from :func:`spelled_apart`. ``locale`` is that of the note. ``taken`` are the
    originals, which the surrogate of a full name avoids.
    """

    town: Callable[[str], str | None] = field(repr=False)
    full_names: Mapping[str, str] = field(repr=False)
    apart: Mapping[str, str] = field(default_factory=dict, repr=False)
    locale: str = "US"
    taken: frozenset[str] = field(default=frozenset(), repr=False)


def replace_phrase(patient: Patient, kind: str, value: str, taken: frozenset[str], around: Around) -> str:
    """Return the surrogate of a name made of words.

    ``kind`` is ``"facility"``, ``"organization"``, ``"street"`` or ``"place"``.
    """
    if not holds_text(value):
        return value
    if len(value) > _LONGEST_PHRASE_CHARS:
        return first_free(lambda n: scramble(patient.keyed, f"{kind}/{n}", value), value, taken)
    form = normal_form(value)
    apart = around.apart.get(form)
    # The okina of Heʻeia is a letter too. A name with an apostrophe is not a spelling of another name, nor of itself.
    if apart is not None and not _APOSTROPHE.search(value) and (value.isalpha() or _APOSTROPHE.search(apart)):
        made = _APOSTROPHE.sub("", replace_phrase(patient, kind, apart, taken, around))
        if value.isalpha():
            made = "".join(string.capwords(word) if word.islower() else word for word in made.split(" "))
        return case_like(made, value)
    if kind in _NAMED and chain_of(form, around.locale) is not None:
        return first_free(lambda n: other_chain(patient, value, around.locale, n), value, taken)
    letters = value.upper() if len(value) <= _LOWER_CASE_LETTERS else value  # mta is read as MTA
    if kind in _NAMED and _ABBREVIATION.fullmatch(letters):
        return first_free(lambda n: _other_letters(patient, kind, value, around, n), value, taken)
    short = _first_letters(value, is_short=True) if kind in _NAMED and " " in value else ""
    is_shortened = short.lower() in around.taken and short.lower() not in clinical_initials()

    def candidate(attempt: int) -> str:
        made = _other_words(patient, kind, value, around, attempt)
        # The notes have the abbreviation of the name, and its surrogate must not read as a finding.
        return "" if is_shortened and _first_letters(made, is_short=True).lower() in clinical_initials() else made

    return first_free(candidate, value, taken)


def _first_letters(name: str, *, is_short: bool) -> str:
    words = re.findall(r"[^\W\d_]+", name)
    return "".join(word[0] for word in words if not is_short or word.lower() not in SKIPPED).upper()


def _other_letters(patient: Patient, kind: str, value: str, around: Around, attempt: int) -> str:
    """Return the surrogate of an abbreviation: the first letters of the full name's surrogate, if it is known."""
    letters = "".join(char for char in value if char.isalpha()).upper()
    full = around.full_names.get(letters)
    if full is not None and attempt == 0:
        made = replace_phrase(patient, kind, full, around.taken, replace(around, full_names={}))
        initials = _first_letters(made, is_short=_first_letters(full, is_short=False) != letters)
        if initials.lower() in clinical_initials() and letters.lower() not in clinical_initials():
            initials = ""  # an abbreviation that looks like a finding would be worse than an unrelated one
        if len(initials) == len(letters):
            chars = iter(initials)
            return "".join(case_like(next(chars), char) if char.isalpha() else char for char in value)
        if initials and value.isalpha():  # the surrogate of the full name may have another number of words
            return case_like(initials, value)
    ending = next((end for end in _KEPT_ENDINGS if letters.endswith(end) and len(letters) > len(end) + 1), "")
    head = value[: len(value) - len(ending)] if value.endswith(ending) else value
    return _plain_letters(patient, f"abbreviation/{attempt}", head, letters) + value[len(head) :]


def _plain_letters(patient: Patient, purpose: str, value: str, identity: str | None = None) -> str:
    """Return ``value`` with other letters and digits that are not a clinical abbreviation, if possible."""
    drawn = ""
    for turn in range(_LETTER_TURNS):
        drawn = scramble(patient.keyed, f"{purpose}/{turn}" if turn else purpose, value, identity=identity)
        if normal_form(drawn) not in clinical_initials():
            break
    return drawn


def _other_words(patient: Patient, kind: str, value: str, around: Around, attempt: int) -> str:
    if kind in _NAMED and (made := _with_other_chain(patient, kind, value, around, attempt)):
        return made
    kept = phrases().kept["facility" if kind == "organization" else kind]
    tokens = _TOKEN.findall(value)
    is_kept = [
        stays(token, kept, kind)
        or is_road_letter(tokens, place)
        or is_church_letter(tokens, place)
        or is_royal(tokens, place, kept)
        for place, token in enumerate(tokens)
    ]
    is_telling = [tells(token) and not stays for token, stays in zip(tokens, is_kept, strict=True)]
    before = _head_of_purpose(tokens) if kind in _NAMED and not any(is_telling) else None
    if before is not None:
        [name] = new_words(patient, kind, [tokens[before]], [], normal_form(value), attempt, around.locale)
        tokens[before] = f"{case_like(name, tokens[before])} {tokens[before]}"
        return "".join(tokens)
    name_at = name_of_kind_words(kind, tokens, is_telling)
    if name_at is not None:
        is_kept[name_at], is_telling[name_at] = False, True
    if not any(is_telling):
        # All words are words of kind (First Lutheran, the Center for Heart): replace the first that is not a head word.
        words = [(i, token.lower()) for i, token in enumerate(tokens) if token.isalpha() and len(token) > 2]
        places = [i for i, word in words if word not in SKIPPED]
        if not places:
            return scramble(patient.keyed, f"{kind}/{attempt}", value)
        telling = [i for i in places if tokens[i].lower() not in HEADS]
        if not telling and len(places) == 1 and kind in _NAMED:  # the Clinic gets a name
            head = tokens[places[0]]
            [name] = new_words(patient, kind, [head], tokens[: places[0]], normal_form(value), attempt, around.locale)
            tokens[places[0]] = f"{case_like(name, head)} {head}"
            return "".join(tokens)
        is_kept[min(telling or places)] = False
    out: list[str] = []
    index = 0
    while index < len(tokens):
        token = tokens[index]
        if is_kept[index] or not token[0].isalnum():
            out.append(token)
            index += 1
        elif token[0].isdecimal():
            out.append(_other_number(patient, kind, tokens, index, attempt))
            index += 1
        else:
            end = _run_end(tokens, is_kept, index)
            out.append(_other_run(patient, kind, tokens, index, end, around, attempt))
            index = end
    return "".join(out)


def _head_of_purpose(tokens: Sequence[str]) -> int | None:
    """Return the index of the head word before ``for`` (Center for Heart), which takes a name, or None."""
    lower = [token.lower() for token in tokens]
    place = lower.index("for") - 2 if "for" in lower else -1
    return place if place >= 0 and lower[place] in HEADS else None


def _with_other_chain(patient: Patient, kind: str, value: str, around: Around, attempt: int) -> str:
    """Return ``value`` with another name for the chain, parish or union in it; empty if it has none.

    Only names of several words, or with a mark inside, count: a single word may be that of another thing.
    """
    words = value.split(" ")
    starts = [place for place, word in enumerate(words) if normal_form(word) in chain_starts()]
    for size in range(min(_LONGEST_CHAIN_WORDS, len(words)), 0, -1) if starts else ():
        for start in (place for place in starts if place + size <= len(words)):
            name = " ".join(words[start : start + size])
            if size == 1 and name.isalnum():
                continue
            found = chain_of(normal_form(name), around.locale)
            if found is not None and (" " in found[0] or not found[0].isalnum()):
                made = other_chain(patient, name, around.locale, attempt)
                rest = [
                    _other_words(patient, kind, part, around, attempt) if _has_name(kind, part) else part
                    for part in (" ".join(words[:start]), " ".join(words[start + size :]))
                ]
                return " ".join(filter(None, (rest[0], made, rest[1])))
    return ""


def _has_name(kind: str, value: str) -> bool:
    """Return whether a part of a name has words that do not tell a kind of thing."""
    kept = phrases().kept["facility"]
    return any(tells(token) and not stays(token, kept, kind) for token in _TOKEN.findall(value))


def _run_end(tokens: Sequence[str], is_kept: Sequence[bool], start: int) -> int:
    """Return the end of the run of identifying words that begins at ``start``.

    Only spaces join a run. An abbreviation is a separate run.
    """
    end = start + 1
    if _is_short_code(tokens, start):
        return end
    while (
        end + 1 < len(tokens)
        and tokens[end] == " "
        and tokens[end + 1][0].isalpha()
        and not is_kept[end + 1]
        and not _is_short_code(tokens, end + 1)
    ):
        end += 2
    return end


def _is_short_code(tokens: Sequence[str], index: int) -> bool:
    """Return whether a token is one letter, or a few capitals among words in other case (UT in ``UT Med Center``)."""
    token = tokens[index]
    if len(token) == 1:
        return True
    return token.isupper() and len(token) <= 4 and any(other.isalpha() and not other.isupper() for other in tokens)


def _other_number(patient: Patient, kind: str, tokens: Sequence[str], index: int, attempt: int) -> str:
    token = tokens[index]
    if kind == "place" and 3 <= len(token) <= 4 and token.isdecimal() and token[0] != "0":
        words = [word.lower() for word in tokens[:index] if word[0].isalpha()]
        if not words or words[-1] in _ROOMS:
            return _room(patient, token, attempt)
    found = _ORDINAL_FIGURE.fullmatch(token)
    if found:
        number = int(_digits(patient, kind, found[1], attempt))
        return f"{number}{case_like(ordinal_ending(number), found[2])}"
    return _digits(patient, kind, token, attempt)


def _room(patient: Patient, digits: str, attempt: int) -> str:
    """Return another room: rooms of one floor stay on one floor, and different rooms stay different."""
    floor, room = digits[:-2], int(digits[-2:])
    size = _ROOMS_ON_FLOOR if room < _ROOMS_ON_FLOOR else 100
    made = patient.keyed.permute(room, size, f"room {floor}/{size}/{attempt}")
    if len(floor) > 1 or floor not in _FLOORS:
        return f"{_digits(patient, 'floor', floor, 0)}{made:02}"
    turn = 1 + patient.keyed.number("floors", "") % (len(_FLOORS) - 1)
    return f"{_FLOORS[(_FLOORS.index(floor) + turn) % len(_FLOORS)]}{made:02}"


def _digits(patient: Patient, kind: str, digits: str, attempt: int) -> str:
    """Return another number with as many digits; one digit becomes 1 to 7, because few buildings have a 9th floor."""
    if len(digits) == 1 and digits != "0":
        return str(1 + (int(digits) - 1 + 1 + patient.keyed.number(f"{kind} digit/{attempt}", digits) % 6) % 7)
    if kind == "place" and len(digits) == 2 and 10 <= int(digits) < _ROOMS_ON_FLOOR:  # few hospitals have a ward 98
        return str(10 + patient.keyed.permute(int(digits) - 10, _ROOMS_ON_FLOOR - 10, f"place number/{attempt}"))
    return scramble(patient.keyed, f"{kind} number/{attempt}", digits)


def _other_run(
    patient: Patient, kind: str, tokens: Sequence[str], start: int, end: int, around: Around, attempt: int
) -> str:
    run = "".join(tokens[start:end])
    form = normal_form(run)
    town = around.town(run) if attempt == 0 and kind != "street" else None
    if town is not None:
        return case_like(town, run)
    if kind in _NAMED and (chain := other_chain(patient, run, around.locale, attempt)):
        return chain
    if _JOINED.fullmatch(run):
        parts = _JOINED_WORD.findall(run)
        return "".join(new_words(patient, kind, parts, tokens[:start], form, attempt, around.locale))
    words = run.split(" ")
    if len(words) == 1 and words[0].lower() in ORDINAL_WORDS:
        number = int(_digits(patient, kind, str(ORDINAL_WORDS[words[0].lower()]), attempt))
        return case_like(ordinal(max(1, min(number, 99))).capitalize(), run)
    if len(words) == 1 and (
        _is_short_code(tokens, start) or (run.isupper() and len(run) <= 5 and not _VOWEL.search(run))
    ):
        if run.islower() and (len(run) > 1 or "".join(tokens) != "".join(tokens).lower()):
            return run
        if kind in _NAMED and len(run) > 1:
            return _other_letters(patient, kind, run, around, attempt)
        if kind == "place" and run in "NSEW" and start and tokens[start - 1][0].isdecimal():  # 5W
            return "NSEW"[("NSEW".index(run) + 1 + patient.keyed.number(f"wing/{attempt}", run) % 3) % 4]
        return _plain_letters(patient, f"{kind} letters/{attempt}", run)
    made = new_words(patient, kind, words, tokens[:start], form, attempt, around.locale)
    cased = [_word_like(new, words[min(place, len(words) - 1)]) for place, new in enumerate(made)]
    return " ".join(cased)


def _word_like(new: str, word: str) -> str:
    """Return ``new`` in the case of ``word``, with its inner capital (LifeBridge) and its possessive ending."""
    if _INNER_CAPITAL.match(word):
        new = _SECOND_HALF.sub(lambda half: half[0].capitalize(), new)
    if word[-2:].lower() in POSSESSIVE and len(word) > LEAST_POSSESSIVE and "'" not in new and "’" not in new:
        new += word[-2:]
    return case_like(new, word)
