"""Surrogates of chains and brands: another one of the same kind and country, written alike."""

from collections.abc import Sequence
from typing import Final

from deid_runtime.lexicon.letter_case import case_like
from deid_runtime.surrogates.forms import normal_form
from deid_runtime.surrogates.patient import Patient
from deid_runtime.surrogates.words_by_locale import chain_of

_LEAST_CHAIN: Final = 3  # with fewer chain names in the same written form, other names are candidates too
_LONGEST_CODE: Final = 4  # letters of a chain that is an abbreviation, such as CVS


def other_chain(patient: Patient, value: str, locale: str, attempt: int) -> str:
    """Return another chain for the chain ``value``; empty for a name that is not listed."""
    form = normal_form(value)
    chain = chain_of(form, locale)
    if chain is None:
        return ""
    return _chain_like(patient.keyed.pick(_written_alike(chain[1], chain[0]), f"chain/{attempt}", form), value)


def _written_alike(chain: Sequence[str], own: str) -> Sequence[str]:
    """Return the names of ``chain`` written like ``own``, word by word.

    Compared are words in capitals, in title case, or in neither. If there are too few such names, return those with as
    many words; else all.
    """
    written = [name for name in chain if _cases(name) == _cases(own)]
    as_long = [name for name in chain if len(name.split()) == len(own.split())]
    return next((options for options in (written, as_long) if len(options) >= _LEAST_CHAIN), chain)


def _chain_like(name: str, value: str) -> str:
    return name if value.isupper() and len(value) <= _LONGEST_CODE else case_like(name, value)


def _cases(name: str) -> list[tuple[bool, bool]]:
    return [(word.isupper(), word.isalpha() and word.istitle()) for word in name.split()]
