"""Merge the spans of all detectors: propagation within a note, and fusion of overlapping spans."""
