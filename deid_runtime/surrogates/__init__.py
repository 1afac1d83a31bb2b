"""Surrogates: values that replace the spans of a note, look the same and do not reveal the originals.

Start with :class:`Surrogates`. :func:`write_key` makes the secret key that all surrogates depend on; :func:`load_key`
reads it.
"""

from deid_runtime.surrogates.keys import load_key, new_key, write_key
from deid_runtime.surrogates.operators import Surrogates, check_date_settings

__all__ = ["Surrogates", "check_date_settings", "load_key", "new_key", "write_key"]
