"""Beside a living Kyverno cleanup controller, on a real server: what it is known by, the Brake, and its release."""

from __future__ import annotations

import secrets

import pytest

from harness.controlplane import ControlPlane
from skoupa import names
from skoupa.controller.kyverno.beside import BRAKE_NAME, LOOK_SECONDS
from skoupa.controller.kyverno.living import KyvernoLeases
from skoupa.errors import Forbidden, NotFound
from skoupa.install.rights import rights
from skoupa.kinds.brake import BRAKES
from skoupa.kube.access import Access
from skoupa.kube.client import Client
from skoupa.kube.lists import everything
from skoupa.kube.objects import METADATA
from skoupa.kube.resources import LEASES
from tests.cluster.commands import skoupa
from tests.cluster.controller.braking import brake, held, release
from tests.cluster.controller.impatient import IMPATIENT
from tests.cluster.controller.kyverno import living
from tests.cluster.controller.objects import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, RBAC, AuditLog, People
from tests.cluster.controller.running import Yard
from tests.cluster.reaching import connected, eventually

pytestmark = pytest.mark.cluster


async def test_beside_kyverno_nothing_goes_before_somebody_releases_the_brake_and_then_all_does(
    plane: ControlPlane, boss: Client, people: People, running: Yard, audit: AuditLog
) -> None:
    async with living(boss) as kyverno:
        process = await running.started(program=IMPATIENT, lease__seconds="5")
        made = await brake(people, BRAKE_NAME)
        assert made["spec"]["scope"] == {"all": True}
        assert f"(Lease {kyverno.lease}, renewed " in made["spec"]["reason"]
        await people.make("web", "1s")
        await held(process, "brake", 1)
        assert not audit.deletes(people.namespace)
        assert await process.metric('skoupa_kyverno{state="alive"}') == 1
        assert await process.metric('skoupa_kyverno{state="accepted"}') == 0
        assert await process.metric('skoupa_trips_total{span="kyverno"}') == 1
        said = await process.says("kyverno is alive", lease=kyverno.lease)
        assert said["means"] == "nothing goes: the Brake kyverno-alive holds everything"

        released = await skoupa("brakes", "release", BRAKE_NAME, "--yes", kubeconfig=plane.kubeconfig)
        assert released.code == 0, released.err
        await people.gone("web")
        process.kill()

        again = await running.started(program=IMPATIENT, lease__seconds="5")
        await people.make("late", "1s")
        await people.gone("late")
        assert not again.said("brake pulled")
        said = await again.says("kyverno is alive", lease=kyverno.lease)
        assert said["means"] == "both delete: the Brake kyverno-alive was released"
        with pytest.raises(NotFound):
            await people.client.get(BRAKES, BRAKE_NAME, view=METADATA)


async def test_a_kyverno_that_comes_later_makes_a_brake_and_no_crash(
    boss: Client, people: People, running: Yard, audit: AuditLog
) -> None:
    process = await running.started(program=IMPATIENT)
    await people.make("early", "1s")
    await people.gone("early")
    async with living(boss):
        await process.says("brake pulled", name=BRAKE_NAME, seconds=LOOK_SECONDS + 30)
        await brake(people, BRAKE_NAME)
        await people.make("late", "1s")
        await held(process, "brake", 1)
        assert {entry["objectRef"]["name"] for entry in audit.deletes(people.namespace)} <= {"early"}
        assert process.running
    # Kyverno is gone by now, and the Brake is still there.
    await release(people, BRAKE_NAME)
    await people.gone("late")


async def test_an_observer_beside_kyverno_tells_of_it_and_writes_nothing(
    boss: Client, people: People, running: Yard, audit: AuditLog
) -> None:
    async with living(boss) as kyverno:
        process = await running.started(program=IMPATIENT, enforce=False)
        said = await process.says("kyverno is alive", lease=kyverno.lease)
        assert said["level"] == "info"
        await people.make("web", "1s")
        await process.says("would delete", name="web", namespace=people.namespace)
        writes = [
            entry
            for entry in audit.entries()
            if entry["verb"] not in {"get", "list", "watch"}
            and not entry["objectRef"]["resource"].startswith("selfsubject")
        ]
        assert not writes


async def test_the_setting_lets_both_delete(boss: Client, people: People, running: Yard) -> None:
    async with living(boss):
        process = await running.started(program=IMPATIENT, besideKyverno="enforce")
        await people.make("web", "1s")
        await people.gone("web")
        assert not process.said("brake pulled")
        assert await process.metric('skoupa_kyverno{state="accepted"}') == 1


async def test_its_leases_are_asked_for_by_name_with_one_request(
    people: People, running: Yard, audit: AuditLog
) -> None:
    await running.started(program=IMPATIENT, enforce=False)

    async def asked() -> list[str]:
        return [
            str(entry["requestURI"])
            for entry in audit.entries()
            if names.KYVERNO_CLEANUP_LEASE in str(entry["requestURI"])
        ]

    # One request for each look, of which there may be a second one by now.
    (uri,) = set(await eventually(asked, what="the look for Kyverno"))
    assert uri.startswith("/apis/coordination.k8s.io/v1/leases?")


async def test_the_right_that_the_installation_grants_is_enough_to_notice_it(
    plane: ControlPlane, boss: Client
) -> None:
    user = f"reader-{secrets.token_hex(4)}"
    (right,) = [
        right
        for right in rights((), kinds=(), lease="skoupa")
        if right.names == (names.KYVERNO_CLEANUP_LEASE,)
    ]
    await boss.create(CLUSTER_ROLES, {"metadata": {"name": user}, "rules": [right.rule()]})
    binding = {
        "metadata": {"name": user},
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": user},
        "subjects": [{"apiGroup": RBAC, "kind": "User", "name": user}],
    }
    await boss.create(CLUSTER_ROLE_BINDINGS, binding)
    async with living(boss) as kyverno, connected(plane.kubeconfig_for(user=user)) as client:
        access = Access(client, clock=client.clock, fresh_seconds=0)

        async def granted() -> bool:
            return await access.may("list", LEASES, name=names.KYVERNO_CLEANUP_LEASE)

        await eventually(granted, what="the role to count")
        leases = KyvernoLeases(client)
        await leases.look()
        assert [one.lease for one in leases.living()] == [kyverno.lease]
        with pytest.raises(Forbidden):
            await everything(client, LEASES, METADATA)
