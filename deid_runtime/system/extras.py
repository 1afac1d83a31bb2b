"""How to install optional dependencies: the extras of pyproject.toml."""


def install_extra(extra: str) -> str:
    """Return the command that installs an extra, to put at the end of an error message."""
    return f"in a clone of deid-runtime: pip install '.[{extra}]'"
