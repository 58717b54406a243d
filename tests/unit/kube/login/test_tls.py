"""SSL contexts: who is trusted, who we are, and what is said about files that can't be used."""

from __future__ import annotations

import datetime as dt
import os
import ssl
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skoupa.errors import KubeconfigError
from skoupa.kube.login import tls
from skoupa.kube.login.certificates import certificates, validity
from skoupa.kube.login.connection import Origin, Pem, TlsSettings
from skoupa.kube.login.secret import Secret
from tests.unit.kube.login.greeter import greeted, serving
from tests.unit.kube.login.pki import DAY, NOW, issue, key_pem

pytestmark = pytest.mark.unit

CA = issue("cluster")
SERVER = issue("server.example", by=CA)
CLIENT = issue("jane", by=CA)


def data(text: str, field: str = "field") -> Pem:
    return Pem(text=Secret(text), origin=Origin("config", field))


def build(
    *, ca: str = "", certificate: str = "", key: str = "", insecure: bool = False, now: dt.datetime = NOW
) -> ssl.SSLContext:
    settings = TlsSettings(
        ca=data(ca, "ca") if ca else Pem(),
        certificate=data(certificate, "crt") if certificate else Pem(),
        key=data(key, "key") if key else Pem(),
        insecure=insecure,
    )
    return tls.context(settings, now=now.timestamp())


async def test_the_server_is_trusted_by_the_authority_that_is_given() -> None:
    async with serving(SERVER) as port:
        assert await greeted(build(ca=CA.certificate), port) == "nobody"
        assert await greeted(build(ca=CA.certificate), port, name="server.example") == "nobody"
        for context, name in (
            (build(ca=issue("other").certificate), "127.0.0.1"),
            (build(), "127.0.0.1"),
            (build(ca=CA.certificate), "other.example"),
        ):
            with pytest.raises(ssl.SSLCertVerificationError):
                await greeted(context, port, name=name)


async def test_a_certificate_below_the_root_can_be_the_authority_as_in_kubectl() -> None:
    async with serving(SERVER) as port:
        assert await greeted(build(ca=SERVER.certificate), port) == "nobody"


async def test_insecure_trusts_anyone() -> None:
    async with serving(SERVER) as port:
        assert await greeted(build(insecure=True), port, name="other.example") == "nobody"


@pytest.mark.parametrize("kind", ["ec", "rsa", "ed25519"])
async def test_the_client_certificate_is_presented(kind: str) -> None:
    client = issue("jane", by=CA, kind=kind)
    async with serving(SERVER, clients_of=CA) as port:
        context = build(ca=CA.certificate, certificate=client.certificate, key=client.key)
        assert await greeted(context, port) == "jane"


def test_old_ways_to_write_a_key_are_understood() -> None:
    # What `openssl ecparam -genkey` writes: the curve in a block of its own, then the key.
    curve = "-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n"
    pair = issue("joe", by=CA)
    key = curve + key_pem(pair.private, traditional=True)
    assert "BEGIN EC PRIVATE KEY" in key
    build(certificate=f"# a comment é\n{pair.certificate}".replace("\n", "\r\n"), key=key)
    pair = issue("jane", by=CA, kind="rsa")
    build(certificate=pair.certificate, key=key_pem(pair.private, traditional=True))


@pytest.mark.parametrize(
    ("ca", "certificate", "key", "message"),
    [
        ("nothing", "", "", "(ca): the authority is not usable: there is no certificate in it"),
        (
            "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----",
            "",
            "",
            "(ca): the authority is not usable: ",
        ),
        (
            "-----BEGIN CERTIFICATE-----\nQUJD\n-----END CERTIFICATE-----",
            "",
            "",
            "(ca): OpenSSL refuses the authority (",
        ),
        (CA.certificate[:-40], "", "", "(ca): the authority is not usable: there is no certificate in it"),
        (
            "",
            "nothing",
            CLIENT.key,
            "(crt): the client certificate is not usable: there is no certificate in it",
        ),
        (
            "",
            "-----BEGIN CERTIFICATE-----\nQUJD\n-----END CERTIFICATE-----",
            CLIENT.key,
            "(crt): OpenSSL can't read the client certificate (",
        ),
        (
            "",
            CLIENT.certificate,
            "nothing",
            "(key): the client key is not usable: there is no private key in it",
        ),
        (
            "",
            CLIENT.certificate,
            CLIENT.certificate,
            "(key): the client key is not usable: there is no private key",
        ),
        (
            "",
            CLIENT.certificate,
            "-----BEGIN PRIVATE KEY-----\nQUJD\n-----END PRIVATE KEY-----",
            "(key): OpenSSL refuses the client certificate or its key (",
        ),
        (
            "",
            CLIENT.certificate,
            SERVER.key,
            "(key): the key does not belong to the client certificate: take",
        ),
        (
            "",
            CLIENT.certificate,
            issue("rsa", kind="rsa").key,
            "(key): the key does not belong to the client certificate: take",
        ),
        (
            "",
            CLIENT.certificate,
            key_pem(CLIENT.private, password=b"x"),
            "(key): the client key is encrypted: decrypt it with",
        ),
        (
            "",
            CLIENT.certificate,
            key_pem(CLIENT.private, password=b"x", traditional=True),
            "(key): the client key is encrypted: decrypt it with",
        ),
    ],
)
def test_what_can_not_be_used_is_named(ca: str, certificate: str, key: str, message: str) -> None:
    with pytest.raises(KubeconfigError) as caught:
        build(ca=ca, certificate=certificate, key=key)
    assert str(caught.value).startswith(f"kubeconfig config {message}")
    assert caught.value.advice
    body = (key.splitlines() or [""])[1:-1]
    assert not any(line in str(caught.value) for line in body if line)


