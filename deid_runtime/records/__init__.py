"""The hospital's data on each patient: the structured record and the date shift."""
