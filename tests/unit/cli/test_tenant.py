"""`skoupa tenant`: what would go and why, deleting with a question, how far it is, and what earlier tenants left."""

from __future__ import annotations

import asyncio
import json
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from skoupa.cli.tenants import delete, forcing, leaks, plan, status
from skoupa.cli.worlds import World
from skoupa.kinds.definition import document
from skoupa.kinds.tenant import TENANT, TENANTS
from skoupa.kube.client import Client
from skoupa.kube.resources import CUSTOM_RESOURCE_DEFINITIONS
from skoupa.kube.transport import Request, Response, Stream, Transport
from skoupa.sim.cluster import EmbeddedCluster
from skoupa.sim.state.access import Rule
from skoupa.tenants.tenant import Tenant, read_tenant
from tests.unit.cli.saying import Shell
from tests.unit.cli.worlds import ASKING, Town, config_map, granting, installed, looking, obj

pytestmark = pytest.mark.unit

RBAC = "rbac.authorization.k8s.io/v1"
SCHEDULING = "scheduling.k8s.io/v1"
MINE = (
    obj("Namespace", "111111-default"),
    config_map("app", namespace="111111-default"),
    config_map("kept", namespace="111111-default", labels={"skoupa.dev/keep": "true"}),
    obj("PriorityClass", "111111-high", api="scheduling.k8s.io/v1", value=1),
    obj("ClusterRole", "111111-admin", api=RBAC, rules=[]),
    obj("ClusterRole", "111111-lent", api=RBAC, rules=[], labels={"skoupa.dev/shared": "true"}),
)
OTHERS = (
    obj("Namespace", "222222-default"),
    obj("PriorityClass", "1111112-high", api="scheduling.k8s.io/v1", value=1),
)


@pytest.fixture
def town(skoupa: Shell, monkeypatch: pytest.MonkeyPatch) -> Town:
    town = Town(skoupa, monkeypatch)
    for module in (plan, delete, status, leaks):
        monkeypatch.setattr(module, "in_cluster", town._in_cluster)

    async def bring() -> None:
        async with town.cluster:
            await Client(town.cluster, town.clock).create(CUSTOM_RESOURCE_DEFINITIONS, document(TENANT))
            for _ in range(200):
                await asyncio.sleep(0)

    asyncio.run(bring())
    return town.holding(*MINE, *OTHERS)


def tenant(name: str = "111111", **metadata: Any) -> dict[str, Any]:
    found = obj("Tenant", name, api="tenant.kubezoo.io/v1alpha1", uid=f"uid-{name}", spec={})
    found["metadata"] |= {"finalizers": ["kubezoo.io/tenant", "skoupa.dev/tenant"], **metadata}
    return found


def test_a_plan_has_all_that_goes_in_its_order_and_says_what_stays(town: Town) -> None:
    said = town.holding(tenant())("tenant", "plan", "111111")
    assert said.code == 0, said.err
    lines = said.out.splitlines()
    assert [line.split()[:3] for line in lines[1:4]] == [
        ["2", "Namespace", "111111-default"],
        ["3", "PriorityClass", "111111-high"],
        ["4", "ClusterRole", "111111-admin"],
    ]
    assert "its name begins with 111111-" in lines[1]
    assert "3 objects in no namespace go, and 2 with them" in said.out
    kinds = "namespaces 1, priorityclasses.scheduling.k8s.io 1, clusterroles.rbac.authorization.k8s.io 1"
    assert f"Of each kind: {kinds}." in said.out
    assert "1 of all these have a keep label" in said.out
    assert "ClusterRole 111111-lent: it has the label skoupa.dev/shared" in said.out
    assert "222222" not in said.out
    assert "1111112" not in said.out


