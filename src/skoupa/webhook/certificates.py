"""The certificate of the webhook, and the authority that signed it: made here, as values, for whoever keeps them.

An authority that is followed by another stays in the bundle until it ends: a replica may still serve what it signed.
The keys are in a Secret and in memory, and in nothing else. Importing this takes the extra `encryption`.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from typing import Final

import msgspec
from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric.ec import (
    SECP256R1,
    EllipticCurvePrivateKey,
    generate_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID

AUTHORITY_DAYS: Final = 3650
SERVING_DAYS: Final = 365
# Of its life, when it is made anew.
_WORN: Final = 2 / 3
# Clocks differ.
_EARLIER: Final = timedelta(hours=1)
_MOST_AUTHORITIES: Final = 3


class Credentials(msgspec.Struct, frozen=True, kw_only=True):
    """PEM, as a Secret has them. `authorities` begins with the one that `authority_key` is of."""

    authorities: bytes
    authority_key: bytes
    certificate: bytes
    key: bytes

    def __repr__(self) -> str:
        return "Credentials(…)"


def renewed(known: Credentials | None, *, hosts: Sequence[str], now: float) -> Credentials:
    """What to serve with: what is known, as far as it is whole, for these hosts and not worn; else made anew."""
    moment = datetime.fromtimestamp(now, UTC)
    authority = _authority(known, moment)
    if authority is None:
        return _all_anew(known, hosts=hosts, now=moment)
    assert known is not None
    certificate, key = authority
    if _serves(known, authority=certificate, hosts=hosts, now=moment):
        return known
    return _signed(certificate, key, authorities=known.authorities, hosts=hosts, now=moment)


def _authority(
    known: Credentials | None, now: datetime
) -> tuple[x509.Certificate, EllipticCurvePrivateKey] | None:
    """The one that signs, if it is whole and not worn."""
    if known is None:
        return None
    try:
        certificate = x509.load_pem_x509_certificates(known.authorities)[0]
        key = _private_key(known.authority_key)
    except (ValueError, TypeError, IndexError):
        return None
    if key is None or key.public_key() != certificate.public_key() or _is_worn(certificate, now):
        return None
    return certificate, key


def _serves(known: Credentials, *, authority: x509.Certificate, hosts: Sequence[str], now: datetime) -> bool:
    try:
        certificate = x509.load_pem_x509_certificate(known.certificate)
        key = _private_key(known.key)
        certificate.verify_directly_issued_by(authority)
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (ValueError, TypeError, InvalidSignature, x509.ExtensionNotFound):
        return False
    if key is None or key.public_key() != certificate.public_key() or _is_worn(certificate, now):
        return False
    return set(_names(hosts)) == set(names)


def _all_anew(known: Credentials | None, *, hosts: Sequence[str], now: datetime) -> Credentials:
    key = generate_private_key(SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "skoupa webhook authority")])
    certificate = (
        _builder(subject=name, issuer=name, key=key, now=now, days=AUTHORITY_DAYS)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    earlier = [one for one in _readable(known) if one.not_valid_after_utc > now][: _MOST_AUTHORITIES - 1]
    bundle = b"".join(_pem(one) for one in (certificate, *earlier))
    return _signed(certificate, key, authorities=bundle, hosts=hosts, now=now)


def _readable(known: Credentials | None) -> list[x509.Certificate]:
    if known is None:
        return []
    try:
        return x509.load_pem_x509_certificates(known.authorities)
    except ValueError:
        return []


def _signed(
    authority: x509.Certificate,
    authority_key: EllipticCurvePrivateKey,
    *,
    authorities: bytes,
    hosts: Sequence[str],
    now: datetime,
) -> Credentials:
    key = generate_private_key(SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "skoupa webhook")])
    certificate = (
        _builder(subject=name, issuer=authority.subject, key=key, now=now, days=SERVING_DAYS)
        .add_extension(x509.SubjectAlternativeName(_names(hosts)), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key()), critical=False
        )
        .sign(authority_key, hashes.SHA256())
    )
    return Credentials(
        authorities=authorities,
        authority_key=_key_pem(authority_key),
        certificate=_pem(certificate),
        key=_key_pem(key),
    )


def _builder(
    *, subject: x509.Name, issuer: x509.Name, key: EllipticCurvePrivateKey, now: datetime, days: int
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _EARLIER)
        .not_valid_after(now + timedelta(days=days))
    )


def _usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs,
        crl_sign=signs,
        encipher_only=False,
        decipher_only=False,
    )


def _is_worn(certificate: x509.Certificate, now: datetime) -> bool:
    begins, ends = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    return not begins <= now < begins + (ends - begins) * _WORN


def _names(hosts: Sequence[str]) -> list[x509.GeneralName]:
    return [_name(host) for host in hosts]


def _name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _private_key(pem: bytes) -> EllipticCurvePrivateKey | None:

    key = serialization.load_pem_private_key(pem, password=None)
    return key if isinstance(key, EllipticCurvePrivateKey) else None


def _pem(certificate: x509.Certificate) -> bytes:

    return certificate.public_bytes(serialization.Encoding.PEM)


def _key_pem(key: EllipticCurvePrivateKey) -> bytes:

    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
