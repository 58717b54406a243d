"""`x509_decode`: a PEM certificate or certificate request as the object that Go's encoding makes of it.

Only RSA keys, as in Kyverno. Needs `cryptography`, which is an optional part of an installation and is imported with the
first certificate.
"""

from __future__ import annotations

import re
from typing import Final

from skoupa.expr.jmespath.functions.signature import Function, Members, Text, declare
from skoupa.expr.jmespath.running import Run
from skoupa.expr.jmespath.values import whole_text

_BLOCK: Final = re.compile(r"-----BEGIN ([A-Z0-9 ]+)-----.*?-----END \1-----", re.DOTALL)
_COST: Final = 5_000
_LONGEST: Final = 200_000


def x509_decode(_: Run, pem: Text) -> Members:
    block = _BLOCK.search(pem) if len(pem) <= _LONGEST else None
    if block is None:
        raise ValueError(
            "this is no PEM text, which begins with -----BEGIN CERTIFICATE-----; is it base64_decode'd?"
        )
    if block[1] not in {"CERTIFICATE", "CERTIFICATE REQUEST"}:
        raise ValueError(f"this is a {block[1]}, neither a CERTIFICATE nor a CERTIFICATE REQUEST")
    try:
        from skoupa.expr.jmespath.functions import certificatefields  # noqa: PLC0415 - needs an optional package
    except ImportError as error:
        raise ValueError(
            "reading certificates needs the package cryptography: install skoupa[encryption]"
        ) from error
    read = certificatefields.certificate if block[1] == "CERTIFICATE" else certificatefields.request
    return read(whole_text(block[0]).encode())


FUNCTIONS: Final[tuple[Function, ...]] = (declare(x509_decode, cost=_COST),)
