"""A definition that goes and comes again on a real server: what is kept of its kind holds from the beginning."""

from __future__ import annotations

import pytest

from skoupa import names
from skoupa.errors import SkoupaError
from skoupa.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, Resource
from tests.cluster.controller.objects import People
from tests.cluster.controller.running import Skoupa
from tests.cluster.controller.test_going import definition
from tests.cluster.reaching import eventually

pytestmark = pytest.mark.cluster


async def test_a_kept_object_of_a_kind_that_came_again_holds_its_owner(
    sweeping: Skoupa, people: People
) -> None:
    group = f"{people.namespace}.example"
    widgets = Resource(group=group, version="v1", plural="widgets", kind="Widget", namespaced=True)
    made = await people.client.create(CUSTOM_RESOURCE_DEFINITIONS, definition(widgets))

    async def goes() -> bool:
        try:
            await people.make("gear", "1s", resource=widgets)
        except SkoupaError:
            return False
        return True

    await eventually(goes, what="the new kind to be served")
    await people.gone("gear", resource=widgets)
    owner = await people.make("config")
    await people.remove(made, resource=CUSTOM_RESOURCE_DEFINITIONS)
    await people.gone(widgets.qualified, resource=CUSTOM_RESOURCE_DEFINITIONS)
    reference = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": "config",
        "uid": owner["metadata"]["uid"],
    }
    await people.client.create(CUSTOM_RESOURCE_DEFINITIONS, definition(widgets))

    async def kept() -> bool:
        try:
            await people.make(
                "deed",
                resource=widgets,
                labels={names.KEEP_LABEL: "true"},
                ownerReferences=[reference],
            )
        except SkoupaError:
            return False
        return True

    await eventually(kept, what="the kind to be served again")
    await people.label("config", ttl="1s")
    held = await sweeping.says("held", name="config", namespace=people.namespace)
    assert f"Widget {people.namespace}/deed" in held["why"]
    assert await people.there("config")
    assert await people.there("deed", resource=widgets)
