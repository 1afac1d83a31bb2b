"""Annotated corpora: read and written in every form, and made shareable by putting other values into their spans."""
