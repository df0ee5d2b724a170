"""Certificates: what a service shows, whom it trusts, and when they end.

Parties may use a certification authority of their own, and ask each other for certificates:
the analyser's callers are few and known (``--client-ca``), those of the others are everybody.
"""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from cryptography import x509

from smoothdp.errors import InvalidParameter


class BadCertificate(InvalidParameter):
    """A file of certificates that cannot be read, or is none."""


@dataclass(slots=True)
class Served:
    """The certificate that a service shows to its callers.

    Attributes:
        certificate: PEM, with the chain.
        key: PEM, without a password.
        client_ca: PEM of the authorities of the callers; callers without a certificate of one
            of these are refused at the handshake. None to take everybody.
        shown: the certificate that callers see; the file may have another one since.
    """

    certificate: Path
    key: Path | None
    client_ca: Path | None = None
    shown: x509.Certificate | None = field(default=None, init=False)

    def context(self) -> ssl.SSLContext:
        """Return what encrypts, read from the files now.

        Raises:
            InvalidParameter: files that do not belong together, or cannot be read.
        """
        if self.key is None:
            raise InvalidParameter(
                expected="the key of the certificate", got="none", remedy="Give --certificate-key"
            )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        try:
            context.load_cert_chain(self.certificate, self.key, password="")
        except (OSError, ValueError) as error:
            raise BadCertificate(
                expected=f"a certificate {self.certificate} and its key {self.key}, in PEM",
                got=_why(error),
                remedy="Give two PEM files that belong together, the key without a password",
            ) from None
        if self.client_ca is not None:
            _trust_only(context, self.client_ca, "--client-ca")
            context.verify_mode = ssl.CERT_REQUIRED
        self.shown = read_certificate(self.certificate)
        return context


@dataclass(frozen=True, slots=True)
class Trust:
    """Whom a party believes when it calls another, and what it shows.

    Attributes:
        ca: PEM of the only authorities that are believed; the system's by default.
        client_certificate: PEM with the certificate and its key, shown to whoever asks.

    >>> Trust().context() is None  # the usual authorities
    True
    """

    ca: Path | None = None
    client_certificate: Path | None = None

    def context(self) -> ssl.SSLContext | None:
        """Return what a connection is checked with, read from the files now; None: as usual.

        Raises:
            InvalidParameter: a file that cannot be read, or is no PEM.
        """
        if self.ca is None and self.client_certificate is None:
            return None
        if self.ca is None:
            context = ssl.create_default_context()
        else:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            _trust_only(context, self.ca, "--ca")
        if self.client_certificate is not None:
            try:
                context.load_cert_chain(self.client_certificate, password="")
            except (OSError, ValueError) as error:
                raise BadCertificate(
                    expected=f"a certificate and its key in {self.client_certificate}, in PEM",
                    got=_why(error),
                    remedy="Give --client-certificate one PEM file with both, without a password",
                ) from None
        return context


def read_certificate(file: Path) -> x509.Certificate:
    """Return the first certificate of a PEM file.

    Raises:
        InvalidParameter: no such file, or no certificate in it.
    """
    try:
        return x509.load_pem_x509_certificate(file.read_bytes())
    except (OSError, ValueError) as error:
        raise BadCertificate(
            expected=f"a certificate {file}, in PEM",
            got=_why(error) if isinstance(error, OSError) else "something else",
            remedy="Give the PEM file of the certificate",
        ) from None


def days_left(certificate: x509.Certificate, *, now: datetime | None = None) -> float:
    """Return the days until a certificate ends; negative afterwards."""
    return (certificate.not_valid_after_utc - (now or datetime.now(UTC))).total_seconds() / 86400


def _trust_only(context: ssl.SSLContext, ca: Path, option: str) -> None:
    try:
        context.load_verify_locations(ca)
        found = context.cert_store_stats()["x509"]
    except (OSError, ValueError) as error:
        raise BadCertificate(
            expected=f"certificates of authorities in {ca}, in PEM",
            got=_why(error),
            remedy=f"Give {option} a PEM file",
        ) from None
    if not found:
        raise BadCertificate(
            expected=f"certificates of authorities in {ca}, in PEM",
            got="none",
            remedy=f"Give {option} a PEM file",
        )


def _why(error: Exception) -> str:
    reason = getattr(error, "reason", None) or getattr(error, "strerror", None)
    return str(reason or error or type(error).__name__)
