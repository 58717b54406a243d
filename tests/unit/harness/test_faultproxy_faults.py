"""What a client sees of each fault. The answers that the faults work on are scripted; there is no upstream."""

import asyncio
import re
import select
import socket
import ssl
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TypeVar

import aiohttp
import msgspec
import pytest
import uvloop
import yaml

from harness.faultproxy import (
    Answer,
    Close,
    Cut,
    CutLine,
    Duplicate,
    EndWatch,
    Fault,
    FaultProxy,
    Garbage,
    HalfClose,
    InjectLine,
    Reset,
    Rule,
    Silence,
    Slow,
    Stream,
    WatchError,
    kube_status,
)

pytestmark = pytest.mark.unit

PODS = Answer(body=b'{"kind":"PodList","items":[]}')
ADDED, MODIFIED, DELETED = b'{"type":"ADDED"}', b'{"type":"MODIFIED"}', b'{"type":"DELETED"}'
EVENTS = Stream((ADDED, MODIFIED, DELETED))
ENDED = Stream(EVENTS.lines, stay_open=False)
# aiohttp sends idempotent requests a second time on its own when the connection breaks.
TWICE = 2

T = TypeVar("T")


@pytest.fixture
async def proxy() -> AsyncIterator[FaultProxy]:
    async with FaultProxy() as proxy:
        yield proxy


@asynccontextmanager
async def client_of(proxy: FaultProxy, *, patience: float = 5) -> AsyncIterator[aiohttp.ClientSession]:
    context = ssl.create_default_context(cafile=proxy.ca_file)
    async with aiohttp.ClientSession(
        proxy.url,
        connector=aiohttp.TCPConnector(ssl=context),
        timeout=aiohttp.ClientTimeout(sock_read=patience, sock_connect=patience),
    ) as session:
        yield session


async def got(response: aiohttp.ClientResponse) -> tuple[bytes, str]:
    """What came of the body, and the error at its end."""
    body = b""
    try:
        async for data in response.content.iter_any():
            body += data
    except (aiohttp.ClientError, TimeoutError) as error:
        return body, f"{type(error).__name__}: {error}"
    return body, ""


async def get(proxy: FaultProxy, fault: Fault, answer: Answer | Stream | None) -> tuple[bytes, str]:
    proxy.script(Rule(fault, answer=answer))
    patience = 0.2 if isinstance(fault, Silence) else 5
    async with client_of(proxy, patience=patience) as session, session.get("/api/v1/pods") as response:
        assert response.status == 200
        return await got(response)


class BareAnswer(msgspec.Struct, frozen=True):
    """What came over a bare socket: clients on asyncio do not tell a FIN from a close_notify."""

    data: bytes
    ending: str
    usable: bool


def bare_get(proxy: FaultProxy, *, patience: float = 5) -> BareAnswer:
    context = ssl.create_default_context(cafile=proxy.ca_file)
    host, port = proxy.url.removeprefix("https://").split(":")
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = context.wrap_bio(incoming, outgoing, server_hostname=host)
    data, ending = b"", ""
    with socket.create_connection((host, int(port)), timeout=5) as sock:

        def step(action: Callable[[], T]) -> T:
            while True:
                try:
                    return action()
                except ssl.SSLWantReadError:
                    # Even an empty write would meet the RST, before all that was received is read.
                    if outgoing.pending:
                        sock.sendall(outgoing.read())
                    received = sock.recv(100_000)
                    if not received:
                        raise EOFError from None
                    incoming.write(received)

        step(tls.do_handshake)
        sock.settimeout(patience)
        tls.write(b"GET /api/v1/pods HTTP/1.1\r\nHost: x\r\n\r\n")
        try:
            while received := step(partial(tls.read, 100_000)):
                data += received
            ending = "close_notify"
        except (OSError, EOFError) as error:
            ending = type(error).__name__
        if ending != "ConnectionResetError":
            sock.sendall(b"more")
        broken = select.poll()
        broken.register(sock, 0)
        return BareAnswer(data, ending, usable=not broken.poll(30))


