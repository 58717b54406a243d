"""One client connection: requests are read, matched with the script and answered; then the connection ends.

The work on requests runs beside the reading of the client's bytes, so that a client that leaves is noticed in
the middle of a watch; an order from outside (cut, silence) beats both. The invariant: every way out is one of
four Cuts, made at one place, and no task is left when `run` returns. What the upstream does wrong is passed
on as an equal wrong; only what the author of a test must repair is told in an answer.
"""

import asyncio
import socket
import ssl
from collections.abc import Callable
from typing import Any

import msgspec

from harness.faultproxy.channel import Channel
from harness.faultproxy.edits import Editor, Ending, editor_of, head_of
from harness.faultproxy.faults import (
    Answer,
    Close,
    Cut,
    EndWatch,
    Fault,
    Garbage,
    HalfClose,
    Reset,
    Scripted,
    Silence,
    Slow,
    Stream,
    acts_at_once,
    kube_status,
)
from harness.faultproxy.framing import (
    LAST_CHUNK,
    BadMessage,
    RequestHead,
    Truncated,
    WireBody,
    as_chunked,
    chunk,
    closes,
    header,
    read_request_head,
    request_framing,
    response_bytes,
)
from harness.faultproxy.journal import Journal
from harness.faultproxy.script import Request, Rule
from harness.faultproxy.sources import Link, Source, Upstream, scripted

STEPS_PER_SECOND = 20
# How long a polite close waits for the client's own, so that no RST overtakes what the client has yet to read.
LINGER_SECONDS = 1.0


class Setting(msgspec.Struct, frozen=True):
    """What all connections of a proxy share."""

    context: ssl.SSLContext
    upstream: Upstream | None
    journal: Journal
    take: Callable[[Request], Rule | None]


