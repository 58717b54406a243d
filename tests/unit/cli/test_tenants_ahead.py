"""`plan`, `explain` and the dashboard tell of Tenants: which are being deleted, whose an object is, and what follows for it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from skoupa.cli.worlds import World
from skoupa.kinds.definition import document
from skoupa.kinds.tenant import TENANT
from skoupa.kube.client import Client
from skoupa.kube.resources import CUSTOM_RESOURCE_DEFINITIONS
from skoupa.sim.cluster import EmbeddedCluster
from skoupa.sim.state.access import Rule
from skoupa.web.dashboard.shapes import Overview
from tests.unit.cli.saying import Shell
from tests.unit.cli.test_dashboard import board_of
from tests.unit.cli.test_tenant import MINE, OTHERS, tenant
from tests.unit.cli.test_written_first import listening
from tests.unit.cli.worlds import ASKING, Town, config_map, installed, looking, obj

pytestmark = pytest.mark.unit

ON = "mode: enforce\nfeatures: {tenants: true}\n"
SINCE = "2026-05-01T11:50:00Z"


@pytest.fixture
def town(skoupa: Shell, monkeypatch: pytest.MonkeyPatch) -> Town:
    town = Town(skoupa, monkeypatch)

    async def bring() -> None:
        async with town.cluster:
            await Client(town.cluster, town.clock).create(CUSTOM_RESOURCE_DEFINITIONS, document(TENANT))
            for _ in range(200):
                await asyncio.sleep(0)

    asyncio.run(bring())
    return town.holding(installed(ON), obj("Namespace", "skoupa"), *MINE, *OTHERS)


def going(name: str = "111111", *, said: str = "", **status: Any) -> dict[str, Any]:
    found = tenant(name, deletionTimestamp=SINCE)
    if said:
        ready = {"type": "Ready", "status": "False", "reason": "Deleting", "message": said}
        found["status"] = {"phase": "Deleting", "conditions": [ready], **status}
    return found


def test_a_plan_says_first_which_tenants_are_being_deleted_and_how_far_that_is(town: Town) -> None:
    blocker = "Namespace 111111-default waits for what is inside it since 5 min"
    town.holding(going(said="3 objects in no namespace are left", remainingObjects=3, blockers=[blocker]))
    town.holding(tenant("222222"), config_map("old", "1h"))
    said = town("plan", "-A")
    assert said.code == 0, said.err
    assert said.out.startswith(
        f"The Tenant 111111 is being deleted since {SINCE}: 3 objects in no namespace are left.\n"
        "What goes with it: skoupa tenant plan 111111\n\nDue at any time"
    )
    assert "222222" not in said.out
    assert town.document("plan", "-A")["tenants"] == [
        {
            "name": "111111",
            "phase": "Deleting",
            "text": f"The Tenant 111111 is being deleted since {SINCE}: 3 objects in no namespace are left",
            "since": SINCE,
            "remaining": 3,
            "kept": None,
            "blockers": [blocker],
        }
    ]


def test_a_plan_of_one_namespace_tells_only_of_the_tenant_whose_that_is(town: Town) -> None:
    town.holding(going(), going("222222"))
    (told,) = town.document("plan", "-n", "111111-default")["tenants"]
    assert told["name"] == "111111"
    assert "tenants" not in town.document("plan", "-n", "skoupa")


def test_a_plan_that_may_not_know_of_tenants_says_so_where_that_matters(town: Town) -> None:
    town.holding(going())
    everything = Rule(verbs=("get", "list"), resources=("configmaps", "namespaces"))
    town.user = "bob"
    town.cluster.allow_only("bob", (everything, ASKING))
    said = town("plan", "configmaps", "-A")
    assert "whether a Tenant is being deleted is not known" in said.err
    assert "Tenant" not in town("plan", "configmaps", "-n", "111111-default").err


def test_while_the_feature_is_off_no_tenant_is_told_and_one_list_is_all_that_it_costs(town: Town) -> None:
    heard = listening(town)

    def lists_of_tenants(*command: str) -> int:
        heard.clear()
        assert town(*command).code == 0
        return sum(path.endswith("/tenants") for one in heard for _, path in one.asked)

    asking = ("plan", "configmaps", "-A"), ("explain", "configmap/111111-default/app")
    town.holding(installed("mode: enforce\n"), tenant())
    assert "Tenant" not in town("plan", "-A").out
    assert "tenant:" not in town(*asking[1]).out
    off = [lists_of_tenants(*one) for one in asking]
    town.holding(installed(ON))
    assert [lists_of_tenants(*one) for one in asking] == [one + 1 for one in off]


def test_explain_says_whose_an_object_is_and_that_it_goes_when_that_tenant_is_deleted(town: Town) -> None:
    town.holding(tenant())
    said = town(
        "explain", "clusterrole/111111-admin", "configmap/111111-default/app", "namespace/222222-default"
    )
    assert said.code == 0, said.err
    role, inside, other = said.out.split("\n\n")
    assert "  tenant: 111111, since its name begins with 111111-\n" in role
    assert (
        "          goes when that Tenant is deleted, unless others use or hold it then: skoupa tenant plan 111111"
        in role
    )
    assert "Nothing wants it to go." in role
    assert "since it is in the Namespace 111111-default, which is that tenant's" in inside
    assert "tenant" not in other


def test_explain_of_what_goes_with_a_deleted_tenant_has_that_as_its_reason(town: Town) -> None:
    town.holding(going())
    said = town("explain", "clusterrole/111111-admin", "configmap/111111-default/kept")
    role, inside = said.out.split("\n\n")
    assert "it goes as soon as Skoupa acts" in role
    assert "its name begins with 111111-" in role.partition("why:")[2]
    assert f"goes with that Tenant, which is being deleted since {SINCE}" in role
    assert "Goes along with its Namespace 111111-default" in inside
    (item,) = town.document("explain", "clusterrole/111111-admin")["items"]
    assert (item["due"], item["goesAt"]) == (SINCE, SINCE)
    assert [one["reason"]["code"] for one in item["claims"]] == ["tenant-gone"]
    assert (item["tenant"]["name"], item["tenant"]["stays"]) == ("111111", False)


@pytest.mark.parametrize("of", [tenant(), going()], ids=["lives", "is-deleted"])
def test_explain_of_what_is_shared_says_that_it_stays(town: Town, of: dict[str, Any]) -> None:
    town.holding(of)
    (item,) = town.document("explain", "clusterrole/111111-lent")["items"]
    assert item["tenant"]["stays"] is True
    assert "it is labelled as shared" in item["tenant"]["text"]
    assert item["claims"] == []


def test_explain_of_what_somebody_else_uses_says_who_does(town: Town) -> None:
    binding = obj(
        "ClusterRoleBinding",
        "222222-uses-it",
        api="rbac.authorization.k8s.io/v1",
        roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "111111-admin"},
        subjects=[],
    )
    town.holding(going(), tenant("222222"), binding)
    (item,) = town.document("explain", "clusterrole/111111-admin")["items"]
    assert item["claims"] == []
    assert item["tenant"]["stays"] is True
    assert "222222" in item["tenant"]["text"]


def test_explain_of_what_two_tenants_would_have_says_that_it_is_nobodys(town: Town) -> None:
    town.holding(tenant(), tenant("222222"))
    volume = obj(
        "PersistentVolume",
        "111111-data",
        spec={"claimRef": {"namespace": "222222-default", "name": "data", "uid": "u"}},
    )
    town.holding(volume)
    (item,) = town.document("explain", "persistentvolume/111111-data")["items"]
    assert item["tenant"]["name"] == ""
    assert "is nobody's, and stays" in item["tenant"]["text"]
    assert "222222" in item["tenant"]["text"]


def test_explain_of_a_volume_looks_at_the_claim_that_it_is_for(town: Town) -> None:
    town.holding(tenant())
    town.holding(
        obj(
            "PersistentVolume",
            "pvc-1",
            spec={"claimRef": {"namespace": "111111-default", "name": "data", "uid": "u"}},
        )
    )
    (item,) = town.document("explain", "persistentvolume/pvc-1")["items"]
    assert item["tenant"]["proof"] == "it is bound to the claim 111111-default/data"


@pytest.mark.parametrize(
    ("settings", "stands", "due"),
    [
        pytest.param("tenants: {guard: true}", "has to be confirmed", None, id="unconfirmed"),
        pytest.param("tenants: {grace: 1h}", "nothing goes before", "2026-05-01T12:50:00Z", id="grace"),
    ],
)
def test_explain_while_a_deletion_waits_says_for_what(
    town: Town, settings: str, stands: str, due: str | None
) -> None:
    town.holding(installed(f"{ON}{settings}\n"), going())
    (item,) = town.document("explain", "clusterrole/111111-admin")["items"]
    assert item["tenant"]["phase"] == "Waiting"
    assert stands in item["tenant"]["text"]
    assert item["goesAt"] == due


def test_explain_where_nobody_looks_after_the_tenant_says_that_it_takes_nothing_along(town: Town) -> None:
    town.holding(tenant(finalizers=[]))
    (item,) = town.document("explain", "clusterrole/111111-admin")["items"]
    assert item["tenant"]["stays"] is True
    assert "no controller of Skoupa looks after that Tenant" in item["tenant"]["text"]


def test_explain_of_a_tenant_whose_id_is_refused_says_why(town: Town) -> None:
    town.holding(tenant("kube"))
    said = town("explain", "tenant/kube")
    assert "Nothing would go with it" in said.out
    town.holding(obj("ClusterRole", "kube-edge", api="rbac.authorization.k8s.io/v1", rules=[]))
    (item,) = town.document("explain", "clusterrole/kube-edge")["items"]
    assert item["tenant"]["stays"] is True


def test_explain_of_a_tenant_says_how_far_its_deletion_is(town: Town) -> None:
    blocker = "ClusterRole 111111-admin waits for somebody.example.com/wait since 5 min"
    stuck = obj("ClusterRole", "111111-admin", api="rbac.authorization.k8s.io/v1", rules=[])
    stuck["metadata"] |= {"finalizers": ["somebody.example.com/wait"], "deletionTimestamp": SINCE}
    town.holding(going(said="1 object in no namespace is left", blockers=[blocker]), stuck)
    said = town("explain", "tenant/111111", "clusterrole/111111-admin")
    of_tenant, of_role = said.out.split("\n\n")
    assert f"The Tenant 111111 is being deleted since {SINCE}: 1 object in no namespace is left." in of_tenant
    for text in (of_tenant, of_role):
        assert f"in the way: {blocker}" in text


def test_a_living_tenant_says_what_happens_when_it_is_deleted(town: Town) -> None:
    said = town.holding(tenant())("explain", "tenant/111111")
    assert "What belongs to it goes when it is deleted (skoupa tenant plan 111111)." in said.out


def test_the_dashboard_says_which_tenants_are_being_deleted() -> None:
    async def work(world: World, cluster: EmbeddedCluster) -> Overview:
        async with cluster:
            client = world.client
            await client.create(CUSTOM_RESOURCE_DEFINITIONS, document(TENANT))
            await client.clock.sleep(5)
            cluster.load([going()])
            board = board_of(world)
            following = [asyncio.create_task(one) for one in board.work()]
            try:
                return await board.overview()
            finally:
                for one in following:
                    one.cancel()

    (said,) = looking(work, installed(ON), obj("Namespace", "skoupa")).announced
    assert said.startswith(f"The Tenant 111111 is being deleted since {SINCE}")


def test_of_many_tenants_that_are_being_deleted_a_plan_tells_a_few_and_how_many_more(town: Town) -> None:
    town.holding(*(going(f"70000{number}") for number in range(7)))
    said = town("plan", "configmaps", "-A")
    assert said.out.count("What goes with it: skoupa tenant plan") == 5
    assert "2 more Tenants are being deleted: kubectl get tenants shows them.\n\n" in said.out
    assert len(town.document("plan", "configmaps", "-A")["tenants"]) == 7


GOES = (
    "goes with the Tenant 111111, which is being deleted, whatever label keeps it: "
    "skoupa pause policy/Tenant/111111 holds all of that"
)


@pytest.mark.parametrize(
    ("command", "called"),
    [
        (("keep", "cm/app", "-n", "111111-default"), "ConfigMap 111111-default/app"),
        (("extend", "cm/old", "-n", "111111-default", "--by", "7d"), "ConfigMap 111111-default/old"),
        (("keep", "ns/111111-default"), "Namespace 111111-default"),
        (("keep", "priorityclass/111111-high", "--dry-run"), "PriorityClass 111111-high"),
    ],
)
def test_who_keeps_what_goes_with_a_tenant_is_told_that_no_label_does(
    town: Town, command: tuple[str, ...], called: str
) -> None:
    town.holding(going(), config_map("old", "1h", namespace="111111-default"))
    said = town(*command)
    assert said.code == 0, said.err
    assert f"{called} {GOES}" in " ".join(said.err.split())
    assert town.document(*command)["warnings"] == [f"{called} {GOES}"]


@pytest.mark.parametrize(
    ("there", "what"),
    [
        (tenant("111111"), ("cm/app", "-n", "111111-default")),
        (going(), ("ns/222222-default",)),
        (going(), ("clusterrole/111111-lent",)),
        (tenant("111111", deletionTimestamp=SINCE, finalizers=["x.example/y"]), ("ns/111111-default",)),
    ],
    ids=["it lives", "of another", "shared", "let go"],
)
def test_what_no_tenant_takes_is_kept_without_a_word_about_it(
    town: Town, there: dict[str, Any], what: tuple[str, ...]
) -> None:
    town.holding(there)
    said = town("keep", *what)
    assert said.code == 0, said.err
    assert not said.err
    assert town.document("keep", *what)["warnings"] == []


def test_who_may_not_know_of_tenants_keeps_what_is_in_a_namespace_all_the_same(town: Town) -> None:
    town.holding(going())
    town.cluster.allow_only("ann", [ASKING, Rule(verbs=("*",), resources=("configmaps",))])
    town.user = "ann"
    said = town("keep", "cm/app", "-n", "111111-default")
    assert said.code == 0, said.err
    assert "Tenant" not in said.err
