"""What nobody has seen yet holds: kinds on their way, and definitions that can't be read."""

from __future__ import annotations

from typing import Any

import pytest

from skoupa.kube.resources import CUSTOM_RESOURCE_DEFINITIONS
from skoupa.kube.transport import Request
from skoupa.sim.faults import asking
from tests.unit.controller.retaining.scene import KINDS, ON, after, mark_of, said
from tests.unit.controller.stage import MINUTE, SHOP, WIDGETS, Stage, definition, story

pytestmark = pytest.mark.unit


def the_kinds(request: Request) -> bool:
    return request.path == "/apis"


def widget(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": WIDGETS.api_version,
        "kind": WIDGETS.kind,
        "metadata": {"name": "gadget"},
        "spec": spec,
    }


def told_by_its_schema() -> dict[str, Any]:
    """What a field names is told by its description alone."""
    found = definition(WIDGETS)
    config = {"type": "string", "description": "The name of the ConfigMap to read."}
    spec = {"type": "object", "properties": {"settings": config}}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    found["spec"]["versions"][0]["schema"] = schema
    return found


@story(also=KINDS, features=ON)
async def test_a_definition_that_was_just_made_holds_until_it_is_known_what_its_objects_use(
    stage: Stage,
) -> None:
    play = await stage.play()
    await stage.make("config", labels=after("unused-5m"))
    await stage.make("other", labels=after("unused-5m"))
    await stage.later(5 * MINUTE - 3)
    stage.cluster.faults.delay(10.0, when=the_kinds, times=1)
    await stage.people.create(CUSTOM_RESOURCE_DEFINITIONS, definition(WIDGETS))
    await stage.later(1)
    await stage.people.create(WIDGETS, widget(configMapRef={"name": "config"}), namespace=SHOP)
    await stage.later(6)
    assert stage.found() == {"config", "other"}
    assert "widgets.shop.example can't be read" in said(play, "config")
    await stage.later(2 * MINUTE)
    assert stage.found() == {"config"}
    assert "Widget shop/gadget uses it" in said(play, "config")


@story(also=KINDS, features=ON)
async def test_what_became_free_while_a_kind_was_on_its_way_is_marked_when_that_is_known(
    stage: Stage,
) -> None:
    await stage.play()
    await stage.make("early", labels=after("unused-5m"))
    await stage.later(MINUTE)
    stage.cluster.faults.delay(10.0, when=the_kinds, times=1)
    await stage.people.create(CUSTOM_RESOURCE_DEFINITIONS, definition(WIDGETS))
    await stage.later(1)
    await stage.make("config", labels=after("unused-5m"))
    await stage.later(2)
    assert mark_of(stage, "config") is None
    await stage.later(MINUTE)
    assert mark_of(stage, "config") is not None


@story(also=KINDS, features=ON, usage={"ignoreKinds": ["widgets.shop.example"]})
async def test_a_kind_that_the_settings_waive_does_not_hold_while_it_is_on_its_way(stage: Stage) -> None:
    play = await stage.play()
    await stage.make("early", labels=after("unused-5m"))
    await stage.later(MINUTE)
    stage.cluster.faults.delay(10.0, when=the_kinds, times=1)
    await stage.people.create(CUSTOM_RESOURCE_DEFINITIONS, definition(WIDGETS))
    await stage.later(1)
    await stage.make("config", labels=after("unused-5m"))
    await stage.later(2)
    assert play.engine.knowledge.coming
    assert mark_of(stage, "config") is not None


@story(also=KINDS, features=ON)
async def test_while_definitions_can_not_be_read_their_objects_may_name_anything(stage: Stage) -> None:
    await stage.people.create(CUSTOM_RESOURCE_DEFINITIONS, told_by_its_schema())
    await stage.later(1)
    play = await stage.play()
    stage.cluster.faults.answer(
        500, when=asking(verb="list", path="/apis/apiextensions.k8s.io"), times=None, seconds=10 * MINUTE
    )
    await stage.make("settings-prod", labels=after("unused-2m"))
    await stage.make("left", labels=after("unused-2m"))
    await stage.people.create(WIDGETS, widget(settings="settings-$(STAGE)"), namespace=SHOP)
    await stage.later(8 * MINUTE)
    assert stage.found() == {"settings-prod", "left"}
    assert "widgets.shop.example can't be read" in said(play, "left")
    assert "their definition says which fields name something" in said(play, "left")
    await stage.later(8 * MINUTE)
    assert stage.found() == {"settings-prod"}
    assert "Widget shop/gadget uses it (spec.settings)" in said(play, "settings-prod")


@pytest.mark.parametrize("waived", [False, True])
def test_one_that_nobody_understands_holds_until_it_is_mended_or_waived(waived: bool) -> None:  # noqa: FBT001 - a parameter of the test
    ignored = ["widgets.shop.example"] if waived else []

    @story(also=KINDS, features=ON, usage={"ignoreKinds": ignored})
    async def told(stage: Stage) -> None:
        await stage.people.create(CUSTOM_RESOURCE_DEFINITIONS, definition(WIDGETS))
        await stage.later(1)
        await stage.people.create(WIDGETS, widget(values="secret: |\n" + "x" * 300_000), namespace=SHOP)
        play = await stage.play()
        await stage.make("config", labels=after("unused-5m"))
        await stage.later(7 * MINUTE)
        assert stage.there("config") is not waived
        if not waived:
            assert "Widget shop/gadget: a text in it is longer than 256 KiB" in said(play, "config")
            await stage.remove("gadget", resource=WIDGETS)
            await stage.later(6 * MINUTE)
            assert not stage.there("config")

    told()
