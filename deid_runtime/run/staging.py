"""Write an output completely or not at all.

All files are first written to a private folder beside the output, ``.NAME.partial-TOKEN``. Only its owner can enter it,
whatever the umask. At the end the parts are moved to their final paths: first the body, then the quarantine, last the
run report. So an existing run report means that the output is complete. A lock on the output prevents two runs at once.
The next run to the same output removes the files of a killed run.
"""

import json
import os
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from deid_runtime.errors import OutputError
from deid_runtime.run.leftovers import partial_name, remove_crosswalk_leftovers, remove_leftovers
from deid_runtime.system.digests import create_file
from deid_runtime.system.output_lock import output_lock
from deid_runtime.system.placing import CROSSWALK, JOURNAL, LAST, OutputPart, place
from deid_runtime.system.private_folders import pinned, private_folder, remove
from deid_runtime.system.stop_signals import signals_held

_BODY: Final = "body"
_QUARANTINE: Final = "quarantine"


def manifest_path(out: Path) -> Path:
    """Return the path of the run report, beside the output ``out``."""
    return out.with_name(f"{out.name}.manifest.json")


def quarantine_path(out: Path) -> Path:
    """Return the path of the quarantine: beside the output ``out``, not inside a folder that may be shared."""
    return out.with_name(f"{out.name}.quarantine.jsonl")


@contextmanager
def writing(out: Path) -> Iterator[None]:
    """Convert an OSError about a file that cannot be written to an OutputError."""
    try:
        yield
    except OSError as error:
        raise OutputError(
            f"{out}: cannot be written: {error.strerror or type(error).__name__}; no output was written"
        ) from error


