"""`skoupa check` of retention policies and profiles: what they mean in words, what is wrong, and what is missing."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

import pytest

from skoupa.cli import installed
from skoupa.cli.checking import check
from skoupa.cli.options import Connecting
from skoupa.cli.worlds import World
from skoupa.sim.cluster import EmbeddedCluster
from skoupa.sim.state.access import Rule
from tests.unit.cli.saying import Shell
from tests.unit.cli.worlds import granting, looking

pytestmark = pytest.mark.unit

R = TypeVar("R")
HEAD = "apiVersion: skoupa.dev/v1alpha1\n"
JOBS = f"""{HEAD}kind: RetentionPolicy
metadata: {{name: jobs, namespace: ci}}
spec:
  match: {{any: [{{resources: {{kinds: [Job]}}}}]}}
  after: {{succeeded: 1h, failed: 7d}}
  keepNewest: {{count: 3, per: Owner}}
"""
BROKEN = f"""{HEAD}kind: ClusterRetentionPolicy
metadata: {{name: broken}}
spec: {{after: {{finished: soon}}, keepnewest: {{count: 1}}}}
---
{HEAD}kind: KindProfile
metadata: {{name: training}}
spec: {{kind: example.com/Training, finished: objct.status.phase == 'Done', finishedAt: status.endTime}}
"""
PROFILE = f"""{HEAD}kind: KindProfile
metadata: {{name: training}}
spec:
  kind: example.com/Training
  finished: has(object.status.endTime)
  finishedAt: status.endTime
  uses: [{{path: spec.secretName, kind: Secret}}]
"""
CLEANUP = """apiVersion: kyverno.io/v2
kind: ClusterCleanupPolicy
metadata: {name: tidy}
spec: {schedule: "@daily", match: {any: [{resources: {kinds: [Pod], names: [x]}}]}}
"""


@pytest.fixture
def file(tmp_path: Path) -> Callable[..., str]:
    def write(*texts: str, name: str = "policy.yaml") -> str:
        path = tmp_path / name
        path.write_text("---\n".join(texts), encoding="utf-8")
        return str(path)

    return write


def in_a_cluster(
    monkeypatch: pytest.MonkeyPatch,
    *,
    user: str = "",
    prepare: Callable[[EmbeddedCluster], None] = lambda _: None,
) -> None:
    def in_cluster(work: Callable[[World], Coroutine[Any, Any, R]], *, connecting: Connecting) -> R:
        return looking(lambda world, _: work(world), user=user, prepare=prepare, namespace="shop")

    for module in (check, installed):
        monkeypatch.setattr(module, "in_cluster", in_cluster)


def test_what_a_policy_means_is_told_in_words_with_the_kinds_and_permissions(
    skoupa: Shell, file: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    in_a_cluster(monkeypatch)
    said = skoupa("check", "-f", file(JOBS))
    assert said.code == 0, said.err
    assert "RetentionPolicy ci/jobs" in said.out
    assert ": valid" in said.out
    assert "Jobs in namespace ci: 1h after they succeeded, 7d after they failed" in said.out
    assert "the 3 newest of each owner stay" in said.out
    assert re.search(r"KIND +WHERE +LIST +DELETE +PATCH", said.out)
    assert re.search(r"jobs.batch +ci +yes +yes +yes", said.out)


def test_permissions_that_are_missing_are_told_and_leave_the_exit_code_alone(
    skoupa: Shell, file: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rule = Rule(verbs=("list", "delete"), resources=("jobs.batch",))
    in_a_cluster(monkeypatch, user="anna", prepare=granting(rule, user="anna"))
    said = skoupa("check", "-f", file(JOBS))
    assert said.code == 0, said.err
    assert re.search(r"jobs.batch +ci +yes +yes +no", said.out)
    assert "you may not list, delete and patch 1 of 1 kinds that are meant" in said.err


def test_what_is_wrong_is_told_with_what_to_write_and_the_exit_code_is_2(
    skoupa: Shell, file: Callable[..., str]
) -> None:
    said = skoupa("check", "-f", file(BROKEN), "--offline")
    assert said.code == 2
    assert "invalid: nothing would go by it" in said.out
    assert "did you mean keepNewest?" in said.out
    assert "write a duration such as 30m" in said.out
    assert "invalid: it would teach nothing" in said.out
    assert "there is no variable objct" in said.out
    assert "2 of 2 policies would not run" in said.err


def test_a_profile_is_told_in_words_and_kinds_that_are_not_there_are_cautions(
    skoupa: Shell, file: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    in_a_cluster(monkeypatch)
    said = skoupa("check", "-f", file(PROFILE))
    assert said.code == 0, said.err
    assert "example.com/Training has finished when has(object.status.endTime)" in said.out
    assert "when that was is told by status.endTime" in said.out
    assert "uses the Secret named at spec.secretName" in said.out
    assert 'caution: spec.kind: the server has no kind "example.com/Training"' in said.out


def test_they_stand_beside_other_policies_and_say_the_same_as_json(
    skoupa: Shell, file: Callable[..., str]
) -> None:
    said = skoupa("check", "-f", file(CLEANUP, JOBS, PROFILE), "--offline", "-o", "json")
    assert said.code == 0, said.err
    found = {one["kind"]: one for one in json.loads(said.out)["policies"]}
    assert found["RetentionPolicy"]["means"][0].startswith("Jobs in namespace ci")
    assert found["RetentionPolicy"]["schedule"] is None
    assert found["KindProfile"]["valid"]
    assert found["ClusterCleanupPolicy"]["means"] == []


def test_where_retention_is_off_that_is_told(skoupa: Shell, file: Callable[..., str], tmp_path: Path) -> None:
    settings = tmp_path / "settings.yaml"
    settings.write_text("mode: enforce\n")
    said = skoupa("check", "-f", file(JOBS), "--offline", "--config", str(settings))
    assert "features.retention is off in the settings" in said.err
    settings.write_text("features: {retention: true}\n")
    assert not skoupa("check", "-f", file(JOBS), "--offline", "--config", str(settings)).err


def test_a_plan_tells_of_both_sorts_of_policies(skoupa: Shell, file: Callable[..., str]) -> None:
    both = skoupa("plan", "-f", file(CLEANUP, JOBS, PROFILE), "--from", file(CLEANUP, name="cluster.yaml"))
    assert both.code == 0, both.err
    assert "RetentionPolicy/ci/jobs" in both.out
    assert "not counted in" not in both.err
