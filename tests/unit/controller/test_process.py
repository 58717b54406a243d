"""`skoupa run` as a process: who leads, who takes over and when, how it ends, and what it says about itself."""

from __future__ import annotations

from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from skoupa.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, LEASES, Resource
from skoupa.report.metrics import METRICS
from skoupa.sim.faults import asking
from skoupa.sim.state.access import Rule
from tests.unit.controller.replicas import replicas
from tests.unit.controller.stage import HOME, MINUTE, WIDGETS, Stage, definition, story
from tests.unit.controller.test_kinds_and_rights import ENOUGH, OWN

pytestmark = pytest.mark.unit

LEADING = Rule(verbs=("get", "create", "update", "patch"), resources=("leases.coordination.k8s.io",))


def holder(stage: Stage) -> str:
    leases = stage.cluster.objects(LEASES, namespace=HOME)
    return str(leases[0]["spec"].get("holderIdentity") or "") if leases else ""


@story()
async def test_of_two_replicas_one_acts(stage: Stage) -> None:
    async with replicas(stage, 2) as both:
        for number in range(30):
            await stage.make(f"web-{number}", "1m")
        await stage.until(65)
        assert not stage.found()
        assert sorted(len(replica.cable.deletes) for replica in both) == [0, 30]
        assert sum(replica.leads for replica in both) == 1


@story()
async def test_who_is_told_to_stop_hands_over_at_once(stage: Stage) -> None:
    async with replicas(stage, 2) as both:
        await stage.make("web", "1m")
        first, second = sorted(both, key=lambda replica: not replica.leads)
        await stage.until(59)
        await first.stop()
        assert first.events[-2:] == ["stopping", "stopped"]
        await stage.until(65)
        assert second.leads
        assert not stage.there("web")
        assert second.cable.deletes


@story()
async def test_who_is_killed_is_followed_within_the_lease_time_and_nothing_is_lost_or_doubled(
    stage: Stage,
) -> None:
    async with replicas(stage, 2, rate={"deletionsPerSecond": 20}) as both:
        for number in range(400):
            await stage.make(f"web-{number}", "1m")
        first, second = sorted(both, key=lambda replica: not replica.leads)
        await stage.until(MINUTE + 6)
        left = len(stage.found())
        assert 200 < left < 400
        await first.kill()
        await stage.later(15)
        assert second.leads
        await stage.later(20)
        assert not stage.found()
        paths = first.cable.deletes + second.cable.deletes
        assert len(paths) == len(set(paths)) == 400


@story()
async def test_who_can_not_reach_the_server_stops_leading_before_the_other_begins(stage: Stage) -> None:
    async with replicas(stage, 2) as both:
        first, second = sorted(both, key=lambda replica: not replica.leads)
        first.cable.pulled = True
        led_together = 0
        for _ in range(300):
            await stage.later(0.1)
            led_together += first.leads and second.leads
        assert led_together == 0
        assert second.leads
        first.cable.pulled = False
        await stage.make("web", "1m")
        await stage.later(2 * MINUTE)
        assert not stage.there("web")
        assert not first.leads
        assert "not leading any more" in first.events


@story()
async def test_deletes_that_hang_do_not_cost_the_lead(stage: Stage) -> None:
    async with replicas(stage, 1) as (replica,):
        stage.cluster.faults.delay(60, when=asking(method="DELETE"), times=None)
        for number in range(100):
            await stage.make(f"web-{number}", "1m")
        await stage.until(20 * MINUTE)
        assert "not leading any more" not in replica.events, replica.lines[-5:]
        assert replica.leads
        stage.cluster.faults.clear()
        await stage.later(3 * MINUTE)
        assert not stage.found()


@story()
async def test_a_short_lease_is_renewed_often_enough(stage: Stage) -> None:
    """The default time between two tries would lose a lease of three seconds again and again."""
    async with replicas(stage, 1, lease={"seconds": 3}) as (replica,):
        await stage.later(10 * MINUTE)
        assert replica.events.count("leading") == 1


@story()
async def test_a_server_that_is_not_there_yet_is_waited_for_and_a_signal_ends_the_wait(stage: Stage) -> None:
    stage.cluster.restart(seconds=120)
    async with replicas(stage, 2) as (first, second):
        await stage.until(100)
        assert "waiting for the server" in first.events
        before = stage.now
        await first.stop()
        assert stage.now - before < 10
        await stage.until(200)
        assert "leading" in second.events


