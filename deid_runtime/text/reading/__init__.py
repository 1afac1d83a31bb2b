"""The reading view: the text of a note as detectors read it, with an exact map back to the original offsets."""
