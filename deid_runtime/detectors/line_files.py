"""Read the text files that users edit: UTF-8, one entry per line."""

import hashlib
from importlib.resources import files
from pathlib import Path

from deid_runtime.errors import SettingsError
from deid_runtime.system.installed_files import missing_file


def read_lines(path: Path | None, packaged: str, kind: str) -> tuple[list[str], str]:
    """Return the lines of the file at ``path`` and the SHA-256 of its bytes; None reads ``packaged`` of the package.

    Raises SettingsError, which names the ``kind`` of file, when it cannot be read or is not UTF-8.
    """
    name = str(path or packaged)
    try:
        data = (path or files("deid_runtime") / "data" / packaged).read_bytes()
        return data.decode("utf-8-sig").splitlines(), hashlib.sha256(data).hexdigest()
    except OSError as error:
        raise missing_file(error) or SettingsError(
            f"{kind} {name}: {error.strerror or 'unreadable'}; expected a UTF-8 text file"
        ) from None
    except UnicodeDecodeError as error:
        raise SettingsError(f"{kind} {name}: bad bytes at offset {error.start}; expected a UTF-8 text file") from None
