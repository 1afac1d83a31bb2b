"""Surrogates: for each span of a note a stand-in that looks the same and tells nothing.

:class:`Surrogates` is the way in; :func:`write_key` and :func:`load_key` make and read the secret all of it rests on.
"""

from deid_runtime.surrogates.keys import load_key, new_key, write_key
from deid_runtime.surrogates.operators import Surrogates, check_date_settings

__all__ = ["Surrogates", "check_date_settings", "load_key", "new_key", "write_key"]
