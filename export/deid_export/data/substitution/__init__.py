"""Annotated notes out of real prose: people set into the places of *the patient*, *he* and *the surgeon*."""
