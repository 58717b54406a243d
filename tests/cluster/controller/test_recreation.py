"""What somebody makes anew each time that it goes: told, backed off with growing pauses, shown, and never forgotten.

The pauses are minutes. So a test moves the whole world on by as much: the clock of the process, and the server's as the
process sees it, which is all that it knows of the time.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from harness.controlplane import ControlPlane
from harness.faultproxy import FaultProxy, OtherClock, Rule
from skoupa import names
from skoupa.kube.lists import Scope, everything
from skoupa.kube.objects import METADATA, WHOLE
from skoupa.kube.resources import CONFIG_MAPS, Resource
from tests.cluster.commands import skoupa
from tests.cluster.controller.objects import AuditLog, People
from tests.cluster.controller.other_time import OtherTime
from tests.cluster.controller.running import Skoupa, Yard
from tests.cluster.reaching import eventually, faulty, until

pytestmark = pytest.mark.cluster

PODS = Resource(version="v1", plural="pods", kind="Pod", namespaced=True)
DEPLOYMENTS = Resource(group="apps", version="v1", plural="deployments", kind="Deployment", namespaced=True)
FREE_ROUNDS = 3
# Times in a sentence are whole seconds, and the line about a delete comes a moment after it.
NEARLY = 5.0


class World:
    def __init__(self, proxy: FaultProxy, clock: OtherTime) -> None:
        self._proxy = proxy
        self._clock = clock
        self._ahead = 0.0

    def move_on(self, seconds: float) -> None:
        self._ahead += seconds
        self._proxy.clear()
        self._proxy.script(Rule(OtherClock(self._ahead), times=None))
        self._clock.be_wrong_by(self._ahead)


@pytest.fixture
async def proxy(plane: ControlPlane, yard: Yard) -> AsyncIterator[FaultProxy]:
    async with faulty(plane) as proxy:
        yield proxy
        # While the proxy still serves: a process that ends has a Lease to hand over.
        await asyncio.to_thread(yard.close)


@pytest.fixture
def clock(tmp_path: Path) -> OtherTime:
    return OtherTime(tmp_path)


@pytest.fixture
async def process(proxy: FaultProxy, clock: OtherTime, yard: Yard, tmp_path: Path) -> Skoupa:
    return await yard.started(program=clock.program, kubeconfig=proxy.write_kubeconfig(tmp_path / "proxy"))


@pytest.fixture
async def deployment(people: People) -> AsyncIterator[Mapping[str, Any]]:
    """Its Pods take the label from its template. Nobody runs them here; a Pod on no node goes at once."""
    labels = {"app": "web"}
    template = {
        "metadata": {"labels": {**labels, names.TTL_LABEL: "2s"}},
        "spec": {"containers": [{"name": "web", "image": "web"}]},
    }
    body = {"spec": {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}}
    made = await people.make("web", resource=DEPLOYMENTS, body=body)
    yield made
    await people.remove(made, resource=DEPLOYMENTS)

    async def none_left() -> bool:
        scope = Scope(namespace=people.namespace)
        return not (await everything(people.client, PODS, METADATA, scope=scope)).items

    await eventually(none_left, what="the Pods to go with their Deployment", seconds=60)


async def test_a_pod_of_a_living_deployment_goes_is_said_to_come_back_and_the_loop_is_backed_off(
    deployment: Mapping[str, Any],
    people: People,
    process: Skoupa,
    proxy: FaultProxy,
    clock: OtherTime,
) -> None:
    first = await process.says("deleted", kind="pods", namespace=people.namespace, seconds=60)
    controller, _, said = first["note"].partition(" will ")
    assert controller.startswith(f"ReplicaSet {deployment['metadata']['name']}-")
    assert said == "create it again"
    event = await people.event(first["name"], "SkoupaDeleted", kind="Pod")
    assert event["message"].endswith(first["note"])

    held = await _held(process, people, why=f"{controller} made another one {FREE_ROUNDS} times")
    event = await people.event(held["name"], "SkoupaHeld", kind="Pod")
    assert event["type"] == "Warning"
    assert len(process.said("deleted", kind="pods", namespace=people.namespace)) == FREE_ROUNDS
    assert held["why"] in event["message"]
    assert await process.metric('skoupa_holds{reason="re-created-by"}') == 1
    for words in (("explain", f"pod/{held['name']}"), ("plan", "pods")):
        told = await skoupa(*words, "-n", people.namespace, kubeconfig=process.kubeconfig)
        assert told.code == 0, told.err
        assert f"{controller} will create it again" in told.out
    assert await people.there(held["name"], resource=PODS)
    assert not process.said("deleted", name=held["name"])

    World(proxy, clock).move_on(61)
    await people.gone(held["name"], resource=PODS, seconds=60)


@pytest.mark.parametrize("dsn", ["", "none"], ids=["with a ledger", "without a ledger"])
@pytest.mark.usefixtures("deployment")
async def test_a_loop_is_still_backed_off_after_a_kill(people: People, yard: Yard, dsn: str) -> None:
    settings = {"lease__seconds": "3", **({"ledger__dsn": dsn} if dsn else {})}
    process = await yard.started(**settings)
    held = await _held(process, people, why=f"made another one {FREE_ROUNDS} times")

    async def written() -> bool:
        """The template gives its label to the ReplicaSet too, whose own loop is written first."""
        state = await people.client.get(CONFIG_MAPS, "skoupa-state", namespace=yard.home, view=WHOLE)
        loops = json.loads(state["data"].get("recreations", "[]"))
        return any(loop["of"][:2] == ["pods", people.namespace] for loop in loops)

    await eventually(written, what="the loop of the Pods to be remembered")
    process.kill()
    process = await yard.started(**settings)
    again = await process.says("held", name=held["name"], namespace=people.namespace, seconds=60)
    assert again["why"] == held["why"]
    assert not process.said("deleted", namespace=people.namespace)
    assert await people.there(held["name"], resource=PODS)


async def test_an_object_that_is_made_again_under_its_name_waits_longer_each_time_and_goes_each_time(
    people: People, process: Skoupa, proxy: FaultProxy, clock: OtherTime, audit: AuditLog
) -> None:
    world = World(proxy, clock)
    metadata = {"name": "web", "labels": {names.TTL_LABEL: "1s"}}
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}

    async def put_back() -> None:
        await people.client.apply(CONFIG_MAPS, body, namespace=people.namespace, manager="gitops")

    for _ in range(FREE_ROUNDS):
        await put_back()
        await people.gone("web")
    pauses = []
    for number in range(3):
        await put_back()
        count = FREE_ROUNDS + number
        held = await _held(process, people, why=f"it came back {count} times")
        deleted = process.said("deleted", name="web", namespace=people.namespace)
        assert len(deleted) == count
        why, _, end = held["why"].rpartition(" ")
        made = f"it came back {count} times after it was deleted, made by gitops"
        assert why == f"{made}, so the next try is not before"
        pauses.append(_seconds(end) - _seconds(deleted[-1]["time"]))
        assert await process.metric('skoupa_holds{reason="re-created-with"}') == 1
        assert await people.there("web")
        world.move_on(pauses[-1] + 1)
        await people.gone("web", seconds=60)
    assert pauses == [pytest.approx(wanted, abs=NEARLY) for wanted in (60, 120, 240)]
    events = await people.events("web")
    told = [event["message"] for event in events if event["reason"] == "SkoupaHeld"]
    assert any(f"it came back {FREE_ROUNDS} times" in message for message in told)
    uids = [entry["requestObject"]["preconditions"]["uid"] for entry in audit.deletes(people.namespace)]
    assert len(set(uids)) == len(uids) == FREE_ROUNDS + 3


async def _held(process: Skoupa, people: People, *, why: str) -> dict[str, Any]:
    """The line that says so; a Pod that the server has not quite deleted yet is said to be held, too."""

    def said() -> list[dict[str, Any]]:
        held = process.said("held", namespace=people.namespace)
        return [line for line in held if f"{why} after " in line["why"]]

    return (await until(said, what=f"something to be held, since {why}", seconds=60))[0]


def _seconds(time: str) -> float:
    return datetime.fromisoformat(time).timestamp()
