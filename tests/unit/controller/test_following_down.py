"""What hangs on a Namespace, or on what a definition defines, is looked at before these go: they are owners too."""

from __future__ import annotations

from typing import Any

import pytest

from skoupa.kube.resources import CONFIG_MAPS, CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES
from skoupa.sim.faults import asking
from skoupa.sim.state.access import Rule
from tests.unit.controller.stage import (
    HOME,
    MINUTE,
    PRIORITIES,
    SECRETS,
    SHOP,
    WIDGETS,
    Stage,
    definition,
    owned_by,
    story,
)
from tests.unit.controller.test_cascades import TENANTS
from tests.unit.controller.test_kinds_and_rights import ENOUGH, OWN

pytestmark = pytest.mark.unit


async def a_namespace(stage: Stage, name: str, **metadata: Any) -> dict[str, Any]:
    """As an owner reference names it."""
    return {**await stage.namespace(name, **metadata), "apiVersion": "v1", "kind": "Namespace"}


async def defined_tenants(stage: Stage) -> None:
    await stage.people.create(CUSTOM_RESOURCE_DEFINITIONS, definition(TENANTS))
    await stage.later(10)


@story()
async def test_a_namespace_does_not_go_when_it_owns_one_with_something_kept_in_it(stage: Stage) -> None:
    play = await stage.play()
    parent = await a_namespace(stage, "parent")
    await stage.namespace("child", ownerReferences=[owned_by(parent)])
    await stage.make("deed", namespace="child", keep="true")
    await stage.later(5)
    await stage.label("parent", resource=NAMESPACES, ttl="1m")
    await stage.later(10 * MINUTE)
    assert stage.there("deed", namespace="child")
    assert "ConfigMap child/deed" in play.why_held("parent")
    await stage.label("deed", namespace="child", keep=None)
    await stage.later(10 * MINUTE)
    assert not stage.there("parent", NAMESPACES)


@pytest.mark.parametrize("where", ["kube-system", "vault", "elsewhere"])
@story()
async def test_a_namespace_does_not_take_along_what_hangs_on_it_in_sheltered_namespaces(
    stage: Stage, where: str
) -> None:
    await stage.play()
    parent = await a_namespace(stage, "parent")
    await stage.namespace("vault", labels={"skoupa.dev/keep": "true"})
    await stage.namespace("elsewhere")
    await stage.make("deed", namespace=where, owner=parent)
    await stage.later(5)
    await stage.label("parent", resource=NAMESPACES, ttl="1m")
    await stage.later(10 * MINUTE)
    assert stage.there("deed", namespace=where) is (where != "elsewhere")
    assert stage.there("parent", NAMESPACES) is (where != "elsewhere")


@pytest.mark.parametrize("what", ["kept in a namespace", "in kube-system", "nothing"])
@story()
async def test_a_definition_does_not_go_with_what_it_defines_whatever_that_owns(
    stage: Stage, what: str
) -> None:
    play = await stage.play()
    await defined_tenants(stage)
    acme = await stage.make("acme", resource=TENANTS)
    await stage.namespace("theirs", ownerReferences=[owned_by(acme)])
    if what == "kept in a namespace":
        await stage.make("deed", namespace="theirs", keep="true")
    elif what == "in kube-system":
        await stage.make("deed", namespace="kube-system", owner=acme)
    await stage.later(5)
    await stage.label(TENANTS.qualified, resource=CUSTOM_RESOURCE_DEFINITIONS, ttl="1m")
    await stage.later(10 * MINUTE)
    assert stage.there("acme", TENANTS)
    assert "Tenant acme for one: delete these first" in play.why_held(TENANTS.qualified)
    if what != "nothing":
        assert stage.there("deed", namespace="theirs" if what == "kept in a namespace" else "kube-system")


@story()
async def test_what_is_defined_goes_by_a_delete_of_its_own_also_where_the_definition_orphans(
    stage: Stage,
) -> None:
    await stage.play()
    await defined_tenants(stage)
    acme = await stage.make("acme", resource=TENANTS)
    await stage.make("deed", namespace="kube-system", owner=acme)
    body = {"cleanup.kyverno.io/propagation-policy": "Orphan"}
    await stage.people.merge_patch(
        CUSTOM_RESOURCE_DEFINITIONS, TENANTS.qualified, {"metadata": {"annotations": body}}
    )
    await stage.label(TENANTS.qualified, resource=CUSTOM_RESOURCE_DEFINITIONS, ttl="1m")
    await stage.later(10 * MINUTE)
    assert stage.there("deed", namespace="kube-system")
    assert stage.there(TENANTS.qualified, CUSTOM_RESOURCE_DEFINITIONS)


@story(also=(PRIORITIES,))
async def test_a_definition_that_goes_along_is_followed_down_too(stage: Stage) -> None:
    await stage.play()
    await defined_tenants(stage)
    (made,) = stage.cluster.objects(CUSTOM_RESOURCE_DEFINITIONS)
    acme = await stage.make("acme", resource=TENANTS)
    await stage.make("deed", namespace="kube-system", owner=acme)
    top = await stage.make("top", resource=PRIORITIES)
    await stage.people.merge_patch(
        CUSTOM_RESOURCE_DEFINITIONS,
        made["metadata"]["name"],
        {"metadata": {"ownerReferences": [owned_by(top)]}},
    )
    await stage.later(5)
    await stage.label("top", resource=PRIORITIES, ttl="1m")
    await stage.later(10 * MINUTE)
    assert stage.there("deed", namespace="kube-system")
    assert stage.there("top", PRIORITIES)


