"""Credentials, titles, kin, particles and words of addresses. ``data/lexicon/*.tsv`` lists them and their uses."""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Literal

from deid_runtime.lexicon.tables import table, words_for

CredentialUse = Literal[
    "cue", "doubtful", "sure", "dotted", "text", "text-dotted", "template", "username", "label", "staff", "surrogate",
    "not-initials", "not-month", "not-year", "mailbox", "license", "gazetteer",
]  # fmt: skip
KinUse = Literal[
    "age", "age-before", "cue", "term", "label", "introduces", "heads", "no-name", "not-now", "negative", "mention",
    "address", "several", "subject", "origin",
]  # fmt: skip
TitleUse = Literal[
    "staff", "person", "stop", "text", "text-staff", "surrogate", "gazetteer", "courtesy", "brief", "capitals",
    "capital", "no-end", "subject", "age-before",
]  # fmt: skip
ParticleUse = Literal[
    "name", "cue", "suffix", "surrogate", "firm", "given", "surrogate-suffix", "train", "unidentified", "template"
]
StreetUse = Literal[
    "suffix", "soft", "sure", "likely", "lower", "lower-end", "ordinal", "after-year", "no-person", "surrogate",
    "resynthesis",
]  # fmt: skip
UnitUse = Literal["address", "dot", "lower", "record-begin", "record", "resynthesis", "room", "part", "no-end"]
HumanVerbUse = Literal["acts", "known", "only", "object"]
AddressUse = Literal["record", "resynthesis", "direction"]

_CREDENTIAL_COLUMNS = ("word", "dotted", "uses")


def credentials(use: CredentialUse) -> tuple[str, ...]:
    """Return credentials in the form without full stops: ``MD``, ``PharmD``."""
    return words_for("credentials", use, *_CREDENTIAL_COLUMNS)


def credential_keys(use: CredentialUse) -> frozenset[str]:
    """Return credentials in lower case, without punctuation: ``md``, ``pac``."""
    return frozenset(re.sub(r"\W", "", word).lower() for word in credentials(use))


def dotted_credentials(use: CredentialUse) -> tuple[str, ...]:
    """Return credentials in the form with full stops (``M.D.``), or unchanged when they have no such form."""
    written = credentials(use)
    return tuple(dotted or word for word, dotted, _ in table("credentials", *_CREDENTIAL_COLUMNS) if word in written)


def kin(use: KinUse) -> tuple[str, ...]:
    """Return words for relatives and other persons close to a patient, in lower case."""
    return words_for("kin", use)


def human_verbs(use: HumanVerbUse) -> tuple[str, ...]:
    """Return verbs of people, and short words that stand with them, in lower case."""
    return words_for("human_verbs", use)


def titles(use: TitleUse) -> tuple[str, ...]:
    """Return titles before a name, in lower case."""
    return words_for("titles", use)


def particles(use: ParticleUse) -> tuple[str, ...]:
    """Return particles inside names and suffixes after names, in lower case."""
    return words_for("particles", use)


def street_kinds(use: StreetUse) -> tuple[str, ...]:
    """Return words that end a street name, in lower case."""
    return words_for("street_kinds", use)


def unit_words(use: UnitUse) -> tuple[str, ...]:
    """Return words for a part of a building or plot (``apt``, ``floor``), in lower case."""
    return words_for("unit_words", use)


@cache
def address_words(use: AddressUse) -> Mapping[str, tuple[str, ...]]:
    """Return address words: full word to its short forms, in lower case."""
    rows = table("address_words", "word", "short", "uses")
    return {word: tuple(short.split()) for word, short, uses in rows if use in uses.split()}


def alternation(words: Iterable[str]) -> str:
    """Return a pattern for any of ``words``, the longest first: ``spouse|wife``. The pattern has no group around it."""
    return "|".join(re.escape(word) for word in sorted(set(words), key=lambda word: (-len(word), word)))


def with_stops(words: Iterable[str]) -> str:
    """Return a pattern for any of ``words``, the longest first. Full stops are optional: ``M\\.?D\\.?|MPH``."""
    return "|".join(
        re.escape(word).replace(r"\.", r"\.?") for word in sorted(set(words), key=lambda word: (-len(word), word))
    )
