"""Throw-away certificates of one control plane: an authority signs what its servers and clients show.

Keys are ECDSA (P-256), so that a whole set is made in milliseconds. Private keys are readable by their
owner only. Nothing here renews or revokes: a set lives as long as its control plane, and is valid for a year.
"""

from __future__ import annotations

import datetime as dt
import ipaddress
import os
from collections.abc import Sequence
from pathlib import Path

import msgspec
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_LIFETIME = dt.timedelta(days=365)
# A clock that runs a little behind on the reading side must not refuse a certificate made just now.
_BACKDATED = dt.timedelta(hours=1)


class Pair(msgspec.Struct, frozen=True, kw_only=True):
    """A certificate and its private key, as PEM files."""

    certificate: Path
    key: Path


class Authority:
    """A certificate authority whose own pair lies in `directory`; made there when it is not yet."""

    def __init__(self, directory: Path, name: str) -> None:
        self.directory = directory
        self.pair = Pair(certificate=directory / f"{name}.crt", key=directory / f"{name}.key")
        if self.pair.certificate.exists():
            self._certificate = x509.load_pem_x509_certificate(self.pair.certificate.read_bytes())
            self._key = _load_key(self.pair.key)
        else:
            self._key = ec.generate_private_key(ec.SECP256R1())
            subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"skoupa-{name}")])
            self._certificate = (
                _builder(subject=subject, issuer=subject, key=self._key.public_key())
                .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
                .add_extension(_usage(signs=True), critical=True)
                .sign(self._key, hashes.SHA256())
            )
            write_key(self.pair.key, self._key)
            _write(self.pair.certificate, self._certificate.public_bytes(serialization.Encoding.PEM))

    def server(self, name: str, *, hosts: Sequence[str]) -> Pair:
        """A pair for a server that answers under `hosts` (names and addresses)."""
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        return self._issue(name, subject, hosts=hosts)

    def client(self, name: str, *, user: str, groups: Sequence[str] = ()) -> Pair:
        """A pair that the API server reads as `user` in `groups`."""
        subject = x509.Name(
            [
                *(x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups),
                x509.NameAttribute(NameOID.COMMON_NAME, user),
            ]
        )
        return self._issue(name, subject, hosts=())

    def _issue(self, name: str, subject: x509.Name, *, hosts: Sequence[str]) -> Pair:
        key = ec.generate_private_key(ec.SECP256R1())
        # etcd's own gateway calls etcd with the server's pair, so that a server needs the client usage too.
        usages = [ExtendedKeyUsageOID.CLIENT_AUTH, *([ExtendedKeyUsageOID.SERVER_AUTH] if hosts else [])]
        builder = (
            _builder(subject=subject, issuer=self._certificate.subject, key=key.public_key())
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(signs=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage(usages), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False
            )
        )
        if hosts:
            names = x509.SubjectAlternativeName([_general_name(host) for host in hosts])
            builder = builder.add_extension(names, critical=False)
        pair = Pair(certificate=self.directory / f"{name}.crt", key=self.directory / f"{name}.key")
        write_key(pair.key, key)
        certificate = builder.sign(self._key, hashes.SHA256())
        _write(pair.certificate, certificate.public_bytes(serialization.Encoding.PEM))
        return pair


def service_account_keys(directory: Path) -> Pair:
    """The keys that sign and check service account tokens; `certificate` is the bare public key."""
    key = ec.generate_private_key(ec.SECP256R1())
    pair = Pair(certificate=directory / "service-account.pub", key=directory / "service-account.key")
    write_key(pair.key, key)
    _write(
        pair.certificate,
        key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        ),
    )
    return pair


def write_key(path: Path, key: ec.EllipticCurvePrivateKey) -> None:
    pem = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )
    _write(path, pem)


def _write(path: Path, content: bytes) -> None:
    # 0600 from the first byte on: a key must not be readable for the moment before a chmod.
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)


def _load_key(path: Path) -> ec.EllipticCurvePrivateKey:
    key = serialization.load_pem_private_key(path.read_bytes(), password=None)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    return key


def _builder(
    *, subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey
) -> x509.CertificateBuilder:
    now = dt.datetime.now(dt.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _BACKDATED)
        .not_valid_after(now + _LIFETIME)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    )


def _usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs,
        crl_sign=signs,
        encipher_only=False,
        decipher_only=False,
    )


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
