"""Train, export and quantise the models; only this package imports torch and transformers."""
