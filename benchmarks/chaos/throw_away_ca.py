"""A certificate authority for one measurement, with a valid and an expired certificate for localhost."""

import ipaddress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_DAYS: Final = {"authority": (-20, 20), "valid": (-1, 10), "expired": (-10, -1)}


def write_certificates(folder: Path) -> dict[str, tuple[Path, Path]]:
    """Write certificate and private key, PEM, of an authority and of two servers; return the paths by name."""
    folder.mkdir()
    now = datetime.now(UTC)
    keys = {name: ec.generate_private_key(ec.SECP256R1()) for name in _DAYS}
    files = {}
    for name, (first, last) in _DAYS.items():
        is_authority = name == "authority"
        certificate = (
            x509.CertificateBuilder()
            .subject_name(_named(name))
            .issuer_name(_named("authority"))
            .public_key(keys[name].public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now + timedelta(days=first))
            .not_valid_after(now + timedelta(days=last))
            .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
            .add_extension(
                x509.SubjectAlternativeName(
                    [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
                ),
                critical=False,
            )
            .sign(keys["authority"], hashes.SHA256())
        )
        files[name] = folder / f"{name}.crt", folder / f"{name}.key"
        files[name][0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        files[name][1].touch(mode=0o600)
        files[name][1].write_bytes(
            keys[name].private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
        )
    return files


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"deid {name}")])
