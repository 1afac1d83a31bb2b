"""Spans of all detectors made one set: propagation within a note, and fusion of overlapping spans."""
