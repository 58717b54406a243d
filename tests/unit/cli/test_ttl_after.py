"""`plan`, `explain` and `sweep` about objects with `skoupa.dev/ttl-after`."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.unit.cli.saying import Shell
from tests.unit.cli.worlds import Town, config_map, installed, obj
from tests.unit.controller.retaining.scene import JOBS

pytestmark = pytest.mark.unit

AFTER, MARK = "skoupa.dev/ttl-after", "skoupa.dev/unneeded-since"
ON = "mode: enforce\nfeatures:\n  retention: true\n"


def labelled(name: str, value: str, *, since: str = "") -> dict[str, Any]:
    return config_map(name, labels={AFTER: value}, annotations={MARK: since} if since else {})


def deployment(name: str, config: str) -> dict[str, Any]:
    spec = {"containers": [], "volumes": [{"name": "c", "configMap": {"name": config}}]}
    template = {"metadata": {"labels": {"app": "web"}}, "spec": spec}
    selector = {"matchLabels": {"app": "web"}}
    return obj(
        "Deployment", name, api="apps/v1", namespace="shop", spec={"selector": selector, "template": template}
    )


def job(name: str, value: str, *, done: str, since: str) -> dict[str, Any]:
    condition = {"type": "Complete", "status": "True", "lastTransitionTime": done}
    return obj(
        "Job",
        name,
        api="batch/v1",
        namespace="shop",
        labels={AFTER: value},
        annotations={MARK: since},
        status={"conditions": [condition]},
    )


@pytest.fixture
def town(skoupa: Shell, monkeypatch: pytest.MonkeyPatch) -> Town:
    found = Town(skoupa, monkeypatch)
    found.cluster.load(
        [
            obj("Namespace", "shop"),
            obj("Namespace", "skoupa"),
            installed(ON),
            labelled("free", "unused-30m", since="2026-05-01T11:50:00Z"),
            labelled("used", "unused-30m"),
            labelled("unmarked", "unused-30m"),
            labelled("odd", "completed-1h"),
            deployment("web", "used"),
            job("nightly", "finished-1h", done="2026-05-01T10:30:00Z", since="2026-05-01T10:45:00Z"),
        ]
    )
    return found


def test_plan_shows_what_is_due_and_when(town: Town) -> None:
    said = town("plan", "-n", "shop", "-o", "json")
    found = {item["name"]: item for item in json.loads(said.out)["items"]}
    assert {name: item["due"] for name, item in found.items()} == {
        "free": "2026-05-01T12:20:00Z",
        "nightly": "2026-05-01T11:45:00Z",
    }
    assert not any(item["holds"] for item in found.values())
    # What only waits is counted, and a label that is not understood is told.
    assert "waiting for skoupa.dev/ttl-after to count: 2 objects" in said.err
    remarks = [one["name"] for one in json.loads(said.out)["remarks"]]
    assert remarks == ["odd"]


def test_explain_says_what_it_waits_for_and_who_uses_it(town: Town) -> None:
    assert (
        "Deployment shop/web uses it (spec.template.spec.volumes"
        in town("explain", "-n", "shop", "cm/used").out
    )
    assert "it is not marked yet as needed by nobody" in town("explain", "-n", "shop", "cm/unmarked").out
    free = town("explain", "-n", "shop", "cm/free").out
    assert "Goes Fri 2026-05-01 12:20 UTC" in free
    assert "skoupa.dev/ttl-after=unused-30m: 30m counted from 2026-05-01T11:50:00Z (unused)" in free
    assert "Due since" in town("explain", "-n", "shop", "job/nightly").out


def test_explain_says_that_a_later_time_of_the_kind_itself_counts_and_that_an_earlier_one_may(
    town: Town,
) -> None:
    for name, seconds in (("later", 7200), ("sooner", 60)):
        own = job(name, "finished-1h", done="2026-05-01T11:30:00Z", since="2026-05-01T11:30:00Z")
        town.cluster.load([{**own, "spec": {"ttlSecondsAfterFinished": seconds}}])
    later = town("explain", "-n", "shop", "job/later").out
    assert "Goes Fri 2026-05-01 13:30 UTC" in later
    assert "spec.ttlSecondsAfterFinished" in later
    sooner = town("explain", "-n", "shop", "job/sooner").out
    assert "Goes Fri 2026-05-01 12:30 UTC" in sooner
    assert "spec.ttlSecondsAfterFinished of the object itself is earlier" in sooner


def test_plan_and_explain_say_that_the_ttl_label_waits_for_the_other_one(town: Town) -> None:
    both = labelled("both", "unused-30m", since="2026-05-01T11:50:00Z")
    both["metadata"]["labels"]["cleanup.kyverno.io/ttl"] = "1h"
    town.cluster.load([both])
    (item,) = [
        one
        for one in json.loads(town("plan", "-n", "shop", "-o", "json").out)["items"]
        if one["name"] == "both"
    ]
    assert [hold["reason"]["code"] for hold in item["holds"]] == ["other-ttl-ahead"]
    assert "lets it stay until 2026-05-01T12:20:00Z" in town("explain", "-n", "shop", "cm/both").out


def test_explain_says_what_could_not_be_read(town: Town) -> None:
    town.user = "bob"
    town.cluster.deny(user="bob", verbs=("list",), resources=("deployments.apps",))
    said = town("explain", "-n", "shop", "cm/free").out
    assert "deployments.apps can't be read" in said
    assert "held: it stays" in said


def test_sweep_leaves_them_to_the_controller(town: Town) -> None:
    said = town("sweep", "-n", "shop", "--yes", "--ledger", "none")
    assert "only a running controller lets go by skoupa.dev/ttl-after" in said.out + said.err
    assert town.find(JOBS, "nightly") is not None


def test_off_the_plan_does_without_the_label_and_explain_says_that_it_does_nothing(
    skoupa: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    town = Town(skoupa, monkeypatch)
    town.cluster.load(
        [obj("Namespace", "shop"), labelled("free", "unused-30m", since="2026-05-01T09:00:00Z")]
    )
    assert json.loads(town("plan", "-n", "shop", "-o", "json").out)["items"] == []
    said = town("explain", "-n", "shop", "cm/free").out
    assert "skoupa.dev/ttl-after=unused-30m does nothing: the feature retention is switched off" in said
    assert "(features.retention)" in said


def test_what_can_never_come_is_told_with_what_to_write(town: Town) -> None:
    forever = deployment("forever", "other")
    forever["metadata"]["labels"] = {AFTER: "unused-30m", "cleanup.kyverno.io/ttl": "1h"}
    town.cluster.load([forever, labelled("done", "finished-1h")])
    said = town("plan", "-n", "shop").out
    assert "ConfigMap shop/done: skoupa.dev/ttl-after=finished-1h never lets it go" in said
    told = town("explain", "-n", "shop", "deployment/forever").out
    assert "held by: its own time has not come: skoupa.dev/ttl-after=unused-30m" in told
    assert "unused-30m never lets it go: objects of this kind are there for themselves" in told
    assert "give it a time by the label cleanup.kyverno.io/ttl" in told


def test_written_as_an_annotation_explain_has_the_command(town: Town) -> None:
    town.cluster.load([config_map("slip", annotations={AFTER: "unused-30m"})])
    said = town("explain", "-n", "shop", "cm/slip").out
    assert "kubectl label configmaps/slip -n shop skoupa.dev/ttl-after=unused-30m" in said
