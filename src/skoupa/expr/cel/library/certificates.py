"""Kyverno's x509.decode: the fields that its CEL library shows of a certificate, or all of a certificate request.

Fewer than x509_decode of JMESPath shows (no Subject, for one), and every number is a double, as there.
"""

from __future__ import annotations

from typing import Any, Final

from skoupa.expr.cel.library.declaring import function
from skoupa.expr.cel.library.documents import doubled
from skoupa.expr.cel.library.world import World
from skoupa.expr.jmespath.functions.certificates import x509_decode
from skoupa.expr.jmespath.running import Context, Run

_OF_REQUESTS: Final = "RawTBSCertificateRequest"
_SHOWN: Final = frozenset(
    {
        "Raw",
        "RawTBSCertificate",
        "RawSubjectPublicKeyInfo",
        "RawSubject",
        "RawIssuer",
        "Signature",
        "PublicKeyAlgorithm",
        "PublicKey",
        "SerialNumber",
        "Issuer",
        "NotBefore",
        "NotAfter",
        "KeyUsage",
        "Extensions",
        "ExtraExtensions",
        "ExtKeyUsage",
        "BasicConstraintsValid",
        "IsCA",
        "MaxPathLen",
        "MaxPathLenZero",
        "AuthorityKeyId",
        "OCSPServer",
        "IssuingCertificateURL",
        "DNSNames",
        "EmailAddresses",
        "IPAddresses",
        "PermittedDNSDomainsCritical",
        "PermittedDNSDomains",
        "ExcludedDNSDomains",
        "PermittedIPRanges",
        "ExcludedIPRanges",
        "PermittedEmailAddresses",
        "ExcludedEmailAddresses",
        "PermittedURIDomains",
        "ExcludedURIDomains",
        "CRLDistributionPoints",
        "PolicyIdentifiers",
    }
)


def decode(world: World, pem: str) -> Any:
    found = x509_decode(Run("x509.decode", Context(now=world.now.timestamp())), pem)
    if _OF_REQUESTS not in found:
        # The library takes the low 64 bits of longer serial numbers.
        serial = found["SerialNumber"] & (2**64 - 1)
        found = {name: value for name, value in found.items() if name in _SHOWN}
        found["SerialNumber"] = serial - 2**64 if serial >= 2**63 else serial
    return doubled(found)


FUNCTIONS: Final = (function("x509.decode", decode, "string -> dyn", worldly=True),)
