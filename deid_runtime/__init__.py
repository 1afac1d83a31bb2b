"""Find the identifiers in clinical notes and replace them with plausible surrogates.

The names in ``__all__`` are the public interface; everything else may change between minor versions.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deid_runtime.errors import DeidError, InputError, ModelError, OutputError, SettingsError, SourceError
    from deid_runtime.labels import LABELS
    from deid_runtime.pipeline.loading import load_pipeline
    from deid_runtime.pipeline.outcomes import Deidentified, Detected, Quarantined
    from deid_runtime.pipeline.processing import Pipeline
    from deid_runtime.settings import Settings
    from deid_runtime.spans import Note, PatientRecord, Span
    from deid_runtime.surrogates.keys import load_key, new_key, write_key

__all__ = [
    "LABELS",
    "DeidError",
    "Deidentified",
    "Detected",
    "InputError",
    "ModelError",
    "Note",
    "OutputError",
    "PatientRecord",
    "Pipeline",
    "Quarantined",
    "Settings",
    "SettingsError",
    "SourceError",
    "Span",
    "load_key",
    "load_pipeline",
    "new_key",
    "write_key",
]

#: The module of each public name. A name is loaded when it is first used: lists and patterns take a second, and most
#: commands need none of them.
_HOMES = {
    "LABELS": "labels",
    "DeidError": "errors",
    "Deidentified": "pipeline.outcomes",
    "Detected": "pipeline.outcomes",
    "InputError": "errors",
    "ModelError": "errors",
    "Note": "spans",
    "OutputError": "errors",
    "PatientRecord": "spans",
    "Pipeline": "pipeline.processing",
    "Quarantined": "pipeline.outcomes",
    "Settings": "settings",
    "SettingsError": "errors",
    "SourceError": "errors",
    "Span": "spans",
    "load_key": "surrogates.keys",
    "load_pipeline": "pipeline.loading",
    "new_key": "surrogates.keys",
    "write_key": "surrogates.keys",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
