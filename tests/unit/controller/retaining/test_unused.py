"""What nothing uses goes a while after its last use: the label `skoupa.dev/ttl-after: unused-…` on ConfigMaps."""

from __future__ import annotations

import pytest

from skoupa.kube.resources import CONFIG_MAPS, CUSTOM_RESOURCE_DEFINITIONS
from tests.unit.controller.retaining.scene import (
    KINDS,
    ON,
    after,
    mark_of,
    patches,
    remove,
    roll_out,
    said,
    workload,
)
from tests.unit.controller.stage import (
    DAY,
    MINUTE,
    REPLICA_SETS,
    SECRETS,
    SHOP,
    WIDGETS,
    Stage,
    definition,
    story,
)

pytestmark = pytest.mark.unit


@story(also=KINDS, features=ON)
async def test_a_config_goes_half_an_hour_after_a_new_edition_replaced_it_but_not_while_a_rollback_needs_it(
    stage: Stage,
) -> None:
    play = await stage.play()
    await stage.make("config-1", labels=after("unused-30m"))
    await stage.make("config-2", labels=after("unused-30m"))
    web = await workload(stage, "web", "config-1")
    await workload(stage, "web-1", "config-1", resource=REPLICA_SETS, owner=web)
    await stage.later(MINUTE)
    await roll_out(stage, "web", "config-2")
    await stage.people.merge_patch(REPLICA_SETS, "web-1", {"spec": {"replicas": 0}}, namespace=SHOP)
    await stage.later(40 * MINUTE)
    assert stage.found() == {"config-1", "config-2"}
    assert "ReplicaSet shop/web-1 uses it" in said(play, "config-1")
    assert mark_of(stage, "config-1") is None
    await remove(stage, "web-1", resource=REPLICA_SETS)
    await stage.later(29 * MINUTE)
    assert stage.there("config-1")
    assert mark_of(stage, "config-1") is not None
    await stage.later(2 * MINUTE)
    assert stage.found() == {"config-2"}
    # Marked before the first that used it came, and not any more since.
    assert len(patches(play, "config-2")) == 2
    assert mark_of(stage, "config-2") is None


@story(also=KINDS, features=ON)
async def test_use_in_between_starts_the_time_anew(stage: Stage) -> None:
    play = await stage.play()
    await stage.make("config", labels=after("unused-10m"))
    for _ in range(3):
        await stage.later(8 * MINUTE)
        assert mark_of(stage, "config") is not None
        await workload(stage, "now-and-then", "config")
        await stage.later(10)
        assert mark_of(stage, "config") is None
        await remove(stage, "now-and-then", resource=KINDS[2])
    await stage.later(9 * MINUTE)
    assert stage.there("config")
    await stage.later(2 * MINUTE)
    assert not stage.there("config")
    assert len(patches(play, "config")) == 7


@story(also=KINDS, features=ON)
async def test_never_used_counts_from_when_it_was_first_seen_so_and_never_from_creation(stage: Stage) -> None:
    stage.old(["config"], age=30 * DAY, labels=after("unused-10m"))
    await stage.play()
    await stage.later(9 * MINUTE)
    assert stage.there("config")
    await stage.later(2 * MINUTE)
    assert not stage.there("config")


@story(also=KINDS, features=ON)
async def test_two_apps_share_a_config_and_the_last_one_counts(stage: Stage) -> None:
    await stage.play()
    await stage.make("shared", labels=after("unused-5m"))
    for name in ("one", "two"):
        await workload(stage, name, "shared")
    await remove(stage, "one", resource=KINDS[2])
    await stage.later(10 * MINUTE)
    assert stage.there("shared")
    await remove(stage, "two", resource=KINDS[2])
    await stage.later(6 * MINUTE)
    assert not stage.there("shared")


