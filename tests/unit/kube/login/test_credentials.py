"""What a request carries, and how it stays fresh while tokens and certificates are replaced on disk."""

from __future__ import annotations

import os
from base64 import b64encode
from pathlib import Path
from typing import Any

import msgspec
import pytest

from skoupa.errors import KubeconfigError
from skoupa.kube.login import configfile
from skoupa.kube.login.connection import (
    BasicAuth,
    Connection,
    ExecAuth,
    Impersonation,
    Origin,
    Pem,
    TlsSettings,
    TokenAuth,
    TokenFileAuth,
)
from skoupa.kube.login.credentials import Credentials, impersonation_headers
from skoupa.kube.login.identity import Overrides
from skoupa.kube.login.secret import Secret, from_wire, presentable
from tests.unit.kube.login.pki import HandClock, Pair, issue

pytestmark = pytest.mark.unit

SERVER = "https://h"
CA = issue("cluster")


def bearer(token: str) -> tuple[tuple[str, str], ...]:
    return (("Authorization", f"Bearer {token}"),)


# Headers


async def test_each_way_to_prove_an_identity_has_its_header() -> None:
    clock = HandClock()
    for auth, expected in (
        (TokenAuth(token=Secret("t")), "Bearer t"),
        (BasicAuth(username="ü", password=Secret("p:w")), "Basic " + b64encode("ü:p:w".encode()).decode()),
    ):
        credentials = Credentials(Connection(server=SERVER, auth=auth), clock=clock)
        assert await credentials.headers() == (("Authorization", expected),)
        assert not await credentials.refused()
    nobody = Credentials(Connection(server=SERVER), clock=clock)
    assert await nobody.headers() == ()
    assert not await nobody.refused()


async def test_every_impersonated_group_and_extra_value_has_a_header_of_its_own() -> None:
    impersonate = Impersonation(
        user="jane", uid="1", groups=("a", "b"), extra=(("example.com/scope%", ("x", "y")), ("é", ("z",)))
    )
    credentials = Credentials(
        Connection(server=SERVER, auth=TokenAuth(token=Secret("t")), impersonate=impersonate),
        clock=HandClock(),
    )
    assert await credentials.headers() == (
        *bearer("t"),
        ("Impersonate-User", "jane"),
        ("Impersonate-Uid", "1"),
        ("Impersonate-Group", "a"),
        ("Impersonate-Group", "b"),
        ("Impersonate-Extra-example.com%2Fscope%25", "x"),
        ("Impersonate-Extra-example.com%2Fscope%25", "y"),
        ("Impersonate-Extra-%C3%A9", "z"),
    )
    assert impersonation_headers(None) == ()


# Token files


def token_file(path: Path, clock: HandClock, *, fallback: str = "") -> Credentials:
    auth = TokenFileAuth(
        path=str(path), fallback=Secret(fallback), origin=Origin("config", "users[0].user.tokenFile")
    )
    return Credentials(Connection(server=SERVER, auth=auth), clock=clock)


async def test_a_new_token_is_seen_within_a_second_and_the_disk_left_alone_until_then(tmp_path: Path) -> None:
    path, clock = tmp_path / "token", HandClock()
    path.write_text("  first\n")
    credentials = token_file(path, clock)
    assert await credentials.headers() == bearer("first")
    path.write_text("other")
    assert await credentials.headers() == bearer("first")
    clock.pass_time(1)
    assert await credentials.headers() == bearer("other")


async def test_a_token_of_the_same_length_is_seen_by_its_time_and_by_its_inode(tmp_path: Path) -> None:
    path, clock = tmp_path / "token", HandClock()
    path.write_text("one")
    credentials = token_file(path, clock)
    await credentials.headers()
    path.write_text("two")
    os.utime(path, ns=(1, 1))
    clock.pass_time(1)
    assert await credentials.headers() == bearer("two")
    (tmp_path / "new").write_text("six")
    os.utime(tmp_path / "new", ns=(1, 1))
    (tmp_path / "new").rename(path)
    clock.pass_time(1)
    assert await credentials.headers() == bearer("six")


