"""What Kyverno's resourceFilters name stays, also where Skoupa may read little: what is not known holds, where there is a Kyverno."""

from __future__ import annotations

import pytest

from skoupa import names
from skoupa.kube.resources import CONFIG_MAPS, LEASES, Resource
from skoupa.kube.transport import Request
from tests.unit.controller.braking import many
from tests.unit.controller.policies import HOURLY, bring_policies, cleanup, conditions
from tests.unit.controller.stage import HOUR, SHOP, Play, Stage, story

pytestmark = pytest.mark.unit

WIDE = {"share": 100}
# It comes with Kyverno, and with nothing else.
CLUSTER_POLICIES = Resource(
    group=names.KYVERNO_GROUP, version="v1", plural="clusterpolicies", kind="ClusterPolicy", namespaced=False
)


async def filters(stage: Stage, text: str = "[ConfigMap,shop,web-0]", *, namespace: str = "kyverno") -> None:
    await stage.namespace(namespace)
    body = {"metadata": {"name": "kyverno"}, "data": {"resourceFilters": text}}
    await stage.people.create(CONFIG_MAPS, body, namespace=namespace)


async def lease(stage: Stage, namespace: str) -> None:
    """Of a Kyverno that was stopped."""
    body = {"metadata": {"name": names.KYVERNO_CLEANUP_LEASE}, "spec": {}}
    await stage.people.create(LEASES, body, namespace=namespace)


def refuse(stage: Stage, *kinds: Resource, within: tuple[str, ...] = ()) -> None:
    """To list or get what is asked for by the name of one of Kyverno's objects, everywhere and in these namespaces."""
    paths = {kind.path(namespace=place) for kind in kinds for place in ("", *within)}

    def when(request: Request) -> bool:
        asked = f"{request.path} {dict(request.query).get('fieldSelector', '')}"
        listed = request.path in paths and "kyverno" in asked.partition(" ")[2]
        return request.method == "GET" and (listed or request.path.rpartition("/")[0] in paths)

    stage.cluster.faults.answer(403, when=when, times=None)


async def ran(stage: Stage) -> Play:
    stage.old(many(3))
    play = await stage.play()
    await cleanup(stage, schedule=HOURLY)
    await stage.until(HOUR + 5)
    return play


def degraded(play: Play) -> list[str]:
    """What the process logs as `degraded`."""
    return [said for said in play.engine.outlook.degraded if "resourceFilters" in said]


@story(brakes=WIDE)
async def test_who_may_list_no_config_maps_everywhere_reads_that_of_kyverno_in_its_namespace(
    stage: Stage,
) -> None:
    await bring_policies(stage)
    await filters(stage)
    refuse(stage, CONFIG_MAPS)
    await ran(stage)
    assert stage.found() == {"web-0"}


@story(brakes=WIDE)
async def test_the_namespace_of_kyverno_is_known_by_its_lease(stage: Stage) -> None:
    await bring_policies(stage)
    await filters(stage, namespace="guards")
    await lease(stage, "guards")
    refuse(stage, CONFIG_MAPS, within=("kyverno",))
    await ran(stage)
    assert stage.found() == {"web-0"}


@story(brakes=WIDE)
async def test_nothing_goes_while_the_filters_of_a_kyverno_that_is_there_may_not_be_read(
    stage: Stage,
) -> None:
    await bring_policies(stage)
    await filters(stage)
    stage.cluster.install(CLUSTER_POLICIES)
    refuse(stage, CONFIG_MAPS, within=("kyverno",))
    play = await ran(stage)
    assert stage.found() == {*many(3)}
    assert "grant list of configmaps with the name kyverno" in play.why_held("web-1")
    said = (await conditions(stage))["LastRunSucceeded"]
    assert (said["status"], said["reason"]) == ("False", "NotAllJudged")
    (said_of_all,) = degraded(play)
    assert said_of_all.startswith("nothing goes by policies")
    # And when the right is there they are obeyed.
    stage.cluster.faults.clear()
    await stage.until(2 * HOUR + 5)
    assert stage.found() == {"web-0"}
    assert not degraded(play)


@story(brakes=WIDE)
async def test_a_lease_of_kyverno_is_a_kyverno_too(stage: Stage) -> None:
    await bring_policies(stage)
    await filters(stage, namespace="guards")
    await lease(stage, "guards")
    refuse(stage, CONFIG_MAPS, within=("guards",))
    await ran(stage)
    assert stage.found() == {*many(3)}


@story(brakes=WIDE)
async def test_where_kyverno_lies_has_to_be_known(stage: Stage) -> None:
    await bring_policies(stage)
    await filters(stage, namespace="guards")
    stage.cluster.install(CLUSTER_POLICIES)
    refuse(stage, CONFIG_MAPS, LEASES)
    await ran(stage)
    assert stage.found() == {*many(3)}


@story(brakes=WIDE)
async def test_in_a_cluster_without_a_kyverno_nothing_is_held_for_it(stage: Stage) -> None:
    await bring_policies(stage)
    refuse(stage, CONFIG_MAPS, LEASES, within=("kyverno",))
    play = await ran(stage)
    assert not stage.found()
    assert not degraded(play)


@story(brakes=WIDE, namespaces=[SHOP])
async def test_an_installation_for_some_namespaces_is_held_beside_a_kyverno_and_by_nothing_without_one(
    stage: Stage,
) -> None:
    await bring_policies(stage)
    refuse(stage, CONFIG_MAPS, LEASES, within=("kyverno",))
    stage.old(many(3))
    await stage.play()
    await cleanup(
        stage, schedule=HOURLY, namespace=SHOP, match={"any": [{"resources": {"kinds": ["ConfigMap"]}}]}
    )
    await stage.until(HOUR + 5)
    assert not stage.found()
    stage.cluster.install(CLUSTER_POLICIES)
    stage.old(many(3))
    await stage.until(2 * HOUR + 5)
    assert stage.found() == {*many(3)}


@story(brakes=WIDE)
async def test_of_several_config_maps_each_holds_where_nobody_can_tell_which_is_that_of_kyverno(
    stage: Stage,
) -> None:
    await bring_policies(stage)
    await filters(stage, namespace="guards")
    stage.cluster.install(CLUSTER_POLICIES)
    refuse(stage, LEASES)
    await ran(stage)
    assert stage.found() == {"web-0"}


@story(brakes=WIDE)
async def test_that_of_the_namespace_kyverno_counts_though_leases_may_not_be_read(stage: Stage) -> None:
    await bring_policies(stage)
    await filters(stage)
    await filters(stage, "[*,*,*]", namespace="own")
    refuse(stage, LEASES)
    await ran(stage)
    assert stage.found() == {"web-0"}


@story(brakes=WIDE)
async def test_an_entry_that_is_none_is_told_until_it_is_mended(stage: Stage) -> None:
    await bring_policies(stage)
    await filters(stage, "[ConfigMap,shop,web-0][a,b,c,d]")
    play = await ran(stage)
    assert stage.found() == {"web-0"}
    (said,) = degraded(play)
    assert '"[a,b,c,d]" is no [Kind,namespace,name]' in said
    patch = {"data": {"resourceFilters": "[ConfigMap,shop,web-0]"}}
    await stage.people.merge_patch(CONFIG_MAPS, "kyverno", patch, namespace="kyverno")
    await stage.until(2 * HOUR + 5)
    assert not degraded(play)
