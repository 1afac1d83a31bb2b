"""Client of a server that runs the models; the one package that imports tritonclient."""
