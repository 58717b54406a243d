"""Every pitfall of usage-based collection by its number, in a running controller: what `skoupa unused` says of a cluster, it does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from datetime import datetime
from typing import Any

import pytest
import yaml

from skoupa import names
from skoupa.kube.resources import CONFIG_MAPS, Resource
from skoupa.sim.clock import START
from skoupa.sim.content import manifests
from skoupa.sim.state.kinds import BUILT_IN
from tests.unit.controller.retaining.scene import KINDS, ON, after, mark_of, patches, said, workload
from tests.unit.controller.retaining.test_last_looks import follows_all_deployments
from tests.unit.controller.stage import DAY, HOUR, MINUTE, SHOP, Stage, story
from tests.unit.usage.pitfalls.making import Case, old
from tests.unit.usage.pitfalls.table import CASES
from tests.unit.zones import in_zone

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("case", [case for case in CASES if not case.reported], ids=str)
def test_it_goes_unless_something_needs_it(case: Case) -> None:
    @story(also=(*KINDS, *_built_in(case)), features=ON)
    async def told(stage: Stage) -> None:
        stage.cluster.load(manifests.parse(yaml.safe_dump_all(_labelled(case, stage)), file="the test"))
        if case.unreadable:
            stage.cluster.deny(user="skoupa", verbs=("list", "watch"), resources=case.unreadable)
        await stage.play(user="skoupa" if case.unreadable else "")
        await stage.later(10 * MINUTE)
        assert _there(stage, case.of) == case.kept
        assert not _there(stage, case.other)

    told()


@story(also=KINDS, features=ON)
async def test_pitfall_12_a_user_that_comes_right_before_the_end_saves_it(stage: Stage) -> None:
    """No watch tells of it in time: who could use it is asked once more as the delete leaves."""
    play = await stage.play()
    stage.cluster.faults.silence_watch(when=follows_all_deployments, after=1)
    await stage.make("config", labels=after("unused-5m"))
    await stage.later(5 * MINUTE - 1)
    await workload(stage, "web", "config")
    await stage.later(5 * MINUTE)
    assert stage.there("config")
    assert "Deployment shop/web uses it" in said(play, "config")


@story(also=KINDS, features=ON)
async def test_pitfall_13_what_is_made_before_its_first_user_has_its_whole_time(stage: Stage) -> None:
    await stage.play()
    await stage.make("config", labels=after("unused-5m"), creationTimestamp=stage.time(-DAY))
    await stage.later(4 * MINUTE)
    await workload(stage, "web", "config")
    await stage.later(10 * MINUTE)
    assert stage.there("config")
    assert mark_of(stage, "config") is None


@pytest.mark.parametrize("zone", ["Europe/Athens", "America/New_York", "Australia/Lord_Howe"])
@story(also=KINDS, features=ON)
async def test_pitfall_16_times_are_utc_and_no_change_of_leader_starts_them_anew(
    stage: Stage, zone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with in_zone(zone, monkeypatch):
        first = await stage.play()
        await stage.make("config", labels=after("unused-2h"))
        await stage.later(MINUTE)
        marked = mark_of(stage, "config")
        assert marked is not None
        assert marked.endswith("Z")
        assert START <= datetime.fromisoformat(marked).timestamp() <= START + MINUTE
        await stage.later(HOUR)
        await first.kill()
        await stage.play()
        await stage.later(HOUR - 2 * MINUTE)
        assert mark_of(stage, "config") == marked
        await stage.later(2 * MINUTE)
        assert not stage.there("config")


@story(also=KINDS, features=ON)
async def test_pitfall_17_an_immutable_config_is_marked_once_by_a_manager_of_our_own_and_goes(
    stage: Stage,
) -> None:
    play = await stage.play()
    body = {
        "metadata": {"name": "config", "labels": after("unused-1h")},
        "immutable": True,
        "data": {"a": "b"},
    }
    await stage.people.create(CONFIG_MAPS, body, namespace=SHOP)
    await stage.later(50 * MINUTE)
    assert len(patches(play, "config")) == 1
    found = next(
        one
        for one in stage.cluster.objects(CONFIG_MAPS, namespace=SHOP)
        if one["metadata"]["name"] == "config"
    )
    assert found["data"] == {"a": "b"}
    managers = {
        one["manager"]
        for one in found["metadata"]["managedFields"]
        if "unneeded-since" in str(one["fieldsV1"])
    }
    assert managers == {names.COMPONENT}
    await stage.later(11 * MINUTE)
    assert not stage.there("config")


@pytest.mark.parametrize(
    ("kind", "metadata"),
    [
        (
            "argoproj.io/v1alpha1 Workflow",
            {"labels": {"workflows.argoproj.io/workflow-archiving-status": "Pending"}},
        ),
        ("tekton.dev/v1 TaskRun", {"finalizers": ["chains.tekton.dev"]}),
        ("tekton.dev/v1 PipelineRun", {"finalizers": ["results.tekton.dev/pipelinerun"]}),
    ],
    ids=["archive", "chains", "results"],
)
@story(also=KINDS, features=ON)
async def test_pitfall_20_what_others_have_not_stored_yet_is_not_raced(
    stage: Stage, kind: str, metadata: dict[str, Any]
) -> None:
    api, _, name = kind.partition(" ")
    done = {
        "phase": "Succeeded",
        "finishedAt": stage.time(-HOUR),
        "completionTime": stage.time(-HOUR),
        "conditions": [{"type": "Succeeded", "status": "True", "lastTransitionTime": stage.time(-HOUR)}],
    }
    both = [
        old(name, "waits", api=api, status=done, created=stage.time(-DAY), labels=after("finished-5m")),
        old(name, "stored", api=api, status=done, created=stage.time(-DAY), labels=after("finished-5m")),
    ]
    both[0]["metadata"]["labels"] |= metadata.get("labels", {})
    both[0]["metadata"]["finalizers"] = metadata.get("finalizers", [])
    stage.cluster.load(manifests.parse(yaml.safe_dump_all(both), file="the test"))
    play = await stage.play()
    await stage.later(10 * MINUTE)
    assert _there(stage, both[0])
    assert not _there(stage, both[1])
    assert "deletionTimestamp" not in str(_found(stage, both[0]))
    assert said(play, "waits")


def _built_in(case: Case) -> Iterator[Resource]:
    used = {(one["apiVersion"], one["kind"]) for one in case.objects}
    yield from (one for one in BUILT_IN if (one.api_version, one.kind) in used)
    yield from (one for one in BUILT_IN if one.qualified in case.unreadable)


def _labelled(case: Case, stage: Stage) -> Iterator[dict[str, Any]]:
    """As they are, long there, and to go five minutes after their last use."""
    for given in case.objects:
        if given["kind"] == "Namespace" and given["metadata"]["name"] == SHOP:
            continue
        one = deepcopy(dict(given))
        one["metadata"]["creationTimestamp"] = stage.time(-DAY)
        if given is case.of or given == case.other:
            one["metadata"]["labels"] = {**(one["metadata"].get("labels") or {}), **after("unused-5m")}
        yield one


def _found(stage: Stage, one: Mapping[str, Any]) -> dict[str, Any] | None:
    served = stage.cluster.plane.catalogue.of_kind(api_version=one["apiVersion"], kind=one["kind"])
    assert served is not None
    found = stage.cluster.objects(served.resource, namespace=one["metadata"].get("namespace", ""))
    return next((other for other in found if other["metadata"]["name"] == one["metadata"]["name"]), None)


def _there(stage: Stage, one: Mapping[str, Any]) -> bool:
    return _found(stage, one) is not None
