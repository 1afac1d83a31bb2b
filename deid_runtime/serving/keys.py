"""Keys by name: a client names one of the server's keys. It never sends a key or a path."""

import os
import re
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Final

from deid_runtime.errors import SettingsError
from deid_runtime.serving.refusals import RefusedError
from deid_runtime.surrogates import Surrogates, load_key

KEY_SUFFIX: Final = ".key"

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}", re.ASCII)
_CACHED: Final = 32


class KeyFolder:
    """The keys ``NAME.key`` of one folder. A key is read at first use, and again when its file has changed.

    ``allow_shared`` accepts keys that other users can open; see :func:`~deid_runtime.surrogates.keys.load_key`.
    """

    def __init__(self, folder: Path | None, make: Callable[[bytes], Surrogates], *, allow_shared: bool = False) -> None:
        self._folder = folder
        self._make = make
        self._allow_shared = allow_shared
        self._cache: OrderedDict[str, tuple[tuple[int, ...], Surrogates]] = OrderedDict()

    def surrogates(self, name: str) -> Surrogates:
        """Return the surrogates of the key named ``name``.

        Raises RefusedError when there is no such key. The message does not quote the name, because a client may
        have sent a key by mistake.
        """
        if self._folder is None:
            raise RefusedError(
                "this server has no keys; start it with a folder of them (`deid serve --keys FOLDER`)",
                "no_keys",
                stage="surrogates",
            )
        if not _NAME.fullmatch(name):
            raise RefusedError(
                "invalid key name; expected 1 to 64 letters, digits, _ and -; send the name of a key in the "
                "server's key folder, never a key",
                "key_name",
                stage="surrogates",
            )
        path = self._folder / (name + KEY_SUFFIX)
        try:
            state = os.stat(path)
            # The change time (ctime) also changes with the mode and the owner.
            version = (state.st_mtime_ns, state.st_ctime_ns, state.st_ino, state.st_size)
            known = self._cache.get(name)
            if known is None or known[0] != version:
                known = version, self._make(load_key(path, allow_shared=self._allow_shared))
        except (OSError, SettingsError) as error:
            raise RefusedError(
                f"the server cannot use a key of that name ({type(error).__name__}); ask its operator for the "
                f"names, or add NAME{KEY_SUFFIX}, made with `deid key new`, to its key folder",
                "unknown_key",
                stage="surrogates",
            ) from None
        self._cache[name] = known
        self._cache.move_to_end(name)
        while len(self._cache) > _CACHED:
            self._cache.popitem(last=False)
        return known[1]


def check_keys(folder: Path, *, allow_shared: bool = False) -> None:
    """Read all keys of a folder once, so that an unusable key is reported before a client needs it.

    Raises SettingsError for a key that cannot be used, or that others can open or guess.
    """
    for path in sorted(folder.glob(f"*{KEY_SUFFIX}")):
        load_key(path, allow_shared=allow_shared)
