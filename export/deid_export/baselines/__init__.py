"""Systems of the literature, trained on the same notes as our own models, to show what those are worth."""
