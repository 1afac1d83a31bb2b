"""Prepare the text of a note for detectors and models: the reading view, sentences, words and windows."""
