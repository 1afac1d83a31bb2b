"""Build regular expressions for the dates, numbers and places of one record, one builder per kind of field."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from deid_runtime.lexicon.calendar_words import MONTH_NAMES
from deid_runtime.lexicon.name_cues import fold, is_eponym, is_ordinary
from deid_runtime.lexicon.states import states
from deid_runtime.lexicon.vocabulary import address_words, alternation, unit_words
from deid_runtime.records.birth_dates import date_of_birth
from deid_runtime.records.fields import record_values
from deid_runtime.spans import Span


@dataclass(frozen=True)
class ValuePattern:
    """All surface forms of one value. The span is the group ``value`` if there is one, else the whole match.

    ``needle`` is a string that every text with the value contains: as written, in lower case, or in its
    digits joined together. Most values do not occur in most notes, so most patterns are never compiled.
    """

    label: str
    source: str = field(repr=False)
    needle: str = field(repr=False)
    flags: int = 0

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile(self.source, self.flags)

    def find(self, text: str) -> Iterator[Span]:
        """Yield a span for every occurrence of the value in ``text``."""
        group = "value" if "value" in self._pattern.groupindex else 0
        for match in self._pattern.finditer(text):
            if self.label != "CITY" or not _is_serovar(text, *match.span(group)):
                yield Span(*match.span(group), self.label, 1.0, ("record",))


def _is_serovar(text: str, start: int, end: int) -> bool:
    """Return whether the city name is the name of a bacterium: *Salmonella Dublin*, *S. Dublin*."""
    return text[max(start - 3, 0) : start] == "S. " or is_eponym(text, start, end)


def find_values(text: str, patterns: Sequence[ValuePattern]) -> Iterator[Span]:
    """Yield a span for every occurrence of a value of ``patterns`` in ``text``."""
    haystacks = (text, text.lower(), "".join(_DIGITS.findall(text)))
    for pattern in patterns:
        if any(pattern.needle in haystack for haystack in haystacks):
            yield from pattern.find(text)


#: Arguments: kind of field, value, all values by kind.
_Builder = Callable[[str, str, Mapping[str, Sequence[str]]], Iterator[ValuePattern]]

_DIGITS: Final = re.compile(r"\d+")
_SEPARATORS: Final = r"[ .\-/()#]{0,3}"
#: A lone state code is too often a word or unit (ME, OR, IN, PA), so it needs an address around it.
_STATE_NAMES: Final[dict[str, str]] = {state.code: state.name for state in states("record")}
_STATE_CODES: Final[dict[str, str]] = {name.casefold(): code for code, name in _STATE_NAMES.items()}

#: State codes that are as often a credential after a name.
_CREDENTIALS: Final = frozenset(state.code for state in states("credential"))

_STREET_WORDS: Final[dict[str, str]] = {
    form: "|".join((word, *short)) for word, short in address_words("record").items() for form in (word, *short)
}
_UNIT: Final = re.compile(rf",|\s#|\s(?=(?:{alternation(unit_words('record-begin'))})\b)", re.IGNORECASE)
_UNIT_WORD: Final = rf"(?:{alternation(unit_words('record'))})"


def value_patterns(values: Mapping[str, Sequence[str]]) -> list[ValuePattern]:
    """Return the patterns of all fields; ``values`` maps the kind of a field to its values in the record."""
    return [
        pattern
        for kind, build in _BUILDERS.items()
        for value in values.get(kind, ())
        for pattern in build(kind, value, values)
    ]


def _birth(_kind: str, value: str, _values: Mapping[str, Sequence[str]]) -> Iterator[ValuePattern]:
    born = date_of_birth(value)
    if born is None:
        return
    day, month = rf"0?{born.day}", rf"0?{born.month}"
    year = rf"(?:{born.year}|['\u2019]?{born.year % 100:02})"
    name = MONTH_NAMES[born.month - 1]
    month_name = rf"(?:{name}|{name[:3]}|{name[:4]})\.?"
    ordinal = rf"{day}(?:st|nd|rd|th)?"
    forms = (
        *(rf"{month}{mark}{day}{mark}{year}|{day}{mark}{month}{mark}{year}" for mark in (r"\s?/\s?", "-", r"\.")),
        rf"{born.year}(?P<mark>[-/.]){month}(?P=mark){day}",
        f"{born:%Y%m%d}|{born:%m%d%Y}|{born:%d%m%Y}",
        rf"{month_name}\s{{0,2}}{ordinal},?\s{{0,2}}{year}",
        rf"{ordinal}[\s-]{{0,2}}(?:of )?{month_name}[\s,-]{{0,2}}{year}",
    )
    source = rf"(?<!\d)(?<!\d[/.-])(?:{'|'.join(forms)})(?![/.-]?\d)"
    yield ValuePattern("DATE", source, f"{born.year % 100:02}", re.IGNORECASE)


def _number(kind: str, value: str, _values: Mapping[str, Sequence[str]]) -> Iterator[ValuePattern]:
    """Yield patterns for a number, with any separators; its leading letters and zeros are optional.

    A value with fewer than five digits matches only as written.
    """
    characters = [character for character in value if character.isalnum()]
    digits = [character for character in characters if character.isdecimal()]
    if len(digits) < 5:
        if len(characters) >= 4 and digits:
            yield ValuePattern(kind, rf"(?<!\w){re.escape(value)}(?!\w)", value.lower(), re.IGNORECASE)
        return
    forms = [_spaced(characters)]
    if record_values(value) != [value]:
        forms.append(re.escape(value))
    first_digit = next(at for at, character in enumerate(characters) if character.isdecimal())
    bare = "".join(characters[first_digit:])
    if first_digit and sum(character.isdigit() for character in bare) >= 5:
        forms.append(_spaced(bare))
    trimmed = bare.lstrip("0")
    if len(trimmed) >= 6 and trimmed != bare:
        forms.append(_spaced(trimmed))
    edge = r"(?<!\d)" if digits[0] == characters[0] else r"(?<![^\W_])"
    source = rf"(?<!\d)(?<!\d[.,])(?:{edge}{'|'.join(forms)})(?![.,]?\d)"
    yield ValuePattern(kind, source, "".join(digits).lstrip("0"), re.IGNORECASE)


def _spaced(characters: Sequence[str]) -> str:
    return _SEPARATORS.join(re.escape(character) for character in characters)


def _phone(kind: str, value: str, _values: Mapping[str, Sequence[str]]) -> Iterator[ValuePattern]:
    main = re.split(r"(?i)\s*(?:x|ext)", value)[0]
    digits = [character for character in main if character.isdecimal()]
    if len(digits) == 11 and digits[0] == "1":
        digits = digits[1:]
    if len(digits) < 7:
        return
    whole = rf"(?:\+?1{_SEPARATORS})?\(?{_spaced(digits)}" if len(digits) == 10 else rf"\+?{_spaced(digits)}"
    local = rf"|{_spaced(digits[3:6])}[ .-]{_spaced(digits[6:])}" if len(digits) == 10 else ""
    yield ValuePattern(kind, rf"(?<!\d)(?<!\d[.-])(?:{whole}{local})(?!\d)", "".join(digits[-7:]))


def _last4(_kind: str, value: str, _values: Mapping[str, Sequence[str]]) -> Iterator[ValuePattern]:
    if re.fullmatch(r"\d{4}", value):
        cue = r"(?:last\s(?:4|four)(?:\sof\sssn)?|ssn?(?:\s?\#)?|social(?:\ssecurity)?|[x*]{2}-|[x*]{4})"
        yield ValuePattern("SSN", rf"(?<!\w){cue}[\s:(#is-]{{0,6}}(?P<value>{value})(?!\d)", value, re.IGNORECASE)


def _email(kind: str, value: str, _values: Mapping[str, Sequence[str]]) -> Iterator[ValuePattern]:
    yield ValuePattern(kind, rf"(?<![\w.+-]){re.escape(value)}(?![\w-])", value.lower(), re.IGNORECASE)


def _street(kind: str, value: str, _values: Mapping[str, Sequence[str]]) -> Iterator[ValuePattern]:
    """Yield a pattern for an address with common abbreviations; unit and number are optional."""
    main, *units = [part.strip() for part in _UNIT.split(value) if part.strip()] or [""]
    words = re.findall(r"[^\W_]+(?:['\u2019][^\W_]+)*", main)
    if len(words) < 2 or not any(character.isdigit() for character in main):
        return
    unit = "".join(
        rf"(?:,?\s{{0,2}}(?:\#|{_UNIT_WORD}\b\.?)?\s?\#?{_street_words(_unit_words(part))})?" for part in units
    )
    forms = [rf"{_street_words(words)}\.?{unit}"]
    name = [word for word in words[1:] if not word.isdigit()]
    if words[0][0].isdigit() and len(name) >= 2 and fold(name[-1]) in _STREET_WORDS and len(name[0]) > 2:
        forms.append(_street_words(words[1:]))
    fixed = [word.lower() for word in words[1:] if fold(word) not in _STREET_WORDS]
    source = rf"(?<!\w)(?:{'|'.join(forms)})(?!\w)"
    yield ValuePattern(kind, source, max(fixed, key=len, default=""), re.IGNORECASE)


def _unit_words(unit: str) -> list[str]:
    words: list[str] = re.findall(r"[^\W_]+", unit)
    return words[1:] if len(words) > 1 and re.fullmatch(_UNIT_WORD, words[0], re.IGNORECASE) else words


def _street_words(words: Sequence[str]) -> str:
    return r"[\s.,'\u2019-]{1,3}".join(rf"(?:{_STREET_WORDS.get(fold(word), re.escape(word))})" for word in words)


def _city(kind: str, value: str, values: Mapping[str, Sequence[str]]) -> Iterator[ValuePattern]:
    """Yield patterns for a capitalised city outside longer names; an ordinary word needs a state or ZIP after it."""
    words = value.split()
    if len(value) < 3:
        return
    after = "|".join(filter(None, [_state_forms(values), *map(re.escape, values.get("ZIP", ()))]))
    is_plain = len(words) > 1 or not is_ordinary(fold(value))
    form = _phrase(value)
    behind = r"(?![\w])(?!-[A-Z])(?!['\u2019]s (?:disease|syndrome|sign))"
    if is_plain:
        yield ValuePattern(kind, rf"(?<![\w-]){form}{behind}", words[0].lower())
    elif after:
        yield ValuePattern(kind, rf"(?<![\w-]){form}(?=,?\s{{1,3}}(?:{after})\b)", words[0].lower())
    if len(words) > 1:
        form = _phrase(value, as_lower=True)
        # A city of ordinary words in lower case ("at the high point") counts only after in, from or near.
        if all(is_ordinary(fold(word)) for word in words):
            form = rf"(?:(?<=\bin )|(?<=\bfrom )|(?<=\bnear )){form}" + (
                rf"|{form}(?=,?\s{{1,3}}(?:{after})\b)" if after else ""
            )
        yield ValuePattern(kind, rf"(?<![\w-])(?:{form})(?!\w)", words[0].lower())


def _phrase(value: str, *, as_lower: bool = False) -> str:
    """Return a pattern for words in title case or capitals, or in lower case, with any white space between."""
    words = value.split()
    if as_lower:
        return r"[ \t]+".join(re.escape(word.lower()) for word in words)
    return r"[ \t]+".join(f"(?:{re.escape(word[:1].upper() + word[1:])}|{re.escape(word.upper())})" for word in words)


def _state_forms(values: Mapping[str, Sequence[str]]) -> str:
    forms: list[str] = []
    for value in values.get("STATE", ()):
        forms += filter(None, (value, _STATE_NAMES.get(value.upper()), _STATE_CODES.get(value.casefold())))
    return "|".join(re.escape(form) for form in dict.fromkeys(forms))


def _state(kind: str, value: str, values: Mapping[str, Sequence[str]]) -> Iterator[ValuePattern]:
    code = _STATE_CODES.get(value.casefold(), value if len(value) <= 3 else "")
    name = _STATE_NAMES.get(code.upper(), value if len(value) > 3 else "")
    if code:
        code = code.upper()
        form = re.escape(code)
        cities = "|".join(map(re.escape, values.get("CITY", ())))
        if cities:
            yield ValuePattern(kind, rf"(?<!\w)(?i:{cities}),?[ \t]{{1,3}}(?P<value>{form})(?!\w)", code)
        yield ValuePattern(kind, rf"(?<![\w]){form}(?=,?[ \t]{{1,3}}\d{{5}}(?!\d))", code)
        if code not in _CREDENTIALS:
            yield ValuePattern(kind, rf"[A-Za-z],[ \t](?P<value>{form})(?=[\s.;)]*(?:\n|$|\d{{5}}))", code)
    if name:
        yield _place(kind, name)


def _place(kind: str, value: str) -> ValuePattern:
    return ValuePattern(kind, rf"(?<!\w){_phrase(value)}(?!\w)", value.split()[0].lower())


def _country(kind: str, value: str, _values: Mapping[str, Sequence[str]]) -> Iterator[ValuePattern]:
    if len(value) > 3:
        yield _place(kind, value)


def _zip(kind: str, value: str, _values: Mapping[str, Sequence[str]]) -> Iterator[ValuePattern]:
    if re.fullmatch(r"\d{5}(?:-?\d{4})?", value):
        yield ValuePattern(kind, rf"(?<![\d.,-]){value[:5]}(?:-?\d{{4}})?(?![\d%])(?![.,]\d)", value[:5])
    elif len(value) >= 5:
        form = r"\s?".join(map(re.escape, value.split()))
        yield ValuePattern(kind, rf"(?<!\w){form}(?!\w)", value.split()[0].lower(), re.IGNORECASE)


def _organization(kind: str, value: str, _values: Mapping[str, Sequence[str]]) -> Iterator[ValuePattern]:
    words = value.split()
    if len(words) > 1 or (len(value) > 3 and not is_ordinary(fold(value))):
        yield _place(kind, value)


#: Kinds of fields that hold a number.
NUMBER_KINDS: Final = frozenset({"MEDICALRECORD", "ACCOUNT", "HEALTHPLAN", "SSN"})

_BUILDERS: Final[dict[str, _Builder]] = {
    "birth": _birth,
    **dict.fromkeys(sorted(NUMBER_KINDS), _number),
    "PHONE": _phone,
    "FAX": _phone,
    "last4": _last4,
    "EMAIL": _email,
    "STREET": _street,
    "CITY": _city,
    "STATE": _state,
    "COUNTRY": _country,
    "ZIP": _zip,
    "ORGANIZATION": _organization,
}
