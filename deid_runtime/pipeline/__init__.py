"""The pipeline: it finds the identifiers of notes and replaces them.

Import its modules, not this package: code that only handles outcomes must not load the lists and patterns.
"""
