"""A sweep that takes a while looks again at what others hang on: kept objects, Namespaces, the kinds themselves."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from skoupa.cli.acting.sweep import AT_A_TIME
from skoupa.kinds import definitions
from skoupa.kinds.brake import BRAKES, BrakeSpec, Scope, manifest
from skoupa.kube.client import Client
from skoupa.kube.resources import CONFIG_MAPS, NAMESPACES, PODS, Resource
from skoupa.kube.transport import Request
from skoupa.sim.faults import asking
from skoupa.sim.state.access import Rule
from tests.unit.cli.saying import Said, Shell
from tests.unit.cli.test_sweep import Watching, left
from tests.unit.cli.worlds import KEEP, TTL, Town, config_map, granting, obj

pytestmark = pytest.mark.unit

MANY = [f"many-{number:03}" for number in range(200)]
WIDGETS = Resource(
    group="shop.example",
    version="v1",
    plural="widgets",
    kind="Widget",
    namespaced=True,
    verbs=("create", "delete", "get", "list", "patch", "update", "watch"),
)
DEPLOYMENT_UID = "aaaaaaaa-0000-0000-0000-000000000001"


@pytest.fixture
def town(skoupa: Shell, monkeypatch: pytest.MonkeyPatch) -> Town:
    return Town(skoupa, monkeypatch)


def sweeping(town: Town, *args: str, half_way: Callable[[Client], Awaitable[None]]) -> Said:
    """A sweep that takes a minute; something happens when twenty deletes are sent."""
    sent = 0

    async def count(_: Request) -> None:
        nonlocal sent
        sent += 1
        town.clock.moment += 0.3
        if sent == 20:
            await half_way(Client(town.cluster, town.clock))

    town.wrap = lambda inner: Watching(inner, count)
    return town("sweep", "--yes", *args)


async def keep(client: Client, resource: Resource, name: str, namespace: str = "") -> None:
    patch = {"metadata": {"labels": {KEEP: "true"}}}
    await client.merge_patch(resource, name, patch, namespace=namespace)


@pytest.mark.parametrize("where", [("-n", "shop"), ("-A",), ("configmaps", "-A")])
def test_a_namespace_that_is_kept_in_the_middle_of_a_sweep_keeps_the_rest(
    town: Town, where: tuple[str, ...]
) -> None:
    town.holding(obj("Namespace", "shop"), *(config_map(name, "1h") for name in MANY))

    async def half_way(client: Client) -> None:
        await keep(client, NAMESPACES, "shop")

    said = sweeping(town, *where, half_way=half_way)
    assert said.code == 0
    gone = len(MANY) - len(left(town))
    assert 20 <= gone < 50
    kept = "kept: its Namespace has the label skoupa.dev/keep=true"
    assert said.out.count(kept) == len(MANY) - gone


def test_an_owner_stays_when_what_hangs_on_it_is_kept_in_the_middle_of_a_sweep(town: Town) -> None:
    owner = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "name": "web",
        "uid": DEPLOYMENT_UID,
        "controller": True,
    }
    town.holding(
        *(config_map(name, "1h") for name in MANY),
        obj(
            "Deployment",
            "web",
            api="apps/v1",
            namespace="shop",
            uid=DEPLOYMENT_UID,
            labels={TTL: "110m"},
        ),
        obj("Pod", "web-1", namespace="shop", owners=[owner]),
    )

    async def half_way(client: Client) -> None:
        await keep(client, PODS, "web-1", "shop")

    said = sweeping(town, "-n", "shop", half_way=half_way)
    assert "stays Deployment shop/web: deleting it would take along Pod shop/web-1, which is kept" in said.out
    assert left(town) == []
    assert town.find(PODS, "web-1")


def test_a_kept_object_of_a_kind_that_is_defined_in_the_middle_of_a_sweep_holds_its_namespace(
    town: Town,
) -> None:
    town.holding(
        *(config_map(name, "1h", namespace="other") for name in MANY),
        obj("Namespace", "shop", labels={TTL: "110m"}),
    )

    async def half_way(client: Client) -> None:
        town.cluster.install(WIDGETS)
        body = {
            "apiVersion": "shop.example/v1",
            "kind": "Widget",
            "metadata": {"name": "gear", "labels": {KEEP: "true"}},
        }
        await client.create(WIDGETS, body, namespace="shop")

    said = sweeping(town, "-A", half_way=half_way)
    assert "deleting it would take along Widget shop/gear, which is kept" in said.out
    assert town.find(NAMESPACES, "shop")


def test_when_what_is_kept_can_not_be_read_again_nothing_more_goes(town: Town) -> None:
    town.holding(obj("Namespace", "shop"), *(config_map(name, "1h") for name in MANY))

    async def half_way(_: Client) -> None:
        town.cluster.faults.answer(503, when=asking(path="/api/v1/namespaces/shop/pods"), times=None)

    said = sweeping(town, "-n", "shop", half_way=half_way)
    assert said.code == 4
    gone = len(MANY) - len(left(town))
    assert 20 <= gone < 50
    assert f"broken off after {gone} of 200: what is kept can't be read any more (kept pods: " in said.err
    assert "so nothing more was deleted; run it again to go on" in said.err
    assert said.out.count("not-tried ConfigMap") == len(MANY) - gone
    assert "broken off before its turn" in said.out
    assert f"{gone} of 200 gone or on their way." in said.out


def test_when_its_namespace_can_not_be_read_again_nothing_more_goes(town: Town) -> None:
    town.holding(obj("Namespace", "shop"), *(config_map(name, "1h") for name in MANY))

    async def half_way(_: Client) -> None:
        path = "/api/v1/namespaces/shop"
        town.cluster.faults.answer(500, when=lambda request: request.path == path, times=None)

    said = sweeping(town, "-n", "shop", half_way=half_way)
    assert said.code == 4
    assert len(left(town)) > 150


def test_a_kind_that_goes_in_the_middle_of_a_sweep_ends_nothing(town: Town) -> None:
    town.cluster.install(WIDGETS)
    town.holding(obj("Namespace", "shop"), *(config_map(name, "1h") for name in MANY))

    async def half_way(_: Client) -> None:
        town.cluster.plane.catalogue.remove(group=WIDGETS.group, plural=WIDGETS.plural)

    said = sweeping(town, "-A", half_way=half_way)
    assert said.code == 0
    assert left(town) == []


def test_what_is_kept_is_looked_at_every_two_seconds_and_no_more_often(town: Town) -> None:
    """A sweep of a minute."""
    town.holding(obj("Namespace", "shop"), *(config_map(name, "1h") for name in MANY))
    before: list[int] = []

    async def half_way(_: Client) -> None:
        before.append(town.cluster.statistics()["requests"]["list"])

    sweeping(town, "-n", "shop", half_way=half_way)
    kinds = len({served.resource.qualified for served in town.cluster.plane.catalogue.preferred()})
    lists = town.cluster.statistics()["requests"]["list"] - before[0]
    assert lists < 30 * kinds


def test_a_protection_that_protects_nothing_is_told_before_anything_goes(town: Town, tmp_path: Path) -> None:
    settings = tmp_path / "settings.yaml"
    settings.write_text("protect: {kinds: [ConfigMapp], names: ['Namespace/shop/x']}\n")
    town.holding(obj("Namespace", "shop"), config_map("a", "1h"))
    said = town("sweep", "-n", "shop", "--config", str(settings))
    assert "protect.kinds: 'ConfigMapp' protects nothing: there is no such kind; did you mean" in said.err
    assert "protect.names: 'Namespace/shop/x' protects nothing: namespaces are in no namespace" in said.err
    assert left(town) == ["a"], "there was nobody to say yes"
    said = town("sweep", "-n", "shop", "--config", str(settings), "--yes")
    assert said.err.count("'ConfigMapp' protects nothing") == 1
    assert CONFIG_MAPS.plural in said.err


def test_with_rights_in_some_namespaces_keep_labels_on_these_are_seen_and_looked_at_again(
    town: Town, tmp_path: Path
) -> None:
    """As a Role in the namespace grants it: get of the Namespace, never list."""
    settings = tmp_path / "settings.yaml"
    settings.write_text("namespaces: [shop, lab]\n")
    town.holding(
        obj("Namespace", "shop"),
        obj("Namespace", "lab", labels={KEEP: "true"}),
        *(config_map(name, "1h") for name in MANY),
        config_map("old", "1h", namespace="lab"),
    )
    inside = ("shop", "lab")
    granting(
        Rule(verbs=("list", "delete"), namespaces=inside),
        Rule(verbs=("get",), resources=("namespaces",), namespaces=inside),
    )(town.cluster)
    town.user = "bob"

    async def half_way(client: Client) -> None:
        await keep(client, NAMESPACES, "shop")

    said = sweeping(town, "-A", "--config", str(settings), half_way=half_way)
    assert left(town, "lab") == ["old"]
    assert len(left(town)) > 150
    assert "kept: its Namespace has the label skoupa.dev/keep=true" in said.out


def braked(town: Town) -> None:
    town.holding(*definitions(), obj("Namespace", "shop"), *(config_map(name, "1h") for name in MANY))


def test_a_brake_that_is_pulled_in_the_middle_of_a_sweep_stops_it_at_once(town: Town) -> None:
    braked(town)

    async def half_way(client: Client) -> None:
        await client.create(
            BRAKES, manifest("stop", BrakeSpec(scope=Scope(namespace="shop"), reason="hands off"))
        )

    said = sweeping(town, "-n", "shop", half_way=half_way)
    gone = len(MANY) - len(left(town))
    # What was on the wire is gone.
    assert 20 <= gone <= 20 + AT_A_TIME
    assert said.out.count("stays ConfigMap") == len(MANY) - gone
    assert "brake stop: hands off" in said.out
    assert said.code == 4


def test_a_brake_on_something_else_that_is_pulled_in_the_middle_of_a_sweep_stops_nothing(town: Town) -> None:
    braked(town)

    async def half_way(client: Client) -> None:
        await client.create(BRAKES, manifest("stop", BrakeSpec(scope=Scope(namespace="other"))))

    said = sweeping(town, "-n", "shop", half_way=half_way)
    assert (said.code, left(town)) == (0, [])


def test_when_brakes_can_not_be_read_any_more_nothing_more_goes(town: Town) -> None:
    braked(town)

    async def half_way(_: Client) -> None:
        town.cluster.faults.answer(503, when=asking(path="/apis/skoupa.dev/v1alpha1/brakes"), times=None)

    said = sweeping(town, "-n", "shop", half_way=half_way)
    assert said.code == 5
    assert left(town)
    assert "which Brakes there are is not known, so nothing goes" in said.err
