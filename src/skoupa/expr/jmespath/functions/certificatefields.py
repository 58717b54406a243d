"""What Go's encoding/json makes of a parsed certificate: names, order of numbers and nulls as there.

Numbers stand for what they stand for in Go's crypto/x509 (SignatureAlgorithm 4 is SHA256-RSA, KeyUsage is a bit set).
What can't be had the same way is left out, so that looking at it is an error: attributes of a request that has some.
"""

from __future__ import annotations

import base64
import ipaddress
import warnings
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from cryptography.x509.oid import NameOID

_RSA: Final = 1
_ALGORITHMS: Final = {
    "1.2.840.113549.1.1.2": 1,
    "1.2.840.113549.1.1.4": 2,
    "1.2.840.113549.1.1.5": 3,
    "1.2.840.113549.1.1.11": 4,
    "1.2.840.113549.1.1.12": 5,
    "1.2.840.113549.1.1.13": 6,
    "1.2.840.10040.4.3": 7,
    "2.16.840.1.101.3.4.3.2": 8,
    "1.2.840.10045.4.1": 9,
    "1.2.840.10045.4.3.2": 10,
    "1.2.840.10045.4.3.3": 11,
    "1.2.840.10045.4.3.4": 12,
    "1.3.101.112": 16,
}
_PSS: Final = "1.2.840.113549.1.1.10"
_PSS_BY_HASH: Final = {"sha256": 13, "sha384": 14, "sha512": 15}
_LISTED_NAMES: Final = {
    "Country": NameOID.COUNTRY_NAME,
    "Organization": NameOID.ORGANIZATION_NAME,
    "OrganizationalUnit": NameOID.ORGANIZATIONAL_UNIT_NAME,
    "Locality": NameOID.LOCALITY_NAME,
    "Province": NameOID.STATE_OR_PROVINCE_NAME,
    "StreetAddress": NameOID.STREET_ADDRESS,
    "PostalCode": NameOID.POSTAL_CODE,
}
_KEY_USAGES: Final = (
    "digital_signature",
    "content_commitment",
    "key_encipherment",
    "data_encipherment",
    "key_agreement",
    "key_cert_sign",
    "crl_sign",
    "encipher_only",
    "decipher_only",
)
_EXTENDED_USAGES: Final = {
    "2.5.29.37.0": 0,
    **{f"1.3.6.1.5.5.7.3.{number}": number for number in (1, 2, 3, 4, 5, 6, 7, 8, 9)},
    "1.3.6.1.4.1.311.10.3.3": 10,
    "2.16.840.1.113730.4.1": 11,
    "1.3.6.1.4.1.311.2.1.22": 12,
    "1.3.6.1.4.1.311.61.1.1": 13,
}
_POLICY_MAPPINGS: Final = x509.ObjectIdentifier("2.5.29.33")


def certificate(pem: bytes) -> dict[str, Any]:
    # It warns about certificates that other tools have long accepted, such as those with serial number 0.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = x509.load_pem_x509_certificate(pem)
        extensions = list(found.extensions)
        return {
            **_signed(found),
            "RawTBSCertificate": _base64(found.tbs_certificate_bytes),
            "RawIssuer": _base64(found.issuer.public_bytes()),
            "Version": found.version.value + 1,
            "SerialNumber": found.serial_number,
            "Issuer": _name(found.issuer),
            "NotBefore": f"{found.not_valid_before_utc:%Y-%m-%dT%H:%M:%SZ}",
            "NotAfter": f"{found.not_valid_after_utc:%Y-%m-%dT%H:%M:%SZ}",
            "UnhandledCriticalExtensions": None,
            **_alternative_names(extensions),
            **_purposes(extensions),
            **_keys_and_places(extensions),
            **_name_constraints(extensions),
            **_policies(extensions),
        }


