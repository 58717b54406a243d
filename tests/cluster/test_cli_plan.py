"""`skoupa plan` and `explain` on the real server: the questions of the seed, rights, and what goes along."""

from __future__ import annotations

import asyncio
import json
import secrets
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from harness.controlplane import Access
from skoupa.kube.client import Client
from skoupa.kube.discovery import discover
from skoupa.kube.lists import Scope, count, everything
from skoupa.kube.objects import METADATA
from skoupa.kube.resources import CONFIG_MAPS, CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES, PODS, Resource
from tests.cluster.commands import Said, skoupa
from tests.cluster.granting import grant
from tests.cluster.reaching import SERVICE_ACCOUNTS, eventually, exists

pytestmark = pytest.mark.cluster

TTL = "cleanup.kyverno.io/ttl"
KEEP = "skoupa.dev/keep"
DEPLOYMENTS = Resource(group="apps", version="v1", plural="deployments", kind="Deployment", namespaced=True)
CLAIMS = Resource(
    version="v1", plural="persistentvolumeclaims", kind="PersistentVolumeClaim", namespaced=True
)
VOLUMES = Resource(version="v1", plural="persistentvolumes", kind="PersistentVolume", namespaced=False)
DONE, USAGE, LEFTOVERS, REFUSED, DENIED, WORK = 0, 2, 4, 5, 6, 10


class Town:
    """A namespace of one's own, and `plan` asked by an administrator."""

    def __init__(self, plane: Access, admin: Client, namespace: str) -> None:
        self.plane = plane
        self.admin = admin
        self.namespace = namespace

    async def make(
        self, resource: Resource, name: str, ttl: str | None = None, **body: Any
    ) -> dict[str, Any]:
        labels = {**({TTL: ttl} if ttl else {}), **body.pop("labels", {})}
        whole = {"metadata": {"name": name, "labels": labels}, **body}
        where = self.namespace if resource.namespaced else ""
        return await self.admin.create(resource, whole, namespace=where)

    async def label(self, **labels: str) -> None:
        """The Namespace itself."""
        await self.admin.merge_patch(NAMESPACES, self.namespace, {"metadata": {"labels": labels}})

    async def settled(self) -> None:
        """What every Namespace gets is there."""
        await eventually(self._has_its_own, what="the Namespace to have its ConfigMap and ServiceAccount")

    async def _has_its_own(self) -> bool:
        own = ((CONFIG_MAPS, "kube-root-ca.crt"), (SERVICE_ACCOUNTS, "default"))
        there = [await exists(self.admin, *one, namespace=self.namespace) for one in own]
        return all(there)

    async def run(self, *args: str, tz: str = "UTC") -> Said:
        return await skoupa(*args, kubeconfig=self.plane.kubeconfig, env={"TZ": tz})

    async def items(self, *args: str, tz: str = "UTC") -> list[dict[str, Any]]:
        """Of this namespace only, for the cluster is everybody's; others' broken kinds may leave gaps."""
        said = await self.run("plan", *args, "-o", "json", tz=tz)
        assert said.code in {DONE, LEFTOVERS}, said.err
        found = json.loads(said.out)["items"]
        return [item for item in found if self.namespace in {item["namespace"], item["name"]}]

    async def names(self, *args: str, tz: str = "UTC") -> list[str]:
        return [item["name"] for item in await self.items(*args, tz=tz)]


@pytest.fixture
def town(control_plane: Access, admin: Client, namespace: str) -> Town:
    return Town(control_plane, admin, namespace)


def deployment() -> dict[str, Any]:
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    return {"spec": {"replicas": 1, "selector": {"matchLabels": {"app": "web"}}, "template": template}}


def early_afternoon() -> tuple[str, datetime]:
    """A zone in which it is between 12:00 and 13:00 now, and the time there: 17:00 is still to come."""
    now = datetime.now(UTC)
    offset = 12 - now.hour
    return f"{offset:+03}:00", (now + timedelta(hours=offset)).replace(tzinfo=None)


def label_time(moment: datetime, zone: str) -> str:
    return (moment - timedelta(hours=int(zone[:3]))).strftime("%Y-%m-%dT%H%M%SZ")


async def test_questions_1_and_4_within_6_hours_and_a_ttl_over_7_days(town: Town) -> None:
    for name, ttl in (("at-once", "0"), ("soon", "5h"), ("later", "7h"), ("week", "7d"), ("month", "30d")):
        await town.make(CONFIG_MAPS, name, ttl)
    far = (datetime.now(UTC) + timedelta(days=9)).strftime("%Y-%m-%d")
    await town.make(CONFIG_MAPS, "dated", far)
    await town.make(CONFIG_MAPS, "plain")
    within, long = await asyncio.gather(town.names("-A", "--within", "6h"), town.names("-A", "--ttl", ">7d"))
    assert within == ["at-once", "soon"]
    assert long == ["dated", "month"]


