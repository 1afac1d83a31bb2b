"""Evidence before a release: a second search of every note, and a signed bundle that documents the run."""
