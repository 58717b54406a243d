"""`plan`, `explain` and the dashboard say that the cluster is about to die, for whom that waits, and what outlives it."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from skoupa.cli.alive import looking as alive_looking
from skoupa.cli.worlds import World
from skoupa.kinds.alive import ALIVE, ALIVES, NAMESPACED_ALIVE, NAMESPACED_ALIVES
from skoupa.kinds.definition import document
from skoupa.sim.cluster import EmbeddedCluster
from skoupa.sim.state.access import Rule
from skoupa.web.dashboard.shapes import Overview
from tests.unit.cli.saying import Shell
from tests.unit.cli.test_dashboard import board_of
from tests.unit.cli.worlds import Town, config_map, looking, obj

pytestmark = pytest.mark.unit

DNS, DISKS = "dns.example.com/cleanup", "disks.example.com/cleanup"


def alive(*finalizers: str, deleted: str = "", **spec: Any) -> dict[str, Any]:
    entries = [
        {"finalizer": one, "identity": "somebody", "lease": {"namespace": "shop", "name": one.split(".")[0]}}
        for one in (DNS, DISKS)
    ]
    found = obj("Alive", "cluster", api="skoupa.dev/v1alpha1", spec={"participants": entries, **spec})
    found["metadata"]["finalizers"] = ["skoupa.dev/alive", *finalizers]
    if deleted:
        found["metadata"]["deletionTimestamp"] = deleted
    return found


def lease(name: str, **annotations: str) -> dict[str, Any]:
    marks = {f"skoupa.dev/{key}": value for key, value in annotations.items()}
    spec = {"leaseDurationSeconds": 40, "renewTime": "2026-05-01T11:59:50.000000Z"}
    labels = {"skoupa.dev/participant": "true"}
    api = "coordination.k8s.io/v1"
    return obj("Lease", name, api=api, namespace="shop", labels=labels, annotations=marks, spec=spec)


def service(name: str, namespace: str = "shop", **marks: Any) -> dict[str, Any]:
    return obj("Service", name, namespace=namespace, spec={"ports": [{"port": 80}]}, **marks)


@pytest.fixture
def town(skoupa: Shell, monkeypatch: pytest.MonkeyPatch) -> Town:
    found = Town(skoupa, monkeypatch).holding(obj("Namespace", "shop"), obj("Namespace", "lab"))
    monkeypatch.setattr(alive_looking, "in_cluster", found._in_cluster)
    return found


def dying() -> list[dict[str, Any]]:
    return [
        document(ALIVE),
        lease("dns", remaining="3", message="removing records"),
        alive(DNS, deleted="2026-05-01T11:50:00Z", onTimeout="Proceed"),
    ]


def test_a_plan_says_first_that_the_cluster_is_about_to_die_and_for_whom_that_waits(town: Town) -> None:
    town.holding(*dying(), config_map("old", "1h"))
    said = town("plan", "-A")
    first, _ = said.out.split("\n\n", 1)
    assert first == (
        "This cluster is about to die: its deletion was asked for at 2026-05-01T11:50:00Z; "
        f"it waits for {DNS} (Working, 3 left: removing records)."
    )
    told = town.document("plan", "-A")["alive"]
    assert (told["state"], told["phase"], told["deadline"]) == (
        "dying",
        "Terminating",
        "2026-05-01T12:20:00Z",
    )
    assert told["waitingFor"] == [
        {"finalizer": DNS, "state": "Working", "remaining": 3, "message": "removing records"}
    ]


@pytest.mark.parametrize(
    ("api", "where"), [("skoupa.dev/v1alpha1", ""), ("namespaced.skoupa.dev/v1alpha1", "home")]
)
def test_no_label_and_no_policy_ever_gives_the_signal_in_either_form(
    town: Town, tmp_path: Path, api: str, where: str
) -> None:
    """Who writes a label needs no right to signal, and who sweeps may have it. What would take it along stays too."""
    due = {"cleanup.kyverno.io/ttl": "1m"}
    definition = document(NAMESPACED_ALIVE if where else ALIVE)
    definition["metadata"]["creationTimestamp"] = "2026-05-01T10:00:00Z"
    definition["metadata"]["labels"] = due
    confirmed = obj("Alive", "cluster", api=api, namespace=where, labels=due, uid="the-uid")
    confirmed["metadata"]["annotations"] = {"skoupa.dev/confirm-deletion": "the-uid"}
    policy = {
        "apiVersion": "kyverno.io/v2",
        "kind": "ClusterCleanupPolicy",
        "metadata": {"name": "all"},
        "spec": {
            "schedule": "* * * * *",
            "match": {"any": [{"resources": {"kinds": [f"{api}/Alive", "Namespace"]}}]},
        },
    }
    file = tmp_path / "policy.yaml"
    file.write_text(json.dumps(policy))
    town.holding(definition, confirmed)
    if where:
        town.holding(obj("Namespace", where, labels=due))
    for command in (("plan", "-A"), ("plan", "-f", str(file))):
        rows = town.document(*command, code=0)["items"]
        assert [one for one in rows if not one["holds"] and one["name"] in {"cluster", "home"}] == []
    assert town("sweep", "-A", "--yes").code == 0
    resource = NAMESPACED_ALIVES if where else ALIVES
    assert town.find(resource, "cluster", namespace=where) is not None


def test_what_outlives_the_cluster_is_in_the_plan_before_anything_happens(town: Town) -> None:
    gold = {"kind": "Service", "matchLabels": {"tier": "gold"}, "reason": "sold with the shop"}
    town.holding(
        document(ALIVE),
        alive(DNS, DISKS, preserve=[gold]),
        service("web", labels={"tier": "gold"}),
        service("doubtful", annotations={"skoupa.dev/preserve-until": "soon"}),
        service("free"),
        service("other", "lab", annotations={"skoupa.dev/preserve": "true"}),
        obj("PersistentVolume", "data", annotations={"skoupa.dev/preserve": "true"}, spec={}),
    )
    said = town("plan", "-A")
    assert "about to die" not in said.out
    assert "What these stand for outside of the cluster outlives it" in said.out
    assert "  Service shop/web: sold with the shop" in said.out
    assert "write 2026-09-30" in said.out
    told = town.document("plan", "-A")["alive"]
    assert told["state"] == "lives"
    assert [one["object"] for one in told["preserved"]] == [
        "PersistentVolume data",
        "Service lab/other",
        "Service shop/doubtful",
        "Service shop/web",
    ]
    shop = town.document("plan", "-n", "shop")["alive"]["preserved"]
    assert [one["object"] for one in shop] == ["Service shop/doubtful", "Service shop/web"]
    volumes = town.document("plan", "persistentvolumes", "-A")["alive"]["preserved"]
    assert [one["object"] for one in volumes] == ["PersistentVolume data"]


def test_the_volume_of_a_claim_that_is_preserved_stays_with_it(town: Town) -> None:
    town.holding(
        document(ALIVE),
        alive(DNS, preserve=[{"kind": "PersistentVolumeClaims", "names": ["orders"]}, {"names": ["oders"]}]),
        obj("PersistentVolumeClaim", "orders", namespace="shop", spec={"volumeName": "pv-1"}),
        obj("PersistentVolumeClaim", "scratch", namespace="shop", spec={"volumeName": "pv-2"}),
        obj("PersistentVolume", "pv-1", spec={}),
        obj("PersistentVolume", "pv-2", spec={}),
    )
    said = town("plan", "-A")
    assert (
        "  PersistentVolume pv-1: PersistentVolumeClaim shop/orders needs it, which is preserved" in said.out
    )
    assert "pv-2" not in said.out
    volumes = town.document("plan", "persistentvolumes", "-A")["alive"]["preserved"]
    assert [one["object"] for one in volumes] == ["PersistentVolume pv-1"]
    status = town.document("alive", "status")
    assert [one["object"] for one in status["preserved"]] == [
        "PersistentVolume pv-1",
        "PersistentVolumeClaim shop/orders",
    ]
    assert [one for one in status["warnings"] if "fits nothing" in one] == [
        "spec.preserve[1] fits nothing in this cluster: look whether it is written as it is meant"
    ]


def test_without_alive_and_to_who_may_not_read_it_a_plan_says_nothing_of_it(town: Town) -> None:
    assert "alive" not in town.document("plan", "-A")
    town.holding(document(ALIVE))
    assert "alive" not in town.document("plan", "-A")
    town.holding(*dying()[1:], config_map("old", "1h"))
    may = Rule(verbs=("*",), resources=("configmaps", "namespaces", "brakes.skoupa.dev"))
    asking = Rule(verbs=("create",), resources=("selfsubjectaccessreviews.authorization.k8s.io",))
    town.cluster.allow_only("bob", [may, asking])
    town.user = "bob"
    said = town("plan", "configmaps", "-n", "shop")
    assert "about to die" not in said.out
    assert "alives" not in said.err


def test_explain_tells_of_alive_what_it_waits_for(town: Town) -> None:
    town.holding(*dying())
    said = town("explain", "alive/cluster")
    assert "This cluster is about to die" in said.out
    assert DNS in said.out
    assert town.document("explain", "alive/cluster")["alive"]["state"] == "dying"


def test_explain_tells_of_an_alive_that_lives_that_nobody_asked_for_its_deletion(town: Town) -> None:
    town.holding(document(ALIVE), alive(DNS, DISKS))
    assert "This cluster lives: nobody asked for its deletion" in town("explain", "alive/cluster").out


def test_the_dashboard_says_it_first() -> None:
    async def work(world: World, _: EmbeddedCluster) -> Overview:
        board = board_of(world)
        following = [asyncio.create_task(one) for one in board.work()]
        try:
            return await board.overview()
        finally:
            for one in following:
                one.cancel()

    page = looking(work, obj("Namespace", "shop"), *dying())
    assert page.announced[0].startswith("This cluster is about to die")
    assert looking(work, obj("Namespace", "shop")).announced == ()