async def test_questions_2_and_3_deployments_by_5pm_today_and_a_namespace_by_friday_5pm(town: Town) -> None:
    zone, now = early_afternoon()
    five = now.replace(hour=17, minute=0, second=0, microsecond=0)
    friday = five + timedelta(days=(4 - now.weekday()) % 7)
    minute = timedelta(minutes=1)
    await town.make(DEPLOYMENTS, "before", label_time(five - minute, zone), **deployment())
    await town.make(DEPLOYMENTS, "after", label_time(five + minute, zone), **deployment())
    await town.make(CONFIG_MAPS, "no-deployment", label_time(five - minute, zone))
    await town.make(CONFIG_MAPS, "on-friday", label_time(friday, zone))
    await town.make(CONFIG_MAPS, "after-friday", label_time(friday + minute, zone))
    today, week = await asyncio.gather(
        town.names("deployments", "-A", "--by", "17:00", "--tz", zone),
        town.names("-n", town.namespace, "--by", "friday 17:00", "--tz", zone),
    )
    assert today == ["before"]
    assert "on-friday" in week, "the hour that was named belongs to the window"
    assert "after-friday" not in week


async def test_question_5_during_may_of_this_year(town: Town) -> None:
    year = datetime.now(UTC).year
    for name, ttl in (
        ("april", f"{year}-04-30T235959Z"),
        ("first", f"{year}-05-01"),
        ("last", f"{year}-05-31T235959Z"),
        ("june", f"{year}-06-01"),
        ("another-year", f"{year + 1}-05-10"),
    ):
        await town.make(CONFIG_MAPS, name, ttl)
    assert await town.names("-A", "--during", "may") == ["first", "last"]


async def test_a_namespace_tells_what_goes_with_it_and_that_data_does(town: Town) -> None:
    await town.settled()
    volume = f"disk-{secrets.token_hex(4)}"
    capacity = {"storage": "1Gi"}
    modes = ["ReadWriteOnce"]
    await town.make(
        CLAIMS,
        "data",
        "5h",
        spec={
            "accessModes": modes,
            "volumeName": volume,
            "storageClassName": "",
            "resources": {"requests": capacity},
        },
    )
    made = await town.make(
        VOLUMES,
        volume,
        spec={
            "accessModes": modes,
            "capacity": capacity,
            "hostPath": {"path": "/nowhere"},
            "persistentVolumeReclaimPolicy": "Delete",
            "storageClassName": "",
            "claimRef": {"namespace": town.namespace, "name": "data"},
        },
    )
    try:
        for number in range(3):
            await town.make(CONFIG_MAPS, f"map-{number}")
        await town.label(**{TTL: "2h"})
        counted = await count(town.admin, CONFIG_MAPS, namespace=town.namespace)
        found = {item["name"]: item for item in await town.items("-A")}
        along = found[town.namespace]["takesAlong"]
        assert along["objects"]["configmaps"] == counted == 4
        assert along["objects"]["persistentvolumeclaims"] == 1
        assert along["total"] >= 6, "the ServiceAccount that every Namespace has goes too"
        assert along["uncounted"] == {}
        notes = {note["code"]: note["text"] for note in found[town.namespace]["notes"]}
        assert (
            notes["data-goes"]
            == "data goes for good: PV reclaim policy Delete on 1 PersistentVolume of its claims"
        )
        [note] = found["data"]["notes"]
        assert note["text"] == f"data goes for good: PV reclaim policy Delete ({volume})"
    finally:
        await town.admin.merge_patch(VOLUMES, volume, {"metadata": {"finalizers": None}})
        await town.admin.delete(VOLUMES, volume, uid=made["metadata"]["uid"], propagation="Background")


async def test_a_custom_kind_is_planned_and_its_definition_counts_its_objects(town: Town) -> None:
    group = f"x{secrets.token_hex(4)}.example"
    widgets = Resource(group=group, version="v1", plural="widgets", kind="Widget", namespaced=True)
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    made = await town.make(
        CUSTOM_RESOURCE_DEFINITIONS,
        widgets.qualified,
        "1d",
        spec={
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        },
    )
    try:

        async def served() -> bool:
            return (await discover(town.admin)).find(group, "Widget") is not None

        await eventually(served, what="the custom kind to be served")
        await town.make(widgets, "a", "1h", apiVersion=f"{group}/v1", kind="Widget")
        await town.make(widgets, "b", apiVersion=f"{group}/v1", kind="Widget")
        assert await town.names(widgets.qualified, "-n", town.namespace) == ["a"]
        said = await town.run("explain", f"crd/{widgets.qualified}")
        assert f"takes along 2 objects (widgets.{group} 2)" in said.out
        said = await town.run("explain", f"widget.{group}/b", "-n", town.namespace)
        assert f"Goes along with its CustomResourceDefinition widgets.{group}" in said.out
    finally:
        await town.admin.delete(
            CUSTOM_RESOURCE_DEFINITIONS,
            widgets.qualified,
            uid=made["metadata"]["uid"],
            propagation="Background",
        )


