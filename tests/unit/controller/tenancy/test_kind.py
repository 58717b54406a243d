"""How the kind Tenant is served: somebody else may have brought it in another form than ours."""

from __future__ import annotations

import msgspec
import pytest

from skoupa import names
from skoupa.kinds.tenant import TENANTS
from skoupa.kube.objects import WHOLE
from skoupa.kube.resources import CUSTOM_RESOURCE_DEFINITIONS
from tests.unit.controller.stage import ALL_VERBS, MINUTE, PRIORITIES, Stage, definition, story
from tests.unit.controller.tenancy.town import KINDS, ON, bring_tenants, tenant

pytestmark = pytest.mark.unit


@story(also=KINDS, features=ON)
async def test_a_tenant_in_a_namespace_takes_nothing_along(stage: Stage) -> None:
    """Else whoever may write in one namespace could let go what is anybody's."""
    kind = msgspec.structs.replace(TENANTS, namespaced=True, verbs=ALL_VERBS)
    await stage.people.create(CUSTOM_RESOURCE_DEFINITIONS, definition(kind))
    await stage.settle()
    await stage.people.create(PRIORITIES, {"metadata": {"name": "111111-high"}, "value": 1})
    metadata = {"name": "111111", "finalizers": [names.TENANT_FINALIZER]}
    body = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata}
    made = await stage.people.create(kind, body, namespace="shop")
    play = await stage.play()
    await stage.later(10)
    uid = made["metadata"]["uid"]
    await stage.people.delete(kind, "111111", namespace="shop", uid=uid, propagation="Background")
    await stage.later(10 * MINUTE)
    assert "111111-high" in stage.found(PRIORITIES)
    told = [one for one in play.engine.outlook.degraded if "the kind Tenant" in one]
    assert len(told) == 1
    assert "it has to be of the cluster" in told[0]


@story(also=KINDS)
async def test_a_manifest_of_kubezoo_is_taken_as_it_is(stage: Stage) -> None:
    """Else kubectl refuses it for a field that there is not."""
    await bring_tenants(stage)
    spec = {"id": 111111, "quota": {"hard": {"cpu": "2", "memory": "2G", "pods": 10}}}
    await tenant(stage, "111111", **spec)
    found = await stage.people.get(TENANTS, "111111", view=WHOLE)
    assert found["spec"] == spec