@pytest.mark.parametrize(
    ("cut", "ending"),
    [
        (Reset, "ConnectionResetError"),
        (HalfClose, "EOFError"),
        (Close, "close_notify"),
        (Silence, "TimeoutError"),
    ],
)
@pytest.mark.parametrize("after_bytes", [None, 0, 7])
async def test_each_cut_ends_the_connection_in_its_own_way_and_at_the_exact_byte(
    proxy: FaultProxy, cut: type[Cut], ending: str, after_bytes: int | None
) -> None:
    proxy.script(Rule(cut(after_bytes=after_bytes), answer=PODS))
    answer = await asyncio.to_thread(bare_get, proxy, patience=0.2 if cut is Silence else 5)
    assert answer.data.partition(b"\r\n\r\n")[2] == PODS.body[: after_bytes or 0]
    assert (b"200 OK" in answer.data) == bool(after_bytes)
    assert answer.ending == ending


@pytest.mark.parametrize("cut", [HalfClose(), Silence()])
async def test_a_half_closed_or_silent_connection_still_takes_bytes(proxy: FaultProxy, cut: Cut) -> None:
    proxy.script(Rule(cut))
    assert (await asyncio.to_thread(bare_get, proxy, patience=0.2)).usable


async def test_what_was_sent_before_a_reset_arrives_however_much_it_is(proxy: FaultProxy) -> None:
    body = bytes(3_000_000)
    proxy.script(Rule(Reset(after_bytes=len(body) - 1), answer=Answer(body=body)))
    answer = await asyncio.to_thread(bare_get, proxy)
    assert (answer.ending, answer.usable) == ("ConnectionResetError", False)
    assert len(answer.data.partition(b"\r\n\r\n")[2]) == len(body) - 1


@pytest.mark.parametrize("cut", [Reset(), HalfClose(), Close()])
async def test_a_request_that_is_cut_at_once_has_no_answer(proxy: FaultProxy, cut: Cut) -> None:
    rule = proxy.script(Rule(cut, times=TWICE))
    async with client_of(proxy) as session:
        with pytest.raises((aiohttp.ServerDisconnectedError, aiohttp.ClientOSError)) as raised:
            await session.get("/api/v1/pods")
    assert isinstance(raised.value, aiohttp.ClientOSError) == isinstance(cut, Reset)
    assert proxy.hits(rule) == TWICE
    assert [seen.status for seen in proxy.requests] == [None, None]


INCOMPLETE = "ClientPayloadError: Response payload is not completed"


@pytest.mark.parametrize(
    ("fault", "answer", "body", "error"),
    [
        (Reset(after_bytes=5), PODS, PODS.body[:5], INCOMPLETE + ".*Connection reset by peer"),
        (Reset(after_lines=1), EVENTS, ADDED + b"\n", INCOMPLETE + ".*Connection reset by peer"),
        (HalfClose(after_lines=0), EVENTS, b"", INCOMPLETE),
        (Close(after_lines=2), EVENTS, ADDED + b"\n" + MODIFIED + b"\n", INCOMPLETE),
        (CutLine(1), EVENTS, ADDED + b"\n" + MODIFIED[:10], INCOMPLETE),
        (CutLine(), EVENTS, ADDED[:8], INCOMPLETE),
        (Silence(after_bytes=5), PODS, PODS.body[:5], "SocketTimeoutError"),
        (Silence(after_lines=1), EVENTS, ADDED + b"\n", "SocketTimeoutError"),
    ],
)
async def test_an_answer_that_is_cut_is_not_mistaken_for_a_whole_one(
    *, proxy: FaultProxy, fault: Fault, answer: Answer | Stream, body: bytes, error: str
) -> None:
    came, ending = await get(proxy, fault, answer)
    assert came == body
    assert re.match(error, ending)


