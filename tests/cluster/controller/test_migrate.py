"""`skoupa migrate` on a real server with the kinds, the labels and the traces of a Kyverno; from a snapshot it says the same."""

from __future__ import annotations

import json
import secrets
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from harness.controlplane import ControlPlane
from skoupa.controller.kyverno.beside import BRAKE_NAME
from skoupa.kinds.policies.cleanup import CLEANUP_POLICIES, CLUSTER_CLEANUP_POLICIES
from skoupa.kinds.policies.deleting import NAMESPACED_DELETING_POLICIES
from skoupa.kube.client import Client
from skoupa.kube.objects import METADATA
from skoupa.kube.resources import CONFIG_MAPS, Resource
from tests.cluster.commands import Said, skoupa
from tests.cluster.controller.braking import brake, held
from tests.cluster.controller.impatient import IMPATIENT
from tests.cluster.controller.kyverno import Kyverno, living
from tests.cluster.controller.objects import (
    CLUSTER_ROLE_BINDINGS,
    CLUSTER_ROLES,
    RBAC,
    SECRETS,
    AuditLog,
    People,
)
from tests.cluster.controller.running import Yard
from tests.cluster.controller.shop import Shop
from tests.cluster.reaching import eventually

pytestmark = pytest.mark.cluster

DEPLOYMENTS = Resource(group="apps", version="v1", plural="deployments", kind="Deployment", namespaced=True)
WEBHOOKS = Resource(
    group="admissionregistration.k8s.io",
    version="v1",
    plural="validatingwebhookconfigurations",
    kind="ValidatingWebhookConfiguration",
    namespaced=False,
)
PROGRAM = "kyverno-cleanup-controller"
COMPONENT = {"app.kubernetes.io/component": "cleanup-controller"}


async def removed(client: Client, resource: Resource, name: str, *, namespace: str = "") -> None:
    found = await client.get(resource, name, namespace=namespace, view=METADATA)
    uid = found.metadata.uid
    await client.delete(resource, name, namespace=namespace, uid=uid, propagation="Background")


async def install_program(client: Client, kyverno: Kyverno) -> None:
    """All but what runs: there is no node here."""
    container = {
        "name": "controller",
        "image": "reg.kyverno.io/kyverno/cleanup-controller:v1.19.1",
        "args": ["--protectManagedResources=true"],
    }
    template = {
        "metadata": {"labels": COMPONENT},
        "spec": {"serviceAccountName": PROGRAM, "containers": [container]},
    }
    spec = {"replicas": 2, "selector": {"matchLabels": COMPONENT}, "template": template}
    body = {"metadata": {"name": PROGRAM, "labels": COMPONENT}, "spec": spec}
    await client.create(DEPLOYMENTS, body, namespace=kyverno.namespace)
    filters = {"metadata": {"name": "kyverno"}, "data": {"resourceFilters": "[Event,*,*] [Node/?*,*,*]"}}
    await client.create(CONFIG_MAPS, filters, namespace=kyverno.namespace)


@pytest.fixture
async def kyverno(boss: Client) -> AsyncIterator[Kyverno]:
    """Alive, with rights on ConfigMaps alone, and with a webhook that concerns nobody."""
    name = f"kyverno-{secrets.token_hex(4)}"
    hook: dict[str, Any] = {
        "name": "cleanup.kyverno.svc",
        "failurePolicy": "Fail",
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "rules": [
            {
                "apiGroups": ["nobody.example"],
                "apiVersions": ["v1"],
                "operations": ["CREATE"],
                "resources": ["x"],
            }
        ],
    }
    async with living(boss) as found:
        await install_program(boss, found)
        hook["clientConfig"] = {"service": {"namespace": found.namespace, "name": PROGRAM}}
        await boss.create(WEBHOOKS, {"metadata": {"name": name}, "webhooks": [hook]})
        rule = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["watch", "list", "delete"]}
        await boss.create(CLUSTER_ROLES, {"metadata": {"name": name}, "rules": [rule]})
        subject = {"kind": "ServiceAccount", "name": PROGRAM, "namespace": found.namespace}
        role = {"kind": "ClusterRole", "name": name, "apiGroup": RBAC}
        binding = {"metadata": {"name": name}, "subjects": [subject], "roleRef": role}
        await boss.create(CLUSTER_ROLE_BINDINGS, binding)
        try:
            yield found
        finally:
            await removed(boss, WEBHOOKS, name)
            await removed(boss, CLUSTER_ROLE_BINDINGS, name)
            await removed(boss, CLUSTER_ROLES, name)
            # Else the next test would see two of it.
            await removed(boss, DEPLOYMENTS, PROGRAM, namespace=found.namespace)
            await removed(boss, CONFIG_MAPS, "kyverno", namespace=found.namespace)