async def test_a_token_is_rotated_by_a_swapped_symlink_as_the_kubelet_does(tmp_path: Path) -> None:
    clock = HandClock()
    for version in ("a", "b"):
        (tmp_path / version).mkdir()
        (tmp_path / version / "token").write_text(f"token-{version}")
    (tmp_path / "data").symlink_to("a")
    (tmp_path / "token").symlink_to("data/token")
    credentials = token_file(tmp_path / "token", clock)
    assert await credentials.headers() == bearer("token-a")
    (tmp_path / "next").symlink_to("b")
    (tmp_path / "next").rename(tmp_path / "data")
    clock.pass_time(1)
    assert await credentials.headers() == bearer("token-b")


@pytest.mark.parametrize("content", [b"", b" \n", b"\xff", b"a\nb", None])
async def test_a_token_file_that_breaks_later_leaves_the_last_token_in_use(
    tmp_path: Path, content: bytes | None
) -> None:
    path, clock = tmp_path / "token", HandClock()
    path.write_text("good")
    credentials = token_file(path, clock)
    await credentials.headers()
    if content is None:
        path.unlink()
    else:
        path.write_bytes(content)
    clock.pass_time(1)
    assert await credentials.headers() == bearer("good")
    path.write_text("better")
    clock.pass_time(1)
    assert await credentials.headers() == bearer("better")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "can't be read (No such file or directory): check the path"),
        (b"", "is empty: write a token into it"),
        (b"\n \n", "is empty: write a token into it"),
        (b"\xff", "is not text: write the token into it"),
        (b"hidden\nhidden", "has a line break or a control character in it"),
    ],
)
async def test_a_token_file_that_can_not_be_used_at_first_is_an_error_until_it_can(
    tmp_path: Path, content: bytes | None, message: str
) -> None:
    path = tmp_path / "token"
    if content is not None:
        path.write_bytes(content)
    credentials = token_file(path, HandClock())
    for _ in range(2):
        with pytest.raises(KubeconfigError) as caught:
            await credentials.headers()
        assert str(caught.value).startswith("kubeconfig config (users[0].user.tokenFile): the token")
        assert f"{path} {message}" in str(caught.value)
        assert "hidden" not in str(caught.value)
    path.write_text("good")
    assert await credentials.headers() == bearer("good")


async def test_a_token_beside_a_token_file_is_used_until_the_file_can_be_read(tmp_path: Path) -> None:
    path, clock = tmp_path / "token", HandClock()
    credentials = token_file(path, clock, fallback="inline")
    assert await credentials.headers() == bearer("inline")
    path.write_text("from-file")
    clock.pass_time(1)
    assert await credentials.headers() == bearer("from-file")