def test_a_plan_without_the_tenant_says_so_and_names_bindings_elsewhere(town: Town) -> None:
    binding = obj(
        "RoleBinding",
        "lent",
        namespace="222222-default",
        api=RBAC,
        roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "x"},
        subjects=[{"kind": "ServiceAccount", "namespace": "111111-default", "name": "app"}],
    )
    found = town.holding(binding).document("tenant", "plan", "111111")
    assert found["exists"] is False
    assert [one["name"] for one in found["objects"]] == ["111111-default", "111111-high", "111111-admin"]
    assert found["grantsElsewhere"] == ["RoleBinding 222222-default/lent names 111111-default/app"]
    assert found["withKeepLabel"] == 1


@pytest.mark.parametrize(
    ("kind", "subject", "named"),
    [
        ("ServiceAccount", "app", True),
        ("Group", "system:serviceaccounts:111111-default", True),
        ("User", "system:serviceaccount:111111-default:app", True),
        # As KubeZoo calls the users of a tenant.
        ("User", "111111-admin", True),
        ("Group", "111111-people", True),
        ("User", "1111112-admin", False),
        ("User", "111111", False),
        ("Group", "system:serviceaccounts:222222-default", False),
        ("Group", "system:serviceaccounts", False),
        ("User", "system:serviceaccount:", False),
    ],
)
def test_a_plan_names_grants_elsewhere_to_whatever_is_the_tenants(
    town: Town, kind: str, subject: str, *, named: bool
) -> None:
    place = {"namespace": "111111-default"} if kind == "ServiceAccount" else {}
    binding = obj(
        "ClusterRoleBinding",
        "viewers",
        api=RBAC,
        roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
        subjects=[{"kind": kind, "name": subject, **place}],
    )
    told = town.holding(binding).document("tenant", "plan", "111111")["grantsElsewhere"]
    assert [one.startswith("ClusterRoleBinding viewers names ") for one in told] == [True] * named


def test_an_id_that_means_too_much_is_refused(town: Town) -> None:
    said = town("tenant", "plan", "system")
    assert said.code == 5
    assert "belong to the cluster itself" in said.out
    assert town.document("tenant", "plan", "system", code=5)["objects"] == []


def test_settings_of_the_installation_count(town: Town) -> None:
    town.holding(installed("tenants: {separator: .}\n"))
    assert "Nothing belongs to the Tenant 111111." in town("tenant", "plan", "111111").out


def test_deleting_asks_first_and_confirms(town: Town) -> None:
    town.holding(tenant())
    said = town("tenant", "delete", "111111")
    assert said.code == 5
    assert "needs --yes" in said.err
    said = town("tenant", "delete", "111111", "--yes")
    assert said.code == 0, said.err
    (found,) = town.cluster.objects(TENANTS)
    assert found["metadata"]["deletionTimestamp"]
    assert found["metadata"]["annotations"] == {"skoupa.dev/confirm-deletion": "uid-111111"}


def test_who_may_not_delete_leaves_no_confirmation_behind(town: Town) -> None:
    """With it the next careless deletion would be confirmed already."""
    town.holding(tenant())
    granting(Rule(verbs=("get", "list", "watch", "patch"), resources=("*",)))(town.cluster)
    town.user = "bob"
    said = town("tenant", "delete", "111111", "--yes")
    assert said.code == 6, said.err
    (found,) = town.cluster.objects(TENANTS)
    assert "deletionTimestamp" not in found["metadata"]
    assert not found["metadata"].get("annotations")


class Refusing:
    """Answers every DELETE in the place of the server, and so often a GET."""

    def __init__(self, inner: Transport, code: int, *, gets: int = 0) -> None:
        self._inner = inner
        self._code = code
        self._gets = gets

    async def send(self, request: Request) -> Response:
        if request.method == "GET" and self._gets:
            self._gets -= 1
        elif request.method != "DELETE":
            return await self._inner.send(request)
        said = {"kind": "Status", "code": self._code, "message": "not today", "reason": "Because"}
        return Response(status=self._code, body=json.dumps(said).encode())

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        return self._inner.stream(request)

    async def close(self) -> None:
        await self._inner.close()


