"""What `explain` says of policies on a real server is what the controller then does with the object."""

from __future__ import annotations

import json
import secrets
from typing import Any

import pytest

from harness.controlplane import ControlPlane
from skoupa.kinds.policies.cleanup import CLEANUP_POLICIES, CLUSTER_CLEANUP_POLICIES
from skoupa.kinds.policies.deleting import DELETING_POLICIES, NAMESPACED_DELETING_POLICIES
from skoupa.kinds.policies.exception import POLICY_EXCEPTIONS
from tests.cluster.commands import Said, skoupa
from tests.cluster.controller.objects import People
from tests.cluster.controller.running import Yard
from tests.cluster.controller.shop import Shop
from tests.cluster.granting import grant

pytestmark = pytest.mark.cluster

MINUTELY = {"schedule": "* * * * *"}
STATE_IS_NEW = {"all": [{"key": "{{ target.data.state }}", "operator": "Equals", "value": "new"}]}


async def test_what_is_explained_is_what_the_controller_then_does(
    policies: None, people: People, plane: ControlPlane, yard: Yard
) -> None:
    shop = Shop(people)
    for name in ("meta-1", "own-1", "own-old", "cel-1", "exempt-1", "stays-1"):
        await people.make(name, body={"data": {"state": "old" if name == "own-old" else "new"}})
    await people.make("own-unclear")
    await people.make("meta-kept", labels={"skoupa.dev/keep": "true"})
    await people.make("meta-later", "7d")
    where = {"namespaces": [shop.namespace]}
    await shop.write(CLUSTER_CLEANUP_POLICIES, "meta", {**shop.cleaning("meta-*", where=where), **MINUTELY})
    own = shop.cleaning("own-*", conditions=STATE_IS_NEW)
    await shop.write(CLEANUP_POLICIES, "own", {**own, **MINUTELY})
    named = "object.metadata.name.startsWith('cel-') || object.metadata.name.startsWith('exempt')"
    await shop.write(DELETING_POLICIES, "cel", {**shop.deleting(named), **MINUTELY})
    exempt = {"name": "named", "expression": "object.metadata.name.startsWith('exempt')"}
    references = [{"kind": "DeletingPolicy", "name": "cel"}]
    await shop.write(POLICY_EXCEPTIONS, "spare", {"policyRefs": references, "matchConditions": [exempt]})
    before = await shop.names()

    targets = [f"configmap/{name}" for name in sorted(before)]
    said = await skoupa("explain", *targets, "-n", shop.namespace, "-o", "json", kubeconfig=plane.kubeconfig)
    assert said.code == 0, said.err
    told: dict[str, dict[str, Any]] = {item["name"]: item for item in json.loads(said.out)["items"]}
    going = {name for name, item in told.items() if item["goesAt"] is not None and not item["holds"]}
    assert going == {"meta-1", "own-1", "cel-1"}
    assert await shop.names() == before, "an explanation deletes nothing"
    held = {name: item["holds"][0]["reason"]["code"] for name, item in told.items() if item["holds"]}
    assert held == {
        "exempt-1": "exempted",
        "meta-kept": "kept",
        "meta-later": "ttl-ahead",
        "own-unclear": "policy-unclear",
    }
    answers = {one["name"]: (one["answer"], one["why"]) for one in told["own-old"]["policies"]}
    compared = '"{{ target.data.state }}" Equals "new" (key is "old")'
    assert answers["own"] == ("leaves", f"conditions.all[0] does not hold: {compared}")
    assert answers["cel"] == ("leaves", f"the condition old is false: {named}")
    assert answers["meta"] == ("leaves", "match.any[0]: it has another name")

    await yard.started()
    await shop.left(*(before - going))
    await shop.ran(CLUSTER_CLEANUP_POLICIES, "meta", matched=3, deleted=1, held=2)
    assert await shop.names() == before - going


async def test_who_may_only_list_in_a_namespace_is_told_that_policies_are_not_read(
    policies: None, people: People, plane: ControlPlane
) -> None:
    shop = Shop(people)
    await people.make("web", "7d")
    spec = shop.deleting("object.metadata.name == 'web'")
    # Who may not read the Namespace can't tell its labels.
    del spec["matchConstraints"]["namespaceSelector"]
    await shop.write(NAMESPACED_DELETING_POLICIES, "own", spec)
    user = f"alice-{secrets.token_hex(4)}"
    config = plane.kubeconfig_for(user=user)

    async def may_list(group: str, kinds: str) -> Said:
        verbs = ["list", "delete"]
        await grant(
            people.client, user, namespace=shop.namespace, verbs=verbs, resources=[kinds], group=group
        )
        said = await skoupa("explain", "configmap/web", "-n", shop.namespace, kubeconfig=config)
        assert said.code == 0, said.err
        return said

    said = await may_list("", "configmaps")
    assert "Goes " in said.out
    assert len([line for line in said.lines if "policies that are not read" in line]) == 1
    kinds = NAMESPACED_DELETING_POLICIES
    said = await may_list(kinds.group, kinds.plural)
    assert f"policy: NamespacedDeletingPolicy/{shop.namespace}/own matches it\n" in said.out
