"""Attackers who know our lists, our code or how surrogates repeat, and mark the words of names and places that look
least like surrogates.

The attacker has our code and the released text, with marks on everything that looks like an identifier, surrogate or
not. With a key of their own, the attacker replaces all marks of the release again. A word that the release has and
these surrogates lack is more likely an original. A maximum-entropy classifier (CRFsuite on sequences of one word)
learns the difference from other patients. Then the attacker marks as many words as there are leaks: those most like
originals.

An ``informed`` attacker also has the annotated originals of other patients, and learns from them instead of the
release: a worst case.

``code`` sees the traits of :func:`~deid_runtime.audit.traits.code_look`: a word that our code generates more rarely or
more often than it occurs, or that is not written like our surrogates. ``frequency`` sees those of
:func:`~deid_runtime.audit.traits.repeat_look`: values that are not repeated like surrogates.

``list`` learns nothing: it marks every word that is in none of our lists, with no limit on their number.
"""

import hashlib
import random
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

import numpy as np
import pycrfsuite

from deid_runtime.annotations.note import AnnotatedNote
from deid_runtime.audit.attack import Guesses, fold_of_patients
from deid_runtime.audit.marked_words import MarkedNote, MarkedWord, all_words, marked_words
from deid_runtime.audit.our_lists import lists_with
from deid_runtime.audit.plant import Released
from deid_runtime.audit.traits import Look, Traits, code_look, repeat_look
from deid_runtime.errors import SourceError
from deid_runtime.evaluation.tokens import label_tokens, token_offsets
from deid_runtime.resynthesis.notes import replace_spans
from deid_runtime.resynthesis.originals import patient_key
from deid_runtime.spans import PatientRecord, Span
from deid_runtime.surrogates import Surrogates

KnowingAttacker = Literal["code", "frequency"]

_OURS: Final = "surrogate"
_THEIRS: Final = "original"
_MOST_WORDS: Final = 200_000  # of each kind to learn from: limits time and memory
_LONGEST_SHORT: Final = 4  # letters of initials and abbreviations
_ITERATIONS: Final = 60
_L2: Final = 30.0  # the best of 0.3, 3, 30 and 200 on 1,500 training notes, for both attackers


@dataclass(frozen=True)
class Knowledge:
    """What an attacker learns from: traits of possible originals, and of surrogates made with an own key.

    ``look`` gives the traits of words. The rows are in the order of the notes that are attacked, so that no note is
    attacked with knowledge about its patient.
    """

    theirs: Traits = field(repr=False)
    ours: Traits = field(repr=False)
    look: Look = field(repr=False)


def gather_knowledge(
    attacker: KnowingAttacker, notes: Sequence[AnnotatedNote], records: Mapping[str, PatientRecord], *, seed: int
) -> Knowledge:
    """Return the knowledge of an attacker who has ``notes`` with their marks and makes surrogates with two own keys.

    The attacker learns from the surrogates of the first key, and counts those of the second key to estimate how
    often our code makes a word.
    """
    first, second = (hashlib.sha256(f"attacker {seed} {number}".encode()).digest() for number in (1, 2))
    theirs = [MarkedNote(patient_key(note), note.text, note.spans) for note in notes]
    ours = _replaced(notes, records, first)
    look = repeat_look if attacker == "frequency" else code_look(_replaced(notes, records, second))
    return Knowledge(look(theirs), look(ours), look)


def as_marked(released: Sequence[Released]) -> list[AnnotatedNote]:
    """Return a release as an outsider sees it: both surrogates and leaks are marks."""
    return [
        AnnotatedNote(note.id, note.patient, "", note.text, tuple(sorted((*note.surrogates, *note.leaks))))
        for note in released
    ]


def _replaced(notes: Sequence[AnnotatedNote], records: Mapping[str, PatientRecord], key: bytes) -> list[MarkedNote]:
    surrogates = Surrogates(key)
    made = (replace_spans(note, note.spans, surrogates, records.get(note.patient), ()) for note in notes)
    return [MarkedNote(patient_key(note), note.text, note.spans) for note in made]


