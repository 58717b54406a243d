"""One object by its path: the installed rights have no get, and people who plan may have no list."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from skoupa.errors import Forbidden, NotFound
from skoupa.expr.cel.messages import GetResource
from skoupa.kube.kinds import Discovery
from skoupa.runs.calls.answers import Answer
from skoupa.runs.calls.paths import Path, read_path
from skoupa.runs.calls.server import Server
from skoupa.runs.calls.single import ask_for, single
from skoupa.sim.state.kinds import BUILT_IN
from tests.unit.runs.calls.asking import Stage, answer, staged

pytestmark = pytest.mark.unit

PRICES = "/api/v1/namespaces/shop/configmaps/prices"


@pytest.mark.parametrize("denied", ["get", "list"])
@pytest.mark.parametrize("namespace", ["", "shop"])
async def test_the_right_to_list_is_enough_and_so_is_the_right_to_get(denied: str, namespace: str) -> None:
    async with staged() as stage:
        stage.cluster.deny(verbs=[denied], resources=["configmaps", "namespaces"])
        calls = await stage.calls(namespace)
        found = await calls.api("GET", PRICES)
        assert (found["kind"], found["apiVersion"], found["data"]) == ("ConfigMap", "v1", {"pear": "3"})
        assert (await calls.api("GET", "/api/v1/namespaces/shop"))["kind"] == "Namespace"
        asked = GetResource(api_version="v1", resource="configmaps", namespace="shop", name="prices")
        assert (await answer(calls, asked))["data"] == {"pear": "3"}
        with pytest.raises(NotFound, match="other"):
            await calls.api("GET", "/api/v1/namespaces/shop/configmaps/other")


async def test_without_either_right_it_is_forbidden() -> None:
    async with staged() as stage:
        stage.cluster.deny(verbs=["get", "list"], resources=["configmaps"])
        with pytest.raises(Forbidden):
            await (await stage.calls()).api("GET", PRICES)


async def test_an_entry_of_shared_context_needs_no_get_either() -> None:
    async with staged() as stage:
        await stage.entry("prices", apiCall={"urlPath": PRICES})
        stage.cluster.deny(verbs=["get"], resources=["configmaps"])
        assert (await (await stage.calls()).shared("prices"))["data"] == {"pear": "3"}


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/namespaces/shop/configmaps",
        "/api/v1/namespaces/shop/pods/web/status",
        "/api/v1/configmaps/prices",
        "/api/v1/namespaces/shop/nodes/n1",
        "/apis/shop.io/v1/namespaces/shop/orders/one",
        "/api/v1/namespaces/shop/configmaps/a,metadata.namespace=b",
        "/api/v1/namespaces/shop/configmaps/prices?resourceVersion=0",
        "/version",
        "/apis/apps/v1",
    ],
)
def test_what_is_no_object_of_a_known_kind_is_asked_for_as_it_is(path: str) -> None:
    assert single(read_path(path, method="GET"), Discovery(resources=BUILT_IN)) is None


def test_names_with_colons_are_names() -> None:
    path = "/apis/rbac.authorization.k8s.io/v1/clusterroles/system:node"
    found = single(read_path(path, method="GET"), Discovery(resources=BUILT_IN))
    assert found is not None
    assert found.name == "system:node"


class Deaf(Server):
    """Answers every list with all that there is."""

    def __init__(self, stage: Stage, *names: str) -> None:
        super().__init__(stage.client, seconds=1, most_bytes=1000)
        self._items = [{"metadata": {"name": name}} for name in names]

    async def ask(self, place: Path, *, method: str, body: bytes | None = None) -> Answer:
        assert (method, body) == ("GET", None)
        return Answer(msgspec.json.encode({"items": self._items}), where=place.shown)


async def test_a_server_that_takes_no_notice_of_the_selector_does_not_mislead() -> None:
    async with staged() as stage:
        place = read_path("/api/v1/nodes/b", method="GET")
        known = Discovery(resources=BUILT_IN)
        found: Any = (await ask_for(Deaf(stage, "a", "b", "c"), place, discovery=known)).value()
        assert found["metadata"] == {"name": "b"}
        with pytest.raises(NotFound):
            await ask_for(Deaf(stage, "a", "c"), place, discovery=known)
