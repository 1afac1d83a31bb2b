"""Record the training to which a folder belongs, so that only the same training continues in it."""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from deid_export.data.corpus import corpus_digest
from deid_runtime.annotations.note import AnnotatedNote
from deid_runtime.errors import InputError
from deid_runtime.models.manifest import sha256_of

SETTINGS_FILE: Final = "settings.json"

#: Settings that only change the speed, or that a digest identifies instead.
_FREE: Final = ("threads", "checkpoint_every_s", "start", "teacher")


def claim(
    out: Path,
    *,
    train: Any,
    stream: Any,
    notes: Sequence[AnnotatedNote],
    focus: Sequence[AnnotatedNote],
    clean_sentences: int,
    tokens: Mapping[str, str],
) -> None:
    """Record in ``out`` the training: the dataclasses ``train`` and ``stream``, and digests of the data.

    ``tokens`` maps the file that ends a phase to the setting of the length of that phase. This length may change until
    the file exists. So a training can be shortened, and its learning rate still decreases to the end. Raises
    InputError, and leaves the folder unchanged, when it belongs to another training.
    """
    start, teacher = getattr(train, "start", None), getattr(train, "teacher", None)
    claimed: dict[str, Any] = {
        "train": dataclasses.asdict(train),
        "stream": dataclasses.asdict(stream),
        "corpus_sha256": corpus_digest(notes),
        "focus_sha256": corpus_digest(focus),
        "clean_sentences": clean_sentences,
        "start_sha256": sha256_of(start) if start is not None else None,
        "teacher_sha256": sha256_of(teacher) if teacher is not None else None,
    }
    claimed = json.loads(json.dumps(claimed, default=str))
    path = out / SETTINGS_FILE
    if path.is_file():
        free = {*_FREE, *(name for file, name in tokens.items() if not (out / file).is_file())}
        changed = _changed(_read(path), claimed, free)
        if changed:
            raise InputError(
                f"{out} has another training: {', '.join(changed)} differ; give the same values, or another folder"
            )
    path.write_text(json.dumps(claimed, indent=1) + "\n", encoding="utf-8")


def _read(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InputError(f"{path} is not JSON; give another folder") from error
    if not isinstance(value, dict):
        raise InputError(f"{path} is not a JSON object; give another folder")
    return value


def _changed(before: Mapping[str, Any], now: Mapping[str, Any], free: set[str]) -> list[str]:
    names = []
    for key, value in now.items():
        old = before.get(key)
        if isinstance(value, dict) and isinstance(old, dict):
            names += [name for name in value if name not in free and value[name] != old.get(name)]
        elif value != old:
            names.append(key)
    return names
