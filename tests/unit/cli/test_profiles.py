"""`unused`, `plan` and `explain` by the example of a KindProfile: what it teaches counts, and one that is not understood holds."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from skoupa.kinds.retention.profile import KIND_PROFILES
from skoupa.kube.resources import Resource
from tests.unit.cli.saying import Said, Shell
from tests.unit.cli.test_unused import everything_but
from tests.unit.cli.worlds import KEEP, Town, config_map, granting, installed, obj

pytestmark = pytest.mark.unit

NOON = "2026-05-01T12:00:00Z"
AFTER, MARK = "skoupa.dev/ttl-after", "skoupa.dev/unneeded-since"
EXAMPLE = Path(__file__).parents[3] / "examples" / "profiles" / "training.yaml"
PROFILE = yaml.safe_load(EXAMPLE.read_text(encoding="utf-8"))
ON = "mode: enforce\nfeatures:\n  retention: true\n"
TRAININGS = Resource(
    group="example.com",
    version="v1",
    plural="trainings",
    kind="Training",
    namespaced=True,
    singular="training",
    verbs=("create", "delete", "get", "list", "patch", "update", "watch"),
)
SPEC = {
    "credentials": "token",
    "datasets": [{"configMap": {"name": "faces", "namespace": "data"}}],
    "scratchClaim": "scratch",
}


def training(name: str = "night", **status: Any) -> dict[str, Any]:
    made = obj("Training", name, api="example.com/v1", namespace="shop", spec=SPEC, status=status)
    made["metadata"]["labels"] = {AFTER: "succeeded-1h"}
    made["metadata"]["annotations"] = {MARK: "2026-05-01T11:30:00Z"}
    return made


def secret(name: str) -> dict[str, Any]:
    return obj("Secret", name, namespace="shop", type="Opaque")


class Files:
    def __init__(self, folder: Path, skoupa: Shell) -> None:
        self._folder = folder
        self._skoupa = skoupa

    def __call__(self, command: str, *args: str, objects: list[Mapping[str, Any]]) -> Said:
        homes = [obj("Namespace", name) for name in ("shop", "data", "skoupa")]
        text = yaml.safe_dump_all([*homes, installed(ON), *map(dict, objects)])
        (self._folder / "all.yaml").write_text(text, encoding="utf-8")
        where = ("--from", str(self._folder), "--now", NOON)
        return self._skoupa(command, *args, *where, env={"TZ": "UTC"})


@pytest.fixture
def files(tmp_path: Path, skoupa: Shell) -> Files:
    return Files(tmp_path, skoupa)


@pytest.fixture
def town(skoupa: Shell, monkeypatch: pytest.MonkeyPatch) -> Town:
    found = Town(skoupa, monkeypatch)
    found.cluster.install(TRAININGS)
    found.cluster.install(msgspec.structs.replace(KIND_PROFILES, verbs=TRAININGS.verbs))
    return found.holding(obj("Namespace", "shop"), obj("Namespace", "skoupa"), installed(ON))


def unused(said: Said) -> set[str]:
    return {f"{item['namespace']}/{item['name']}" for item in json.loads(said.out)["items"]}


def test_the_example_is_valid(skoupa: Shell) -> None:
    said = skoupa("check", "--offline", "-f", str(EXAMPLE))
    assert said.code == 0, said.out
    assert "example.com/Training has succeeded when" in said.out


def test_what_a_taught_kind_uses_produces_and_takes_is_not_unused(files: Files) -> None:
    things = [
        secret("token"),
        secret("other"),
        config_map("faces", namespace="data"),
        config_map("faces", namespace="skoupa"),
        config_map("night", namespace="shop"),
        obj("PersistentVolumeClaim", "scratch", namespace="shop", spec={}),
    ]
    asked = ("-A", "-o", "json", "secrets,configmaps,persistentvolumeclaims")
    said = files("unused", *asked, objects=[PROFILE, training(), *things])
    assert unused(said) == {"shop/other", "skoupa/faces"}
    assert {item["confidence"] for item in json.loads(said.out)["items"]} == {"proved"}


def test_a_profile_that_is_not_understood_is_told_and_nothing_that_its_kind_may_use_is_judged(
    files: Files,
) -> None:
    broken = {**PROFILE, "spec": {**PROFILE["spec"], "uses": [{"path": "spec.x", "kind": "v1/Secret"}]}}
    said = files("unused", "-A", "-o", "json", "secrets", objects=[broken, training(), secret("other")])
    assert said.code == 4
    assert unused(said) == set()
    (gap,) = json.loads(said.out)["notJudged"][0]["unread"]
    assert gap["what"] == "trainings.example.com"
    assert "write the kind without it: Secret" in gap["why"]
    assert "KindProfile/training does not count" in said.err


def test_plan_and_explain_know_when_one_of_a_taught_kind_has_finished(files: Files) -> None:
    done = training(phase="Done", endTime="2026-05-01T11:20:00Z")
    said = files("plan", "-n", "shop", "-o", "json", objects=[PROFILE, done])
    (item,) = json.loads(said.out)["items"]
    assert (item["name"], item["due"]) == ("night", "2026-05-01T12:30:00Z")


@pytest.mark.parametrize("waived", [[], ["kindprofiles.skoupa.dev"]])
def test_an_end_is_known_where_the_settings_waive_profiles_that_may_not_be_read(
    town: Town, tmp_path: Path, waived: list[str]
) -> None:
    ended = {"type": "Complete", "status": "True", "lastTransitionTime": "2026-05-01T11:20:00Z"}
    done = obj("Job", "nightly", api="batch/v1", namespace="shop", spec={}, status={"conditions": [ended]})
    done["metadata"] |= {
        "labels": {AFTER: "finished-1h"},
        "annotations": {MARK: "2026-05-01T11:30:00Z"},
    }
    town.holding(done)
    granting(*everything_but("kindprofiles.skoupa.dev"))(town.cluster)
    town.user = "bob"
    config = tmp_path / "settings.yaml"
    config.write_text(f"{ON}usage: {{ignoreKinds: {waived}}}\n", encoding="utf-8")
    items = town.document("plan", "jobs", "-n", "shop", "--config", str(config))["items"]
    assert [item["due"] for item in items] == (["2026-05-01T12:30:00Z"] if waived else [])


def test_explain_says_why_one_of_a_taught_kind_stays(town: Town) -> None:
    town.holding(PROFILE, training(phase="Broken"))
    said = town("explain", "-n", "shop", "training/night")
    assert "it failed, and a time is only written for what succeeded" in said.out


def test_explain_names_the_expression_that_has_no_answer(town: Town) -> None:
    spec = {"kind": "example.com/Training", "succeeded": "object.status.result == 'Done'"}
    town.holding({**PROFILE, "spec": spec}, training(phase="Done"))
    said = town("explain", "-n", "shop", "training/night")
    assert "KindProfile/training: succeeded (object.status.result == 'Done') looks at 'result'" in said.out


def test_a_profile_that_takes_the_place_of_a_shipped_one_is_told(files: Files) -> None:
    spec = {"kind": "cert-manager.io/Certificate", "uses": [{"path": "spec.secretName", "kind": "Secret"}]}
    said = files("unused", "-A", "secrets", objects=[{**PROFILE, "spec": spec}, secret("other")])
    assert (
        "KindProfile/training takes the place of what Skoupa knows of cert-manager.io/Certificate" in said.err
    )


def test_the_guide_shows_the_example_as_it_is() -> None:
    lines = [line for line in EXAMPLE.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    guide = (EXAMPLE.parents[2] / "docs" / "profiles.md").read_text(encoding="utf-8")
    assert "\n".join(f"    {line}" for line in lines) in guide


def test_plan_and_explain_tell_what_goes_along_and_that_it_is_kept(town: Town) -> None:
    claim = obj("PersistentVolumeClaim", "scratch", namespace="shop", spec={})
    town.holding(PROFILE, training(phase="Done", endTime="2026-05-01T11:20:00Z"), claim)
    said = town("explain", "-n", "shop", "training/night")
    assert "note: takes along PersistentVolumeClaim shop/scratch" in said.out
    assert "Goes Fri 2026-05-01 12:30 UTC" in said.out
    (item,) = town.document("plan", "-n", "shop")["items"]
    assert "takes along PersistentVolumeClaim shop/scratch" in [note["text"] for note in item["notes"]]
    kept = obj("PersistentVolumeClaim", "scratch", namespace="shop", spec={}, labels={KEEP: "true"})
    town.holding(kept)
    said = town("explain", "-n", "shop", "training/night")
    assert "deleting it would take along PersistentVolumeClaim shop/scratch, which is kept" in said.out
