"""Make annotated notes from real prose: replace mentions such as *the patient*, *he* and *the surgeon* by names."""
