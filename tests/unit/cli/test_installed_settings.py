"""The settings of an installation count for commands too: a plan tells the controller's times, and what it protects stays."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from skoupa.kube.resources import CONFIG_MAPS
from skoupa.sim.state.access import Rule
from tests.unit.cli.saying import Shell
from tests.unit.cli.worlds import Town, config_map, granting, installed, obj

pytestmark = pytest.mark.unit

LIFETIME = "ttl: {maximumLifetime: 3h}\n"
PROTECT = "protect: {namespaces: [shop]}\n"
BOBS = (
    Rule(
        verbs=("get", "list", "watch", "patch", "delete"),
        resources=("configmaps", "namespaces"),
        namespaces=("shop",),
    ),
    Rule(verbs=("get", "list", "watch"), resources=("brakes.skoupa.dev",)),
)
READS_SETTINGS = Rule(verbs=("get", "list"), resources=("configmaps",), names=("skoupa-config",))


@pytest.fixture
def town(skoupa: Shell, monkeypatch: pytest.MonkeyPatch) -> Town:
    return Town(skoupa, monkeypatch).holding(obj("Namespace", "shop"), obj("Namespace", "skoupa"))


def due(document: dict[str, Any]) -> str:
    (item,) = document["items"]
    return str(item["due"])


def test_plan_and_explain_tell_the_time_that_the_controller_follows(town: Town) -> None:
    town.holding(config_map("a", "2d"))
    assert due(town.document("plan", "-n", "shop")) == "2026-05-03T10:00:00Z"
    town.holding(installed(LIFETIME))
    assert due(town.document("plan", "-n", "shop")) == "2026-05-01T13:00:00Z"
    assert due(town.document("explain", "cm/a", "-n", "shop")) == "2026-05-01T13:00:00Z"


def test_what_the_installation_protects_is_not_swept_by_hand(town: Town) -> None:
    town.holding(config_map("a", "1h"), installed(PROTECT))
    said = town("sweep", "-n", "shop", "--yes", "--ledger", "none")
    assert "the namespace shop is protected" in said.out
    assert town.find(CONFIG_MAPS, "a") is not None


def test_a_file_that_is_named_counts_instead(town: Town, tmp_path: Path) -> None:
    town.holding(config_map("a", "1h"), installed(PROTECT))
    own = tmp_path / "own.yaml"
    own.write_text("mode: enforce\n")
    assert town("sweep", "-n", "shop", "--yes", "--ledger", "none", "--config", str(own)).code == 0
    assert town.find(CONFIG_MAPS, "a") is None


def test_where_the_settings_can_not_be_read_nothing_is_swept_and_a_plan_says_so(town: Town) -> None:
    town.holding(config_map("a", "1h"), installed(PROTECT))
    granting(*BOBS)(town.cluster)
    town.user = "bob"
    said = town("sweep", "configmaps", "-n", "shop", "--yes", "--ledger", "none")
    assert said.code == 5
    assert "nothing was deleted: whether an installation has settings of its own can't be seen" in said.err
    assert "--config /dev/null: as shipped" in said.err
    assert "--clusterrole=skoupa-sweep" in said.err
    assert town.find(CONFIG_MAPS, "a") is not None
    for command in (("plan", "configmaps"), ("explain", "cm/a"), ("keep", "cm/a", "--dry-run")):
        assert "what it protects or counts otherwise is not known here" in town(*command, "-n", "shop").err
    granting(*BOBS, READS_SETTINGS)(town.cluster)
    told = town("plan", "configmaps", "-n", "shop")
    assert "the namespace shop is protected" in told.out
    assert "is not known here" not in told.err


def test_who_says_that_they_are_as_shipped_is_believed(town: Town) -> None:
    town.holding(config_map("a", "1h"))
    granting(*BOBS)(town.cluster)
    town.user = "bob"
    said = town("sweep", "configmaps", "-n", "shop", "--yes", "--ledger", "none", "--config", "/dev/null")
    assert said.code == 0, said.err
    assert "whether an installation" not in said.err
    assert town.find(CONFIG_MAPS, "a") is None


def test_a_look_before_a_sweep_needs_no_settings(town: Town) -> None:
    town.holding(config_map("a", "1h"))
    granting(*BOBS)(town.cluster)
    town.user = "bob"
    said = town("sweep", "configmaps", "-n", "shop", "--dry-run", "--ledger", "none")
    assert "whether an installation has settings of its own can't be seen" in said.err
    assert "nothing was deleted" not in said.err


def test_an_installation_with_another_home_is_found(town: Town) -> None:
    town.holding(obj("Namespace", "tools"), config_map("a", "2d"), installed(LIFETIME, namespace="tools"))
    assert due(town.document("plan", "-n", "shop")) == "2026-05-01T13:00:00Z"


def test_the_role_that_lets_sweep_is_enough_to_find_it(town: Town) -> None:
    town.holding(obj("Namespace", "tools"), config_map("a", "1h"), installed(PROTECT, namespace="tools"))
    granting(*BOBS, READS_SETTINGS)(town.cluster)
    town.user = "bob"
    said = town("sweep", "configmaps", "-n", "shop", "--yes", "--ledger", "none")
    assert "the namespace shop is protected" in said.out
    assert town.find(CONFIG_MAPS, "a") is not None


def test_of_several_installations_one_has_to_be_named(town: Town) -> None:
    homes = (obj("Namespace", "east"), obj("Namespace", "west"))
    town.holding(*homes, config_map("a", "2d"))
    town.holding(installed(LIFETIME, namespace="west"), installed(namespace="east"))
    said = town("plan", "-n", "shop")
    assert said.code == 2
    assert "there are 2 installations of Skoupa, in east, west, and none in skoupa" in said.err
    assert "SKOUPA_LEASE_NAMESPACE=east" in said.err


def test_settings_that_are_not_understood_are_no_settings_of_another_kind(town: Town) -> None:
    town.holding(config_map("a", "1h"), installed("protekt: {}\n"))
    said = town("sweep", "-n", "shop", "--yes", "--ledger", "none")
    assert said.code == 2
    assert "ConfigMap skoupa/skoupa-config: there is no setting protekt" in said.err
    assert "did you mean protect?" in said.err
    assert "of another version than this command" in said.err
    assert town.find(CONFIG_MAPS, "a") is not None


def test_what_a_sweep_writes_down_goes_where_the_caller_says(town: Town, tmp_path: Path) -> None:
    settings = "ledger: {dsn: /nowhere/at/all.db}\ntrash: {keyFile: /nowhere/key}\n"
    town.holding(config_map("a", "1h"), installed(settings))
    ledger = tmp_path / "own.db"
    said = town("sweep", "-n", "shop", "--yes", "--ledger", str(ledger))
    assert said.code == 0, said.err
    assert ledger.exists()
    assert town.find(CONFIG_MAPS, "a") is None


def test_the_settings_in_a_dump_count_for_a_plan_of_it(skoupa: Shell, tmp_path: Path) -> None:
    dump = tmp_path / "dump.yaml"
    objects = [
        obj("Namespace", "shop"),
        obj("Namespace", "skoupa"),
        config_map("a", "2d"),
        installed(LIFETIME),
    ]
    dump.write_text(yaml.safe_dump_all(objects))
    said = skoupa(
        "plan", "-A", "--from", str(dump), "--now", "2026-05-01T12:00:00Z", "-o", "json", env={"TZ": "UTC"}
    )
    assert due(json.loads(said.out)) == "2026-05-01T13:00:00Z"
