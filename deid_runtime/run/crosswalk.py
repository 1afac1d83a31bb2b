"""The crosswalk: the original of every surrogate, encrypted to a public key. It lets an honest broker re-identify.

A run writes a crosswalk only on request. The file is in the age format (age-encryption.org/v1, X25519), so
``age --decrypt`` reads it too. Its content is JSON Lines, one object per note::

    {"note", "note_pseudonym", "patient", "patient_pseudonym", "spans": [{"start", "end", "label", "original",
    "surrogate", "surrogate_start", "surrogate_end"}]}

``start`` and ``end`` are half-open code point offsets in the original text. ``surrogate_start`` and ``surrogate_end``
are the same in the rewritten text. The run has only the public key: it can write the crosswalk but cannot read it. No
unencrypted part is ever on disk. age detects changed and truncated files. It does not authenticate the writer: anyone
with the public key can make a crosswalk.
"""

import json
import os
import threading
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Final, Self

from deid_runtime.errors import OutputError, SettingsError, SourceError
from deid_runtime.pipeline.outcomes import Deidentified
from deid_runtime.spans import Note
from deid_runtime.system.digests import FileDigest, create_file
from deid_runtime.system.extras import install_extra
from deid_runtime.system.secret_files import check_secret_file, is_guessable, write_key_pair_files

#: A longer line cannot be the crosswalk of a note, because the size of input records is limited.
_LINE_LIMIT_BYTES: Final = 2**29
_KEY_FILE_LIMIT_BYTES: Final = 2**16
_SECRET: Final = "AGE-SECRET-KEY-"
_PUBLIC: Final = "age1"
_BECH32: Final = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"  # the digits of age keys, five bits each
_BECH32_CHECKSUM_DIGITS: Final = 6
_BECH32_GENERATORS: Final = (0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)


def crosswalk_line(note: Note, result: Deidentified) -> bytes:
    """Return the crosswalk of one note as one line of JSON, UTF-8."""
    spans = [
        {
            "start": span.start,
            "end": span.end,
            "label": span.label,
            "original": note.text[span.start : span.end],
            "surrogate": result.text[start:end],
            "surrogate_start": start,
            "surrogate_end": end,
        }
        for span, (start, end) in zip(result.spans, result.replacements, strict=True)
    ]
    row = {
        "note": note.id,
        "note_pseudonym": result.note_pseudonym,
        "patient": note.patient,
        "patient_pseudonym": result.patient_pseudonym,
        "spans": spans,
    }
    return (json.dumps(row, ensure_ascii=False) + "\n").encode("utf-8")


def public_key(given: str) -> str:
    """Return the public key. ``given`` is the key itself or the path of a file that contains it.

    Raises SettingsError when there is no public key, or when the file contains a private key.
    """
    text = given.strip()
    if not text.startswith(_PUBLIC):
        text = _read_key_file(Path(given), "public key")
    if _SECRET in text:
        raise SettingsError(
            f"{given}: this is the private key; give the public one (.pub) and keep the private one elsewhere"
        )
    keys = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]
    if len(keys) != 1:
        raise SettingsError(f"{given}: expected one public key, as `deid key pair` writes it, found {len(keys)}")
    try:
        _age().x25519.Recipient.from_str(keys[0])
    except _age().RecipientError:
        raise SettingsError(f"{given}: not a public key as `deid key pair` writes it (age1...)") from None
    return keys[0]


def write_key_pair(path: Path) -> Path:
    """Write a new key pair and return the path of the public key.

    The private key is written to ``path``, readable by its owner only; the public key to ``path`` with the suffix
    ``.pub``.

    Raises SettingsError when one of the files exists, OutputError when one cannot be written.
    """
    identity = _age().x25519.Identity.generate()
    public = str(identity.to_public())
    private = f"# public key: {public}\n{identity}\n"
    return write_key_pair_files(path, private.encode("ascii"), f"{public}\n".encode("ascii"))


