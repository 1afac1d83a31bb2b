"""Training data: annotated notes, clean clinical text, public lists, and text made from these."""
