"""Write a surrogate in the letter case of the original."""

import string


def case_like(stand_in: str, original: str) -> str:
    """Return the surrogate ``stand_in`` in lower case or capitals when ``original`` is; otherwise unchanged.

    The surrogates of the lists are in title case.
    """
    if original.isupper() and (len(original) > 1 or len(stand_in) == 1):
        return stand_in.upper()
    if original.islower():
        return stand_in.lower()
    return stand_in


def title_like(stand_in: str, original: str) -> str:
    """Return the phrase ``stand_in`` in the letter case of ``original``, as :func:`case_like` does.

    Each word of ``stand_in`` is capitalised, unless ``original`` is in lower case or capitals.
    """
    return case_like(string.capwords(stand_in), original)
