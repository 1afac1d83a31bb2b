"""What a hospital knows of a patient: structured records, and the date shift of each patient."""
