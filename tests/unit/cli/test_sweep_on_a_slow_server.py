"""A keep label that is written while a sweep goes on counts at once, also where it takes long to read what is kept."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager

import pytest

from skoupa.cli.acting.sweep import AT_A_TIME
from skoupa.kube.client import Client
from skoupa.kube.resources import CONFIG_MAPS, NAMESPACES, Resource
from skoupa.kube.transport import Request, Response, Stream, Transport
from skoupa.sim.state.access import Rule
from tests.unit.cli.saying import Said, Shell
from tests.unit.cli.test_sweep import left
from tests.unit.cli.test_sweep_looks_again import MANY, keep
from tests.unit.cli.worlds import Town, config_map, granting, obj

pytestmark = pytest.mark.unit

SECRETS = Resource(group="", version="v1", plural="secrets", kind="Secret", namespaced=True)
# The time that goes by while one list or one object is read.
READ_SECONDS = 0.1
DELETE_SECONDS = 0.05


@pytest.fixture
def town(skoupa: Shell, monkeypatch: pytest.MonkeyPatch) -> Town:
    return Town(skoupa, monkeypatch)


class Slow:
    """A server where every read takes a while, and something happens when twenty deletes are sent."""

    def __init__(self, inner: Transport, town: Town, half_way: Callable[[Client], Awaitable[None]]) -> None:
        self._inner = inner
        self._town = town
        self._half_way = half_way
        self._sent = 0

    async def send(self, request: Request) -> Response:
        if request.method == "GET":
            self._town.clock.moment += READ_SECONDS
        if request.method == "DELETE":
            self._town.clock.moment += DELETE_SECONDS
            self._sent += 1
            if self._sent == 20:
                await self._half_way(Client(self._town.cluster, self._town.clock))
        return await self._inner.send(request)

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        return self._inner.stream(request)

    async def close(self) -> None:
        await self._inner.close()


def sweeping(town: Town, *args: str, half_way: Callable[[Client], Awaitable[None]]) -> Said:
    town.wrap = lambda inner: Slow(inner, town, half_way)
    return town("sweep", "--yes", *args)


def owning(town: Town) -> None:
    """Every ConfigMap owns a Secret of its name."""
    town.holding(obj("Namespace", "shop"))
    for number, name in enumerate(MANY):
        uid = f"aaaaaaaa-0000-0000-0000-{number:012}"
        owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": uid}
        town.holding(
            config_map(name, "1h", uid=uid),
            obj("Secret", name, namespace="shop", owners=[owner]),
        )


async def keep_secrets(client: Client) -> None:
    for name in MANY:
        await keep(client, SECRETS, name, "shop")


def test_what_hangs_on_an_object_is_kept_in_the_middle_of_a_sweep(town: Town) -> None:
    owning(town)
    said = sweeping(town, "-n", "shop", half_way=keep_secrets)
    gone = len(MANY) - len(left(town))
    # What was on the wire is gone.
    assert 20 <= gone <= 20 + AT_A_TIME
    assert said.out.count("deleting it would take along Secret shop/many-") == len(MANY) - gone


def test_what_hangs_on_an_object_is_kept_where_nothing_may_be_watched(town: Town) -> None:
    owning(town)
    granting(Rule(verbs=("list", "get", "delete"), resources=("*",)))(town.cluster)
    town.user = "bob"
    said = sweeping(town, "-n", "shop", half_way=keep_secrets)
    gone = len(MANY) - len(left(town))
    # What was on the wire, and what goes in the two seconds for which a reading counts.
    assert 20 <= gone <= 20 + AT_A_TIME + 2 / DELETE_SECONDS
    assert "which is kept" in said.out


@pytest.mark.parametrize("watched", [True, False])
@pytest.mark.parametrize("where", [("-n", "shop"), ("-A",)])
def test_its_namespace_is_kept_in_the_middle_of_a_sweep(
    town: Town, where: tuple[str, ...], *, watched: bool
) -> None:
    town.holding(obj("Namespace", "shop"), *(config_map(name, "1h") for name in MANY))
    verbs = ("list", "get", "delete", *(("watch",) if watched else ()))
    granting(Rule(verbs=verbs, resources=("*",)))(town.cluster)
    town.user = "bob"

    async def half_way(client: Client) -> None:
        await keep(client, NAMESPACES, "shop")

    said = sweeping(town, *where, half_way=half_way)
    gone = len(MANY) - len(left(town))
    assert 20 <= gone <= 20 + AT_A_TIME * (1 if watched else 3)
    kept = "kept: its Namespace has the label skoupa.dev/keep=true"
    assert said.out.count(kept) == len(MANY) - gone
    assert town.find(CONFIG_MAPS, MANY[-1])