async def test_a_refused_token_is_read_again_at_once(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("first")
    credentials = token_file(path, HandClock())
    await credentials.headers()
    assert not await credentials.refused(), "nothing has changed, so there is nothing to retry"
    path.write_text("second")
    assert await credentials.refused()
    assert await credentials.headers() == bearer("second")
    assert await credentials.refused(), "other requests were under way with the first token"


# Certificates in files


def write_pair(folder: Path, pair: Pair) -> None:
    (folder / "crt").write_text(pair.certificate)
    (folder / "key").write_text(pair.key)


def with_files(folder: Path, clock: HandClock) -> Credentials:
    (folder / "ca").write_text(CA.certificate)
    ca, certificate, key = (
        Pem(path=str(folder / name), origin=Origin("config", name)) for name in ("ca", "crt", "key")
    )
    return Credentials(
        Connection(server=SERVER, tls=TlsSettings(ca=ca, certificate=certificate, key=key)), clock=clock
    )


async def test_a_renewed_certificate_gives_a_new_context_once_its_key_is_there_too(tmp_path: Path) -> None:
    clock = HandClock()
    write_pair(tmp_path, issue("jane", by=CA))
    credentials = with_files(tmp_path, clock)
    first = credentials.ssl_context()
    for _ in range(3):
        clock.pass_time(1)
        await credentials.headers()
    assert (credentials.ssl_context(), credentials.generation) == (first, 0)

    renewed = issue("jane", by=CA)
    (tmp_path / "crt").write_text(renewed.certificate)
    clock.pass_time(1)
    await credentials.headers()
    assert (credentials.ssl_context(), credentials.generation) == (first, 0)

    (tmp_path / "key").write_text(renewed.key)
    clock.pass_time(1)
    await credentials.headers()
    assert credentials.generation == 1
    assert credentials.ssl_context() is not first


async def test_a_refusal_looks_for_a_renewed_certificate_at_once(tmp_path: Path) -> None:
    write_pair(tmp_path, issue("jane", by=CA))
    credentials = with_files(tmp_path, HandClock())
    await credentials.headers()
    credentials.ssl_context()
    assert not await credentials.refused()
    write_pair(tmp_path, issue("jane", by=CA))
    assert await credentials.refused()
    assert credentials.generation == 1


def test_files_that_can_not_be_used_at_first_are_an_error(tmp_path: Path) -> None:
    credentials = with_files(tmp_path, HandClock())
    for _ in range(2):
        with pytest.raises(KubeconfigError, match=r"\(crt\): .* can't be read"):
            credentials.ssl_context()
    write_pair(tmp_path, issue("jane", by=CA))
    assert credentials.ssl_context() is not None


def test_plain_http_has_no_context() -> None:
    assert Credentials(Connection(server="http://h"), clock=HandClock()).ssl_context() is None


# Secrets

HIDDEN = "s3cr3t-Value"


def _holders() -> list[Any]:
    secret = Secret(HIDDEN)
    plugin = ExecAuth(
        command="p", args=(secret,), env=(("A", secret),), api_version="v1", cluster_proxy_url=secret
    )
    pem = Pem(text=secret)
    connection = Connection(
        server=SERVER,
        auth=plugin,
        proxy_authorization=secret,
        tls=TlsSettings(ca=pem, certificate=pem, key=pem),
    )
    user = {
        "token": HIDDEN,
        "password": HIDDEN,
        "client-key-data": HIDDEN,
        "client-certificate-data": HIDDEN,
        "auth-provider": {"name": "gcp", "config": {"access-token": HIDDEN}},
        "exec": {"args": [HIDDEN], "env": [{"name": "A", "value": HIDDEN}]},
    }
    return [
        secret,
        connection,
        TokenAuth(token=secret),
        TokenFileAuth(path="/p", fallback=secret),
        BasicAuth(username="u", password=secret),
        Credentials(connection, clock=HandClock()),
        Overrides(token=secret),
        msgspec.convert(user, configfile.User, dec_hook=from_wire),
        configfile.Cluster(proxy_url=secret, certificate_authority_data=secret),
    ]


@pytest.mark.parametrize("holder", _holders(), ids=lambda holder: type(holder).__name__)
def test_nothing_that_holds_a_secret_shows_it(holder: Any) -> None:
    from rich.pretty import pretty_repr

    for shown in (repr(holder), str(holder), f"{holder}", f"{holder!r}", pretty_repr(holder)):
        assert HIDDEN not in shown
    with pytest.raises((TypeError, NotImplementedError)):
        msgspec.json.encode(holder)


def test_a_secret_is_neither_pickled_nor_empty_by_accident() -> None:
    import pickle

    with pytest.raises(TypeError, match="not pickled"):
        pickle.dumps(Secret(HIDDEN))
    assert Secret(HIDDEN) == Secret(HIDDEN)
    assert len({Secret("a"), Secret("a"), Secret("b")}) == 2
    assert bool(Secret("a"))
    assert not Secret()
    assert (str(Secret()), repr(Secret())) == ("", "Secret()")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\n  one\n\n two \n", "one | two"),
        ("\x1b[31mred\x1b[0m\x07", "[31mred[0m"),
        (f"token {HIDDEN} leaked", "token *** leaked"),
        ("eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ4In0.c2ln-bad", "***"),
        ("got " + "aB3" * 20 + "=", "got ***"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY----- x", "*** x"),
        ("-----BEGIN PRIVATE KEY-----\nMIIcut", "***"),
        (
            "POST https://login.example.com/0b5a3f0c-3c77-4c4e-9c64-51f5d5dd2ad2/oauth2/v2.0/token: 400",
            "POST https://login.example.com/0b5a3f0c-3c77-4c4e-9c64-51f5d5dd2ad2/oauth2/v2.0/token: 400",
        ),
        ("a " * 400, "..." + ("a " * 400).strip()[-400:]),
    ],
)
def test_foreign_text_is_shown_on_one_line_without_secrets_and_control_codes(text: str, shown: str) -> None:
    assert presentable(text, secrets=[Secret(HIDDEN), Secret("")]) == shown
