"""The pages on a person's own machine: for who has the secret, under no other name, and with nothing from elsewhere."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest

from skoupa import names
from skoupa.errors import Forbidden, NoController, Status, UsageError
from skoupa.report.endpoints import listening
from skoupa.web.dashboard.brakes import Known, brakes
from skoupa.web.dashboard.door import Door, is_loopback, new_secret
from skoupa.web.dashboard.look import plainly
from skoupa.web.dashboard.questions import Filters, Which
from skoupa.web.dashboard.shapes import Brakes, Objects, Overview, Policies, Remembered

pytestmark = pytest.mark.unit

SECRET = "s3cret"
BRAKES = "/api/v1alpha1/board/brakes"
PASS = {names.CALLER_HEADER: f"Bearer {SECRET}"}


class Refusing:
    """A board that answers one question, and fails at all others in its own way."""

    def __init__(self) -> None:
        self.asked = 0

    async def overview(self) -> Overview:
        raise NoController("nobody is there", advice="look elsewhere")

    async def objects(self, which: Which) -> Objects:
        raise Forbidden("you may not", status=Status(code=403), advice="ask for more")

    async def brakes(self) -> Brakes:
        self.asked += 1
        return brakes(Known(found=(), absent="there can be none"), acts="files", now=0.0, typed=plainly)

    async def history(self, filters: Filters) -> Remembered:
        raise UsageError("nobody knows what that means", advice="write 7d")

    async def policies(self) -> Policies:
        raise RuntimeError("secret detail")


@asynccontextmanager
async def at_the_door(board: Refusing, *, host: str = "127.0.0.1") -> AsyncIterator[Asking]:
    door = Door(board, secret=SECRET, host=host)
    async with (
        listening(door.application(), "127.0.0.1:0", setting="--port") as bound,
        aiohttp.ClientSession() as session,
    ):
        yield Asking(session, bound)


class Asking:
    def __init__(self, session: aiohttp.ClientSession, bound: str) -> None:
        self._session = session
        self.bound = bound

    async def __call__(
        self, path: str, headers: Mapping[str, str] = PASS, *, method: str = "GET"
    ) -> tuple[int, Any, Mapping[str, str]]:
        async with self._session.request(
            method, f"http://{self.bound}{path}", headers=dict(headers)
        ) as answer:
            document = (
                await answer.json() if answer.content_type == "application/json" else await answer.text()
            )
            return answer.status, document, answer.headers


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {names.CALLER_HEADER: ""},
        {names.CALLER_HEADER: "Bearer "},
        {names.CALLER_HEADER: "Bearer s3cre"},
        {names.CALLER_HEADER: f"Bearer {SECRET}x"},
        {"Authorization": f"Bearer {SECRET}"},
        {"Cookie": f"token={SECRET}"},
    ],
)
async def test_nothing_is_told_without_the_secret_in_its_own_header(headers: dict[str, str]) -> None:
    board = Refusing()
    async with at_the_door(board) as ask:
        for path in (BRAKES, f"{BRAKES}?token={SECRET}"):
            status, document, _ = await ask(path, headers)
            assert (status, document["reason"]) == (401, "NoToken")
            assert "`skoupa dashboard` printed" in document["message"]
        assert board.asked == 0
        status, document, _ = await ask(BRAKES)
        assert (status, document["notes"], board.asked) == (200, ["there can be none"], 1)


@pytest.mark.parametrize(
    ("listens", "called", "known"),
    [
        ("127.0.0.1", "127.0.0.1:1234", True),
        ("127.0.0.1", "localhost:9", True),
        ("127.0.0.1", "[::1]:80", True),
        ("127.0.0.1", "evil.example:8642", False),
        ("127.0.0.1", "127.0.0.1.evil.example", False),
        ("127.0.0.1", "localhost.evil.example:80", False),
        ("127.0.0.1", "10.1.2.3:80", False),
        ("127.0.0.1", "", False),
        ("0.0.0.0", "10.1.2.3:80", True),
        ("0.0.0.0", "evil.example", False),
        ("box.local", "BOX.local:80", True),
        ("box.local", "evil.example", False),
    ],
)
async def test_it_is_reached_under_no_name_that_others_could_give_it(
    listens: str, called: str, *, known: bool
) -> None:
    async with at_the_door(Refusing(), host=listens) as ask:
        for path in ("/", BRAKES):
            status, document, _ = await ask(path, {**PASS, "Host": called})
            assert status == (200 if known else 421)
            assert known or document["reason"] == "UnknownHost"


async def test_pages_are_served_with_nothing_from_elsewhere_and_nothing_inline() -> None:
    async with at_the_door(Refusing()) as ask:
        status, page, headers = await ask("/", {})
        assert status == 200
        policy = headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert "require-trusted-types-for 'script'" in policy
        assert "://" not in page
        assert "<style" not in page
        assert "style=" not in page
        for asset in ("app.js", "dom.js", "style.css", "mark.svg"):
            status, text, own = await ask(f"/assets/{asset}", {})
            assert status == 200, asset
            assert own["X-Content-Type-Options"] == "nosniff"
            assert own["Content-Security-Policy"] == policy
            assert "innerHTML" not in text
            assert "https://" not in text
        for missing in ("/assets/../door.py", "/assets/index.html", "/assets/none.js", "/etc/passwd"):
            assert (await ask(missing, {}))[0] == 404
        status, _, headers = await ask(BRAKES)
        assert headers["Cache-Control"] == "no-store"
        assert "Access-Control-Allow-Origin" not in headers


async def test_it_only_tells() -> None:
    async with at_the_door(Refusing()) as ask:
        for method in ("POST", "PUT", "DELETE", "PATCH"):
            assert (await ask(BRAKES, method=method))[0] == 404


@pytest.mark.parametrize(
    ("page", "code", "message", "advice"),
    [
        ("overview", 503, "nobody is there", "look elsewhere"),
        ("objects", 403, "you may not", "ask for more"),
        ("history", 400, "nobody knows what that means", "write 7d"),
        ("policies", 500, "failed at this", ""),
        ("objects?state=gone", 400, "not understood", ""),
        ("brakes?x=1", 400, "no part of this question", ""),
    ],
)
async def test_what_went_wrong_is_said_with_what_to_do(
    page: str, code: int, message: str, advice: str
) -> None:
    async with at_the_door(Refusing()) as ask:
        status, document, _ = await ask(f"/api/v1alpha1/board/{page}")
        assert status == document["code"] == code
        assert message in document["message"]
        assert document["details"].get("advice", "") == advice
        assert "secret detail" not in str(document)


def test_loopback_is_told_from_the_rest_of_the_world() -> None:
    assert all(map(is_loopback, ("127.0.0.1", "127.9.9.9", "::1", "[::1]", "localhost")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "10.0.0.1", "example.org", "", "localhost.")))
    assert len({new_secret() for _ in range(100)}) == 100
    assert len(new_secret()) >= 32
