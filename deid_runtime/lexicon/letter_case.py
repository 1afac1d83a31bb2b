"""Write a word in the letter case of another one."""

import string


def case_like(stand_in: str, original: str) -> str:
    """Return ``stand_in`` in lower case or capitals where ``original`` is; else as it is, which is title case in
    lists.
    """
    if original.isupper() and (len(original) > 1 or len(stand_in) == 1):
        return stand_in.upper()
    if original.islower():
        return stand_in.lower()
    return stand_in


def title_like(stand_in: str, original: str) -> str:
    """As :func:`case_like`, for phrases: each word of a lower-case ``stand_in`` is capitalised unless ``original``
    is not.
    """
    return case_like(string.capwords(stand_in), original)
