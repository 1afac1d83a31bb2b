"""Clinical text without identifiers, against false alarms: screened sentences, and carriers for medical names.

Public transcription samples hold stray names and dates, so a sentence is only taken when every word of it is known to
be common or medical English and nothing in it has the form of an identifier.
"""

import gzip
import json
import random
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from deid_export.gazetteers import Gazetteers
from deid_runtime.errors import SourceError
from deid_runtime.sentences import split_sentences

_SUSPECT = re.compile(
    r"\b(?:Drs?|Mr|Mrs|Ms|Miss|Prof|MD|RN|aged?|year|yr|y/?o|sample|abc|xyz|street|avenue|hospital|clinic|cent(?:er|re)|university|"
    r"january|february|march|april|may|june|july|august|september|october|november|december|"
    r"jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec|"
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?|christmas|thanksgiving|easter|"
    r"county|city|states?|named?|called|room|floor|ward)\b"
    r"|\d{4,}|\d+[/-]\d+[/-]\d+|[#@*_<>\[\]]|\bX{2,}|\d{3}-\d|years?[- ]old",
    re.IGNORECASE,
)
_KIN = (
    r"mother|father|mom|mum|dad|parents?|brothers?|sisters?|siblings?|sons?|daughters?|child(?:ren)?|husband|wife|spouse|"
    r"aunts?|uncles?|cousins?|grand\w+|nieces?|nephews?|twins?|paternal|maternal"
)
#: Ages of people, and dates of two numbers that stand where no fraction would: a model that learns them as clean text
#: learns to miss them.
_IDENTIFIES = re.compile(
    rf"""\bages?\W{{0,2}}\d
    | \d\W{{0,2}}(?:day|week|wk|month|mo|year|yr)s?\W{{0,2}}olds?\b
    | \dy/?o\b
    | \b(?:his|her|their|mid|early|late)\W{{1,2}}(?:(?:mid|early|late)\W)?\d0'?s\b
    | \b(?:{_KIN}|died)\b.{{0,80}}?(?<![\d.])\d{{1,3}}(?!\d|[.]\d|%)
    | \b0\d/\d{{1,2}}\b | \b\d{{1,2}}/0\d\b | \(\d{{1,2}}/\d{{1,2}}\) | ^\d{{1,2}}/\d{{2}}:
    | \b(?:in|on|since|until)\s\d{{1,2}}/\d{{2}}\b""",
    re.IGNORECASE | re.VERBOSE,
)
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")

LONE_LINES = 0.35  # of the texts: one carrier and nothing else

#: Sentences with a gap for an eponym, drug, device, laboratory test or phrase, none of them an identifier.
CARRIERS = {
    "eponyms": (
        "History of {x}.",
        "{x} was negative.",
        "Exam notable for {x}, otherwise unremarkable.",
        "No evidence of {x}.",
        "Pt with known {x}, stable on current regimen.",
        "Assessment: {x}",
        "{x} positive on the left.",
        "Consider {x} in the differential.",
        "- {x}, chronic",
        "Family history: {x} in a sibling.",
        "She was diagnosed with {x} last year.",
        "PMH: HTN, {x}, GERD",
        "{x}",
        "{x} noted.",
        "Neuro: {x} absent",
        "r/o {x}",
        "?{x}",
        "{x} - resolved",
        "- {x}",
        "Dx: {x}",
        "Likely {x}, less likely infection.",
        "Findings consistent with {x}.",
        "{x} score 4, low risk",
        "Discussed {x} with the team on rounds.",
        "4. {x}.",
        "Scheduled for {x} repair under general anesthesia.",
        "{x} grade 2",
        "Signs: {x} neg, edema 1+",
        "The patient underwent {x} without complication.",
        "She has had {x} since childhood.",
        "IMPRESSION: {x} of the right side.",
    ),
    "drugs": (
        "{x} 10 mg PO daily",
        "Continue {x} and recheck labs in 2 weeks.",
        "Started on {x} with good response.",
        "Allergies: {x} (rash)",
        "{x} 50mg BID #60 no refills",
        "Held {x} this morning due to low pressure.",
        "1. {x} 20 mg qhs",
        "Pt stopped taking {x} because of nausea.",
        "Meds: {x}, aspirin, metformin",
        "{x} PRN for pain",
        "Switched from {x} to a generic.",
        "{x}",
        "{x}.",
        "- {x} 40 mg",
        "{x}, {y}, {z}",
        "d/c {x}",
        "{x} was increased.",
        "{x} held, {y} continued",
        "Rx: {x} 5 mg tab, 1 po q6h prn",
        "He is on {x} and {y}.",
        "Intolerant of {x}.",
        "Will try {x} next.",
        "{x} trough pending",
        "Loaded with {x} in the ED.",
        "3. {x} 0.5 mg nightly.",
        "Current medications include {x}, {y} and vitamin D.",
        "ALLERGIES: {x}.",
        "{x} infusion at 10 mL/hr",
        "Last dose of {x} at 0800",
        "Ran out of {x}, needs refill",
        "{x} drops, one in each eye",
    ),
    "devices": (
        "{x} was placed without difficulty.",
        "{x} removed at bedside.",
        "{x} in place, draining well.",
        "Secured with {x}.",
        "The {x} was inflated and position confirmed.",
        "Home equipment: {x}",
        "{x} applied to the right leg.",
        "{x}",
        "{x} intact",
        "- {x}",
        "w/ {x}",
        "{x} x2",
        "{x} changed, site clean",
        "Supplies: {x}, gauze",
        "Uses {x} at home.",
        "The wound was closed over a {x}.",
        "{x} set to low suction",
        "Fitted with {x}.",
    ),
    "labs": (
        "{x} 4.2",
        "{x} within normal limits",
        "Repeat {x} tomorrow.",
        "{x}: 12.4 (H)",
        "Pending: {x}",
        "{x} trending down",
        "Check {x} and CMP.",
        "{x}",
        "{x} neg",
        "{x} sent",
        "{x} and {y} unremarkable",
        "{x} up from 2.1",
    ),
    "phrases": (
        "{x}.",
        "Impression: {x}",
        "1. {x}",
        "Denies {x}.",
        "{x}, improved",
        "Status post {x}.",
        "Evaluate for {x}",
        "{x}",
        "- {x}",
        "{x} and {y}.",
        "h/o {x}",
        "No {x}, no {y}.",
    ),
}