def codes(told: dict[str, Any]) -> list[str]:
    return [one["code"] for one in told["differences"]]


def within(found: dict[str, Any], namespace: str) -> dict[str, list[str]]:
    """The differences of all labels and policies of a namespace, by name."""
    return {
        one["name"]: codes(one)
        for one in (*found["labels"], *found["policies"])
        if one["namespace"] == namespace
    }


async def write_down(shop: Shop) -> None:
    """Labels and policies, each with what differs about it."""
    for name, ttl in (("same", "4h"), ("odd", "1.5d"), ("nonsense", "soon")):
        await shop.people.make(name, ttl)
    await shop.people.make("kept", "4h", labels={"skoupa.dev/keep": "true"})
    await shop.people.make("secret", "4h", resource=SECRETS)
    daily = {"schedule": "@daily"}
    await shop.write(CLEANUP_POLICIES, "plain", shop.cleaning("x-*") | daily)
    zoned = {"skoupa.dev/time-zone": "Asia/Kolkata"}
    await shop.write(CLEANUP_POLICIES, "zoned", shop.cleaning("x-*") | daily, **zoned)
    await shop.write(CLEANUP_POLICIES, "taking", shop.cleaning("*") | daily)
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}
    expression = {"name": "a", "expression": "object.metadata.name == 'same'"}
    spec = daily | {"matchConstraints": {"resourceRules": [rule]}, "conditions": [expression]}
    await shop.write(NAMESPACED_DELETING_POLICIES, "cel", spec)
    everything = {"any": [{"resources": {"kinds": ["*"], "names": ["nobody-is-called-so"]}}]}
    await shop.write(CLUSTER_CLEANUP_POLICIES, f"wild-{shop.namespace}", daily | {"match": everything})


async def test_both_readings_on_a_real_server_and_from_its_snapshot(
    plane: ControlPlane, people: People, policies: None, kyverno: Kyverno, tmp_path: Path
) -> None:
    shop = Shop(people)
    await write_down(shop)

    async def told(*args: str | Path) -> dict[str, Any]:
        said = await skoupa("migrate", "-o", "json", *args, kubeconfig=plane.kubeconfig)
        assert said.code == 0, said.err
        found: dict[str, Any] = json.loads(said.out)
        return found

    async def with_rights() -> dict[str, Any]:
        # The authorizer hears of a role by a watch.
        found = await told()
        return found if within(found, shop.namespace).get("same") == [] else {}

    found = await eventually(with_rights, what="the rights of Kyverno to count", seconds=60)
    seen = found["kyverno"]
    assert (seen["state"], seen["leases"]) == ("alive", [kyverno.namespace])
    assert [one["version"] for one in seen["controllers"]] == ["v1.19.1"]
    assert {"managed-by-kyverno", "plain-filter"} <= set(codes(found))
    differing = within(found, shop.namespace)
    expected = {
        "same": [],
        "odd": ["odd-value"],
        "nonsense": [],
        "kept": ["held"],
        "secret": ["kyverno-may-not"],
        "plain": [],
        "zoned": ["time-zone", "own-annotations"],
        "taking": ["ttl-ahead", "held-matches"],
        "cel": ["ttl-ahead"],
    }
    assert differing == expected
    (wild,) = (one for one in found["policies"] if one["name"] == f"wild-{shop.namespace}")
    assert codes(wild) == ["wild-kinds"]
    commands = [step["command"] for step in found["over"]]
    scale = f"kubectl scale deployment {PROGRAM} -n {kyverno.namespace} --replicas="
    assert f"{scale}0" in commands
    assert f"kubectl delete validatingwebhookconfiguration {seen['webhooks'][0]}" in commands
    assert f"{scale}2" in [step["command"] for step in found["back"]]

    dump = tmp_path / "cluster.yaml"
    said = await skoupa("snapshot", "-A", "-o", dump, kubeconfig=plane.kubeconfig)
    assert said.code == 0, said.err
    from_dump = await told("--from", dump)
    # Who may do what is in no dump.
    assert within(from_dump, shop.namespace) == {**expected, "secret": []}
    assert from_dump["kyverno"]["controllers"] == seen["controllers"]
    assert [step["command"] for step in from_dump["over"]] == commands