@story()
async def test_a_lease_that_may_not_be_had_is_said(stage: Stage) -> None:
    stage.cluster.deny(resources=("leases.coordination.k8s.io",))
    async with replicas(stage, 1) as (replica,):
        await stage.make("web", "1m")
        await stage.until(5 * MINUTE)
        assert stage.there("web")
        assert not replica.leads
        (trouble,) = (line for line in replica.lines if line["event"] == "trouble")
        assert trouble["what"] == "lease"
        assert "forbidden" in trouble["error"]


@story()
async def test_an_observer_takes_no_lease(stage: Stage) -> None:
    async with replicas(stage, 2, mode="observe") as both:
        await stage.make("web", "1m")
        await stage.until(2 * MINUTE)
        assert not holder(stage)
        assert all("would delete" in replica.events for replica in both)


@story()
async def test_the_last_events_are_told_before_the_process_ends(stage: Stage) -> None:
    async with replicas(stage, 1) as (replica,):
        for number in range(300):
            await stage.make(f"a-name-that-is-long-enough-to-fill-a-note-{number}", "1m")
        await stage.until(MINUTE)
        while stage.found():
            await stage.later(0.1)
        await replica.stop()
        told = [
            name
            for event in stage.events("SkoupaDeleted")
            for name in event["note"].partition(": ")[2].split(", ")
        ]
        assert len(told) == 300


@story()
async def test_a_protection_that_protects_nothing_is_told_after_each_change_of_the_kinds_until_it_does(
    stage: Stage,
) -> None:
    gear = Resource(group="shop.example", version="v1", plural="gears", kind="Gear", namespaced=True)
    protect = {"kinds": ["Widget", "widget.shop.example"], "names": ["Poood/web", "configmap/x"]}
    async with replicas(stage, 1, protect=protect) as (replica,):

        def told() -> list[str]:
            return [line["why"] for line in replica.lines if line["event"] == "protection in doubt"]

        def empty(setting: str) -> float | None:
            registry = replica.process.metrics.registry
            return registry.get_sample_value("skoupa_protect_empty", {"setting": setting})

        await stage.later(30 * MINUTE)
        assert len(told()) == 3, "once, as long as the kinds are the same"
        assert "'Widget' protects nothing: there is no such kind" in told()[0]
        assert (empty("kinds"), empty("names")) == (2, 1)
        await stage.people.create(CUSTOM_RESOURCE_DEFINITIONS, definition(gear))
        await stage.later(MINUTE)
        assert len(told()) == 6
        await stage.people.create(CUSTOM_RESOURCE_DEFINITIONS, definition(WIDGETS))
        await stage.later(MINUTE)
        assert len(told()) == 7
        assert "'Poood/web' protects nothing" in told()[-1]
        assert (empty("kinds"), empty("names")) == (0, 1)
        await stage.make("gear", "1m", resource=WIDGETS)
        await stage.later(5 * MINUTE)
        assert stage.there("gear", WIDGETS)


@story()
async def test_settings_that_name_what_is_not_there_are_told_until_it_is(stage: Stage) -> None:
    settings: dict[str, Any] = {
        "watchAlso": ["leases", "Widgett"],
        "namespaces": ["shop", "shopp"],
        "cascade": {"ignoreKinds": ["events", "Lease", "*.metrics.k8s.io", "*.nosuch.example"]},
        "brakes": {"parents": ["ConfigMap", "applications.argoproj.io", "Databse"]},
        "trash": {"ignoreKinds": ["events", "configmap"]},
    }
    async with replicas(stage, 1, **settings) as (replica,):

        def told() -> list[str]:
            return [line["why"] for line in replica.lines if line["event"] == "setting in doubt"]

        await stage.later(10 * MINUTE)
        assert len(told()) == 6
        assert any(
            said.startswith("watchAlso: 'Widgett' names nothing: the server has no") for said in told()
        )
        assert "namespaces: there is no namespace shopp; check the name" in told()
        assert any("'Lease' names nothing: write leases.coordination.k8s.io" in said for said in told())
        assert any("the server has no group nosuch.example" in said for said in told())
        assert any(said.startswith("brakes.parents: 'Databse' names nothing: ") for said in told())
        assert "trash.ignoreKinds: 'configmap' names nothing: write configmaps" in told()
        await stage.namespace("shopp")
        await stage.later(2 * MINUTE)
        assert len(told()) == 6
        assert len(replica.process.engine.outlook.setting_doubts) == 5


