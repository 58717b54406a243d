"""The guide of policies: its manifests are whole and do what is said of them, and its tables are right."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from skoupa.expr.jmespath.functions import FUNCTIONS
from skoupa.expr.jmespath.running import Limits
from skoupa.kinds.policies import DEFINITIONS
from skoupa.policy.operators import OPERATORS, holds
from skoupa.policy.reach import out_of_reach
from skoupa.policy.variable_names import REQUEST, ROOTS
from skoupa.policy.variables import DEEPEST_NESTING
from skoupa.runs.accounts import COUNTS_SECONDS as ACCOUNT_SECONDS
from skoupa.runs.effort import RUN_STEPS
from skoupa.runs.kyverno_config import COUNTS_SECONDS as FILTER_SECONDS
from skoupa.sim.state.kinds import BUILT_IN
from tests.unit.cli.saying import Shell

pytestmark = pytest.mark.unit

PAGE = (Path(__file__).parents[4] / "docs" / "policies.md").read_text(encoding="utf-8")
NOW = "2026-05-01T12:00:00Z"
OLD, YOUNG = "2026-04-01T00:00:00Z", "2026-05-01T11:00:00Z"


def section(heading: str) -> str:
    found = PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    assert found, heading
    return found


def manifests() -> Iterator[dict[str, Any]]:
    """Every block that is one."""
    for block in re.findall(r"(?:^    .*\n|^\n(?=    ))+", PAGE, re.MULTILINE):
        if block.lstrip().startswith("apiVersion:"):
            yield yaml.safe_load("\n".join(line[4:] for line in block.splitlines()))


def thing(kind: str, name: str, namespace: str = "test", **more: Any) -> dict[str, Any]:
    created, labels = more.pop("created", OLD), more.pop("labels", {})
    metadata = {"name": name, "namespace": namespace, "creationTimestamp": created, "labels": labels}
    version = {"Job": "batch/v1"}.get(kind, "v1")
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **more}


REPORT = {"kind": "report"}
OBJECTS = [
    {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "test", "labels": {"stage": "test"}}},
    {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}},
    thing("Job", "done", "shop", status={"succeeded": 1}),
    thing("Job", "keep-done", "shop", status={"succeeded": 1}),
    thing("Job", "running", "shop", status={}),
    thing("Job", "elsewhere", status={"succeeded": 1}),
    thing("ConfigMap", "old", labels=REPORT),
    thing("ConfigMap", "young", created=YOUNG, labels=REPORT),
    thing("ConfigMap", "mounted", labels=REPORT),
    thing("ConfigMap", "unlabelled"),
    thing("ConfigMap", "in-production", "shop", labels=REPORT),
    thing("Pod", "failed", status={"phase": "Failed"}, spec={}),
    thing("Pod", "checkout-7", status={"phase": "Failed"}, spec={}),
    thing("Pod", "just-failed", created=YOUNG, status={"phase": "Failed"}, spec={}),
    thing("Pod", "new", spec={"volumes": [{"name": "a", "configMap": {"name": "mounted"}}]}),
    thing("Service", "preview-1", "shop"),
    thing("Service", "web", "shop"),
    thing("Service", "preview-2"),
]
GOES = {
    "finished-jobs": ["Job/shop/done"],
    "old-reports": ["ConfigMap/test/old"],
    "failed-pods": ["Pod/test/failed"],
    "previews": ["Service/shop/preview-1"],
}


def test_there_is_one_of_each_and_each_is_valid(skoupa: Shell, tmp_path: Path) -> None:
    written = list(manifests())
    assert {one["kind"] for one in written} == {one.kind for one in DEFINITIONS}
    file = tmp_path / "guide.yaml"
    file.write_text(yaml.safe_dump_all(written), encoding="utf-8")
    said = skoupa("check", "--offline", "-f", str(file), "-o", "json")
    assert said.code == 0, said.out
    assert not [caution for one in json.loads(said.out)["policies"] for caution in one["cautions"]]


def test_each_takes_what_the_guide_says_of_it(skoupa: Shell, tmp_path: Path) -> None:
    policies = [one for one in manifests() if one["metadata"]["name"] in GOES]
    exceptions = [one for one in manifests() if one["kind"] == "PolicyException"]
    trial = {
        "policies": ["policies.yaml"],
        "resources": ["objects.yaml"],
        "exceptions": ["exceptions.yaml"],
        "now": NOW,
        "expect": {name: {"goes": goes} for name, goes in GOES.items()},
    }
    for name, documents in (
        ("policies", policies),
        ("objects", OBJECTS),
        ("exceptions", exceptions),
        ("skoupa-test", [trial]),
    ):
        (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump_all(documents), encoding="utf-8")
    said = skoupa("test", str(tmp_path))
    assert said.code == 0, said.out


def test_every_operator_holds_for_what_the_guide_says_and_for_nothing_else() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (.+) \| (.+) \|$", section("Conditions in JMESPath"), re.MULTILINE)
    told = {name: (does, not_) for name, does, not_ in rows if name in OPERATORS}
    assert tuple(sorted(told)) == tuple(sorted(OPERATORS))
    assert f"There are {len(OPERATORS)} operators" in PAGE
    for name, cells in told.items():
        for cell, expected in zip(cells, (True, False), strict=True):
            for pair in re.findall(r"`([^`]+)`", cell):
                key, value = json.loads(f"[{pair}]")
                assert holds(name, key, value) is expected, f"{name}: {pair}"


def test_every_name_function_and_limit_of_jmespath_is_in_the_guide() -> None:
    text = section("Conditions in JMESPath")
    assert not [one.usage for one in FUNCTIONS.values() if f"`{one.usage}`" not in text]
    for name in (*(root for root in ROOTS if root != "request"), *(f"request.{part}" for part in REQUEST)):
        assert f"`{name}`" in text
    limits = Limits()
    assert f"{limits.steps:,} steps" in text
    assert f"{RUN_STEPS:,} steps" in text
    assert f"{limits.output // 2**20} MiB" in text
    assert f"at most {DEEPEST_NESTING} deep" in text


def test_what_no_wildcard_reaches_is_in_the_guide() -> None:
    text = section("How far a wildcard reaches")
    for kind in ("Namespace", "Node", "PersistentVolume", "StorageClass", "ClusterRole", "Event", "Lease"):
        assert out_of_reach(next(one for one in BUILT_IN if one.kind == kind))
        assert kind in text
    for name in ("`default`", "`kube-root-ca.crt`", "`kubernetes`", "`owner-goes`"):
        assert name in text


def test_how_late_rights_and_filters_count_is_in_the_guide() -> None:
    assert ACCOUNT_SECONDS == FILTER_SECONDS == 30
    assert "Two things count up to 30 seconds late" in PAGE
