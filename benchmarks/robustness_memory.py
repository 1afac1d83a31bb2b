"""The memory of the client over very many sentences: part of ``serving_robustness.py``."""

import argparse
import random
import re
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import psutil
from served_models import Served

from deid_client.server import TritonServer
from deid_runtime.settings import Settings
from deid_runtime.text.sentences import split_sentences

_SAMPLE_S: Final = 0.5
_SENTENCES_A_NOTE: Final = 20
_NOTES_A_BATCH: Final = 32
_MOST_GROWTH: Final = 0.05
_LEAST_GROWTH_BYTES: Final = 16 * 2**20  # what an allocator may do at any time
_WORD: Final = re.compile(r"\b[A-Za-z]{2,9}\b")


def run_memory(
    made: Iterator[dict[str, str]], repository: Path, folder: Path, options: argparse.Namespace
) -> dict[str, Any]:
    """Tag the sentences, sampling the resident set of this process."""
    words = sorted({word for _, note in zip(range(200), made, strict=False) for word in _WORD.findall(note["text"])})
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
                for texts in short_notes(words, options.sentences, random.Random(options.seed)):
                    sentences = [split_sentences(text) for text in texts]
                    found += sum(map(len, tagger(texts, sentences)))
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
        "requests_in_flight": options.in_flight,
        "samples": [
            {"seconds": round(seconds, 1), "sentences": count, "resident_bytes": size}
            for seconds, count, size in thinned(samples, 400)
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


def draw_memory(result: dict[str, Any], path: Path) -> None:
    """Write the curve as SVG. Needs matplotlib (extra ``bench``)."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "deid"  # the same figures give the same file
    from matplotlib import pyplot

    figure, panel = pyplot.subplots(figsize=(7, 3.5))
    panel.plot(
        [sample["sentences"] for sample in result["samples"]],
        [sample["resident_bytes"] / 2**20 for sample in result["samples"]],
        linewidth=1,
    )
    panel.set_ylim(bottom=0)
    panel.set_xlim(left=0)
    panel.set_xlabel("sentences")
    panel.set_ylabel("resident memory of the client, MiB")
    panel.set_title(f"{result['requests_in_flight']} requests in flight")
    panel.grid(visible=True, linewidth=0.3)
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, format="svg", metadata={"Date": None})
    pyplot.close(figure)
    print(f"written: {path}")
