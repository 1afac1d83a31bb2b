"""Write a surrogate in the letter case of the original."""


def case_like(surrogate: str, original: str) -> str:
    """Return ``surrogate`` in lower case or capitals when ``original`` is; otherwise unchanged.

    The surrogates of the lists are in title case.
    """
    if original.isupper() and (len(original) > 1 or len(surrogate) == 1):
        return surrogate.upper()
    if original.islower():
        return surrogate.lower()
    return surrogate
