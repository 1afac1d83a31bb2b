"""Match templates: whole sentences of a fixed form with typed slots, as machines write them.

    Electronically signed by[:] {DOCTOR}[,] {credential} on {DATE} at {time}

A template applies only when it matches the whole sentence. Then its slots are final and no model reads the sentence.
The file is UTF-8, one template a line; blank lines and lines that start with ``#`` are skipped. Syntax of a line:

==================  ====================================================================================
``{LABEL}``         an identifier of that label, in a form given by :data:`_IDENTIFIERS`
``{name}``          something else, in a form given by :data:`FREE_SLOTS`: ``{time}``, ``{number}``, ``{credential}``
``{number:2}``      a whole number of exactly two digits; ``{number:1-3}`` of one to three
``[a|b]``           one of these, or nothing
``(a|b)``           one of these
white space         white space; optional beside punctuation and brackets
full stop           optional at the end of the sentence
``\\``               takes the next character literally
anything else       itself, in any case
==================  ====================================================================================

Every slot matches a bounded number of words, and words are matched without backtracking, so the time is linear in the
length of the sentence. Templates are looked up by their first word. A template that starts with a slot is looked up by
the longest word that every match contains, or else tried on every sentence.

When a line begins with a name, any capitalised words could match it ("Office Visit Note DOB ..."). So one of them must
be a listed name, or a credential must follow.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from deid_runtime.detectors.line_files import read_lines
from deid_runtime.errors import SettingsError
from deid_runtime.labels import LABELS
from deid_runtime.lexicon.calendar_words import (
    ENGLISH,
    ENGLISH_FOUR_LETTERS,
    ENGLISH_SHORT,
    MONTHS,
    WEEKDAY_NAMES,
    weekday_words,
)
from deid_runtime.lexicon.name_cues import fold, is_listed_name, is_ordinary
from deid_runtime.lexicon.vocabulary import alternation, dotted_credentials, kin, particles, with_stops
from deid_runtime.spans import Span
from deid_runtime.text.regexes import compiled

#: Longer sentences are never matched, because a template describes one line.
MAX_SENTENCE_CHARS: Final = 400

_CREDENTIAL: Final = rf"(?:{with_stops(dotted_credentials('template'))})"
# A name word starts with a capital and ends with a letter or the full stop of an initial. It is not a title or rank,
# nor a word for the owner of a date or number ("Mother DOB").
_NOT_A_NAME: Final = (
    rf"(?!(?:{_CREDENTIAL}|Dr|Mr|Mrs|Ms|Resident|Attending|Physician|Doctor|Nurse|Fellow|Intern|Service|Department|Dept|"
    r"Clinic|Hospital|Center|Centre|Unit|Team|Lab|Laboratory|System|Automated|Interface|Unknown|None|Pending|Self|On|At|"
    r"Sincerely|Regards|Respectfully|Cordially|Thanks|Thank|Yours|Best|Kind|Warm|Dear|Date|Time|Signed|Page|The|This|Staff|Provider|Transcription|Transcriptionist|Pharmacy|Radiology|Pathology|Medicine|"
    r"Surgery|Cardiology|Neurology|Oncology|Psychiatry|Pediatrics|Phone|Fax|Tel|MRN|DOB|Sex|Age|Room|Bed|"
    r"Patient|Pt|Client|Member|Subscriber|Insured|Policyholder|Claimant|Applicant|Employee|Student|Caller|Donor|Recipient|"
    rf"{alternation(map(str.title, kin('no-name')))}|Neonate|Fetus|"
    r"Maternal|Paternal|Name|Chart|Record|Account|Acct|Verified|"
    r"Confirmed|Reported|Correct|Wrong)(?![^\W\d_]))"
)
_NAME_WORD: Final = rf"{_NOT_A_NAME}(?:[^\W\d_a-z]\.|[^\W\d_a-z](?:[^\W\d_]|['\u2019-](?=[^\W\d_]))*+)"
_PARTICLE: Final = rf"(?:(?:{alternation(particles('template'))})[ ]|d['\u2019])"
_NAME_PART: Final = rf"(?:{_PARTICLE}?+{_NAME_WORD})"
_SUFFIX: Final = r"(?:,? (?:Jr|Sr)\.?| (?:II|III|IV))?"
_NAME: Final = rf"{_NAME_PART}(?:(?: {_NAME_PART}){{0,4}}|, ?{_NAME_PART}(?: {_NAME_PART}){{0,2}}){_SUFFIX}"
_CAPITALISED: Final = r"(?:[^\W\d_a-z][\w'\u2019.&-]*+|\d{1,4}+(?:st|nd|rd|th)?+|of|the|and|for|at|in|&)"
_PLACE: Final = rf"[^\W\d_a-z][\w'\u2019.-]*+(?: {_CAPITALISED}){{0,6}}"
_MONTH: Final = rf"(?:{alternation({*MONTHS[ENGLISH], *MONTHS[ENGLISH_SHORT], *MONTHS[ENGLISH_FOUR_LETTERS]})})\.?"
_DAY_STEMS: Final = alternation(
    map(str.title, {*(name[:-3] for name in WEEKDAY_NAMES), *weekday_words("short"), "thur"})
)
_WEEKDAY: Final = rf"(?:(?:{_DAY_STEMS})(?:day)?[.,]? )"
_DAY_MONTH: Final = r"(?:(?:0?[1-9]|1[0-2])/(?:0?[1-9]|[12]\d|3[01])|(?:1[3-9]|2\d|3[01])/(?:0?[1-9]|1[0-2]))"
_DATE: Final = (
    rf"{_WEEKDAY}?(?:\d{{1,2}}[/.-]\d{{1,2}}[/.-](?:\d{{4}}|\d{{2}})|\d{{4}}[/.-]\d{{1,2}}[/.-]\d{{1,2}}|{_DAY_MONTH}|"
    rf"{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?(?:,? \d{{4}})?|\d{{1,2}}[ -]{_MONTH}(?:[ -](?:\d{{4}}|\d{{2}}))?|"
    rf"{_MONTH},? \d{{4}})"
)
_PHONE: Final = r"(?:\+?1[-. ])?(?:\(\d{3}\) ?|\d{3}[-. /])?\d{3}[-. ]\d{4}|\+\d{1,3}(?: \d{2,5}){2,4}|\d{10}"
_ID: Final = r"(?=[A-Za-z-]*\d)[A-Za-z0-9](?:[A-Za-z0-9]|[-/.#](?=[A-Za-z0-9])){2,29}+"

_NAMES: Final = frozenset({"PATIENT", "DOCTOR"})
_IDENTIFIERS: Final[dict[str, str]] = dict.fromkeys(LABELS, _ID) | {
    "PATIENT": _NAME,
    "DOCTOR": _NAME,
    "USERNAME": r"[A-Za-z]{1,12}+\d{0,6}+",
    "AGE": r"\d{1,3}",
    "DATE": _DATE,
    "PHONE": _PHONE,
    "FAX": _PHONE,
    "EMAIL": r"[\w.+-]{1,64}+@[\w-]{1,63}+(?:\.[\w-]{1,63}+){1,5}+",
    "URL": r"(?:https?://|www\.)[^\s,;]{1,200}+",
    "IPADDR": r"\d{1,3}(?:\.\d{1,3}){3}",
    "SSN": r"(?:\d{3}|[Xx*]{3})-(?:\d{2}|[Xx*]{2})-\d{4}|\d{9}",
    "STREET": rf"\d{{1,6}}+[A-Z]?(?: {_CAPITALISED}){{1,6}}(?:,? (?:Apt|Suite|Ste|Unit|#)\.? ?[\w-]{{1,6}})?",
    "CITY": r"[^\W\d_a-z][^\W\d_'\u2019.-]*+(?:[ -][^\W\d_a-z][^\W\d_'\u2019.-]*+){0,3}",
    "STATE": r"[A-Z]{2}|[A-Z][a-z]{3,12}(?: [A-Z][a-z]{3,9})?",
    "COUNTRY": r"[A-Z][A-Za-z]{1,20}(?: [A-Z][a-z]{1,15}){0,3}",
    "ZIP": r"\d{5}(?:-\d{4})?|[A-Z]\d[A-Z] ?\d[A-Z]\d|[A-Z]{1,2}\d[A-Z\d]? \d[A-Z]{2}",
    "HOSPITAL": _PLACE,
    "ORGANIZATION": _PLACE,
    "LOCATION-OTHER": r"[A-Z0-9](?:[\w-]{0,7}+(?: [\w-]{1,8}){0,2})",
}

#: Name -> form of the slots that are not identifiers. No form matches arbitrary words: they might be
#: a name, and no model reads a sentence that a template explains.
FREE_SLOTS: Final[dict[str, str]] = {
    "time": (
        r"(?:\d{1,2}:\d{2}(?::\d{2})?+|\d{4}|\d{1,2}(?= ?[AaPp]))(?: ?[AaPp]\.?[Mm]\.?| ?hrs?| ?h)?"
        r"(?: ?(?:[ECMP][SD]?T|UTC|GMT))?"
    ),
    # Unlike {time}, never four digits or a lone number, which may be a year or an age.
    "clock": r"\d{1,2}:\d{2}(?::\d{2})?+(?: ?[AaPp]\.?[Mm]\.?| ?hrs?)?(?: (?:[ECMP][SD]?T|UTC|GMT))?",
    "number": r"\d{1,9}(?:[.,]\d{1,6})?",
    "credential": rf"{_CREDENTIAL}(?:,? {_CREDENTIAL}){{0,4}}",
    "sex": r"(?i:male|female|man|woman|m|f|x)",
}
#: Slots for numbers with a given count of digits, ``{number:2}`` and ``{number:1-3}``.
_NUMBER: Final = re.compile(r"number:([1-9])(?:-([1-9]))?")


@dataclass(frozen=True, slots=True)
class Template:
    """One template. ``labels`` has the label of each group of ``pattern``; ``first`` the first words.

    ``parts`` are folded words and marks that a match contains: all of one set from each group of sets. To look for
    them is cheaper than to compile the pattern.
    """

    pattern: str
    labels: tuple[str, ...]
    first: frozenset[str] | None  # folded; None: any word
    anchor: str = ""  # folded word in every match, used when ``first`` is None; empty: none
    needs_listed_name: bool = False  # begins with a name slot, without other evidence for a name
    parts: tuple[tuple[frozenset[str], ...], ...] = ()


class Templates:
    """The templates of a file. ``sha256`` is the digest of the file, ``len()`` the number of templates."""

    def __init__(self, templates: Sequence[Template], sha256: str = "") -> None:
        self.sha256 = sha256
        self._templates = tuple(templates)
        self._by_first: dict[str, list[int]] = {}
        self._by_anchor: dict[str, list[int]] = {}
        self._anywhere: list[int] = []
        for number, template in enumerate(templates):
            if template.first is not None:
                for word in template.first:
                    self._by_first.setdefault(word, []).append(number)
            elif template.anchor:
                self._by_anchor.setdefault(template.anchor, []).append(number)
            else:
                self._anywhere.append(number)

    def __len__(self) -> int:
        return len(self._templates)

    def match(self, sentence: str) -> list[Span] | None:
        """Return the slots of the first template that matches the whole sentence, or None.

        Offsets are those of ``sentence``; white space around it is ignored. The list may be empty: a template without
        an identifier matched.
        """
        return next((spans for _, spans in self.matches(sentence)), None)

    def matches(self, sentence: str) -> Iterator[tuple[int, list[Span]]]:
        """Yield the number (from 0) and the slots, as in :meth:`match`, of every template that matches.

        Templates found by their first word come first, then the others; both groups in the order of the file.
        """
        if len(sentence) > MAX_SENTENCE_CHARS:
            return
        start = len(sentence) - len(sentence.lstrip())
        end = len(sentence.rstrip())
        folded = sentence.casefold()
        for number in self._candidates(sentence, start):
            template = self._templates[number]
            if not all(any(all(part in folded for part in parts) for parts in group) for group in template.parts):
                continue
            match = compiled(template.pattern).fullmatch(sentence, start, end)
            if match is not None and not (template.needs_listed_name and not _holds_listed_name(match[1])):
                yield (
                    number,
                    [
                        Span(match.start(group), match.end(group), label, sources=("template",))
                        for group, label in enumerate(template.labels, 1)
                        if match[group]
                    ],
                )

    def _candidates(self, sentence: str, start: int) -> Iterator[int]:
        first = _FIRST_WORD.match(sentence, start)
        if first:
            yield from self._by_first.get(first[0].casefold(), ())
        if self._by_anchor:
            words = {word.casefold() for word in _WORDS.findall(sentence)}
            anchored = [number for word in words & self._by_anchor.keys() for number in self._by_anchor[word]]
            yield from sorted(anchored + self._anywhere)
        else:
            yield from self._anywhere


def _holds_listed_name(name: str) -> bool:
    return any(is_listed_name(word) and not is_ordinary(word) for word in map(fold, _WORDS.findall(name)))


_FIRST_WORD: Final = re.compile(r"\w+|[^\w\s]")
_WORDS: Final = re.compile(r"\w+")
_PIECE: Final = re.compile(
    r"\\(?P<escaped>.)|\{(?P<slot>[^{}]*)\}|(?P<mark>[\[\]()|{}\\])|(?P<space>\s+)|(?P<text>\w+|.)"
)
_CLOSING: Final = {"[": "]", "(": ")"}


@dataclass(frozen=True, slots=True)
class _Fixed:
    text: str


@dataclass(frozen=True, slots=True)
class _Slot:
    name: str


@dataclass(frozen=True, slots=True)
class _Space:
    pass


@dataclass(frozen=True, slots=True)
class _Choice:
    branches: tuple[tuple["_Node", ...], ...]
    is_optional: bool


_Node = _Fixed | _Slot | _Space | _Choice


def compile_template(source: str) -> Template:
    """Compile one line of a template file.

    Raises SettingsError for a malformed line; the message has no file and line number.
    """
    pieces = iter(_PIECE.finditer(source.strip()))
    nodes = _parse(pieces, closing="")[0]
    labels: list[str] = []
    pattern = _pattern(nodes, labels)
    first, may_be_empty = _first_words(nodes)
    if may_be_empty or [type(node) for node in nodes] == [_Slot]:
        raise SettingsError(
            "the template is too general; it needs a literal word or a second slot that is not optional"
        )
    opening = nodes[0]
    needs_listed_name = isinstance(opening, _Slot) and opening.name in _NAMES and "{credential}" not in source
    anchor = "" if first else _anchor(nodes)
    return Template(pattern + r"\.?", tuple(labels), first, anchor, needs_listed_name, _parts(nodes))


def escape(text: str) -> str:
    """Return ``text`` escaped, so that a template matches it literally."""
    return re.sub(r"[\[\]()|{}\\]|^#", r"\\\g<0>", text)


def _parse(pieces: Iterator[re.Match[str]], closing: str) -> tuple[tuple[_Node, ...], ...]:
    """Parse branches up to the bracket ``closing``, or to the end when ``closing`` is empty."""
    branches: list[list[_Node]] = [[]]
    for piece in pieces:
        kind = piece.lastgroup or ""
        token = piece[kind]
        if kind == "space":
            branches[-1].append(_Space())
        elif kind == "slot":
            branches[-1].append(_Slot(token))
        elif kind != "mark":
            branches[-1].append(_Fixed(token))
        elif token in _CLOSING:
            branches[-1].append(_Choice(_parse(pieces, _CLOSING[token]), is_optional=token == "["))
        elif token == "|" and closing:
            branches.append([])
        elif token == closing:
            return tuple(tuple(branch) for branch in branches)
        else:
            raise SettingsError(
                f"stray {token!r} at character {piece.start() + 1}; write \\{token} for the character itself"
            )
    if closing:
        raise SettingsError(f"a bracket is not closed; expected {closing!r}")
    return (tuple(branches[0]),)


def _pattern(nodes: Sequence[_Node], labels: list[str]) -> str:
    """Return the regular expression of ``nodes``, and add the label of each group it opens to ``labels``."""
    parts: list[str] = []
    for at, node in enumerate(nodes):
        if isinstance(node, _Fixed):
            parts.append(f"(?i:{re.escape(node.text)})")
        elif isinstance(node, _Slot):
            parts.append(_slot_pattern(node.name, labels))
        elif isinstance(node, _Choice):
            branches = "|".join(_pattern(branch, labels) for branch in node.branches)
            parts.append(f"(?:{branches})" + ("?" if node.is_optional else ""))
        else:
            is_needed = 0 < at < len(nodes) - 1 and _is_wordy(nodes[at - 1]) and _is_wordy(nodes[at + 1])
            parts.append(r"\s++" if is_needed else r"\s*+")
    return "".join(parts)


def _is_wordy(node: _Node) -> bool:
    return isinstance(node, _Slot) or (isinstance(node, _Fixed) and node.text[-1].isalnum())


def _slot_pattern(name: str, labels: list[str]) -> str:
    if name in _IDENTIFIERS:
        labels.append(name)
        return f"({_IDENTIFIERS[name]})"
    if name in FREE_SLOTS:
        return f"(?:{FREE_SLOTS[name]})"
    number = _NUMBER.fullmatch(name)
    if number is not None and number[1] <= (number[2] or number[1]):
        return rf"(?:\d{{{number[1]},{number[2] or number[1]}}}+)"
    raise SettingsError(
        f"unknown slot {{{name}}}; expected a label or one of {', '.join(sorted((*FREE_SLOTS, 'number:1-3')))}"
    )


def _first_words(nodes: Sequence[_Node]) -> tuple[frozenset[str] | None, bool]:
    """Return the folded words that a match can start with (None: any), and whether ``nodes`` can match nothing."""
    words: frozenset[str] = frozenset()
    for node in nodes:
        if isinstance(node, _Space):
            continue
        if isinstance(node, _Slot):
            return None, False
        if isinstance(node, _Fixed):
            return words | {node.text.casefold()}, False
        may_be_empty = node.is_optional
        for branch in node.branches:
            branch_words, branch_may_be_empty = _first_words(branch)
            if branch_words is None:
                return None, False
            words |= branch_words
            may_be_empty |= branch_may_be_empty
        if not may_be_empty:
            return words, False
    return words, True


def _anchor(nodes: Sequence[_Node]) -> str:
    """Return the longest folded word that is a separate word in every match; empty when there is none."""
    words = [""]
    for at, node in enumerate(nodes):
        if isinstance(node, _Fixed) and _WORDS.fullmatch(node.text):
            beside = (*nodes[max(0, at - 1) : at], *nodes[at + 1 : at + 2])
            if all(
                isinstance(other, _Space) or (isinstance(other, _Fixed) and not _is_wordy(other)) for other in beside
            ):
                words.append(node.text.casefold())
    return max(words, key=len)


def _parts(nodes: Sequence[_Node]) -> tuple[tuple[frozenset[str], ...], ...]:
    """Return the :attr:`Template.parts` of ``nodes``."""
    choices = [node for node in nodes if isinstance(node, _Choice) and not node.is_optional]
    return ((_fixed(nodes),), *(tuple(map(_fixed, node.branches)) for node in choices))


def _fixed(nodes: Sequence[_Node]) -> frozenset[str]:
    return frozenset(node.text.casefold() for node in nodes if isinstance(node, _Fixed))


def load_templates(path: Path | None) -> Templates:
    """Read and compile the file at ``path``; None reads the templates of the package.

    Raises SettingsError, with file and line, for a file that cannot be read and for a malformed template.
    """
    name = str(path or "templates.txt")
    lines, sha256 = read_lines(path, "templates.txt", "template file")
    templates: list[Template] = []
    for number, line in enumerate(lines, 1):
        if line.strip() and not line.lstrip().startswith("#"):
            try:
                templates.append(compile_template(line))
            except SettingsError as error:
                raise SettingsError(f"template file {name}, line {number}: {error}") from None
    return Templates(templates, sha256)
