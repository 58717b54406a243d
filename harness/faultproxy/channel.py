"""One TCP connection, with or without TLS, whose ending is ours to choose.

TLS runs over memory buffers and the socket is used bare, because transports of asyncio neither half-close
a TLS connection nor say when the last byte has left. The invariant: when `send` returns, the kernel has every
byte; when `reset` returns, the peer has received every byte before the RST. `feed` fills `reader` and must
run as a task as long as somebody reads; the owner ends that task before `close`.
"""

import asyncio
import contextlib
import fcntl
import socket
import ssl
import struct
import termios

READ_BYTES = 64 * 1024
# Heads must fit in it: a bearer token may have some kilobytes, a label selector more.
BUFFER_BYTES = 256 * 1024
SETTLE_SECONDS = 1.0


class Channel:
    def __init__(
        self,
        sock: socket.socket,
        *,
        context: ssl.SSLContext | None,
        server_side: bool,
        server_hostname: str | None = None,
    ) -> None:
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._sock = sock
        self._loop = asyncio.get_running_loop()
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._tls: ssl.SSLObject | None = None
        if context is not None:
            self._tls = context.wrap_bio(
                self._incoming, self._outgoing, server_side=server_side, server_hostname=server_hostname
            )
        self._sending = asyncio.Lock()
        self._gate = Gate()
        self._deaf = False
        self._finished = False
        self.reader = asyncio.StreamReader(limit=BUFFER_BYTES)
        self.reader.set_transport(self._gate)
        self.was_reset = False

    async def handshake(self) -> None:
        if self._tls is None:
            return
        while True:
            try:
                self._tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                await self._flush()
                received = await self._loop.sock_recv(self._sock, READ_BYTES)
                if not received:
                    raise ConnectionResetError("the peer left during the TLS handshake") from None
                self._incoming.write(received)
            except ssl.SSLError:
                await self._flush()
                raise
        await self._flush()

    async def feed(self) -> None:
        """Moves what the peer sends into `reader`, until the peer ends the connection."""
        try:
            while data := await self._receive():
                if not self._deaf:
                    self.reader.feed_data(data)
                    await self._gate.opened.wait()
        except OSError:
            self.was_reset = True
        finally:
            self.reader.feed_eof()

    async def send(self, data: bytes) -> None:
        if self._tls is None:
            async with self._sending:
                await self._loop.sock_sendall(self._sock, data)
        elif data:
            self._tls.write(data)
            await self._flush()

    def turn_deaf(self) -> None:
        """From now on `feed` drops what it reads and only waits for the end."""
        self._deaf = True
        self._gate.resume_reading()

    def half_close(self) -> None:
        self._sock.shutdown(socket.SHUT_WR)

    async def finish(self) -> None:
        """Ends politely: close_notify, then FIN."""
        self._finished = True
        if self._tls is not None:
            # The first thing `unwrap` does is to write our close_notify; the peer's is not waited for.
            with contextlib.suppress(ssl.SSLError):
                self._tls.unwrap()
            await self._flush()
        self.half_close()

    async def reset(self) -> None:
        """Makes the coming `close` send an RST, once the peer has received everything."""
        # A closed socket with a linger time of zero drops what is still under way.
        deadline = self._loop.time() + SETTLE_SECONDS
        while self._unacknowledged() and self._loop.time() < deadline:  # noqa: ASYNC110 - the kernel has no event for it
            await asyncio.sleep(0.001)
        self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    def close(self) -> None:
        self._sock.close()

    def _unacknowledged(self) -> int:
        pending = fcntl.ioctl(self._sock, termios.TIOCOUTQ, struct.pack("i", 0))
        return int(struct.unpack("i", pending)[0])

    async def _receive(self) -> bytes:
        if self._tls is None:
            return await self._loop.sock_recv(self._sock, READ_BYTES)
        while True:
            try:
                return self._tls.read(READ_BYTES)
            except ssl.SSLWantReadError:
                await self._flush()
            received = await self._loop.sock_recv(self._sock, READ_BYTES)
            if not received or self._finished:
                return received
            self._incoming.write(received)

    async def _flush(self) -> None:
        async with self._sending:
            while self._outgoing.pending:
                await self._loop.sock_sendall(self._sock, self._outgoing.read())


class Gate(asyncio.ReadTransport):
    """The flow control of a StreamReader, as something that `feed` can wait for."""

    def __init__(self) -> None:
        super().__init__()
        self.opened = asyncio.Event()
        self.opened.set()

    def pause_reading(self) -> None:
        self.opened.clear()

    def resume_reading(self) -> None:
        self.opened.set()
