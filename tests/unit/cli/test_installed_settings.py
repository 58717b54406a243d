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
POLICY = {
    "apiVersion": "kyverno.io/v2",
    "kind": "ClusterCleanupPolicy",
    "metadata": {"name": "old"},
    "spec": {"schedule": "0 3 * * *", "match": {"any": [{"resources": {"kinds": ["ConfigMap"]}}]}},
}
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


@pytest.mark.parametrize(
    "command",
    [
        ("sweep", "-n", "shop", "--yes", "--ledger", "none"),
        ("plan", "-n", "shop"),
        ("explain", "cm/a", "-n", "shop"),
        ("keep", "cm/a", "-n", "shop"),
        ("extend", "cm/a", "-n", "shop", "--by", "1h"),
        ("refresh", "cm/a", "-n", "shop"),
        ("plan", "-f", "POLICY"),
        ("check", "-f", "POLICY"),
        ("check", "-f", "POLICY", "--offline"),
        ("migrate", "--from", "POLICY"),
        ("run",),
        ("test", "."),
        ("install",),
    ],
    ids=" ".join,
)
def test_an_empty_name_of_a_file_is_refused_whatever_the_command(
    town: Town, tmp_path: Path, command: tuple[str, ...]
) -> None:
    town.holding(config_map("a", "1h"), installed(PROTECT))
    before = town.find(CONFIG_MAPS, "a")
    policy = tmp_path / "policy.yaml"
    policy.write_text(yaml.safe_dump(POLICY))
    said = town(*(str(policy) if part == "POLICY" else part for part in command), "--config", "")
    assert said.code == 2
    assert "--config names no file: it is empty" in said.err
    assert "leave --config out" in said.err
    assert town.find(CONFIG_MAPS, "a") == before is not None


def keyless(data: dict[str, str], *, namespace: str = "skoupa") -> dict[str, Any]:
    return {**installed(namespace=namespace), "data": data}


@pytest.mark.parametrize("data", [{"settings.yml": PROTECT}, {}], ids=["another key", "no key"])
@pytest.mark.parametrize("namespace", ["skoupa", "tools"])
def test_an_installation_without_the_key_of_its_settings_is_none_that_could_be_read(
    town: Town, data: dict[str, str], namespace: str
) -> None:
    town.holding(obj("Namespace", "tools"), config_map("a", "1h"), keyless(data, namespace=namespace))
    said = town("sweep", "-n", "shop", "--yes", "--ledger", "none")
    assert said.code == 5
    assert f"nothing was deleted: ConfigMap {namespace}/skoupa-config has no settings.yaml" in said.err
    assert "write its settings under that key, or name a file with --config" in said.err
    # Nobody's rights are in the way.
    assert "grant" not in said.err
    assert town.find(CONFIG_MAPS, "a") is not None
    looks = (("plan",), ("explain", "cm/a"), ("keep", "cm/a", "--dry-run"), ("sweep", "--dry-run"))
    for command in looks:
        said = town(*command, "-n", "shop")
        assert "skoupa-config has no settings.yaml" in said.err, command
        assert "protects or counts otherwise is not known here" in said.err


def test_a_dump_without_the_key_of_the_settings_leaves_the_same_doubt(skoupa: Shell, tmp_path: Path) -> None:
    dump = tmp_path / "dump.yaml"
    objects = [obj("Namespace", "shop"), obj("Namespace", "skoupa"), config_map("a", "2d"), keyless({})]
    dump.write_text(yaml.safe_dump_all(objects))
    for command in (("plan", "-A"), ("migrate",)):
        said = skoupa(*command, "--from", str(dump), "--now", "2026-05-01T12:00:00Z", env={"TZ": "UTC"})
        assert said.code == 0, said.err
        assert "ConfigMap skoupa/skoupa-config has no settings.yaml" in said.err


def test_an_installation_without_that_key_is_not_passed_over_for_another(town: Town) -> None:
    town.holding(obj("Namespace", "tools"), config_map("a", "1h"))
    town.holding(keyless({}), installed(namespace="tools"))
    said = town("sweep", "-n", "shop", "--yes", "--ledger", "none")
    assert said.code == 5
    assert "ConfigMap skoupa/skoupa-config has no settings.yaml" in said.err
    assert "installations of Skoupa" not in said.err
    assert town.find(CONFIG_MAPS, "a") is not None


def test_settings_that_say_nothing_are_those_as_shipped(town: Town) -> None:
    town.holding(obj("Namespace", "tools"), config_map("a", "1h"), config_map("b", "2d"))
    town.holding(installed(""), installed(LIFETIME, namespace="tools"))
    said = town("sweep", "-n", "shop", "--yes", "--ledger", "none")
    assert said.code == 0, said.err
    assert town.find(CONFIG_MAPS, "a") is None
    assert due(town.document("plan", "-n", "shop")) == "2026-05-03T10:00:00Z"


def test_a_ledger_of_many_clusters_takes_the_name_that_the_installation_gives(
    town: Town, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SKOUPA_LEDGER_DSN")
    town.holding(config_map("a", "1h"), installed("clusterName: prod-eu\n"))
    said = town("sweep", "-n", "shop", "--yes", "--ledger", "postgresql://127.0.0.1:1/skoupa")
    assert "clusterName" not in said.err
    # It got as far as the database, where nobody answers.
    assert said.code == 6
    assert town.find(CONFIG_MAPS, "a") is not None


def test_a_ledger_of_many_clusters_needs_a_name_from_somewhere(
    town: Town, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SKOUPA_LEDGER_DSN")
    town.holding(config_map("a", "1h"), installed())
    said = town("sweep", "-n", "shop", "--yes", "--ledger", "postgresql://127.0.0.1:1/skoupa")
    assert said.code == 2
    assert "clusterName is needed where the ledger is in PostgreSQL" in said.err


def test_a_guard_that_is_written_twice_in_the_installation_is_not_half_lost(town: Town) -> None:
    town.holding(config_map("a", "1h"), installed(f"{PROTECT}protect: {{namespaces: [other]}}\n"))
    said = town("sweep", "-n", "shop", "--yes", "--ledger", "none")
    assert said.code == 2
    expected = 'ConfigMap skoupa/skoupa-config: the key "protect" is there twice, in lines 1 and 2'
    assert expected in said.err
    assert town.find(CONFIG_MAPS, "a") is not None
