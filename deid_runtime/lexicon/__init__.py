"""Word lists and word forms that several packages share."""