@pytest.mark.parametrize(
    ("fault", "answer", "lines"),
    [
        (EndWatch(2), EVENTS, [ADDED, MODIFIED]),
        (Duplicate(), ENDED, [ADDED, ADDED, MODIFIED, MODIFIED, DELETED, DELETED]),
        (InjectLine(b"not json", after_lines=1), ENDED, [ADDED, b"not json", MODIFIED, DELETED]),
        (InjectLine(b"{}", after_lines=1, end=True), EVENTS, [ADDED, b"{}"]),
        (ENDED, None, [ADDED, MODIFIED, DELETED]),
    ],
)
async def test_an_answer_that_is_edited_ends_in_good_order(
    proxy: FaultProxy, fault: Fault, answer: Stream | None, lines: list[bytes]
) -> None:
    assert await get(proxy, fault, answer) == (b"".join(line + b"\n" for line in lines), "")


async def test_lines_of_an_answer_with_a_length_can_be_edited_too(proxy: FaultProxy) -> None:
    assert await get(proxy, Duplicate(), Answer(body=b"a\nb")) == (b"a\na\nb", "")
    assert await get(proxy, InjectLine(b"x"), Answer(body=b"")) == (b"x\n", "")


async def test_a_watch_error_carries_the_status_and_ends_the_watch(proxy: FaultProxy) -> None:
    body, error = await get(proxy, WatchError(410, after_lines=1), EVENTS)
    first, second = body.splitlines()
    event = msgspec.json.decode(second)
    assert (first, error) == (ADDED, "")
    assert event["type"] == "ERROR"
    assert (event["object"]["code"], event["object"]["reason"]) == (410, "Expired")


async def test_a_silent_connection_stays_open_until_the_client_gives_up(proxy: FaultProxy) -> None:
    proxy.script(Rule(Silence(), times=None))
    async with client_of(proxy, patience=0.1) as session:
        with pytest.raises(aiohttp.SocketTimeoutError):
            await session.post("/api/v1/pods", data=bytes(1_000_000))
    assert [seen.method for seen in proxy.requests] == ["POST"]
    await proxy.wait_until_closed()


async def test_a_slow_answer_comes_late(proxy: FaultProxy) -> None:
    start = time.monotonic()
    assert await get(proxy, Slow(delay=0.08), PODS) == (PODS.body, "")
    assert time.monotonic() - start >= 0.08


async def test_a_slow_answer_trickles(proxy: FaultProxy) -> None:
    start = time.monotonic()
    assert await get(proxy, Slow(bytes_per_second=200), PODS) == (PODS.body, "")
    # The client has the last part before the pause behind it.
    assert time.monotonic() - start >= (len(PODS.body) - 10) / 200


@pytest.mark.parametrize("code", [401, 403, 410, 429, 500, 502, 503, 504])
async def test_a_refusal_is_a_status_object(proxy: FaultProxy, code: int) -> None:
    proxy.script(Rule(kube_status(code, message="because")))
    async with client_of(proxy) as session, session.get("/api/v1/pods") as response:
        assert response.status == code
        assert "Retry-After" not in response.headers
        status = await response.json()
    assert (status["kind"], status["code"], status["message"]) == ("Status", code, "because")
    assert (await proxy.wait_for(lambda seen: seen.status == code)).fault == "Answer"


async def test_a_refusal_can_say_when_to_come_again(proxy: FaultProxy) -> None:
    proxy.script(Rule(kube_status(429, retry_after=3)))
    async with client_of(proxy) as session, session.get("/api/v1/pods") as response:
        assert (response.status, response.headers["Retry-After"]) == (429, "3")


@pytest.mark.parametrize(
    ("kind", "content_type"),
    [("text", "application/json"), ("truncated", "application/json"), ("html", "text/html")],
)
async def test_garbage_is_a_whole_answer_that_is_no_json(
    proxy: FaultProxy, kind: str, content_type: str
) -> None:
    proxy.script(Rule(msgspec.convert({"kind": kind}, Garbage)))
    async with client_of(proxy) as session, session.get("/api/v1/pods") as response:
        assert (response.status, response.content_type) == (200, content_type)
        with pytest.raises(msgspec.DecodeError):
            msgspec.json.decode(await response.read())


