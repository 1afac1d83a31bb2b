"""Word lists and word forms that several rooms share."""
