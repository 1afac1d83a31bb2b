"""How much better than chance do attackers find planted leaks who know our lists, our code or how values repeat?

    python benchmarks/gate.py --notes train [--limit 1500] [--informed]

Method: the gate of ``deid audit parrot`` (``deid_runtime.audit.gate``) on the *gold* spans of annotated notes, with the
attackers ``list``, ``code`` and ``frequency``; the parrot and the insider, which train a tagger, are measured by
``parrot.py``. ``--share`` of the spans are left as they are, whole values drawn at random, ``--draws`` times. Each
attacker marks words of names and places; the gain is the share of his marks that are right, divided by that of as many
random marks. Intervals are 95 %, by bootstrap over patients. ``--informed`` gives ``code`` and ``frequency`` the
originals of other patients: how well surrogates hide from who has annotated notes of the same hospital.

All notes of patients drawn at random are taken until there are ``--limit``. One thread; results hold counts alone.
"""

import argparse
import time
from pathlib import Path

from drawing import draw_patients
from measuring import RESULTS, describe_machine, write_results

from deid_export.data.corpus import corpus_digest
from deid_runtime.annotations.read import read_annotated, read_records
from deid_runtime.audit.gate import GateSettings, JudgedAttack, judge
from deid_runtime.audit.report import render_gate

ATTACKERS = ("list", "code", "frequency")
KEY = b"a fixed key: the notes are public"[:32]


def main() -> None:
    """Plant, attack, judge; print the table and write the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--notes", type=Path, action="append", required=True)
    parser.add_argument("--limit", type=int, default=1_500, help="notes; time is linear")
    parser.add_argument("--attackers", nargs="+", choices=ATTACKERS, default=ATTACKERS)
    parser.add_argument("--share", type=float, default=0.05, help="of the spans, left as they are")
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--informed", action="store_true")
    parser.add_argument("--seed", type=int, default=5)
    parser.add_argument("--results", type=Path, default=RESULTS / "gate.json")
    options = parser.parse_args()
    machine = describe_machine()
    notes = draw_patients(read_annotated(options.notes), options.limit, options.seed)
    records = read_records(options.notes)
    judged: list[JudgedAttack] = []
    seconds: dict[str, float] = {}
    for attacker in options.attackers:
        begun = time.process_time()
        settings = GateSettings(
            attackers=(attacker,), draws=options.draws, is_informed=options.informed, seed=options.seed
        )
        judged += judge(notes, records, [options.share], settings, key=KEY)
        seconds[attacker] = round(time.process_time() - begun, 1)
        print(f"{attacker}: {seconds[attacker]:.0f} s of processor time", flush=True)
    print(render_gate(judged, settings.max_gain))
    write_results(
        options.results,
        {
            "question": __doc__.splitlines()[0],
            "machine": machine,
            "settings": {name: getattr(options, name) for name in ("limit", "share", "draws", "informed", "seed")},
            "max_gain": settings.max_gain,
            "notes": len(notes),
            "corpus_sha256": corpus_digest(notes),
            "processor_seconds": seconds,
            "gate": [each.to_json() for each in judged],
        },
    )


if __name__ == "__main__":
    main()
