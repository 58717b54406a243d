"""`plan`, `explain` and `sweep` hold what the controller holds, as far as its Brakes and its state tell."""

from __future__ import annotations

import json
from typing import Any

import pytest

from skoupa import names
from skoupa.cli.acting.sweep import Sweeping
from skoupa.cli.looking.explain import explain
from skoupa.cli.looking.explained import in_words
from skoupa.cli.looking.planning import Plan, Wishes, make_plan
from skoupa.cli.terminal.times import zone_of
from skoupa.cli.worlds import World
from skoupa.kinds.brake import BRAKES
from skoupa.kube.client import Client
from skoupa.kube.resources import CONFIG_MAPS
from skoupa.model.reasons import render
from skoupa.settings import Settings
from skoupa.sim.state.access import Rule
from tests.unit.cli.saying import Shell
from tests.unit.cli.worlds import ASKING, Town, config_map, obj
from tests.unit.controller.braking import brakes, bring_kind, many, pull, release, take_kind_away
from tests.unit.controller.stage import DAY, HOME, HOUR, MINUTE, SHOP, Play, Stage, story

pytestmark = pytest.mark.unit

SETTINGS = Settings()
# All but the controller's state.
STATELESS = (
    Rule(verbs=("*",), resources=("*",), namespaces=(SHOP,)),
    Rule(verbs=("get", "list", "watch", "delete"), resources=("namespaces", "brakes.skoupa.dev")),
    ASKING,
)


def world(stage: Stage, user: str = "") -> World:
    client = Client(stage.cluster.as_user(user), stage.clock) if user else stage.people
    return World(client=client, namespace=SHOP)


async def planned(stage: Stage, user: str = "") -> Plan:
    return await make_plan(
        world(stage, user),
        settings=SETTINGS,
        wishes=Wishes(namespace=SHOP),
        window=lambda _: None,
        progress=lambda _: None,
    )


async def to_sweep(stage: Stage, user: str = "") -> set[str]:
    """What a sweep of everything in the namespace would let go."""

    async def guards(_: World) -> Settings:
        return SETTINGS

    plan, _ = await Sweeping(guards, kinds=(), all_namespaces=False).look(world(stage, user))
    return {found.row.name for found in plan.going()}


def held(plan: Plan) -> dict[str, list[str]]:
    """Why each of the objects stays, in the order in which it is said."""
    return {found.row.name: [render(hold.reason) for hold in found.verdict.holds] for found in plan.findings}


def held_by(play: Play) -> dict[str, list[str]]:
    """The same, as the controller judges."""
    knowledge, now = play.engine.knowledge, play.client.clock.now()
    verdicts = {row.name: knowledge.verdict(row, now) for row in knowledge.store if row.namespace == SHOP}
    return {
        name: [render(hold.reason) for hold in verdict.holds]
        for name, verdict in verdicts.items()
        if verdict.claims
    }


async def explained(stage: Stage, name: str) -> str:
    [told], _ = await explain(world(stage), (f"cm/{name}",), settings=SETTINGS)
    return "\n".join(in_words(told, zone_of("UTC")))


@story()
async def test_what_a_first_start_holds_is_held_for_who_looks_and_who_sweeps_until_it_is_released(
    stage: Stage,
) -> None:
    await bring_kind(stage)
    stage.old(many(120), "1h", age=DAY)
    play = await stage.play()
    await stage.later(MINUTE)
    await stage.make("new", "1h")
    await stage.make("kept", "1h", keep="true")
    found = held(await planned(stage))
    assert found == held_by(play)
    assert "one of 120 objects that were overdue when Skoupa first looked" in found["web-0"][0]
    assert (found["new"], len(found)) == ([], 122)
    text = await explained(stage, "web-7")
    assert "but held: it stays." in text
    assert "held by: one of 120 objects" in text
    assert "`skoupa brakes release first-start`" in text
    assert not await to_sweep(stage)

    await play.kill()
    await release(stage, "first-start")
    assert not await to_sweep(stage), "nobody has let it go yet"
    await stage.play()
    await stage.later(MINUTE)
    assert not stage.found() - {"new", "kept"}
    assert held(await planned(stage))["new"] == []


