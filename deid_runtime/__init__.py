"""Find the identifiers in clinical notes and replace them with plausible surrogates.

The names below are the public interface; everything else may change between minor versions.
"""

from deid_runtime.errors import DeidError, InputError, ModelError, OutputError, SettingsError, SourceError
from deid_runtime.labels import LABELS
from deid_runtime.pipeline import Deidentified, Detected, Pipeline, Quarantined, load_pipeline
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
