"""Least privilege on a real authorizer: rights in some namespaces only, rights that are lost and come back."""

from __future__ import annotations

import asyncio
import secrets
from datetime import datetime

import pytest

from harness.controlplane import ControlPlane
from skoupa.kube.resources import CONFIG_MAPS, NAMESPACES
from tests.cluster.controller.impatient import IMPATIENT, SECONDS
from tests.cluster.controller.objects import AuditLog, People, grant
from tests.cluster.controller.running import Skoupa, Yard
from tests.cluster.reaching import eventually, until

pytestmark = pytest.mark.cluster

# What the process needs in its own namespace, and what a kind needs that it looks after.
OWN = [
    ("get create update", "coordination.k8s.io", "leases"),
    ("get create patch", "", "configmaps"),
]
EVENTS = ("create", "events.k8s.io", "events")
ENOUGH = ("list watch delete", "", "configmaps secrets")


async def neighbours(people: People) -> People:
    name = f"neighbours-{secrets.token_hex(4)}"
    await people.client.create(NAMESPACES, {"metadata": {"name": name}})
    return People(people.client, name)


async def test_with_rights_in_some_namespaces_only_it_works_there(
    plane: ControlPlane, people: People, yard: Yard, audit: AuditLog
) -> None:
    user = f"sweeper-{secrets.token_hex(4)}"
    boss, other = people.client, await neighbours(people)
    await grant(boss, user, OWN, namespace=yard.home)
    await grant(boss, user, [ENOUGH, EVENTS], namespace=people.namespace)
    process = await yard.started(
        program=IMPATIENT,
        kubeconfig=plane.kubeconfig_for(user=user),
        namespaces=f"{people.namespace},{yard.home}",
    )
    for poorer in ("new kinds are noticed every 5 min", "keep labels on Namespaces are not seen"):
        await until(lambda said=poorer: said in _degraded(process), what=poorer)  # type: ignore[misc]

    await people.make("web", "3s")
    await people.make("busy", "3s")
    await other.make("web", "1s")
    writers = [asyncio.create_task(_write(people, number)) for number in range(3)]
    await people.gone("web")
    await people.gone("busy")
    for writer in writers:
        writer.cancel()
    await asyncio.gather(*writers, return_exceptions=True)
    assert await other.there("web")
    event = await people.event("web", "SkoupaDeleted")
    assert event["reportingComponent"] == "skoupa"

    mine = [entry for entry in audit.entries() if entry["user"]["username"] == user and "objectRef" in entry]
    refused = {
        (entry["verb"], entry["objectRef"]["resource"])
        for entry in mine
        if entry["responseStatus"]["code"] == 403
    }
    # Asked for once each, to learn that they are not granted; a fresh look at a busy object tries get first.
    assert refused <= {
        ("watch", "customresourcedefinitions"),
        ("watch", "apiservices"),
        ("get", "configmaps"),
    }
    reviews = [entry for entry in mine if entry["objectRef"]["resource"].startswith("selfsubject")]
    assert not [entry for entry in reviews if entry["objectRef"]["resource"] == "selfsubjectaccessreviews"]
    # Of each look, of which there is one every few seconds.
    times = [datetime.fromisoformat(entry["requestReceivedTimestamp"]).timestamp() for entry in reviews]
    assert len(reviews) <= 6 * (1 + (max(times) - min(times)) / SECONDS)


def _degraded(process: Skoupa) -> str:
    return " ".join(line["why"] for line in process.said("degraded"))


async def _write(people: People, number: int) -> None:
    beat = 0
    while True:
        beat += 1
        patch = {"metadata": {"annotations": {f"beat-{number}": str(beat)}}}
        await people.client.merge_patch(CONFIG_MAPS, "busy", patch, namespace=people.namespace)


async def test_a_right_that_is_lost_is_shown_as_a_hold_and_its_return_lets_go(
    plane: ControlPlane, people: People, yard: Yard, audit: AuditLog
) -> None:
    user = f"sweeper-{secrets.token_hex(4)}"
    boss = people.client
    await grant(boss, user, OWN, namespace=yard.home)
    await grant(boss, user, [("list watch", "*", "*"), EVENTS])
    deletes = [("delete", "", "configmaps")]
    right = await grant(boss, user, deletes)
    process = await yard.started(program=IMPATIENT, kubeconfig=plane.kubeconfig_for(user=user))
    await people.make("first", "1s")
    await people.gone("first")

    await right.revoke()
    for number in range(20):
        await people.make(f"web-{number}", "1s")
    held = await process.says("held", namespace=people.namespace, name="web-7")
    assert held["why"] == f"no permission: delete configmaps in {people.namespace}"

    async def all_held() -> bool:
        return await process.metric('skoupa_holds{reason="no-permission"}') == 20

    await eventually(all_held, what="all to be held")
    assert len(audit.deletes(people.namespace)) <= 21
    await grant(boss, user, deletes)
    await people.gone("web-7", seconds=75)
    await people.gone("web-19")
    assert process.running


async def test_a_right_to_read_that_is_lost_is_told_and_what_was_due_is_still_counted(
    plane: ControlPlane, people: People, yard: Yard
) -> None:
    """The server does not end a watch whose right is gone: the rights are asked for once a minute."""
    user = f"sweeper-{secrets.token_hex(4)}"
    boss = people.client
    await grant(boss, user, OWN, namespace=yard.home)
    await grant(boss, user, [("list watch", "", "namespaces"), EVENTS])
    everything = [("list watch delete", "", "configmaps secrets")]
    right = await grant(boss, user, everything)
    process = await yard.started(program=IMPATIENT, kubeconfig=plane.kubeconfig_for(user=user))
    assert await process.metric('skoupa_blind_kinds{state="lost"}') == 0
    await people.make("web", "20s")
    await _known(process, 1)

    await right.revoke()
    said = await process.says("can't be read any more", seconds=90)
    assert said["level"] == "warning"
    assert said["kinds"] == "configmaps, secrets"
    assert int(said["objects"]) == 1
    assert await process.metric('skoupa_blind_kinds{state="lost"}') == 2

    async def counted() -> bool:
        return await process.metric('skoupa_holds{reason="unseen"}') == 1

    await eventually(counted, what="what was due to be counted")
    assert await people.there("web")
    await grant(boss, user, everything)
    await people.gone("web", seconds=75)
    assert len(process.said("can't be read any more")) == 1


async def _known(process: Skoupa, count: int) -> None:
    async def known() -> bool:
        return (await process.metric("skoupa_agenda") or 0) >= count

    await eventually(known, what="the object to be known")