@story()
async def test_a_backlog_that_a_controller_accepted_holds_nobody(stage: Stage) -> None:
    await bring_kind(stage)
    stage.old(many(120), "1h", age=DAY)
    play = await stage.play()
    await stage.later(MINUTE)
    await release(stage, "first-start")
    await play.kill()
    stage.old(many(120, "db"), "1h", age=DAY)
    assert await to_sweep(stage) == stage.found()


@story()
async def test_without_the_right_to_read_the_state_the_brake_of_a_first_start_holds(stage: Stage) -> None:
    await bring_kind(stage)
    stage.cluster.allow_only("bob", STATELESS)
    stage.old(many(120), "1h", age=DAY)
    play = await stage.play()
    await stage.later(40 * MINUTE)
    await play.kill()
    stage.old(["late"], "1h", age=HOUR + 10)
    found = held(await planned(stage, "bob"))
    assert found.pop("late", None) == [], "it was not overdue then"
    assert len(found) == 120
    assert all("one of 120 objects that were overdue" in why for [why] in found.values())


@story()
async def test_what_a_labelling_of_many_holds_is_held_for_who_looks_and_who_sweeps(stage: Stage) -> None:
    await bring_kind(stage)
    stage.cluster.allow_only("bob", STATELESS)
    stage.old(many(60), age=DAY)
    stage.old(many(60, "db"), age=DAY)
    play = await stage.play()
    for name in many(60):
        await stage.label(name, ttl="1h")
    await stage.later(MINUTE)
    (mass,) = await brakes(stage)
    await stage.make("new", "1h")
    found = held(await planned(stage))
    assert found == held_by(play)
    assert (found["new"], len(found)) == ([], 61)
    assert "one of 60 objects that became overdue together" in found["web-0"][0]
    assert held(await planned(stage, "bob")) == found
    assert not await to_sweep(stage)
    assert not await to_sweep(stage, "bob")
    assert "held by: one of 60 objects" in await explained(stage, "web-1")

    await stage.later(HOUR)
    for name in many(60, "db"):
        await stage.label(name, ttl="1h")
    await stage.later(MINUTE)
    play.standing_by = True
    await stage.later(MINUTE)
    assert held(await planned(stage)) == held_by(play)
    play.standing_by = False
    await release(stage, mass)
    await stage.later(MINUTE)
    found = held(await planned(stage))
    assert found == held_by(play)
    assert set(found) == set(many(60, "db"))


@story()
async def test_brakes_that_are_gone_with_their_definition_hold_everything_for_everybody(stage: Stage) -> None:
    await bring_kind(stage)
    play = await stage.play()
    await stage.later(MINUTE)
    await take_kind_away(stage)
    await stage.later(MINUTE)
    await stage.make("web", "1m")
    await stage.later(5 * MINUTE)
    assert stage.there("web")
    found = held(await planned(stage))
    assert found == held_by(play)
    assert "the kind brakes.skoupa.dev was here and is gone" in found["web"][0]
    assert "but held: it stays." in await explained(stage, "web")
    await play.kill()
    assert not await to_sweep(stage), "that there were some is written down"


@story()
async def test_a_brake_that_went_along_with_its_definition_holds_a_sweep_before_it_is_made_again(
    stage: Stage,
) -> None:
    await bring_kind(stage)
    await stage.namespace("other")
    play = await stage.play()
    await pull(stage, "stop", reason="the audit", namespace=SHOP)
    await stage.later(MINUTE)
    await take_kind_away(stage)
    await stage.later(5)
    await play.kill()
    await stage.make("web", "1m")
    await stage.later(5 * MINUTE)
    await bring_kind(stage)
    assert not await brakes(stage)
    assert held(await planned(stage)) == {"web": ["brake stop: the audit"]}
    assert not await to_sweep(stage)


