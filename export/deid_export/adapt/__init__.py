"""Adapt to a site: harvested templates, head versions, annotation rounds."""
