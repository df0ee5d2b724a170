"""A certification authority of a test's own."""

from __future__ import annotations

import ipaddress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


class Authority:
    """Signs certificates for 127.0.0.1 into a directory."""

    def __init__(self, directory: Path, name: str = "ca") -> None:
        self.directory = directory
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self.ca = directory / f"{name}.pem"
        certificate = self._sign(self._name, self._key.public_key(), days=30, is_ca=True)
        self.ca.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))

    def certificate(self, name: str, *, days: float = 30) -> tuple[Path, Path]:
        """Return certificate and key of a party, two PEM files."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        certificate = self._sign(subject, key.public_key(), days=days, is_ca=False)
        files = self.directory / f"{name}.pem", self.directory / f"{name}.key"
        files[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        files[1].write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
        return files

    def together(self, name: str) -> Path:
        """Return certificate and key of a party in one PEM file."""
        certificate, key = self.certificate(name)
        both = self.directory / f"{name}.both.pem"
        both.write_bytes(certificate.read_bytes() + key.read_bytes())
        return both

    def _sign(
        self, subject: x509.Name, key: ec.EllipticCurvePublicKey, *, days: float, is_ca: bool
    ) -> x509.Certificate:
        now = datetime.now(UTC)
        usage = x509.KeyUsage(True, False, False, False, False, is_ca, is_ca, False, False)
        identifier = x509.SubjectKeyIdentifier.from_public_key(self._key.public_key())
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=60))
            .not_valid_after(now + timedelta(days=days))
            .add_extension(x509.BasicConstraints(ca=is_ca, path_length=None), critical=True)
            .add_extension(usage, critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identifier),
                critical=False,
            )
            .add_extension(
                x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]),
                critical=False,
            )
            .sign(self._key, hashes.SHA256())
        )
