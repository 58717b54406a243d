"""Groups whose kinds the server can't tell: what could own a kept object of one is held, by hand as by the controller."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from skoupa.cli.worlds import World
from skoupa.controller.survey import Survey
from skoupa.kube.client import Client
from skoupa.settings import decode
from skoupa.sim.cluster import EmbeddedCluster
from tests.unit.cli.saying import Shell
from tests.unit.cli.test_sweep import left
from tests.unit.cli.test_sweep_looks_again import MANY, WIDGETS, sweeping
from tests.unit.cli.worlds import KEEP, TTL, Town, config_map, looking, obj

pytestmark = pytest.mark.unit

UID = "aaaaaaaa-0000-0000-0000-000000000001"
SILENT = "the server behind it does not answer"


@pytest.fixture
def town(skoupa: Shell, monkeypatch: pytest.MonkeyPatch) -> Town:
    return Town(skoupa, monkeypatch)


def owner() -> dict[str, Any]:
    return obj("ConfigMap", "a", namespace="shop", uid=UID, labels={TTL: "1h"})


def deed() -> dict[str, Any]:
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": UID}
    return obj(
        "Widget", "deed", api="shop.example/v1", namespace="shop", labels={KEEP: "true"}, owners=[owner]
    )


def with_a_deed(town: Town) -> None:
    """A due ConfigMap that owns a kept Widget, of a group that is not told."""
    town.cluster.install(WIDGETS)
    town.holding(
        obj("Namespace", "shop"),
        owner(),
        deed(),
    )
    town.cluster.discovery.stale.add(WIDGETS.group)


@pytest.mark.parametrize("where", [("-A",), ("-n", "shop"), ("configmaps", "-A")])
def test_a_sweep_leaves_what_could_own_a_kept_object_of_a_group_that_is_not_told(
    town: Town, where: tuple[str, ...]
) -> None:
    with_a_deed(town)
    said = town("sweep", "--yes", *where)
    assert left(town) == ["a"]
    assert "*.shop.example" in said.out
    assert said.code != 0


def test_a_namespace_stays_too(town: Town) -> None:
    with_a_deed(town)
    town.holding(obj("Namespace", "lab", labels={TTL: "1h"}))
    said = town("plan", "-A", "-o", "json")
    items = json.loads(said.out)["items"]
    held = {item["name"]: [hold["reason"]["code"] for hold in item["holds"]] for item in items}
    assert held == {"a": ["keeps-behind"], "lab": ["keeps-unknown"]}


def test_plan_and_explain_show_the_hold_with_the_group(town: Town) -> None:
    with_a_deed(town)
    said = town("plan", "-A")
    assert "1 due: 0 will go, 1 held." in said.out
    said = town("explain", "configmap/a", "-n", "shop")
    assert "goes as soon as" not in said.out
    assert "*.shop.example" in said.out
    assert SILENT in said.out
    assert "cascade.ignoreKinds waives that" in said.out


def test_a_group_that_is_waived_holds_nothing(town: Town, tmp_path: Path) -> None:
    with_a_deed(town)
    settings = tmp_path / "settings.yaml"
    settings.write_text("cascade: {ignoreKinds: ['*.shop.example']}\n")
    town("sweep", "--yes", "-A", "--config", str(settings))
    assert left(town) == []


def test_a_group_that_comes_untold_in_the_middle_of_a_sweep_keeps_the_rest(town: Town) -> None:
    town.holding(obj("Namespace", "shop"), *(config_map(name, "1h") for name in MANY))

    async def half_way(_: Client) -> None:
        town.cluster.discovery.stale.add("broken.example")

    said = sweeping(town, "-n", "shop", half_way=half_way)
    gone = len(MANY) - len(left(town))
    assert 20 <= gone < 50
    assert said.out.count("*.broken.example") == len(MANY) - gone


def test_a_group_that_is_told_again_lets_go_what_none_of_its_kept_objects_hangs_on() -> None:
    """Who acts for a while looks again."""

    async def work(world: World, cluster: EmbeddedCluster) -> list[dict[str, list[str]]]:
        survey = Survey(world.client, decode({}, source="the test"), acting=True)
        await survey.read()
        found = [codes(survey, world.now())]
        cluster.discovery.stale.clear()
        await survey.read_again()
        return [*found, codes(survey, world.now())]

    def silent(cluster: EmbeddedCluster) -> None:
        cluster.install(WIDGETS)
        cluster.load([deed()])
        cluster.discovery.stale.add(WIDGETS.group)

    before, after = looking(work, obj("Namespace", "shop"), owner(), config_map("b", "1h"), prepare=silent)
    assert before == {"a": ["keeps-behind"], "b": ["keeps-behind"]}
    assert after == {"a": ["keeps-inside"], "b": []}


def codes(survey: Survey, now: float) -> dict[str, list[str]]:
    return {
        found.row.name: [hold.reason.code for hold in found.verdict.holds] for found in survey.findings(now)
    }