def attack_knowing(
    released: Sequence[Released], knowledge: Knowledge, *, folds: int = 2, seed: int = 0
) -> list[Guesses]:
    """Return the guesses in each note; the rows of ``knowledge`` belong to the same notes, in the same order.

    Raises SourceError when there are fewer patients than folds, or no marked word to learn from.
    """
    marked = [MarkedNote(patient_key(note), note.text, note.spans) for note in as_marked(released)]
    fold_of = fold_of_patients([note.patient for note in marked], folds, seed)
    looks = knowledge.look(marked)
    scores: list[list[float]] = [[] for _ in looks]
    for fold in range(folds):
        with tempfile.TemporaryDirectory() as folder:  # the model contains parts of words of the notes
            tagger = _learn(knowledge, [each != fold for each in fold_of], Path(folder), seed)
            for place in (place for place, each in enumerate(fold_of) if each == fold):
                scores[place] = [_likeness(tagger, traits) for traits in looks[place]]
    return _mark_most(released, all_words(marked), scores)


def mark_unlisted(released: Sequence[Released]) -> list[Guesses]:
    """Return the guesses in each note when every word of a name or place that is in none of our lists is marked.

    Initials and short abbreviations, in capitals, are not marked, because no list could have them.
    """
    words = [marked_words(MarkedNote(note.patient, note.text, note.spans)) for note in as_marked(released)]
    return [
        _guesses(note, row, [_is_unlisted(word) for word in row]) for note, row in zip(released, words, strict=True)
    ]


def _is_unlisted(word: MarkedWord) -> bool:
    is_short = word.text.isupper() and len(word.text) <= _LONGEST_SHORT
    return not is_short and not lists_with(word.form)


def _learn(knowledge: Knowledge, is_learnt: Sequence[bool], folder: Path, seed: int) -> pycrfsuite.Tagger:
    trainer = pycrfsuite.Trainer(algorithm="lbfgs", verbose=False)
    for name, rows in ((_OURS, knowledge.ours), (_THEIRS, knowledge.theirs)):
        words = [traits for row, is_used in zip(rows, is_learnt, strict=True) if is_used for traits in row]
        if not words:
            raise SourceError("the notes have no name and no place to learn from; give annotated notes")
        if len(words) > _MOST_WORDS:
            words = random.Random(f"{seed}-learnt").sample(words, _MOST_WORDS)
        for traits in words:
            trainer.append([traits], [name])
    trainer.set_params({"c1": 0.0, "c2": _L2, "max_iterations": _ITERATIONS, "feature.minfreq": 2})
    trainer.train(str(folder / "model.crfsuite"))
    tagger = pycrfsuite.Tagger()
    tagger.open(str(folder / "model.crfsuite"))
    return tagger


def _likeness(tagger: pycrfsuite.Tagger, traits: list[str]) -> float:
    """Return the probability that a word with these traits is an original, from 0 to 1."""
    tagger.set([traits])
    return float(tagger.marginal(_THEIRS, 0))


def _mark_most(
    released: Sequence[Released], words: Sequence[Sequence[MarkedWord]], scores: Sequence[Sequence[float]]
) -> list[Guesses]:
    """Mark as many words as are leaks, those with the highest scores; words with equal scores are all marked."""
    leaked = [[_is_leaked(word, note.leaks) for word in row] for note, row in zip(released, words, strict=True)]
    count = sum(map(sum, leaked))
    every = np.sort(np.array([score for row in scores for score in row]))[::-1]
    least = every[count - 1] if count else np.inf
    return [
        _guesses(note, row, [score >= least for score in own])
        for note, row, own in zip(released, words, scores, strict=True)
    ]


def _is_leaked(word: MarkedWord, leaks: Sequence[Span]) -> bool:
    return any(leak.start <= word.start and word.end <= leak.end for leak in leaks)


def _guesses(note: Released, words: Sequence[MarkedWord], is_marked: Sequence[bool]) -> Guesses:
    offsets = token_offsets(note.text)
    spans = [Span(word.start, word.end, word.label) for word in words]
    touched = label_tokens(offsets, spans, [int(each) for each in is_marked])
    looks_like = np.array([note.text[start].isupper() for start, _ in offsets.tolist()], np.bool_)
    leak = label_tokens(offsets, note.leaks, range(len(note.leaks)))
    return Guesses(touched >= 0, touched == 1, looks_like, leak)
