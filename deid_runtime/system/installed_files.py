"""Distinguish a missing file of the installation from a missing file that the user named."""

import sys
from pathlib import Path

from deid_runtime.errors import InstallationError


def missing_file(error: OSError) -> InstallationError | None:
    """Return the error for a file of this package that cannot be read, or None when ``error`` is for another file."""
    package = Path(sys.modules["deid_runtime"].__path__[0])
    if not isinstance(error.filename, str) or not Path(error.filename).is_relative_to(package):
        return None
    return InstallationError(
        f"{error.filename} of the installation cannot be read ({error.strerror}); install deid-runtime again"
    )
