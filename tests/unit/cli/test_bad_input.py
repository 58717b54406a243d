"""Whatever is wrong with the kubeconfig or the way to the server: one sentence with what to do, and the right exit code."""

from __future__ import annotations

import socket
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from skoupa.cli import connect
from skoupa.clock import SystemClock
from tests.unit.cli.saying import Shell
from tests.unit.kube.login.pki import DAY, NOW, issue

pytestmark = pytest.mark.unit

COMMANDS = [("version",), ("snapshot", "-A")]
USAGE, TIMED_OUT, UNREACHABLE = 2, 3, 6


def config(**changes: Any) -> dict[str, Any]:
    cluster = {"server": "https://127.0.0.1:1", **changes.get("cluster", {})}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "shop", "cluster": cluster}],
        "users": [{"name": "jane", "user": changes.get("user", {"token": "abc"})}],
        "contexts": [
            {"name": "production", "context": {"cluster": "shop", "user": "jane"}},
            {"name": "staging", "context": {"cluster": "shop", "user": "jane"}},
        ],
        "current-context": "production",
    }


def write(path: Path, content: object) -> str:
    path.write_text(content if isinstance(content, str) else yaml.safe_dump(content))
    return str(path)


@pytest.mark.parametrize("command", COMMANDS, ids=["version", "snapshot"])
def test_a_kubeconfig_that_is_not_there_is_named(
    skoupa: Shell, tmp_path: Path, command: tuple[str, ...]
) -> None:
    path = str(tmp_path / "absent")
    said = skoupa(*command, "--kubeconfig", path)
    assert said.code == USAGE
    assert path in said.sentence
    assert "check the path" in said.sentence
    said = skoupa(*command, env={"KUBECONFIG": path})
    assert said.code == USAGE
    assert "KUBECONFIG" in said.sentence


def test_without_any_kubeconfig_the_ways_to_give_one_are_named(skoupa: Shell, tmp_path: Path) -> None:
    said = skoupa("version", env={"HOME": str(tmp_path)})
    assert said.code == USAGE
    assert "--kubeconfig" in said.sentence
    assert "~/.kube/config" in said.sentence


UNREADABLE: dict[str, tuple[object, str]] = {
    "half-written": (yaml.safe_dump(config())[:180] + "\n  - {cluster: [", "half-written"),
    "not text": (b"\xff\xfe\x00\x01 kind", "UTF-8"),
    "a list": ("- one\n- two\n", "begins with apiVersion"),
    "another kind": ("apiVersion: v1\nkind: Pod\n", "kind: Config"),
    "wrong type": (yaml.safe_dump({**config(), "clusters": "shop"}), "clusters"),
    "empty": ("", "no cluster"),
}


@pytest.mark.parametrize(("content", "expected"), UNREADABLE.values(), ids=UNREADABLE.keys())
def test_a_kubeconfig_that_can_not_be_used_is_named_with_what_to_do(
    skoupa: Shell, tmp_path: Path, content: str | bytes, expected: str
) -> None:
    path = tmp_path / "config"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    said = skoupa("version", "--kubeconfig", str(path))
    assert said.code == USAGE
    assert str(path) in said.sentence
    assert expected in said.sentence


def test_a_folder_is_no_kubeconfig(skoupa: Shell, tmp_path: Path) -> None:
    said = skoupa("version", "--kubeconfig", str(tmp_path))
    assert said.code == USAGE
    assert "folder" in said.sentence


def test_an_unknown_context_is_answered_with_the_known_ones(skoupa: Shell, tmp_path: Path) -> None:
    path = write(tmp_path / "config", config())
    said = skoupa("snapshot", "--kubeconfig", path, "--context", "stagging")
    assert said.code == USAGE
    assert "'stagging'" in said.sentence
    assert "staging, production" in said.sentence


