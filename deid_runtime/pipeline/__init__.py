"""The pipeline: it finds the identifiers of notes and replaces them.

Its modules are imported one by one: whoever handles outcomes alone need not load the lists and patterns.
"""