@pytest.mark.parametrize("code", [400, 422, 429, 500])
def test_a_deletion_that_failed_leaves_no_confirmation_behind(town: Town, code: int) -> None:
    """A webhook that refuses, or a server that fails: the next careless deletion would be confirmed already."""
    town.holding(tenant())
    town.wrap = lambda inner: Refusing(inner, code)
    said = town("tenant", "delete", "111111", "--yes")
    assert said.code in {1, 3}, said.err
    assert "not today" in said.err
    (found,) = town.cluster.objects(TENANTS)
    assert "deletionTimestamp" not in found["metadata"]
    assert not found["metadata"].get("annotations")


def test_who_confirmed_before_stays_confirmed(town: Town) -> None:
    confirmed = {"skoupa.dev/confirm-deletion": "uid-111111"}
    town.holding(tenant(annotations=confirmed))
    town.wrap = lambda inner: Refusing(inner, 400)
    assert town("tenant", "delete", "111111", "--yes").code == 1
    (found,) = town.cluster.objects(TENANTS)
    assert found["metadata"]["annotations"] == confirmed


@pytest.mark.parametrize("code", [429, 500, 503])
def test_who_waits_goes_on_when_the_server_is_away_for_a_while(code: int) -> None:
    async def work(world: World, cluster: EmbeddedCluster) -> float:
        client = world.client
        away = Client(Refusing(cluster, code, gets=10), client.clock)
        async with cluster:
            await client.create(CUSTOM_RESOURCE_DEFINITIONS, document(TENANT))
            await client.clock.idle()
            made = await client.create(TENANTS, tenant())

            async def goes() -> None:
                await client.clock.sleep(40)
                await client.merge_patch(TENANTS, "111111", {"metadata": {"finalizers": None}})
                uid = made["metadata"]["uid"]
                await client.delete(TENANTS, "111111", uid=uid, propagation="Background")

            began = client.clock.monotonic()
            async with asyncio.TaskGroup() as group:
                group.create_task(goes())
                await delete._wait(World(client=away, namespace=""), read_tenant(made), 600)
            return client.clock.monotonic() - began

    assert 40 <= looking(work) < 45


def test_nothing_is_deleted_where_nobody_would_look_after_it(town: Town) -> None:
    town.holding(tenant(finalizers=[]))
    said = town("tenant", "delete", "111111", "--yes")
    assert said.code == 5
    assert "no controller looks after it" in said.err
    (found,) = town.cluster.objects(TENANTS)
    assert "deletionTimestamp" not in found["metadata"]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (
            "mode: observe\nfeatures: {tenants: true}\n",
            "the settings say mode: observe: unless a controller runs with --enforce nothing of this goes",
        ),
        ("mode: enforce\n", "the settings have features.tenants off: nothing of this goes"),
        ("mode: enforce\nfeatures: {tenants: true}\n", ""),
    ],
)
def test_where_nothing_would_follow_that_is_said_before_it_is_asked(
    town: Town, settings: str, said: str
) -> None:
    told = town.holding(tenant(), installed(settings))("tenant", "delete", "111111", "--dry-run").err
    assert said in told
    assert ("nothing of this goes" in told) == bool(said)


def test_who_waits_hears_that_all_stayed_where_the_finalizers_were_taken_off(
    town: Town, monkeypatch: pytest.MonkeyPatch
) -> None:
    town.holding(tenant())

    async def taken_back(world: World, found: Tenant, longest: int) -> None:
        assert longest == 600
        await world.client.merge_patch(TENANTS, found.name, {"metadata": {"finalizers": None}})

    monkeypatch.setattr(delete, "_wait", taken_back)
    said = town("tenant", "delete", "111111", "--yes", "--wait")
    assert said.code == 4
    assert "nothing of the Tenant 111111 is left" not in said.out
    assert "the Tenant 111111 is gone, and 3 objects of it are still there" in said.err


def test_a_refused_one_is_not_deleted(town: Town) -> None:
    town.holding(tenant("system"))
    assert town("tenant", "delete", "system", "--yes").code == 5
    (found,) = town.cluster.objects(TENANTS)
    assert "deletionTimestamp" not in found["metadata"]


