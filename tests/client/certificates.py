"""Throw-away certificates: authorities, servers and clients, valid, expired or for another name."""

import ipaddress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

x509: Any = pytest.importorskip("cryptography.x509")


@dataclass(frozen=True)
class Signed:
    """A certificate and its private key, as PEM files."""

    certificate: Path
    key: Path

    @property
    def pair(self) -> tuple[bytes, bytes]:
        """Key and certificate, as gRPC wants them."""
        return self.key.read_bytes(), self.certificate.read_bytes()


class Authority:
    """An authority that signs certificates into a folder."""

    def __init__(self, folder: Path, name: str) -> None:
        from cryptography.hazmat.primitives.asymmetric import ec

        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
        self.certificate = self._write(name, self._build(self._name, self._key, days=2, names=(), is_authority=True))

    def sign(self, name: str, *, names: tuple[str, ...] = ("localhost", "127.0.0.1"), days: int = 2) -> Signed:
        """Sign a certificate for ``names``, host names or addresses; with ``days`` below 0 it has expired."""
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ec

        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
        certificate = self._write(name, self._build(subject, key, days=days, names=names, is_authority=False))
        path = self._folder / f"{name}.key"
        path.touch(mode=0o600)
        path.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
        )
        return Signed(certificate, path)

    def _build(self, subject: Any, key: Any, *, days: int, names: tuple[str, ...], is_authority: bool) -> Any:
        from cryptography.hazmat.primitives import hashes

        now = datetime.now(UTC)
        end = now + timedelta(days=days)
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(min(now, end) - timedelta(days=1))
            .not_valid_after(end)
            .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
        )
        if names:
            builder = builder.add_extension(x509.SubjectAlternativeName([*map(_general, names)]), critical=False)
        return builder.sign(self._key, hashes.SHA256())

    def _write(self, name: str, certificate: Any) -> Path:
        from cryptography.hazmat.primitives import serialization

        path = self._folder / f"{name}.crt"
        path.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        return path


def _general(name: str) -> Any:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)
