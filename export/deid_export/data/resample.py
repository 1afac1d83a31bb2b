"""Replace annotated values by fresh ones: each pass over the corpus shows other names, dates and numbers.

Models must learn contexts and forms, not the values of one corpus. So every span is replaced by another value of the
same label and form. A part of a name is always replaced by the same part within one note, so `Smith` in a signature
stays equal to `Smith` in the heading. Case, initials, punctuation and order stay. A share of the values is kept.
"""

import random
import re
import string
from collections.abc import Callable
from dataclasses import dataclass, field

from deid_export.data import fresh_values as fresh
from deid_export.data.fresh_values import Rates, formed_like, ordinal
from deid_export.data.gazetteers import Gazetteers
from deid_runtime.annotations.note import AnnotatedNote
from deid_runtime.lexicon.numbers import TENS
from deid_runtime.spans import Span

_WORD = re.compile(r"[^\W\d_]+|\d+")


@dataclass
class _NoteMemory:
    """The replacements made in one note so far."""

    names: dict[str, str] = field(default_factory=dict)
    values: dict[tuple[str, str], str] = field(default_factory=dict)


class Resampler:
    """Replace the values of spans by fresh ones; every draw comes from the given ``rng``."""

    def __init__(self, lists: Gazetteers, rng: random.Random, rates: Rates | None = None) -> None:
        self._lists = lists
        self._rng = rng
        self._rates = rates or Rates()
        self._by_label: dict[str, Callable[[str, _NoteMemory], str]] = {
            "PATIENT": self._name, "DOCTOR": self._name, "USERNAME": self._username, "AGE": self._age,
            "DATE": self._date, "PHONE": self._phone, "FAX": self._phone, "EMAIL": self._email, "URL": self._url,
            "STREET": self._street, "CITY": self._city, "STATE": self._state, "COUNTRY": self._country,
            "ZIP": self._zip, "HOSPITAL": self._hospital, "ORGANIZATION": self._organization,
            "LOCATION-OTHER": self._other_place, "IPADDR": self._digits,
        }  # fmt: skip

    def note(self, note: AnnotatedNote) -> tuple[str, list[Span]]:
        """Return a variant of ``note``: new text, and its spans in the same order."""
        memory = _NoteMemory()
        parts: list[str] = []
        spans: list[Span] = []
        at = length = 0
        noisy = self._rng.random() < 0.25
        for span in note.spans:
            before = note.text[at : span.start]
            if noisy:
                before = self._noise(before)
            value = self._value(note.text[span.start : span.end], span.label, memory)
            if before.endswith(" ") and self._rng.random() < self._rates.joined and before[-2:-1].strip():
                before = before[:-1]
            parts += before, value
            start = length + len(before)
            length = start + len(value)
            spans.append(Span(start, length, span.label))
            at = span.end
            if note.text[at : at + 1] == " " and self._rng.random() < self._rates.joined:
                at += 1
        rest = note.text[at:]
        parts.append(self._noise(rest) if noisy else rest)
        return self._recase("".join(parts)), spans

    def _recase(self, text: str) -> str:
        roll = self._rng.random()
        if roll < self._rates.upper_note:
            return "".join(u if len(u := c.upper()) == 1 else c for c in text)
        if roll < self._rates.upper_note + self._rates.lower_note:
            return "".join(low if len(low := c.lower()) == 1 else c for c in text)
        return text

    def _noise(self, text: str) -> str:
        chars = list(text)
        for index, char in enumerate(chars):
            if char.isalpha() and self._rng.random() < self._rates.noise:
                chars[index] = self._rng.choice(("", char * 2, self._rng.choice(string.ascii_lowercase)))
        return "".join(chars)

    def _value(self, value: str, label: str, memory: _NoteMemory) -> str:
        key = (label if label not in {"PATIENT", "DOCTOR"} else "NAME", value.lower())
        if key not in memory.values:
            keep = self._rng.random() < self._rates.keep
            new = value if keep else self._by_label.get(label, self._identifier)(value, memory)
            memory.values[key] = new if new.strip() == new and new and "\n" not in new else value
        return formed_like(memory.values[key], value) if label in {"PATIENT", "DOCTOR"} else memory.values[key]

    # Names ---------------------------------------------------------------------------------------------------------

    def _name(self, value: str, memory: _NoteMemory) -> str:
        words = list(_WORD.finditer(value))

        def part(match: re.Match[str]) -> str:
            word = match[0]
            key = word.lower()
            if word.isdigit() or (key in fresh.KEPT_NAME_PARTS and len(words) > 1):
                return word
            if len(word) == 1 or (word.isupper() and len(word) <= 3 and len(words) == 1):
                return "".join(self._letter(letter) for letter in word)
            if key not in memory.names:
                # The last word, or the one before a comma, is a family name.
                family = match.end() == len(value) or value[match.end() : match.end() + 1] == ","
                memory.names[key] = self._name_part(family if len(words) > 1 else self._rng.random() < 0.6)
            return formed_like(memory.names[key], word)

        return _WORD.sub(part, value)

    def _name_part(self, family: bool) -> str:
        roll = self._rng.random()
        rates = self._rates
        if roll < rates.ambiguous_name:
            drawn = self._rng.choice(self._lists.ambiguous)
        elif roll < rates.ambiguous_name + rates.world_name:
            drawn = self._rng.choice(self._lists.family_world if family else self._lists.given_world)
        else:
            drawn = (self._lists.family if family else self._lists.given).draw(self._rng)
        drawn = next(iter(re.findall(r"[^\W\d_]{2,}", drawn)), drawn)
        if len(drawn) > 4 and self._rng.random() < rates.misspelt_name:
            at = self._rng.randrange(1, len(drawn) - 1)
            slip = self._rng.choice(("", drawn[at] * 2, self._rng.choice(string.ascii_lowercase)))
            drawn = drawn[:at] + slip + drawn[at + 1 :]
        return drawn

    def _letter(self, letter: str) -> str:
        if not letter.isascii():
            return letter
        drawn = self._rng.choice("ABCDEFGHIJKLMNOPRSTVWY")
        return drawn if letter.isupper() else drawn.lower()

    def _username(self, value: str, memory: _NoteMemory) -> str:
        if self._rng.random() < 0.6 or not value.isalnum():
            return self._identifier(value, memory)
        given, family = self._name_part(False).lower(), self._name_part(True).lower()
        number = str(self._rng.randrange(1, 10 ** self._rng.choice((1, 2, 2, 3))))
        new = self._rng.choice((given[0] + family, given[0] + family + number, family[:5] + given[0], given + number))
        return new.upper() if value.isupper() else new

    # Times ---------------------------------------------------------------------------------------------------------

    def _age(self, value: str, memory: _NoteMemory) -> str:
        rng = self._rng
        if re.fullmatch(r"\d{1,3}", value):
            return str(rng.choice((rng.randrange(1, 100), rng.randrange(18, 90), rng.randrange(60, 105))))
        if re.fullmatch(r"\d0'?s", value):
            return str(rng.randrange(2, 10) * 10) + value[2:]
        words = value.lower().split("-")
        if words[0] in fresh.NUMBER_WORDS or words[0] in TENS:
            new = rng.choice(TENS)
            if rng.random() < 0.6:
                new += rng.choice("- ") + rng.choice(fresh.NUMBER_WORDS[:9])
            elif rng.random() < 0.4:
                new = rng.choice(fresh.NUMBER_WORDS)
            return formed_like(new, value)
        return self._digits(value, memory)

    def _date(self, value: str, memory: _NoteMemory) -> str:
        rng = self._rng
        numeric = re.fullmatch(r"(\d{1,2})([/.-])(\d{1,2})\2(\d{2}|\d{4})", value)
        if numeric and rng.random() < self._rates.new_form:
            return self._new_date()
        if value.lower() in {h.lower() for h in fresh.HOLIDAYS}:
            return formed_like(rng.choice(fresh.HOLIDAYS), value)

        def part(match: re.Match[str]) -> str:
            word = match[0]
            if word.isdigit():
                return self._date_number(word, value[match.end() : match.end() + 2].lower(), match.start() == 0)
            low = word.lower()
            for table in (fresh.MONTHS, fresh.MONTH_SHORT, fresh.DAYS, fresh.DAY_SHORT):
                if any(low == entry.lower() for entry in table):
                    return formed_like(rng.choice(table), word)
            if low in {"sept", "thur", "weds", "tues", "thurs"}:
                return formed_like(rng.choice(fresh.MONTH_SHORT if low == "sept" else fresh.DAY_SHORT), word)
            return word

        new = re.sub(r"[^\W\d_]+|\d+", part, value)
        return re.sub(r"\b(\d{1,2})(st|nd|rd|th)\b", lambda m: m[1] + ordinal(int(m[1])), new, flags=re.IGNORECASE)

    def _date_number(self, word: str, after: str, first: bool) -> str:
        rng = self._rng
        number = int(word)
        if len(word) == 4 and 1900 <= number <= 2200:
            return str(rng.randrange(1925, 2031) if rng.random() < 0.92 else rng.randrange(2031, 2200))
        if len(word) <= 2:
            if number <= 12:
                new = rng.randrange(1, 13)
            elif number <= 31:
                new = rng.randrange(1, 32) if after in {"st", "nd", "rd", "th"} else rng.randrange(13, 32)
            else:
                return f"{rng.randrange(0, 100):02d}"
            return f"{new:02d}" if word[0] == "0" or (len(word) == 2 and not first and rng.random() < 0.5) else str(new)
        if len(word) == 8 and word[:2] in {"19", "20"}:
            return f"{rng.randrange(1930, 2031)}{rng.randrange(1, 13):02d}{rng.randrange(1, 29):02d}"
        return self._draw_digits(word)

    def _new_date(self) -> str:
        rng = self._rng
        year, month, day = rng.randrange(1925, 2031), rng.randrange(1, 13), rng.randrange(1, 29)
        yy, name = f"{year % 100:02d}", fresh.MONTHS[month - 1]
        form = rng.randrange(14)
        return (
            f"{month}/{day}/{year}", f"{month:02d}/{day:02d}/{yy}", f"{year}-{month:02d}-{day:02d}",
            f"{day:02d}.{month:02d}.{year}",
            f"{name} {day}, {year}", f"{name[:3]} {day}, {year}", f"{day}-{name[:3]}-{yy}", f"{day} {name} {year}",
            f"{day:02d}{name[:3].upper()}{year}",
            f"{month}-{day}-{yy}", f"{name} {day}{ordinal(day)}, {year}", f"{month}/{day}",
            f"{name[:3]} {day}", f"{day:02d}/{month:02d}/{year}",
        )[form]  # fmt: skip

    # Contacts and numbers ------------------------------------------------------------------------------------------

    def _phone(self, value: str, memory: _NoteMemory) -> str:
        rng = self._rng
        if sum(c.isdigit() for c in value) != 10 or rng.random() >= self._rates.new_form:
            return self._digits(value, memory)
        a, b, c = str(rng.randrange(201, 990)), str(rng.randrange(200, 1000)), f"{rng.randrange(10000):04d}"
        return rng.choice(
            (f"({a}) {b}-{c}", f"{a}-{b}-{c}", f"{a}.{b}.{c}", f"{a} {b} {c}", f"({a}){b}-{c}",
             f"{a}/{b}-{c}", f"{a}{b}{c}",
             f"1-{a}-{b}-{c}", f"+1 {a} {b} {c}", f"{a}-{b} {c}")
        )  # fmt: skip

    def _draw_digits(self, digits: str) -> str:
        first = self._rng.choice("123456789") if digits[0] != "0" else "0"
        return first + "".join(self._rng.choice(string.digits) for _ in digits[1:])

    def _digits(self, value: str, memory: _NoteMemory) -> str:
        return re.sub(r"\d+", lambda match: self._draw_digits(match[0]), value)

    def _identifier(self, value: str, memory: _NoteMemory) -> str:
        """Replace letters by letters and digits by digits; sometimes add or drop a digit, or change a separator."""
        rng = self._rng

        def part(match: re.Match[str]) -> str:
            word = match[0]
            if word.isdigit():
                if len(word) > 3 and rng.random() < 0.2:
                    word = word[1:] if rng.random() < 0.5 else word + "7"
                return self._draw_digits(word)
            if len(word) > 5:
                return word  # a word, not a code
            return "".join(self._letter(letter) for letter in word)

        new = _WORD.sub(part, value)
        if rng.random() < 0.1 and any(c.isdigit() for c in new):
            new = new.replace("-", rng.choice(("", " ", "/", "."))) if "-" in new else new
        return new

    def _host(self) -> str:
        rng = self._rng
        words = [
            rng.choice((rng.choice(fresh.HOST_WORDS), self._name_part(True), rng.choice(self._lists.cities))).lower()
            for _ in range(rng.choice((1, 2, 2)))
        ]
        host = re.sub(r"[^a-z0-9-]", "", rng.choice(("", "-")).join(words)) or "mail"
        return f"{host}.{rng.choice(fresh.TLDS)}"

    def _email(self, value: str, memory: _NoteMemory) -> str:
        rng = self._rng
        given, family = self._name_part(False).lower(), self._name_part(True).lower()
        local = rng.choice(
            (f"{given}.{family}", f"{given[0]}{family}", f"{family}{rng.randrange(100)}", f"{given}_{family}",
             f"{given}{rng.randrange(2020)}",
             rng.choice(fresh.HOST_WORDS) + rng.choice(fresh.HOST_WORDS))
        )  # fmt: skip
        at = re.search(r"\s*(?:@|[(\[]\s*at\s*[)\]]|\bat\b)\s*", value, re.IGNORECASE)
        new = local + (at[0] if at else "@") + self._host()
        return new.upper() if value.isupper() else new

    def _url(self, value: str, memory: _NoteMemory) -> str:
        scheme = re.match(r"(?:https?://)?(?:www\.)?", value, re.IGNORECASE)
        path = re.search(r"(?<=[\w])/(?!/).*", value)
        sub = self._rng.choice(("", "", "my.", "portal.", "mychart."))
        return (scheme[0] if scheme else "") + sub + self._host() + (self._digits(path[0], memory) if path else "")

    def _zip(self, value: str, memory: _NoteMemory) -> str:
        return re.sub(r"[A-Za-z]", lambda m: self._letter(m[0]), self._digits(value, memory))

    # Places --------------------------------------------------------------------------------------------------------

    def _street(self, value: str, memory: _NoteMemory) -> str:
        rng = self._rng

        def part(match: re.Match[str]) -> str:
            word = match[0]
            low = word.lower()
            if word.isdigit():
                return self._draw_digits(word)
            if low in fresh.SUFFIX_KEYS and match.start() > 0:
                return formed_like(rng.choice(fresh.STREET_SUFFIXES).rstrip("."), word) if rng.random() < 0.5 else word
            if low in fresh.STREET_KEPT or len(word) <= 2:
                return word
            drawn = rng.choice(
                (self._name_part(True), rng.choice(self._lists.cities), rng.choice(self._lists.ambiguous),
                 rng.choice(self._lists.streets))
            )  # fmt: skip
            kept = [
                w for w in re.findall(r"[^\W\d_]{3,}", drawn) if w.lower() not in fresh.SUFFIX_KEYS | fresh.STREET_KEPT
            ]
            return formed_like(kept[0], word) if kept else word

        return re.sub(r"[^\W\d_]+|\d+(?!st|nd|rd|th)", part, value)

    def _city(self, value: str, memory: _NoteMemory) -> str:
        county = re.search(r"\b(?:county|parish|township|borough)\b", value, re.IGNORECASE)
        drawn = self._rng.choice(self._lists.cities if self._rng.random() < 0.75 else self._lists.cities_world)
        if county:
            drawn = f"{drawn} {county[0]}" if county.start() else f"{county[0]} of {drawn}"
        return formed_like(drawn, value)

    def _state(self, value: str, memory: _NoteMemory) -> str:
        if value.endswith("."):
            return self._rng.choice(fresh.STATE_DOTTED)
        if len(value) <= 3:
            short = self._rng.choice(fresh.STATES)[0]
            return short if value.isupper() else short.title() if value[0].isupper() else short.lower()
        return formed_like(self._rng.choice(fresh.STATES)[1], value)

    def _country(self, value: str, memory: _NoteMemory) -> str:
        demonym = value.lower() in {d.lower() for d in self._lists.demonyms} or re.search(
            r"(?:an|ish|ese|ch|i)$", value
        )
        lists = self._lists
        drawn = self._rng.choice(lists.demonyms) if demonym else self._rng.choice(
            lists.countries if self._rng.random() < 0.6 else fresh.OTHER_COUNTRIES
        )  # fmt: skip
        return formed_like(drawn, value)

    def _proper_words(self, value: str, share: float) -> str:
        """Replace the words that are not common English by places and names, and digits by digits."""
        rng = self._rng

        def part(match: re.Match[str]) -> str:
            word = match[0]
            if word.isdigit():
                return self._draw_digits(word) if rng.random() < 0.8 else word
            common = word.lower() in self._lists.common_words
            acronym = word.isupper() and len(word) <= 5 and len(value) > len(word)
            if len(word) < 3 or acronym or (common and rng.random() < 0.93) or rng.random() > share:
                return word
            return formed_like(self._place_word(), word)

        return _WORD.sub(part, value)

    def _place_word(self) -> str:
        rng = self._rng
        return rng.choice((self._name_part(True), rng.choice(self._lists.cities), rng.choice(self._lists.cities)))

    def _acronym(self, value: str, endings: str) -> str:
        drawn = "".join(self._rng.choice("ABCDEFGHJKLMNPRSTUVW") for _ in range(max(1, len(value) - 1)))
        return drawn + self._rng.choice(endings)

    def _shaped(self, shapes: list[str]) -> str:
        rng = self._rng
        return rng.choice(shapes).format(
            place=rng.choice(self._lists.cities),
            name=self._name_part(True),
            saint=rng.choice(("St. ", "Saint ", "St ")) + rng.choice(fresh.SAINTS),
        )

    def _hospital(self, value: str, memory: _NoteMemory) -> str:
        if value.isupper() and len(value) <= 6 and " " not in value:
            return self._acronym(value, "HHMCCGS")
        roll = self._rng.random()
        if roll < 0.5:
            return self._proper_words(value, 0.9)
        if roll < 0.7:
            return formed_like(self._rng.choice(self._lists.hospitals), value)
        if roll < 0.77:
            return formed_like(self._rng.choice(self._lists.clinics), value)
        return formed_like(self._shaped(fresh.FACILITY_SHAPES), value)

    def _organization(self, value: str, memory: _NoteMemory) -> str:
        if value.isupper() and len(value) <= 6 and " " not in value:
            return self._acronym(value, "ABCDSUPT")
        roll = self._rng.random()
        if roll < 0.5:
            return self._proper_words(value, 0.9)
        if roll < 0.62:
            return formed_like(self._rng.choice(self._lists.companies), value)
        if roll < 0.77:
            return formed_like(self._rng.choice(self._lists.organizations), value)
        return formed_like(self._shaped(fresh.ORG_SHAPES), value)

    def _other_place(self, value: str, memory: _NoteMemory) -> str:
        return self._proper_words(value, 0.7)