class CrosswalkWriter:
    """Encrypts lines to ``path`` one by one, in bounded memory. A context manager; leave it before using the file.

    The encryption function reads from a file object until its end, so it runs in a thread and reads from a pipe.
    """

    def __init__(self, path: Path, recipients: Sequence[str]) -> None:
        self._failure: Exception | None = None
        self.digest: FileDigest | None = None  # of the encrypted file, known once it is closed
        keys = [_age().x25519.Recipient.from_str(key) for key in recipients]
        file = create_file(path, self._take)
        reading, writing = os.pipe()
        source = open(reading, "rb")  # noqa: SIM115
        self._pipe = open(writing, "wb")  # noqa: SIM115
        self._thread = threading.Thread(target=self._encrypt, args=(source, file, keys), name="crosswalk", daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
            return
        with suppress(OutputError):  # the first error is the one to report
            self.close()

    def add(self, line: bytes) -> None:
        """Write one line of :func:`crosswalk_line`. Raises OutputError when an earlier line could not be written."""
        try:
            self._pipe.write(line)
        except BrokenPipeError:
            self.close()
            raise  # not reached: the thread closes its end early only on failure, and `close` raises that failure

    def close(self) -> None:
        """Finish the file. Raises OutputError when it could not be written."""
        with suppress(BrokenPipeError):  # the thread has the cause
            self._pipe.close()
        self._thread.join()
        if self._failure is not None:
            raise OutputError(f"the crosswalk cannot be written: {_cause(self._failure)}") from self._failure

    def _take(self, digest: FileDigest) -> None:
        self.digest = digest

    def _encrypt(self, source: BinaryIO, target: BinaryIO, keys: list[Any]) -> None:
        try:
            with source, target:
                _age().encrypt_io(source, target, keys)
                target.flush()
                os.fsync(target.fileno())
        except Exception as error:  # noqa: BLE001 - `close` raises it: a thread cannot raise to its caller
            self._failure = error


def _cause(failure: Exception) -> str:
    return failure.strerror or type(failure).__name__ if isinstance(failure, OSError) else str(failure)


def read_crosswalk(
    path: Path,
    key: Path,
    take: Callable[[bytes], object],
    only: Collection[str] = (),
    *,
    allow_shared_key: bool = False,
) -> int:
    """Decrypt the crosswalk at ``path``, call ``take`` with each line, and return the number of lines.

    ``only`` are ids or pseudonyms of notes or patients; empty means all. When an error follows, the lines already
    passed to ``take`` are authentic but incomplete. ``allow_shared_key`` accepts a private key that other users can
    open.

    Raises SettingsError for an invalid or wrong private key, or one that others can open or guess; SourceError for a
    file that was changed or truncated.
    """
    identities = _identities(key, allow_shared=allow_shared_key)
    sink = _Lines(path, take, frozenset(only))
    try:
        file = path.open("rb")
    except OSError as error:
        raise SourceError(f"cannot read {path}: {error.strerror}") from error
    with file:
        try:
            _age().decrypt_io(file, sink, identities)
        except _age().DecryptError as error:
            if "matching keys" in str(error):
                raise SettingsError(
                    f"{path}: not encrypted for the key in {key}, or its beginning was changed"
                ) from None
            raise SourceError(f"{path}: not a crosswalk, or its beginning was changed") from None
        except OSError as error:
            if error.errno is not None:  # a disk error, or an error of `take`; pyrage sets no errno
                raise
            raise SourceError(f"{path}: changed or truncated since it was written; do not rely on the output") from None
    if sink.rest:
        raise SourceError(f"{path}: ends in the middle of a line")
    return sink.count


class _Lines:
    """A writable file object that passes whole lines to ``take``."""

    def __init__(self, path: Path, take: Callable[[bytes], object], only: frozenset[str]) -> None:
        self._path = path
        self._take = take
        self._only = only
        self.rest = bytearray()
        self.count = 0

    def write(self, data: bytes) -> int:
        searched = len(self.rest)
        self.rest += data
        start = 0
        while (end := self.rest.find(b"\n", max(start, searched))) >= 0:
            self._line(bytes(self.rest[start : end + 1]))
            start = end + 1
        del self.rest[:start]
        if len(self.rest) > _LINE_LIMIT_BYTES:
            raise SourceError(f"{self._path}: a line of more than {_LINE_LIMIT_BYTES:,} bytes; this is not a crosswalk")
        return len(data)

    def flush(self) -> None:
        pass

    def _line(self, line: bytes) -> None:
        if self._only:
            try:
                row = json.loads(line)
                names = {row["note"], row["note_pseudonym"], row["patient"], row["patient_pseudonym"]}
            except (ValueError, KeyError, TypeError, RecursionError):
                raise SourceError(f"{self._path}: has a line that is not the crosswalk of a note") from None
            if names.isdisjoint(self._only):
                return
        self._take(line)
        self.count += 1


def _identities(path: Path, *, allow_shared: bool) -> list[Any]:
    text = _read_key_file(path, "private key", allow_shared=allow_shared)
    keys = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]
    if not keys:
        raise SettingsError(f"{path}: the file has no private key; expected one as `deid key pair` writes it")
    try:
        identities = [_age().x25519.Identity.from_str(key) for key in keys]
    except _age().IdentityError:
        raise SettingsError(f"{path}: not a private key as `deid key pair` writes it ({_SECRET}1...)") from None
    if any(is_guessable(_secret_bytes(key)) for key in keys):
        raise SettingsError(
            f"{path}: the private key is not random, so others can guess it; make a pair with `deid key pair`"
        )
    return identities


