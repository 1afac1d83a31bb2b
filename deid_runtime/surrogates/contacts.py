"""Surrogates of e-mail addresses, web addresses, usernames and IP addresses.

Hosts become domains reserved by RFC 2606 and RFC 6761. IP addresses become addresses of the ranges reserved by RFC 5737
and RFC 3849; private ones stay private. Parts that contain a name known from the note or the record follow that name.
"""

import ipaddress
import re
from typing import Final

from deid_runtime.lexicon.letter_case import case_like
from deid_runtime.lexicon.tables import listed_words
from deid_runtime.lexicon.vocabulary import credential_keys
from deid_runtime.surrogates.forms import holds_text, normal_form, scramble
from deid_runtime.surrogates.hashing import Keyed
from deid_runtime.surrogates.initials import known_initials
from deid_runtime.surrogates.lists import phrases
from deid_runtime.surrogates.name_pools import names
from deid_runtime.surrogates.name_words import letter_for, surrogate_letter, word_surrogate
from deid_runtime.surrogates.numbers import permuted, replace_code
from deid_runtime.surrogates.patient import Patient, first_free
from deid_runtime.surrogates.people import People
from deid_runtime.surrogates.unlisted import draw

_LONGEST_CONTACT_CHARS: Final = 400
_AT: Final = re.compile(r"\s*(?:@|[\[(]\s*at\s*[\])]|\bat\b)\s*", re.I)
_LONGEST_PERMUTED: Final = 20  # digits
_LEAST_CUT_CHARS: Final = 5  # shorter runs of letters begin too many names
_CHUNK: Final = re.compile(r"[^\W\d_]+|\d+|[\W_]")
_HOST: Final = re.compile(r"^(?P<scheme>[a-z][a-z0-9+.-]*://)?(?P<host>[^/?#:\s]+)(?P<rest>.*)$", re.I | re.S)
_TOP: Final = {"com": "example.com", "org": "example.org", "net": "example.net", "edu": "example.edu"}
_SECOND_LEVELS: Final = frozenset("co ac gov nhs org com net edu".split())  # as in clinic.co.uk
_SERVICES: Final = frozenset(listed_words("contact_words", "service"))
_PATH_WORDS: Final = frozenset(listed_words("contact_words", "path"))
_MAILBOX_WORDS: Final = frozenset(listed_words("contact_words", "mailbox")) | credential_keys("mailbox")

_LONG_MAILBOX_WORDS: Final = frozenset(word for word in _MAILBOX_WORDS if len(word) > 2)


def replace_username(patient: Patient, people: People, value: str, taken: frozenset[str]) -> str:
    """Return the surrogate of a username."""
    if len(value) > _LONGEST_CONTACT_CHARS:
        return scramble(patient.keyed, "user", value)
    if not holds_text(value):
        return value
    return first_free(lambda n: _handle(patient, people, value, taken, n, keep=frozenset()), value, taken)


def _handle(
    patient: Patient, people: People, value: str, taken: frozenset[str], attempt: int, *, keep: frozenset[str]
) -> str:
    """Return the surrogate of a username or of the local part of an address, run by run of letters or digits."""
    out = []
    chunks = _CHUNK.findall(value)
    named = next((form for form in map(normal_form, chunks) if len(form) > 2 and form in people.words), "")
    for place, chunk in enumerate(chunks):
        if chunk.isdecimal():
            is_short = chunk.isascii() and len(chunk) <= _LONGEST_PERMUTED
            out.append(
                permuted(patient, f"handle/{place}/{attempt}", chunk)
                if is_short
                else scramble(patient.keyed, f"handle/{place}/{attempt}", chunk)
            )
        elif not chunk[0].isalpha() or chunk.lower() in keep:
            out.append(chunk)
        elif len(chunk) == 1 and named and attempt == 0:  # j.smith
            out.append(case_like(_initial_letters(patient, people, normal_form(chunk), named, taken), chunk))
        else:
            out.append(case_like(_handle_word(patient, people, chunk, taken, attempt), chunk))
    return "".join(out)


def _handle_word(patient: Patient, people: People, chunk: str, taken: frozenset[str], attempt: int) -> str:
    form = normal_form(chunk)
    if attempt == 0 and form and (made := _handle_of_person(patient, people, form, taken)):
        return made
    if len(form) > 4:  # a truncated or unknown name: use as many letters of another name
        name = _as_handle(draw(patient.keyed, ("english", ""), f"handle/{attempt}", form))
        return (letter_for(patient, form[0]) + name + name)[: len(form)]
    return scramble(patient.keyed, f"letters/{attempt}", chunk)