@pytest.mark.parametrize("what", ["of no namespace", "in another namespace"])
@story(also=(PRIORITIES,), namespaces=[SHOP, HOME])
async def test_with_some_namespaces_only_kept_objects_outside_of_them_hold_their_namespace(
    stage: Stage, what: str
) -> None:
    """No feed sees them."""
    play = await stage.play()
    (found,) = [one for one in stage.cluster.objects(NAMESPACES) if one["metadata"]["name"] == SHOP]
    shop = {**found, "apiVersion": "v1", "kind": "Namespace"}
    await stage.namespace("elsewhere")
    if what == "of no namespace":
        await stage.make("high", resource=PRIORITIES, owner=shop, keep="true")
    else:
        await stage.make("high", namespace="elsewhere", owner=shop, keep="true")
    await stage.later(5)
    await stage.label(SHOP, resource=NAMESPACES, ttl="1m")
    await stage.later(10 * MINUTE)
    assert stage.there(SHOP, NAMESPACES)
    assert "high" in play.why_held(SHOP)


@story(namespaces=[SHOP, HOME])
async def test_who_may_not_look_outside_of_a_namespace_still_lets_it_go(stage: Stage) -> None:
    inside = Rule(verbs=(*ENOUGH, "get"), namespaces=(SHOP, HOME))
    stage.cluster.allow_only("sweeper", [*OWN, inside])
    play = await stage.play(user="sweeper")
    stage.cluster.faults.answer(500, when=asking(method="DELETE"), seconds=110)
    await stage.label(SHOP, resource=NAMESPACES, ttl="1m")
    await stage.later(10 * MINUTE)
    assert not stage.there(SHOP, NAMESPACES)
    assert len(play.sent("DELETE")) > 3
    asked = [request for _, request in play.sent("GET") if request.path == "/api/v1/configmaps"]
    assert len(asked) <= 2, "what is refused is not asked for before each try"


@story()
async def test_a_namespace_stays_while_what_hangs_on_it_can_not_be_looked_for(stage: Stage) -> None:
    play = await stage.play()
    await stage.namespace("parent")
    stage.cluster.faults.answer(
        500, when=asking(verb="list", kind="configmaps", path="/api/v1/namespaces/kube-system"), times=None
    )
    await stage.label("parent", resource=NAMESPACES, ttl="1m")
    await stage.later(3 * MINUTE)
    assert stage.there("parent", NAMESPACES)
    assert "configmaps" in play.why_held("parent")
    stage.cluster.faults.clear()
    await stage.later(5 * MINUTE)
    assert not stage.there("parent", NAMESPACES)


@story()
async def test_what_hangs_on_namespaces_is_read_once_for_those_that_go_together(stage: Stage) -> None:
    play = await stage.play()
    for number in range(30):
        await stage.namespace(f"pr-{number}", labels={"cleanup.kyverno.io/ttl": "10m"})
    await stage.until(10 * MINUTE + 1)
    lists = play.sent("GET", path="/api/v1/namespaces/kube-system/configmaps")
    assert 1 <= len(lists) <= 2
    await stage.later(MINUTE)
    assert not [name for name in stage.found(NAMESPACES) if name.startswith("pr-")]


@pytest.mark.parametrize("what", ["a widget", "their definition"])
@story(also=(SECRETS,))
async def test_a_definition_is_held_by_what_its_objects_might_own_unread(stage: Stage, what: str) -> None:
    stage.cluster.deny(user="blind", verbs=("get", "list", "watch"), resources=("secrets",))
    await stage.people.create(CUSTOM_RESOURCE_DEFINITIONS, definition(WIDGETS))
    await stage.later(10)
    play = await stage.play(user="blind")
    widget = await stage.make("gear", resource=WIDGETS)
    await stage.make("deed", resource=SECRETS, owner=widget, keep="true")
    await stage.later(5)
    name, kind = ("gear", WIDGETS) if what == "a widget" else (WIDGETS.qualified, CUSTOM_RESOURCE_DEFINITIONS)
    await stage.label(name, resource=kind, ttl="1m")
    await stage.later(10 * MINUTE)
    assert stage.there("deed", SECRETS)
    assert "kept objects of secrets can't be read" in play.why_held(name)


@story()
async def test_an_object_that_owns_nothing_costs_one_delete_and_nothing_else(stage: Stage) -> None:
    play = await stage.play()
    await stage.make("web", "8m30s")
    # The watch of Namespaces has just spoken, so that not even that is asked.
    await stage.until(8 * MINUTE + 29)
    before = len(play.wire.seen)
    await stage.annotate(SHOP, "people.example/touched", "yes", resource=NAMESPACES)
    await stage.until(8 * MINUTE + 31)
    assert not stage.there("web")
    sent = [(request.method, request.path) for _, request in play.wire.seen[before:]]
    # What it may do is asked for once a minute, and Events tell of it.
    mine = [one for one in sent if one[0] != "POST" and "events" not in one[1]]
    assert mine == [("DELETE", CONFIG_MAPS.path(namespace=SHOP, name="web"))]
