"""`plan`, `plan -f`, `explain` and `sweep` about retention policies."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from skoupa.kinds.definition import document
from skoupa.kinds.retention.policy import (
    CLUSTER_RETENTION_POLICIES,
    CLUSTER_RETENTION_POLICY,
    RETENTION_POLICIES,
    RETENTION_POLICY,
)
from tests.unit.cli.saying import Said, Shell
from tests.unit.cli.worlds import Town, config_map, installed, obj
from tests.unit.controller.retaining.scene import JOBS

pytestmark = pytest.mark.unit

MARK = "skoupa.dev/unneeded-since"
ON = "mode: enforce\nfeatures:\n  retention: true\n"
NOON = "2026-05-01T12:00:00Z"


def policy(name: str, *kinds: str, namespace: str = "shop", **spec: Any) -> dict[str, Any]:
    match = {"match": {"any": [{"resources": {"kinds": list(kinds)}}]}} if kinds else {}
    metadata = {"name": name, "creationTimestamp": "2026-04-01T00:00:00Z"}
    metadata |= {"namespace": namespace} if namespace else {}
    kind = "RetentionPolicy" if namespace else "ClusterRetentionPolicy"
    return {
        "apiVersion": "skoupa.dev/v1alpha1",
        "kind": kind,
        "metadata": metadata,
        "spec": {**match, **spec},
    }


def config(name: str, *, since: str = "", **rest: Any) -> dict[str, Any]:
    return config_map(name, annotations={MARK: since} if since else {}, **rest)


def pod_template(config: str) -> dict[str, Any]:
    spec = {"containers": [], "volumes": [{"name": "c", "configMap": {"name": config}}]}
    return {"metadata": {"labels": {"app": "web"}}, "spec": spec}


def deployment(name: str, config: str) -> dict[str, Any]:
    spec = {"selector": {"matchLabels": {"app": "web"}}, "template": pod_template(config)}
    return obj("Deployment", name, api="apps/v1", namespace="shop", uid=f"uid-{name}", spec=spec)


def job(
    name: str, *, done: str = "", since: str = "", namespace: str = "shop", **rest: Any
) -> dict[str, Any]:
    condition = {"type": "Complete", "status": "True", "lastTransitionTime": done}
    return obj(
        "Job",
        name,
        api="batch/v1",
        namespace=namespace,
        annotations={MARK: since} if since else {},
        status={"conditions": [condition]} if done else {},
        **rest,
    )


def owner(kind: str, name: str, api: str) -> list[dict[str, Any]]:
    return [{"apiVersion": api, "kind": kind, "name": name, "uid": f"uid-{name}", "controller": True}]


class Folder:
    """Objects in a folder, policies in a file, and `plan` over both at noon."""

    def __init__(self, folder: Path, skoupa: Shell) -> None:
        self._folder = folder
        self._skoupa = skoupa

    def __call__(self, *args: str, objects: list[Any], policies: list[Any], applied: bool = False) -> Said:
        settings = [obj("Namespace", "skoupa"), installed(ON)] if applied else []
        self._write("objects.yaml", [obj("Namespace", "shop"), *settings, *objects])
        self._write("policies.yaml", policies)
        option = "--from" if applied else "-f"
        given = (option, str(self._folder / "policies.yaml"), "--from", str(self._folder / "objects.yaml"))
        return self._skoupa("plan", *given, "--now", NOON, *args, env={"TZ": "UTC"})

    def _write(self, name: str, documents: list[Mapping[str, Any]]) -> None:
        (self._folder / name).write_text(yaml.safe_dump_all(documents), encoding="utf-8")


@pytest.fixture
def folder(tmp_path: Path, skoupa: Shell) -> Folder:
    return Folder(tmp_path, skoupa)


def town_of(
    skoupa: Shell, monkeypatch: pytest.MonkeyPatch, *objects: Mapping[str, Any], on: bool = True
) -> Town:
    town = Town(skoupa, monkeypatch)
    definitions = (document(RETENTION_POLICY), document(CLUSTER_RETENTION_POLICY))
    spaces = (obj("Namespace", "shop"), obj("Namespace", "skoupa"), *([installed(ON)] if on else []))
    town.cluster.load((*definitions, *spaces), resources=(RETENTION_POLICIES, CLUSTER_RETENTION_POLICIES))
    town.cluster.load(objects)
    return town


def items(said: Said) -> dict[str, dict[str, Any]]:
    return {item["name"]: item for item in json.loads(said.out)["items"]}


def codes(item: Mapping[str, Any]) -> list[str]:
    return [hold["reason"]["code"] for hold in item["holds"]]


def standing(said: Said, name: str) -> dict[str, Any]:
    (found,) = [one for one in json.loads(said.out)["retention"] if one["name"] == name]
    told: dict[str, Any] = found
    return told


def test_plan_shows_what_goes_by_its_mark_and_counts_what_waits(
    skoupa: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    town = town_of(
        skoupa,
        monkeypatch,
        policy("configs", "ConfigMap", after={"unused": "30m"}),
        config("free", since="2026-05-01T11:50:00Z"),
        config("over", since="2026-05-01T11:00:00Z"),
        config("used", since="2026-05-01T11:00:00Z"),
        config("unmarked"),
        deployment("web", "used"),
    )
    said = town("plan", "-n", "shop", "-o", "json")
    found = items(said)
    assert {name: item["due"] for name, item in found.items()} == {
        "free": "2026-05-01T12:20:00Z",
        "over": "2026-05-01T11:30:00Z",
        "used": "2026-05-01T11:30:00Z",
    }
    assert codes(found["free"]) == codes(found["over"]) == []
    assert codes(found["used"]) == ["in-use"]
    # kube-root-ca.crt is there too.
    assert "waiting for retention policies to count: " in said.err
    told = standing(said, "configs")
    assert (told["due"], told["toCome"], told["stays"]["in-use"]) == (1, 1, 1)
    assert told["nextTime"] == "2026-05-01T12:20:00Z"
    within = items(town("plan", "-n", "shop", "--within", "10m", "-o", "json"))
    assert set(within) == {"over", "used"}


def test_what_is_over_a_limit_is_due_now_and_counted_over_all_namespaces(
    skoupa: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = [f"2026-05-01T10:{minute}:00Z" for minute in (10, 20, 30)]
    town = town_of(
        skoupa,
        monkeypatch,
        obj("Namespace", "other"),
        policy("jobs", "Job", namespace="", capacity={"atMost": 1, "divide": "Cluster"}),
        job("z-oldest", done=done[0]),
        job("b", done=done[1]),
        job("a", done=done[2], namespace="other"),
        job("runs", namespace="other"),
    )
    found = items(town("plan", "-n", "shop", "-o", "json"))
    assert set(found) == {"z-oldest", "b"}
    assert {one["claims"][0]["reason"]["code"] for one in found.values()} == {"over-capacity"}
    assert not any(one["holds"] for one in found.values())
    assert {"z-oldest", "b"} == set(items(town("plan", "-A", "-o", "json")))


def test_the_newest_and_what_is_owned_or_suspended_stay_and_say_so(folder: Folder) -> None:
    said = folder(
        "-o",
        "json",
        applied=True,
        policies=[
            policy("configs", "ConfigMap", after={"unused": "5m"}, keepNewest={"count": 1}),
            policy("jobs", "Job", after={"finished": "5m"}),
            policy("pods", "Pod", after={"finished": "5m"}, suspend=True),
        ],
        objects=[
            config("web-v1", since="2026-05-01T11:00:00Z"),
            config("web-v2", since="2026-05-01T11:10:00Z"),
            obj("CronJob", "nightly", api="batch/v1", namespace="shop", uid="uid-nightly", spec={}),
            job(
                "nightly-1",
                done="2026-05-01T11:00:00Z",
                since="2026-05-01T11:00:00Z",
                owners=owner("CronJob", "nightly", "batch/v1"),
            ),
            obj("Pod", "ended", namespace="shop", status={"phase": "Succeeded"}),
        ],
    )
    found = items(said)
    assert codes(found["web-v1"]) == []
    assert codes(found["web-v2"]) == ["among-newest"]
    assert codes(found["nightly-1"]) == ["owner-lives"]
    assert "ended" not in found
    assert standing(said, "pods")["stays"] == {"retention-suspended": 1}
    assert standing(said, "pods")["suspended"]


def test_an_app_that_tracks_it_is_named(folder: Folder) -> None:
    application = obj(
        "Application",
        "shop",
        api="argoproj.io/v1alpha1",
        namespace="argocd",
        status={
            "resources": [{"version": "v1", "kind": "ConfigMap", "namespace": "shop", "name": "tracked"}]
        },
    )
    said = folder(
        policies=[policy("configs", "ConfigMap", after={"unused": "5m"})],
        objects=[obj("Namespace", "argocd"), application, config("tracked")],
    )
    line = next(line for line in said.out.splitlines() if " tracked " in line)
    assert "Application argocd/shop" in line


def test_kinds_that_need_not_be_read_are_listed(skoupa: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    town = town_of(
        skoupa,
        monkeypatch,
        installed(f"{ON}usage:\n  ignoreKinds: [deployments.apps]\n"),
        policy("configs", "ConfigMap", after={"unused": "30m"}),
        config("free", since="2026-05-01T11:50:00Z"),
        on=False,
    )
    town.user = "bob"
    town.cluster.deny(user="bob", verbs=("list",), resources=("deployments.apps",))
    said = town("plan", "-n", "shop", "-o", "json")
    assert codes(items(said)["free"]) == []
    assert "not read, and need not be (usage.ignoreKinds): deployments.apps" in said.err


def test_a_kind_that_cannot_be_read_holds_and_is_a_gap(
    skoupa: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    town = town_of(
        skoupa,
        monkeypatch,
        policy("configs", "ConfigMap", after={"unused": "30m"}),
        policy("jobs", "Job", capacity={"atMost": 1}),
        config("free", since="2026-05-01T11:50:00Z"),
    )
    town.user = "bob"
    town.cluster.deny(user="bob", verbs=("list",), resources=("deployments.apps", "jobs.batch"))
    said = town("plan", "-n", "shop", "-o", "json")
    assert said.code == 4
    assert codes(items(said)["free"]) == ["users-unread"]
    assert any("jobs.batch could not be read" in one for one in standing(said, "jobs")["problems"])


def test_off_policies_are_only_told_of(skoupa: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    town = town_of(
        skoupa,
        monkeypatch,
        policy("configs", "ConfigMap", after={"unused": "30m"}),
        config("free", since="2026-05-01T11:00:00Z"),
        on=False,
    )
    said = town("plan", "-n", "shop", "-o", "json")
    assert json.loads(said.out)["items"] == []
    assert (
        "the feature retention is switched off in the settings, so nothing goes by its 1 retention"
        in said.err
    )


def test_sweep_leaves_policies_to_the_controller(skoupa: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    town = town_of(
        skoupa,
        monkeypatch,
        policy("jobs", "Job", after={"finished": "0"}),
        job("done", done="2026-05-01T10:00:00Z", since="2026-05-01T10:00:00Z"),
    )
    town("sweep", "-n", "shop", "--yes", "--ledger", "none")
    assert town.find(JOBS, "done") is not None


def test_a_policy_of_a_file_is_told_as_if_it_were_applied_now(folder: Folder) -> None:
    said = folder(
        policies=[policy("jobs", "Job", after={"succeeded": "1h", "failed": "7d"})],
        objects=[job("done", done="2026-05-01T08:00:00Z"), job("runs")],
    )
    assert said.code == 0
    assert "If they were applied now, Fri 2026-05-01 12:00 UTC" in said.out
    assert "2026-05-01 13:00   in 1h" in said.out
    assert "Job shop/runs: RetentionPolicy/shop/jobs: it has not finished" in said.out
    assert "is about 2 objects: 1 in time, 1 waiting to finish or to be marked" in said.out
    assert "nothing goes by it before Fri 2026-05-01 13:00 UTC, in 1h: times count from a mark" in said.out
    assert "the feature retention is switched off" in said.err


def test_a_file_beats_the_policy_of_that_name_and_is_beaten_by_what_is_more_specific(folder: Folder) -> None:
    said = folder(
        "-o",
        "json",
        policies=[
            policy("configs", "ConfigMap", after={"unused": "1h"}),
            policy("all", "ConfigMap", namespace="", after={"unused": "10m"}),
        ],
        objects=[
            obj("Namespace", "other"),
            policy("configs", "ConfigMap", after={"unused": "2d"}),
            config("here"),
            config("there", namespace="other"),
        ],
    )
    found = items(said)
    assert found["here"]["due"] == "2026-05-01T13:00:00Z"
    assert found["there"]["due"] == "2026-05-01T12:10:00Z"
    assert standing(said, "all")["overridden"] >= 1


def test_fail_over_counts_what_would_go_in_time(folder: Folder) -> None:
    policies = [policy("configs", "ConfigMap", after={"unused": "1h"})]
    objects = [config("a"), config("b"), config("c")]
    assert folder("--fail-over", "3", policies=policies, objects=objects).code == 0
    said = folder("--fail-over", "2", policies=policies, objects=objects)
    assert said.code == 5
    assert "3 objects would go, more than --fail-over 2" in said.err


def test_a_brake_that_would_stop_it_is_foretold(folder: Folder) -> None:
    said = folder(
        "-o",
        "json",
        policies=[policy("configs", "ConfigMap", after={"unused": "1h"})],
        objects=[config(f"c{number}") for number in range(30)],
    )
    assert standing(said, "configs")["wouldBrake"]
    assert codes(items(said)["c1"]) == ["run-would-brake"]
    done = folder(
        "-o",
        "json",
        policies=[policy("jobs", "Job", after={"finished": "1h"})],
        objects=[job(f"j{number}", done="2026-05-01T10:00:00Z") for number in range(30)],
    )
    # What has finished is not measured by its share.
    assert standing(done, "jobs")["wouldBrake"] == []


def test_a_policy_of_a_file_that_would_not_count_is_refused(folder: Folder) -> None:
    said = folder(policies=[policy("bad", "Job", after={"finished": "2days"})], objects=[])
    assert said.code == 2
    assert "RetentionPolicy" in said.err
    assert "spec.after.finished" in said.err


def test_explain_says_which_policies_count_and_who_needs_it_up_to_a_root(
    skoupa: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    pod = pod_template("used")["spec"]
    town = town_of(
        skoupa,
        monkeypatch,
        policy("configs", "ConfigMap", after={"unused": "30m"}),
        policy("more", "ConfigMap", after={"unused": "1h"}, keepNewest={"count": 2}),
        policy("all", "ConfigMap", namespace="", after={"unused": "10m"}),
        config("used"),
        config("free", since="2026-05-01T11:50:00Z"),
        deployment("web", "other"),
        obj(
            "ReplicaSet",
            "web-1",
            api="apps/v1",
            namespace="shop",
            uid="uid-web-1",
            owners=owner("Deployment", "web", "apps/v1"),
            spec={"selector": {"matchLabels": {"app": "web"}}, "template": pod_template("other")},
        ),
        obj(
            "Pod",
            "web-1-a",
            namespace="shop",
            uid="uid-pod",
            owners=owner("ReplicaSet", "web-1", "apps/v1"),
            spec={**pod, "serviceAccountName": "default"},
            status={"phase": "Running"},
        ),
    )
    said = town("explain", "-n", "shop", "cm/used").out
    assert "retention: RetentionPolicy/shop/configs counts: unused 30m" in said
    assert "RetentionPolicy/shop/more counts: unused 1h, the newest 2 stay" in said
    assert "so it goes when all of them agree" in said
    assert "a limit takes the oldest" not in said
    assert "not by: ClusterRetentionPolicy/all: a policy of its namespace" in said
    lines = [line.strip() for line in said.splitlines()]
    first = lines.index("used by: Pod shop/web-1-a (spec.volumes[].configMap.name)")
    assert lines[first + 1 : first + 3] == [
        "owned by: ReplicaSet shop/web-1, lives",
        "owned by: Deployment shop/web, lives",
    ]
    free = town("explain", "-n", "shop", "cm/free", "-o", "json")
    (item,) = json.loads(free.out)["items"]
    assert item["due"] == "2026-05-01T12:50:00Z"
    assert [(one["name"], one["answer"]) for one in item["retention"]] == [
        ("configs", "counts"),
        ("more", "counts"),
        ("all", "beaten"),
    ]
    assert item["neededBy"]["answer"] == "unneeded"


def profile(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "skoupa.dev/v1alpha1",
        "kind": "KindProfile",
        "metadata": {"name": "training"},
        "spec": {"kind": "example.com/Training", **spec},
    }


def training(name: str, **status: Any) -> dict[str, Any]:
    return obj("Training", name, api="example.com/v1", namespace="shop", status=status)


def test_a_profile_beside_a_policy_counts_as_if_it_were_applied(folder: Folder) -> None:
    taught = profile(
        finished="object.status.phase == 'Done'", uses=[{"path": "spec.config", "kind": "ConfigMap"}]
    )
    done = training("done", phase="Done")
    done["spec"] = {"config": "wanted"}
    policies = [
        policy("trainings", "Training", after={"finished": "1h"}),
        policy("configs", "ConfigMap", after={"unused": "1h"}),
    ]
    objects = [done, training("runs", phase="Training"), config("wanted"), config("left")]
    said = folder("-o", "json", policies=[*policies, taught], objects=objects)
    assert said.code == 0, said.err
    found = items(said)
    assert {name for name, one in found.items() if not one["holds"]} == {"done", "left"}
    assert set(codes(found["wanted"])) == {"in-use"}
    assert standing(said, "trainings")["matched"] == 2
    assert "not counted in" not in said.err


def test_a_profile_of_a_file_takes_the_place_of_the_one_of_its_name(folder: Folder) -> None:
    there = profile(finished="object.status.phase == 'Other'")
    taught = profile(finished="object.status.phase == 'Done'")
    said = folder(
        "-o",
        "json",
        policies=[policy("trainings", "Training", after={"finished": "1h"}), taught],
        objects=[there, training("done", phase="Done")],
    )
    assert set(items(said)) == {"done"}


def test_a_profile_that_would_not_count_is_refused_with_what_to_write(folder: Folder) -> None:
    said = folder(
        policies=[
            policy("trainings", "Training", after={"finished": "1h"}),
            profile(finished="object.status.phase == 'Done'", finishedAt="metadata.creationTimestamp"),
        ],
        objects=[training("done", phase="Done")],
    )
    assert said.code == 2
    assert "KindProfile training" in said.err
    assert "spec.finishedAt" in said.err


def test_that_a_limit_is_not_put_off_by_the_times_of_others_is_told_where_people_look(
    skoupa: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    town = town_of(
        skoupa,
        monkeypatch,
        policy("configs", "ConfigMap", after={"unused": "7d"}),
        policy("few", "ConfigMap", capacity={"atMost": 5}),
        config("free"),
    )
    said = town("explain", "-n", "shop", "cm/free").out
    assert "a limit takes the oldest at once, before their times have come" in said


def test_a_limit_from_a_quota_that_is_not_there_is_told(folder: Folder) -> None:
    said = folder(
        policies=[policy("jobs", "Job", capacity={"fromQuota": "count/jobs.batch"})], objects=[job("runs")]
    )
    assert "caution: there is no ResourceQuota with count/jobs.batch in its namespace" in said.out
