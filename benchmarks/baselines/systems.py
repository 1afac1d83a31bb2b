"""The baselines by name: trained into a folder each, and loaded from it.

A folder holds the model and ``baseline.json``: which system it is, its settings, the corpus, what training took and how
it went. Several folders together are the union of what each finds.
"""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import bert_bieso
import bilstm_crf
import crf_baseline

from deid_export.data.corpus import corpus_digest
from deid_runtime.annotations.note import AnnotatedNote
from deid_runtime.errors import ModelError
from deid_runtime.merging.fusion import fuse_spans
from deid_runtime.spans import Detector, Span

_CARD: Final = "baseline.json"
#: Name to module here; each has ``train(notes, settings, folder)``, which returns figures of the training, and
#: ``load(folder)``.
SYSTEMS: Final[Mapping[str, Any]] = {"crf": crf_baseline, "bilstm-crf": bilstm_crf, "bert-bieso": bert_bieso}
_LIBRARIES: Final = ("numpy", "python-crfsuite", "tokenizers", "torch", "transformers")


def train_baseline(system: str, notes: Sequence[AnnotatedNote], settings: Any, out: Path) -> dict[str, Any]:
    """Train one of :data:`SYSTEMS` with the settings of its module, and return its card.

    A folder that already holds this system, trained on these notes with these settings, is left as it is.
    """
    wanted = {"system": system, "settings": _plain(settings), "corpus_sha256": corpus_digest(notes)}
    if (out / _CARD).is_file():
        card = read_card(out)
        if {key: card.get(key) for key in wanted} == wanted:
            return card
    (out / _CARD).unlink(missing_ok=True)  # what it describes is about to be overwritten
    begun, begun_cpu = time.perf_counter(), time.process_time()
    training = SYSTEMS[system].train(notes, settings, out)
    card = {
        **wanted,
        "notes": len(notes),
        "seconds": round(time.perf_counter() - begun, 1),
        "cpu_seconds": round(time.process_time() - begun_cpu, 1),
        "training": training,
        "model_bytes": sum(path.stat().st_size for path in out.iterdir()),
        "libraries": {name: version(name) for name in _LIBRARIES},
    }
    (out / _CARD).write_text(json.dumps(card, indent=1) + "\n", encoding="utf-8")
    return card


def load_baseline(folder: Path) -> Detector:
    """Load a trained baseline; raises ModelError when ``folder`` holds none, or one of another version."""
    system = str(read_card(folder).get("system"))
    if system not in SYSTEMS:
        raise ModelError(f"{folder} holds a {system!r}; expected one of {', '.join(SYSTEMS)}")
    detector: Detector = SYSTEMS[system].load(folder)
    return detector


def load_union(folders: Sequence[Path]) -> Detector:
    """Load several trained baselines as one detector, which finds what any of them finds."""
    detectors = [load_baseline(folder) for folder in folders]

    def find(texts: Sequence[str]) -> list[list[Span]]:
        found = zip(*(detector(texts) for detector in detectors), strict=True)
        return [
            fuse_spans(text, [span for row in rows for span in row]) for text, rows in zip(texts, found, strict=True)
        ]

    return detectors[0] if len(detectors) == 1 else find


def read_card(folder: Path) -> dict[str, Any]:
    """Return the card of a trained baseline; raises ModelError when there is none that can be read."""
    try:
        card = json.loads((folder / _CARD).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelError(
            f"{folder / _CARD} cannot be read as JSON ({type(error).__name__}); expected a folder that "
            "a baseline was trained into"
        ) from error
    if not isinstance(card, dict):
        raise ModelError(f"{folder / _CARD} is no JSON object; train the baseline again")
    return card


def _plain(settings: Any) -> dict[str, Any]:
    """Return settings ready for JSON. Folders are named without where they lie, which tells nothing of a model."""
    values: dict[str, Any] = asdict(settings)
    plain = {key: value.name if isinstance(value, Path) else value for key, value in values.items()}
    if plain.get("base") and Path(plain["base"]).is_dir():
        plain["base"] = "/".join(Path(plain["base"]).parts[-2:])
    return plain