class Staging:
    """Temporary paths to write to until :meth:`commit`. A context manager; leaving it without a commit removes them.

    Inside the context, ``body`` is a path that does not exist yet, or an empty folder when the output ``is_folder``.
    ``quarantine`` and ``crosswalk`` are paths; ``crosswalk`` is None without a crosswalk. Other users cannot access
    these paths. The locks on the output and on the crosswalk are held until the context ends.

    A stop signal after the commit has no effect: leaving the context suppresses it.
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
            raise OutputError(f"{out}: the output needs a file or folder name; add one")
        self._out = Path(os.path.abspath(out))
        self._crosswalk_to = None if crosswalk is None else Path(os.path.abspath(crosswalk))
        self._is_folder = is_folder
        self._overwrite = overwrite
        self._inputs = tuple(inputs)
        _check_place(self._out, inputs)
        if self._crosswalk_to is not None:
            _check_crosswalk_place(self._crosswalk_to, self._out, inputs)
        self._parts: list[OutputPart] = []
        self.parent = self._out.parent  # the folder of the output; inside the context, a path that no rename changes
        self._stack = ExitStack()
        self.is_committed = False

    def __enter__(self) -> Self:
        """Lock the output and make the private folder.

        Raises OutputError when another run holds the lock, or when an existing file or folder is in the way.
        """
        token = secrets.token_hex(4)
        with writing(self._out), ExitStack() as stack:
            parent = stack.enter_context(pinned(Path(os.path.realpath(self._out.parent))))
            stack.enter_context(output_lock(parent, self._out))
            remove_leftovers(parent, self._out, self._parts_of_killed(parent))
            _check_free(parent, self._out, is_folder=self._is_folder, overwrite=self._overwrite)
            self.parent = parent
            folder = _enter_private(stack, parent, self._out, token)
            self._parts = self._make_parts(parent, folder)
            if self._crosswalk_to is not None:
                parent = stack.enter_context(pinned(Path(os.path.realpath(self._crosswalk_to.parent))))
                stack.enter_context(output_lock(parent, self._crosswalk_to))
                remove_crosswalk_leftovers(parent, self._crosswalk_to)
                _check_crosswalk_free(parent, self._crosswalk_to, overwrite=self._overwrite)
                inside = _enter_private(stack, parent, self._crosswalk_to, token)
                self._parts.insert(-1, OutputPart(CROSSWALK, inside, parent, self._crosswalk_to))
            if self._is_folder:
                self.body.mkdir()
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        with signals_held():
            self._stack.close()
        return self.is_committed and isinstance(error, KeyboardInterrupt)

    def clean_up(self, also: Callable[[Path], object]) -> None:
        """Remove the files of a run that was killed when its output was in place.

        ``also`` gets the folder of the output.
        Raises OutputError when another run holds the lock.
        """
        with (
            writing(self._out),
            pinned(Path(os.path.realpath(self._out.parent))) as parent,
            output_lock(parent, self._out),
        ):
            remove_leftovers(parent, self._out, self._parts_of_killed(parent))
            also(parent)

    @property
    def body(self) -> Path:
        """The temporary path for the notes or spans."""
        return self._new(_BODY)

    @property
    def quarantine(self) -> Path:
        """The temporary path for the quarantine."""
        return self._new(_QUARANTINE)

    @property
    def crosswalk(self) -> Path | None:
        """The temporary path for the crosswalk; None without a crosswalk."""
        return None if self._crosswalk_to is None else self._new(CROSSWALK)

    def commit(self, manifest: Mapping[str, object]) -> None:
        """Move all parts to their final paths, or none: when one move fails, the earlier files are restored.

        Stop signals during the moves have no effect, because the output is complete. Raises OutputError when a file
        cannot be written, or when a file or folder has appeared at a final path since the run began.
        """
        with writing(self._out):
            with create_file(self._new(LAST), mode=0o666) as file:
                file.write((json.dumps(manifest, ensure_ascii=False, indent=2) + "\n").encode("utf-8"))
            self._flush()
            with signals_held():
                body, *others = self._parts
                _check_free(body.parent, self._out, is_folder=self._is_folder, overwrite=self._overwrite)
                if self._crosswalk_to is not None:
                    _check_crosswalk_free(others[-2].parent, self._crosswalk_to, overwrite=self._overwrite)
                place(self._parts, body.folder / JOURNAL, overwrite=self._overwrite)
                self.is_committed = True
                for part in self._parts:
                    remove(part.replaced)
                for parent in {part.parent for part in self._parts}:
                    _flush_path(parent)

    def _new(self, name: str) -> Path:
        [path] = [part.new for part in self._parts if part.name == name]
        return path

    def _make_parts(self, parent: Path, folder: Path) -> list[OutputPart]:
        """Return the parts in the order in which they are moved to their final paths."""
        return [
            OutputPart(_BODY, folder, parent, self._out, self._is_folder),
            OutputPart(_QUARANTINE, folder, parent, quarantine_path(self._out)),
            OutputPart(LAST, folder, parent, manifest_path(self._out)),
        ]

    def _parts_of_killed(self, parent: Path) -> Callable[[Path, str, Mapping[str, str]], list[OutputPart]]:
        def parts_of(folder: Path, token: str, journal: Mapping[str, str]) -> list[OutputPart]:
            parts = self._make_parts(parent, folder)
            if CROSSWALK in journal:
                crosswalk = Path(journal[CROSSWALK])
                inside = crosswalk.with_name(partial_name(crosswalk.name, token))
                if inside.is_dir():
                    parts.insert(-1, OutputPart(CROSSWALK, inside, crosswalk.parent, crosswalk))
            return parts

        return parts_of

    def _flush(self) -> None:
        if self._is_folder:
            os.sync()  # one call, because there may be millions of small files
        for part in self._parts:
            if not part.is_folder and part.new.exists():
                _flush_path(part.new)


def _enter_private(stack: ExitStack, parent: Path, out: Path, token: str) -> Path:
    name = partial_name(out.name, token)
    return stack.enter_context(private_folder(parent, name, out.with_name(name)))


def _check_place(out: Path, inputs: Sequence[Path]) -> None:
    """Raise OutputError when the output is an input, lies in an input or contains an input."""
    if not out.parent.is_dir():
        raise OutputError(f"{out.parent}: this folder does not exist; create it first")
    target = out.resolve()
    for path in inputs:
        source = path.resolve()
        if target == source or source in target.parents or target in source.parents:
            raise OutputError(f"{out}: overlaps the input {path}; write elsewhere, because inputs are never changed")


def _check_free(parent: Path, out: Path, *, is_folder: bool, overwrite: bool) -> None:
    """Raise OutputError when an existing path may not be replaced; ``parent`` is the folder of ``out``."""
    at = parent / out.name
    for beside in (manifest_path, quarantine_path):
        if beside(at).is_dir() or beside(at).is_symlink():
            raise OutputError(f"{beside(out)}: exists and is not a file; choose another name for the output")
    if os.path.lexists(at):
        if at.is_symlink() or not (at.is_dir() if is_folder else at.is_file()):
            raise OutputError(f"{out}: exists and is not a {'folder' if is_folder else 'file'}; choose another name")
        # With a mistyped folder name, --overwrite would delete the contents of that folder.
        if is_folder and any(at.iterdir()) and not manifest_path(at).exists():
            raise OutputError(f"{out}: exists and was not written by this program; empty it or choose another name")
    if not overwrite:
        for name in (out, manifest_path(out), quarantine_path(out)):
            if os.path.lexists(parent / name.name):
                raise OutputError(f"{name}: exists; choose another name or replace it with --overwrite")


def _check_crosswalk_place(crosswalk: Path, out: Path, inputs: Sequence[Path]) -> None:
    """Raise OutputError when the crosswalk is one of the other files or lies inside the output or an input."""
    _check_place(crosswalk, inputs)
    target, other = crosswalk.resolve(), out.resolve()
    if target in (other, *(beside(other) for beside in (manifest_path, quarantine_path))) or other in target.parents:
        raise OutputError(f"{crosswalk}: the crosswalk must not be the output or be inside it; write it elsewhere")


def _check_crosswalk_free(parent: Path, crosswalk: Path, *, overwrite: bool) -> None:
    """Raise OutputError when an existing path may not be replaced; ``parent`` is the folder of ``crosswalk``."""
    at = parent / crosswalk.name
    if at.is_dir() or at.is_symlink():
        raise OutputError(f"{crosswalk}: exists and is not a file; choose another name")
    if os.path.lexists(at) and not overwrite:
        raise OutputError(f"{crosswalk}: exists; choose another name or replace it with --overwrite")


def _flush_path(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
