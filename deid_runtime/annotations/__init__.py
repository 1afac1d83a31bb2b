"""Annotated notes: read and write text with marked identifiers in several formats."""
