"""The gate of a release: attackers look for planted leaks, and none may do much better than chance.

Each draw of leaks has surrogates of another key, and its attacker another key of their own: what an attacker finds
under one key says little about the next.

``parrot``, ``list``, ``code`` and ``frequency`` have only the text, with marks on what looks like an identifier: see
:mod:`~deid_runtime.audit.attack` and :mod:`~deid_runtime.audit.knowing`. The insider is not part of the gate, because
nobody outside knows the surrogates.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, get_args

from deid_runtime.annotations.note import AnnotatedNote
from deid_runtime.audit.attack import AttackSettings, Guesses, attack
from deid_runtime.audit.gain import MAX_GAIN, Gain, GainVerdict, measure_gain, within
from deid_runtime.audit.knowing import as_marked, attack_knowing, gather_knowledge, mark_unlisted
from deid_runtime.audit.marked_words import LOOKED_UP, PEOPLE
from deid_runtime.audit.plant import Released, plant
from deid_runtime.audit.score import AttackScore, score
from deid_runtime.spans import PatientRecord
from deid_runtime.surrogates import Surrogates

GateAttacker = Literal["parrot", "list", "code", "frequency"]

#: The attackers of the gate, in the order of the report.
ATTACKERS: Final[tuple[GateAttacker, ...]] = get_args(GateAttacker)
#: Parts of the words, with their labels.
PARTS: Final[Mapping[str, frozenset[str]]] = {"people": PEOPLE, "places": LOOKED_UP - PEOPLE}


@dataclass(frozen=True, kw_only=True)
class GateSettings:
    """What is planted and who attacks.

    ``draws`` is the number of times that leaks are drawn; more draws narrow the intervals. The parrot would train a
    tagger for each draw, so it attacks only the first. With ``is_informed``, ``code`` and ``frequency`` also have the
    originals of other patients.
    """

    attackers: tuple[GateAttacker, ...] = ATTACKERS
    is_informed: bool = False
    max_gain: float = MAX_GAIN
    draws: int = 5
    folds: int = 2
    iterations: int = 60
    seed: int = 0


@dataclass(frozen=True)
class JudgedAttack:
    """An attacker's gain at one share of leaks, and the verdict on it."""

    attacker: GateAttacker
    share: float
    gain: Gain
    verdict: GainVerdict
    parts: Mapping[str, Gain]  # only people and only places: where to look after a bad verdict
    score: AttackScore | None = None  # of the parrot: leaks found, by label

    def to_json(self) -> dict[str, object]:
        """Return the verdict and its evidence as JSON values."""
        parts = {name: gain.to_json() for name, gain in self.parts.items()}
        values = {"attacker": self.attacker, "share": self.share, "verdict": self.verdict}
        return {**values, **self.gain.to_json(), "parts": parts}


def judge(
    notes: Sequence[AnnotatedNote],
    records: Mapping[str, PatientRecord],
    shares: Sequence[float],
    settings: GateSettings,
    *,
    key: bytes,
) -> list[JudgedAttack]:
    """Plant each share of leaks in annotated notes, attack them, and return the verdicts.

    ``key`` makes the surrogates of the first draw of leaks; the others have keys derived from it.

    Raises SourceError when there are too few patients, or nothing to withhold or to learn from.
    """
    judged = []
    for attacker in settings.attackers:
        for share in shares:
            draws = 1 if attacker == "parrot" else settings.draws
            releases = [
                _plant(notes, records, attacker, share, settings.seed + draw, key_of_draw(key, draw))
                for draw in range(draws)
            ]
            guesses = _attack(attacker, releases, notes, records, settings)
            pairs = list(zip(releases, guesses, strict=True))
            gain = measure_gain(pairs, seed=settings.seed)
            parts = {
                name: measure_gain(
                    [(release, within(release, made, labels)) for release, made in pairs], seed=settings.seed
                )
                for name, labels in PARTS.items()
            }
            leaks_found = score(*pairs[0], seed=settings.seed) if attacker == "parrot" else None
            judged.append(JudgedAttack(attacker, share, gain, gain.verdict(settings.max_gain), parts, leaks_found))
    return judged


def key_of_draw(key: bytes, draw: int) -> bytes:
    """Return the key of 32 bytes that makes the surrogates of a draw of leaks: ``key`` itself for the first one."""
    return hashlib.blake2b(draw.to_bytes(8, "big"), key=key, digest_size=32, person=b"gate").digest() if draw else key


def is_passed(judged: Sequence[JudgedAttack]) -> bool:
    """Return whether every verdict is ``pass``. False for no verdict."""
    return bool(judged) and all(each.verdict == "pass" for each in judged)


def _attack(
    attacker: GateAttacker,
    releases: Sequence[Sequence[Released]],
    notes: Sequence[AnnotatedNote],
    records: Mapping[str, PatientRecord],
    settings: GateSettings,
) -> list[list[Guesses]]:
    """Return the guesses in each release."""
    if attacker == "parrot":
        wanted = AttackSettings(
            attacker="parrot", folds=settings.folds, iterations=settings.iterations, seed=settings.seed
        )
        return [attack(released, wanted) for released in releases]
    if attacker == "list":
        return [mark_unlisted(released) for released in releases]
    made = []
    for seed, released in enumerate(releases, start=settings.seed):
        learnt = (notes, records) if settings.is_informed else (as_marked(released), {})
        known = gather_knowledge(attacker, *learnt, seed=seed)
        made.append(attack_knowing(released, known, folds=settings.folds, seed=seed))
    return made


def _plant(
    notes: Sequence[AnnotatedNote],
    records: Mapping[str, PatientRecord],
    attacker: GateAttacker,
    share: float,
    seed: int,
    key: bytes,
) -> list[Released]:
    """Plant leaks. For ``frequency``, in the notes of all patients that share the value, which is a worst case."""
    return plant(notes, records, Surrogates(key), share=share, seed=seed, is_everywhere=attacker == "frequency")
