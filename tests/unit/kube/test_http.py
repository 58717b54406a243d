"""The wire itself: each way in which a connection can fail is one error, and nothing is sent twice unasked."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from harness.faultproxy import (
    Answer,
    Close,
    CutLine,
    Fault,
    FaultProxy,
    HalfClose,
    Reset,
    Rule,
    Silence,
    Slow,
    Stream,
    kube_status,
)
from skoupa.clock import SystemClock
from skoupa.errors import BadReply, Disconnected, SkoupaError, TimedOut, Unauthorized, Unreachable
from skoupa.kube.client import Client
from skoupa.kube.http import HttpTransport
from skoupa.kube.login.connection import (
    BasicAuth,
    Connection,
    NoAuth,
    Pem,
    TlsSettings,
    TokenAuth,
    TokenFileAuth,
)
from skoupa.kube.login.secret import Secret
from skoupa.kube.objects import METADATA
from skoupa.kube.resources import PODS
from skoupa.kube.transport import Method, Request

pytestmark = pytest.mark.unit

BODY = b'{"kind":"Pod","metadata":{"name":"a","uid":"u"}}'
READ = Request(path="/api/v1/pods", repeatable=True)


@pytest.fixture
async def proxy() -> AsyncIterator[FaultProxy]:
    async with FaultProxy() as proxy:
        yield proxy


def to(proxy: FaultProxy, **more: object) -> Connection:
    connection = Connection(
        server=proxy.url, source="the test's file", tls=TlsSettings(ca=Pem(path=str(proxy.ca_file)))
    )
    return msgspec.structs.replace(connection, **more)


@asynccontextmanager
async def wire(connection: Connection, *, compress: bool = False) -> AsyncIterator[HttpTransport]:
    async with HttpTransport(connection, SystemClock(), compress=compress) as transport:
        yield transport


async def failure(transport: HttpTransport, request: Request = READ) -> SkoupaError:
    with pytest.raises(SkoupaError) as caught:
        await transport.send(request)
    assert caught.value.advice, "every failure says what to do"
    return caught.value


async def test_an_answer_comes_whole_with_its_headers_in_lower_case(proxy: FaultProxy) -> None:
    headers = (("Content-Type", "application/json"), ("Retry-After", "7"), ("X-Kubernetes-Uid", "x"))
    proxy.script(Rule(Answer(418, BODY, headers)))
    async with wire(to(proxy)) as transport:
        response = await transport.send(READ)
    assert (response.status, response.body) == (418, BODY), "a refusal is an answer"
    assert response.headers["retry-after"] == "7"
    assert response.headers["x-kubernetes-uid"] == "x"


async def test_path_and_query_arrive_as_they_were_meant(proxy: FaultProxy) -> None:
    proxy.script(Rule(Answer(200, BODY)))
    async with wire(to(proxy)) as transport:
        query = (
            ("labelSelector", "a in (b,c),!d"),
            ("continue", "x+/="),
            ("fieldSelector", "metadata.name=ü"),
        )
        await transport.send(Request(path="/api/v1/namespaces/a%2Fb/pods", query=query))
    (seen,) = proxy.requests
    assert seen.path == "/api/v1/namespaces/a%2Fb/pods"
    assert "continue=x%2B/%3D" in seen.query or "continue=x%2B%2F%3D" in seen.query
    assert "%C3%BC" in seen.query


async def test_a_server_behind_a_path_keeps_its_path(proxy: FaultProxy) -> None:
    proxy.script(Rule(Answer(200, BODY)))
    async with wire(to(proxy, server=f"{proxy.url}/k8s/clusters/c-1")) as transport:
        await transport.send(READ)
    assert proxy.requests[0].path == "/k8s/clusters/c-1/api/v1/pods"


CUT: dict[str, Fault] = {
    "reset at once": Reset(),
    "reset before the answer": Reset(after_bytes=0),
    "reset in the answer": Reset(after_bytes=10),
    "closed at once": Close(),
    "closed in the answer": Close(after_bytes=10),
    "half-closed in the answer": HalfClose(after_bytes=10),
    "cut in a line": CutLine(0),
}


@pytest.mark.parametrize("fault", CUT.values(), ids=CUT.keys())
@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "POST"])
async def test_a_connection_that_breaks_is_one_error_and_nothing_is_sent_again(
    proxy: FaultProxy, fault: Fault, method: Method
) -> None:
    proxy.script(Rule(Answer(200, BODY)))
    rule = proxy.script(Rule(fault, times=None, answer=Answer(200, BODY)))
    async with wire(to(proxy)) as transport:
        await transport.send(READ)
        request = Request(method=method, path="/api/v1/pods", body=b"" if method == "GET" else b"{}")
        assert type(await failure(transport, request)) is Disconnected
    assert proxy.hits(rule) == 1


async def test_a_connection_that_is_refused_never_left(proxy: FaultProxy) -> None:
    async with wire(to(proxy)) as transport:
        await proxy.down()
        error = await failure(transport)
        assert type(error) is Unreachable
        assert "connection refused" in str(error)
        assert "the test's file" in str(error)
        await proxy.up()
        proxy.script(Rule(Answer(200, BODY)))
        assert (await transport.send(READ)).status == 200


@pytest.mark.parametrize(
    "fault", [Silence(), Silence(after_bytes=5), Slow(delay=30), Slow(bytes_per_second=1)], ids=repr
)
async def test_an_answer_that_does_not_come_in_time_is_timed_out(proxy: FaultProxy, fault: Fault) -> None:
    proxy.script(Rule(fault, answer=Answer(200, BODY)))
    async with wire(to(proxy)) as transport:
        error = await failure(transport, msgspec.structs.replace(READ, timeout=0.2))
    assert type(error) is TimedOut
    assert "within 0.2 s" in str(error)


@pytest.mark.parametrize("identity", ["other-authority", "other-name"])
async def test_a_certificate_that_is_not_trusted_is_told_with_the_fields_to_check(identity: str) -> None:
    async with FaultProxy(identity=identity) as proxy, wire(to(proxy)) as transport:  # type: ignore[arg-type]  # one of two
        error = await failure(transport)
    assert type(error) is Unreachable
    assert "not trusted" in str(error)
    assert "certificate-authority and tls-server-name in the test's file" in str(error)
    assert proxy.requests == []


async def test_a_redirect_is_not_followed_and_told(proxy: FaultProxy) -> None:
    elsewhere = (("Location", "https://login.example/?token=hunter2"),)
    proxy.script(Rule(Answer(302, b"", elsewhere), times=None))
    async with wire(to(proxy, auth=TokenAuth(token=Secret("abc")))) as transport:
        with pytest.raises(BadReply, match=r"login\.example") as caught:
            await Client(transport, SystemClock()).get(PODS, "a", namespace="x", view=METADATA)
    assert "hunter2" not in str(caught.value)
    assert len(proxy.requests) == 1


async def test_a_stream_hands_over_pieces_as_they_come_and_ends_when_it_ends(proxy: FaultProxy) -> None:
    proxy.script(Rule(Stream((b"one", b"two"), stay_open=False)))
    async with wire(to(proxy)) as transport, transport.stream(READ) as stream:
        assert stream.status == 200
        assert b"".join([chunk async for chunk in stream.chunks()]) == b"one\ntwo\n"


@pytest.mark.parametrize("fault", [Reset(after_lines=1), HalfClose(after_lines=1), CutLine(1)], ids=repr)
async def test_a_stream_that_is_cut_is_no_stream_that_ended(proxy: FaultProxy, fault: Fault) -> None:
    proxy.script(Rule(fault, answer=Stream((b"one", b"two"))))
    async with wire(to(proxy)) as transport, transport.stream(READ) as stream:
        with pytest.raises(Disconnected):
            async for _ in stream.chunks():
                pass


async def test_the_time_limit_of_a_stream_is_for_its_beginning(proxy: FaultProxy) -> None:
    proxy.script(Rule(Slow(bytes_per_second=8), answer=Stream((b"x" * 10,), stay_open=False)))
    proxy.script(Rule(Silence()))
    quick = msgspec.structs.replace(READ, timeout=1.0)
    async with wire(to(proxy)) as transport:
        async with transport.stream(quick) as stream:
            assert b"".join([chunk async for chunk in stream.chunks()]) == b"x" * 10 + b"\n"
        with pytest.raises(TimedOut):
            async with transport.stream(quick):
                pass


async def test_a_stream_that_is_left_gives_its_connection_back(proxy: FaultProxy) -> None:
    proxy.script(Rule(Stream((b"one",)), times=None))
    async with wire(to(proxy)) as transport:
        async with transport.stream(READ) as stream:
            await anext(stream.chunks())
        await proxy.wait_until_closed()
        assert proxy.open_connections == 0


@pytest.mark.parametrize("streamed", [False, True], ids=["send", "stream"])
async def test_a_401_is_tried_once_more_when_a_new_token_was_found(
    proxy: FaultProxy, tmp_path: Path, *, streamed: bool
) -> None:
    token = tmp_path / "token"
    token.write_text("old")
    refused = proxy.script(Rule(kube_status(401), times=1))
    proxy.script(Rule(Answer(200, BODY), times=None))
    async with wire(to(proxy, auth=TokenFileAuth(path=str(token)))) as transport:
        # Something has to be known before it can be found to have changed.
        await transport._credentials.headers()
        token.write_text("new")
        status = await ask(transport, streamed=streamed)
    assert status == 200
    assert proxy.hits(refused) == 1
    assert len(proxy.requests) == 2


@pytest.mark.parametrize("streamed", [False, True], ids=["send", "stream"])
async def test_a_401_without_anything_new_is_the_answer(proxy: FaultProxy, *, streamed: bool) -> None:
    proxy.script(Rule(kube_status(401), times=None))
    async with wire(to(proxy, auth=TokenAuth(token=Secret("abc")))) as transport:
        assert await ask(transport, streamed=streamed) == 401
        with pytest.raises(Unauthorized, match="log in again"):
            await Client(transport, SystemClock()).get(PODS, "a", namespace="x", view=METADATA)
    assert len(proxy.requests) == 2


async def ask(transport: HttpTransport, *, streamed: bool) -> int:
    if not streamed:
        return (await transport.send(READ)).status
    async with transport.stream(READ) as stream:
        return stream.status


async def test_connections_are_used_again(proxy: FaultProxy) -> None:
    proxy.script(Rule(Answer(200, BODY), times=None))
    async with wire(to(proxy)) as transport:
        for _ in range(5):
            await transport.send(READ)
        assert proxy.open_connections == 1


async def test_a_closed_transport_can_be_used_again(proxy: FaultProxy) -> None:
    proxy.script(Rule(Answer(200, BODY), times=None))
    async with wire(to(proxy)) as transport:
        await transport.send(READ)
        await transport.close()
        assert (await transport.send(READ)).status == 200


async def test_without_a_time_limit_an_answer_is_waited_for(proxy: FaultProxy) -> None:
    proxy.script(Rule(Slow(delay=0.2), answer=Answer(200, BODY)))
    async with wire(to(proxy)) as transport:
        assert (await transport.send(msgspec.structs.replace(READ, timeout=None))).status == 200


async def test_the_token_that_requests_carry_can_be_shown_elsewhere_and_other_proofs_are_none(
    tmp_path: Path,
) -> None:
    file = tmp_path / "token"
    file.write_text("from-a-file\n")
    server = Connection(server="https://127.0.0.1:1")
    for auth, expected in (
        (TokenAuth(token=Secret("given")), "given"),
        (TokenFileAuth(path=str(file)), "from-a-file"),
        (BasicAuth(username="ann", password=Secret("pw")), ""),
        (NoAuth(), ""),
    ):
        async with wire(msgspec.structs.replace(server, auth=auth)) as transport:
            assert (await transport.bearer()).reveal() == expected


async def test_the_kernel_notices_within_25_seconds_that_nobody_is_there_any_more(proxy: FaultProxy) -> None:
    proxy.script(Rule(Stream((b"{}",)), times=None))
    async with wire(to(proxy)) as transport, transport.stream(READ) as stream:
        assert stream.status == 200
        connection = stream._answer.connection
        assert connection is not None
        assert connection.transport is not None
        made = connection.transport.get_extra_info("socket")

        def option(name: str) -> int:
            return int(made.getsockopt(socket.IPPROTO_TCP, getattr(socket, name)))

        assert made.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        assert option("TCP_KEEPIDLE") + option("TCP_KEEPINTVL") * option("TCP_KEEPCNT") == 25
        assert option("TCP_USER_TIMEOUT") == 25_000


@pytest.mark.parametrize(
    ("wanted", "allowed", "expected"),
    [(True, True, "gzip"), (False, True, "identity"), (True, False, "identity")],
)
async def test_a_long_answer_comes_compressed_where_that_was_asked_for_and_the_kubeconfig_allows_it(
    *, wanted: bool, allowed: bool, expected: str
) -> None:
    asked: list[str] = []

    async def answer(request: web.Request) -> web.Response:
        asked.append(request.headers["Accept-Encoding"])
        found = web.Response(body=BODY * 1000)
        if "gzip" in asked[-1]:
            found.enable_compression(web.ContentCoding.gzip)
        return found

    app = web.Application()
    app.router.add_get("/api/v1/pods", answer)
    async with TestServer(app) as server:
        connection = Connection(server=str(server.make_url("")).rstrip("/"), disable_compression=not allowed)
        async with wire(connection) as transport:
            response = await transport.send(msgspec.structs.replace(READ, compressed=wanted))
    assert asked == [expected]
    assert response.body == BODY * 1000