def test_a_certificate_that_expired_says_when() -> None:
    old = issue("jane", by=CA, begins=NOW - 3 * DAY, ends=NOW - DAY)
    with pytest.raises(KubeconfigError) as caught:
        build(certificate=old.certificate, key=old.key)
    expected = (NOW - DAY).strftime("%Y-%m-%d %H:%M:%S UTC")
    assert f"the client certificate expired on {expected}: log in again or renew it" in str(caught.value)


def test_a_certificate_of_the_future_points_at_the_clock() -> None:
    young = issue("jane", by=CA, begins=NOW + DAY, ends=NOW + 2 * DAY)
    with pytest.raises(KubeconfigError) as caught:
        build(certificate=young.certificate, key=young.key)
    expected = (NOW + DAY).strftime("%Y-%m-%d %H:%M:%S UTC")
    assert f"is valid only from {expected} on: check the clock" in str(caught.value)


@pytest.mark.parametrize("year", [1970, 1999, 2049, 2050, 2400])
def test_dates_are_read_in_both_ways_that_certificates_have(year: int) -> None:
    begins = dt.datetime(year, 2, 3, 4, 5, 6, tzinfo=dt.UTC)
    made = issue("x", begins=begins, ends=begins + DAY)
    lifetime = validity(certificates(made.certificate)[0])
    assert (lifetime.begins, lifetime.ends) == (begins.timestamp(), (begins + DAY).timestamp())


_DER = certificates(CLIENT.certificate)[0]


@settings(deadline=None)
@given(st.binary(max_size=100) | st.integers(0, len(_DER)).map(lambda end: _DER[:end]))
def test_bytes_that_are_no_certificate_have_no_dates(garbage: bytes) -> None:
    if garbage != _DER:
        with pytest.raises(ValueError, match=r".*"):
            validity(garbage)


@settings(deadline=None)
@given(st.integers(0, 150), st.integers(0, 255))
def test_a_changed_byte_gives_dates_or_a_value_error(place: int, byte: int) -> None:
    try:
        validity(_DER[:place] + bytes([byte]) + _DER[place + 1 :])
    except ValueError:
        return


def test_files_are_read_and_named_when_missing(tmp_path: Path) -> None:
    for name, text in (("ca", CA.certificate), ("crt", CLIENT.certificate), ("key", CLIENT.key)):
        (tmp_path / name).write_text(text)
    pems = {
        name: Pem(path=str(tmp_path / name), origin=Origin("config", name)) for name in ("ca", "crt", "key")
    }
    whole = TlsSettings(ca=pems["ca"], certificate=pems["crt"], key=pems["key"])
    tls.context(whole, now=NOW.timestamp())
    for name in ("key", "crt", "ca"):
        (tmp_path / name).unlink()
        with pytest.raises(KubeconfigError) as caught:
            tls.context(whole, now=NOW.timestamp())
        assert str(caught.value) == (
            f"kubeconfig config ({name}): {tmp_path / name} can't be read (No such file or directory): "
            "check the path and the permissions of the file"
        )


def _descriptors() -> set[str]:
    return {entry.name for entry in Path("/proc/self/fd").iterdir()}


@pytest.mark.parametrize("memory", [True, False], ids=["memory", "file"])
def test_a_key_is_readable_by_its_owner_only_and_gone_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, memory: bool
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    if not memory:
        monkeypatch.delattr(os, "memfd_create")
    descriptors = _descriptors()
    with tls._as_path(CLIENT.key) as path:
        assert Path(path).read_text() == CLIENT.key
        assert memory or Path(path).stat().st_mode & 0o777 == 0o600
        assert path.startswith("/proc/" if memory else str(tmp_path))
    build(certificate=CLIENT.certificate, key=CLIENT.key)
    with pytest.raises(KubeconfigError):
        build(certificate=CLIENT.certificate, key=SERVER.key)
    assert list(tmp_path.iterdir()) == []
    assert _descriptors() == descriptors
