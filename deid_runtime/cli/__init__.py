"""The command ``deid``."""