class Connection:
    def __init__(self, sock: socket.socket, setting: Setting) -> None:
        self._setting = setting
        self._client = Channel(sock, context=setting.context, server_side=True)
        self._link: Link | None = None
        self._order: asyncio.Future[Cut] = asyncio.get_running_loop().create_future()
        self._busy = False
        self.watching = False
        self.quiet = asyncio.Event()

    def order(self, cut: Cut) -> None:
        """Ends the connection this way, whatever it is doing, also when it is silent already."""
        if not self._order.done():
            self._order.set_result(cut)

    async def run(self) -> None:
        try:
            async with asyncio.TaskGroup() as tasks:
                await self._serve(tasks)
        except* OSError:
            pass  # the client left during the handshake or the ending

    def close(self) -> None:
        """Gives everything back; for when `run` is over."""
        self.quiet.set()
        self._client.close()
        if self._link is not None:
            self._link.close()

    async def _serve(self, tasks: asyncio.TaskGroup) -> None:
        greeting = tasks.create_task(self._client.handshake())
        if await self._ordered_before(greeting) is not None:
            greeting.cancel()
            await self._client.reset()
            return
        if self._setting.upstream is not None:
            self._link = Link(self._setting.upstream, tasks=tasks, on_lost=self._upstream_lost)
        feeder = tasks.create_task(self._client.feed())
        work = tasks.create_task(self._work())
        cut = await self._ordered_before(feeder, work) or (work.result() if work.done() else None)
        work.cancel()
        await asyncio.wait({work})
        self.watching = False
        self.quiet.set()
        if self._link is not None:
            await self._link.drop()
        while cut is not None:
            cut = await self._end(cut, feeder)
        feeder.cancel()

    async def _ordered_before(self, *tasks: asyncio.Task[Any]) -> Cut | None:
        """The order that came before any of the tasks was done, if one came."""
        parties: set[asyncio.Future[Any]] = {*tasks, self._order}
        await asyncio.wait(parties, return_when=asyncio.FIRST_COMPLETED)
        if not self._order.done():
            return None
        cut = self._order.result()
        self._order = asyncio.get_running_loop().create_future()
        return cut

    async def _end(self, cut: Cut, feeder: asyncio.Task[None]) -> Cut | None:
        """Ends the connection, or leaves it as the cut says until the client goes or another order comes."""
        self._client.turn_deaf()
        match cut:
            case Reset():
                await self._client.reset()
                return None
            case Close():
                await self._client.finish()
                await asyncio.wait({feeder}, timeout=LINGER_SECONDS)
                return None
            case HalfClose():
                self._client.half_close()
                return await self._ordered_before(feeder)
            case Silence():
                return await self._ordered_before(feeder)

    def _upstream_lost(self) -> None:
        # Between requests the client must see it too, or it would send its next request into the void.
        if not self._busy and self._link is not None:
            self.order(Reset() if self._link.was_reset else Close())

    async def _work(self) -> Cut:
        cut: Cut | None = None
        while cut is None:
            try:
                head = await read_request_head(self._client.reader)
            except BadMessage as bad:
                await self._pass(scripted(kube_status(400, message=str(bad)), method="GET"), None)
                return Close()
            if head is None:
                return Close()
            self._busy = True
            cut = await self._exchange(head)
            self._busy = self.watching = False
            if cut is None and self._link is not None and self._link.lost:
                cut = Close()
        return cut

    async def _exchange(self, head: RequestHead) -> Cut | None:
        path, _, query = head.target.partition("?")
        request = Request(head.method, path, query)
        rule = self._setting.take(request)
        fault = None if rule is None else rule.fault
        self.watching = request.watch
        place = self._setting.journal.note(
            request,
            user_agent=header(head.headers, "user-agent"),
            fault="" if fault is None else type(fault).__name__,
            at=asyncio.get_running_loop().time(),
        )
        if isinstance(fault, Reset | HalfClose | Close | Silence) and acts_at_once(fault):
            return fault
        editor = editor_of(fault)
        if isinstance(fault, Slow):
            await asyncio.sleep(fault.before)
        try:
            source = await self._source(head, rule=rule, by_lines=editor is not None and editor.by_lines)
            if editor is not None and editor.keeps_head:
                return _cut(editor.start().ending)
            if isinstance(fault, Slow):
                await asyncio.sleep(fault.delay)
            source = msgspec.structs.replace(source, head=head_of(source.head, fault))
            self._setting.journal.answered(place, source.head.status)
            ending = await (self._pass(source, fault) if editor is None else self._edit(source, editor))
        except (Truncated, BadMessage):
            return Reset() if self._link is not None and self._link.was_reset else Close()
        except OSError:
            return Reset()
        if closes(head.headers) or closes(source.head.headers) or source.body.framing.kind == "until-close":
            return ending or Close()
        return ending

    async def _source(self, head: RequestHead, *, rule: Rule | None, by_lines: bool) -> Source:
        body = WireBody(self._client.reader, request_framing(head))
        if header(head.headers, "expect"):
            await self._client.send(b"HTTP/1.1 100 Continue\r\n\r\n")
        answer = _scripted_answer(rule)
        if answer is None and self._link is None:
            answer = kube_status(501, message="no rule answers this request, and the proxy has no upstream")
        if answer is None and header(head.headers, "upgrade"):
            answer = kube_status(501, message="the fault proxy does not pass upgrades on")
        if answer is None and self._link is not None:
            try:
                return await self._link.ask(head, body, by_lines=by_lines)
            except ssl.SSLError as error:
                answer = kube_status(502, message=f"check the proxy's upstream_ca and client cert: {error}")
        while await body.read() is not None:
            pass
        assert answer is not None
        return scripted(answer, method=head.method)

    async def _pass(self, source: Source, fault: Fault | None) -> None:
        pace = fault.bytes_per_second if isinstance(fault, Slow) else None
        await self._client.send(response_bytes(source.head))
        while (piece := await source.body.read()) is not None:
            if pace is None:
                await self._client.send(piece.raw)
            else:
                await self._send_paced(piece.raw, pace)

    async def _send_paced(self, data: bytes, bytes_per_second: int) -> None:
        step = max(1, bytes_per_second // STEPS_PER_SECOND)
        for start in range(0, len(data), step):
            part = data[start : start + step]
            await self._client.send(part)
            await asyncio.sleep(len(part) / bytes_per_second)

    async def _edit(self, source: Source, editor: Editor) -> Cut | None:
        kind = source.body.framing.kind
        chunked = kind == "chunked" or (editor.by_lines and kind != "none")
        await self._client.send(response_bytes(as_chunked(source.head) if chunked else source.head))
        if kind == "none":
            return _cut(editor.finish().ending)
        edit = editor.start()
        whole = False
        while True:
            await self._client.send(chunk(edit.out) if chunked else edit.out)
            if whole or edit.ending is not None:
                break
            piece = await source.body.read()
            whole = piece is None
            edit = editor.finish() if piece is None else editor.feed(piece.payload)
        if (cut := _cut(edit.ending)) is not None:
            return cut
        if chunked:
            await self._client.send(LAST_CHUNK)
        if not whole and self._link is not None:
            await self._link.drop()
        return None


def _scripted_answer(rule: Rule | None) -> Scripted | None:
    if rule is None:
        return None
    return rule.fault if isinstance(rule.fault, Answer | Stream | Garbage) else rule.answer


def _cut(ending: Ending | None) -> Cut | None:
    return None if isinstance(ending, EndWatch) else ending
