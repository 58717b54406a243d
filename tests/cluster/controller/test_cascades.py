"""What would take along something that stays is held on a real server, and made-up owners hold nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from skoupa import names
from skoupa.errors import SkoupaError
from skoupa.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES, Resource
from tests.cluster.controller.objects import CLUSTER_ROLES, People
from tests.cluster.controller.running import Skoupa
from tests.cluster.controller.test_taken_along import drop
from tests.cluster.reaching import eventually
from tests.unit.controller.stage import definition, owned_by

pytestmark = pytest.mark.cluster


def nobody(number: int) -> Mapping[str, Any]:
    uid = f"00000000-0000-4000-8000-{number:012d}"
    return {"apiVersion": "nowhere.example/v1", "kind": "Nothing", "name": f"n{number}", "uid": uid}


async def test_a_definition_and_an_owner_of_no_namespace_stay_for_what_lives_in_a_kept_namespace(
    sweeping: Skoupa, people: People
) -> None:
    group = f"{people.namespace}.example"
    widgets = Resource(group=group, version="v1", plural="widgets", kind="Widget", namespaced=True)
    role = f"role-{people.namespace}"
    await people.label(people.namespace, resource=NAMESPACES, keep="true")
    made = await people.client.create(CUSTOM_RESOURCE_DEFINITIONS, definition(widgets))

    async def served() -> bool:
        try:
            await people.make("gear", resource=widgets)
        except SkoupaError:
            return False
        return True

    await eventually(served, what="the new kind to be served")
    owner = await people.make(role, resource=CLUSTER_ROLES, body={"rules": []})
    await people.make("deed", ownerReferences=[owned_by(owner)])
    await people.label(role, resource=CLUSTER_ROLES, ttl="1s")
    held = await sweeping.says("held", name=role)
    assert f"ConfigMap {people.namespace}/deed" in held["why"]
    await people.label(widgets.qualified, resource=CUSTOM_RESOURCE_DEFINITIONS, ttl="1s")
    held = await sweeping.says("held", name=widgets.qualified)
    assert f"Widget {people.namespace}/gear" in held["why"]
    assert await people.there("deed")
    assert await people.there("gear", resource=widgets)
    await people.label(people.namespace, resource=NAMESPACES, keep=None)
    await people.gone(role, resource=CLUSTER_ROLES, seconds=60)
    await people.gone("deed")
    assert await people.there("gear", resource=widgets), "a definition never takes along what it defines"
    await drop(people.client, widgets, "gear", namespace=people.namespace)
    await people.gone(made["metadata"]["name"], resource=CUSTOM_RESOURCE_DEFINITIONS, seconds=60)


async def test_owners_of_a_kind_that_is_not_served_hold_nothing(sweeping: Skoupa, people: People) -> None:
    other, role = f"{people.namespace}-other", f"role-{people.namespace}"
    await people.make(
        "k", labels={names.KEEP_LABEL: "true"}, ownerReferences=[nobody(number) for number in range(100)]
    )
    await people.make(other, "1s", resource=NAMESPACES)
    await people.make(role, "1s", resource=CLUSTER_ROLES, body={"rules": []})
    await people.gone(role, resource=CLUSTER_ROLES)
    await people.gone(other, resource=NAMESPACES)
    assert await people.there("k")
    await people.label("k", keep=None)