async def test_rights_in_one_namespace_are_enough_and_what_can_not_be_read_is_told(town: Town) -> None:
    await town.make(CONFIG_MAPS, "mine", "1h")
    user = f"alice-{secrets.token_hex(4)}"
    config = town.plane.kubeconfig_for(user=user)
    refused = await skoupa("plan", "-n", town.namespace, kubeconfig=config)
    assert (refused.code, refused.out) == (DENIED, ""), "nothing readable is no empty plan"
    await grant(
        town.admin, user, namespace=town.namespace, verbs=["list", "delete"], resources=["configmaps"]
    )
    one, all_kinds, everywhere = await asyncio.gather(
        skoupa("plan", "cm", "-n", town.namespace, "-o", "json", kubeconfig=config),
        skoupa("plan", "-n", town.namespace, kubeconfig=config),
        skoupa("plan", "cm", "-A", kubeconfig=config),
    )
    assert one.code == DONE
    told = json.loads(one.out)
    assert [(item["name"], item["holds"]) for item in told["items"]] == [("mine", [])]
    assert any("whether the Namespace" in warning for warning in told["warnings"])
    assert all_kinds.code == LEFTOVERS
    assert " mine " in all_kinds.out
    assert any("not read" in line and "secrets" in line for line in all_kinds.lines)
    assert everywhere.code == DENIED


async def test_a_missing_right_to_delete_is_a_hold_and_another_user_can_be_asked_for(town: Town) -> None:
    await town.make(CONFIG_MAPS, "seen", "1h")
    user = f"bob-{secrets.token_hex(4)}"
    verbs = ["get", "list"]
    await grant(town.admin, user, namespace=town.namespace, verbs=verbs, resources=["configmaps"])
    command = ("cm", "-n", town.namespace, "-o", "json")
    said = await skoupa("plan", *command, kubeconfig=town.plane.kubeconfig_for(user=user))
    [item] = json.loads(said.out)["items"]
    [hold] = item["holds"]
    assert hold["reason"]["text"] == f"no permission: delete configmaps in {town.namespace}"
    assert any("you may not delete 1 of them" in line for line in said.lines)
    [same] = await town.items(*command[:-2], "--as", user)
    assert same["holds"] == item["holds"]
    [own] = await town.items(*command[:-2])
    assert own["holds"] == []


async def test_explain_follows_the_owners_of_a_pod_up_to_what_takes_it_along(town: Town) -> None:
    await town.settled()
    await town.make(DEPLOYMENTS, "web", "3h", **deployment())

    async def pod() -> str:
        found = await everything(town.admin, PODS, METADATA, scope=Scope(namespace=town.namespace))
        return found.items[0].metadata.name if found.items else ""

    name = await eventually(pod, what="a Pod of the Deployment")
    said = await town.run("why", f"pod/{name}", "-n", town.namespace)
    lines = said.out.splitlines()
    assert lines[0] == f"Pod {town.namespace}/{name}"
    assert lines[1] == "  Nothing wants it to go."
    assert lines[2].startswith(f"  Goes along with its owner Deployment {town.namespace}/web: ")
    owners = [line for line in lines if line.startswith("  owner: ")]
    assert [line.split()[1] for line in owners] == ["ReplicaSet", "Deployment"]


async def test_explain_of_nothing_is_a_sentence(town: Town) -> None:
    said = await town.run("explain", "cm/nosuch", "-n", town.namespace)
    assert said.code == USAGE
    assert f"there is no ConfigMap nosuch in {town.namespace}" in said.sentence


async def test_exit_codes_for_ci(town: Town) -> None:
    await town.make(CONFIG_MAPS, "a", "1h")
    await town.make(CONFIG_MAPS, "kept", "1h", labels={KEEP: "true"})
    here = ("plan", "-n", town.namespace)
    said = await asyncio.gather(
        town.run(*here, "--detailed-exitcode"),
        town.run(*here, "--fail-over", "0"),
        town.run(*here, "--fail-over", "1"),
        town.run(*here, "--within", "5m", "--detailed-exitcode"),
    )
    assert [one.code for one in said] == [WORK, REFUSED, DONE, DONE]
