"""A certificate that a controller makes for itself, so that tokens do not cross the cluster's network in the clear.

The API server's service proxy checks no certificate of what it reaches: one from an authority would protect no more.
It lives in memory and ends with the process. Without the library that makes it (the extra `encryption`) there is none.
"""

from __future__ import annotations

import ssl
from datetime import UTC, datetime, timedelta
from typing import Final

from skoupa import names
from skoupa.report.tls import load, server_context

# Nobody checks it, and no process lives so long.
_DAYS: Final = 3650


def own_context(now: float) -> ssl.SSLContext | None:
    try:
        from cryptography import x509  # noqa: PLC0415 - an extra
        from cryptography.hazmat.primitives import hashes, serialization  # noqa: PLC0415 - of the extra
        from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415 - of the extra
    except ModuleNotFoundError:
        return None
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, names.COMPONENT)])
    made = datetime.fromtimestamp(now, UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(made - timedelta(days=1))
        .not_valid_after(made + timedelta(days=_DAYS))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(names.COMPONENT)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = certificate.public_bytes(serialization.Encoding.PEM) + key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    context = server_context()
    load(context, pem)
    return context
