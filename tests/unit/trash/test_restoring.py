"""Bringing back is checked first, remembered as it goes, and stops in order."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from skoupa.cli.restoring.pieces import Piece
from skoupa.cli.restoring.restoring import Restoring
from skoupa.errors import Disconnected, SkoupaError
from skoupa.kube.client import Client
from skoupa.kube.resources import CONFIG_MAPS
from skoupa.kube.transport import Request, Response
from skoupa.ledger.trash.contents import Kept
from tests.unit.cli.worlds import obj
from tests.unit.ledger.entries import entry
from tests.unit.trash.keeping import Counting, Shop, in_shop

pytestmark = pytest.mark.unit


def piece(name: str, *owners: str, **metadata: Any) -> Piece:
    references = [
        {"apiVersion": "v1", "kind": "ConfigMap", "name": one, "uid": f"old-{one}"} for one in owners
    ]
    meta = {"name": name, "namespace": "shop", **metadata}
    if references:
        meta["ownerReferences"] = references
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta}
    kept = Kept(
        api_version="v1",
        kind="ConfigMap",
        resource="configmaps",
        namespaced=True,
        name=name,
        namespace="shop",
        uid=f"old-{name}",
        manifest=manifest,
    )
    return Piece(entry=entry(f"old-{name}", name=name), kept=kept, manifest=manifest)


class Losing(Counting):
    """Takes what is created, or not, and then loses the answer."""

    def __init__(self, shop: Shop, *, takes: bool) -> None:
        super().__init__(shop.cluster)
        self._takes = takes

    async def send(self, request: Request) -> Response:
        meant = request.method == "POST" and ("dryRun", "All") not in request.query
        if not meant or self._takes:
            response = await super().send(request)
        if meant:
            raise Disconnected("the answer was lost")
        return response


class Remembered:
    def __init__(self) -> None:
        self.uids: dict[str, str] = {}

    async def __call__(self, uids: dict[str, str]) -> None:
        self.uids |= uids


def restoring(
    shop: Shop, remembered: Callable[[dict[str, str]], Any], client: Client | None = None, **rest: Any
) -> Restoring:
    return Restoring(client or shop.client, discovery=shop.discovery, remember=remembered, **rest)


def outcomes(pieces: list[Piece]) -> Mapping[str, str]:
    return {one.kept.name: one.outcome.what for one in pieces}


SHOP = obj("Namespace", "shop")


def test_what_came_back_is_remembered_with_its_new_uid() -> None:
    async def work(shop: Shop) -> None:
        remembered, pieces = Remembered(), [piece("a"), piece("b", "a")]
        one = restoring(shop, remembered)
        await one.check(pieces)
        assert shop.cluster.objects(CONFIG_MAPS, namespace="shop") == []
        await one.create(pieces)
        assert outcomes(pieces) == {"a": "restored", "b": "restored"}
        assert remembered.uids == {"old-a": pieces[0].uid, "old-b": pieces[1].uid}

    in_shop(work, SHOP)


@pytest.mark.parametrize(("takes", "what"), [(True, "restored"), (False, "failed")])
def test_a_lost_answer_is_looked_after(*, takes: bool, what: str) -> None:
    async def work(shop: Shop) -> None:
        remembered, pieces = Remembered(), [piece("a")]
        client = Client(Losing(shop, takes=takes), shop.client.clock)
        one = restoring(shop, remembered, client)
        await one.check(pieces)
        await one.create(pieces)
        assert outcomes(pieces) == {"a": what}
        assert bool(remembered.uids) is takes

    in_shop(work, SHOP)


def test_what_is_owned_does_not_come_without_an_owner_that_was_to_come() -> None:
    async def work(shop: Shop) -> None:
        pieces = [piece("not a name"), piece("child", "not a name"), piece("other")]
        one = restoring(shop, Remembered())
        await one.check(pieces)
        await one.create(pieces)
        assert outcomes(pieces) == {"not a name": "refused", "child": "skipped", "other": "restored"}

    in_shop(work, SHOP)


def test_an_owner_that_is_there_already_gets_what_it_owned() -> None:
    async def work(shop: Shop) -> None:
        made = await shop.client.create(CONFIG_MAPS, {"metadata": {"name": "a"}}, namespace="shop")
        pieces = [piece("a"), piece("child", "a")]
        one = restoring(shop, Remembered())
        await one.check(pieces)
        await one.create(pieces)
        assert outcomes(pieces) == {"a": "exists", "child": "restored"}
        [child] = [
            found
            for found in shop.cluster.objects(CONFIG_MAPS, namespace="shop")
            if found["metadata"]["name"] == "child"
        ]
        assert child["metadata"]["ownerReferences"][0]["uid"] == made["metadata"]["uid"]

    in_shop(work, SHOP)


def test_a_stop_lets_nothing_new_begin_and_what_came_is_remembered() -> None:
    async def work(shop: Shop) -> None:
        stop = asyncio.Event()
        remembered = Remembered()

        async def remember_and_stop(uids: dict[str, str]) -> None:
            await remembered(uids)
            stop.set()

        pieces = [piece("a"), piece("b", "a")]
        one = restoring(shop, remember_and_stop, stop=stop)
        await one.check(pieces)
        await one.create(pieces)
        assert outcomes(pieces) == {"a": "restored", "b": "not-tried"}
        assert set(remembered.uids) == {"old-a"}

    in_shop(work, SHOP)


def test_a_server_that_fails_is_told_and_nothing_is_taken_for_done() -> None:
    async def work(shop: Shop) -> None:
        pieces = [piece("a")]
        one = restoring(shop, Remembered())
        shop.wire.refuse["create", "configmaps"] = 500
        await one.check(pieces)
        assert pieces[0].outcome.what == "refused"
        assert "refused by the test" in pieces[0].outcome.text
        assert issubclass(Disconnected, SkoupaError)

    in_shop(work, SHOP)