def screened_sentences(paths: Sequence[Path], lists: Gazetteers) -> list[list[str]]:
    """Return, per source text, its sentences without identifiers; ``paths`` are ``.jsonl.gz`` with text or note.

    Raises SourceError for a file that holds neither.
    """
    known = set(lists.common_words)
    for values in (lists.drugs, lists.devices, lists.eponyms, lists.labs, lists.phrases):
        for value in values:
            known.update(word.lower() for word in _WORD.findall(value))
    kept: list[list[str]] = []
    for path in paths:
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                row = json.loads(line)
                text = row.get("text") or row.get("note")
                if not isinstance(text, str):
                    raise SourceError(f"{path}: expected JSON lines with a text or note")
                clean = [s for s in _sentences(text) if _is_clean(s, known)]
                if clean:
                    kept.append(clean)
    return kept


def _sentences(text: str) -> Iterator[str]:
    for sentence in split_sentences(text):
        yield text[sentence.start : sentence.end].strip()


def _is_clean(sentence: str, known: set[str]) -> bool:
    if not 3 <= len(sentence) <= 400 or _SUSPECT.search(sentence) or not identifies_nobody(sentence):
        return False
    words = [word.lower() for word in _WORD.findall(sentence)]
    return all(len(w) == 1 or w in known or re.sub(r"['’]s$", "", w) in known for w in words)


def identifies_nobody(sentence: str) -> bool:
    """Say whether a sentence is free of ages of people and of dates that can be nothing else."""
    return _IDENTIFIES.search(sentence) is None


def carrier_sentence(lists: Gazetteers, rng: random.Random) -> str:
    """Return one invented sentence with a medical name in it, in a case as clinicians write."""
    kind = rng.choices(list(CARRIERS), weights=(4, 4, 2, 2, 2))[0]
    terms = {}
    for gap in "xyz":
        term = rng.choice(getattr(lists, kind))
        if term.islower() and kind in {"drugs", "phrases"} and rng.random() < 0.5:
            term = term.title() if kind == "drugs" else term[0].upper() + term[1:]
        terms[gap] = term
    sentence = rng.choice(CARRIERS[kind]).format(**terms)
    roll = rng.random()
    return sentence.upper() if roll < 0.12 else sentence.lower() if roll < 0.24 else sentence


def negative_text(pool: Sequence[Sequence[str]], lists: Gazetteers, rng: random.Random) -> str:
    """Return clean clinical text: a run of one source's sentences with carriers among them, or one line alone.

    Lone lines are met in lists and forms, and with nothing around a name of a drug looks like any other name.
    """
    if rng.random() < LONE_LINES:
        return carrier_sentence(lists, rng)
    source = rng.choice(pool)
    start = rng.randrange(len(source))
    lines: list[str] = []
    for sentence in source[start : start + rng.randrange(4, 14)]:
        if rng.random() < 0.25:
            lines.append(carrier_sentence(lists, rng))
        lines.append(sentence)
    text = lines[0]
    for line in lines[1:]:
        text += rng.choice((" ", " ", "\n", "\n\n")) + line
    roll = rng.random()
    return text.upper() if roll < 0.06 else text.lower() if roll < 0.1 else text
