"""The proxy before a server: what passes, what faults do to a live watch, and what leaves no trace."""

import asyncio
import os
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from io import BytesIO
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from harness.controlplane.certificates import Authority, Pair
from harness.faultproxy import (
    CutLine,
    Duplicate,
    EndWatch,
    FaultProxy,
    HalfClose,
    Reset,
    Rule,
    Silence,
    WatchError,
    kube_status,
)

pytestmark = pytest.mark.unit

POD = "/api/v1/namespaces/a/pods/b"
WATCH = "/api/v1/pods?watch=1"


class Upstream:
    """A server with a list, a watch that the test feeds line by line, an echo, and a mirror of identities."""

    def __init__(self, directory: Path) -> None:
        authority = Authority(directory, "upstream")
        self.ca = authority.pair.certificate
        self.admin: Pair = authority.client("admin", user="admin")
        self.deleted: list[str] = []
        self.watches: set[asyncio.Queue[bytes]] = set()
        self.watch_ended = asyncio.Event()
        server = authority.server("server", hosts=["127.0.0.1"])
        self._context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=self.ca)
        self._context.load_cert_chain(server.certificate, server.key)
        self._context.verify_mode = ssl.CERT_OPTIONAL
        self.port = 0

    @asynccontextmanager
    async def running(self) -> AsyncIterator["Upstream"]:
        app = web.Application(client_max_size=10_000_000)
        app.router.add_get("/api/v1/pods", self._pods)
        app.router.add_delete(POD, self._delete)
        app.router.add_post("/echo", self._echo)
        app.router.add_get("/whoami", self._whoami)
        app.router.add_get("/broken", self._broken)
        runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", self.port, ssl_context=self._context, reuse_address=True)
        await site.start()
        self.port = runner.addresses[0][1]
        try:
            yield self
        finally:
            await runner.cleanup()

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    def emit(self, *lines: bytes) -> None:
        for watch in self.watches:
            watch.put_nowait(b"".join(line + b"\n" for line in lines))

    async def _pods(self, request: web.Request) -> web.StreamResponse:
        if "watch" not in request.query:
            return web.json_response({"items": [], "encoding": request.headers.get("Accept-Encoding")})
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        response.enable_chunked_encoding()
        lines: asyncio.Queue[bytes] = asyncio.Queue()
        self.watches.add(lines)
        try:
            await response.prepare(request)
            while line := await lines.get():
                await response.write(line)
        finally:
            self.watches.discard(lines)
            self.watch_ended.set()
        return response

    async def _delete(self, request: web.Request) -> web.Response:
        self.deleted.append(request.path)
        return web.json_response({"status": "Success"})

    async def _echo(self, request: web.Request) -> web.Response:
        return web.Response(body=await request.read(), headers={"X-Echo": "yes"})

    async def _whoami(self, request: web.Request) -> web.Response:
        assert request.transport is not None
        certificate = request.transport.get_extra_info("peercert")
        return web.json_response(
            {"certificate": bool(certificate), "authorization": request.headers.get("Authorization")}
        )

    async def _broken(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Length": "100"})
        await response.prepare(request)
        await response.write(b"only this")
        assert request.transport is not None
        request.transport.close()
        return response


@pytest.fixture
async def upstream(tmp_path: Path) -> AsyncIterator[Upstream]:
    async with Upstream(tmp_path).running() as upstream:
        yield upstream


@pytest.fixture
async def proxy(upstream: Upstream) -> AsyncIterator[FaultProxy]:
    async with FaultProxy(upstream_url=upstream.url, upstream_ca=upstream.ca) as proxy:
        yield proxy


@pytest.fixture
async def session(proxy: FaultProxy) -> AsyncIterator[aiohttp.ClientSession]:
    async with client_of(proxy) as session:
        yield session


@asynccontextmanager
async def client_of(proxy: FaultProxy) -> AsyncIterator[aiohttp.ClientSession]:
    context = ssl.create_default_context(cafile=proxy.ca_file)
    async with aiohttp.ClientSession(
        proxy.url,
        connector=aiohttp.TCPConnector(ssl=context),
        timeout=aiohttp.ClientTimeout(sock_read=5),
    ) as session:
        # Otherwise idempotent requests are sent a second time without a word.
        session._retry_connection = False
        yield session


async def test_a_request_and_its_answer_pass_whole(session: aiohttp.ClientSession) -> None:
    body = os.urandom(3_000_000)
    async with session.post("/echo", data=BytesIO(body), headers={"Expect": "100-continue"}) as response:
        assert (response.status, response.headers["X-Echo"]) == (200, "yes")
        assert await response.read() == body


async def test_a_request_body_in_chunks_passes(session: aiohttp.ClientSession) -> None:
    async def chunks() -> AsyncIterator[bytes]:
        yield b"one "
        yield b"two"

    async with session.post("/echo", data=chunks()) as response:
        assert await response.read() == b"one two"


async def test_requests_are_noted_with_their_status(
    proxy: FaultProxy, session: aiohttp.ClientSession
) -> None:
    async with session.delete(POD, params={"a": "b"}, headers={"User-Agent": "test/1"}):
        pass
    async with session.get("/nowhere"):
        pass
    first, second = proxy.requests
    assert (first.method, first.path, first.query, first.status) == ("DELETE", POD, "a=b", 200)
    assert (first.user_agent, first.watch, first.fault) == ("test/1", False, "")
    assert (second.path, second.status) == ("/nowhere", 404)
    assert first.at <= second.at


async def test_each_line_of_a_watch_passes_when_it_comes(
    upstream: Upstream, session: aiohttp.ClientSession
) -> None:
    async with session.get(WATCH) as response:
        for line in (b"one", b"two"):
            upstream.emit(line)
            assert await response.content.readline() == line + b"\n"
        upstream.emit()
        assert await response.content.read() == b""


async def test_a_client_that_leaves_its_watch_ends_it_upstream(
    upstream: Upstream, proxy: FaultProxy, session: aiohttp.ClientSession
) -> None:
    async with session.get(WATCH):
        assert proxy.open_watches == 1
    async with asyncio.timeout(60):
        await upstream.watch_ended.wait()
    await proxy.wait_until_closed()
    assert proxy.open_watches == 0


async def test_a_lost_answer_comes_after_the_server_has_acted(
    upstream: Upstream, proxy: FaultProxy, session: aiohttp.ClientSession
) -> None:
    proxy.script(Rule(Reset(), method="DELETE"))
    with pytest.raises(aiohttp.ClientOSError):
        await session.delete(POD)
    assert upstream.deleted == []
    proxy.script(Rule(Reset(after_bytes=0), method="DELETE"))
    with pytest.raises(aiohttp.ClientOSError):
        await session.delete(POD)
    assert upstream.deleted == [POD]


async def test_faults_by_line_act_on_a_live_watch(
    upstream: Upstream, proxy: FaultProxy, session: aiohttp.ClientSession
) -> None:
    proxy.script(Rule(Duplicate(), watch=True))
    proxy.script(Rule(CutLine(1), watch=True))
    proxy.script(Rule(WatchError(after_lines=1), watch=True))
    async with session.get(WATCH) as response:
        upstream.emit(b"1")
        assert await response.content.readexactly(4) == b"1\n1\n"
        upstream.emit(b"2")
        assert await response.content.readexactly(4) == b"2\n2\n"
    async with asyncio.timeout(60):
        await upstream.watch_ended.wait()
    async with session.get(WATCH) as response:
        upstream.emit(b"first", b"second")
        with pytest.raises(aiohttp.ClientPayloadError):
            await response.content.readexactly(20)
    async with session.get(WATCH) as response:
        upstream.emit(b"first")
        first, second = (await response.content.read()).splitlines()
    assert first == b"first"
    assert b'"code":410' in second


async def test_a_watch_that_was_ended_in_good_order_leaves_the_connection_usable(
    upstream: Upstream, proxy: FaultProxy, session: aiohttp.ClientSession
) -> None:
    proxy.script(Rule(EndWatch(1), watch=True))
    async with session.get(WATCH) as response:
        upstream.emit(b"line")
        assert await response.content.read() == b"line\n"
    async with asyncio.timeout(60):
        await upstream.watch_ended.wait()
    async with session.get("/api/v1/pods") as response:
        assert (await response.json())["items"] == []
    assert proxy.open_connections == 1


async def test_the_upstream_is_asked_for_plain_text_where_lines_matter(
    proxy: FaultProxy, session: aiohttp.ClientSession
) -> None:
    proxy.script(Rule(Duplicate()))
    async with session.get("/api/v1/pods") as response:
        assert b'"encoding": "identity"' in await response.read()
    async with session.get("/api/v1/pods") as response:
        assert b"gzip" in await response.read()


async def test_open_watches_can_be_cut_and_other_connections_go_on(
    proxy: FaultProxy, session: aiohttp.ClientSession
) -> None:
    async with session.get(WATCH) as watch, session.get("/api/v1/pods"):
        assert proxy.open_connections == 2
        assert proxy.cut_open_connections() == 1
        with pytest.raises(aiohttp.ClientPayloadError, match="reset by peer"):
            await watch.content.read()
    async with session.get("/api/v1/pods") as response:
        assert response.status == 200
    assert proxy.open_connections == 1
    assert proxy.cut_open_connections(watch_only=False) == 1
    await proxy.wait_until_closed()


async def test_open_watches_can_be_half_closed(proxy: FaultProxy, session: aiohttp.ClientSession) -> None:
    async with session.get(WATCH) as watch:
        assert proxy.cut_open_connections(how=HalfClose()) == 1
        with pytest.raises(aiohttp.ClientPayloadError):
            await watch.content.read()


async def test_nothing_leaves_a_silenced_watch_any_more(
    upstream: Upstream, proxy: FaultProxy, session: aiohttp.ClientSession
) -> None:
    async with session.get(WATCH) as watch:
        upstream.emit(b"before")
        assert await watch.content.readline() == b"before\n"
        assert await proxy.silence_open() == 1
        upstream.emit(b"after")
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(watch.content.readline(), 0.1)
        assert proxy.open_connections == 1
        assert proxy.cut_open_connections(watch_only=False) == 1
        with pytest.raises(aiohttp.ClientPayloadError, match="reset by peer"):
            await watch.content.read()


async def test_a_server_that_restarts_refuses_and_comes_back_on_its_port(
    proxy: FaultProxy, session: aiohttp.ClientSession
) -> None:
    url = proxy.url
    async with session.get(WATCH) as watch:
        await proxy.down()
        assert proxy.open_connections == 0
        with pytest.raises(aiohttp.ClientPayloadError):
            await watch.content.read()
    with pytest.raises(aiohttp.ClientConnectorError, match="Connect call failed"):
        await session.get("/api/v1/pods")
    await proxy.up()
    async with session.get("/api/v1/pods") as response:
        assert response.status == 200
    assert proxy.url == url


async def test_a_server_that_hangs_takes_connections_and_greets_nobody(
    proxy: FaultProxy, session: aiohttp.ClientSession
) -> None:
    await proxy.down(refuse=False)
    waiting = asyncio.create_task(session.get("/api/v1/pods"))
    done, _ = await asyncio.wait({waiting}, timeout=0.1)
    assert not done
    await proxy.up()
    async with await waiting as response:
        assert response.status == 200


async def test_the_certificate_speaks_only_where_the_client_says_nothing(upstream: Upstream) -> None:
    async with (
        FaultProxy(
            upstream_url=upstream.url,
            upstream_ca=upstream.ca,
            upstream_client_cert=(upstream.admin.certificate, upstream.admin.key),
        ) as proxy,
        client_of(proxy) as session,
    ):
        for token, certificate in ((None, True), ("Bearer abc", False), (None, True)):
            headers = {"Authorization": token} if token else {}
            async with session.get("/whoami", headers=headers) as response:
                assert await response.json() == {"certificate": certificate, "authorization": token}


async def test_an_upstream_that_nobody_vouches_for_is_told_to_the_author_of_the_test(
    upstream: Upstream, tmp_path: Path
) -> None:
    stranger = Authority(tmp_path, "stranger").pair.certificate
    async with (
        FaultProxy(upstream_url=upstream.url, upstream_ca=stranger) as proxy,
        client_of(proxy) as session,
    ):
        for _ in range(2):
            async with session.post("/echo", data=b"body") as response:
                assert response.status == 502
                assert "upstream_ca" in (await response.json())["message"]


async def test_an_upstream_that_is_not_there_is_a_broken_connection(tmp_path: Path) -> None:
    upstream = Upstream(tmp_path)
    async with upstream.running():
        pass
    async with (
        FaultProxy(upstream_url=upstream.url, upstream_ca=upstream.ca) as proxy,
        client_of(proxy) as session,
    ):
        with pytest.raises(aiohttp.ClientOSError):
            await session.get("/api/v1/pods")


async def test_an_upstream_that_restarts_takes_the_client_connections_with_it(tmp_path: Path) -> None:
    upstream = Upstream(tmp_path)
    async with upstream.running():
        pass
    async with (
        FaultProxy(upstream_url=upstream.url, upstream_ca=upstream.ca) as proxy,
        client_of(proxy) as session,
    ):
        async with upstream.running(), session.get("/api/v1/pods"):
            pass
        await proxy.wait_until_closed()
        async with upstream.running(), session.get("/api/v1/pods") as response:
            assert response.status == 200


async def test_an_answer_that_the_upstream_breaks_off_is_broken_off(session: aiohttp.ClientSession) -> None:
    async with session.get("/broken") as response:
        with pytest.raises(aiohttp.ClientPayloadError):
            await response.read()


async def test_rules_are_used_up_and_cleared(proxy: FaultProxy, session: aiohttp.ClientSession) -> None:
    rule = proxy.script(Rule(kube_status(503), path="/api/v1/pods", times=None, after=1))
    statuses = []
    for _ in range(3):
        async with session.get("/api/v1/pods") as response:
            statuses.append(response.status)
    proxy.clear()
    async with session.get("/api/v1/pods") as response:
        statuses.append(response.status)
    assert statuses == [200, 503, 503, 200]
    assert proxy.hits(rule) == 2


async def test_an_upgrade_is_refused(session: aiohttp.ClientSession) -> None:
    async with session.get("/exec", headers={"Connection": "Upgrade", "Upgrade": "SPDY/3.1"}) as response:
        assert response.status == 501


def open_sockets() -> int:
    links = Path("/proc/self/fd").iterdir()
    return sum(link.readlink().name.startswith("socket:") for link in links if link.is_symlink())


def tasks_of_proxies() -> list[str]:
    return [repr(task) for task in asyncio.all_tasks() if "harness/faultproxy" in repr(task)]


async def eventually(condition: Callable[[], bool]) -> None:
    for _ in range(500):
        if condition():
            return
        await asyncio.sleep(0.01)
    pytest.fail("the condition did not come true in time")


async def test_no_task_socket_or_file_is_left_whatever_was_open(upstream: Upstream) -> None:
    before = open_sockets()
    life = AsyncExitStack()
    proxy = await life.enter_async_context(FaultProxy(upstream_url=upstream.url, upstream_ca=upstream.ca))
    async with client_of(proxy) as session:
        proxy.script(Rule(Silence(after_lines=0), watch=False))
        mute, voice = await asyncio.open_connection(*proxy.url.removeprefix("https://").split(":"))
        async with session.get(WATCH), session.get(WATCH), session.get("/api/v1/pods"):
            assert proxy.open_connections == 4
            assert len(tasks_of_proxies()) > 4
            await life.aclose()
            assert tasks_of_proxies() == []
        assert not proxy.ca_file.exists()
        assert await mute.read() == b""
        voice.close()
        await voice.wait_closed()
    # The client and the upstream, which share this process, have yet to notice.
    await eventually(lambda: not upstream.watches and open_sockets() == before)


async def test_what_breaks_inside_is_raised_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("a mistake in the proxy")

    async def meet_the_mistake() -> None:
        async with FaultProxy() as proxy, client_of(proxy) as session:
            with pytest.raises(aiohttp.ServerDisconnectedError):
                await session.get("/api/v1/pods")
            with pytest.raises(aiohttp.ClientConnectorError):
                await session.get("/api/v1/pods")

    monkeypatch.setattr("harness.faultproxy.connection.editor_of", broken)
    with pytest.RaisesGroup(pytest.RaisesExc(RuntimeError, match="a mistake"), flatten_subgroups=True):
        await meet_the_mistake()
