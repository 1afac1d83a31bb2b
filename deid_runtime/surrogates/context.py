"""The originals around a value that its surrogate depends on: people, towns, facilities and phone numbers.

A context is read from one note, or from all notes of a patient by a caller that has them. In the second case, names,
initials, towns and abbreviations agree in all notes, and nothing is stored between notes.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Final

from deid_runtime.dates.forms import read_order, read_style
from deid_runtime.spans import Note, Span
from deid_runtime.surrogates.areas import known_areas
from deid_runtime.surrogates.births import births_in, likely_birth
from deid_runtime.surrogates.countries import own_locale
from deid_runtime.surrogates.facilities import abbreviations, spelled_apart
from deid_runtime.surrogates.forms import normal_form
from deid_runtime.surrogates.locale import LOCALES, locale_of, read_evidence
from deid_runtime.surrogates.postcodes import locales_of_postcode
from deid_runtime.surrogates.written_places import place_written_after

#: A given name, a nickname in brackets or quotes, and a family name.
_NICKNAMED: Final = re.compile(r"[^\W\d_]{2,20} [(\"“][^\W\d_]{2,20}[)\"”] [^\W\d_]{2,20}(?:[-'’][^\W\d_]{2,20})?")
_NAME_LABELS: Final = frozenset({"PATIENT", "DOCTOR"})
_HANDLE_LABELS: Final = frozenset({"USERNAME", "EMAIL"})
_FACILITY_LABELS: Final = frozenset({"HOSPITAL", "ORGANIZATION"})
_PHONE_LABELS: Final = frozenset({"PHONE", "FAX"})
#: Words before a town that is abroad rather than a small one at home: *back from Lima*, *born in Manila*.
_FAR_AWAY: Final = re.compile(
    r"(?i)\b(?:"
    r"(?:returned|returning|back|flew|flown|flying|emigrated|immigrated|refugee)[ ](?:(?:here|home|in)[ ]){0,2}from|"
    r"(?:flew|flown|flying|flights?|travels?|travell?ed|travell?ing|trips?)[ ](?:home[ ]|back[ ])?(?:to|from)|"
    r"(?:holidays?|vacation|honeymoon|born|raised|grew[ ]up)[ ]in|native[ ]of)[ ]$"
)
_FAR_AWAY_CHARS: Final = 28
_LONGEST_HANDLE_CHARS: Final = 64
_ADDRESS_GAP_CHARS: Final = 4
_NO_YEAR: Final = 0

#: Labels whose values are kept or shifted. They may equal an original, and they do not block other surrogates.
MOVING_LABELS: Final = frozenset({"DATE", "AGE"})


@dataclass(frozen=True, slots=True)
class Context:
    """The originals of one or several notes of one patient.

    - ``names``: the mentions of people, each once, in order.
    - ``handles``: the usernames and the local parts of e-mail addresses, each once, in order.
    - ``mentions``: label and value of every span, each pair once, in order.
    - ``towns``: normal form of a town -> the town, and the state and country beside one mention of it.
    - ``locales``: normal form of a state -> the locale that its country or postal code tells.
    - ``staying``: normal forms of towns whose state or country is written after them outside all spans, so it stays.
    - ``far_away``: normal forms of towns to which someone travelled, or in which someone was born.
    - ``zips``: normal form of a postal code -> its town and state.
    - ``facilities``: names of hospitals and organizations.
    - ``evidence``: locale -> weight of the evidence for it.
    - ``abbreviations``: letters -> full name of a facility.
    - ``apart``: normal form of a facility -> a spelling of it in several words or with an apostrophe.
    - ``phones``: telephone numbers.
    - ``originals``: normal forms that no surrogate may have.
    - ``born``, ``year``, ``day_first``: with several notes, the date of birth, the main year and the order of day and
      month that they show; otherwise None.
    """

    names: tuple[str, ...] = field(repr=False)
    handles: tuple[str, ...] = field(repr=False)
    mentions: tuple[tuple[str, str], ...] = field(repr=False)
    towns: Mapping[str, tuple[str, str, str]] = field(repr=False)
    locales: Mapping[str, str] = field(repr=False)
    staying: frozenset[str] = field(repr=False)
    far_away: frozenset[str] = field(repr=False)
    zips: Mapping[str, tuple[str, str]] = field(repr=False)
    facilities: tuple[str, ...] = field(repr=False)
    evidence: Mapping[str, float] = field(repr=False)
    abbreviations: Mapping[str, str] = field(repr=False)
    apart: Mapping[str, str] = field(repr=False)
    phones: tuple[str, ...] = field(repr=False)
    originals: frozenset[str] = field(repr=False)
    born: date | None = field(default=None, repr=False)
    year: int | None = field(default=None, repr=False)
    day_first: bool | None = None


def read_context(notes: Iterable[tuple[Note, Sequence[Span]]]) -> Context:
    """Return the context of ``notes``, all of one patient. The spans of each note are sorted and disjoint."""
    rows = [(note, spans, [note.text[span.start : span.end] for span in spans]) for note, spans in notes]
    found = _Originals()
    for note, spans, values in rows:
        found.add(note.text, spans, values)
    several = rows if len(rows) > 1 else []
    dated = [value for _, spans, values in several for value in _values_of("DATE", spans, values)]
    day_first, locale = (read_order(dated), locale_of(found.evidence, {})) if several else (None, "US")
    return Context(
        names=tuple(found.names),
        handles=tuple(found.handles),
        mentions=tuple(found.mentions),
        towns=found.towns,
        locales=found.locales,
        staying=frozenset(found.staying),
        far_away=frozenset(found.far_away),
        zips=found.zips,
        facilities=tuple(found.facilities),
        evidence=found.evidence,
        abbreviations=abbreviations(found.facilities),
        apart=spelled_apart(found.facilities),
        phones=tuple(found.phones),
        originals=frozenset(found.originals - {""}),
        born=likely_birth(births_in(*each, locale=locale, usual=day_first) for each in several),
        year=read_style(dated, _NO_YEAR).year or None,
        day_first=day_first,
    )


def _values_of(label: str, spans: Sequence[Span], values: Sequence[str]) -> Iterator[str]:
    return (value for span, value in zip(spans, values, strict=True) if span.label == label)


@dataclass(slots=True, repr=False)
class _Originals:
    """The originals of the notes read so far, with the names of :class:`Context`."""

    names: dict[str, None] = field(default_factory=dict)
    handles: dict[str, None] = field(default_factory=dict)
    mentions: dict[tuple[str, str], None] = field(default_factory=dict)
    towns: dict[str, tuple[str, str, str]] = field(default_factory=dict)
    locales: dict[str, str] = field(default_factory=dict)
    staying: set[str] = field(default_factory=set)
    far_away: set[str] = field(default_factory=set)
    zips: dict[str, tuple[str, str]] = field(default_factory=dict)
    facilities: dict[str, None] = field(default_factory=dict)
    evidence: dict[str, float] = field(default_factory=lambda: dict.fromkeys(LOCALES, 0.0))
    phones: dict[str, None] = field(default_factory=dict)
    originals: set[str] = field(default_factory=set)

    def add(self, text: str, spans: Sequence[Span], values: Sequence[str]) -> None:
        """Add the spans of one note. ``values`` are the texts of ``spans``."""
        labelled = [(span.label, value) for span, value in zip(spans, values, strict=True)]
        for locale, weight in read_evidence(text, labelled).items():
            self.evidence[locale] += weight
        for index, (label, value) in enumerate(labelled):
            self.mentions[label, value] = None
            if label not in MOVING_LABELS:
                self.originals.add(normal_form(value))
            if label in _NAME_LABELS:
                self.names[value] = None
                if whole := _with_nickname(text, spans, index):
                    self.names[whole] = None
            elif label in _HANDLE_LABELS:
                self.handles[value.partition("@")[0][:_LONGEST_HANDLE_CHARS]] = None
            elif label in _FACILITY_LABELS:
                self.facilities[value] = None
            elif label in _PHONE_LABELS:
                self.phones[value] = None
            else:
                self._add_place(text, spans, values, index)

    def _add_place(self, text: str, spans: Sequence[Span], values: Sequence[str], index: int) -> None:
        """Add a town, a state or a postal code with the places beside it."""
        match spans[index].label:
            case "CITY":
                _add_town(self.towns, self.staying, text, spans, values, index)
                start = spans[index].start
                if _FAR_AWAY.search(text, max(0, start - _FAR_AWAY_CHARS), start):
                    self.far_away.add(normal_form(values[index]))
            case "STATE":
                _add_state(self.locales, text, spans, values, index)
            case "ZIP":
                _add_zip(self.zips, text, spans, values, index)


def beside(text: str, spans: Sequence[Span], values: Sequence[str], index: int, label: str, step: int) -> str:
    """Return the value of the next span in direction ``step`` if it has ``label`` and is close; otherwise ``""``."""
    other = index + step
    if not 0 <= other < len(spans) or spans[other].label != label:
        return ""
    first, second = sorted((spans[index], spans[other]))
    gap = text[first.end : second.start]
    return values[other] if len(gap) <= _ADDRESS_GAP_CHARS and not any(char.isalnum() for char in gap) else ""


def _with_nickname(text: str, spans: Sequence[Span], index: int) -> str:
    """Return ``William (Bill) Okafor`` for the last of its three spans, else an empty string: they are one person."""
    three = spans[max(index - 2, 0) : index + 1]
    if len(three) < 3 or any(span.label not in _NAME_LABELS for span in three):
        return ""
    whole = text[three[0].start : three[2].end]
    return whole if _NICKNAMED.fullmatch(whole) else ""


def _add_town(
    towns: dict[str, tuple[str, str, str]],
    staying: set[str],
    text: str,
    spans: Sequence[Span],
    values: Sequence[str],
    index: int,
) -> None:
    value = values[index]
    around = _around_town(text, spans, values, index)
    form = normal_form(value)
    known = towns.get(form)
    if known is None or (around != ("", "") and known[1:] == ("", "")):
        towns[form] = (value, *around)
    written = place_written_after(text, spans, index) if around == ("", "") else around
    if written != around and towns[form][1:] == ("", ""):
        towns[form] = (value, *written)
        staying.add(form)


def _add_zip(
    zips: dict[str, tuple[str, str]], text: str, spans: Sequence[Span], values: Sequence[str], index: int
) -> None:
    state = beside(text, spans, values, index, "STATE", -1)
    city = beside(text, spans, values, index - 1 if state else index, "CITY", -1)
    form = normal_form(values[index])
    zips[form] = max(zips.get(form, ("", "")), (city, state), key=lambda pair: sum(map(bool, pair)))


def _add_state(locales: dict[str, str], text: str, spans: Sequence[Span], values: Sequence[str], index: int) -> None:
    """Add the locale of a state to ``locales`` if the country or the postal code after it tells it."""
    code = beside(text, spans, values, index, "ZIP", 1)
    country = beside(text, spans, values, index + 1 if code else index, "COUNTRY", 1)
    told = [own_locale(country)] if country else [locale for locale, _ in locales_of_postcode(code)] if code else []
    own = {area.locale for area, _ in known_areas(values[index])}
    if locale := next((locale for locale in told if locale in own), ""):
        locales.setdefault(normal_form(values[index]), locale)


def _around_town(text: str, spans: Sequence[Span], values: Sequence[str], index: int) -> tuple[str, str]:
    """Return the state and the country that directly follow a town, each empty if there is none."""
    state = beside(text, spans, values, index, "STATE", 1)
    place = index + 1 if state else index
    country = beside(text, spans, values, place, "COUNTRY", 1)
    if not country and beside(text, spans, values, place, "ZIP", 1):
        country = beside(text, spans, values, place + 1, "COUNTRY", 1)
    return state, country
