"""What `explain` says of policies is what the controller then does with the object."""

from __future__ import annotations

import json
import secrets
from typing import Any

from harness.controlplane import ControlPlane
from skoupa.kinds.policies.cleanup import CLEANUP_POLICIES, CLUSTER_CLEANUP_POLICIES
from skoupa.kinds.policies.deleting import DELETING_POLICIES, NAMESPACED_DELETING_POLICIES
from skoupa.kinds.policies.exception import POLICY_EXCEPTIONS
from tests.cluster.commands import Said, skoupa
from tests.cluster.controller.shop import MINUTELY, Shop
from tests.cluster.granting import grant

STATE_IS_NEW = {"all": [{"key": "{{ target.data.state }}", "operator": "Equals", "value": "new"}]}
META, CEL = "explained-meta", "explained-cel"


class Explained:
    """Begins before a process runs, so that nobody has to hurry."""

    def __init__(self, shop: Shop, plane: ControlPlane) -> None:
        self._shop = shop
        self._plane = plane
        self._before: set[str] = set()
        self._going: set[str] = set()

    async def _set_up(self, named: str) -> None:
        shop, people = self._shop, self._shop.people
        for name in ("meta-1", "own-1", "own-old", "cel-1", "exempt-1", "stays-1"):
            await people.make(name, body={"data": {"state": "old" if name == "own-old" else "new"}})
        await people.make("own-unclear")
        await people.make("meta-kept", labels={"skoupa.dev/keep": "true"})
        await people.make("meta-later", "7d")
        where = {"namespaces": [shop.namespace]}
        await shop.write(CLUSTER_CLEANUP_POLICIES, META, {**shop.cleaning("meta-*", where=where), **MINUTELY})
        own = shop.cleaning("own-*", conditions=STATE_IS_NEW)
        await shop.write(CLEANUP_POLICIES, "own", {**own, **MINUTELY})
        await shop.write(DELETING_POLICIES, CEL, {**shop.deleting(named), **MINUTELY})
        exempt = {"name": "named", "expression": "object.metadata.name.startsWith('exempt')"}
        references = [{"kind": "DeletingPolicy", "name": CEL}]
        await shop.write(POLICY_EXCEPTIONS, "spare", {"policyRefs": references, "matchConditions": [exempt]})

    async def what_will_be_done_is_explained(self) -> None:
        shop = self._shop
        named = "object.metadata.name.startsWith('cel-') || object.metadata.name.startsWith('exempt')"
        await self._set_up(named)
        self._before = await shop.names()
        targets = [f"configmap/{name}" for name in sorted(self._before)]
        said = await skoupa(
            "explain", *targets, "-n", shop.namespace, "-o", "json", kubeconfig=self._plane.kubeconfig
        )
        assert said.code == 0, said.err
        told: dict[str, dict[str, Any]] = {item["name"]: item for item in json.loads(said.out)["items"]}
        self._going = {
            name for name, item in told.items() if item["goesAt"] is not None and not item["holds"]
        }
        assert self._going == {"meta-1", "own-1", "cel-1"}
        assert await shop.names() == self._before, "an explanation deletes nothing"
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
        assert answers[CEL] == ("leaves", f"the condition old is false: {named}")
        assert answers[META] == ("leaves", "match.any[0]: it has another name")

    async def what_was_explained_is_done(self) -> None:
        shop = self._shop
        await shop.left(*(self._before - self._going))
        await shop.ran(CLUSTER_CLEANUP_POLICIES, META, matched=3, deleted=1, held=2)
        assert await shop.names() == self._before - self._going


async def who_may_only_list_in_a_namespace_is_told_that_policies_are_not_read(
    shop: Shop, plane: ControlPlane
) -> None:
    people = shop.people
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
