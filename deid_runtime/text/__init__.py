"""From the text of a note to what detectors and models read: the reading view, sentences, words, windows."""
