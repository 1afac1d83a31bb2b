"""Files that tell where identifiers are: new ones, which their owner alone may read."""

import os
import stat
from collections.abc import Iterable
from pathlib import Path

from deid_runtime.errors import OutputError


def write_owner_only(path: Path, lines: Iterable[str], *, what: str = "places of identifiers") -> None:
    """Write ``lines``, which bring their line ends, to a new file that its owner alone may read; ``what`` names them.

    Raises OutputError when there is something at ``path`` already, be it a terminal, a pipe or a file that others may
    have open, and when the file cannot be written.
    """
    if path.name in ("", "-"):
        raise OutputError(f"{what} are written to a file alone, never to the terminal; give it a name")
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, stat.S_IRUSR | stat.S_IWUSR)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.writelines(lines)
        except BaseException:
            path.unlink(missing_ok=True)  # half of it would pass for all
            raise
    except FileExistsError:
        raise OutputError(
            f"{path}: exists; {what} go to a new file, which nobody else has open, never to the terminal"
        ) from None
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error.strerror or type(error).__name__}") from error