def _handle_of_person(patient: Patient, people: People, form: str, taken: frozenset[str]) -> str:
    """Return the surrogate of a run of letters that is made from a name, or an empty string.

    The run is a name (smith), an initial or two and a family name (jsmith), a name and one or two initials (smithj,
    johns), initials of a known person (js), or one of the first two truncated (jmcdona).
    """
    known = names()
    words = {form for form in (*people.words, *people.roles, *patient.roles) if len(form) > 2}

    def other(name: str) -> str:
        return _as_handle(word_surrogate(patient, people, name, taken))

    if form in words or (len(form) > 3 and (form in known.given or form in known.family)):
        return other(form)
    for size in (1, 2):
        if form[size:] in words and len(form) > size + 2:
            return _initial_letters(patient, people, form[:size], form[size:], taken) + other(form[size:])
    for size in (1, 2):
        if form[:-size] in words and len(form) > size + 2:
            return other(form[:-size]) + _initial_letters(patient, people, form[-size:], form[:-size], taken)
    if len(form) > 4 and form[1:] in known.family:
        return letter_for(patient, form[0]) + other(form[1:])
    if len(form) >= _LEAST_CUT_CHARS:
        for start in (0, 1):
            cut = form[start:]
            whole = sorted(word for word in words if word.startswith(cut))
            if whole:
                first = _initial_letters(patient, people, form[:start], whole[0], taken)
                name = other(whole[0])
                return first + name[: len(cut)] if len(name) >= len(cut) else first + (name + name)[: len(cut)]
    return _as_handle(known_initials(patient, people, form, taken)) if 2 <= len(form) <= 3 else ""


def _initial_letters(patient: Patient, people: People, letters: str, name: str, taken: frozenset[str]) -> str:
    """Return the surrogate of the initials beside ``name``: of the other name of its person, if one is known."""
    for person in people.persons:
        if len(letters) != 1 or not {name} & {*person.given, *person.family}:
            continue
        for form in person.given if name in person.family else person.family:
            if form[0] == letters:
                return (
                    _as_handle(word_surrogate(patient, people, form, taken))[0]
                    if len(form) > 1
                    else surrogate_letter(patient, form, people.first_attempts.get(form, 0))
                )
    return "".join(letter_for(patient, char) for char in letters)


def _as_handle(name: str) -> str:
    return normal_form(name)


def replace_email(patient: Patient, people: People, value: str, taken: frozenset[str]) -> str:
    """Return the surrogate of an e-mail address; keep its separator (``@``, ``(at)``)."""
    found = _AT.search(value) if len(value) <= _LONGEST_CONTACT_CHARS else None
    if not found:
        return (
            first_free(lambda n: scramble(patient.keyed, f"email/{n}", value), value, taken)
            if holds_text(value)
            else value
        )
    local, domain = value[: found.start()], value[found.end() :]
    chunks = [chunk.lower() for chunk in _CHUNK.findall(local) if chunk.isalpha()]
    # A short mailbox word beside other words may be a name: ed.quist.
    keep = _MAILBOX_WORDS if _MAILBOX_WORDS.issuperset(chunks) else _LONG_MAILBOX_WORDS

    def candidate(attempt: int) -> str:
        new_local = _handle(patient, people, local, taken, attempt, keep=keep)
        return f"{new_local}{found[0]}{_domain(patient.keyed, domain, attempt)}"

    return first_free(candidate, value, taken)


def _domain(keyed: Keyed, host: str, attempt: int) -> str:
    """Return a reserved host with as many labels and the same service names; keep the places of hyphens and digits.

    ``lab.clinic.org`` becomes ``word.example.org``. A host of two labels becomes ``word.example``.
    """
    labels = host.lower().split(".")
    services = []
    while len(labels) > 1 and labels[0] in _SERVICES:
        services.append(labels.pop(0))
    form = normal_form(".".join(label for label in labels if label not in _TOP and label != "example"))
    ending = _TOP.get(labels[-1], "example") if len(labels) > 2 else "example"
    own = labels[: max(1, len(labels) - 1 - ending.count("."))]
    words = [
        label if place and label in _SECOND_LEVELS else _domain_word(keyed, label, form, place, attempt)
        for place, label in enumerate(own)
    ]
    return case_like(".".join([*services, *words, ending]), host)


