"""Does the upper bound of ``deid audit bound`` cover the true share of notes with a leak as often as it says?

    python benchmarks/leak_bound.py

Method: releases of 3,000 invented patients, with equal or very unequal numbers of notes; leaks spread over notes, over
patients (from independent notes to all notes of a patient alike), or in the patients with most notes. Each is sampled
10,000 times as ``deid audit sample`` does, and bounded in three ways: on draws of patients (what ``deid audit bound``
does), on notes as if they were independent, and with the design effect of Korn and Graubard (1998). Coverage is the
share of samples whose bound is not below the true share; 95 % are wanted. Where 10,000 samples of the first way cover
less, 200,000 further samples tell chance from fault. Further rows: three note types with rates of their own.
"""

import argparse
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from measuring import RESULTS, describe_machine, write_results
from scipy.stats import beta

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

CONFIDENCE: Final = 0.95
PATIENTS: Final = 3_000
RATES: Final = (0.002, 0.01, 0.05, 0.2)
LIKENESS: Final[tuple[float | str, ...]] = (0.0, 0.3, 1.0, "large patients")  # correlation of the leaks of a patient
DRAWS: Final = (30, 100, 300)
NOTES_PER_PATIENT: Final = (1, 3, 10)
WAYS: Final = ("draws", "notes", "design effect")
STRATA_SHARES: Final = (0.7, 0.2, 0.1)
STRATA_RATES: Final = ((0.01, 0.01, 0.01), (0.0, 0.0, 0.1), (0.001, 0.05, 0.2), (0.02, 0.0, 0.0))
AT_A_TIME: Final = 5_000


@dataclass(frozen=True)
class Case:
    """A release (``sizes`` and ``leaks``: notes, and notes with a leak, by patient) and how it is sampled."""

    name: str
    sizes: Ints
    leaks: Ints
    draws: int
    notes_per_patient: int

    @property
    def share(self) -> float:
        """The true share of notes with a leak."""
        return float(self.leaks.sum() / self.sizes.sum())


def main() -> None:
    """Simulate, print the lowest coverages, write the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=10_000)
    parser.add_argument("--again", type=int, default=200_000, help="further samples of a case below 95 %%")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--results", type=Path, default=RESULTS / "leak_bound.json")
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    rows = []
    for case in all_cases(rng):
        row = cover(case, options.samples, rng)
        if row["coverage"]["draws"] < CONFIDENCE:
            row["again"] = cover(case, options.again, rng)["coverage"]["draws"]
        rows.append(row)
    strata = [cover_strata(rates, draws, options.samples, rng) for rates in STRATA_RATES for draws in DRAWS]
    lowest = {way: min(row["coverage"][way] for row in rows) for way in WAYS}
    settled = min(row.get("again", row["coverage"]["draws"]) for row in rows)
    print(f"{len(rows)} cases; lowest coverage:", ", ".join(f"{way} {value:.4f}" for way, value in lowest.items()))
    print(f"draws, with {options.again:,} samples where 10,000 gave less than 95 %: {settled:.4f}")
    print(f"three note types: {min(row['coverage'] for row in strata):.4f}")
    write_results(
        options.results,
        {
            "question": __doc__.splitlines()[0],
            "machine": describe_machine(),
            "samples": options.samples,
            "again": options.again,
            "seed": options.seed,
            "report": {"lowest": lowest, "lowest_settled": settled, "cases": rows, "strata": strata},
        },
    )


def all_cases(rng: np.random.Generator) -> Iterator[Case]:
    """Yield every release with every way to sample it."""
    for sizes, rate, likeness in itertools.product(("equal", "unequal"), RATES, LIKENESS):
        notes, leaks = release(sizes, rate, likeness, rng)
        for draws, per_patient in itertools.product(DRAWS, NOTES_PER_PATIENT):
            yield Case(f"{sizes}, {rate:.1%}, {likeness}", notes, leaks, draws, per_patient)


def release(sizes: str, rate: float, likeness: float | str, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Return the notes and the notes with a leak of each patient, int64 (patients,)."""
    if sizes == "equal":
        notes = np.full(PATIENTS, 4)
    else:
        notes = np.maximum(1, rng.lognormal(1, 1.2, PATIENTS).astype(np.int64))
    if likeness == "large patients":
        order = np.argsort(-notes, kind="stable")
        before = np.cumsum(notes[order]) - notes[order]
        leaks = np.zeros(PATIENTS, np.int64)
        leaks[order] = np.clip(round(rate * notes.sum()) - before, 0, notes[order])
        return notes, leaks
    if likeness == 1.0:
        return notes, np.where(rng.random(PATIENTS) < rate, notes, 0)
    if likeness == 0.0:
        return notes, rng.binomial(notes, rate)
    spread = (1 - float(likeness)) / float(likeness)
    return notes, rng.binomial(notes, rng.beta(rate * spread, (1 - rate) * spread, PATIENTS))


