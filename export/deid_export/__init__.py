"""Training, export and quantising of the models; the only package here that imports torch and transformers."""