def request(pem: bytes) -> dict[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = x509.load_pem_x509_csr(pem)
        extensions = list(found.extensions)
        return {
            **_signed(found),
            "RawTBSCertificateRequest": _base64(found.tbs_certrequest_bytes),
            "Version": 0,
            **({} if len(found.attributes) else {"Attributes": None}),
            **_alternative_names(extensions),
        }


def _signed(found: x509.Certificate | x509.CertificateSigningRequest) -> dict[str, Any]:
    key = found.public_key()
    if not isinstance(key, RSAPublicKey):
        raise ValueError("only certificates with RSA keys can be read")  # noqa: TRY004 - the same error as any other
    numbers = key.public_numbers()
    return {
        "Raw": _base64(found.public_bytes(Encoding.DER)),
        "RawSubjectPublicKeyInfo": _base64(key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)),
        "RawSubject": _base64(found.subject.public_bytes()),
        "Signature": _base64(found.signature),
        "SignatureAlgorithm": _algorithm(found),
        "PublicKeyAlgorithm": _RSA,
        "PublicKey": {"N": str(numbers.n), "E": numbers.e},
        "Subject": _name(found.subject),
        "Extensions": [
            {
                "Id": _oid(extension.oid),
                "Critical": extension.critical,
                "Value": _base64(extension.value.public_bytes()),
            }
            for extension in found.extensions
        ]
        or None,
        "ExtraExtensions": None,
    }


def _algorithm(found: x509.Certificate | x509.CertificateSigningRequest) -> int:
    oid = found.signature_algorithm_oid.dotted_string
    if oid == _PSS and found.signature_hash_algorithm is not None:
        return _PSS_BY_HASH.get(found.signature_hash_algorithm.name, 0)
    return _ALGORITHMS.get(oid, 0)


def _name(name: x509.Name) -> dict[str, Any]:
    listed = {
        field: [attribute.value for attribute in name.get_attributes_for_oid(oid)] or None
        for field, oid in _LISTED_NAMES.items()
    }
    return {
        **listed,
        "SerialNumber": _last(name, NameOID.SERIAL_NUMBER),
        "CommonName": _last(name, NameOID.COMMON_NAME),
        "Names": [{"Type": _oid(part.oid), "Value": part.value} for part in name] or None,
        "ExtraNames": None,
    }


def _last(name: x509.Name, oid: x509.ObjectIdentifier) -> Any:
    found = name.get_attributes_for_oid(oid)
    return found[-1].value if found else ""


def _purposes(extensions: list[x509.Extension[Any]]) -> dict[str, Any]:
    usage, bits = _value(extensions, x509.KeyUsage), 0
    for bit, purpose in enumerate(_KEY_USAGES if usage else ()):
        # The last two have a meaning only beside key agreement.
        if bit < 7 or usage.key_agreement:
            bits |= getattr(usage, purpose) << bit
    extended = [usage.dotted_string for usage in _value(extensions, x509.ExtendedKeyUsage) or ()]
    basic = _value(extensions, x509.BasicConstraints)
    length = 0 if basic is None else -1 if basic.path_length is None else basic.path_length
    return {
        "KeyUsage": bits,
        "ExtKeyUsage": [_EXTENDED_USAGES[usage] for usage in extended if usage in _EXTENDED_USAGES] or None,
        "UnknownExtKeyUsage": [_numbers(usage) for usage in extended if usage not in _EXTENDED_USAGES]
        or None,
        "BasicConstraintsValid": basic is not None,
        "IsCA": basic is not None and basic.ca,
        "MaxPathLen": length,
        "MaxPathLenZero": basic is not None and length == 0,
    }


def _keys_and_places(extensions: list[x509.Extension[Any]]) -> dict[str, Any]:
    subject = _value(extensions, x509.SubjectKeyIdentifier)
    authority = _value(extensions, x509.AuthorityKeyIdentifier)
    access = list(_value(extensions, x509.AuthorityInformationAccess) or ())
    points = list(_value(extensions, x509.CRLDistributionPoints) or ())
    places = {
        method: [
            part.access_location.value for part in access if part.access_method.dotted_string.endswith(method)
        ]
        for method in (".48.1", ".48.2")
    }
    return {
        "SubjectKeyId": _base64(subject.digest) if subject else None,
        "AuthorityKeyId": _base64(authority.key_identifier)
        if authority and authority.key_identifier
        else None,
        "OCSPServer": places[".48.1"] or None,
        "IssuingCertificateURL": places[".48.2"] or None,
        "CRLDistributionPoints": [
            name.value
            for point in points
            for name in point.full_name or ()
            if isinstance(name, x509.UniformResourceIdentifier)
        ]
        or None,
    }


