"""Policies in files together with what changes what they do: PolicyExceptions and GlobalContextEntries."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from skoupa.kinds.policies import policy_definitions
from tests.unit.cli.policies import Files, cleaning, deleting, holds
from tests.unit.cli.saying import Shell
from tests.unit.cli.worlds import Town, config_map, obj

pytestmark = pytest.mark.unit


@pytest.fixture
def files(tmp_path: Path, skoupa: Shell) -> Files:
    return Files(tmp_path, skoupa)


def exception(expression: str = "object.metadata.name == 'a'", **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "policies.kyverno.io/v1beta1",
        "kind": "PolicyException",
        "metadata": {"name": "spare", "namespace": "shop"},
        "spec": {
            "policyRefs": [{"kind": "DeletingPolicy", "name": "cel"}],
            "matchConditions": [{"name": "a", "expression": expression}],
            **spec,
        },
    }


def entry(**spec: Any) -> dict[str, Any]:
    asked = {"kubernetesResource": {"group": "", "version": "v1", "resource": "pods", "namespace": "shop"}}
    return {
        "apiVersion": "kyverno.io/v2beta1",
        "kind": "GlobalContextEntry",
        "metadata": {"name": "running"},
        "spec": spec or asked,
    }


def unnamed_by_pods() -> dict[str, Any]:
    context = [{"name": "pods", "globalReference": {"name": "running", "jmesPath": "[].metadata.name"}}]
    conditions = {
        "all": [{"key": "{{ target.metadata.name }}", "operator": "AnyNotIn", "value": "{{ pods }}"}]
    }
    return cleaning(where={"namespaces": ["shop"]}, context=context, conditions=conditions)


@pytest.mark.parametrize("place", ["all.yaml", "."])
def test_an_exception_beside_its_policy_spares_what_it_says(files: Files, skoupa: Shell, place: str) -> None:
    files.with_policies(deleting("true"), exception()).holding(config_map("a"), config_map("b"))
    said = skoupa(
        "plan",
        "-f",
        str(files.policies / place),
        "--from",
        str(files.objects),
        "--now",
        "2026-05-01T12:00:00Z",
        "-o",
        "json",
    )
    assert said.code == 0, said.err
    found = holds(json.loads(said.out))
    assert found["b"] == []
    assert found["a"], "it is spared"
    assert "passed over" not in said.err


def test_shared_context_beside_a_policy_answers_it(files: Files) -> None:
    pod = obj("Pod", "a", namespace="shop")
    files.with_policies(unnamed_by_pods(), entry()).holding(config_map("a"), config_map("b"), pod)
    assert holds(files.document()) == {"b": []}


def test_an_entry_of_the_files_counts_before_the_one_of_the_cluster(
    skoupa: Shell, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    town = Town(skoupa, monkeypatch).holding(
        *policy_definitions(),
        entry(kubernetesResource={"group": "", "version": "v1", "resource": "secrets", "namespace": "shop"}),
        obj("Pod", "a", namespace="shop"),
        obj("Secret", "b", namespace="shop"),
        config_map("a"),
        config_map("b"),
    )
    policy, both = tmp_path / "policy.yaml", tmp_path / "both.yaml"
    policy.write_text(yaml.safe_dump(unnamed_by_pods()), encoding="utf-8")
    both.write_text(yaml.safe_dump_all([unnamed_by_pods(), entry()]), encoding="utf-8")
    assert holds(town.document("plan", "-f", str(policy))) == {"a": []}
    assert holds(town.document("plan", "-f", str(both))) == {"b": []}


def test_one_that_would_not_count_as_it_is_meant_is_refused_with_what_to_write(files: Files) -> None:
    files.with_policies(deleting("true"), exception("objct.metadata.name == 'a'"), entry(apiCall={})).holding(
        config_map("a")
    )
    said = files.plan()
    assert said.code == 2
    assert "PolicyException shop/spare" in said.err
    assert "spec.matchConditions[0].expression: " in said.err
    assert "GlobalContextEntry running" in said.err
    assert (
        "would not count as it is meant: spec.apiCall: where it asks is not clear; write one of" in said.err
    )


def test_exceptions_alone_are_nothing_to_plan_with(files: Files) -> None:
    files.with_policies(exception()).holding(config_map("a"))
    assert "there are no policies in" in files.plan().sentence


def test_check_takes_policies_with_their_company(skoupa: Shell, tmp_path: Path) -> None:
    path = tmp_path / "all.yaml"
    path.write_text(yaml.safe_dump_all([deleting("true"), exception(), entry()]), encoding="utf-8")
    said = skoupa("check", "-f", str(path), "--offline")
    assert said.code == 0, said.err
    assert f"PolicyException shop/spare ({path}, document 2): valid" in said.out
    assert f"GlobalContextEntry running ({path}, document 3): valid" in said.out
    path.write_text(
        yaml.safe_dump_all([deleting("true"), exception(), entry(apiCall={"urlPath": "here"})]),
        encoding="utf-8",
    )
    said = skoupa("check", "-f", str(path), "--offline", "-o", "json")
    assert said.code == 2
    document = json.loads(said.out)
    assert [(one["name"], one["valid"]) for one in document["besides"]] == [
        ("spare", True),
        ("running", False),
    ]
    assert document["besides"][1]["problems"][0]["path"] == "spec.apiCall.urlPath"
    assert "1 of 2 that stand beside policies would not count as they are meant" in said.err