def test_an_expired_client_certificate_is_told_with_its_date(skoupa: Shell, tmp_path: Path) -> None:
    pair = issue("late", by=issue("authority"), begins=NOW - 9 * DAY, ends=NOW - DAY)
    certificate, key = tmp_path / "late.crt", tmp_path / "late.key"
    certificate.write_text(pair.certificate)
    key.write_text(pair.key)
    user = {"client-certificate": str(certificate), "client-key": str(key)}
    said = skoupa("version", "--kubeconfig", write(tmp_path / "config", config(user=user)))
    assert said.code == USAGE
    assert f"expired on {(NOW - DAY):%Y-%m-%d}" in said.sentence
    assert "renew" in said.sentence


def test_a_server_that_is_not_there_is_named(skoupa: Shell, tmp_path: Path) -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        server = f"https://127.0.0.1:{bound.getsockname()[1]}"
        path = write(tmp_path / "config", config(cluster={"server": server}))
        said = skoupa("version", "--kubeconfig", path)
    assert said.code == UNREACHABLE
    assert f"{server} can't be reached" in said.sentence
    assert path in said.sentence


def test_a_server_whose_name_is_unknown_is_named(skoupa: Shell, tmp_path: Path) -> None:
    path = write(tmp_path / "config", config(cluster={"server": "https://cluster.invalid"}))
    said = skoupa("version", "--kubeconfig", path)
    assert said.code == UNREACHABLE
    assert "https://cluster.invalid can't be resolved" in said.sentence


@contextmanager
def server_saying(data: bytes) -> Iterator[str]:
    """Something that listens and is no API server."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                connection.settimeout(5)
                connection.recv(1000)
                connection.sendall(data)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield f"https://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()


@pytest.mark.parametrize(
    "data",
    [b"SSH-2.0-OpenSSH_9.6\r\n", b"HTTP/1.0 400 Bad Request\r\n\r\n", b""],
    ids=["ssh", "http", "nothing"],
)
def test_a_server_that_does_not_speak_tls_is_named(skoupa: Shell, tmp_path: Path, data: bytes) -> None:
    with server_saying(data) as server:
        said = skoupa(
            "version", "--kubeconfig", write(tmp_path / "config", config(cluster={"server": server}))
        )
    assert said.code == UNREACHABLE
    assert server in said.sentence


class Impatient(SystemClock):
    """Lives through every time limit in a moment."""

    @asynccontextmanager
    async def timeout(self, seconds: float | None) -> AsyncIterator[None]:
        async with super().timeout(0.1 if seconds else None):
            yield

    def jitter(self, seconds: float) -> float:
        return 0.0


def test_a_server_that_never_answers_is_timed_out(
    skoupa: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connect, "SystemClock", Impatient)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = f"https://127.0.0.1:{listener.getsockname()[1]}"
        said = skoupa(
            "version", "--kubeconfig", write(tmp_path / "config", config(cluster={"server": server}))
        )
    assert said.code == TIMED_OUT
    assert f"no answer from {server} within 30 s" in said.sentence
    assert "try again" in said.sentence


def test_plain_http_gets_an_answer_that_is_no_api_server(skoupa: Shell, tmp_path: Path) -> None:
    page = b"<html>It works!</html>"
    head = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {len(page)}\r\n\r\n".encode()
    with server_saying(head + page) as server:
        plain = server.replace("https", "http")
        said = skoupa(
            "version", "--kubeconfig", write(tmp_path / "config", config(cluster={"server": plain}))
        )
    assert said.code == UNREACHABLE
    assert "It works!" in said.sentence
    assert "API server" in said.sentence


def test_a_secret_of_the_kubeconfig_is_in_no_message(skoupa: Shell, tmp_path: Path) -> None:
    cluster = {"server": "https://127.0.0.1:1", "proxy-url": "http://me:hunter2@127.0.0.1:1"}
    path = write(tmp_path / "config", config(cluster=cluster, user={"token": "hunter2"}))
    said = skoupa("snapshot", "-A", "--kubeconfig", path)
    assert said.code == UNREACHABLE
    assert "hunter2" not in said.sentence
