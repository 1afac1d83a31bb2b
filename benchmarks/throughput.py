"""How fast and how large is the whole of ``deid run``, and where does the time go?

    python benchmarks/throughput.py --notes notes.jsonl

Method: notes of the wanted number are made from the given texts, each a variation of its own (see ``vary``), so that
hardly a sentence comes twice and nothing can be answered from a cache. ``deid run`` is started as a process with two
workers bound to two cores, first on one note, to warm the disk cache, and then once for each size. The time is that
from start to exit: loading the models, reading and writing are in. The rate counts distinct sentences, as
``split_sentences`` cuts them.
"""

import argparse
import json
import random
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from measuring import RESULTS, describe_file, describe_machine, describe_run, keep_to_cores, run_deid, write_results

from deid_runtime.text.sentences import split_sentences

_DIGITS = re.compile(r"\d+")
_WORD = re.compile(r"\b[a-z]{5,}\b")
_NAME = re.compile(r"\b[A-Z][a-z]{3,}\b")
_CHANGED_WORDS = 0.3  # share of the lower-case words that are exchanged


def main() -> None:
    """Measure, print a table, write the results."""
    options = parse_arguments()
    cores = keep_to_cores(options.workers)
    machine = describe_machine()
    records = [json.loads(line) for line in options.notes.open(encoding="utf-8")]
    notes = list(vary(records, max(options.sizes), random.Random(options.seed)))
    extra = [*options.extra, "--workers", str(options.workers), "--quiet", "--overwrite"]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.jsonl"
        key = Path(folder) / "benchmark.key"
        subprocess.run([sys.executable, "-m", "deid_runtime", "key", "new", str(key)], check=True)
        extra += ["--key", str(key)]
        write_notes(Path(folder) / "warm-up.jsonl", notes[:1])
        warm_up = run_deid(["run", f"{folder}/warm-up.jsonl", *extra], out)
        for size in options.sizes:
            path = Path(folder) / f"notes-{size}.jsonl"
            write_notes(path, notes[:size])
            measured = run_deid(["run", str(path), *extra], out)
            rows.append(describe_row(notes[:size], measured.seconds, measured.peak_bytes, measured.manifest))
            print_row(rows[-1])
    print_stages(rows[-1])
    write_results(
        options.results,
        {
            "question": __doc__.splitlines()[0],
            "machine": machine,
            "run": describe_run(warm_up.manifest),
            "arguments": {"seed": options.seed, "workers": options.workers, "extra": options.extra, "cores": cores},
            "texts": describe_file(options.notes),
            "seconds_for_one_note": round(warm_up.seconds, 2),
            "sizes": rows,
            "linearity": describe_linearity(rows),
        },
    )


def parse_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--notes", type=Path, required=True, help="JSON Lines with id, text and optional patient, type")
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 2_000, 4_000], help="numbers of notes")
    parser.add_argument("--workers", type=int, default=2, help="worker processes, and cores they are bound to")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--results", type=Path, default=RESULTS / "throughput_fast.json")
    parser.add_argument("extra", nargs="*", help="further options of deid run, after --")
    return parser.parse_args()


def vary(records: Sequence[dict[str, Any]], count: int, generator: random.Random) -> Iterator[dict[str, str]]:
    """Yield ``count`` notes that go round the records, each changed so that its sentences are new.

    A number becomes another with as many digits (below 32, and with the century of a year, if it was: dates stay
    dates), a capitalised word another of the texts with as many letters, and so does a share of the lower-case words.
    The length, the layout and the density of identifiers stay about as they were.
    """
    vocabulary: dict[tuple[bool, int], list[str]] = defaultdict(list)
    for pattern in (_WORD, _NAME):
        for word in sorted({word for record in records for word in pattern.findall(record["text"])}):
            vocabulary[word[0].isupper(), len(word)].append(word)

    def other_word(match: re.Match[str]) -> str:
        if match[0][0].islower() and generator.random() > _CHANGED_WORDS:
            return match[0]
        return generator.choice(vocabulary[match[0][0].isupper(), len(match[0])])

    def other_number(match: re.Match[str]) -> str:
        number = match[0]
        if len(number) == 2:
            return f"{generator.randrange(1, 32) if int(number) < 32 else generator.randrange(32, 100):02}"
        if len(number) == 4 and number[:2] in ("19", "20"):
            return f"{number[:2]}{generator.randrange(100):02}"
        low = 0 if number[0] == "0" else 10 ** (len(number) - 1)
        return f"{generator.randrange(low, 10 ** len(number)):0{len(number)}}"

    for index in range(count):
        record = records[index % len(records)]
        text = _NAME.sub(other_word, _WORD.sub(other_word, _DIGITS.sub(other_number, record["text"])))
        lap = index // len(records)
        yield {
            "id": f"{record['id']}-{lap}",
            "patient": f"{record.get('patient') or record['id']}-{lap}",
            "type": record.get("type", ""),
            "text": text,
        }


def write_notes(path: Path, notes: Sequence[dict[str, str]]) -> None:
    """Write notes as JSON Lines."""
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(note, ensure_ascii=False) + "\n" for note in notes)


def describe_row(
    notes: Sequence[dict[str, str]], seconds: float, peak_bytes: int, manifest: dict[str, Any]
) -> dict[str, Any]:
    """Return the figures of one size."""
    sentences = [
        note["text"][sentence.start : sentence.end].strip()
        for note in notes
        for sentence in split_sentences(note["text"])
    ]
    distinct = len({sentence for sentence in sentences if sentence})
    return {
        "notes": len(notes),
        "characters": sum(len(note["text"]) for note in notes),
        "sentences": sum(map(bool, sentences)),
        "distinct_sentences": distinct,
        "seconds": round(seconds, 2),
        "distinct_sentences_per_second": round(distinct / seconds, 1),
        "notes_per_second": round(len(notes) / seconds, 2),
        "peak_memory_bytes": peak_bytes,
        "counts": {key: manifest["notes"][key] for key in ("read", "written", "quarantined")},
        "seconds_by_stage": manifest["seconds_by_stage"],
    }


def describe_linearity(rows: Sequence[dict[str, Any]]) -> list[dict[str, float]]:
    """Return, for each two successive sizes, the marginal seconds for a thousand notes: level when time is linear."""
    return [
        {
            "from_notes": before["notes"],
            "to_notes": after["notes"],
            "seconds_per_1000_notes": round(
                1000 * (after["seconds"] - before["seconds"]) / (after["notes"] - before["notes"]), 2
            ),
        }
        for before, after in pairwise(rows)
    ]


def print_row(row: dict[str, Any]) -> None:
    """Print the figures of one size on a line."""
    print(
        f"{row['notes']:>6} notes, {row['distinct_sentences']:>7} distinct of {row['sentences']:>7} sentences: "
        f"{row['seconds']:>7.1f} s, {row['distinct_sentences_per_second']:>7.0f} distinct sentences/s, "
        f"{row['peak_memory_bytes'] / 2**20:>5.0f} MiB"
    )


def print_stages(row: dict[str, Any]) -> None:
    """Print where the time of a run went, summed over the workers."""
    total = sum(row["seconds_by_stage"].values()) or 1.0
    for stage, seconds in row["seconds_by_stage"].items():
        per_sentence = 1e6 * seconds / row["sentences"]
        print(f"  {stage:<14}{seconds:>8.2f} s {seconds / total:>6.1%} {per_sentence:>8.1f} µs a sentence")


if __name__ == "__main__":
    main()