@story()
async def test_every_metric_of_the_table_is_exposed_and_no_other(stage: Stage) -> None:
    async with replicas(stage, 1) as (replica,):
        await stage.make("web", "1m")
        await stage.make("kept", "1m", keep="true")
        await stage.make("bad", "2days")
        await stage.until(2 * MINUTE)
        families = list(text_string_to_metric_families(replica.process.metrics.exposition().decode()))
        exposed = {family.name + ("_total" if family.type == "counter" else "") for family in families}
        assert exposed == set(METRICS)
        samples = {
            (sample.name, tuple(sorted(sample.labels.items()))): sample.value
            for family in families
            for sample in family.samples
        }
        assert samples["skoupa_deletions_total", (("kind", "configmaps"), ("mechanism", "ttl"))] == 1
        assert samples["skoupa_holds", (("reason", "kept"),)] == 1
        assert samples["skoupa_oldest_overdue_seconds", (("reason", "kept"),)] == pytest.approx(55, abs=2)
        assert samples["skoupa_leading", ()] == 1
        assert samples["skoupa_events_total", (("outcome", "told"),)] == 2
        assert samples["skoupa_watches", (("state", "following"),)] > 5
        deletes = (("kind", "configmaps"), ("outcome", "200"), ("verb", "delete"))
        assert samples["skoupa_requests_total", deletes] == 1


@story()
async def test_a_right_to_read_that_is_lost_is_told_and_what_was_due_stays_visible(stage: Stage) -> None:
    """An empty store and a quiet log would look like a cluster in which nothing is due."""
    everything = [*OWN, LEADING, Rule(verbs=ENOUGH)]
    stage.cluster.allow_only("sweeper", everything)
    async with replicas(stage, 1, user="sweeper") as (replica,):

        def value(metric: str, **labels: str) -> float | None:
            return replica.process.metrics.registry.get_sample_value(metric, labels)

        assert value("skoupa_blind_kinds", state="lost") == 0
        assert value("skoupa_blind_kinds", state="never-read") == 0
        assert value("skoupa_holds", reason="unseen") == 0
        await stage.make("web", "10m")
        await stage.make("later", "5h")
        await stage.make("kept", "10m", keep="true")
        await stage.later(5 * MINUTE)
        stage.cluster.allow_only("sweeper", [*OWN, LEADING])
        await stage.later(10 * MINUTE)
        (line,) = (line for line in replica.lines if line["event"] == "can't be read any more")
        assert line["level"] == "warning"
        assert "configmaps" in line["kinds"].split(", ")
        assert "pods" in line["kinds"].split(", ")
        assert line["why"] == "no permission: list and watch"
        assert int(line["objects"]) == 3
        assert value("skoupa_blind_kinds", state="lost") == len(line["kinds"].split(", "))
        assert value("skoupa_holds", reason="unseen") == 1, "neither what is kept nor what has time"
        overdue = value("skoupa_oldest_overdue_seconds", reason="unseen")
        assert overdue == pytest.approx(5 * MINUTE, abs=10)
        assert value("skoupa_watches", state="following") == 0
        stage.cluster.allow_only("sweeper", everything)
        await stage.later(3 * MINUTE)
        assert not stage.there("web")
        assert value("skoupa_blind_kinds", state="lost") == 0
        assert value("skoupa_holds", reason="unseen") == 0
        (line,) = (line for line in replica.lines if line["event"] == "can be read again")
        assert "configmaps" in line["kinds"].split(", ")


@story()
async def test_namespaces_that_can_not_be_listed_any_more_are_said_to_hold_what_is_in_them(
    stage: Stage,
) -> None:
    stage.cluster.allow_only("sweeper", [*OWN, LEADING, Rule(verbs=ENOUGH)])
    async with replicas(stage, 1, user="sweeper") as (replica,):
        await stage.make("web", "5m")
        stage.cluster.deny(user="sweeper", verbs=("list", "watch"), resources=("namespaces",))
        await stage.later(10 * MINUTE)
        assert stage.there("web")
        (said,) = (line["why"] for line in replica.lines if "list namespaces" in line.get("why", ""))
        assert "what is in namespaces is held until the right is back" in said
