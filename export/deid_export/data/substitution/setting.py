"""Insert people into excerpts of real prose: annotated notes with as few names as in practice, new people each time.

The following varies: the person (:mod:`deid_export.data.substitution.persons`), the place (mentions in the prose, and
frames between its sentences), the form and case of the name, the case of the note, line ends, missing spaces, and
letters misread by a scanner. Sometimes a drug, device or eponym takes the place of a person. This contrast identifies
no one.
"""

import random
import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Final

from deid_export.data.gazetteers import Gazetteers
from deid_export.data.substitution.mentions import Mention
from deid_export.data.substitution.persons import Person, PersonDrawer
from deid_export.data.substitution.prose import Document
from deid_runtime.evaluation.layout import recased, wrapped
from deid_runtime.spans import Span

_GAP: Final = re.compile(r"\{([pkdPKD])\}")
_SENTENCE_END: Final = re.compile(r"(?<=[.!?]) |\n+")
_SCANNED: Final = (("rn", "m"), ("l", "1"), ("O", "0"), ("cl", "d"), ("I", "l"), ("e", "c"), ("S", "5"))


@dataclass(frozen=True, kw_only=True)
class SettingRates:
    """How often each change is made, as a share of notes, mentions or names."""

    clean: float = 0.22  # notes without a person
    frames: float = 0.5  # notes with frames: inserted sentences that name people
    same_person: float = 0.65  # mentions of the patient that name the same person
    contrast: float = 0.05  # mentions that get a drug, device or eponym
    lower_name: float = 0.22
    upper_name: float = 0.15
    misspelt: float = 0.07
    broken: float = 0.12  # names of several words with a line end between two words
    no_accents: float = 0.6
    upper_note: float = 0.07
    lower_note: float = 0.08
    wrapped_note: float = 0.18
    joined: float = 0.02  # spans that lose the space before them
    scanned: float = 0.03  # notes with misread letters


@dataclass(frozen=True, slots=True)
class SetNote:
    """An annotated excerpt. ``unsure`` stretches must be learnt neither as found nor as clean."""

    text: str = field(repr=False)
    spans: tuple[Span, ...]
    unsure: tuple[tuple[int, int], ...]


@cache
def frames() -> tuple[str, ...]:
    """Return the frames; the slots ``{p}`` ``{k}`` ``{d}`` take patient, kin and staff, in capitals the header form."""
    text = (resources.files("deid_export") / "data" / "substitution" / "frames.txt").read_text(encoding="utf-8")
    return tuple(line.replace("\\n", "\n") for line in text.splitlines() if line and not line.startswith("#"))