@story()
async def test_a_brake_that_somebody_released_by_hand_holds_no_sweep(stage: Stage) -> None:
    await bring_kind(stage)
    play = await stage.play()
    await pull(stage, "stop", namespace=SHOP)
    await stage.later(MINUTE)
    await play.kill()
    await stage.make("web", "1m")
    await stage.later(5 * MINUTE)
    await stage.people.merge_patch(BRAKES, "stop", {"metadata": {"finalizers": None}})
    await release(stage, "stop")
    assert await to_sweep(stage) == {"web"}


@story()
async def test_a_state_that_can_not_be_read_holds_a_sweep_and_is_told_to_who_looks(stage: Stage) -> None:
    await bring_kind(stage)
    await stage.make("web", "1m")
    await stage.later(5 * MINUTE)
    path = f"/api/v1/namespaces/{HOME}/configmaps/{names.STATE_CONFIG_MAP}"
    stage.cluster.faults.answer(500, when=lambda request: request.path == path, times=None)
    assert not await to_sweep(stage)
    plan = await planned(stage)
    assert held(plan) == {"web": []}
    assert any("what the controller wrote down can't be read" in told for told in plan.warnings)
    await pull(stage, "more", reason="the audit", namespace=SHOP)
    assert held(await planned(stage)) == {"web": ["brake more: the audit"]}, "Brakes are read all the same"


@pytest.fixture
def town(skoupa: Shell, monkeypatch: pytest.MonkeyPatch) -> Town:
    """A controller found 120 overdue and left word of it."""
    state: dict[str, Any] = {"firstStartHeld": json.dumps([1_777_630_000.0, 120])}
    return Town(skoupa, monkeypatch).holding(
        obj("Namespace", "shop"),
        config_map(names.STATE_CONFIG_MAP, namespace="skoupa", data=state),
        *(config_map(name, "1h", created="2026-04-01T10:00:00Z") for name in many(3)),
        config_map("new", "1h"),
    )


def test_held_by_a_backlog_is_shown_as_held_and_does_not_count_as_going(town: Town) -> None:
    said = town("plan", "-n", "shop", "--fail-over", "1")
    assert said.code == 0, said.err
    assert said.out.count("one of 120 objects that") == 3
    assert "4 due: 1 will go, 3 held." in said.out
    assert town("plan", "-n", "shop", "--fail-over", "0").code == 5
    items = {item["name"]: item for item in town.document("plan", "-n", "shop")["items"]}
    assert [hold["reason"]["code"] for hold in items["web-0"]["holds"]] == ["first-start-backlog"]
    assert (items["web-0"]["goesAt"], items["new"]["holds"]) == (None, [])


def test_a_sweep_leaves_what_a_backlog_holds_and_takes_the_rest(town: Town) -> None:
    said = town("sweep", "-n", "shop", "--yes")
    assert said.code == 0, said.err
    assert "deleted ConfigMap shop/new" in said.out
    left = {found["metadata"]["name"] for found in town.cluster.objects(CONFIG_MAPS, namespace="shop")}
    assert left == set(many(3))


def test_what_was_overdue_when_a_kind_was_first_read_is_held_for_who_looks(
    skoupa: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    reading = {"kind": "configmaps", "namespace": "shop", "before": 1_777_630_000.0, "count": 130}
    state = {"firstSweep": "1777000000", "firstReadingsHeld": json.dumps([reading])}
    old = {"created": "2026-04-01T10:00:00Z"}
    town = Town(skoupa, monkeypatch).holding(
        config_map(names.STATE_CONFIG_MAP, namespace="skoupa", data=state),
        config_map("old", "1h", **old),
        config_map("old", "1h", namespace="other", **old),
        config_map("new", "1h"),
    )
    items = town.document("plan", "-A")["items"]
    found = {
        f"{item['namespace']}/{item['name']}": [hold["reason"]["code"] for hold in item["holds"]]
        for item in items
    }
    assert found == {"shop/old": ["first-start-backlog"], "other/old": [], "shop/new": []}
