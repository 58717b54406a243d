"""The pitfalls of usage-based collection that are stories and no question about one state of a cluster, by their numbers, on a real server.

The others are in `test_pitfalls`, and what somebody makes anew (pitfall 11) is in `test_recreation` as well.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import msgspec
import pytest

from harness.controlplane import ControlPlane
from harness.faultproxy import FaultProxy, OtherClock, Rule
from skoupa import names
from skoupa.errors import SkoupaError
from skoupa.kube.objects import WHOLE
from skoupa.kube.resources import CONFIG_MAPS, CUSTOM_RESOURCE_DEFINITIONS, Resource
from skoupa.kube.timestamps import whole_seconds
from tests.cluster.controller.objects import AuditLog, People
from tests.cluster.controller.other_time import OtherTime
from tests.cluster.controller.running import Yard
from tests.cluster.controller.test_retention_agreed import marked
from tests.cluster.controller.test_ttl_after import DEPLOYMENTS, ON, after, mark, patches, template
from tests.cluster.reaching import eventually, faulty, until
from tests.unit.controller.stage import definition

pytestmark = pytest.mark.cluster

TASK_RUNS = Resource(group="tekton.dev", version="v1", plural="taskruns", kind="TaskRun", namespaced=True)
WORKFLOWS = Resource(
    group="argoproj.io", version="v1alpha1", plural="workflows", kind="Workflow", namespaced=True
)
ARCHIVING = "workflows.argoproj.io/workflow-archiving-status"
# Times in a sentence are whole seconds, and the line about a delete comes a moment after it.
NEARLY = 5.0


@pytest.fixture
async def proxy(plane: ControlPlane, yard: Yard) -> AsyncIterator[FaultProxy]:
    async with faulty(plane) as proxy:
        yield proxy
        # While the proxy still serves: a process that ends has a Lease to hand over.
        await asyncio.to_thread(yard.close)


async def use(people: People, config: str) -> Mapping[str, Any]:
    spec = {"replicas": 0, "selector": {"matchLabels": {"app": "web"}}, "template": template(config)}
    return await people.make("web", resource=DEPLOYMENTS, body={"spec": spec})


async def unmarked(people: People, name: str) -> None:
    async def is_unmarked() -> bool:
        return not await mark(people, name)

    await eventually(is_unmarked, what=f"the mark on {name} to be taken off", seconds=60, patiently=True)


def seconds(time: str) -> float:
    return datetime.fromisoformat(time).timestamp()


async def test_pitfall_12_a_user_that_no_watch_tells_of_saves_it_as_the_delete_leaves(
    people: People, yard: Yard, proxy: FaultProxy, tmp_path: Path, audit: AuditLog
) -> None:
    skoupa = await yard.started(kubeconfig=proxy.write_kubeconfig(tmp_path / "proxy"), **ON)
    # Long enough for whatever comes before its time is over.
    await people.make("config", labels=after("unused-12s"))
    await marked(people, "config")
    assert await proxy.silence_open()
    await use(people, "config")
    # Nobody hears of the Deployment: who could use the config is asked when its time has come, and so the mark goes.
    await unmarked(people, "config")
    assert await people.there("config")
    assert not audit.deletes(people.namespace)
    assert not skoupa.said("deleted", name="config", namespace=people.namespace)


async def test_pitfall_13_what_is_made_before_its_first_user_has_its_whole_time(
    people: People, yard: Yard
) -> None:
    await yard.started(**ON)
    await people.make("config", labels=after("unused-12s"))
    first = await marked(people, "config")
    await use(people, "config")
    await unmarked(people, "config")
    await until(lambda: people.client.clock.now() > seconds(first) + 12, what="its time to be over")
    # Its time is over later: whoever let it go has looked at both.
    other = await people.make("other", labels=after("unused-1s"))
    await people.gone(other["metadata"]["name"])
    assert await people.there("config")
    assert not await mark(people, "config")


async def test_pitfall_17_an_immutable_config_is_marked_once_by_a_manager_of_our_own_and_goes(
    people: People, yard: Yard, audit: AuditLog
) -> None:
    await yard.started(**ON)
    body = {"immutable": True, "data": {"a": "b"}}
    await people.make("config", labels=after("unused-4s"), body=body)
    await marked(people, "config")
    found = await people.client.get(CONFIG_MAPS, "config", namespace=people.namespace, view=WHOLE)
    writers = {
        one["manager"]
        for one in found["metadata"]["managedFields"]
        if names.UNNEEDED_SINCE_ANNOTATION in str(one["fieldsV1"])
    }
    assert writers == {names.COMPONENT}
    assert found["data"] == {"a": "b"}
    await people.gone("config", seconds=60)
    assert len(patches(audit, people, "config")) == 1


@pytest.fixture
async def kinds(people: People) -> AsyncIterator[None]:
    """Other tests of this control plane do without them."""
    made = [
        await people.client.create(CUSTOM_RESOURCE_DEFINITIONS, definition(one))
        for one in (TASK_RUNS, WORKFLOWS)
    ]
    yield
    for one in (TASK_RUNS, WORKFLOWS):
        # Whoever would take the finalizer off is not here.
        await people.client.merge_patch(
            one, "waits", {"metadata": {"finalizers": None}}, namespace=people.namespace
        )
    for defined in made:
        await people.remove(defined, resource=CUSTOM_RESOURCE_DEFINITIONS)

    async def gone() -> bool:
        left = [
            await people.there(one["metadata"]["name"], resource=CUSTOM_RESOURCE_DEFINITIONS) for one in made
        ]
        return not any(left)

    await eventually(gone, what="the kinds to go", seconds=60)


@pytest.mark.usefixtures("kinds")
async def test_pitfall_20_what_others_have_not_stored_yet_is_not_raced(people: People, yard: Yard) -> None:
    now = whole_seconds(people.client.clock.now())
    succeeded = {"type": "Succeeded", "status": "True", "lastTransitionTime": now}
    done = {
        TASK_RUNS: {"completionTime": now, "conditions": [succeeded]},
        WORKFLOWS: {"phase": "Succeeded", "finishedAt": now},
    }
    waiting: dict[Resource, dict[str, Any]] = {
        TASK_RUNS: {"finalizers": ["chains.tekton.dev"]},
        WORKFLOWS: {"labels": {ARCHIVING: "Pending"}},
    }
    for resource, status in done.items():
        # What is to stay is there first: whoever saw the other go has seen it.
        for name, metadata in (("waits", waiting[resource]), ("stored", {})):
            labels = {**metadata.get("labels", {}), **after("finished-1s")}
            more = {key: value for key, value in metadata.items() if key != "labels"}
            await _taken(people, name, resource, labels=labels, body={"status": status}, **more)
    skoupa = await yard.started(**ON)
    for resource in done:
        await people.gone("stored", resource=resource, seconds=60)
        found = await people.client.get(resource, "waits", namespace=people.namespace, view=WHOLE)
        assert "deletionTimestamp" not in found["metadata"]
    # The line about a delete comes a moment after it.
    await skoupa.says("deleted", namespace=people.namespace)
    assert {line["name"] for line in skoupa.said("deleted", namespace=people.namespace)} == {"stored"}


async def _taken(people: People, name: str, resource: Resource, **given: Any) -> None:
    async def taken() -> bool:
        try:
            await people.make(name, resource=resource, **given)
        except SkoupaError:
            return False
        return True

    await eventually(taken, what=f"{resource.qualified} to be served")


def changes(zone: str, since: float) -> Iterator[float]:
    """The moments at which clocks go on, or back, within two years."""
    there, at = (
        ZoneInfo(zone),
        datetime.fromtimestamp(since, tz=UTC).replace(minute=0, second=0, microsecond=0),
    )
    for _ in range(2 * 366 * 48):
        later = at + timedelta(minutes=30)
        if at.astimezone(there).utcoffset() != later.astimezone(there).utcoffset():
            yield later.timestamp()
        at = later


class Elsewhere(msgspec.Struct, frozen=True, kw_only=True):
    """Processes somewhere else on Earth, at about the moment at which the clocks change there."""

    zone: str
    change: float
    clock: OtherTime
    proxy: FaultProxy
    given: dict[str, Any]

    def be(self, moment: float) -> None:
        """From now on, for all: to be called while no process runs, none of them sees time jump."""
        ahead = moment - datetime.now(UTC).timestamp()
        self.proxy.clear()
        self.proxy.script(Rule(OtherClock(ahead), times=None))
        self.clock.be_wrong_by(ahead)

    def offset(self, moment: float) -> timedelta | None:
        return datetime.fromtimestamp(moment, ZoneInfo(self.zone)).utcoffset()


@pytest.fixture
def elsewhere(proxy: FaultProxy, tmp_path: Path, request: pytest.FixtureRequest) -> Elsewhere:
    zone, number = request.param
    now = datetime.now(UTC).timestamp()
    clock = OtherTime(tmp_path, zone=zone)
    return Elsewhere(
        zone=zone,
        change=next(islice(changes(zone, now + 86400), number, None)),
        clock=clock,
        proxy=proxy,
        given={"program": clock.program, "kubeconfig": proxy.write_kubeconfig(tmp_path / "proxy"), **ON},
    )


@pytest.mark.parametrize(
    "elsewhere",
    [("Europe/Athens", 0), ("America/New_York", 1), ("Australia/Lord_Howe", 0)],
    ids=str,
    indirect=True,
)
async def test_pitfall_16_on_a_day_on_which_clocks_change_and_with_another_leader_a_time_is_as_long_as_it_says(
    people: People, yard: Yard, elsewhere: Elsewhere
) -> None:
    """They go on by an hour, or back, or by half of one, while the time of a config runs."""
    elsewhere.be(elsewhere.change - 1800)
    marking = await yard.started(**elsewhere.given)
    await people.make("config", labels=after("unused-1h"))
    since = await marked(people, "config")
    assert since.endswith("Z")
    began, ends = seconds(since), seconds(since) + 3600
    # Its connections go through the proxy, which serves on.
    await asyncio.to_thread(marking.end)
    elsewhere.be(elsewhere.change - 5)
    seeing = await yard.started(**elsewhere.given)
    await until(
        lambda: elsewhere.clock.now() > elsewhere.change + 1, what="the clocks to change", patiently=True
    )
    assert await people.there("config")
    await asyncio.to_thread(seeing.end)
    assert not seeing.said("deleted", name="config", namespace=people.namespace)
    elsewhere.be(ends - 6)
    deleting = await yard.started(**elsewhere.given)
    deleted = await deleting.says("deleted", name="config", namespace=people.namespace, seconds=90)
    assert since in deleted["why"]
    (ready,) = deleting.said("ready")
    assert ends <= seconds(deleted["time"]) < max(ends, seconds(ready["time"])) + NEARLY
    assert elsewhere.offset(began) != elsewhere.offset(ends), "clocks changed meanwhile"
