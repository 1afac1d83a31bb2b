"""The reading view: a note as detectors read it, with an exact map back to its text."""