def _alternative_names(extensions: list[x509.Extension[Any]]) -> dict[str, Any]:
    names = list(_value(extensions, x509.SubjectAlternativeName) or ())
    return {
        "DNSNames": _of(names, x509.DNSName) or None,
        "EmailAddresses": _of(names, x509.RFC822Name) or None,
        "IPAddresses": [str(address) for address in _of(names, x509.IPAddress)] or None,
        "URIs": [_url(uri) for uri in _of(names, x509.UniformResourceIdentifier)] or None,
    }


def _name_constraints(extensions: list[x509.Extension[Any]]) -> dict[str, Any]:
    constraints = _value(extensions, x509.NameConstraints)
    critical = any(
        isinstance(extension.value, x509.NameConstraints) and extension.critical for extension in extensions
    )
    found: dict[str, Any] = {"PermittedDNSDomainsCritical": critical}
    for side in ("Permitted", "Excluded"):
        trees = list(getattr(constraints, f"{side.lower()}_subtrees", None) or ())
        found[f"{side}DNSDomains"] = _of(trees, x509.DNSName) or None
        found[f"{side}IPRanges"] = [_network(network) for network in _of(trees, x509.IPAddress)] or None
        found[f"{side}EmailAddresses"] = _of(trees, x509.RFC822Name) or None
        found[f"{side}URIDomains"] = _of(trees, x509.UniformResourceIdentifier) or None
    return found


def _policies(extensions: list[x509.Extension[Any]]) -> dict[str, Any]:
    if any(extension.oid == _POLICY_MAPPINGS for extension in extensions):
        raise ValueError("certificates that map policies can't be read")
    policies = [policy.policy_identifier for policy in _value(extensions, x509.CertificatePolicies) or ()]
    constraints = _value(extensions, x509.PolicyConstraints)
    inhibit = _value(extensions, x509.InhibitAnyPolicy)
    numbers = {
        "InhibitAnyPolicy": inhibit.skip_certs if inhibit else None,
        "InhibitPolicyMapping": constraints.inhibit_policy_mapping if constraints else None,
        "RequireExplicitPolicy": constraints.require_explicit_policy if constraints else None,
    }
    return {
        "PolicyIdentifiers": [_oid(policy) for policy in policies] or None,
        "Policies": [policy.dotted_string for policy in policies] or None,
        "PolicyMappings": None,
        **{name: number or 0 for name, number in numbers.items()},
        **{f"{name}Zero": number == 0 for name, number in numbers.items()},
    }


def _value(extensions: list[x509.Extension[Any]], kind: type[Any]) -> Any:
    return next((extension.value for extension in extensions if isinstance(extension.value, kind)), None)


def _of(names: list[x509.GeneralName], kind: type[Any]) -> list[Any]:
    return [name.value for name in names if isinstance(name, kind)]


def _url(text: str) -> dict[str, Any]:
    """The fields of Go's url.URL."""
    parts = urlsplit(text)
    hierarchical = bool(parts.netloc) or parts.path.startswith("/")
    return {
        "Scheme": parts.scheme,
        "Opaque": "" if hierarchical else parts.path,
        "User": None,
        "Host": parts.netloc.rpartition("@")[2],
        "Path": unquote(parts.path) if hierarchical else "",
        "RawPath": "",
        "OmitHost": False,
        "ForceQuery": text.endswith("?"),
        "RawQuery": parts.query,
        "Fragment": unquote(parts.fragment),
        "RawFragment": "",
    }


def _network(network: ipaddress.IPv4Network | ipaddress.IPv6Network) -> dict[str, str]:
    return {"IP": str(network.network_address), "Mask": _base64(network.netmask.packed)}


def _oid(oid: x509.ObjectIdentifier) -> list[int]:
    return _numbers(oid.dotted_string)


def _numbers(dotted: str) -> list[int]:
    return [int(number) for number in dotted.split(".")]


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()
