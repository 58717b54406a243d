"""`skoupa plan` over manifests: the questions of the seed, how they are shown, and what the exit code says."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from skoupa.cli.terminal.tables import Line, Screen, render
from tests.unit.cli.saying import Said, Shell
from tests.unit.cli.worlds import KEEP, TTL, config_map, obj

pytestmark = pytest.mark.unit

# A Friday.
NOON = "2026-05-01T12:00:00Z"
UTC = {"TZ": "UTC"}


class Files:
    """Manifests in a folder, and `plan` over them at noon."""

    def __init__(self, folder: Path, skoupa: Shell) -> None:
        self._folder = folder
        self._skoupa = skoupa

    def holding(self, *objects: dict[str, Any]) -> Files:
        (self._folder / "all.yaml").write_text(yaml.safe_dump_all(objects), encoding="utf-8")
        return self

    def plan(self, *args: str, now: str = NOON, tz: str = "UTC") -> Said:
        return self._skoupa("plan", "--from", str(self._folder), "--now", now, *args, env={"TZ": tz})

    def items(self, *args: str, now: str = NOON, tz: str = "UTC") -> list[dict[str, Any]]:
        said = self.plan(*args, "-o", "json", now=now, tz=tz)
        assert said.code == 0, said.err
        items: list[dict[str, Any]] = json.loads(said.out)["items"]
        return items

    def names(self, *args: str, now: str = NOON, tz: str = "UTC") -> list[str]:
        return [item["name"] for item in self.items(*args, now=now, tz=tz)]


@pytest.fixture
def files(tmp_path: Path, skoupa: Shell) -> Files:
    return Files(tmp_path, skoupa)


DEPLOYMENT = {"api": "apps/v1", "namespace": "shop"}
MESS = (
    config_map("overdue", "1h"),
    config_map("soon", "4h"),
    config_map("tomorrow", "1d"),
    config_map("elsewhere", "6h", namespace="foo"),
    config_map("friday-evening", "2026-05-01T163000Z", namespace="foo"),
    config_map("next-week", "8d", namespace="foo"),
    config_map("june", "2026-06-02"),
    obj("Deployment", "web", labels={TTL: "5h"}, **DEPLOYMENT),
    obj("Deployment", "db", labels={TTL: "30d"}, **DEPLOYMENT),
    obj("ClusterRole", "debug", api="rbac.authorization.k8s.io/v1", labels={TTL: "3h"}),
    config_map("plain"),
)


def test_question_1_everything_cleaned_in_the_next_6_hours(files: Files) -> None:
    found = files.holding(*MESS).names("-A", "--within", "6h")
    assert found == ["overdue", "debug", "soon", "web", "elsewhere", "friday-evening"]


def test_question_2_all_deployments_by_5pm_today(files: Files) -> None:
    assert files.holding(*MESS).names("deployments", "-A", "--by", "17:00") == ["web"]


def test_question_3_namespace_foo_between_now_and_friday_5pm(files: Files) -> None:
    files.holding(*MESS)
    assert files.names("-n", "foo", "--by", "friday 17:00") == ["elsewhere", "friday-evening"]
    on_saturday = files.names("-n", "foo", "--by", "friday 17:00", now="2026-05-02T09:00:00Z")
    assert on_saturday == ["elsewhere", "friday-evening"], "what is overdue goes by then too"


def test_question_4_created_with_a_ttl_over_7_days(files: Files) -> None:
    found = files.holding(*MESS).names("-A", "--ttl", ">7d")
    assert found == ["next-week", "db", "june"], "a date counts as date minus creation"


def test_question_5_expiring_during_may_of_this_year(files: Files) -> None:
    found = files.holding(*MESS).names("-A", "--during", "may")
    assert "june" not in found
    assert {"overdue", "next-week", "db"} <= set(found)


def test_every_question_of_the_seed_is_an_example_in_the_help(skoupa: Shell) -> None:
    told = skoupa("plan", "--help").out
    for example in (
        "skoupa plan -A --within 6h",
        "skoupa plan deployments -A --by 17:00",
        'skoupa plan -n foo --by "friday 17:00"',
        "skoupa plan -A --ttl '>7d'",
        "skoupa plan -A --during may",
    ):
        assert example in told


def test_hours_are_those_of_the_callers_clock_also_after_the_clocks_change(files: Files) -> None:
    files.holding(config_map("late", "2026-03-29T133000Z"), config_map("later", "2026-03-29T143000Z"))
    before = "2026-03-28T12:00:00Z"
    # Athens is two hours ahead on Saturday and three on Sunday: 17:00 there is 14:00 UTC.
    assert files.names("-A", "--by", "sunday 17:00", now=before, tz="Europe/Athens") == ["late"]
    assert files.names("-A", "--by", "sunday 17:00", now=before, tz="UTC") == ["late", "later"]
    assert files.names("-A", "--by", "sunday 17:00", "--tz", "Europe/Athens", now=before) == ["late"]


def test_the_window_that_was_understood_stands_above_the_table(files: Files) -> None:
    files.holding(*MESS)
    first = files.plan("-A", "--by", "17:00", tz="Europe/Athens").out.splitlines()[0]
    assert first == (
        "Due from now, Fri 2026-05-01 15:00 EEST (UTC+03:00) to Fri 2026-05-01 17:00 EEST (UTC+03:00)"
    )
    first = files.plan("-A", "--ttl", ">7d").out.splitlines()[0]
    assert first == "Due at any time, with a ttl over 7d; it is Fri 2026-05-01 12:00 UTC now"
    window = json.loads(files.plan("-A", "--during", "may", "-o", "json").out)["window"]
    assert (window["start"], window["end"]) == ("2026-05-01T00:00:00Z", "2026-06-01T00:00:00Z")
    assert window["includesEnd"] is False


def test_the_table_is_sorted_by_time_and_says_when_what_and_why(files: Files) -> None:
    lines = files.holding(*MESS).plan("-A").out.splitlines()
    assert lines[1].split() == ["DUE", "KIND", "NAMESPACE", "NAME", "WHY", "HELD", "BY"]
    assert lines[2].split()[:6] == ["2026-05-01", "11:00", "1h", "ago", "ConfigMap", "shop"]
    assert "cleanup.kyverno.io/ttl=1h, counted from 2026-05-01T10:00:00Z" in lines[2]
    times = [line[:16] for line in lines[2:12]]
    assert times == sorted(times)
    assert lines[-1] == "10 due: 10 will go."


def test_wide_adds_rule_identity_propagation_and_notes(files: Files) -> None:
    uid = "11111111-2222-3333-4444-555555555555"
    policy = {"cleanup.kyverno.io/propagation-policy": "Orphan"}
    files.holding(config_map("a", "90s", uid=uid, annotations=policy))
    said = files.plan("-A", "-o", "wide").out
    for told in ("RULE", f"{TTL}=90s", uid, "Orphan", "counts in seconds"):
        assert told in said


def test_held_objects_are_shown_with_what_holds_them_and_do_not_count_as_going(files: Files) -> None:
    files.holding(
        config_map("kept", "1h", labels={KEEP: "true"}),
        config_map("until", "1h", labels={KEEP: "2026-05-20"}),
        config_map("system", "1h", namespace="kube-system"),
        config_map("free", "1h"),
    )
    said = files.plan("-A", "--within", "6h")
    assert "kept by its label skoupa.dev/keep=true" in said.out
    assert "kept by its label skoupa.dev/keep=2026-05-20" in said.out
    assert "the namespace kube-system is protected" in said.out
    assert said.out.splitlines()[-1] == "4 due: 1 will go, 3 held."
    items = {item["name"]: item for item in files.items("-A")}
    assert items["kept"]["goesAt"] is None
    assert items["until"]["goesAt"] == "2026-05-20T00:00:00Z"
    assert items["until"]["holds"][0]["until"] == "2026-05-20T00:00:00Z"
    assert items["free"]["goesAt"] == items["free"]["due"] == "2026-05-01T11:00:00Z"


def test_what_is_kept_until_a_day_goes_in_the_window_of_that_day(files: Files) -> None:
    files.holding(config_map("until", "1h", labels={KEEP: "2026-05-20"}), config_map("other", "1h"))
    assert files.names("-A", "--during", "2026-05-20") == ["until"]


def test_an_invalid_label_has_a_line_with_what_to_write_instead(files: Files) -> None:
    files.holding(config_map("bad", "2days"), config_map("good", "2d"))
    said = files.plan("-A", "--within", "1h")
    assert "Nothing.\n" in said.out
    assert "ConfigMap shop/bad: cleanup.kyverno.io/ttl=2days is not understood" in said.out
    assert "write 2d" in said.out
    told = json.loads(files.plan("-A", "-o", "json").out)
    assert [item["name"] for item in told["items"]] == ["good"]
    assert [item["name"] for item in told["remarks"]] == ["bad"]
    assert told["remarks"][0]["due"] is None
    assert told["remarks"][0]["notes"][0]["code"] == "ttl-invalid"
    assert files.plan("-A", "-o", "name").out == "configmap/shop/good\n"


def test_a_label_written_as_an_annotation_in_a_manifest_is_told_though_no_label_is_there(
    files: Files,
) -> None:
    files.holding(
        config_map("misplaced", annotations={TTL: "1h"}),
        obj("Deployment", "web", api="apps/v1", namespace="shop", annotations={TTL: "2days"}),
        obj("Namespace", "shop", annotations={KEEP: "true"}),
        config_map("plain"),
        config_map("other-tools", annotations={"janitor/ttl": "1h"}),
    )
    told = json.loads(files.plan("-A", "-o", "json").out)
    assert told["items"] == []
    assert {item["name"]: item["notes"][0]["facts"]["command"] for item in told["remarks"]} == {
        "misplaced": f"kubectl label configmaps/misplaced -n shop {TTL}=1h",
        "web": f"kubectl label deployments.apps/web -n shop {TTL}=2d",
        "shop": f"kubectl label namespaces/shop {KEEP}=true",
    }
    shown = files.plan("-n", "shop", "cm").out
    assert f"ConfigMap shop/misplaced: {TTL} is written as an annotation and does nothing" in shown
    assert "Deployment" not in shown


def test_who_meant_to_keep_something_that_goes_reads_it_below_its_line(files: Files) -> None:
    files.holding(config_map("goes", "1h", annotations={KEEP: "true"}))
    said = files.plan("-A")
    assert f"kubectl label configmaps/goes -n shop {KEEP}=true" in " ".join(said.out.split())


def test_a_namespace_says_what_goes_with_it_and_whether_data_does(files: Files) -> None:
    ref = {"namespace": "shop", "name": "data"}
    spec = {"persistentVolumeReclaimPolicy": "Delete", "claimRef": ref}
    files.holding(
        obj("Namespace", "shop", labels={TTL: "3h"}),
        config_map("a"),
        config_map("b"),
        obj("PersistentVolumeClaim", "data", namespace="shop", labels={TTL: "4h"}),
        obj("PersistentVolumeClaim", "scratch", namespace="shop", labels={TTL: "4h"}),
        obj("PersistentVolume", "disk", spec=spec),
        obj(
            "PersistentVolume",
            "other",
            spec={"persistentVolumeReclaimPolicy": "Retain", "claimRef": {**ref, "name": "scratch"}},
        ),
    )
    said = files.plan("-A").out
    assert "  takes along 4 objects (configmaps 2, persistentvolumeclaims 2)\n" in said
    assert "  data goes for good: PV reclaim policy Delete on 1 PersistentVolume of its claims\n" in said
    assert "  data goes for good: PV reclaim policy Delete (disk)\n" in said
    items = {item["name"]: item for item in files.items("-A")}
    assert items["shop"]["takesAlong"]["total"] == 4
    assert items["shop"]["takesAlong"]["objects"]["configmaps"] == 2
    assert [note["code"] for note in items["data"]["notes"]] == ["data-goes"]
    assert items["scratch"]["notes"] == [], "the volume of this claim is retained"


def test_a_definition_says_how_many_objects_go_with_it(files: Files) -> None:
    names = {"plural": "widgets", "singular": "widget", "kind": "Widget"}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object"}},
    }
    definition = obj(
        "CustomResourceDefinition",
        "widgets.shop.example",
        api="apiextensions.k8s.io/v1",
        labels={TTL: "1d"},
        spec={"group": "shop.example", "scope": "Namespaced", "names": names, "versions": [version]},
    )
    widgets = [obj("Widget", name, api="shop.example/v1", namespace="shop") for name in ("a", "b", "c")]
    files.holding(definition, *widgets)
    assert "takes along 3 objects (widgets.shop.example 3)" in files.plan("-A").out


def test_a_kept_object_holds_its_namespace(files: Files) -> None:
    files.holding(
        obj("Namespace", "shop", labels={TTL: "1h"}),
        obj("Secret", "precious", namespace="shop", labels={KEEP: "true"}),
    )
    assert "deleting it would take along Secret shop/precious, which is kept" in files.plan("-A").out


def test_kinds_are_named_as_kubectl_names_them_and_narrow_the_plan(files: Files) -> None:
    files.holding(*MESS, config_map("bad", "2days"), config_map("kept", "1h", labels={KEEP: "true"}))
    for kind in ("deploy", "deployment.apps", "Deployment"):
        assert files.names(kind, "-A") == ["web", "db"]
    told = json.loads(files.plan("deploy", "-A", "-o", "json").out)
    assert told["remarks"] == []
    said = files.plan("deploymints", "-A")
    assert said.code == 2
    assert "did you mean deployments" in said.sentence


def test_kinds_separated_by_commas_are_all_meant(files: Files) -> None:
    files.holding(*MESS, obj("Secret", "b", namespace="shop", labels={TTL: "1h"}))
    assert files.names("deploy,secrets", "-A") == files.names("deploy", "secrets", "-A")


def test_what_is_made_again_says_so_below_its_line(files: Files) -> None:
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-1", "uid": "u-1", "controller": True}
    files.holding(obj("Pod", "web-1-x", namespace="shop", labels={TTL: "1h"}, owners=[owner]))
    assert "ReplicaSet web-1 will create it again" in files.plan("-A").out


def test_a_kind_that_the_controller_does_not_watch_is_held_until_it_does(
    files: Files, tmp_path: Path
) -> None:
    files.holding(obj("Lease", "lock", api="coordination.k8s.io/v1", namespace="shop", labels={TTL: "3h"}))
    assert "Nothing." in files.plan("-A").out, "as docs/ttl.md says, it is looked at only where it is named"
    said = files.plan("leases", "-A")
    assert "add leases.coordination.k8s.io to the setting watchAlso" in " ".join(said.out.split())
    assert "1 due: 0 will go, 1 held." in said.out
    config = tmp_path.parent / f"{tmp_path.name}-settings.yaml"
    config.write_text("watchAlso: [leases.coordination.k8s.io]\n")
    assert "1 due: 1 will go." in files.plan("leases", "-A", "--config", str(config)).out


def test_a_namespace_alone_shows_what_is_in_it_and_that_namespace_itself(files: Files) -> None:
    files.holding(
        obj("Namespace", "foo", labels={TTL: "2h"}),
        obj("Namespace", "bar", labels={TTL: "2h"}),
        config_map("a", "1h", namespace="foo"),
        config_map("b", "1h", namespace="bar"),
        obj("ClusterRole", "debug", api="rbac.authorization.k8s.io/v1", labels={TTL: "1h"}),
    )
    assert files.names("-n", "foo") == ["a", "foo"]
    assert files.names("clusterroles", "-n", "foo") == ["debug"], "what is in no namespace is in all of them"
    said = files.plan("-n", "nosuch")
    assert said.code == 2
    assert "there is no namespace nosuch" in said.sentence


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (("--fail-over", "0"), 5),
        (("--fail-over", "1"), 0),
        (("--detailed-exitcode",), 10),
        (("--detailed-exitcode", "--fail-over", "0"), 5),
        (("--detailed-exitcode", "--during", "2027"), 0),
        ((), 0),
    ],
)
def test_exit_codes_for_ci(files: Files, args: Sequence[str], code: int) -> None:
    files.holding(config_map("goes", "1h"), config_map("kept", "1h", labels={KEEP: "true"}))
    assert files.plan("-A", *args).code == code


def test_items_have_what_every_command_promises(files: Files) -> None:
    uid = "11111111-2222-3333-4444-555555555555"
    [item] = files.holding(config_map("a", "1h", uid=uid)).items("-A")
    assert {key: item[key] for key in ("apiVersion", "kind", "namespace", "name", "uid", "due")} == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "namespace": "shop",
        "name": "a",
        "uid": uid,
        "due": "2026-05-01T11:00:00Z",
    }
    [claim] = item["claims"]
    assert (claim["mechanism"], claim["rule"]) == ("ttl", f"{TTL}=1h")
    assert claim["reason"]["facts"]["since"] == "2026-05-01T10:00:00Z"
    assert item["holds"] == []


def test_a_manifest_without_an_identity_gets_none_and_counts_from_now(files: Files) -> None:
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "new", "labels": {TTL: "1h"}}}
    [item] = files.holding(manifest).items("-A")
    assert (item["uid"], item["due"]) == ("", "2026-05-01T13:00:00Z")


def test_yaml_is_the_same_document(files: Files) -> None:
    files.holding(*MESS)
    as_json, as_yaml = (files.plan("-A", "-o", form).out for form in ("json", "yaml"))
    assert yaml.safe_load(as_yaml) == json.loads(as_json)


def test_a_manifest_with_a_generate_name_is_planned_under_a_generated_one(files: Files) -> None:
    job = obj("Job", "", api="batch/v1", namespace="ci", labels={TTL: "1h"})
    job["metadata"] |= {"generateName": "build-", "name": None}
    names = files.holding(job, job).names("-A")
    assert len(set(names)) == 2
    assert all(name.startswith("build-") for name in names)


def test_manifests_come_from_standard_input_too(skoupa: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(yaml.safe_dump(config_map("a", "1h"))))
    said = skoupa("plan", "--from", "-", "--now", NOON, "-o", "name", env=UTC)
    assert (said.code, said.out) == (0, "configmap/shop/a\n")


def test_settings_protect_and_switch_on_other_tools_annotations(files: Files, tmp_path: Path) -> None:
    config = tmp_path / "config" / "settings.txt"
    config.parent.mkdir()
    config.write_text("protect: {names: ['configmap/*/safe']}\ncompat: {janitor: true}\n")
    files.holding(
        config_map("safe", "1h"),
        config_map("janitor", annotations={"janitor/ttl": "30m"}),
    )
    assert files.names("-A") == ["safe"]
    said = files.plan("-A", "--config", str(config))
    assert "protected by the setting protect.names (configmap/*/safe)" in said.out
    assert "janitor/ttl=30m" in said.out


def test_a_protection_that_protects_nothing_is_told(files: Files, tmp_path: Path) -> None:
    config = tmp_path / "config" / "settings.txt"
    config.parent.mkdir()
    config.write_text("protect: {kinds: [ConfigMapp]}\n")
    said = files.holding(config_map("a", "1h")).plan("-A", "--config", str(config))
    assert "protect.kinds: 'ConfigMapp' protects nothing: there is no such kind; did you mean" in said.err
    assert said.code == 0


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (("--now", NOON), "--now needs --from"),
        (("--from", "nosuch.yaml"), "nosuch.yaml"),
        (("--within", "6 hours", "--from", "."), "--within"),
        (("--within", "6h", "--by", "17:00", "--from", "."), "can't go together"),
        (("--ttl", "7d", "--from", "."), "did you mean '>=7d'"),
        (("--tz", "Europe/Athen", "--from", "."), "did you mean Europe/Athens"),
        (("--from", ".", "--now", "someday"), "--now"),
    ],
)
def test_what_can_not_be_meant_is_refused_with_what_to_write(
    skoupa: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, args: Sequence[str], told: str
) -> None:
    (tmp_path / "a.yaml").write_text(yaml.safe_dump(config_map("a", "1h")))
    monkeypatch.chdir(tmp_path)
    said = skoupa("plan", *args, env=UTC)
    assert said.code == 2
    assert told in said.sentence


def test_by_an_hour_that_is_past_asks_whether_tomorrow_is_meant(files: Files) -> None:
    said = files.holding(*MESS).plan("-A", "--by", "11:00")
    assert said.code == 2
    assert 'did you mean "tomorrow 11:00"?' in said.sentence


def test_foreign_text_can_not_command_the_terminal(files: Files) -> None:
    files.holding(
        config_map("a", "1h", annotations={"cleanup.kyverno.io/propagation-policy": "\x1b[2JOrphan"})
    )
    said = files.plan("-A")
    assert "\x1b" not in said.out
    assert "[2JOrphan is none of Foreground, Background, Orphan" in said.out


def test_a_narrow_screen_wraps_sentences_within_their_columns() -> None:
    line = Line(
        cells=("web", "one two three four five six seven", "held by somebody else for good"), paint="red"
    )
    shown = render(("NAME", "WHY", "HELD BY"), [line], screen=Screen(colours=True, width=64), texts=2)
    for text in shown.splitlines():
        assert len(text.replace("\x1b[31m", "").replace("\x1b[1m", "").replace("\x1b[0m", "")) <= 64
    assert shown.count("\x1b[31m") == 2, "each line of the row is painted by itself"
    wide = render(("NAME", "WHY", "HELD BY"), [line], screen=Screen(), texts=2)
    assert "one two three four five six seven   held by somebody else for good" in wide
    assert "\x1b" not in wide


def test_a_refresh_that_is_not_understood_holds_in_a_plan(files: Files) -> None:
    files.holding(
        config_map("odd", "1h", annotations={"skoupa.dev/refreshed-at": "1777633200"}),
        config_map("goes", "1h"),
    )
    held = {item["name"]: [hold["reason"]["code"] for hold in item["holds"]] for item in files.items("-A")}
    assert held == {"odd": ["refresh-unclear"], "goes": []}
