"""`explain` where whose an object is does not decide alone: what its Namespace says, what is in there, and what is not known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from skoupa.kinds.definition import document
from skoupa.kinds.tenant import TENANT, TENANTS
from skoupa.sim.state.access import Rule
from tests.unit.cli.test_tenant import tenant, widgets
from tests.unit.cli.test_tenants_ahead import ON, SINCE, going, town
from tests.unit.cli.worlds import ASKING, Town, config_map, installed, obj

__all__ = ["town"]

pytestmark = pytest.mark.unit


LABELLED = "tenants: {byName: false, namespaceLabel: city.example/tenant}\n"


@pytest.mark.parametrize(
    ("labels", "whose"),
    [
        pytest.param({"city.example/tenant": "111111"}, "111111", id="its"),
        pytest.param({"city.example/tenant": "111111", "skoupa.dev/shared": ""}, "", id="shared"),
    ],
)
@pytest.mark.parametrize("of", [tenant(), going()], ids=["lives", "is-deleted"])
def test_explain_of_a_volume_asks_what_the_namespace_of_its_claim_says(
    town: Town, labels: dict[str, str], whose: str, of: dict[str, Any]
) -> None:
    claim = {"namespace": "blue", "name": "data", "uid": "u"}
    volume = obj("PersistentVolume", "pvc-1", spec={"claimRef": claim})
    town.holding(installed(ON + LABELLED), obj("Namespace", "blue", labels=labels), volume, of)
    (item,) = town.document("explain", "persistentvolume/pvc-1")["items"]
    told = item.get("tenant", {"name": "", "stays": True})
    assert (told["name"], told["stays"]) == (whose, not whose)
    deleted = "deletionTimestamp" in of["metadata"]
    assert [one["reason"]["code"] for one in item["claims"]] == (["tenant-gone"] if deleted and whose else [])


@pytest.mark.parametrize("of", [tenant(), going()], ids=["lives", "is-deleted"])
def test_explain_of_what_is_shared_or_protected_in_a_namespace_says_that_both_stay(
    town: Town, of: dict[str, Any]
) -> None:
    lent = config_map("lent", namespace="111111-default", labels={"skoupa.dev/shared": "true"})
    town.holding(of, lent)
    (item,) = town.document("explain", "configmap/111111-default/lent")["items"]
    assert item["tenant"]["stays"] is True
    assert "so does its Namespace 111111-default" in item["tenant"]["text"]
    town.holding(installed(f"{ON}protect: {{names: [PriorityClass/111111-high]}}\n"))
    (item,) = town.document("explain", "priorityclass/111111-high")["items"]
    assert item["tenant"]["stays"] is True
    assert "protected by the setting protect.names" in item["tenant"]["text"]


def test_explain_of_a_deleted_tenants_namespace_says_for_what_in_it_it_stays(town: Town) -> None:
    lent = config_map("lent", namespace="111111-default", labels={"skoupa.dev/shared": "true"})
    town.holding(going(), lent)
    (place,) = town.document("explain", "namespace/111111-default")["items"]
    assert place["claims"] == []
    (inside,) = town.document("explain", "configmap/111111-default/app")["items"]
    for item in (place, inside):
        assert item["tenant"]["stays"] is True
        assert (
            "ConfigMap 111111-default/lent, which has the label skoupa.dev/shared" in item["tenant"]["text"]
        )


def test_explain_says_that_nothing_goes_while_something_keeps_all_of_a_tenant(town: Town) -> None:
    town.holding(installed(f"{ON}tenants: {{mostObjects: 1}}\n"), going())
    (item,) = town.document("explain", "clusterrole/111111-admin")["items"]
    assert item["claims"] == []
    assert "and nothing of it goes: 3 objects in no namespace are more than" in item["tenant"]["text"]


def test_explain_while_the_definition_of_tenants_goes_says_that_no_tenant_was_meant(town: Town) -> None:
    definition = {**document(TENANT)}
    definition["metadata"] = {
        **definition["metadata"],
        "deletionTimestamp": SINCE,
        "finalizers": ["customresourcecleanup.apiextensions.k8s.io"],
    }
    town.holding(going(), definition)
    (item,) = town.document("explain", "clusterrole/111111-admin")["items"]
    assert item["claims"] == []
    assert item["tenant"]["phase"] == "Waiting"
    assert "no Tenant was meant: nothing of any goes" in item["tenant"]["text"]


def test_explain_by_who_may_not_list_a_kind_does_not_say_that_it_stays(town: Town, tmp_path: Path) -> None:
    town.holding(going())
    reading = Rule(verbs=("get",), resources=("clusterroles.rbac.authorization.k8s.io", "namespaces"))
    listing_tenants = Rule(verbs=("list",), resources=(TENANTS.qualified, "namespaces"))
    town.user = "bob"
    town.cluster.allow_only("bob", (reading, listing_tenants, ASKING))
    settings = tmp_path / "settings.yaml"
    settings.write_text(ON)
    said = town("explain", "clusterrole/111111-admin", "--config", str(settings))
    assert "whether it goes with that Tenant" in said.out
    assert "is not known" in said.out
    assert "more" in said.err.partition("not read, so more or less may go with the Tenant:")[2]


def test_explain_of_an_object_of_a_tenants_kind_elsewhere_says_that_it_keeps_the_definition(
    town: Town,
) -> None:
    town.holding(tenant(), tenant("222222"))
    group, places = "111111-own.example", ("shop", "222222-default", "111111-default")
    town.holding(
        widgets(group),
        *(obj("Widget", "it", namespace=place, api=f"{group}/v1") for place in places),
    )
    said = town("explain", *(f"widget.{group}/{place}/it" for place in places))
    elsewhere, next_door, mine = said.out.split("\n\n")
    keeps = f"while it is there the definition widgets.{group} stays, which that Tenant brought"
    assert f"tenant: is not of the Tenant 111111: {keeps}" in elsewhere
    assert "tenant: 222222, since it is in the Namespace 222222-default" in next_door
    assert f"its kind is of the Tenant 111111: {keeps}" in next_door
    assert "definition" not in mine


def test_explain_of_what_only_has_the_tenant_as_an_owner_says_for_what_the_tenant_waits(town: Town) -> None:
    owner = {"apiVersion": TENANTS.api_version, "kind": "Tenant", "name": "111111", "uid": "uid-111111"}
    blocker = "ClusterRole lent: the Tenant is among its owners, and it is not the tenant's to go"
    rbac = "rbac.authorization.k8s.io/v1"
    town.holding(
        going(said="nothing that has to go is left", blockers=[blocker]),
        obj("ClusterRole", "lent", api=rbac, rules=[], owners=[owner]),
    )
    (item,) = town.document("explain", "clusterrole/lent")["items"]
    assert (item["tenant"]["name"], item["tenant"]["blockers"]) == ("", [blocker])
    assert "waits until somebody takes the owner reference off" in item["tenant"]["text"]


def test_a_plan_of_a_namespace_asks_what_that_says_of_itself(town: Town) -> None:
    place = obj("Namespace", "blue", labels={"city.example/tenant": "111111"})
    town.holding(installed(ON + LABELLED), place, config_map("a", namespace="blue"), going())
    for kinds in ((), ("configmaps",)):
        (told,) = town.document("plan", *kinds, "-n", "blue")["tenants"]
        assert told["name"] == "111111"
    (item,) = town.document("explain", "configmap/blue/a")["items"]
    assert item["tenant"]["name"] == "111111"
