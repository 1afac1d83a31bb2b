"""How many missed originals does an attacker find in notes that were de-identified with our surrogates?

    python benchmarks/parrot.py --notes train

Method: ``deid_runtime.audit``, after Carrell et al. 2019. Notes are de-identified by their gold spans, but 1, 2 and 5 %
of the spans, whole values drawn at random, are left as they are: the leaks. A CRF learns from the release and attacks
the notes of patients that it has not seen, as two attackers who differ in what they know: the ``insider`` knows the
surrogates and guesses what else the tagger finds; the ``parrot`` has the text alone and guesses what looks like an
identifier and the tagger does not find. Random guessers make as many guesses, among all words open to the attacker,
and among those that begin with a capital or a digit. A detector misses what is hard to find, and not at random: real
leaks may be easier for the parrot, and harder for the insider, than these.

All notes of patients drawn at random are taken until there are ``--limit``. One thread; results hold counts alone.
"""

import argparse
import time
from pathlib import Path

from drawing import draw_patients
from measuring import RESULTS, describe_machine, write_results

from deid_export.data.corpus import corpus_digest
from deid_runtime.annotations.read import read_annotated, read_records
from deid_runtime.audit.attack import AttackSettings, attack
from deid_runtime.audit.plant import plant
from deid_runtime.audit.report import render
from deid_runtime.audit.score import AttackScore, score
from deid_runtime.surrogates import Surrogates

SHARES = (0.01, 0.02, 0.05)
ATTACKERS = ("insider", "parrot")
KEY = b"a fixed key: the notes are public"[:32]


def main() -> None:
    """Plant, attack, score; print the tables and write the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--notes", type=Path, action="append", required=True)
    parser.add_argument("--limit", type=int, default=600, help="notes; time is linear")
    parser.add_argument("--shares", type=float, nargs="+", default=SHARES, help="of the spans, left as they are")
    parser.add_argument("--attackers", nargs="+", choices=ATTACKERS, default=ATTACKERS)
    parser.add_argument("--folds", type=int, default=2)
    parser.add_argument("--iterations", type=int, default=40, help="of each CRF")
    parser.add_argument("--seed", type=int, default=5)
    parser.add_argument("--results", type=Path, default=RESULTS / "parrot.json")
    options = parser.parse_args()
    machine = describe_machine()
    notes = draw_patients(read_annotated(options.notes), options.limit, options.seed)
    records = read_records(options.notes)
    rows: list[tuple[str, AttackScore]] = []
    seconds: dict[str, float] = {}
    for share in options.shares:
        released = plant(notes, records, Surrogates(KEY), share=share, seed=options.seed)
        for attacker in options.attackers:
            begun = time.process_time()
            settings = AttackSettings(
                attacker=attacker, folds=options.folds, iterations=options.iterations, seed=options.seed
            )
            name = f"{share:.0%} {attacker}"
            rows.append((name, score(released, attack(released, settings), seed=options.seed)))
            seconds[name] = round(time.process_time() - begun, 1)
            print(f"{name}: {seconds[name]:.0f} s of processor time", flush=True)
    print(render(rows))
    write_results(
        options.results,
        {
            "question": __doc__.splitlines()[0],
            "machine": machine,
            "settings": {name: getattr(options, name) for name in ("limit", "folds", "iterations", "seed")},
            "corpus_sha256": corpus_digest(notes),
            "processor_seconds": seconds,
            "attacks": {name: made.to_json() for name, made in rows},
        },
    )


if __name__ == "__main__":
    main()
