"""Where worker processes of a cluster read the secret key. Plans, logs and pickled functions contain only the place.

A place is a string:

- ``file:/etc/deid/site.key``: a key file on every machine. A secret that Kubernetes mounts is such a file.
- ``sparkfile:site.key``: a key file that ``spark.sparkContext.addFile`` or ``spark-submit --files`` sent.
- ``env:DEID_SECRET_KEY``: an environment variable of the worker processes, which a cluster sets from its store of
  secrets (``{{secrets/scope/name}}`` on Databricks, ``secretKeyRef`` on Kubernetes).
"""

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from deid_runtime.errors import SettingsError
from deid_runtime.surrogates.keys import load_key, parse_key

_KINDS: Final = ("file", "sparkfile", "env")
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_KEY_LIKE: Final = re.compile(r"[0-9A-Fa-f]{32,}")


@dataclass(frozen=True, slots=True)
class KeyPlace:
    """The place of a key. Holds no secret. ``allow_shared`` is that of :func:`~deid_runtime.surrogates.keys.load_key`.

    Raises SettingsError for a place that is none of the above, without quoting it: it may be a key.
    """

    kind: Literal["file", "sparkfile", "env"]
    name: str
    allow_shared: bool = False

    @classmethod
    def parse(cls, place: "str | Path | KeyPlace", *, allow_shared: bool = False) -> "KeyPlace":
        """Return the place that a string of this module names; a path is a file on every machine.

        Raises SettingsError for a place that is none of these, without quoting it.
        """
        if isinstance(place, KeyPlace):
            return place
        kind, _, name = f"file:{place}".partition(":") if isinstance(place, Path) else place.partition(":")
        if kind not in _KINDS or not name or _KEY_LIKE.fullmatch(name):
            raise SettingsError(
                "the key is given by its place: file:PATH, sparkfile:NAME or env:VARIABLE; the given value is none of "
                "these. Never give the key itself: it would become part of the plan"
            )
        if kind == "env" and not _VARIABLE.fullmatch(name):
            raise SettingsError("after env: expected the name of an environment variable, as in env:DEID_SECRET_KEY")
        return cls(kind, name, allow_shared)  # type: ignore[arg-type]

    def load(self) -> bytes:
        """Return the key. Called in the process that uses it. Raises SettingsError when there is no valid key."""
        if self.kind == "env":
            value = os.environ.get(self.name)
            if value is None:
                raise SettingsError(
                    f"the environment variable {self.name} is not set in the worker processes; let the cluster set it "
                    "from its store of secrets"
                )
            return parse_key(os.fsencode(value), f"the environment variable {self.name}")
        path = file_of(self.kind, self.name)
        if self.kind == "sparkfile" and path.is_file() and not path.is_symlink():
            # Spark makes its copy of a sent file readable or executable for all users. The copy belongs
            # to this application.
            path.chmod(0o600)
        return load_key(path, allow_shared=self.allow_shared)


def file_of(kind: str, name: str) -> Path:
    """Return the path of a file on this machine: a path itself, or the file that Spark sent under this name."""
    if kind == "sparkfile":
        from pyspark import SparkFiles

        return Path(SparkFiles.get(name))
    return Path(name)
