"""x509_decode, against the certificates and the answers of Kyverno's own tests."""

from __future__ import annotations

import base64
import builtins
import sys
from typing import Any

import pytest

from skoupa.errors import ExpressionError
from skoupa.expr.jmespath import Context, compile  # noqa: A004 - as in re

pytestmark = pytest.mark.unit

CONTEXT = Context(now=0)
CERTIFICATE = """-----BEGIN CERTIFICATE-----
MIIC7TCCAdWgAwIBAgIBADANBgkqhkiG9w0BAQsFADAYMRYwFAYDVQQDDA0qLmt5
dmVybm8uc3ZjMB4XDTIyMDExMTEzMjY0M1oXDTIzMDExMTE0MjY0M1owGDEWMBQG
A1UEAwwNKi5reXZlcm5vLnN2YzCCASIwDQYJKoZIhvcNAQEBBQADggEPADCCAQoC
ggEBAMsAz85+yino+MmdKsVtHwNi3oAVjumzXHiLfUJK7xi5KU8B7goPHF/VCe/V
7Y2c4afyfgY2ePw4LxSDkCYNgYwqjSwGIbcsqv5ZRazBdDxR09ri6PknNyBVGLi5
RlPXIrGQ3psNuf55qwxJxLO31qCZuvktKY5YvuIR4JPmBhuSFXOnn0ZiQw8uxMcQ
0QA2lz+PxWCVNk9q+31H5DH1oYZDLfU3mijIOA+AJGZbBb+ZwBmpVL0+2TXLxE74
WowdKEV+WTsKojNTd0VwcuRKRKR/6ynXAAis21y1X7Ui9FJE6mDIylUD40WXOKGJ
1lYY41kRnYhVhvXYN9JtNYdY3HsCAwEAAaNCMEAwDgYDVR0PAQH/BAQDAgKkMA8G
A1UdEwEB/wQFMAMBAf8wHQYDVR0OBBYEFOnlASVD9fu3TAjptlW/gAXA4ql+MA0G
CSqGSIb3DQEBCwUAA4IBAQCIpyRiChxp97crKfQ24Jt7z8P+AGpLf3sX4eL87ESa
7QRoVJtXLmaut1pUEoYLQruKmh/0YFtZG9WxVgY6iuKbWnu7bOeMB/Ir+V/yrX3R
+XvZOsuXiJnEbJiBW6lJzLldoW4f/71H+j1WD4tHpqmdMxq/sLqXfPIuc0/m0yFC
n+ADBWGGB8Nn66vxtv+cT6p+RIVotXPQWbMilWp6pd5wSuB68FqrDwtYLNJtPwFs
9MPVkuaJdYZ0eWd/rMcKD94Hgf89gvA0+qzMVFf+3BemXskjQRYy6CKsqoyC6jX4
nhYjumAP/7psbzITsnpHtfCEEU+2JZwgM406aiMcsgLb
-----END CERTIFICATE-----
"""
REQUEST = """-----BEGIN CERTIFICATE REQUEST-----
MIICvDCCAaQCAQAwdzELMAkGA1UEBhMCVVMxDTALBgNVBAgMBFV0YWgxDzANBgNV
BAcMBkxpbmRvbjEWMBQGA1UECgwNRGlnaUNlcnQgSW5jLjERMA8GA1UECwwIRGln
aUNlcnQxHTAbBgNVBAMMFGV4YW1wbGUuZGlnaWNlcnQuY29tMIIBIjANBgkqhkiG
9w0BAQEFAAOCAQ8AMIIBCgKCAQEA8+To7d+2kPWeBv/orU3LVbJwDrSQbeKamCmo
wp5bqDxIwV20zqRb7APUOKYoVEFFOEQs6T6gImnIolhbiH6m4zgZ/CPvWBOkZc+c
1Po2EmvBz+AD5sBdT5kzGQA6NbWyZGldxRthNLOs1efOhdnWFuhI162qmcflgpiI
WDuwq4C9f+YkeJhNn9dF5+owm8cOQmDrV8NNdiTqin8q3qYAHHJRW28glJUCZkTZ
wIaSR6crBQ8TbYNE0dc+Caa3DOIkz1EOsHWzTx+n0zKfqcbgXi4DJx+C1bjptYPR
BPZL8DAeWuA8ebudVT44yEp82G96/Ggcf7F33xMxe0yc+Xa6owIDAQABoAAwDQYJ
KoZIhvcNAQEFBQADggEBAB0kcrFccSmFDmxox0Ne01UIqSsDqHgL+XmHTXJwre6D
hJSZwbvEtOK0G3+dr4Fs11WuUNt5qcLsx5a8uk4G6AKHMzuhLsJ7XZjgmQXGECpY
Q4mC3yT3ZoCGpIXbw+iP3lmEEXgaQL0Tx5LFl/okKbKYwIqNiyKWOMj7ZR/wxWg/
ZDGRs55xuoeLDJ/ZRFf9bI+IaCUd1YrfYcHIl3G87Av+r49YVwqRDT0VDV7uLgqn
29XI1PpVUNCPQGn9p/eX6Qo7vpDaPybRtA2R7XLKjQaF9oXWeCUqy1hvJac9QFO2
97Ob1alpHPoZ7mWiEuJwjBPii6a9M9G30nUo39lBi1w=
-----END CERTIFICATE REQUEST-----
"""
SAID_OF_CERTIFICATE: dict[str, Any] = {
    "SignatureAlgorithm": 4,
    "PublicKeyAlgorithm": 1,
    "Version": 3,
    "SerialNumber": 0,
    "Issuer": {
        "Country": None,
        "Organization": None,
        "OrganizationalUnit": None,
        "Locality": None,
        "Province": None,
        "StreetAddress": None,
        "PostalCode": None,
        "SerialNumber": "",
        "CommonName": "*.kyverno.svc",
        "Names": [{"Type": [2, 5, 4, 3], "Value": "*.kyverno.svc"}],
        "ExtraNames": None,
    },
    "Subject": {
        "Country": None,
        "Organization": None,
        "OrganizationalUnit": None,
        "Locality": None,
        "Province": None,
        "StreetAddress": None,
        "PostalCode": None,
        "SerialNumber": "",
        "CommonName": "*.kyverno.svc",
        "Names": [{"Type": [2, 5, 4, 3], "Value": "*.kyverno.svc"}],
        "ExtraNames": None,
    },
    "NotBefore": "2022-01-11T13:26:43Z",
    "NotAfter": "2023-01-11T14:26:43Z",
    "KeyUsage": 37,
    "Extensions": [
        {"Id": [2, 5, 29, 15], "Critical": True, "Value": "AwICpA=="},
        {"Id": [2, 5, 29, 19], "Critical": True, "Value": "MAMBAf8="},
        {"Id": [2, 5, 29, 14], "Critical": False, "Value": "BBTp5QElQ/X7t0wI6bZVv4AFwOKpfg=="},
    ],
    "ExtraExtensions": None,
    "UnhandledCriticalExtensions": None,
    "ExtKeyUsage": None,
    "UnknownExtKeyUsage": None,
    "BasicConstraintsValid": True,
    "IsCA": True,
    "MaxPathLen": -1,
    "MaxPathLenZero": False,
    "SubjectKeyId": "6eUBJUP1+7dMCOm2Vb+ABcDiqX4=",
    "AuthorityKeyId": None,
    "OCSPServer": None,
    "IssuingCertificateURL": None,
    "DNSNames": None,
    "EmailAddresses": None,
    "IPAddresses": None,
    "URIs": None,
    "PermittedDNSDomainsCritical": False,
    "PermittedDNSDomains": None,
    "ExcludedDNSDomains": None,
    "PermittedIPRanges": None,
    "ExcludedIPRanges": None,
    "PermittedEmailAddresses": None,
    "ExcludedEmailAddresses": None,
    "PermittedURIDomains": None,
    "Policies": None,
    "ExcludedURIDomains": None,
    "CRLDistributionPoints": None,
    "PolicyIdentifiers": None,
    "InhibitAnyPolicy": 0,
    "InhibitAnyPolicyZero": False,
    "InhibitPolicyMapping": 0,
    "InhibitPolicyMappingZero": False,
    "PolicyMappings": None,
    "RequireExplicitPolicy": 0,
    "RequireExplicitPolicyZero": False,
}
SAID_OF_REQUEST: dict[str, Any] = {
    "Attributes": None,
    "DNSNames": None,
    "EmailAddresses": None,
    "Extensions": None,
    "ExtraExtensions": None,
    "IPAddresses": None,
    "PublicKeyAlgorithm": 1,
    "SignatureAlgorithm": 3,
    "Subject": {
        "CommonName": "example.digicert.com",
        "Country": ["US"],
        "ExtraNames": None,
        "Locality": ["Lindon"],
        "Names": [
            {"Type": [2, 5, 4, 6], "Value": "US"},
            {"Type": [2, 5, 4, 8], "Value": "Utah"},
            {"Type": [2, 5, 4, 7], "Value": "Lindon"},
            {"Type": [2, 5, 4, 10], "Value": "DigiCert Inc."},
            {"Type": [2, 5, 4, 11], "Value": "DigiCert"},
            {"Type": [2, 5, 4, 3], "Value": "example.digicert.com"},
        ],
        "Organization": ["DigiCert Inc."],
        "OrganizationalUnit": ["DigiCert"],
        "PostalCode": None,
        "Province": ["Utah"],
        "SerialNumber": "",
        "StreetAddress": None,
    },
    "URIs": None,
    "Version": 0,
}
MODULUS = "2562677619429980910394392529302247877955"


