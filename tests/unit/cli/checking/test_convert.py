"""`skoupa convert`: what it writes can stand in the place of what it read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from skoupa.cli.terminal.yaml_text import written
from skoupa.sim.content.documents import documents
from tests.unit.cli.saying import Shell

pytestmark = pytest.mark.unit

EXAMPLES = Path(__file__).parents[4] / "examples" / "policies"
SEED = Path(__file__).parents[2] / "policy" / "seed"
BARE = """
apiVersion: kyverno.io/v2
kind: ClusterCleanupPolicy
metadata: {name: bare, uid: "1", labels: {team: web}, annotations: {skoupa.dev/time-zone: Europe/Athens}}
spec:
  schedule: "0 1 * * *"
  deletionPropagationPolicy: Foreground
  match: {any: [{resources: {kinds: [Pod], namespaces: [foo], selector: {matchLabels: {app: "w?*", "on": "yes"}}}}]}
  exclude: {any: [{resources: {names: ["keep-*"]}}]}
  conditions: {all: [{key: "{{ target.metadata.ownerReferences[] || `[]` }}", operator: Equals, value: []}]}
"""
CONTEXT = """
apiVersion: kyverno.io/v2
kind: CleanupPolicy
metadata: {name: context, namespace: shop}
spec:
  schedule: "@daily"
  match: {any: [{resources: {kinds: [Pod]}}]}
  context: [{name: pods, apiCall: {urlPath: /api/v1/namespaces/shop/pods}}]
  conditions: {all: [{key: "{{ length(pods.items) }}", operator: GreaterThan, value: 5}]}
"""
WIDGETS = """
apiVersion: kyverno.io/v2
kind: ClusterCleanupPolicy
metadata: {name: widgets}
spec:
  schedule: "@daily"
  match: {any: [{resources: {kinds: [Mouse]}}]}
"""
DEFINITION = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: mice.shop.example}
spec:
  group: shop.example
  names: {kind: Mouse, plural: mice, singular: mouse, listKind: MouseList}
  scope: Namespaced
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
"""


@pytest.fixture
def file(tmp_path: Path) -> Callable[..., str]:
    def write(text: str, name: str = "policy.yaml") -> str:
        (tmp_path / name).write_text(text, encoding="utf-8")
        return str(tmp_path / name)

    return write


def read(text: str) -> list[dict[str, Any]]:
    return [document for _, document in documents(text, file="output") if document is not None]


def test_a_cleanup_policy_becomes_a_deleting_policy_with_all_that_its_writer_wrote(
    skoupa: Shell, file: Callable[..., str]
) -> None:
    said = skoupa("convert", "-f", file(BARE))
    assert said.code == 0, said.err
    assert said.err == "skoupa: converted 1 of 1\n"
    assert "delete the ClusterCleanupPolicy when this is applied" in said.out
    (made,) = read(said.out)
    assert (made["apiVersion"], made["kind"]) == ("policies.kyverno.io/v1", "DeletingPolicy")
    assert made["metadata"] == {
        "name": "bare",
        "labels": {"team": "web"},
        "annotations": {"skoupa.dev/time-zone": "Europe/Athens"},
    }
    spec = made["spec"]
    assert (spec["schedule"], spec["deletionPropagationPolicy"]) == ("0 1 * * *", "Foreground")
    constraints = spec["matchConstraints"]
    assert constraints["resourceRules"] == [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}]
    assert constraints["objectSelector"] == {"matchLabels": {"on": "yes"}}
    assert constraints["namespaceSelector"] == {"matchLabels": {"kubernetes.io/metadata.name": "foo"}}
    assert [each["expression"] for each in spec["conditions"]] == [
        'object.metadata.?labels[?"app"].orValue("").matches("(?s)^w..*$")',
        '!object.metadata.name.startsWith("keep-")',
        "object.metadata.?ownerReferences.orValue([]) == []",
    ]


def test_what_skoupa_wrote_about_the_old_policy_is_left_out(skoupa: Shell, file: Callable[..., str]) -> None:
    marked = "{skoupa.dev/next-execution-time: 2026-05-02T01:00:00Z, skoupa.dev/time-zone"
    (body,) = read(skoupa("convert", "-f", file(BARE.replace("{skoupa.dev/time-zone", marked))).out)
    assert body["metadata"]["annotations"] == {"skoupa.dev/time-zone": "Europe/Athens"}


def test_what_it_writes_passes_the_check(skoupa: Shell, file: Callable[..., str]) -> None:
    made = skoupa("convert", "-f", file(f"{BARE}\n---\n{CONTEXT}")).out
    said = skoupa("check", "-f", file(made, "made.yaml"), "--offline")
    assert said.code == 0, said.out


