"""A Namespace that is served as another kind too, with the same uid, never goes under that other name."""

from __future__ import annotations

from typing import Any

import pytest

from skoupa import names
from skoupa.kube.resources import NAMESPACES, Resource
from skoupa.sim.faults import asking
from tests.unit.controller.stage import ALL_VERBS, MINUTE, Stage, story

pytestmark = pytest.mark.unit

PROJECTS = Resource(
    group="project.openshift.io",
    version="v1",
    plural="projects",
    kind="Project",
    namespaced=False,
    verbs=ALL_VERBS,
)
SPACES = Resource(
    group="spaces.example", version="v1", plural="spaces", kind="Space", namespaced=False, verbs=ALL_VERBS
)
BOTH = pytest.mark.parametrize("kind", [PROJECTS, SPACES], ids=lambda kind: kind.kind)


def mirror(stage: Stage, kind: Resource, name: str, *, ttl: str | None = None) -> None:
    (found,) = [one for one in stage.cluster.objects(NAMESPACES) if one["metadata"]["name"] == name]
    meta: dict[str, Any] = {**found["metadata"]}
    if ttl is not None:
        meta["labels"] = {**(meta.get("labels") or {}), names.TTL_LABEL: ttl}
    stage.cluster.load([{"apiVersion": kind.api_version, "kind": kind.kind, "metadata": meta}])


@BOTH
@story()
async def test_a_namespace_with_something_kept_in_it_stays_whatever_else_it_is_called(
    stage: Stage, kind: Resource
) -> None:
    stage.cluster.install(kind)
    await stage.namespace("team", labels={names.TTL_LABEL: "10m"})
    await stage.make("deed", namespace="team", keep="true")
    mirror(stage, kind, "team")
    play = await stage.play()
    await stage.until(15 * MINUTE)
    assert not play.sent("DELETE")
    assert "ConfigMap team/deed" in play.why_held("team")


@BOTH
@story()
async def test_a_protected_namespace_does_not_go_under_another_name(stage: Stage, kind: Resource) -> None:
    stage.cluster.install(kind)
    mirror(stage, kind, "kube-system", ttl="10m")
    play = await stage.play()
    await stage.until(15 * MINUTE)
    assert not play.sent("DELETE")


@BOTH
@story()
async def test_a_namespace_goes_as_a_namespace_and_once(stage: Stage, kind: Resource) -> None:
    stage.cluster.install(kind)
    await stage.namespace("team", labels={names.TTL_LABEL: "10m"})
    mirror(stage, kind, "team")
    play = await stage.play()
    await stage.until(11 * MINUTE)
    assert [request.path for _, request in play.sent("DELETE")] == ["/api/v1/namespaces/team"]


@story()
async def test_the_other_name_of_a_namespace_that_no_feed_sees_is_found_out_by_a_last_look(
    stage: Stage,
) -> None:
    stage.cluster.install(SPACES)
    # The watch of Namespaces is frozen, which nobody notices for a while.
    stage.cluster.faults.silence_watch(when=asking(kind="namespaces"), times=None, after=40)
    play = await stage.play()
    for number in range(45):
        await stage.namespace(f"other-{number}")
    await stage.namespace("late", labels={names.TTL_LABEL: "10s"})
    mirror(stage, SPACES, "late")
    await stage.later(30)
    assert stage.there("late", NAMESPACES)
    assert not play.sent("DELETE")
    assert "it is the same object under another kind" in play.why_held("late")