def test_the_status_is_told_in_the_words_of_the_controller(town: Town) -> None:
    found = tenant()
    found["status"] = {
        "phase": "Deleting",
        "remaining": [{"kind": "namespaces", "count": 2}],
        "blockers": ["Namespace 111111-default waits for kubernetes since 3 min"],
        "volumes": [{"name": "pv", "handle": "disks vol-1", "claim": "111111-default/data"}],
        "conditions": [{"type": "Ready", "status": "False", "reason": "Blocked", "message": "2 are left"}],
    }
    said = town.holding(found)("tenant", "status", "111111")
    assert said.out == (
        "Tenant 111111: Deleting\n  2 are left\nleft:\n  namespaces 2\nin the way:\n"
        "  Namespace 111111-default waits for kubernetes since 3 min\ndata that stays:\n"
        "  pv: disks vol-1 (of 111111-default/data)\n"
    )
    assert town.document("tenant", "status", "111111")["status"]["phase"] == "Deleting"


def test_without_a_status_it_is_told_why_that_may_be_and_where_to_look(town: Town) -> None:
    """Of a kind that somebody else brought the server keeps none."""
    leaving = tenant()
    leaving["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    told = town.holding(leaving)("tenant", "status", "111111").out
    assert told.startswith("Tenant 111111: Deleting\n  no controller has said anything of it in its status (")
    assert "kubectl describe tenant" in told


def test_what_an_earlier_tenant_left_is_found_and_what_lives_is_not(town: Town) -> None:
    said = town.holding(tenant("222222"))("tenant", "leaks")
    assert said.code == 4
    assert "PriorityClass 111111-high" in said.out
    assert "222222" not in said.out
    assert "1111112" not in said.out
    found = town.document("tenant", "leaks", code=4)
    assert list(found["tenants"]) == ["111111"]


@pytest.mark.parametrize(
    "left",
    [
        obj("PriorityClass", "333333-high", api="scheduling.k8s.io/v1", value=1),
        obj(
            "PersistentVolume", "pvc-1", spec={"claimRef": {"namespace": "333333-x", "name": "d", "uid": "u"}}
        ),
        obj("StorageClass", "333333-fast", api="storage.k8s.io/v1", provisioner="x"),
    ],
)
def test_a_single_object_that_is_left_is_found_whatever_its_kind(town: Town, left: dict[str, Any]) -> None:
    said = town.holding(tenant("222222"), left)("tenant", "leaks")
    assert said.code == 4
    assert f"{left['kind']} {left['metadata']['name']}" in said.out


def test_a_quota_that_kubezoo_left_is_found_by_its_name(town: Town) -> None:
    """Which has the id at its end."""
    api = "quota.kubezoo.io/v1alpha1"
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    spec = {
        "group": "quota.kubezoo.io",
        "names": {"plural": "clusterresourcequotas", "kind": "ClusterResourceQuota"},
        "scope": "Cluster",
        "versions": [{"name": "v1alpha1", "served": True, "storage": True, "schema": schema}],
    }
    name = "clusterresourcequotas.quota.kubezoo.io"
    town.holding(obj("CustomResourceDefinition", name, api="apiextensions.k8s.io/v1", spec=spec))
    town.holding(obj("ClusterResourceQuota", "kubezoo-tenant-quota-333333", api=api))
    said = town("tenant", "leaks")
    assert said.code == 4
    assert "ClusterResourceQuota kubezoo-tenant-quota-333333" in said.out


def test_what_stayed_since_its_label_names_another_is_told_as_left(town: Town) -> None:
    labelled = obj("PriorityClass", "333333-odd", api="scheduling.k8s.io/v1", value=1)
    labelled["metadata"]["labels"] = {"kubezoo.io/tenant": "nobody"}
    town.holding(labelled)
    said = town("tenant", "leaks")
    assert said.code == 4
    assert "PriorityClass 333333-odd" in said.out
    assert "its label kubezoo.io/tenant says nobody" in said.out
    (told,) = town.document("tenant", "leaks", code=4)["disputed"]["333333"]
    assert told["object"] == "PriorityClass 333333-odd"


def test_no_name_is_no_tenant(town: Town) -> None:
    for command in ("plan", "status", "delete"):
        said = town("tenant", command, "")
        assert said.code == 2, (command, said.out)
        assert "is no name of a Tenant" in said.err


def test_of_a_refused_one_nothing_is_told_that_its_names_would_mean(town: Town) -> None:
    said = town.holding(obj("PriorityClass", "kube-x", api="scheduling.k8s.io/v1", value=1))(
        "tenant", "plan", "kube"
    )
    assert said.code == 5
    assert "Nothing goes with the Tenant kube" in said.out
    assert "kube-x" not in said.out


@pytest.mark.parametrize("kept", ["namespace", "object", "own"])
def test_what_is_known_by_labels_is_found_by_the_labels_that_the_settings_name(town: Town, kept: str) -> None:
    """Names say nothing there: without that nothing would ever be found."""
    left = {
        "namespace": obj("Namespace", "shop", labels={"example.org/place": "solar"}),
        "object": obj(
            "PriorityClass", "fast", api=SCHEDULING, value=1, labels={"example.org/thing": "solar"}
        ),
        "own": obj(
            "PriorityClass", "solar-fast", api=SCHEDULING, value=1, labels={"skoupa.dev/tenant": "solar"}
        ),
    }
    conventions = "byName: false, namespaceLabel: example.org/place, objectLabel: example.org/thing"
    settings = "shortestId: 5, label: skoupa.dev/tenant" if kept == "own" else conventions
    town.holding(tenant(), tenant("222222"), installed(f"tenants: {{{settings}}}\n"), left[kept])
    town.holding(tenant("wind11"), obj("Namespace", "theirs", labels={"example.org/place": "wind11"}))
    found = town.document("tenant", "leaks", code=4)
    assert {name: [one["name"] for one in gone] for name, gone in found["tenants"].items()} == {
        "solar": [left[kept]["metadata"]["name"]]
    }


def test_without_leaks_all_is_well(skoupa: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    town = Town(skoupa, monkeypatch)
    monkeypatch.setattr(leaks, "in_cluster", town._in_cluster)
    said = town("tenant", "leaks")
    assert said.code == 0, said.err
    assert said.out == "Nothing looks like the rest of a tenant.\n"


BLUE = {"team": "blue"}
BOUND = {"claimRef": {"namespace": "blue-web", "name": "data", "uid": "u"}, "hostPath": {"path": "/x"}}


def test_a_selector_plans_without_a_tenant_what_has_the_label_and_what_is_bound_in_its_namespaces(
    town: Town,
) -> None:
    town.holding(
        obj("Namespace", "blue-web", labels=BLUE),
        config_map("app", namespace="blue-web", labels={"skoupa.dev/keep": "true"}),
        obj("PersistentVolume", "pv-blue", spec={**BOUND, "persistentVolumeReclaimPolicy": "Retain"}),
        obj("PriorityClass", "blue-high", api="scheduling.k8s.io/v1", value=1, labels=BLUE),
        obj("PriorityClass", "red-high", api="scheduling.k8s.io/v1", value=1, labels={"team": "red"}),
        obj("ClusterRole", "lent", api=RBAC, rules=[], labels={**BLUE, "skoupa.dev/shared": ""}),
        obj("Node", "machine", labels=BLUE),
    )
    said = town("tenant", "plan", "--selector", "team=blue")
    assert said.code == 0, said.err
    assert [line.split()[1:3] for line in said.out.splitlines() if line[:1].isdigit()][:3] == [
        ["Namespace", "blue-web"],
        ["PersistentVolume", "pv-blue"],
        ["PriorityClass", "blue-high"],
    ]
    assert "it has the labels team=blue" in said.out
    assert "it is bound to the claim blue-web/data" in said.out
    assert "its data stays where it is: hostPath /x" in said.out
    assert "1 of all these have a keep label" in said.out
    assert "ClusterRole lent: it has the label skoupa.dev/shared" in said.out
    for other in ("red-high", "machine", "111111", "there is no Tenant"):
        assert other not in said.out + said.err
    found = town.document("tenant", "plan", "-l", "team=blue")
    assert (found["tenant"], found["selector"], found["exists"]) == ("", "team=blue", False)
    names = [one["name"] for one in found["objects"]]
    assert names == ["blue-web", "pv-blue", "blue-high"]


def test_what_has_the_label_and_is_somebody_elses_or_protected_stays_and_says_why(town: Town) -> None:
    elsewhere = {"claimRef": {"namespace": "222222-default", "name": "data", "uid": "u"}}
    town.holding(
        tenant(),
        installed("protect: {namespaces: [blue-vault]}\n"),
        obj("Namespace", "blue-vault", labels=BLUE),
        obj("Namespace", "kube-public", labels=BLUE),
        obj("ClusterRole", "111111-blue", api=RBAC, rules=[], labels=BLUE),
        obj("PersistentVolume", "pv-other", labels=BLUE, spec=elsewhere),
        obj("ClusterRole", "view", api=RBAC, rules=[], labels={**BLUE, "kubezoo.io/tenant": "x"}),
        obj("ClusterRole", "of-x", api=RBAC, rules=[], labels={**BLUE, "kubezoo.io/tenant": "x"}),
    )
    found = town.document("tenant", "plan", "--selector", "team in (blue,green)")
    assert found["objects"] == []
    why = {one["object"]: one["why"] for one in found["kept"]}
    assert sorted(why) == [
        "ClusterRole 111111-blue",
        "ClusterRole of-x",
        "ClusterRole view",
        "Namespace blue-vault",
        "Namespace kube-public",
        "PersistentVolume pv-other",
    ]
    assert "its name begins with 111111-" in why["ClusterRole 111111-blue"]
    assert "its label kubezoo.io/tenant says x" in why["ClusterRole of-x"]
    assert "called as what is the cluster's own" in why["ClusterRole view"]
    assert "blue-vault" in why["Namespace blue-vault"]
    assert "222222-default/data" in why["PersistentVolume pv-other"]
    # Where the label is the rule it does not speak against itself.
    found = town.document("tenant", "plan", "--selector", "kubezoo.io/tenant=x")
    assert [one["name"] for one in found["objects"]] == ["of-x"]


@pytest.mark.parametrize("text", ["", " ", "!team", "team!=blue", "team notin (blue)", "team=", "a b", "=x"])
def test_a_selector_that_would_mean_what_has_no_label_is_no_rule(town: Town, text: str) -> None:
    said = town("tenant", "plan", "--selector", text)
    if text == "team=":
        assert "Nothing belongs to a tenant with the labels team=." in said.out
        return
    assert said.code == 2, said.out
    assert "--selector" in said.err


def test_a_plan_is_asked_for_by_a_name_or_a_selector_and_not_both(town: Town) -> None:
    for words in ((), ("111111", "--selector", "team=blue")):
        said = town("tenant", "plan", *words)
        assert said.code == 2
        assert "and not both" in said.err


def test_a_plan_says_what_the_settings_keep_of_a_tenant(town: Town) -> None:
    town.holding(installed("protect: {names: [ClusterRole/*admin]}\n"))
    said = town("tenant", "plan", "111111")
    assert "Stays:\n" in said.out
    assert "ClusterRole 111111-admin: " in said.out.partition("Stays:")[2]


def widgets(group: str, **metadata: Any) -> dict[str, Any]:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    spec = {
        "group": group,
        "names": {"plural": "widgets", "kind": "Widget"},
        "scope": "Namespaced",
        "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
    }
    return obj(
        "CustomResourceDefinition",
        f"widgets.{group}",
        api="apiextensions.k8s.io/v1",
        spec=spec,
        **metadata,
    )


def test_a_definition_that_would_take_along_what_is_not_the_tenants_stays_and_names_it(town: Town) -> None:
    town.holding(
        widgets("111111-shop.example"), widgets("111111-own.example"), widgets("blue.example", labels=BLUE)
    )
    town.holding(
        obj("Widget", "theirs", namespace="222222-default", api="111111-shop.example/v1"),
        obj("Widget", "mine", namespace="111111-default", api="111111-own.example/v1"),
        obj("Widget", "theirs", namespace="222222-default", api="blue.example/v1"),
    )
    said = town("tenant", "plan", "111111")
    goes, _, stays = said.out.partition("Stays:")
    assert "widgets.111111-own.example" in goes
    assert "widgets.111111-shop.example" not in goes
    assert "would take along Widget 222222-default/theirs, which is not the tenant's" in stays
    found = town.document("tenant", "plan", "-l", "team=blue")
    assert found["objects"] == []
    assert [one["object"] for one in found["kept"]] == ["CustomResourceDefinition widgets.blue.example"]


@pytest.mark.parametrize(
    ("inside", "settings", "why"),
    [
        pytest.param(
            config_map("lent", namespace="111111-default", labels={"skoupa.dev/shared": "true"}),
            "",
            "ConfigMap 111111-default/lent, which has the label skoupa.dev/shared",
            id="shared",
        ),
        pytest.param(
            config_map("precious", namespace="111111-default"),
            "protect: {names: [ConfigMap/precious]}\n",
            "ConfigMap 111111-default/precious, which stays: protected by the setting protect.names",
            id="protected",
        ),
        pytest.param(
            obj(
                "PersistentVolume",
                "lent",
                labels={"skoupa.dev/shared": "true"},
                spec={
                    "persistentVolumeReclaimPolicy": "Delete",
                    "claimRef": {"namespace": "111111-default", "name": "data", "uid": "u"},
                },
            ),
            "",
            "PersistentVolume lent, which has the label skoupa.dev/shared",
            id="volume",
        ),
    ],
)
def test_a_namespace_that_stays_for_what_is_in_it_is_named_and_what_its_claims_need_stays_too(
    town: Town, inside: dict[str, Any], settings: str, why: str
) -> None:
    volume = obj(
        "PersistentVolume",
        "data",
        spec={"claimRef": {"namespace": "111111-default", "name": "own", "uid": "v"}},
    )
    town.holding(tenant(), inside, volume)
    if settings:
        town.holding(installed(settings))
    found = town.document("tenant", "plan", "111111")
    assert [one["name"] for one in found["objects"]] == ["111111-high", "111111-admin"]
    kept = {one["object"]: one["why"] for one in found["kept"]}
    assert why in kept["Namespace 111111-default"]
    assert "it is for a claim in the Namespace 111111-default" in kept["PersistentVolume data"]


def test_a_plan_says_where_nothing_of_it_goes_as_things_are(town: Town) -> None:
    town.holding(tenant(), installed("tenants: {mostObjects: 2}\n"))
    said = town("tenant", "plan", "111111")
    assert "As things are, nothing of that goes: 3 objects in no namespace are more than" in said.out
    assert "tenants.mostObjects (2)" in town.document("tenant", "plan", "111111")["blocked"]


@pytest.mark.parametrize("command", [("status",), ("delete", "--yes"), ("delete", "--force-finalizers")])
def test_one_that_is_not_there_is_said_and_what_to_look_at(
    town: Town, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    monkeypatch.setattr(forcing, "in_cluster", town._in_cluster)
    said = town("tenant", command[0], "999999", *command[1:])
    assert said.code == 2
    assert "there is no Tenant 999999: kubectl get tenants lists them" in said.err


def test_a_kind_that_may_not_be_read_in_namespaces_is_told_once_and_not_for_each_of_them(town: Town) -> None:
    town.holding(tenant(), *(obj("Namespace", f"111111-{number}") for number in range(6)))
    everything_else = ("namespaces", TENANTS.qualified, "configmaps")
    town.user = "bob"
    town.cluster.allow_only("bob", (Rule(verbs=("get", "list"), resources=everything_else), ASKING))
    found = town.document("tenant", "plan", "111111", code=4)
    assert sum(one["kind"] == "Namespace" for one in found["objects"]) == 7
    (gap,) = [one for one in found["gaps"] if one.startswith("secrets (")]
    assert "forbidden" in gap
