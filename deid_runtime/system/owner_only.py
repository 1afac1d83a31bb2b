"""Write new files that reveal where identifiers are. Only their owner may read them."""

import os
import stat
from collections.abc import Iterable
from pathlib import Path

from deid_runtime.errors import OutputError


def write_owner_only(path: Path, lines: Iterable[str], *, what: str = "places of identifiers") -> None:
    """Write ``lines`` to a new file that only its owner may read. Each line includes its line end.

    ``what`` names the content in errors. Raises OutputError when the file cannot be written, and when ``path`` already
    exists: it may be a terminal, a pipe or a file that others have open.
    """
    if path.name in ("", "-"):
        raise OutputError(f"{what} are written only to a file, never to the terminal; give the name of a new file")
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, stat.S_IRUSR | stat.S_IWUSR)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.writelines(lines)
        except BaseException:
            path.unlink(missing_ok=True)  # an incomplete file would look complete
            raise
    except FileExistsError:
        raise OutputError(f"{path}: already exists; {what} go only to a new file, which nobody else has open") from None
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error.strerror or type(error).__name__}") from error