class PeopleSetter:
    """Make :class:`SetNote` from documents; every draw comes from ``rng``."""

    def __init__(
        self,
        documents: Sequence[Document],
        lists: Gazetteers,
        rng: random.Random,
        rates: SettingRates | None = None,
    ) -> None:
        self._documents = [document for document in documents if len(document.text) >= 60]
        self._sizes = [min(len(document.text), 6000) for document in self._documents]
        self._lists = lists
        self._rng = rng
        self._rates = rates or SettingRates()
        self._drawer = PersonDrawer(lists, rng)

    def note(self) -> SetNote:
        """Return the next note."""
        rng = self._rng
        while True:
            [document] = rng.choices(self._documents, self._sizes)
            is_clean = rng.random() < self._rates.clean
            start, end = self._excerpt(document, is_clean)
            edges = [*document.unsure, *((span.start, span.end) for span in document.spans)]
            if not any(first < edge < last for first, last in edges for edge in (start, end)):
                break
        builder = _Builder(document, start, end)
        if not is_clean:
            self._set_people(builder)
        note = builder.build(lambda before: rng.random() < self._rates.joined and before[-2:-1].isalnum())
        return self._laid_out(note)

    def _excerpt(self, document: Document, is_clean: bool) -> tuple[int, int]:
        """Return the bounds of an excerpt of 30 to 260 words that ends at spaces; around a mention if possible."""
        rng, text = self._rng, document.text
        size = int(200 * 8 ** rng.random())
        if document.mentions and not is_clean:
            weights = [4 if mention.role in ("kin", "staff", "titled") else 1 for mention in document.mentions]
            [mention] = rng.choices(document.mentions, weights)
            start = max(0, mention.start - rng.randrange(size))
        else:
            start = rng.randrange(max(1, len(text) - size))
        end = min(len(text), start + size)
        while start > 0 and not text[start - 1].isspace():
            start -= 1
        while end < len(text) and not text[end].isspace():
            end += 1
        return start, end

    def _set_people(self, builder: "_Builder") -> None:
        rng = self._rng
        patient = self._drawer.any()
        free = builder.free_mentions()
        if free:
            count = min(len(free), rng.choice((1, 1, 1, 2, 2, 3, 4, 6)))
            weights = [4.0 if mention.role in ("kin", "staff", "titled") else 1.0 for mention in free]
            chosen = {id(m): m for m in rng.choices(free, weights, k=count)}.values()
            for mention in chosen:
                is_patient = mention.role == "patient"
                person = patient if is_patient and rng.random() < self._rates.same_person else self._drawer.any()
                if is_patient and rng.random() < self._rates.contrast:
                    builder.set_words(mention, self._term())
                else:
                    builder.set_name(mention, "DOCTOR" if mention.role == "staff" else "PATIENT", self.written(person))
        if not free or rng.random() < self._rates.frames:
            for _ in range(rng.choice((1, 1, 2, 3))):
                builder.insert(self._framed(patient), rng)

    def _framed(self, patient: Person) -> list[tuple[str, str]]:
        """Return a frame as a list of (label or empty, text)."""
        rng = self._rng
        pieces: list[tuple[str, str]] = []
        at = 0
        frame = rng.choice(frames())
        for gap in _GAP.finditer(frame):
            pieces.append(("", frame[at : gap.start()]))
            who = patient if gap[1] in "pP" and rng.random() < self._rates.same_person else self._drawer.any()
            name = self.header_form(who) if gap[1].isupper() and rng.random() < 0.7 else self.written(who)
            pieces.append(("DOCTOR" if gap[1] in "dD" else "PATIENT", name))
            at = gap.end()
        pieces.append(("", frame[at:]))
        return pieces

    # Names -----------------------------------------------------------------------------------------------------------

    def written(self, person: Person) -> str:
        """Return a name in a form of running text."""
        rng = self._rng
        given, family, middle = person.given, person.family, person.middle
        roll = rng.random()
        if person.family_first and roll < 0.55:
            name = f"{family} {given}"
        elif roll < 0.44:
            name = f"{given} {family}"
        elif roll < 0.49:
            name = f"{given} {middle[0]}. {family}"
        elif roll < 0.52:
            name = f"{given} {middle} {family}"
        elif roll < 0.54:
            name = f"{given} {family}-{self._drawer.any().family}"
        elif roll < 0.56:
            name = f"{given} {self._drawer.any().family} {family}"
        elif roll < 0.74:
            name = given
        elif roll < 0.85:
            name = family
        elif roll < 0.89:
            name = f"{family}, {given}"
        elif roll < 0.93:
            name = f"{given[0]}. {family}"
        elif roll < 0.95:
            name = f"{given[0]} {family}"
        elif roll < 0.97:
            name = f"{given} {family[0]}."
        elif roll < 0.98:
            name = f"{family} {given[0]}"
        else:
            name = f"{given[0]}.{family[0]}." if rng.random() < 0.5 else f"{given[0]}{family[0]}"
        return self._spelt(name)

    def header_form(self, person: Person) -> str:
        """Return a name in a form of headers and signatures: in full, often with the family name first."""
        rng = self._rng
        name = rng.choice(
            (
                f"{person.family}, {person.given}",
                f"{person.family}, {person.given} {person.middle[0]}",
                f"{person.family},{person.given}",
                f"{person.given} {person.family}",
                f"{person.given} {person.middle[0]}. {person.family}",
                f"{person.given[0]}. {person.family}",
            )
        )
        return self._spelt(name)

    def _spelt(self, name: str) -> str:
        rng, rates = self._rng, self._rates
        if not name.isascii() and rng.random() < rates.no_accents:
            name = _without_accents(name)
        if len(name) > 5 and rng.random() < rates.misspelt:
            at = rng.randrange(1, len(name) - 1)
            if name[at].isalpha():
                slip = rng.choice(("", name[at] * 2, rng.choice("aeiourstnl"), name[at + 1] + name[at]))
                name = name[:at] + slip + name[at + (2 if len(slip) == 2 and slip[1] == name[at] else 1) :]
        roll = rng.random()
        if roll < rates.lower_name:
            name = name.lower()
        elif roll < rates.lower_name + rates.upper_name:
            name = name.upper()
        blanks = [at for at, char in enumerate(name) if char == " "]
        if blanks and rng.random() < rates.broken:
            at = rng.choice(blanks)
            name = name[:at] + rng.choice(("\n", "\n", "\n", "\n  ", " \n")) + name[at + 1 :]
        return " ".join(name.split(" ")) if name.strip() else "X"

    def _term(self) -> str:
        rng = self._rng
        term = rng.choice(rng.choice((self._lists.drugs, self._lists.devices, self._lists.eponyms)))
        return term.title() if term.islower() and rng.random() < 0.6 else term

    # The page --------------------------------------------------------------------------------------------------------

    def _laid_out(self, note: SetNote) -> SetNote:
        rng, rates = self._rng, self._rates
        text = note.text
        roll = rng.random()
        if roll < rates.upper_note:
            text = recased(text, str.upper)
        elif roll < rates.upper_note + rates.lower_note:
            text = recased(text, str.lower)
        if rng.random() < rates.wrapped_note:
            text = wrapped(text, rng.randrange(60, 121))
        if rng.random() < rates.scanned:
            text = self._scanned(text)
        return SetNote(text, note.spans, note.unsure)

    def _scanned(self, text: str) -> str:
        """Misread single letters; every character keeps its offset."""
        chars = list(text)
        for index, char in enumerate(chars):
            if self._rng.random() < 0.02:
                for right, wrong in _SCANNED:
                    if len(right) == len(wrong) == 1 and char == right:
                        chars[index] = wrong
        return "".join(chars)