def decoded(pem: str) -> Any:
    return compile("x509_decode(@)").search(pem, CONTEXT)


@pytest.mark.parametrize(("pem", "said"), [(CERTIFICATE, SAID_OF_CERTIFICATE), (REQUEST, SAID_OF_REQUEST)])
def test_a_certificate_says_what_kyverno_says_of_it(pem: str, said: dict[str, Any]) -> None:
    found = decoded(pem)
    assert {key: found[key] for key in said} == said
    body = "".join(line for line in pem.splitlines() if not line.startswith("-----"))
    assert found["Raw"] == body
    assert {key for key in found if key not in said} == {
        "Raw",
        "RawSubject",
        "RawSubjectPublicKeyInfo",
        "Signature",
        "PublicKey",
        *(("RawTBSCertificate", "RawIssuer") if "CERTIFICATE-" in pem else ("RawTBSCertificateRequest",)),
    }


def test_parts_of_the_certificate_are_within_it() -> None:
    found = decoded(CERTIFICATE)
    assert found["PublicKey"]["E"] == 65537
    assert found["PublicKey"]["N"].startswith(MODULUS)
    whole = base64.b64decode(found["Raw"])
    for part in ("RawTBSCertificate", "RawSubject", "RawIssuer", "RawSubjectPublicKeyInfo", "Signature"):
        assert base64.b64decode(found[part]) in whole


