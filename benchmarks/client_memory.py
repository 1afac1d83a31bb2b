"""Does the memory of the client of a server grow over very many sentences?

    python benchmarks/client_memory.py --notes notes.jsonl

Method: very many short sentences go through the detector of ``deid run --server`` in this process, which does nothing
else, with a bounded number of requests in flight. The resident memory is sampled twice a second. It is flat when the
highest sample of the second half is at most 5 % or 16 MiB over that of the first. The words come from the given notes,
so their number is bounded; the numbers are new each time. The cache of the tokenizer fills up to its bound on the way.
"""

import argparse
import json
import random
import re
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import psutil
from measuring import RESULTS, describe_file, describe_machine, keep_to_cores, write_results
from served_models import Served, write_package_models

from deid_client.server import TritonServer
from deid_runtime.settings import Settings
from deid_runtime.text.sentences import split_sentences

_SAMPLE_S: Final = 0.5
_SENTENCES_A_NOTE: Final = 20
_NOTES_A_BATCH: Final = 32
_NOTES_FOR_WORDS: Final = 200
_MOST_GROWTH: Final = 0.05
_LEAST_GROWTH_BYTES: Final = 16 * 2**20  # what an allocator may do at any time
_WORD: Final = re.compile(r"\b[A-Za-z]{2,9}\b")


def main() -> None:
    """Tag the sentences, write the results; exit with 1 when the memory grew."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--notes", type=Path, required=True, help="JSON Lines with id and text")
    parser.add_argument("--sentences", type=int, default=1_000_000)
    parser.add_argument("--in-flight", type=int, default=4, help="requests in flight")
    parser.add_argument("--instances", type=int, default=2, help="copies of each model in the server")
    parser.add_argument("--cores", type=int, default=2, help="cores that all processes are bound to")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--results", type=Path, default=RESULTS / "client_memory.json")
    options = parser.parse_args()
    cores = keep_to_cores(options.cores)
    machine = describe_machine()
    texts = [json.loads(line)["text"] for line in options.notes.open(encoding="utf-8")]
    words = sorted({word for text in texts[:_NOTES_FOR_WORDS] for word in _WORD.findall(text)})
    with tempfile.TemporaryDirectory(prefix="deid-bench-") as folder:
        write_package_models(Path(folder) / "repository", options.instances)
        measured = measure(words, Path(folder) / "repository", options)
    write_results(
        options.results,
        {
            "question": __doc__.splitlines()[0],
            "machine": machine,
            "arguments": {"seed": options.seed, "cores": cores, "requests_in_flight": options.in_flight},
            "texts": describe_file(options.notes),
            **measured,
        },
    )
    sys.exit(0 if measured["passed"] else "FAILED: the memory grew")


def measure(words: Sequence[str], repository: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Tag the sentences and sample the resident memory of this process."""
    samples: list[tuple[float, int, int]] = []  # seconds, sentences, bytes
    done = [0]
    stop = threading.Event()
    begun = time.perf_counter()

    def sample() -> None:
        process = psutil.Process()
        while not stop.is_set():
            samples.append((time.perf_counter() - begun, done[0], process.memory_info().rss))
            stop.wait(_SAMPLE_S)

    with Served(repository) as served:
        settings = TritonServer(endpoints=(served.address,), requests_in_flight=options.in_flight)
        sampler = threading.Thread(target=sample)
        with settings.connect(Settings()) as tagger:
            begun = time.perf_counter()
            sampler.start()
            try:
                found = 0
                for batch in short_notes(words, options.sentences, random.Random(options.seed)):
                    sentences = [split_sentences(text) for text in batch]
                    found += sum(map(len, tagger(batch, sentences)))
                    done[0] += sum(map(len, sentences))
            finally:
                stop.set()
                sampler.join()
    growth = describe_growth([size for _, _, size in samples])
    print(f"memory: {done[0]:,} sentences in {samples[-1][0]:.0f} s, {growth}")
    return {
        **growth,
        "sentences": done[0],
        "seconds": round(samples[-1][0], 1),
        "spans": found,
        "samples": [
            {"seconds": round(seconds, 1), "sentences": count, "resident_bytes": size}
            for seconds, count, size in thinned(samples, 100)
        ],
    }


def short_notes(words: Sequence[str], sentences: int, generator: random.Random) -> Iterator[list[str]]:
    """Yield batches of notes of short lines, so many in all, each with a number that makes it new."""
    left = sentences
    while left > 0:
        texts = []
        for _ in range(_NOTES_A_BATCH):
            count = min(_SENTENCES_A_NOTE, left)
            left -= count
            if count:
                lines = (f"{generator.choice(words)} {generator.choice(words)} {generator.randrange(10**6)}"
                         for _ in range(count))  # fmt: skip
                texts.append("\n".join(lines))
        yield texts


def describe_growth(sizes: Sequence[int]) -> dict[str, Any]:
    """Return the highest memory of both halves of a run, and whether it stayed flat."""
    half = max(1, len(sizes) // 2)
    first, second = max(sizes[:half]), max(sizes[half:] or sizes)
    growth = second - first
    return {
        "passed": growth <= max(_MOST_GROWTH * first, _LEAST_GROWTH_BYTES),
        "peak_bytes_first_half": first,
        "peak_bytes_second_half": second,
        "growth_bytes": growth,
    }


def thinned(samples: Sequence[tuple[float, int, int]], most: int) -> list[tuple[float, int, int]]:
    """Return at most ``most`` samples, of each stretch the one with the largest memory: no peak is left out."""
    size = -(-len(samples) // most)
    return [max(samples[first : first + size], key=lambda each: each[2]) for first in range(0, len(samples), size)]


if __name__ == "__main__":
    main()
