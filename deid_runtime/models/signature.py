"""Sign and check model repositories: Ed25519 over the bytes of ``manifest.json``, which holds the digests of all files.

The signature is ``manifest.json.sig``, 64 bytes. Keys are PEM files (PKCS 8 and SubjectPublicKeyInfo), so openssl can
create and check the same signatures: ``openssl pkeyutl -verify -pubin -inkey KEY.pub -rawin -in manifest.json -sigfile
manifest.json.sig``.
"""

import secrets
from contextlib import suppress
from pathlib import Path
from typing import Final

from deid_runtime.errors import ModelError, OutputError
from deid_runtime.models.manifest import MANIFEST, Manifest, read_manifest
from deid_runtime.system.signatures import SIGNATURE_BYTES, is_signed, sign

SIGNATURE: Final = f"{MANIFEST}.sig"


def sign_models(folder: Path, key: Path, *, allow_shared_key: bool = False) -> Path:
    """Check the models in ``folder``, sign their manifest and return the path of the signature.

    An existing signature is replaced.

    Raises ModelError for models that do not match their manifest, SettingsError for an unusable key or one that other
    users can open, OutputError when the signature cannot be written.
    """
    signature = sign(read_manifest(folder).raw, key, allow_shared_key=allow_shared_key)
    path = folder / SIGNATURE
    partial = folder / f".{SIGNATURE}.{secrets.token_hex(4)}"
    try:
        partial.write_bytes(signature)
        partial.replace(path)
    except OSError as error:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
        raise OutputError(f"cannot write {path}: {error.strerror}") from error
    return path


def check_signature(manifest: Manifest, key: Path) -> None:
    """Check the signature of the manifest against the public key in the file ``key``.

    Raises ModelError when the signature is missing or wrong, SettingsError when the file holds no such key.
    """
    path = manifest.folder / SIGNATURE
    try:
        with path.open("rb") as file:
            signature = file.read(SIGNATURE_BYTES + 1)
    except OSError as error:
        raise ModelError(
            f"{path}: the signature cannot be read ({error.strerror}); whoever made the models signs them with "
            "`deid models sign`"
        ) from error
    if not is_signed(manifest.raw, signature, key):
        raise ModelError(
            f"{path} is no signature of the {MANIFEST} beside it by the key in {key}; the models were changed, or "
            "signed by somebody else: do not use them"
        )
