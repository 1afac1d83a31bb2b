"""Annotated notes: one class, and one module for each format that they are read from and written as."""
