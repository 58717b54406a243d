"""Throw-away authorities and certificates, and a clock that is moved by hand, for tests of configuration."""

from __future__ import annotations

import datetime as dt
import ipaddress
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from skoupa.clock import SystemClock

Key = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey | ed25519.Ed25519PrivateKey

NOW = dt.datetime.now(dt.UTC).replace(microsecond=0)
DAY = dt.timedelta(days=1)


class Pair(NamedTuple):
    certificate: str
    key: str
    made: x509.Certificate
    private: Key


class HandClock(SystemClock):
    """The machine's clock, moved forward by `pass_time`."""

    def __init__(self) -> None:
        super().__init__(seed=0)
        self._ahead = 0.0

    def pass_time(self, seconds: float) -> None:
        self._ahead += seconds

    def now(self) -> float:
        return super().now() + self._ahead

    def monotonic(self) -> float:
        return super().monotonic() + self._ahead


def new_key(kind: str = "ec") -> Key:
    if kind == "rsa":
        return rsa.generate_private_key(public_exponent=65537, key_size=2048)
    if kind == "ed25519":
        return ed25519.Ed25519PrivateKey.generate()
    return ec.generate_private_key(ec.SECP256R1())


def issue(
    name: str,
    *,
    by: Pair | None = None,
    kind: str = "ec",
    begins: dt.datetime = NOW - DAY,
    ends: dt.datetime = NOW + DAY,
) -> Pair:
    """A certificate signed `by` an authority, or an authority of its own; servers are 127.0.0.1 and `name`."""
    private = new_key(kind)
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(by.made.subject if by else subject)
        .public_key(private.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begins)
        .not_valid_after(ends)
        .add_extension(x509.BasicConstraints(ca=by is None, path_length=None), critical=True)
    )
    if by is not None:
        alternatives = [x509.DNSName(name), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
        builder = builder.add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
    signer = by.private if by else private
    made = builder.sign(signer, None if isinstance(signer, ed25519.Ed25519PrivateKey) else hashes.SHA256())
    return Pair(made.public_bytes(serialization.Encoding.PEM).decode(), key_pem(private), made, private)


def key_pem(private: Key, *, password: bytes | None = None, traditional: bool = False) -> str:
    style = (
        serialization.PrivateFormat.TraditionalOpenSSL if traditional else serialization.PrivateFormat.PKCS8
    )
    lock = serialization.BestAvailableEncryption(password) if password else serialization.NoEncryption()
    return private.private_bytes(serialization.Encoding.PEM, style, lock).decode()