@pytest.mark.parametrize("identity", ["other-authority", "other-name"])
async def test_a_certificate_that_does_not_fit_is_refused_by_the_client(identity: str) -> None:
    assert identity in {"other-authority", "other-name"}
    async with FaultProxy(identity=identity) as proxy, client_of(proxy) as session:  # type: ignore[arg-type]
        with pytest.raises(aiohttp.ClientConnectorCertificateError):
            await session.get("/api/v1/pods")
        assert proxy.requests == []


async def test_one_connection_serves_request_after_request(proxy: FaultProxy) -> None:
    proxy.script(Rule(PODS, times=None))
    async with client_of(proxy) as session:
        for _ in range(3):
            async with session.post("/api/v1/pods", data=b"body") as response:
                assert await response.read() == PODS.body
        assert proxy.open_connections == 1


async def test_answers_without_a_body_have_none(proxy: FaultProxy) -> None:
    proxy.script(Rule(PODS, method="HEAD"))
    proxy.script(Rule(Answer(204)))
    proxy.script(Rule(PODS))
    async with client_of(proxy) as session:
        async with session.head("/healthz") as response:
            assert (response.headers["Content-Length"], await response.read()) == ("29", b"")
        async with session.delete("/api/v1/pods") as response:
            assert (response.status, await response.read()) == (204, b"")
        async with session.get("/api/v1/pods") as response:
            assert await response.read() == PODS.body
        assert proxy.open_connections == 1


async def test_without_rule_and_upstream_the_answer_says_so(proxy: FaultProxy) -> None:
    async with client_of(proxy) as session, session.get("/api/v1/pods") as response:
        assert response.status == 501
        assert "no upstream" in (await response.json())["message"]


async def test_what_is_not_http_is_told_so(proxy: FaultProxy) -> None:
    context = ssl.create_default_context(cafile=proxy.ca_file)
    host, port = proxy.url.removeprefix("https://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port), ssl=context)
    writer.write(b"GET /api HTTP/1.0\r\n\r\n")
    assert (await reader.read()).startswith(b"HTTP/1.1 400 ")
    writer.close()
    await writer.wait_closed()


async def test_a_kubeconfig_leads_to_the_proxy(proxy: FaultProxy, tmp_path: Path) -> None:
    path = proxy.write_kubeconfig(tmp_path / "kubeconfig", token="abc")
    config = yaml.safe_load(path.read_text())
    assert config["clusters"][0]["cluster"]["server"] == proxy.url
    assert config["users"][0]["user"] == {"token": "abc"}
    assert path.stat().st_mode & 0o777 == 0o600


async def test_waiting_for_a_request_that_does_not_come_says_what_came(proxy: FaultProxy) -> None:
    async with client_of(proxy) as session, session.get("/api/v1/pods", params={"limit": "5"}):
        with pytest.raises(TimeoutError, match=r"GET /api/v1/pods\?limit=5 -> 501"):
            await proxy.wait_for(lambda seen: seen.method == "PATCH", 0.01)


async def test_waiting_ends_with_the_request_that_completes_the_number(proxy: FaultProxy) -> None:
    waiting = asyncio.create_task(proxy.wait_for(lambda seen: seen.status == 501, count=2))
    async with client_of(proxy) as session:
        for agent in ("first", "second"):
            async with session.get("/version", headers={"User-Agent": agent}):
                pass
    assert (await waiting).user_agent == "second"


def test_everything_works_on_uvloop_too() -> None:
    async def run() -> None:
        async with FaultProxy() as proxy:
            assert (await get(proxy, Reset(after_bytes=5), PODS))[0] == PODS.body[:5]
            assert (await get(proxy, Silence(after_lines=1), EVENTS))[0] == ADDED + b"\n"
            await proxy.down()
            await proxy.up()
            assert await get(proxy, Duplicate(), Answer(body=b"a\n")) == (b"a\na\n", "")

    uvloop.run(run())
