"""Model inference: manifest, trust, engines, and scores turned into spans."""
