"""Ed25519 signatures over bytes, with keys in PEM files (PKCS 8 and SubjectPublicKeyInfo), like those of openssl."""

import os
from pathlib import Path
from typing import Any, Final

from deid_runtime.errors import SettingsError
from deid_runtime.system.extras import install_extra
from deid_runtime.system.secret_files import check_secret_file, is_guessable, write_key_pair_files

SIGNATURE_BYTES: Final = 64

_KEY_FILE_LIMIT_BYTES: Final = 2**16


def write_signing_pair(path: Path) -> Path:
    """Write a new private key to ``path``, readable by its owner only, and the public key beside it.

    Returns the path of the public key.

    Raises SettingsError when one of the files exists, OutputError when one cannot be written.
    """
    serialization, ed25519 = _libraries()
    key = ed25519.Ed25519PrivateKey.generate()
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    public = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    return write_key_pair_files(path, private, public)


def sign(data: bytes, key: Path, *, allow_shared_key: bool = False) -> bytes:
    """Return the signature of ``data``, 64 bytes, by the private key in the file ``key``.

    Raises SettingsError for an unusable key or one that other users can open.
    """
    signature: bytes = _private_key(key, allow_shared=allow_shared_key).sign(data)
    return signature


def is_signed(data: bytes, signature: bytes, key: Path) -> bool:
    """Return whether ``signature`` is that of ``data`` by the public key in the file ``key``.

    Raises SettingsError when the file has no such key.
    """
    public = _public_key(key)
    from cryptography.exceptions import InvalidSignature

    try:
        public.verify(signature, data)
    except InvalidSignature:
        return False
    return True


def _private_key(path: Path, *, allow_shared: bool) -> Any:
    serialization, ed25519 = _libraries()
    data = _read(path, is_secret=True, allow_shared=allow_shared)
    try:
        key = serialization.load_pem_private_key(data, password=None)
    except Exception:  # noqa: BLE001 - the library raises many classes, and a message may quote the key
        key = None
    if not isinstance(key, ed25519.Ed25519PrivateKey):
        raise SettingsError(
            f"{path}: not a private key for signatures (Ed25519, PEM, not encrypted); make a pair with "
            "`deid key signing-pair`"
        )
    if is_guessable(key.private_bytes_raw()):
        raise SettingsError(
            f"{path}: the private key is not random, so others can guess it; make a pair with `deid key signing-pair`"
        )
    return key


def _public_key(path: Path) -> Any:
    serialization, ed25519 = _libraries()
    data = _read(path)
    if b"PRIVATE KEY" in data:
        raise SettingsError(
            f"{path}: this is the private key; give the public one (.pub) and keep the private one elsewhere"
        )
    try:
        key = serialization.load_pem_public_key(data)
    except Exception:  # noqa: BLE001 - the library raises many classes
        key = None
    if not isinstance(key, ed25519.Ed25519PublicKey):
        raise SettingsError(
            f"{path}: not a public key for signatures (Ed25519, PEM) as `deid key signing-pair` writes it"
        )
    return key


def _read(path: Path, *, is_secret: bool = False, allow_shared: bool = False) -> bytes:
    try:
        with path.open("rb") as file:
            if is_secret:
                check_secret_file(path, os.fstat(file.fileno()), allow_shared=allow_shared)
            return file.read(_KEY_FILE_LIMIT_BYTES)
    except OSError as error:
        raise SettingsError(
            f"cannot read the key {path}: {error.strerror}; `deid key signing-pair` makes a pair of keys"
        ) from error


def _libraries() -> tuple[Any, Any]:
    """Import and return the modules of the signature library, which only signed models and bundles need."""
    try:
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError:
        raise SettingsError(f"signatures need cryptography; {install_extra('signing')}") from None
    return serialization, ed25519