async def test_somebody_with_few_rights_is_told_what_could_not_be_read(
    plane: ControlPlane, people: People, policies: None, kyverno: Kyverno
) -> None:
    await people.make("odd", "1.5d")

    async def asked(*args: str) -> Said:
        user = f"system:serviceaccount:{people.namespace}:nobody"
        return await skoupa("migrate", "--as", user, *args, kubeconfig=plane.kubeconfig)

    said = await asked("-o", "json")
    assert said.code == 4, said.err
    found = json.loads(said.out)
    assert (found["kyverno"]["state"], found["labels"], found["policies"]) == ("unknown", [], [])
    gaps = {gap["what"] for gap in found["gaps"]}
    assert {"deployments.apps", "configmaps", "cleanuppolicies.kyverno.io"} <= gaps
    shown = await asked()
    assert shown.code == 4
    assert "may be there: what would tell can't be read" in shown.out
    assert any("no permission" in line for line in shown.lines)


async def test_the_steps_lead_over_and_back_and_what_stays_was_foretold(
    plane: ControlPlane, boss: Client, people: People, running: Yard, audit: AuditLog
) -> None:
    for name, ttl in (("due", "1s"), ("odd", "1.5s")):
        await people.make(name, ttl)
    await people.make("kept", "1s", labels={"skoupa.dev/keep": "true"})
    kyverno = Kyverno(boss, f"kyverno-{secrets.token_hex(4)}")
    # Renewed once: as Kyverno leaves its Lease behind when it is scaled to none.
    await kyverno.install()
    try:
        said = await skoupa("migrate", "-n", people.namespace, "-o", "json", kubeconfig=plane.kubeconfig)
        foretold = {
            one["name"]: one["skoupa"]["goesAt"] is not None for one in json.loads(said.out)["labels"]
        }
        assert foretold == {"due": True, "odd": False, "kept": False}

        observer = await running.started(program=IMPATIENT, enforce=False)
        await observer.says("would delete", name="due", namespace=people.namespace)
        observer.end()
        assert not audit.deletes(people.namespace)

        process = await running.started(program=IMPATIENT)
        await brake(people, BRAKE_NAME)
        released = await skoupa("brakes", "release", BRAKE_NAME, "--yes", kubeconfig=plane.kubeconfig)
        assert released.code == 0, released.err
        await people.gone("due")
        assert {found["objectRef"]["name"] for found in audit.deletes(people.namespace)} == {"due"}
    finally:
        await kyverno.remove()

    paused = await skoupa("pause", "all", "--reason", "back to Kyverno", kubeconfig=plane.kubeconfig)
    assert paused.code == 0, paused.err
    await people.make("late", "1s")
    await held(process, "brake", 1)
    assert {found["objectRef"]["name"] for found in audit.deletes(people.namespace)} == {"due"}
