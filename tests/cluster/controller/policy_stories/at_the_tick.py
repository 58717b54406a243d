"""What policies do at a tick, and what is told of them before it and afterwards: one story each, in a namespace of its own."""

from __future__ import annotations

from skoupa import names
from skoupa.kinds.policies.cleanup import CLEANUP_POLICIES, CLUSTER_CLEANUP_POLICIES
from skoupa.kinds.policies.deleting import DELETING_POLICIES, NAMESPACED_DELETING_POLICIES
from skoupa.kinds.policies.exception import POLICY_EXCEPTIONS
from skoupa.kinds.policies.global_context import GLOBAL_CONTEXT_ENTRIES
from skoupa.kube.lists import Scope, everything
from skoupa.kube.objects import WHOLE
from skoupa.kube.resources import CONFIG_MAPS, EVENTS, Resource
from tests.cluster.controller.objects import RBAC, SECRETS
from tests.cluster.controller.running import Skoupa
from tests.cluster.controller.shop import Shop
from tests.cluster.reaching import eventually

ROLES = Resource(group=RBAC, version="v1", plural="roles", kind="Role", namespaced=True)
ROLE_BINDINGS = Resource(group=RBAC, version="v1", plural="rolebindings", kind="RoleBinding", namespaced=True)


async def all_kinds_of_policies_run_at_the_tick(shop: Shop, process: Skoupa) -> None:
    people = shop.people
    for name in ("meta-1", "meta-2", "own-1", "cel-1", "cel-2", "cel-own", "stays-1", "exempt-1"):
        data = {"state": "old" if name.startswith(("cel", "exempt")) else "new"}
        await people.make(name, body={"data": data})
    await people.make("fenced-1", finalizers=["example.com/slow"])
    shop.choose_tick()
    here = {"where": {"namespaces": [shop.namespace]}}
    await shop.write(CLUSTER_CLEANUP_POLICIES, "meta", shop.cleaning("meta-*", "fenced-*", **here))
    conditions = {"all": [{"key": "{{ target.data.state }}", "operator": "Equals", "value": "new"}]}
    await shop.write(CLEANUP_POLICIES, "own", shop.cleaning("own-*", conditions=conditions))
    # Before the policy that it is an exception to: that one may be as good as at its tick.
    exempt = {"name": "named", "expression": "object.metadata.name.startsWith('exempt')"}
    references = [{"kind": "DeletingPolicy", "name": "cel"}]
    await shop.write(POLICY_EXCEPTIONS, "spare", {"policyRefs": references, "matchConditions": [exempt]})
    old = "object.?data.state.orValue('') == 'old' && !object.metadata.name.endsWith('own')"
    await shop.write(DELETING_POLICIES, "cel", shop.deleting(old))
    await shop.write(
        NAMESPACED_DELETING_POLICIES, "cel-own", shop.deleting("object.metadata.name == 'cel-own'")
    )
    await shop.ticked()
    await shop.left("stays-1", "exempt-1", "fenced-1")
    status = await shop.ran(CLUSTER_CLEANUP_POLICIES, "meta", matched=3, deleted=3)
    assert {one["type"]: one["status"] for one in status["conditions"]} == {
        "Ready": "True",
        "LastRunSucceeded": "True",
    }
    assert status["observedGeneration"] == 1
    assert status["lastExecutionTime"] < status["nextExecutionTime"]
    await shop.ran(CLEANUP_POLICIES, "own", matched=1, deleted=1)
    status = await shop.ran(DELETING_POLICIES, "cel", matched=3, deleted=2, held=1)
    assert status["conditionStatus"]["ready"] is True
    await shop.ran(NAMESPACED_DELETING_POLICIES, "cel-own", matched=1, deleted=1)
    patch = {"metadata": {"finalizers": None}}
    await people.client.merge_patch(CONFIG_MAPS, "fenced-1", patch, namespace=people.namespace)
    await shop.left("stays-1", "exempt-1")
    line = await process.says("deleted", name="cel-1", namespace=shop.namespace)
    assert line["why"].startswith("DeletingPolicy/cel matched it")


