"""Groups whose kinds the server can't tell: held for, told with what to do, and counted."""

from __future__ import annotations

import msgspec
import pytest

from skoupa.controller.gauges import gauges_of
from skoupa.controller.sight.watchable import told_by, untold
from skoupa.kube.kinds import Discovery, Gap
from skoupa.kube.resources import CONFIG_MAPS, NAMESPACES
from tests.unit.controller.replicas import replicas
from tests.unit.controller.stage import HOUR, MINUTE, SHOP, WIDGETS, Stage, story
from tests.unit.controller.test_feed_troubles import CANT, said

pytestmark = pytest.mark.unit

BROKEN = "broken.example"
GADGETS = msgspec.structs.replace(WIDGETS, plural="gadgets", kind="Gadget")


@story()
async def test_an_api_service_that_does_not_answer_is_told_with_what_it_holds_and_what_to_do(
    stage: Stage,
) -> None:
    await stage.make("config", "1m")
    stage.cluster.discovery.stale.add(BROKEN)
    async with replicas(stage, 1) as (replica,):
        await stage.later(5)
        assert said(replica, *CANT) == [], "a moment is nobody's business"
        await stage.later(HOUR)
        assert stage.there("config")
        (line,) = said(replica, *CANT)
        assert (line["event"], line["level"], line["kinds"]) == ("can't be read", "warning", f"*.{BROKEN}")
        assert f"the kinds of {BROKEN}/v1beta1 are not known: the server behind it does not" in line["why"]
        assert "everything that is due is held" in line["so"]
        assert line["advice"] == (
            f'mend the API service v1beta1.{BROKEN}, or delete it, or add "*.{BROKEN}" to cascade.ignoreKinds'
        )
        stage.cluster.discovery.stale.clear()
        await stage.later(6 * MINUTE)
        assert not stage.there("config")
        (line,) = said(replica, "can be read again")
        assert line["kinds"] == f"*.{BROKEN}"


@story()
async def test_what_a_broken_api_service_held_goes_soon_after_it_is_mended(stage: Stage) -> None:
    """However long it was broken: nobody tells that it answers again."""
    stage.cluster.discovery.stale.add(BROKEN)
    await stage.make("config", "1m")
    play = await stage.play()
    await stage.until(HOUR + 100)
    assert stage.there("config")
    stage.cluster.discovery.stale.clear()
    await stage.later(35)
    assert not stage.there("config")
    play.wire.seen.clear()
    await stage.later(HOUR)
    looks = [request for _, request in play.wire.seen if request.path == "/apis"]
    assert len(looks) <= 12, "every five minutes, as before"


@story()
async def test_a_group_that_does_not_answer_costs_a_look_at_the_kinds_every_half_minute_and_nothing_else(
    stage: Stage,
) -> None:
    play = await stage.play()
    await stage.later(HOUR)
    play.wire.seen.clear()
    await stage.later(HOUR)
    before = len([request for _, request in play.wire.seen if request.verb != "discover"])
    stage.cluster.discovery.stale.add(BROKEN)
    await stage.later(6 * MINUTE)
    play.wire.seen.clear()
    await stage.later(HOUR)
    looks = [request for _, request in play.wire.seen if request.path == "/apis"]
    assert 100 <= len(looks) <= 120
    others = len([request for _, request in play.wire.seen if request.verb != "discover"])
    assert others <= 1.1 * before, "watches are opened anew now and then"


@story(cascade={"ignoreKinds": [f"*.{BROKEN}"]})
async def test_a_group_that_is_waived_is_told_and_holds_nothing(stage: Stage) -> None:
    await stage.make("config", "1m")
    stage.cluster.discovery.stale.add(BROKEN)
    async with replicas(stage, 1, cascade={"ignoreKinds": [f"*.{BROKEN}"]}) as (replica,):
        await stage.later(5 * MINUTE)
        assert not stage.there("config")
        (line,) = said(replica, *CANT)
        assert line["so"] == "what is due there is not seen, and stays"
        assert "ignoreKinds" not in line["advice"]


@story()
async def test_a_group_that_is_not_told_counts_as_a_kind_that_was_never_read(stage: Stage) -> None:
    stage.cluster.discovery.stale.add(BROKEN)
    play = await stage.play()
    await stage.later(MINUTE)
    found = gauges_of(play.engine, stage.clock.now())["skoupa_blind_kinds"]
    assert found == {("lost",): 0, ("never-read",): 1}


@story()
async def test_what_nobody_may_read_of_a_group_holds_on_when_the_group_falls_silent(stage: Stage) -> None:
    """Of a group that is followed, one kind was never allowed: that holds Namespaces."""
    stage.cluster.install(WIDGETS)
    stage.cluster.install(GADGETS)
    stage.cluster.deny(user="blind", verbs=("get", "list", "watch"), resources=(GADGETS.qualified,))
    play = await stage.play(user="blind")
    await stage.later(MINUTE)
    assert GADGETS.qualified in play.engine.knowledge.blind
    stage.cluster.discovery.stale.add(WIDGETS.group)
    await stage.later(6 * MINUTE)
    assert GADGETS.qualified in play.engine.knowledge.blind
    assert f"*.{WIDGETS.group}" not in play.engine.knowledge.blind, "its kinds are known"
    await stage.label(SHOP, resource=NAMESPACES, ttl="1m")
    await stage.make("config", "1m")
    await stage.later(10 * MINUTE)
    assert stage.there(SHOP, NAMESPACES)
    assert not stage.there("config")


def test_a_version_that_was_never_told_is_not_known_by_the_others_of_its_group() -> None:
    gap = Gap(group=WIDGETS.group, version="v2", why="silent")
    found = Discovery(resources=(CONFIG_MAPS, WIDGETS), gaps=(gap,))
    assert untold(found, but=told_by(found)).keys() == {"*.shop.example"}
    before = Discovery(resources=(WIDGETS, msgspec.structs.replace(WIDGETS, version="v2")))
    assert untold(found, but=told_by(before)) == {}
