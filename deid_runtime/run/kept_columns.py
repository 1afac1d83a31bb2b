"""Check the columns that are kept beside the text: each of their values is checked once, before a run.

A column of categories (note type, ward, sex) has few values. They are short, have no digits, and the detectors find
nothing in them. Any other column may identify a person. The first rows do not show what a column is, so the
inputs are read twice: first only for the values of these columns, then for the notes.

A column with too many values, or that would hold back most notes, is an error before any note is processed. Otherwise a
note whose value may not be kept goes to quarantine. The result does not depend on the order of the notes.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from deid_runtime.errors import SettingsError
from deid_runtime.formats import FORMATS, read_notes
from deid_runtime.formats.records import Item, Meter, ReadOptions, Source, Unreadable
from deid_runtime.formats.sources import Inputs
from deid_runtime.labels import HEADS
from deid_runtime.lexicon.word_codes import FAMILY, FAMILY_SHIFT, GIVEN, load_lexicon, word_key
from deid_runtime.run.batches import Batch
from deid_runtime.spans import Note
from deid_runtime.stages import COLUMNS_STAGE

#: A column of categories has at most this many distinct values, and at most one per this many notes; a few are
#: always allowed.
MOST_VALUES: Final = 200
NOTES_PER_VALUE: Final = 5
FEW_VALUES: Final = 10
LONGEST_VALUE_CHARS: Final = 60

#: A single word has little context. After this text, detectors distinguish a place or a name better from a kind of
#: note.
_LEAD_IN: Final = "Note type: "

_USUAL: Final = 2  # how common a listed name must be
_WORD: Final = re.compile(r"[^\W\d_]{2,}")

#: Returns a short reason for each text in which something was found or that could not be searched; "" for a clean one.
Search = Callable[[Sequence[str]], Sequence[str]]


@dataclass(slots=True)
class _Column:
    notes_of: Counter[str] = field(default_factory=Counter)  # by value, for values of the right form
    notes: int = 0  # notes that have a value
    faults: Counter[str] = field(default_factory=Counter)  # notes by what is wrong with their values


class KeptColumns:
    """The checked values of all columns that are kept."""

    def __init__(self, columns: Mapping[str, Mapping[str, str]]) -> None:
        """``columns`` maps column to value to fault; the fault is empty for a value that may be kept."""
        self._columns = columns

    def hold_back(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        """Yield the batches; a note with a value that may not be kept becomes unreadable."""
        for batch in batches:
            batch.entries = [(source, self._checked(item)) for source, item in batch.entries]
            yield batch

    def _checked(self, item: Item | None) -> Item | None:
        if isinstance(item, Note):
            for column, values in self._columns.items():
                fault = self._fault(values, item.extra.get(column))
                if fault:
                    return Unreadable.of(item, f"column {column!r} has {fault}; {_remedy(column)}", COLUMNS_STAGE)
        return item

    def _fault(self, values: Mapping[str, str], value: object) -> str:
        if _is_free(value):
            return ""
        fault = _fault_of_form(value)
        return fault or values.get(str(value), "a value that was not there at the first reading; the input was changed")


def check_kept_columns(inputs: Inputs, options: ReadOptions, search: Search) -> KeptColumns:
    """Read the values of the columns to keep from the inputs, and check each value with ``search``.

    Raises SettingsError for a column that has no categories and for an input that can be read only once; SourceError
    for one that cannot be read.
    """
    checked: dict[str, dict[str, str]] = {}
    for name, column in _values(inputs, options).items():
        allowed = max(FEW_VALUES, column.notes // NOTES_PER_VALUE)
        if len(column.notes_of) > min(allowed, MOST_VALUES):
            raise SettingsError(
                f"column {name!r} has more than {min(allowed, MOST_VALUES)} values in {column.notes:,} notes, too many "
                f"for categories; {_remedy(name)}"
            )
        checked[name] = values = _search_values(list(column.notes_of), search)
        for value, fault in values.items():
            column.faults[fault] += column.notes_of[value] if fault else 0
        if 2 * column.faults.total() > column.notes:
            [(fault, _)] = column.faults.most_common(1)
            raise SettingsError(
                f"column {name!r} would hold back {column.faults.total():,} of {column.notes:,} notes, most of them "
                f"because it has {fault}; {_remedy(name)}"
            )
    return KeptColumns(checked)


def _values(inputs: Inputs, options: ReadOptions) -> dict[str, _Column]:
    """Return the content of the columns. A column with too many values is read only until that is clear."""
    if inputs.pipes:
        raise SettingsError(
            f"{inputs.pipes[0]}: a pipe can be read only once, but the columns to keep must be checked first; give a "
            f"file, or {_remedy(options.keep_columns[0])}"
        )
    columns = {name: _Column() for name in options.keep_columns}
    for source in inputs:
        for item in read_notes(source, options, Meter()) if FORMATS[source.format].is_table else ():
            if not isinstance(item, Note):
                continue
            for name, column in columns.items():
                value = item.extra.get(name)
                if _is_free(value):
                    continue
                column.notes += 1
                fault = _fault_of_form(value)
                if fault:
                    column.faults[fault] += 1
                elif str(value) in column.notes_of or len(column.notes_of) <= MOST_VALUES:
                    column.notes_of[str(value)] += 1
    return columns


def _search_values(values: Sequence[str], search: Search) -> dict[str, str]:
    """Return what is wrong with each value. A single letter identifies nobody."""
    looked_at = [value for value in values if len(value) > 1]
    # An underscore joins words here, and would look like part of a user name.
    plain = [value.replace("_", " ") for value in looked_at]
    alone, led_in = search(plain), search([_LEAD_IN + value for value in plain])
    found = {value: first or second for value, first, second in zip(looked_at, alone, led_in, strict=True)}
    # `White` is a colour among colours and a name among names: if one value is a person, listed names are persons, too.
    suspicion = next((fault for fault in found.values() if any(label in fault for label in HEADS["name"])), "")
    return {value: found.get(value) or (suspicion if suspicion and _is_name(value) else "") for value in values}


def _is_name(value: str) -> bool:
    """Return whether every word of a value is a given or family name of the lists."""
    lexicon = load_lexicon()
    words = _WORD.findall(value)
    codes = [lexicon.get(word_key(word), 0) for word in words]
    return bool(codes) and all(code & GIVEN >= _USUAL or (code & FAMILY) >> FAMILY_SHIFT >= _USUAL for code in codes)


def _is_free(value: object) -> bool:
    """Return whether a value is empty."""
    return value is None or value == ""


def _fault_of_form(value: object) -> str:
    """Return why the form of a value excludes a category; an empty string if it does not."""
    if isinstance(value, bool):
        return ""
    if not isinstance(value, str):
        return f"a value of type {type(value).__name__}, expected one or two words"
    if len(value) > LONGEST_VALUE_CHARS:
        return f"a value of more than {LONGEST_VALUE_CHARS} characters"
    if any(map(str.isnumeric, value)):
        return "a value with digits"
    if not value.isprintable():
        return "a value with characters that cannot be printed"
    return ""


def _remedy(column: str) -> str:
    return f"do not keep it, or keep it unchecked with --keep-column-unchecked {column}"


def as_batch(texts: Sequence[str]) -> Batch:
    """Return a batch with ``texts`` as notes, for workers to search."""
    nowhere = Source(Path(), "", "jsonl", 0)
    return Batch([(nowhere, Note(f"value {number}", text)) for number, text in enumerate(texts)], sum(map(len, texts)))