class _Builder:
    """An excerpt with its planned changes; builds the new text and its spans from left to right."""

    def __init__(self, document: Document, start: int, end: int) -> None:
        self._document, self._start, self._end = document, start, end
        self._changes: list[tuple[int, int, list[tuple[str, str]]]] = []
        for span in document.spans:
            if start <= span.start and span.end <= end:
                self._changes.append((span.start, span.end, [(span.label, document.text[span.start : span.end])]))

    def free_mentions(self) -> list[Mention]:
        """Return the mentions inside the excerpt that touch no identifier; those after a title may touch one."""
        taken = [(start, end) for start, end, _ in self._changes]
        unsure = list(self._document.unsure)
        return [
            mention
            for mention in self._document.mentions
            if self._start <= mention.start
            and mention.end <= self._end
            and (
                mention.role == "titled"
                or not any(start < mention.end and mention.start < end for start, end in (*taken, *unsure))
            )
        ]

    def set_name(self, mention: Mention, label: str, name: str) -> None:
        """Replace a mention by a name."""
        self._changes = [c for c in self._changes if not (c[0] < mention.end and mention.start < c[1])]
        pieces = [(label, name)]
        if mention.possessive:
            pieces.append(("", "'s" if not name.isupper() else "'S"))
        self._changes.append((mention.start, mention.end, pieces))

    def set_words(self, mention: Mention, words: str) -> None:
        """Replace a mention by words that identify no one."""
        self._changes.append((mention.start, mention.end, [("", words + ("'s" if mention.possessive else ""))]))

    def insert(self, pieces: list[tuple[str, str]], rng: random.Random) -> None:
        """Insert a frame between two sentences, or at either end, on its own line or not."""
        text = self._document.text
        ends = [match.end() for match in _SENTENCE_END.finditer(text, self._start, self._end)]
        places = [at for at in ends if not any(start < at < end for start, end, _ in self._changes)]
        roll = rng.random()
        at = self._start if roll < 0.2 or not places else self._end if roll < 0.35 else rng.choice(places)
        if any(start < at < end for start, end in self._document.unsure):
            return
        before, behind = rng.choice((("", " "), ("", " "), ("", "\n"), ("\n", "\n"), ("\n\n", "\n\n")))
        if at == self._end:
            before, behind = rng.choice((" ", "\n", "\n\n")), ""
        self._changes.append((at, at, [("", before), *pieces, ("", behind)]))

    def build(self, loses_blank: Callable[[str], bool]) -> SetNote:
        """Return the note with all changes made."""
        text = self._document.text
        parts: list[str] = []
        spans: list[Span] = []
        unsure: list[tuple[int, int]] = []
        length = 0
        at = self._start

        def copy(end: int) -> None:
            nonlocal length
            for first, last in self._document.unsure:
                if first < end and at < last:
                    unsure.append((length + max(first, at) - at, length + min(last, end) - at))
            parts.append(text[at:end])
            length += end - at

        for start, end, pieces in sorted(self._changes, key=lambda change: change[:2]):
            if start < at:
                continue
            copy(start)
            for label, piece in pieces:
                if label and parts and parts[-1].endswith(" ") and loses_blank(parts[-1]):
                    parts[-1] = parts[-1][:-1]
                    length -= 1
                if label:
                    spans.append(Span(length, length + len(piece), label))
                parts.append(piece)
                length += len(piece)
            at = end
        copy(self._end)
        whole = "".join(parts)
        lead = len(whole) - len(whole.lstrip())
        kept = tuple(span.shift(-lead) for span in spans if span.start >= lead)
        return SetNote(whole[lead:], kept, tuple((a - lead, b - lead) for a, b in unsure if a >= lead))


def _without_accents(name: str) -> str:
    plain = unicodedata.normalize("NFKD", name)
    return "".join(char for char in plain if not unicodedata.combining(char)) or name
