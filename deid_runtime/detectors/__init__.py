"""Detectors: one module or package per method, each a :data:`deid_runtime.spans.Detector` or similar."""
