"""Credentials, titles, kin, particles and words of addresses: who uses which stands in ``data/lexicon/*.tsv``."""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Literal

from deid_runtime.lexicon.tables import table, words_for

CredentialUse = Literal[
    "cue", "doubtful", "sure", "dotted", "text", "text-dotted", "template", "username", "label", "staff", "surrogate",
    "not-initials", "not-month", "not-year", "mailbox", "gazetteer",
]  # fmt: skip
KinUse = Literal[
    "age", "age-before", "cue", "term", "label", "introduces", "heads", "no-name", "not-now", "negative", "mention"
]
TitleUse = Literal["staff", "person", "stop", "text", "text-staff", "surrogate", "gazetteer"]
ParticleUse = Literal["name", "cue", "suffix", "surrogate", "firm", "given", "surrogate-suffix", "train"]
StreetUse = Literal["suffix", "soft", "sure", "likely", "lower", "after-year", "no-person", "surrogate"]
AddressUse = Literal["record", "resynthesis"]

_CREDENTIAL_COLUMNS = ("word", "dotted", "uses")


def credentials(use: CredentialUse) -> tuple[str, ...]:
    """Return credentials as written without full stops: ``MD``, ``PharmD``."""
    return words_for("credentials", use, *_CREDENTIAL_COLUMNS)


def credential_keys(use: CredentialUse) -> frozenset[str]:
    """Return credentials in lower case, letters only: ``md``, ``pac``."""
    return frozenset(re.sub(r"\W", "", word).lower() for word in credentials(use))


def dotted_credentials(use: CredentialUse) -> tuple[str, ...]:
    """Return the forms with full stops, ``M.D.``, of the credentials that have one, else as they are."""
    written = credentials(use)
    return tuple(dotted or word for word, dotted, _ in table("credentials", *_CREDENTIAL_COLUMNS) if word in written)


def kin(use: KinUse) -> tuple[str, ...]:
    """Return words for relatives and others who stand by a patient, in lower case."""
    return words_for("kin", use)


def titles(use: TitleUse) -> tuple[str, ...]:
    """Return titles before a name, in lower case."""
    return words_for("titles", use)


def particles(use: ParticleUse) -> tuple[str, ...]:
    """Return particles within names and suffixes behind them, in lower case."""
    return words_for("particles", use)


def street_kinds(use: StreetUse) -> tuple[str, ...]:
    """Return words that end the name of a street, in lower case."""
    return words_for("street_kinds", use)


@cache
def address_words(use: AddressUse) -> Mapping[str, tuple[str, ...]]:
    """Return each word of addresses in full with its short forms, in lower case."""
    rows = table("address_words", "word", "short", "uses")
    return {word: tuple(short.split()) for word, short, uses in rows if use in uses.split()}


def alternation(words: Iterable[str]) -> str:
    """Return a pattern for any of ``words``, the longest first: ``spouse|wife``. It stands in no group of its own."""
    return "|".join(re.escape(word) for word in sorted(set(words), key=lambda word: (-len(word), word)))


def with_stops(words: Iterable[str]) -> str:
    """Return a pattern for any of ``words``, the longest first, each full stop in them optional: ``M\\.?D\\.?|MPH``."""
    return "|".join(
        re.escape(word).replace(r"\.", r"\.?") for word in sorted(set(words), key=lambda word: (-len(word), word))
    )
