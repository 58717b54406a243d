"""`keep`, `extend` and `refresh` write first, and then look around."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager

import pytest

from skoupa.errors import Unreachable
from skoupa.kube.transport import Request, Response, Stream, Transport
from tests.unit.cli.saying import Shell
from tests.unit.cli.worlds import KEEP, Town, config_map, obj

pytestmark = pytest.mark.unit


@pytest.fixture
def town(skoupa: Shell, monkeypatch: pytest.MonkeyPatch) -> Town:
    return Town(skoupa, monkeypatch)


class Listening:
    """What is asked for, in order; `lost` answers nothing more once all that is wanted is written."""

    def __init__(self, inner: Transport, *, lost_after: int = 0) -> None:
        self._inner = inner
        self._lost_after = lost_after
        self.asked: list[tuple[str, str]] = []

    async def send(self, request: Request) -> Response:
        patches = sum(method == "PATCH" for method, _ in self.asked)
        if self._lost_after and patches == self._lost_after:
            raise Unreachable("no route to host")
        self.asked.append((request.method, request.path))
        return await self._inner.send(request)

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        return self._inner.stream(request)

    async def close(self) -> None:
        await self._inner.close()


def listening(town: Town, *, lost_after: int = 0) -> list[Listening]:
    heard: list[Listening] = []

    def wrap(inner: Transport) -> Transport:
        heard.append(Listening(inner, lost_after=lost_after))
        return heard[-1]

    town.wrap = wrap
    return heard


@pytest.mark.parametrize("command", [("keep",), ("extend", "--by", "7d"), ("refresh",)])
def test_everything_is_written_before_it_is_read_what_else_could_hold_it(
    town: Town, command: Sequence[str]
) -> None:
    """A kind that does not answer must not stand between a person and the label."""
    town.holding(obj("Namespace", "shop"), config_map("a", "3h"), config_map("b", "3h"))
    heard = listening(town)
    assert town(*command, "cm/a", "cm/b", "-n", "shop").code == 0
    asked = heard[0].asked
    last = max(number for number, (method, _) in enumerate(asked) if method == "PATCH")
    before = {path for method, path in asked[:last] if method == "GET" and "/namespaces/shop/" in path}
    assert before == {f"/api/v1/namespaces/shop/configmaps/{name}" for name in "ab"}


def test_what_is_written_is_told_also_where_nothing_more_can_be_read(town: Town) -> None:
    town.holding(obj("Namespace", "shop"), config_map("a", "1h"))
    listening(town, lost_after=1)
    said = town("keep", "cm/a", "-n", "shop", "--until", "2026-09-30")
    assert said.code == 0
    assert "label skoupa.dev/keep=2026-09-30 (was absent)" in said.out
    assert "what else could hold it or take it along is not known: no route to host" in said.err
    assert town.metadata("a")["labels"][KEEP] == "2026-09-30"
