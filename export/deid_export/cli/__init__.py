"""The command ``deid-export``."""
