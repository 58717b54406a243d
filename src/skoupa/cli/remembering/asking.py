"""History and trash as a running controller tells them, through the API server's service proxy.

The API server keeps the caller's credentials to itself, so the token goes along in a header of its own; the controller
asks the API server whose it is, and leaves out what its bearer may not see. Who has no token asks all the same: the
answer says what to do. What changes the cluster is never asked of the controller.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from typing import Final, TypeVar
from urllib.parse import quote

import msgspec

from skoupa import names
from skoupa.cli.remembering.ledgers import LeftOut, Sealed
from skoupa.cli.remembering.misunderstandings import explained, speaks_no_tls
from skoupa.errors import ApiError, BadReply, Status
from skoupa.install.history import PORT_NAME
from skoupa.kube.client import Client, refusal
from skoupa.kube.decoding import decode, excerpt
from skoupa.kube.login.secret import Secret
from skoupa.kube.transport import Method, Request, Verb
from skoupa.ledger.rows import Entry
from skoupa.ledger.store import Place, Wish
from skoupa.ledger.trash.contents import Kept
from skoupa.web import shapes

D = TypeVar("D")

# The controller gives up after 25 s.
_TIMEOUT_SECONDS: Final = 40.0
_VERBS: Final[dict[str, Verb]] = {"GET": "get", "POST": "create", "DELETE": "delete"}
# So many rows that may not be seen are passed over; who may see nearly nothing would else read the whole ledger.
MOST_HIDDEN: Final = 10_000


class ControllerSource:
    def __init__(self, client: Client, *, namespace: str, token: Callable[[], Awaitable[Secret]]) -> None:
        self._client = client
        self._namespace = namespace
        self._token = token
        # A controller without the library for TLS is asked in the clear; which one it is the first answer tells.
        self._schemes = ["https", "http"]
        # It lives in the cluster that is asked, and would not use the ledger of another.
        self.whose = ""
        self.left_out = LeftOut(by_rights=True)

    @property
    def where(self) -> str:
        return f"the history of the controller in {self._namespace}"

    async def find(self, wish: Wish, *, limit: int, before: Place | None = None) -> list[Entry]:
        found: list[Entry] = []
        passed_over = 0
        while len(found) < limit:
            question = shapes.Question(
                wish=wish, limit=min(limit - len(found), shapes.MOST_ROWS), before=before
            )
            page: shapes.Page = await self._ask(
                shapes.Page, "GET", shapes.HISTORY, query=shapes.query_of(question)
            )
            found += page.items
            passed_over += page.hidden
            self.left_out.hidden += page.hidden
            before = page.next
            if before is None:
                break
            if passed_over >= MOST_HIDDEN:
                self.left_out.unlooked = True
                break
        return found

    async def get(self, entry_id: str) -> Entry | None:
        try:
            found: shapes.One = await self._ask(shapes.One, "GET", f"{shapes.HISTORY}/{quote(entry_id)}")
        except ApiError as error:
            if shapes.is_ours(error.status) and error.status.reason == "NotFound":
                return None
            raise
        return found.item

    async def kept(
        self, entries: Sequence[Entry], *, sealed: Sealed | None = None
    ) -> Mapping[str, tuple[Kept, ...]]:
        found: dict[str, list[Kept]] = {}
        for start in range(0, len(entries), shapes.MOST_IDS):
            ids = [entry.id for entry in entries[start : start + shapes.MOST_IDS]]
            async with aclosing(self._lines(tuple(("id", one) for one in ids))) as lines:
                async for line in lines:
                    if line.refusal is not None:
                        error = explained(line.refusal, namespace=self._namespace)
                        # Without an id it is about the whole answer.
                        if sealed is None or not line.id:
                            raise error
                        sealed[line.id] = error
                    if line.kept is not None:
                        found.setdefault(line.id, []).append(line.kept)
        return {entry_id: tuple(parts) for entry_id, parts in found.items() if entry_id not in (sealed or ())}

    async def restored(self, uids: Mapping[str, str]) -> None:
        pairs = list(uids.items())
        for start in range(0, len(pairs), shapes.MOST_IDS):
            news = shapes.CameBack(uids=dict(pairs[start : start + shapes.MOST_IDS]))
            await self._ask(shapes.Written, "POST", shapes.RESTORED, body=msgspec.json.encode(news))

    async def purge(self, entry_id: str) -> bool:
        done: shapes.Written = await self._ask(shapes.Written, "DELETE", f"{shapes.BODIES}/{quote(entry_id)}")
        return done.number > 0

    async def standings(self, objects: Sequence[shapes.Named], *, seconds: float) -> shapes.Standings:
        """What it says of objects that are there, `MOST_OBJECTS` of them at most; waited for no longer than that."""
        return await self._ask(
            shapes.Standings, "GET", shapes.STANDING, query=shapes.named_query(objects), seconds=seconds
        )

    async def _ask(
        self,
        kind: type[D],
        method: Method,
        path: str,
        *,
        query: tuple[tuple[str, str], ...] = (),
        body: bytes = b"",
        seconds: float = _TIMEOUT_SECONDS,
    ) -> D:
        renewed = False
        while True:
            token = await self._token()
            request = self._request(method, path, token=token, query=query, body=body, seconds=seconds)
            response = await self._client.transport.send(request)
            if response.status < 300:
                return _decoded(response.body, kind)
            status = refusal(response.status, response.headers, response.body, doing="ask").status
            if response.status == 401 and not renewed and await self._token() != token:
                # It ran out meanwhile, and the transport has got another one.
                renewed = True
                continue
            self._refused(status)

    async def _lines(self, query: tuple[tuple[str, str], ...]) -> AsyncGenerator[shapes.Line, None]:
        while True:
            request = self._request("GET", shapes.BODIES, token=await self._token(), query=query)
            async with self._client.transport.stream(request) as answer:
                if answer.status < 300:
                    async with aclosing(answer.chunks()) as chunks:
                        rest = b""
                        async for chunk in chunks:
                            *lines, rest = (rest + chunk).split(b"\n")
                            for line in lines:
                                yield _decoded(line, shapes.Line)
                    return
                said = b"".join([chunk async for chunk in answer.chunks()])
                status = refusal(answer.status, answer.headers, said, doing="ask").status
            self._refused(status)

    def _refused(self, status: Status) -> None:
        """Returns where the same may be asked once more, in the clear."""
        if len(self._schemes) > 1 and speaks_no_tls(status):
            del self._schemes[0]
            return
        raise explained(status, namespace=self._namespace)

    def _request(
        self,
        method: Method,
        path: str,
        *,
        token: Secret,
        query: tuple[tuple[str, str], ...] = (),
        body: bytes = b"",
        seconds: float = _TIMEOUT_SECONDS,
    ) -> Request:
        service = f"{self._schemes[0]}:{shapes.SERVICE}:{PORT_NAME}"
        pairs = [("Accept", "application/json")]
        if token:
            pairs.append((names.CALLER_HEADER, shapes.BEARER + token.reveal()))
        return Request(
            method=method,
            path=f"/api/v1/namespaces/{quote(self._namespace)}/services/{service}/proxy{path}",
            query=query,
            headers=self._client.headers(*pairs, *([("Content-Type", "application/json")] if body else [])),
            body=body,
            timeout=seconds,
            verb=_VERBS[method],
            kind="services/proxy",
        )


def _decoded(body: bytes, kind: type[D]) -> D:
    try:
        return decode(body, kind, doing="ask the controller")  # type: ignore[no-any-return]
    except BadReply as error:
        raise BadReply(
            f"the controller's answer is not understood ({excerpt(body)})",
            advice="it may be of another version than this program: use the same for both, or --ledger",
        ) from error