@story(also=KINDS, features=ON)
async def test_a_reference_in_a_custom_kind_that_nobody_knows_keeps_it(stage: Stage) -> None:
    await stage.people.create(CUSTOM_RESOURCE_DEFINITIONS, definition(WIDGETS))
    play = await stage.play()
    await stage.make("config", labels=after("unused-5m"))
    body = {
        "apiVersion": WIDGETS.api_version,
        "kind": WIDGETS.kind,
        "metadata": {"name": "gadget"},
        "spec": {"configMapRef": {"name": "config"}},
    }
    await stage.people.create(WIDGETS, body, namespace=SHOP)
    await stage.later(10 * MINUTE)
    assert stage.there("config")
    assert "Widget shop/gadget uses it" in said(play, "config")
    await remove(stage, "gadget", resource=WIDGETS)
    await stage.later(6 * MINUTE)
    assert not stage.there("config")


@story(also=KINDS, features=ON)
async def test_what_is_never_garbage_stays(stage: Stage) -> None:
    play = await stage.play()
    body = {
        "metadata": {"name": "sh.helm.release.v1.web.v1", "labels": after("unused-5m")},
        "type": "helm.sh/release.v1",
    }
    await stage.people.create(SECRETS, body, namespace=SHOP)
    await stage.people.create(
        SECRETS, {"metadata": {"name": "plain", "labels": after("unused-5m")}}, namespace=SHOP
    )
    await stage.later(7 * MINUTE)
    assert stage.found(SECRETS) == {"sh.helm.release.v1.web.v1"}
    assert "release" in said(play, "sh.helm.release.v1.web.v1")


@story(also=KINDS, features=ON)
async def test_what_says_that_an_app_deploys_it_stays_while_that_app_can_not_be_seen(stage: Stage) -> None:
    play = await stage.play()
    tracked = {"argocd.argoproj.io/tracking-id": "web:/ConfigMap:shop/config"}
    await stage.make("config", labels=after("unused-5m"), annotations=tracked)
    await stage.later(7 * MINUTE)
    assert stage.there("config")
    assert "Application web tracks it" in said(play, "config")


@story(also=KINDS, features=ON)
async def test_an_owner_of_a_kind_that_is_not_served_keeps_it(stage: Stage) -> None:
    play = await stage.play()
    owner = {"apiVersion": "lost.example/v1", "kind": "Lost", "metadata": {"name": "l", "uid": "1-2-3"}}
    await stage.make("config", labels=after("unused-5m"), owner=owner)
    await stage.later(7 * MINUTE)
    assert stage.there("config")
    assert "Lost l owns it" in said(play, "config")


@story(also=KINDS, features=ON)
async def test_objects_that_own_and_use_each_other_stay_and_nothing_hangs(stage: Stage) -> None:
    await stage.play()
    one = await stage.make("one", labels=after("unused-5m"))
    two = await stage.make("two", labels=after("unused-5m"), owner=one)
    patch = {
        "metadata": {
            "ownerReferences": [
                {"apiVersion": "v1", "kind": "ConfigMap", "name": "two", "uid": two["metadata"]["uid"]}
            ]
        }
    }
    await stage.people.merge_patch(CONFIG_MAPS, "one", patch, namespace=SHOP)
    await stage.later(7 * MINUTE)
    assert stage.found() == {"one", "two"}


@story(also=KINDS, features=ON)
async def test_nothing_more_is_read_while_nothing_has_the_label(stage: Stage) -> None:
    play = await stage.play()
    await workload(stage, "web", "config")
    await stage.make("config")
    await stage.later(2 * MINUTE)
    assert play.engine.retention is not None
    assert not len(play.engine.retention.feeds)
    await stage.make("labelled", labels=after("unused-1h"))
    await stage.later(MINUTE)
    assert len(play.engine.retention.feeds)
    await remove(stage, "labelled", resource=CONFIG_MAPS)
    await stage.later(MINUTE)
    assert not len(play.engine.retention.feeds)
    assert not len(play.engine.retention.graph.graph)


@story(also=KINDS, features=ON)
async def test_with_two_times_on_it_both_have_to_be_over(stage: Stage) -> None:
    play = await stage.play()
    await stage.make("config", "20m", labels=after("unused-5m"))
    await stage.later(10 * MINUTE)
    assert stage.there("config")
    assert "cleanup.kyverno.io/ttl=20m lets it stay until" in said(play, "config")
    await stage.later(11 * MINUTE)
    assert not stage.there("config")
