"""How to install what only some uses need: the extras of pyproject.toml."""


def install_extra(extra: str) -> str:
    """Return the command that installs an extra, for an error that ends with it."""
    return f"in a clone of deid-runtime: pip install '.[{extra}]'"