def derived_private_key(key: bytes, purpose: str) -> str:
    """Return an age private key that is derived from a secret ``key`` and a ``purpose``.

    Nobody without the key knows it.
    A run encrypts the crosswalk of each shard to such a key, so that a later run with the same key can join them.
    """
    secret = blake2b(purpose.encode(), digest_size=32, key=key, person=b"deid crosswalk").digest()
    number, digits = int.from_bytes(secret, "big") << 4, []  # 256 bits and 4 bits of padding are 52 digits
    for _ in range(52):
        digits.append(number & 31)
        number >>= 5
    digits.reverse()
    prefix = _SECRET.lower()
    expanded = [ord(letter) >> 5 for letter in prefix] + [0] + [ord(letter) & 31 for letter in prefix]
    # BIP 173, as used by the age format.
    checksum = _bech32_sum([*expanded, *digits, *[0] * _BECH32_CHECKSUM_DIGITS]) ^ 1
    digits += [checksum >> 5 * place & 31 for place in reversed(range(_BECH32_CHECKSUM_DIGITS))]
    return f"{prefix}1{''.join(_BECH32[digit] for digit in digits)}".upper()


def _bech32_sum(digits: Sequence[int]) -> int:
    found = 1
    for digit in digits:
        top = found >> 25
        found = (found & 0x1FFFFFF) << 5 ^ digit
        for place, generator in enumerate(_BECH32_GENERATORS):
            found ^= generator if top >> place & 1 else 0
    return found


def public_of(private_key: str) -> str:
    """Return the public key of an age private key."""
    return str(_age().x25519.Identity.from_str(private_key).to_public())


def read_encrypted(path: Path, private_key: str, take: Callable[[bytes], object]) -> None:
    """Decrypt the crosswalk of a shard and call ``take`` with each line. Raises OutputError when it was changed."""
    sink = _Lines(path, take, frozenset())
    try:
        with path.open("rb") as file:
            _age().decrypt_io(file, sink, [_age().x25519.Identity.from_str(private_key)])
    except (OSError, _age().DecryptError) as error:
        raise OutputError("a finished shard of the crosswalk was changed on disk; run again with --resume") from error


def _secret_bytes(key: str) -> bytes:
    """Return the 32 bytes of an age private key. The caller has checked that the key is valid."""
    digits = key.lower().rpartition("1")[2][:-_BECH32_CHECKSUM_DIGITS]
    number = 0
    for digit in digits:
        number = number << 5 | _BECH32.index(digit)
    return (number >> (5 * len(digits) - 256)).to_bytes(32, "big")


def _read_key_file(path: Path, what: str, *, allow_shared: bool = True) -> str:
    try:
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            content = file.read(_KEY_FILE_LIMIT_BYTES + 1)
    except OSError as error:
        raise SettingsError(
            f"cannot read the {what} {path}: {error.strerror}; `deid key pair` makes a pair of keys"
        ) from error
    if len(content) > _KEY_FILE_LIMIT_BYTES or not content.isascii():
        raise SettingsError(f"{path}: not a {what} as `deid key pair` writes it")
    text = content.decode("ascii")
    if _SECRET in text:  # a public key given by mistake needs no check: everyone may read it
        check_secret_file(path, status, allow_shared=allow_shared)
    return text


def _age() -> Any:
    """Import and return pyrage, the library for the age format. Only the crosswalk needs it."""
    try:
        import pyrage
    except ImportError:
        raise SettingsError(f"crosswalks need pyrage; {install_extra('crosswalk')}") from None
    return pyrage