def _domain_word(keyed: Keyed, label: str, form: str, place: int, attempt: int) -> str:
    listed = phrases()
    form = f"{form}/{place}" if place else form
    first = keyed.pick(listed.firsts, f"domain first/{attempt}", form)
    joint = "-" if "-" in label.strip("-") else ""
    figures = "".join(char for char in label if char.isascii() and char.isdecimal())
    other = scramble(keyed, f"domain figures/{attempt}", figures, identity=form)
    return f"{first}{joint}{keyed.pick(listed.features, f'domain/{attempt}', form)}{other}".lower()


def replace_url(patient: Patient, people: People, value: str, taken: frozenset[str]) -> str:
    """Return the surrogate of a web address; keep only the scheme and words that many sites have."""
    found = _HOST.match(value) if len(value) <= _LONGEST_CONTACT_CHARS else None
    if not found or "." not in found["host"]:
        return (
            first_free(lambda n: scramble(patient.keyed, f"url/{n}", value), value, taken)
            if holds_text(value)
            else value
        )

    keep = _kept_path_words(patient, people, found["rest"])

    def candidate(attempt: int) -> str:
        rest = _handle(patient, people, found["rest"], taken, attempt, keep=keep)
        return f"{found['scheme'] or ''}{_domain(patient.keyed, found['host'], attempt)}{rest}"

    return first_free(candidate, value, taken)


def _kept_path_words(patient: Patient, people: People, path: str) -> frozenset[str]:
    """Return the path words without those that name a person.

    These are names in the note or the record, and listed names beside other words.
    """
    known, persons = names(), {form for form in {**people.roles, **patient.roles} if len(form) > 2}
    kept = _PATH_WORDS - persons
    for segment in re.split(r"[/?&=#]", path.lower()):
        words = {chunk for chunk in _CHUNK.findall(segment) if chunk.isalpha()}
        if not words <= kept:  # elliot.page, but not page/2
            kept -= {word for word in words if word in known.given or word in known.family}
    return kept


def replace_ip(patient: Patient, value: str, taken: frozenset[str]) -> str:
    """Return a private address for a private one, otherwise an address reserved for documentation."""
    split = _ADDRESS.fullmatch(value.strip())
    shown, behind = value.strip(), ""
    if split is not None:
        shown, behind = split["address"] or split["six"], split["behind"] or split["zone"] or ""
    try:
        address = ipaddress.ip_address(shown)
    except ValueError:
        return replace_code(patient, value, taken)

    def make(attempt: int) -> str:
        if isinstance(address, ipaddress.IPv4Address):
            return _ipv4(patient.keyed, address, attempt)
        return _ipv6(patient.keyed, address, "::" in shown, attempt)

    return first_free(lambda attempt: value.replace(value.strip(), make(attempt) + behind), value, taken)


#: An address, and the port, mask or zone after it, which identify nobody and are kept.
_ADDRESS: Final = re.compile(
    r"(?P<address>\d{1,3}(?:\.\d{1,3}){3})(?P<behind>:\d{1,5}|/\d{1,2})?|"
    r"(?P<six>[0-9a-f:.]{2,45})(?P<zone>(?:%\w{1,16})?(?:/\d{1,3})?)",
    re.I,
)


def _ipv4(keyed: Keyed, address: ipaddress.IPv4Address, attempt: int) -> str:
    octets = str(address).split(".")
    a, b, c = keyed.digest(f"ip/{attempt}", str(address))[:3]
    last = str(1 + c % 254)
    if octets[0] == "10":
        return f"10.{a}.{b}.{last}"
    if octets[0] == "172" and 16 <= int(octets[1]) < 32:
        return f"172.{16 + a % 16}.{b}.{last}"
    if octets[:2] == ["192", "168"]:
        return f"192.168.{b}.{last}"
    return ("192.0.2.", "198.51.100.", "203.0.113.")[a % 3] + last


def _ipv6(keyed: Keyed, address: ipaddress.IPv6Address, is_short: bool, attempt: int) -> str:
    """Return an address reserved for documentation (RFC 3849), with ``::`` if the original has it."""
    stream = keyed.stream(12, f"ip/{attempt}", address.exploded)
    groups = [f"{1 + int.from_bytes(stream[place : place + 2]) % 0xFFFF:x}" for place in range(0, 12, 2)]
    return f"2001:db8::{':'.join(groups[-3:])}" if is_short else f"2001:db8:{':'.join(groups)}"
