"""`plan -f` and what it is given: files, folders, standard input, options, and policies that are wrong or strange."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.unit.cli.policies import NOON, Files, cleaning, deleting, holds
from tests.unit.cli.saying import Shell
from tests.unit.cli.worlds import config_map, obj

pytestmark = pytest.mark.unit


@pytest.fixture
def files(tmp_path: Path, skoupa: Shell) -> Files:
    return Files(tmp_path, skoupa)


def test_a_namespace_that_is_not_there_is_a_sentence(files: Files) -> None:
    files.with_policies(cleaning(namespace="nowhere")).holding(config_map("a"))
    said = files.plan()
    assert said.code == 2
    assert "there is no namespace nowhere" in said.sentence
    assert "a policy in these files is for it" in said.sentence


def test_a_policy_that_would_not_run_is_refused_in_the_words_of_check(files: Files, skoupa: Shell) -> None:
    bad = cleaning(schedule="0 77 * * 0", conditions={"all": [{"key": "a", "operator": "Equas", "value": 1}]})
    files.with_policies(bad, cleaning("good")).holding(config_map("a"))
    said = files.plan()
    assert (said.code, said.out) == (2, "")
    checked = skoupa("check", "-f", str(files.policies / "all.yaml"), "--offline").out
    problems = [line.partition("problem: ")[2] for line in checked.splitlines() if "problem: " in line]
    assert len(problems) == 2
    for problem in problems:
        where = f"({files.policies / 'all.yaml'}, document 1) would not run: {problem}"
        assert f"ClusterCleanupPolicy old {where}" in said.err


@pytest.mark.parametrize(
    ("policy", "told"),
    [
        (cleaning(kinds=("Namespace",), namespace="shop"), "Namespace"),
        (deleting("object.data.state =="), "spec.conditions[0].expression"),
        (deleting("nosuch(object)"), "nosuch"),
        ({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}}, "no kind of policy"),
        (cleaning(schedule="@every 1h"), "spec.schedule"),
        (cleaning(annotations={"skoupa.dev/max-deletions": "many"}), "no number of deletions"),
    ],
)
def test_what_check_refuses_plan_refuses(files: Files, policy: dict[str, Any], told: str) -> None:
    files.with_policies(policy).holding(config_map("a"))
    said = files.plan()
    assert (said.code, said.out) == (2, "")
    assert told in said.err


def test_an_account_that_has_to_be_named_is_missed_here_too(files: Files, tmp_path: Path) -> None:
    config = tmp_path / "skoupa.yaml"
    config.write_text("policies: {requireServiceAccount: true}\n", encoding="utf-8")
    files.with_policies(cleaning(namespace="shop")).holding(config_map("a"))
    said = files.plan("--config", str(config))
    assert said.code == 2
    assert "policies of a namespace have to name an account here" in said.err


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--within", "6h"), "-f and --within can't stand together"),
        (("--by", "17:00"), "-f and --by can't stand together"),
        (("--during", "may"), "-f and --during can't stand together"),
        (("--ttl", ">7d"), "-f and --ttl can't stand together"),
        (("-f", "nosuch.yaml"), "nosuch.yaml"),
    ],
)
def test_options_that_can_not_be_meant_are_a_sentence(
    files: Files, options: tuple[str, ...], told: str
) -> None:
    files.with_policies(cleaning()).holding(config_map("a"))
    said = files.plan(*options)
    assert said.code == 2
    assert told in said.sentence


@pytest.mark.parametrize("text", ["", "---\n", "just text", "[1, 2]", "a: [", "kind: ClusterCleanupPolicy"])
def test_files_without_a_policy_are_a_sentence(files: Files, text: str) -> None:
    files.with_policies().holding(config_map("a"))
    (files.policies / "all.yaml").write_text(text, encoding="utf-8")
    said = files.plan()
    assert said.code == 2
    assert said.sentence


def test_the_same_policy_twice_is_a_mistake(files: Files) -> None:
    files.with_policies(cleaning(), cleaning()).holding(config_map("a"))
    assert "ClusterCleanupPolicy/old stands more than once in these files" in files.plan().sentence


def test_several_files_folders_and_standard_input(
    files: Files, skoupa: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    files.holding(config_map("a"), obj("Secret", "s", namespace="shop"), obj("Pod", "p", namespace="shop"))
    files.with_policies(cleaning("one"))
    (files.policies / "beside.yaml").write_text(yaml.safe_dump(config_map("beside")), encoding="utf-8")
    other = files.objects.parent / "two.json"
    other.write_text(json.dumps(cleaning("two", kinds=("Secret",))), encoding="utf-8")
    monkeypatch.setattr(sys, "stdin", io.StringIO(yaml.safe_dump(cleaning("three", kinds=("Pod",)))))
    given = ("-f", str(files.policies), "-f", str(other), "-f", "-")
    said = skoupa("plan", *given, "--from", str(files.objects), "--now", NOON, "-o", "json")
    assert said.code == 0, said.err
    document = json.loads(said.out)
    assert [item["name"] for item in document["items"]] == ["a", "p", "s"]
    assert [policy["name"] for policy in document["policies"]] == ["one", "two", "three"]
    assert "passed over, for they are no policies that delete: 1 ConfigMap" in said.err


def test_policies_and_objects_can_not_both_come_from_standard_input(skoupa: Shell) -> None:
    said = skoupa("plan", "-f", "-", "--from", "-")
    assert "-f and --from can't both read standard input" in said.sentence


def test_an_installation_for_some_namespaces_runs_the_policies_of_those_alone(files: Files) -> None:
    config = files.objects.parent / "skoupa.yaml"
    config.write_text("namespaces: [shop]\n", encoding="utf-8")
    files.with_policies(cleaning(), cleaning("own", namespace="shop")).holding(
        config_map("a"), config_map("b", namespace="foo")
    )
    document = files.document("--config", str(config))
    assert [(item["name"], item["claims"][0]["rule"]) for item in document["items"]] == [
        ("a", "CleanupPolicy/shop/own")
    ]
    old, own = document["policies"]
    assert (old["lookedAt"], own["lookedAt"]) == (False, True)
    assert old["problems"] == ["the settings look after the namespaces shop alone, so it would not run"]


def test_an_expression_without_end_leaves_its_objects_unclear(files: Files) -> None:
    numbers = f"[{', '.join(map(str, range(100)))}]"
    forever = "".join(f"{numbers}.all(x{depth}, " for depth in range(6)) + "true" + ")" * 6
    files.with_policies(deleting(forever), cleaning(where={"names": ["b"]}))
    files.holding(config_map("a"), config_map("b"))
    assert holds(files.document()) == {"a": ["policy-unclear"], "b": []}


def test_strange_names_and_very_many_of_them(files: Files) -> None:
    names = [f"name-{number}" for number in range(10_000)]
    files.with_policies(cleaning("münchen-\x1b[31m", where={"names": names}))
    files.holding(config_map("name-77"), config_map("name-x"))
    said = files.plan()
    assert said.code in {0, 2}
    assert "\x1b[31m" not in said.out + said.err


def test_help_has_both_examples(skoupa: Shell) -> None:
    told = skoupa("plan", "--help").out
    assert "skoupa plan -f policy.yaml" in told
    assert "skoupa plan -f policies/ --from snapshot.yaml --fail-over 50" in told
