"""Output that appears whole or not at all.

Everything is written under hidden names beside the target and renamed at the end: first the body, then the quarantine,
the manifest last. So a manifest says that all of it is there; whatever ended a run early, no half output looks whole.
"""

import json
import os
import secrets
import shutil
import signal
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from deid_runtime.errors import OutputError


def manifest_path(out: Path) -> Path:
    """Return where the manifest of the output ``out`` lies: beside it."""
    return out.with_name(f"{out.name}.manifest.json")


def quarantine_path(out: Path) -> Path:
    """Return where the quarantine of the output ``out`` lies: beside it, not in a folder that may be handed on."""
    return out.with_name(f"{out.name}.quarantine.jsonl")


@contextmanager
def writing(out: Path) -> Iterator[None]:
    """Turn what the system says of a file that cannot be written into an OutputError."""
    try:
        yield
    except OSError as error:
        raise OutputError(f"{out}: cannot be written: {error.strerror or type(error).__name__}") from error


class Staging:
    """Places to write to until :meth:`commit`; leaving the context without it removes them.

    ``body`` is a path where nothing is yet, or an empty folder when the output ``is_folder``; ``quarantine`` is a path,
    and ``crosswalk`` one beside the file that was asked for, None without.
    """

    def __init__(
        self,
        out: Path,
        inputs: Sequence[Path],
        *,
        is_folder: bool,
        overwrite: bool,
        crosswalk: Path | None = None,
    ) -> None:
        if out.name in ("", ".."):
            raise OutputError(f"{out}: give the output a name of its own")
        self._out = Path(os.path.abspath(out))
        self._is_folder = is_folder
        self._overwrite = overwrite
        self._inputs = tuple(inputs)
        _check_place(self._out, inputs)
        _check_free(self._out, is_folder=is_folder, overwrite=overwrite)
        hidden = f".{self._out.name}.partial-{secrets.token_hex(4)}"
        self.body = self._out.with_name(hidden)
        self.quarantine = self._out.with_name(f"{hidden}.quarantine")
        self._manifest = self._out.with_name(f"{hidden}.manifest")
        self._hidden = hidden
        self.crosswalk: Path | None = None
        self._crosswalk_to: Path | None = None
        if crosswalk is not None:
            self._crosswalk_to = Path(os.path.abspath(crosswalk))
            _check_crosswalk(self._crosswalk_to, self._out, inputs, overwrite=overwrite)
            self.crosswalk = self._crosswalk_to.with_name(f".{crosswalk.name}.partial-{secrets.token_hex(4)}")

    def __enter__(self) -> Self:
        with writing(self._out):
            if self._is_folder:
                self.body.mkdir()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _remove(self.body)
        for path in (self.quarantine, self._manifest, self.crosswalk):
            if path is None:
                continue
            with suppress(OSError):
                path.unlink(missing_ok=True)

    def commit(self, manifest: Mapping[str, object]) -> None:
        """Give everything its name, or nothing: where one cannot be given, what was there before is there again.

        Stop signals that come meanwhile come too late: the output is whole. Raises OutputError when a file cannot be
        written, and when something has come into the way since the run began.
        """
        with writing(self._out):
            self._manifest.write_text(json.dumps(manifest, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
            self._flush()
            with _signals_held():
                _check_free(self._out, is_folder=self._is_folder, overwrite=self._overwrite)
                if self._crosswalk_to is not None:
                    _check_crosswalk(self._crosswalk_to, self._out, self._inputs, overwrite=self._overwrite)
                for replaced in self._rename():
                    _remove(replaced)
                _flush_path(self._out.parent)
                if self._crosswalk_to is not None:
                    _flush_path(self._crosswalk_to.parent)

    def _rename(self) -> list[Path]:
        """Move what is to be replaced aside and the new into its places, or undo both; return what was replaced."""
        # Without its manifest the old output is no longer whole; the new is whole when it has its own.
        places = [manifest_path(self._out), self._out, quarantine_path(self._out)]
        moves = [(self.quarantine, quarantine_path(self._out)), (self._manifest, manifest_path(self._out))]
        if self.body.exists():  # a single file whose one note is in quarantine has none
            moves.insert(0, (self.body, self._out))
        if self.crosswalk is not None and self._crosswalk_to is not None:
            places.append(self._crosswalk_to)
            moves.insert(-1, (self.crosswalk, self._crosswalk_to))
        old = [path for path in places if os.path.lexists(path)]
        aside = [path.with_name(f"{self._hidden}.replaced-{number}") for number, path in enumerate(old)]
        done: list[tuple[Path, Path]] = []
        try:
            for source, target in (*zip(old, aside, strict=True), *moves):
                source.rename(target)
                done.append((source, target))
        except OSError:
            for source, target in reversed(done):
                target.rename(source)
            raise
        return aside

    def _flush(self) -> None:
        if self._is_folder:
            os.sync()  # one call for what may be millions of small files
        elif self.body.exists():
            _flush_path(self.body)
        _flush_path(self.quarantine)
        _flush_path(self._manifest)


def _check_place(out: Path, inputs: Sequence[Path]) -> None:
    """Raise OutputError for an output that is an input, lies in one or holds one."""
    if not out.parent.is_dir():
        raise OutputError(f"{out.parent}: no such folder; create it first")
    target = out.resolve()
    for path in inputs:
        source = path.resolve()
        if target == source or source in target.parents or target in source.parents:
            raise OutputError(f"{out}: overlaps the input {path}; write elsewhere, inputs are never changed")


def _check_free(out: Path, *, is_folder: bool, overwrite: bool) -> None:
    """Raise OutputError when something is in the way that may not be replaced."""
    for path in (manifest_path(out), quarantine_path(out)):
        if path.is_dir() or path.is_symlink():
            raise OutputError(f"{path}: exists and is not a file; choose another name for the output")
    if os.path.lexists(out):
        if out.is_symlink() or out.is_dir() != is_folder:
            raise OutputError(f"{out}: exists and is not a {'folder' if is_folder else 'file'}; choose another name")
        # --overwrite with a mistyped folder would delete whatever is in it.
        if is_folder and any(out.iterdir()) and not manifest_path(out).exists():
            raise OutputError(f"{out}: exists and was not written by this program; empty it or choose another name")
    if not overwrite:
        for path in (out, manifest_path(out), quarantine_path(out)):
            if os.path.lexists(path):
                raise OutputError(f"{path}: exists; choose another name or replace it with --overwrite")


def _check_crosswalk(crosswalk: Path, out: Path, inputs: Sequence[Path], *, overwrite: bool) -> None:
    """Raise OutputError for a crosswalk that is one of the other files, would be handed on, or is in the way."""
    _check_place(crosswalk, inputs)
    target, other = crosswalk.resolve(), out.resolve()
    if target in (other, *(beside(other) for beside in (manifest_path, quarantine_path))) or other in target.parents:
        raise OutputError(f"{crosswalk}: the crosswalk must not be the output or lie in it; write it elsewhere")
    if crosswalk.is_dir() or crosswalk.is_symlink():
        raise OutputError(f"{crosswalk}: exists and is not a file; choose another name")
    if os.path.lexists(crosswalk) and not overwrite:
        raise OutputError(f"{crosswalk}: exists; choose another name or replace it with --overwrite")


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink(missing_ok=True)


def _flush_path(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def _signals_held() -> Iterator[None]:
    """Let stop signals pass. A mask of this thread alone would not: the system gives them to another thread, and Python
    runs the handler in the main one.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # handlers run in the main thread, and only that one may set them
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number in before:
        signal.signal(number, lambda *_: None)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
