"""Select the unannotated notes that teach most: those where versions, heads and rules disagree or are uncertain.

Each word of a note that the models read adds to three parts of the score:

*versions*: the versions of one head are on both sides of its threshold. Adds the distance between their scores.

*rules*: a rule found the word and no head did, or only a head of :data:`RULED` found it and no rule did, although rules
exist for such words. Names and places are normally found by heads alone. Adds 1.

*uncertainty*: no rule found the word and the scores of the heads are close to a threshold. The head with the highest
score relative to its threshold decides. Adds 1 at its threshold and falls to 0 at a distance of :data:`MARGIN` in
logits.

A part is the sum over the words, per 100 words. A note shorter than :data:`LEAST_WORDS` counts as one of that length,
because reading a note has a fixed cost. The score is the sum of the parts.

Notes are selected by score, highest first. A near-duplicate of a selected note is skipped, because correcting it again
would teach nothing new. The overlap of their five-word sequences, with all digits made equal, is estimated by MinHash.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from deid_export.adapt.ensemble import Ensemble, Seen
from deid_runtime.evaluation.tokens import label_tokens
from deid_runtime.pipeline.outcomes import Quarantined
from deid_runtime.spans import Note

#: Heads whose classes have a form that rules find.
RULED: Final = frozenset({"age", "identifier"})
MARGIN: Final = 3.0
LEAST_WORDS: Final = 100
NEAR_DUPLICATE: Final = 0.5

_SHINGLE_WORDS: Final = 5
_HASHES: Final = 128
_WORD: Final = re.compile(r"\w+")
_SMALLEST: Final = 1e-4  # scores are float16 and may be 0 or 1

Signature = NDArray[np.uint32]


@dataclass(frozen=True, slots=True)
class Scored:
    """One candidate note; ``signature`` represents its text in the search for near-duplicates."""

    id: str
    words: int
    versions: float
    rules: float
    uncertainty: float
    signature: Signature

    @property
    def score(self) -> float:
        """Return the sum of the parts."""
        return self.versions + self.rules + self.uncertainty


@dataclass(frozen=True, slots=True)
class Selected:
    """A note to annotate, and the number of its near-duplicates that were skipped."""

    note: Scored
    near_duplicates: int


def score_notes(ensemble: Ensemble, notes: Sequence[Note]) -> Iterator[Scored | Quarantined]:
    """Yield one outcome per note, in order."""
    for note, seen in zip(notes, ensemble.run(notes), strict=True):
        yield seen if isinstance(seen, Quarantined) else _scored(ensemble, note, seen)


def _scored(ensemble: Ensemble, note: Note, seen: Seen) -> Scored:
    words = seen.words
    count = len(words.starts)
    ruled = label_tokens(words.offsets, seen.ruled, range(len(seen.ruled))) >= 0
    versions = np.zeros(count)
    found = {head: words.scores[head] >= ensemble.thresholds[head] for head in ensemble.heads}
    margin = np.full(count, -np.inf)
    for head in ensemble.heads:
        threshold, each = ensemble.thresholds[head], words.versions[head]
        split = (each >= threshold).any(axis=0) & (each < threshold).any(axis=0)
        versions += np.where(split, np.ptp(each, axis=0), 0.0)
        margin = np.maximum(margin, _logit(words.scores[head]) - _logit(np.array(threshold)))
    by_ruled = np.logical_or.reduce(
        [found[head] for head in ensemble.heads if head in RULED] or [np.zeros(count, bool)]
    )
    by_any = np.logical_or.reduce(list(found.values()))
    by_others = np.logical_or.reduce(
        [found[head] for head in ensemble.heads if head not in RULED] or [np.zeros(count, bool)]
    )
    rules = (ruled & ~by_any) | (by_ruled & ~by_others & ~ruled)
    uncertainty = np.where(ruled, 0.0, np.clip(1.0 - np.abs(margin) / MARGIN, 0.0, None))
    scale = 100.0 / max(count, LEAST_WORDS)
    return Scored(
        note.id,
        count,
        float(versions.sum()) * scale,
        float(rules.sum()) * scale,
        float(uncertainty.sum()) * scale,
        signature(note.text),
    )


def _logit(scores: NDArray[np.float32] | NDArray[np.float64]) -> NDArray[np.float64]:
    inside = np.clip(scores.astype(np.float64), _SMALLEST, 1 - _SMALLEST)
    logits: NDArray[np.float64] = np.log(inside / (1 - inside))
    return logits


def signature(text: str) -> Signature:
    """Return uint32 (128,), the MinHash of the five-word sequences of ``text``, case folded, digits made equal."""
    words = [re.sub(r"\d", "0", word) for word in _WORD.findall(text.casefold())]
    shingles = {" ".join(words[at : at + _SHINGLE_WORDS]) for at in range(max(1, len(words) - _SHINGLE_WORDS + 1))}
    hashes = np.array(
        [int.from_bytes(hashlib.blake2b(s.encode("utf-8", "surrogatepass"), digest_size=8).digest()) for s in shingles],
        dtype=np.uint64,
    )
    # Multiply-shift hashing: the high bits of (a x + b) modulo 2**64, a odd, are universal (Dietzfelbinger 1996).
    mixed = hashes[:, None] * _FACTORS[None, :] + _SUMMANDS[None, :]
    smallest: NDArray[np.uint64] = (mixed >> np.uint64(32)).min(axis=0)
    return smallest.astype(np.uint32)


_RANDOM: Final = np.random.default_rng(0)
_FACTORS: Final = _RANDOM.integers(0, 2**63, _HASHES, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
_SUMMANDS: Final = _RANDOM.integers(0, 2**63, _HASHES, dtype=np.uint64)


def is_in_share(note_id: str, share: float) -> bool:
    """Return whether a note is in the given share of all notes; decided by its id, so that all runs agree."""
    digest = hashlib.blake2b(note_id.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest) < share * 2.0**64


def select(notes: Iterable[Scored], count: int, near_duplicate: float = NEAR_DUPLICATE) -> list[Selected]:
    """Return at most ``count`` notes, best first, ties by id, without near-duplicates of earlier ones.

    Two notes are near-duplicates when they share at least ``near_duplicate`` of their sequences; 1 or more turns the
    check off.
    """
    taken: list[Scored] = []
    signatures = np.zeros((count, _HASHES), dtype=np.uint32)
    passed_over = [0] * count
    for note in sorted(notes, key=lambda note: (-note.score, note.id)):
        overlaps = (signatures[: len(taken)] == note.signature).mean(axis=1)
        if near_duplicate < 1 and len(taken) and overlaps.max() >= near_duplicate:
            passed_over[int(overlaps.argmax())] += 1
        elif len(taken) < count:
            signatures[len(taken)] = note.signature
            taken.append(note)
    return [Selected(note, duplicates) for note, duplicates in zip(taken, passed_over, strict=False)]
