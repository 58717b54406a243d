"""What a running engine says of an object that somebody asks about: what it alone knows, and what everybody could."""

from __future__ import annotations

from pathlib import Path

import pytest

from skoupa.controller.opinions import EngineOpinions
from skoupa.report.opinions import Opinion
from skoupa.sim.faults import asking
from skoupa.sim.state.access import Rule
from tests.unit.controller.stage import MINUTE, SECRETS, SHOP, Play, Stage, story
from tests.unit.controller.test_kinds_and_rights import ENOUGH, OWN
from tests.unit.controller.test_trash import ledger

pytestmark = pytest.mark.unit


def opinion(play: Play, made: dict[str, dict[str, str]], *, resource: str = "configmaps") -> Opinion:
    opinions = EngineOpinions(play.engine, clock=play.client.clock, observing=False)
    return opinions.of(made["metadata"]["uid"], resource=resource, namespace=SHOP)


def codes(found: Opinion) -> list[str]:
    return [one.code for one in found.stays]


@story(trash={"maxObjectBytes": 100, "onFailure": "hold"})
async def test_what_does_not_fit_into_the_trash_is_told_until_it_goes(stage: Stage, tmp_path: Path) -> None:
    async with ledger(stage, tmp_path / "l.db") as book:
        play = await stage.play(record=book.record)
        made = await stage.make("web", "1m", annotations={"note": "x" * 300})
        assert opinion(play, made).stays == ()
        await stage.later(5 * MINUTE)
        assert stage.there("web")
        (held,) = opinion(play, made).stays
        assert held.code == "not-in-trash"
        assert "it could not be put into the trash first: it has " in held.text
        assert "trash.maxObjectBytes" in held.text
        # While a judgement holds it, that is told: what the last try found may be over.
        await stage.label("web", keep="true")
        assert codes(opinion(play, made)) == ["kept"]
        await stage.label("web", keep=None, ttl=None)
        await stage.later(MINUTE)
        assert opinion(play, made).stays == ()
        assert play.engine.sweeper.memory.found == {}


@story()
async def test_a_lost_right_and_a_refusal_are_told_with_their_words(stage: Stage) -> None:
    stage.cluster.allow_only("skoupa", [*OWN, Rule(verbs=("list", "watch"), resources=("configmaps",))])
    play = await stage.play(user="skoupa")
    made = await stage.make("web", "1m")
    await stage.later(2 * MINUTE)
    (held,) = opinion(play, made).stays
    assert held.code == "no-permission"
    assert "delete configmaps" in held.text
    stage.cluster.allow_only("skoupa", [*OWN, Rule(verbs=ENOUGH, resources=("configmaps",))])
    stage.cluster.faults.answer(422, message="a policy of the shop", when=asking(method="DELETE"), times=None)
    await stage.later(20 * MINUTE)
    (held,) = opinion(play, made).stays
    assert (held.code, held.text) == (
        "failing",
        "its delete fails and is tried again: a policy of the shop",
    )


@story(also=[SECRETS])
async def test_of_a_kind_that_can_not_be_read_it_says_so_although_it_knows_no_object(stage: Stage) -> None:
    stage.cluster.allow_only("skoupa", [*OWN, Rule(verbs=ENOUGH, resources=("configmaps", "namespaces"))])
    play = await stage.play(user="skoupa")
    made = await stage.make("login", "1m", resource=SECRETS)
    await stage.later(2 * MINUTE)
    found = opinion(play, made, resource="secrets")
    assert (found.resource, found.namespace) == ("secrets", SHOP)
    (unseen,) = found.stays
    assert unseen.code == "unseen"
    assert unseen.text.startswith("secrets can't be read there: ")
    # Of an object that it simply does not know it says nothing.
    assert opinion(play, made).stays == ()


@story()
async def test_who_stands_by_or_observes_says_so(stage: Stage) -> None:
    play = await stage.play()
    opinions = EngineOpinions(play.engine, clock=stage.clock, observing=False)
    assert opinions.acts() == "acts"
    play.standing_by = True
    assert opinions.acts() == "stands-by"
    assert EngineOpinions(play.engine, clock=stage.clock, observing=True).acts() == "observes"
    play.engine.ready.clear()
    assert opinions.acts() == "starts"
    play.engine.ready.set()


@story(mode="observe")
async def test_everything_it_would_let_go_is_told_to_who_asks_about_all_of_it(stage: Stage) -> None:
    play = await stage.play()
    await stage.make("due", "1m")
    await stage.make("later", "1h")
    await stage.make("kept", "1m", keep="true")
    await stage.make("plain")
    await stage.later(2 * MINUTE)
    opinions = EngineOpinions(play.engine, clock=stage.clock, observing=True)
    now = stage.clock.now()
    found = {row.name: opinions.judged(row, now) for row in opinions.rows()}
    going = {name: verdict.goes for name, verdict in found.items() if verdict.claims}
    assert going.keys() == {"due", "later", "kept"}
    assert going["kept"] is None
    assert going["due"] is not None
    assert going["due"] <= now
    assert going["later"] == found["later"].due
    assert opinions.policies() == []
    assert (
        EngineOpinions(
            (await stage.play(features={"policies": False})).engine, clock=stage.clock, observing=True
        ).policies()
        is None
    )


@story(trash={"maxObjectBytes": 100, "onFailure": "hold"})
async def test_what_only_a_try_found_out_holds_there_too(stage: Stage, tmp_path: Path) -> None:
    async with ledger(stage, tmp_path / "l.db") as book:
        play = await stage.play(record=book.record)
        await stage.make("web", "1m", annotations={"note": "x" * 300})
        await stage.later(5 * MINUTE)
        opinions = EngineOpinions(play.engine, clock=stage.clock, observing=False)
        (row,) = (row for row in opinions.rows() if row.name == "web")
        assert [hold.reason.code for hold in opinions.judged(row, stage.clock.now()).holds] == [
            "not-in-trash"
        ]