def test_a_chain_of_functions_reads_a_validity() -> None:
    """The example of Kyverno's documentation for caBundle."""
    bundle = base64.b64encode(CERTIFICATE.encode()).decode()
    text = "base64_decode(caBundle).x509_decode(@).time_since('', NotBefore, NotAfter)"
    assert compile(text).search({"caBundle": bundle}, CONTEXT) == "8761h0m0s"


@pytest.mark.parametrize(
    ("pem", "reason"),
    [
        ("", "this is no PEM text"),
        ("xyz", "this is no PEM text"),
        (base64.b64encode(CERTIFICATE.encode()).decode(), "is it base64_decode'd"),
        (CERTIFICATE.replace("CERTIFICATE", "RSA PRIVATE KEY"), "this is a RSA PRIVATE KEY"),
        (CERTIFICATE.replace("MIIC7TCC", "MIIC7TCD"), "x509_decode: "),
        ("-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----", "x509_decode: "),
    ],
)
def test_what_is_no_certificate_is_refused(pem: str, reason: str) -> None:
    with pytest.raises(ExpressionError, match=reason):
        decoded(pem)


def test_without_cryptography_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any, **named: Any) -> Any:
        if name.startswith("cryptography"):
            raise ImportError(name)
        return real(name, *rest, **named)

    monkeypatch.delitem(sys.modules, "skoupa.expr.jmespath.functions.certificatefields", raising=False)
    monkeypatch.delattr("skoupa.expr.jmespath.functions.certificatefields", raising=False)
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ExpressionError, match=r"install skoupa\[encryption\]"):
        decoded(CERTIFICATE)
