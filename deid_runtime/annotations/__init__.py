"""Annotated notes: one class for them, and one module per format that reads and writes them."""
