"""PEM and the lifetime of a certificate, without a library for X.509.

`ssl` loads certificates but shows the dates of none that is not an authority: its only decoder is private
(`_ssl._test_decode_cert`) and `cryptography` would be a large dependency for two dates. RFC 5280 fixes their place, so a
walk over five DER elements finds them. Nothing is verified here: that is OpenSSL's work.
"""

from __future__ import annotations

import re
from base64 import b64decode
from datetime import UTC, datetime

import msgspec

_CERTIFICATE = re.compile(r"-----BEGIN CERTIFICATE-----(.*?)-----END CERTIFICATE-----", re.DOTALL)
_KEY = re.compile(r"-----BEGIN ([A-Z ]*)PRIVATE KEY-----.*?-----END \1PRIVATE KEY-----", re.DOTALL)

_SEQUENCE, _INTEGER, _VERSION, _UTC_TIME, _GENERALIZED_TIME = 0x30, 0x02, 0xA0, 0x17, 0x18


class Validity(msgspec.Struct, frozen=True):
    """The seconds since the epoch from which and up to which a certificate is good."""

    begins: float
    ends: float


def certificates(pem: str) -> list[bytes]:
    """The certificates in a PEM text, each as DER; ValueError when there is none or one is garbled."""
    found = [b64decode("".join(body.split()), validate=True) for body in _CERTIFICATE.findall(pem)]
    if not found:
        raise ValueError("there is no certificate in it")
    return found


def key_kind(pem: str) -> str:
    """What stands before PRIVATE KEY in the first key ("RSA ", "EC ", "", "ENCRYPTED "); ValueError without a key."""
    found = _KEY.search(pem)
    if found is None:
        raise ValueError("there is no private key in it")
    # The old way to encrypt a key leaves the first line as it is and says so in a header.
    return "ENCRYPTED " if "Proc-Type: 4,ENCRYPTED" in found[0] else found[1]


def validity(der: bytes) -> Validity:
    """The lifetime of one certificate; ValueError when the bytes are no certificate."""
    signed, _ = _element(_element(der, _SEQUENCE)[0], _SEQUENCE)
    if signed[:1] == bytes([_VERSION]):
        _, signed = _element(signed, _VERSION)
    for tag in (_INTEGER, _SEQUENCE, _SEQUENCE):  # serial number, algorithm, issuer
        _, signed = _element(signed, tag)
    dates, _ = _element(signed, _SEQUENCE)
    begins, dates = _time(dates)
    ends, _ = _time(dates)
    return Validity(begins, ends)


def _element(data: bytes, tag: int, /) -> tuple[bytes, bytes]:
    """The content of the element that `data` begins with, and what follows it."""
    if len(data) < 2 or data[0] != tag:
        raise ValueError("these bytes are not a certificate")
    length, start = data[1], 2
    if length & 0x80:
        start += length & 0x7F
        length = int.from_bytes(data[2:start], "big")
    if start + length > len(data):
        raise ValueError("the certificate is cut off")
    return data[start : start + length], data[start + length :]


def _time(data: bytes, /) -> tuple[float, bytes]:
    if data[:1] == bytes([_GENERALIZED_TIME]):
        content, rest = _element(data, _GENERALIZED_TIME)
        text = content.decode("ascii")
    else:
        content, rest = _element(data, _UTC_TIME)
        text = content.decode("ascii")
        # Two digits for the year: RFC 5280 puts 50 to 99 into the last century.
        text = ("19" if text[:2] >= "50" else "20") + text
    return datetime.strptime(text, "%Y%m%d%H%M%SZ").replace(tzinfo=UTC).timestamp(), rest