def cover(case: Case, samples: int, rng: np.random.Generator) -> dict[str, Any]:
    """Return the coverage and the mean bound of each way over ``samples`` samples of a case."""
    covered, total = dict.fromkeys(WAYS, 0), dict.fromkeys(WAYS, 0.0)
    for first in range(0, samples, AT_A_TIME):
        bounds = bounds_of(case, min(AT_A_TIME, samples - first), rng)
        for way, values in bounds.items():
            covered[way] += int((values >= case.share).sum())
            total[way] += float(values.sum())
    return {
        "case": case.name,
        "draws": case.draws,
        "notes_per_patient": case.notes_per_patient,
        "share": round(case.share, 6),
        "coverage": {way: covered[way] / samples for way in WAYS},
        "mean_bound": {way: round(total[way] / samples, 6) for way in WAYS},
    }


def bounds_of(case: Case, samples: int, rng: np.random.Generator) -> dict[str, Floats]:
    """Return the bounds of ``samples`` samples, float64 (samples,), of each way."""
    chosen = rng.choice(PATIENTS, p=case.sizes / case.sizes.sum(), size=(samples, case.draws))
    sizes, leaks = case.sizes[chosen], case.leaks[chosen]
    read = np.minimum(case.notes_per_patient, sizes)
    leaking = rng.hypergeometric(leaks, sizes - leaks, read)
    notes, found = read.sum(1), leaking.sum(1)
    share = found / notes
    variance = case.draws / (case.draws - 1) * ((leaking - share[:, None] * read) ** 2).sum(1) / notes**2
    with np.errstate(divide="ignore", invalid="ignore"):
        size = np.where(variance > 0, np.minimum(notes, share * (1 - share) / variance), notes**2 / (read**2).sum(1))
    return {
        "draws": upper((leaking / read).sum(1), np.full(samples, case.draws)),
        "notes": upper(found, notes),
        "design effect": upper(share * size, size),
    }


def cover_strata(rates: tuple[float, ...], draws: int, samples: int, rng: np.random.Generator) -> dict[str, Any]:
    """Return the coverage of the bound over all of three note types, with draws in proportion to their notes."""
    shares = np.array(STRATA_SHARES)
    of_type = np.floor(draws * shares).astype(int)
    of_type[0] += draws - of_type.sum()
    true = float((shares * rates).sum())
    leaks = sum(rng.binomial(count, rate, samples) for count, rate in zip(of_type, rates, strict=True))
    covered = upper(np.asarray(leaks), np.full(samples, draws)) >= true
    return {"rates": rates, "draws": draws, "share": round(true, 6), "coverage": float(covered.mean())}


def upper(leaks: Ints | Floats, draws: Ints | Floats) -> Floats:
    """Return the one-sided Clopper-Pearson bounds, as ``deid_runtime.audit.leak_bound.upper_bound``."""
    bounds: Floats = np.where(leaks >= draws, 1.0, beta.ppf(CONFIDENCE, leaks + 1.0, np.maximum(draws - leaks, 1e-9)))
    return bounds


if __name__ == "__main__":
    main()
