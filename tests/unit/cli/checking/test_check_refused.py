"""`skoupa check` says of a policy what an API server would say of it, without one too; and of each that stands in the files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from skoupa.admission.built_in import CLUSTER_WIDE
from tests.unit.cli.saying import Shell

pytestmark = pytest.mark.unit


def cleanup(name: str, match: Any, *, kind: str = "CleanupPolicy", **more: Any) -> dict[str, Any]:
    metadata = {"name": name, **more.pop("metadata", {})}
    spec = {"schedule": "@daily", "match": {"any": [{"resources": match}]}, **more}
    return {"apiVersion": "kyverno.io/v2", "kind": kind, "metadata": metadata, "spec": spec}


def deleting(name: str, rule: Any, *, kind: str = "NamespacedDeletingPolicy") -> dict[str, Any]:
    return {
        "apiVersion": "policies.kyverno.io/v1beta1",
        "kind": kind,
        "metadata": {"name": name},
        "spec": {
            "schedule": "@daily",
            "matchConstraints": {"resourceRules": [{"apiVersions": ["v1"], **rule}]},
            "conditions": [{"name": "all", "expression": "true"}],
        },
    }


def problems(skoupa: Shell, folder: Path, *policies: Any, options: tuple[str, ...] = ("--offline",)) -> Any:
    """By the name of each policy."""
    file = folder / "policies.yaml"
    file.write_text(yaml.safe_dump_all(policies), encoding="utf-8")
    said = skoupa("check", "-f", str(file), *options, "-o", "json")
    told = json.loads(said.out)
    every = [*told["policies"], *told["besides"]]
    assert said.code == (0 if all(one["valid"] for one in every) else 2), said.err
    return {one["name"]: [(it["path"], it["what"]) for it in one["problems"]] for one in every}


OUT = "is in no namespace, and a policy of a namespace is about nothing outside of it"
NODES = {"apiGroups": [""], "resources": ["pods", "nodes"]}


@pytest.mark.parametrize("files", [False, True], ids=["offline", "with the kinds of files"])
def test_what_lies_in_no_namespace_is_a_problem_of_a_policy_of_a_namespace(
    skoupa: Shell, tmp_path: Path, *, files: bool
) -> None:
    world = tmp_path / "world"
    world.mkdir()
    (world / "shop.yaml").write_text("{apiVersion: v1, kind: Namespace, metadata: {name: shop}}")
    excluded = {"any": [{"resources": {"kinds": ["v1/Node"]}}]}
    found = problems(
        skoupa,
        tmp_path,
        cleanup("named", {"kinds": ["Pod", "Node"]}),
        cleanup("grouped", {"kinds": ["rbac.authorization.k8s.io/v1/ClusterRole"]}),
        cleanup("excluded", {"kinds": ["Pod"], "names": ["a"]}, exclude=excluded),
        cleanup("fine", {"kinds": ["Pod", "shop.io/v1/Node", "*"]}),
        cleanup("wide", {"kinds": ["Node"]}, kind="ClusterCleanupPolicy"),
        deleting("plural", NODES),
        deleting("custom", {"apiGroups": ["shop.io"], "resources": ["nodes"]}),
        deleting("everywhere", NODES, kind="DeletingPolicy"),
        options=("--from", str(world)) if files else ("--offline",),
    )
    rule = "spec.matchConstraints.resourceRules[0].resources[1]"
    assert found == {
        "named": [("spec.match.any[0].resources.kinds[1]", f'"Node" {OUT}')],
        "grouped": [
            ("spec.match.any[0].resources.kinds[0]", f'"rbac.authorization.k8s.io/v1/ClusterRole" {OUT}')
        ],
        "excluded": [("spec.exclude.any[0].resources.kinds[0]", f'"v1/Node" {OUT}')],
        "fine": [],
        "wide": [],
        "plural": [(rule, f'"nodes" {OUT}')],
        "custom": [],
        "everywhere": [],
    }


def test_every_kind_that_the_admission_policies_refuse_is_refused_offline(
    skoupa: Shell, tmp_path: Path
) -> None:
    cleaning = [cleanup(kind.lower(), {"kinds": [kind]}) for _, _, kind in CLUSTER_WIDE]
    rules = [
        deleting(plural, {"apiGroups": [group], "resources": [plural]}) for group, plural, _ in CLUSTER_WIDE
    ]
    assert all(problems(skoupa, tmp_path, *cleaning, *rules).values())


def test_what_is_no_text_in_the_metadata_of_one_policy_keeps_no_other_from_being_told(
    skoupa: Shell, tmp_path: Path
) -> None:
    exception = {
        "apiVersion": "policies.kyverno.io/v1beta1",
        "kind": "PolicyException",
        "metadata": {"name": "mercy", "namespace": "shop", "annotations": {"build": 7}},
        "spec": {"policyRefs": [{"name": "plural", "kind": "DeletingPolicy"}]},
    }
    match = {"kinds": ["Job"], "names": ["old"]}
    found = problems(
        skoupa,
        tmp_path,
        cleanup("own", match, metadata={"annotations": {"skoupa.dev/observe": 5}}),
        cleanup("others", match, metadata={"annotations": {"team": True}, "labels": {"build": 12}}),
        cleanup("schedule", match, schedule="never"),
        {**cleanup("", match), "metadata": {"name": 5}},
        exception,
        cleanup("fine", match),
    )
    assert [path for path, _ in found["own"]] == ["metadata.annotations[skoupa.dev/observe]"]
    assert [path for path, _ in found["others"]] == ["metadata.labels[build]", "metadata.annotations[team]"]
    assert [path for path, _ in found["schedule"]] == ["spec.schedule"]
    assert found["5"] == [("metadata.name", "5 is not a text")]
    assert [path for path, _ in found["mercy"]] == ["metadata.annotations[build]"]
    assert found["fine"] == []