async def a_policy_deletes_what_the_account_that_it_acts_as_may_delete(shop: Shop) -> None:
    people = shop.people
    for resource in (CONFIG_MAPS, SECRETS):
        await people.make("web-1", resource=resource)
    account = {"kind": "ServiceAccount", "name": "tidier", "namespace": shop.namespace}
    rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["delete"]}]
    reference = {"apiGroup": RBAC, "kind": "Role", "name": "tidier"}
    await people.client.create(
        ROLES, {"metadata": {"name": "tidier"}, "rules": rules}, namespace=shop.namespace
    )
    binding = {"metadata": {"name": "tidier"}, "subjects": [account], "roleRef": reference}
    await people.client.create(ROLE_BINDINGS, binding, namespace=shop.namespace)
    shop.choose_tick()
    spec = shop.cleaning("web-*", where={"kinds": ["ConfigMap", "Secret"]})
    await shop.write(CLEANUP_POLICIES, "acting", spec, **{names.SERVICE_ACCOUNT_ANNOTATION: "tidier"})
    await shop.ticked()
    await shop.left()
    await shop.ran(CLEANUP_POLICIES, "acting", matched=2, deleted=1, held=1)
    assert await people.there("web-1", resource=SECRETS)


async def what_is_wrong_and_what_will_go_is_told_before_the_run(shop: Shop) -> None:
    people = shop.people
    await people.make("web-1")
    await people.make("other-1")
    shop.choose_tick()
    broken = shop.deleting("object.metadata.name.startWith('web')")
    await shop.write(DELETING_POLICIES, "broken", broken)
    entry = {"kubernetesResource": {"version": "v1", "resource": "configmaps", "namespace": shop.namespace}}
    await shop.write(GLOBAL_CONTEXT_ENTRIES, "maps", entry)
    some = "size(globalContext.Get('maps', '')) > 0 && object.metadata.name == 'web-1'"
    spec = shop.deleting(some)
    await shop.write(DELETING_POLICIES, "noticed", spec, **{names.NOTICE_BEFORE_ANNOTATION: "1h"})

    async def told() -> bool:
        status = await shop.status(DELETING_POLICIES, "broken")
        return "startWith" in str((status.get("conditionStatus") or {}).get("message"))

    await eventually(told, what="what is wrong to be told")
    assert "lastExecutionTime" not in await shop.status(DELETING_POLICIES, "broken")

    async def noticed() -> list[str]:
        found = await everything(people.client, EVENTS, WHOLE, scope=Scope(namespace=shop.namespace))
        return [event["note"] for event in found.items if event["reason"] == "SkoupaNotice"]

    (note,) = await eventually(noticed, what="the notice")
    assert f"skoupa keep configmaps/web-1 -n {shop.namespace}" in note
    await shop.ticked()
    await shop.left("other-1")
    status = await shop.status(GLOBAL_CONTEXT_ENTRIES, "maps")
    assert status["ready"] is True
    assert status["conditions"][0]["status"] == "True"
    assert "lastRefreshTime" in status


async def a_costly_policy_holds_up_no_other_and_ends(shop: Shop) -> None:
    """Each of its objects takes the whole second that it may, and the process along."""
    people = shop.people
    costly = [f"costly-{number}" for number in range(12)]
    for name in ("cheap-1", *costly):
        await people.make(name)
    shop.choose_tick()
    hog = "object.metadata.name.startsWith('costly') && lists.range(1000000).distinct().distinct().distinct() == []"
    await shop.write(DELETING_POLICIES, "costly", shop.deleting(hog))
    await shop.write(
        NAMESPACED_DELETING_POLICIES, "cheap", shop.deleting("object.metadata.name == 'cheap-1'")
    )
    await shop.ticked()
    await shop.left(*costly)
    assert "lastRun" not in await shop.status(DELETING_POLICIES, "costly")
    await shop.ran(NAMESPACED_DELETING_POLICIES, "cheap", matched=1, deleted=1)
    status = await shop.ran(DELETING_POLICIES, "costly", matched=len(costly), failed=len(costly))
    conditions = status["conditionStatus"]["conditions"]
    succeeded = next(one for one in conditions if one["type"] == "LastRunSucceeded")
    assert succeeded["status"] == "False"
    assert "took more than 1 s of CPU time" in succeeded["message"]
