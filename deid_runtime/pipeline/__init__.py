"""The pipeline: it finds the identifiers of notes and replaces them."""

from deid_runtime.pipeline.loading import load_pipeline, surrogate_maker
from deid_runtime.pipeline.outcomes import Deidentified, Detected, Fault, Outcome, Quarantined
from deid_runtime.pipeline.processing import Pipeline

__all__ = [
    "Deidentified",
    "Detected",
    "Fault",
    "Outcome",
    "Pipeline",
    "Quarantined",
    "load_pipeline",
    "surrogate_maker",
]
