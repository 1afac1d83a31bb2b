"""The data on which the surrogates of one patient depend: the key, the patient's record and the date shift."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from deid_runtime.records.fields import ID, field_of, record_values
from deid_runtime.surrogates.forms import changed, normal_form, one_slip_from
from deid_runtime.surrogates.hashing import Keyed
from deid_runtime.surrogates.lists import phrases

_CACHED_VALUES: Final = 8192
_LONGEST_CACHED_CHARS: Final = 200
DAYS_IN_WEEK: Final = 7
_DAYS_IN_YEAR: Final = 365.2425
ATTEMPTS: Final = 24  # how many candidates are tried to find one that is not an original

#: Fields of a record that do not identify a person by themselves. A surrogate may equal their values.
_NOT_IDENTIFYING: Final = frozenset({ID, "sex"})
_LEAST_SLIP_CHARS: Final = 4  # shorter words are not searched for with a slip
_PHONE_DIGITS: Final = 10  # of a North American number with its area code
_LOCAL_DIGITS: Final = 7  # and without it
_ADDRESS: Final = "street"  # a surrogate may equal a word for a kind of street, such as St: it may be initials


@dataclass(frozen=True, slots=True)
class Patient:
    """One patient under one key.

    ``record`` maps field to value. ``cache`` only saves time; it never changes a result.
    """

    keyed: Keyed
    shift_days: int
    record: Mapping[str, str] = field(repr=False)
    #: Normal forms of the record's values, whole and word by word, and those that a search would take for them.
    recorded: frozenset[str] = field(repr=False)
    roles: Mapping[str, str] = field(repr=False)  # normal form of each word of the patient's own names -> its role
    cache: dict[tuple[str, ...], str] = field(default_factory=dict, repr=False)
    keeps_states: bool = False  # a state is its own surrogate, as Safe Harbor allows

    def remember(self, key: tuple[str, ...], make: Callable[[], str]) -> str:
        """Return ``make()``, cached under ``key``, which must name everything that the result depends on."""
        known = self.cache.get(key)
        if known is None:
            known = make()
            if sum(map(len, key)) <= _LONGEST_CACHED_CHARS:
                if len(self.cache) >= _CACHED_VALUES:
                    self.cache.clear()
                self.cache[key] = known
        return known


def make_patient(keyed: Keyed, record: Mapping[str, str], roles: Mapping[str, str], shift_days: int) -> Patient:
    """Return the patient whose secret is ``keyed`` and whose dates move by ``shift_days``."""
    recorded = set()
    for name, value in record.items():
        known = field_of(name)
        field = known.name if known else name
        for one in record_values(value) if field not in _NOT_IDENTIFYING else ():
            recorded.add(normal_form(one))
            words = {normal_form(word) for word in one.replace("-", " ").split()}
            if field == _ADDRESS:
                recorded.update(words - phrases().kept["street"])
                continue
            recorded.update(words)
            # What the search for the record's values takes for them: a misspelling, a number without its area code.
            for word in words:
                recorded.update(one_slip_from(word) if len(word) >= _LEAST_SLIP_CHARS and word.isalpha() else ())
            digits = "".join(filter(str.isdecimal, one))
            recorded.add(digits[-_LOCAL_DIGITS:] if len(digits) >= _PHONE_DIGITS else "")
    return Patient(keyed, shift_days, dict(record), frozenset(recorded - {""}), dict(roles))


def shift_of(keyed: Keyed, date_shift_days: int, *, whole_weeks: bool = False) -> int:
    """Return the date shift in days of the patient whose secret for date shifts is ``keyed``.

    It is one of :func:`possible_shifts`.

    The date shift in whole weeks and the one in days are independent. Releasing the notes in both ways reveals no
    more.
    """
    purpose = "offset in weeks" if whole_weeks else "offset"
    return keyed.pick(possible_shifts(date_shift_days, whole_weeks=whole_weeks), purpose, "")


@lru_cache(maxsize=4)
def possible_shifts(date_shift_days: int, *, whole_weeks: bool = False) -> tuple[int, ...]:
    """Return the date shifts in days that a patient can have, ascending: in ``-n..n``, never 0 and never whole years.

    Whole years would keep the day and month of every date. With ``whole_weeks``, all shifts are multiples of 7, which
    keeps weekdays. Without it, none is a multiple of 7, so every weekday changes.
    """
    days = range(-date_shift_days, date_shift_days + 1)
    return tuple(day for day in days if day and (day % DAYS_IN_WEEK == 0) is whole_weeks and not _is_whole_years(day))


def _is_whole_years(days: int) -> bool:
    years = round(days / _DAYS_IN_YEAR)
    return years != 0 and abs(days - years * _DAYS_IN_YEAR) < 1


def first_free(candidate: Callable[[int], str], original: str, taken: frozenset[str]) -> str:
    """Return the first of ``candidate(0)``, ``candidate(1)``, ... that is not ``original`` and not in ``taken``.

    Normal forms are compared. Candidates depend only on the key and the value, so the first one is the same in every
    note, and it is nearly always free. A later one is needed only when a note or the record contains the first as an
    original. Then the rule "no surrogate equals an original" has priority over the rule "one surrogate per value in all
    notes". Only a caller that has all notes of the patient and passes them as ``avoid`` can keep both rules.
    When all candidates are taken (possible for single digits), return one that at least differs from ``original``.
    """
    own = normal_form(original)
    different = ""
    for attempt in range(ATTEMPTS):
        found = candidate(attempt)
        form = normal_form(found)
        if not form or form == own:
            continue
        if form not in taken:
            return found
        different = different or found
    return different or changed(original)