def test_what_cannot_be_said_is_written_as_it_was_with_the_reason_above(
    skoupa: Shell, file: Callable[..., str]
) -> None:
    said = skoupa("convert", "-f", file(CONTEXT))
    assert said.code == 0
    assert "1 stay as they are" in said.err
    assert said.out.startswith("# left as it is, for this can't be said in CEL: conditions.all[0]: ")
    assert read(said.out) == [yaml.safe_load(CONTEXT)]


def test_other_objects_are_written_as_they_were(skoupa: Shell, file: Callable[..., str]) -> None:
    other = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "a"},
        "data": {"a": "0644", "b": "y"},
    }
    said = skoupa("convert", "-f", file(yaml.safe_dump(other).replace("b: y", 'b: "y"')))
    assert read(said.out) == [other]


def test_a_kind_that_nobody_knows_needs_its_definition_and_with_its_group_gets_a_guess_that_is_told(
    skoupa: Shell, file: Callable[..., str]
) -> None:
    path = file(WIDGETS)
    left = skoupa("convert", "-f", path).out
    assert "give its definition with --from" in left
    assert read(left) == [yaml.safe_load(WIDGETS)]
    guessed = skoupa(
        "convert", "-f", file(WIDGETS.replace("Mouse", "shop.example/v1/Mouse"), "guess.yaml")
    ).out
    assert "# nobody here knows the kind" in guessed
    assert 'object.kind == "Mouse" && object.apiVersion == "shop.example/v1"' in guessed
    (known,) = read(skoupa("convert", "-f", path, "--from", file(DEFINITION, "definition.yaml")).out)
    rules = known["spec"]["matchConstraints"]["resourceRules"]
    assert rules == [{"apiGroups": ["shop.example"], "apiVersions": ["v1"], "resources": ["mice"]}]
    assert "conditions" not in known["spec"]


def test_cel_that_would_not_compile_is_never_written(skoupa: Shell, file: Callable[..., str]) -> None:
    policy = yaml.safe_load(BARE)
    names = [f"*{number}*x" for number in range(2000)]
    policy["spec"]["match"]["any"][0]["resources"]["names"] = names
    said = skoupa("convert", "-f", file(yaml.safe_dump(policy)))
    assert "its CEL would not compile" in said.out
    assert read(said.out) == [policy]


def test_the_rules_of_the_proposal_become_policies_that_pass_the_check(
    skoupa: Shell, file: Callable[..., str]
) -> None:
    said = skoupa("convert", "-f", str(SEED / "rules.yaml"))
    assert [each["kind"] for each in read(said.out)] == ["ClusterCleanupPolicy"] * 4
    assert "did you mean PersistentVolumeClaim?" in said.out
    assert skoupa("check", "-f", file(said.out, "made.yaml"), "--offline").code == 0


def test_the_policy_of_the_proposal_is_converted(skoupa: Shell) -> None:
    (made,) = read(skoupa("convert", "-f", str(SEED / "policy.yaml")).out)
    assert made["kind"] == "NamespacedDeletingPolicy"
    assert made["spec"]["conditions"] == [{"name": "any", "expression": 'object.metadata.name == "example"'}]


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*-*.yaml")), ids=lambda path: path.stem)
def test_examples_are_converted_or_left_with_a_reason(
    skoupa: Shell, path: Path, file: Callable[..., str]
) -> None:
    if path.name == "skoupa-test.yaml":
        return
    said = skoupa("convert", "-f", str(path))
    assert said.out.startswith("# ")
    assert skoupa("check", "-f", file(said.out, "made.yaml"), "--offline").code == 0


@pytest.mark.parametrize(
    "text", ["y", "No", "0644", "1e3", "1_000", "null", "~", "", "2026-01-01", "a: b", "é\n"]
)
def test_texts_are_read_again_as_texts(text: str) -> None:
    body = {"a": text, text: ["b"]}
    assert read(written(body)) == [body]


def test_converted_examples_do_what_the_originals_do(skoupa: Shell, tmp_path: Path) -> None:
    """In the processes that evaluate CEL, on the objects of the examples."""
    trial = yaml.safe_load((EXAMPLES / "skoupa-test.yaml").read_text(encoding="utf-8"))
    converted = {}
    for name in trial["policies"]:
        made = skoupa("convert", "-f", str(EXAMPLES / name)).out
        (policy,) = read(made)
        if policy["kind"] == "DeletingPolicy":
            (tmp_path / name).write_text(made, encoding="utf-8")
            converted[name] = policy["metadata"]["name"]
    assert len(converted) == 4
    trial["policies"] = sorted(converted)
    trial["resources"] = [str(EXAMPLES / "objects.yaml")]
    trial["expect"] = {name: trial["expect"][name] for name in converted.values()}
    (tmp_path / "skoupa-test.yaml").write_text(yaml.safe_dump(trial), encoding="utf-8")
    said = skoupa("test", str(tmp_path))
    assert said.code == 0, said.out + said.err
