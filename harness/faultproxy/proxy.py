"""The fault proxy: a TLS server on loopback that stands between a Kubernetes client and an API server.

It lives as an asynchronous context manager; when that ends, no task, socket or file is left, and what broke
inside is raised. One port from start to end: while the proxy is down the port stays bound, so that nobody else
gets it. HTTP/1.1 only; clients are not asked for certificates, their Authorization header is passed on.
"""

import asyncio
import base64
import socket
import ssl
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Literal, Self, TypeAlias

import yaml

from harness.controlplane.certificates import Authority
from harness.faultproxy.connection import Connection, Setting
from harness.faultproxy.faults import Cut, Reset, Silence
from harness.faultproxy.journal import Journal, Seen
from harness.faultproxy.script import Request, Rule, Script
from harness.faultproxy.sources import upstream_at

HOST = "127.0.0.1"

Identity: TypeAlias = Literal["valid", "other-authority", "other-name"]


class FaultProxy:
    """Without an `upstream_url` only the rules answer.

    `identity` is what the proxy shows in the handshake: a certificate that `ca_file` vouches for, one of an
    authority that nobody knows, or one for another host.
    """

    _loop: asyncio.AbstractEventLoop
    _directory: tempfile.TemporaryDirectory[str]
    _listener: socket.socket
    _port: int
    _setting: Setting
    _tasks: asyncio.TaskGroup
    _life: asyncio.Task[None]

    def __init__(
        self,
        *,
        upstream_url: str | None = None,
        upstream_ca: Path | None = None,
        upstream_client_cert: tuple[Path, Path] | None = None,
        identity: Identity = "valid",
    ) -> None:
        self._upstream = (
            None
            if upstream_url is None
            else upstream_at(upstream_url, ca=upstream_ca, client_cert=upstream_client_cert)
        )
        self._identity = identity
        self._script = Script()
        self._journal = Journal()
        self._open: dict[Connection, asyncio.Task[None]] = {}

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        self._directory = tempfile.TemporaryDirectory(prefix="faultproxy-")
        self._setting = Setting(
            context=_server_context(Path(self._directory.name), self._identity),
            upstream=self._upstream,
            journal=self._journal,
            take=self._take,
        )
        self._listener = _bound_to(0)
        self._port = self._listener.getsockname()[1]
        ready = asyncio.Event()
        # A task of its own, because a pytest fixture enters and leaves the proxy in two different tasks.
        self._life = asyncio.create_task(self._live(ready))
        await ready.wait()
        await self.up()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._loop.remove_reader(self._listener)
        self._life.cancel()
        await asyncio.wait({self._life})
        self._listener.close()
        self._directory.cleanup()
        if not self._life.cancelled():
            self._life.result()

    @property
    def url(self) -> str:
        return f"https://{HOST}:{self._port}"

    @property
    def ca_file(self) -> Path:
        return Path(self._directory.name) / "proxy.crt"

    @property
    def requests(self) -> list[Seen]:
        return list(self._journal.requests)

    @property
    def open_connections(self) -> int:
        return len(self._open)

    @property
    def open_watches(self) -> int:
        return sum(connection.watching for connection in self._open)

    def write_kubeconfig(self, path: Path, *, token: str | None = None) -> Path:
        authority = base64.b64encode(self.ca_file.read_bytes()).decode()
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [
                {"name": "proxy", "cluster": {"server": self.url, "certificate-authority-data": authority}}
            ],
            "users": [{"name": "proxy", "user": {} if token is None else {"token": token}}],
            "contexts": [{"name": "proxy", "context": {"cluster": "proxy", "user": "proxy"}}],
            "current-context": "proxy",
        }
        path.touch(mode=0o600)
        path.write_text(yaml.safe_dump(config))
        return path

    def script(self, rule: Rule) -> Rule:
        """Adds the rule behind those that are there, and gives it back for `hits`."""
        self._script.add(rule, now=self._loop.time())
        return rule

    def hits(self, rule: Rule) -> int:
        return self._script.hits(rule)

    def clear(self) -> None:
        """Ends all rules; faults that are under way go on."""
        self._script.clear()

    async def wait_for(
        self, predicate: Callable[[Seen], bool], within: float = 30.0, *, count: int = 1
    ) -> Seen:
        """The `count`-th request that fits, now or within that many seconds."""
        return await self._journal.wait_for(predicate, within=within, count=count)

    async def wait_until_closed(self, within: float = 30.0) -> None:
        """Waits for the end of the connections that are open now."""
        async with asyncio.timeout(within):
            for task in list(self._open.values()):
                await asyncio.wait({task})

    def cut_open_connections(self, *, watch_only: bool = True, how: Cut | None = None) -> int:
        """Ends connections that are open now (with an RST, unless `how` says otherwise); gives their number."""
        return len(self._order(how or Reset(), watch_only=watch_only))

    async def silence_open(self, *, watch_only: bool = True) -> int:
        """Silences connections that are open now; when it returns, nothing more leaves them."""
        silenced = self._order(Silence(), watch_only=watch_only)
        for connection in silenced:
            await connection.quiet.wait()
        return len(silenced)

    async def down(self, *, refuse: bool = True) -> None:
        """Resets what is open and refuses what comes; without `refuse`, takes it and never answers."""
        self._loop.remove_reader(self._listener)
        if refuse:
            self._refuse()
        self._order(Reset(), watch_only=False)
        await self.wait_until_closed()

    async def up(self) -> None:
        """Serves again, on the same port."""
        self._listener.listen(socket.SOMAXCONN)
        self._loop.add_reader(self._listener, self._accept)

    def _refuse(self) -> None:
        self._loop.remove_reader(self._listener)
        self._listener.close()
        # Bound and not listening: the kernel refuses, and gives the port to nobody else.
        self._listener = _bound_to(self._port)

    def _order(self, cut: Cut, *, watch_only: bool) -> list[Connection]:
        chosen = [connection for connection in self._open if connection.watching or not watch_only]
        for connection in chosen:
            connection.order(cut)
        return chosen

    def _take(self, request: Request) -> Rule | None:
        return self._script.take(request, now=self._loop.time())

    async def _live(self, ready: asyncio.Event) -> None:
        try:
            async with asyncio.TaskGroup() as self._tasks:
                ready.set()
                await self._loop.create_future()
        except BaseExceptionGroup:
            self._refuse()
            raise

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except BlockingIOError:
                return
            connection = Connection(sock, self._setting)
            task = self._tasks.create_task(connection.run())
            self._open[connection] = task
            # Not in `run`: a task that is cancelled before its first step never runs.
            task.add_done_callback(partial(self._forget, connection))

    def _forget(self, connection: Connection, _: asyncio.Task[None]) -> None:
        connection.close()
        del self._open[connection]


def _bound_to(port: int) -> socket.socket:
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    sock.setblocking(False)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind((HOST, port))
    return sock


def _server_context(directory: Path, identity: Identity) -> ssl.SSLContext:
    authority = Authority(directory, "proxy")
    if identity == "other-authority":
        authority = Authority(directory, "other")
    hosts = ["elsewhere.invalid"] if identity == "other-name" else [HOST, "localhost"]
    pair = authority.server("server", hosts=hosts)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair.certificate, pair.key)
    context.set_alpn_protocols(["http/1.1"])
    # Session tickets would be bytes that the client gets though the script says silence.
    context.num_tickets = 0
    return context
