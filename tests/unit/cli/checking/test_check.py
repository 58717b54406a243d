"""`skoupa check`: what is wrong with policies, what they mean, and what its caller may not do."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import pytest
import yaml

from skoupa.cli import installed
from skoupa.cli.checking import check, findings
from skoupa.cli.options import Connecting
from skoupa.cli.worlds import World
from skoupa.sim.cluster import EmbeddedCluster
from skoupa.sim.state.access import Rule
from tests.unit.cli.saying import Said, Shell
from tests.unit.cli.worlds import granting, looking

pytestmark = pytest.mark.unit

R = TypeVar("R")
EXAMPLES = Path(__file__).parents[4] / "examples" / "policies"
SEED = Path(__file__).parents[2] / "policy" / "seed"
DOCS = Path(__file__).parents[4] / "docs"

PVCS = """
apiVersion: kyverno.io/v2
kind: ClusterCleanupPolicy
metadata: {name: unbound, annotations: {skoupa.dev/time-zone: Europe/Athens}}
spec:
  schedule: "0 7 * * 0"
  match: {any: [{resources: {kinds: [PersistentVolumeClaim], namespaces: [foo]}}]}
  conditions: {all: [{key: "{{ target.status.phase }}", operator: Equals, value: Unbound}]}
"""
CEL = """
apiVersion: policies.kyverno.io/v1
kind: DeletingPolicy
metadata: {name: cel}
spec:
  schedule: "@daily"
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], resources: [configmaps]}]}
  conditions: [{name: a, expression: "object.metadata.name == 'a' && resource.List('v1', 'pods', 'shop').items.size() == 0"}]
"""
BROKEN = """
apiVersion: kyverno.io/v2
kind: CleanupPolicy
metadata: {name: broken, namespace: shop}
spec:
  schedule: "@every 5m"
  match: {any: [{resources: {kinds: [ConfigMap]}}]}
  conditions: {all: [{key: "{{ time_since(target.x) }}", operator: Equals, value: a}]}
---
apiVersion: policies.kyverno.io/v1
kind: DeletingPolicy
metadata: {name: broken-too}
spec:
  schedule: "@daily"
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], resources: [configmaps]}]}
  conditions: [{name: a, expression: "objct.metadata.name == 'a'"}]
"""
MISSPELT = """
apiVersion: kyverno.io/v2
kind: ClusterCleanupPolicy
metadata: {name: misspelt}
spec:
  schedule: "@daily"
  suspend: true
  match: {any: [{resources: {kind: [Pod], nmes: [a]}, subjects: [{kind: User, name: a}]}]}
  context: [{name: x, variable: {value: "{{ target.x }"}}, {name: 5, variable: {value: 1}}]
  conditions:
    all:
    - {key: "{{ time_sinc('', target.x, '') }}", operator: GreaterThn, value: 1h}
    - {key: "{{ time_since(x) }}", operator: GreaterThan, value: 1h}
---
apiVersion: policies.kyverno.io/v1
kind: DeletingPolicy
metadata: {name: misspelt-too}
spec:
  schedule: "@daily"
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], resource: [pods]}]}
  variables: [{name: a, expresion: "1"}, {name: b, expression: now()}]
  conditions:
  - {name: x, expression: variables.a == 1 && nope}
  - {nam: y, expression: "true"}
  - {name: z, expression: objct.x == 1, mesage: a}
"""
KEYLESS: list[dict[str, Any]] = [
    {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "skoupa"}},
    {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "skoupa-config", "namespace": "skoupa"},
        "data": {"settings.yml": "policies: {minimumInterval: 1h}"},
    },
]


@pytest.fixture
def file(tmp_path: Path) -> Callable[[str], str]:
    def write(text: str, name: str = "policy.yaml") -> str:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
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


def document(said: Said, code: int = 0) -> list[dict[str, Any]]:
    assert said.code == code, said.err
    found: dict[str, Any] = json.loads(said.out)
    assert (found["apiVersion"], found["kind"]) == ("skoupa.dev/v1alpha1", "Check")
    policies: list[dict[str, Any]] = found["policies"]
    return policies


def test_a_valid_policy_is_told_with_its_next_runs_in_its_own_time_zone(
    skoupa: Shell, file: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    in_a_cluster(monkeypatch)
    said = skoupa("check", "-f", file(PVCS))
    assert said.code == 0, said.err
    assert "ClusterCleanupPolicy unbound" in said.out
    assert "runs at 07:00 on Sundays (Europe/Athens)" in said.out
    runs = re.findall(r"^    (Sun 2026-\S+ 07:00 EEST)", said.out, re.MULTILINE)
    assert runs == [f"Sun 2026-{day} 07:00 EEST" for day in ("05-03", "05-10", "05-17", "05-24", "05-31")]
    assert re.search(r"persistentvolumeclaims +foo +yes +yes", said.out)


def test_a_phase_that_does_not_exist_is_told_with_those_that_do(
    skoupa: Shell, file: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    in_a_cluster(monkeypatch)
    (policy,) = document(skoupa("check", "-f", file(PVCS), "-o", "json"))
    assert [caution["what"] for caution in policy["cautions"]] == [
        'no PersistentVolumeClaim is ever "Unbound"'
    ]
    assert policy["cautions"][0]["instead"] == "there are Bound, Lost, Pending"


def test_everything_that_is_wrong_is_told_at_once_with_what_to_write_and_the_exit_code_is_2(
    skoupa: Shell, file: Callable[[str], str]
) -> None:
    said = skoupa("check", "-f", file(BROKEN), "--offline", "-o", "json")
    first, second = document(said, code=2)
    assert [problem["path"] for problem in first["problems"]] == [
        "spec.schedule",
        "spec.conditions.all[0].key",
    ]
    assert first["problems"][0]["instead"] == 'write "*/5 * * * *"'
    assert "time_since" in first["problems"][1]["instead"]
    assert [problem["path"] for problem in second["problems"]] == ["spec.conditions[0].expression"]
    assert "there is no variable objct" in second["problems"][0]["what"]
    assert "2 of 2 policies would not run" in said.err
    shown = skoupa("check", "-f", file(BROKEN), "--offline")
    assert (shown.code, shown.out.count("invalid: it would not run")) == (2, 2)


def test_expressions_are_checked_also_where_fields_are_wrong(
    skoupa: Shell, file: Callable[[str], str]
) -> None:
    cleanup, deleting = document(skoupa("check", "-f", file(MISSPELT), "--offline", "-o", "json"), code=2)
    assert [problem["path"] for problem in cleanup["problems"]] == [
        "spec",
        "spec.match.any[0].resources",
        "spec.match.any[0].resources",
        "spec.match.any[0].subjects",
        "spec.context[1].name",
        "spec.conditions.all[0].operator",
        "spec.context[0].variable.value",
        "spec.conditions.all[0].key",
        "spec.conditions.all[1].key",
    ]
    assert [problem["path"] for problem in deleting["problems"]] == [
        "spec.matchConstraints.resourceRules[0]",
        "spec.conditions[1]",
        "spec.conditions[2]",
        "spec.variables[0]",
        "spec.variables[1].expression",
        "spec.conditions[0].expression",
        "spec.conditions[2].expression",
    ]


def test_a_variable_whose_name_cannot_be_read_makes_no_condition_wrong(
    skoupa: Shell, file: Callable[[str], str]
) -> None:
    text = CEL.replace("conditions:", "variables: [{nme: a, expression: '1'}]\n  conditions:")
    text = text.replace("object.metadata.name == 'a'", "variables.a == 1")
    (told,) = document(skoupa("check", "-f", file(text), "--offline", "-o", "json"), code=2)
    assert [problem["path"] for problem in told["problems"]] == ["spec.variables[0]"]
    assert not told["cautions"]


def test_missing_permissions_are_shown_and_change_no_exit_code(
    skoupa: Shell, file: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    may = granting(Rule(verbs=("list",), resources=("persistentvolumeclaims",), namespaces=("foo",)))
    in_a_cluster(monkeypatch, user="bob", prepare=may)
    said = skoupa("check", "-f", file(PVCS))
    assert said.code == 0
    assert re.search(r"persistentvolumeclaims +foo +yes +no", said.out)
    assert "you may not list and delete 1 of 1 kinds" in said.err
    (policy,) = document(skoupa("check", "-f", file(PVCS), "-o", "json"))
    kind = policy["kinds"][0]
    assert (kind["kind"], kind["namespace"], kind["mayList"], kind["mayDelete"]) == (
        "PersistentVolumeClaim",
        "foo",
        True,
        False,
    )


@pytest.mark.parametrize(
    ("world", "words"),
    [
        (
            {"prepare": lambda cluster: cluster.load(KEYLESS)},
            "ConfigMap skoupa/skoupa-config has no settings.yaml",
        ),
        (
            {"user": "bob", "prepare": granting(Rule(verbs=("list",), resources=("pods",)))},
            "whether an installation has settings of its own can't be seen",
        ),
    ],
)
def test_settings_that_may_count_and_cannot_be_read_are_told(
    skoupa: Shell,
    file: Callable[[str], str],
    monkeypatch: pytest.MonkeyPatch,
    world: dict[str, Any],
    words: str,
) -> None:
    in_a_cluster(monkeypatch, **world)
    said = skoupa("check", "-f", file(PVCS))
    assert said.code == 0, said.err
    assert words in said.err
    (warning,) = json.loads(skoupa("check", "-f", file(PVCS), "-o", "json").out)["warnings"]
    assert words in warning
    named = skoupa("check", "-f", file(PVCS), "--config", "/dev/null")
    assert words not in named.err


def test_what_a_policy_will_ask_for_is_told(skoupa: Shell, file: Callable[[str], str]) -> None:
    (policy,) = document(skoupa("check", "-f", file(CEL), "--offline", "-o", "json"))
    assert policy["valid"]
    assert any("List" in ask for ask in policy["asks"])
    assert policy["kinds"] is None


def test_a_policy_that_nothing_narrows_is_told(skoupa: Shell, file: Callable[[str], str]) -> None:
    whole = PVCS.replace("PersistentVolumeClaim], namespaces: [foo]", "Secret, Deployment]")
    said = skoupa("check", "-f", file(whole[: whole.index("  conditions")]), "--offline")
    assert said.code == 0
    assert "nothing narrows it, so that every Secret and Deployment in the cluster goes" in said.out


def test_in_a_folder_other_objects_are_passed_over_and_told_and_in_a_file_they_are_a_mistake(
    skoupa: Shell, file: Callable[..., str], tmp_path: Path
) -> None:
    other = file("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n", "other.yaml")
    file(CEL)
    said = skoupa("check", "-f", str(tmp_path), "--offline")
    assert said.code == 0
    assert "1 ConfigMap" in said.err
    assert skoupa("check", "-f", other, "--offline").code == 2


def test_the_rule_form_of_the_proposal_is_refused_with_what_makes_policies_of_it(skoupa: Shell) -> None:
    said = skoupa("check", "-f", str(SEED / "rules.yaml"), "--offline")
    assert said.code == 2
    assert "`skoupa convert`" in said.out
    assert skoupa("check", "-f", str(SEED / "policy.yaml"), "--offline").code == 0


def test_without_a_kubeconfig_it_says_how_to_go_without(skoupa: Shell, file: Callable[[str], str]) -> None:
    said = skoupa("check", "-f", file(PVCS))
    assert said.code == 2
    assert "--offline" in said.sentence


def test_a_schedule_that_comes_too_soon_for_the_settings_is_a_problem(
    skoupa: Shell, file: Callable[..., str]
) -> None:
    often = file(CEL.replace("@daily", "*/5 * * * *"))
    config = file("policies: {minimumInterval: 1h}\n", "config.yaml")
    assert skoupa("check", "-f", often, "--offline").code == 0
    said = skoupa("check", "-f", often, "--offline", "--config", config)
    assert said.code == 2
    assert "policies run at most every 1h" in said.out


def test_offline_and_files_exclude_each_other_and_empty_input_is_a_mistake(
    skoupa: Shell, file: Callable[..., str]
) -> None:
    path = file(PVCS)
    assert "--from" in skoupa("check", "-f", path, "--offline", "--from", path).sentence
    assert "no policies" in skoupa("check", "-f", file("\n", "empty.yaml"), "--offline").sentence


@pytest.mark.parametrize(
    "path",
    sorted(path for path in EXAMPLES.glob("*.yaml") if path.name not in {"objects.yaml", "skoupa-test.yaml"}),
    ids=lambda path: path.stem,
)
def test_every_example_is_valid_and_nothing_about_it_needs_caution(skoupa: Shell, path: Path) -> None:
    objects = str(EXAMPLES / "objects.yaml")
    (policy,) = document(skoupa("check", "-f", str(path), "--from", objects, "-o", "json"))
    assert policy["valid"]
    assert policy["cautions"] == []
    assert policy["kinds"]
    assert len(policy["schedule"]["nextRuns"]) == 5


def test_json_and_yaml_say_the_same(skoupa: Shell, file: Callable[[str], str]) -> None:
    path = file(CEL)
    as_json = json.loads(skoupa("check", "-f", path, "--offline", "-o", "json").out)
    as_yaml = yaml.safe_load(skoupa("check", "-f", path, "--offline", "-o", "yaml").out)
    assert as_yaml["policies"][0]["name"] == as_json["policies"][0]["name"] == "cel"


def test_every_field_of_the_output_is_in_the_docs() -> None:
    page = (DOCS / "policies.md").read_text(encoding="utf-8")
    shapes = (
        findings.CheckDocument,
        findings.ToldPolicy,
        findings.ToldCompanion,
        findings.ToldSchedule,
        findings.ToldKind,
        findings.ToldProblem,
    )
    for shape in shapes:
        for field in msgspec.structs.fields(shape):
            assert f"`{field.encode_name}`" in page, field.encode_name


def test_what_is_empty_is_told_with_what_to_write(skoupa: Shell, file: Callable[[str], str]) -> None:
    cel = CEL.replace("name: a, expression:", 'name: b, expression: ""}, {name: a, expression:')
    (policy,) = document(skoupa("check", "-f", file(cel), "--offline", "-o", "json"), code=2)
    (problem,) = policy["problems"]
    assert (problem["path"], problem["what"]) == ("spec.conditions[0].expression", "it is empty")
    assert problem["instead"].startswith("write CEL, such as object.")
    nameless = PVCS.replace("target.status.phase", "n") + (
        '  context: [{name: "", variable: {value: 1}}, {name: cnt, variable: {value: 1}}]\n'
    )
    (policy,) = document(skoupa("check", "-f", file(nameless), "--offline", "-o", "json"), code=2)
    empty, unknown = policy["problems"]
    assert (empty["path"], empty["what"]) == ("spec.context[0].name", "it is empty")
    assert unknown["instead"] == "there are cnt, images, request, target"


def test_the_zone_of_a_machine_is_no_zone_of_a_policy(skoupa: Shell, file: Callable[[str], str]) -> None:
    local = PVCS.replace('"0 7 * * 0"', '"CRON_TZ=Local 0 7 * * 0"').replace(
        ", annotations: {skoupa.dev/time-zone: Europe/Athens}", ""
    )
    (policy,) = document(skoupa("check", "-f", file(local), "--offline", "-o", "json"), code=2)
    (problem,) = policy["problems"]
    assert problem["instead"] == "write UTC, or the name of the zone that is meant, such as Europe/Athens"


def test_an_account_that_is_not_there_is_a_caution(
    skoupa: Shell, file: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    metadata = {"name": "builder", "namespace": "shop"}
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}

    def prepare(cluster: EmbeddedCluster) -> None:
        cluster.load([account])

    in_a_cluster(monkeypatch, prepare=prepare)
    policy = yaml.safe_load(PVCS) | {"kind": "CleanupPolicy"}
    policy["metadata"] = {"name": "a", "namespace": "shop", "annotations": {}}
    policy["spec"]["match"]["any"][0]["resources"] = {"kinds": ["ConfigMap"], "names": ["a"]}
    policy["spec"].pop("conditions")
    for name, cautions in (("tidier", ['there is no ServiceAccount "tidier" in shop']), ("builder", [])):
        policy["metadata"]["annotations"]["skoupa.dev/service-account"] = name
        (found,) = document(skoupa("check", "-f", file(yaml.safe_dump(policy)), "-o", "json"))
        assert [one["what"].partition(",")[0] for one in found["cautions"]] == cautions


def test_why_runs_that_are_told_delete_nothing_is_told_with_them(
    skoupa: Shell, file: Callable[[str], str], tmp_path: Path
) -> None:
    policy = yaml.safe_load(PVCS)
    policy["metadata"]["annotations"] = {"skoupa.dev/suspend": "true"}
    said = skoupa("check", "-f", file(yaml.safe_dump(policy)), "--offline")
    assert "\n  it is suspended (skoupa.dev/suspend), so that it does not run\n  runs at 07:00" in said.out
    policy["metadata"]["annotations"] = {"skoupa.dev/observe": "36h"}
    config = tmp_path / "skoupa.yaml"
    for new, reports in (("1h", "1d12h after it is new"), ("7d", "7d after it is new")):
        config.write_text(f"policies: {{observeNew: {new}}}\n", encoding="utf-8")
        path = file(yaml.safe_dump(policy))
        (found,) = document(skoupa("check", "-f", path, "--offline", "--config", str(config), "-o", "json"))
        (said_of_it,) = found["means"]
        assert said_of_it.startswith(f"for {reports} or its spec changed it only reports")
    policy["metadata"]["annotations"] = {}
    (found,) = document(skoupa("check", "-f", file(yaml.safe_dump(policy)), "--offline", "-o", "json"))
    assert found["means"] == []


def test_a_policy_that_has_to_name_an_account_would_not_run_without_one(
    skoupa: Shell, file: Callable[[str], str], tmp_path: Path
) -> None:
    config = tmp_path / "skoupa.yaml"
    config.write_text("policies: {requireServiceAccount: true}\n", encoding="utf-8")
    policy = yaml.safe_load(PVCS)
    options = ("--offline", "--config", str(config))
    assert skoupa("check", "-f", file(yaml.safe_dump(policy)), *options).code == 0
    policy |= {"kind": "CleanupPolicy", "metadata": {"name": "a", "namespace": "shop"}}
    policy["spec"]["match"]["any"][0]["resources"].pop("namespaces")
    said = skoupa("check", "-f", file(yaml.safe_dump(policy)), *options)
    assert said.code == 2
    assert "policies of a namespace have to name an account here" in said.out
    assert skoupa("check", "-f", file(yaml.safe_dump(policy)), "--offline").code == 0


def test_what_the_account_of_a_policy_may_not_delete_is_a_caution(
    skoupa: Shell, file: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else it stays at every run, and the writer has to find out why."""
    metadata = {"name": "builder", "namespace": "shop"}

    def prepare(cluster: EmbeddedCluster) -> None:
        cluster.load([{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}])
        rules = [Rule(verbs=("delete",), resources=("configmaps",), namespaces=("shop",))]
        cluster.allow_only("system:serviceaccount:shop:builder", rules)

    in_a_cluster(monkeypatch, prepare=prepare)
    policy = yaml.safe_load(PVCS) | {"kind": "CleanupPolicy"}
    policy["metadata"] = {
        "name": "a",
        "namespace": "shop",
        "annotations": {"skoupa.dev/service-account": "builder"},
    }
    policy["spec"].pop("conditions")
    for kinds, lacked in ((["ConfigMap"], ""), (["ConfigMap", "Service", "Job"], "services and jobs.batch")):
        policy["spec"]["match"]["any"][0]["resources"] = {"kinds": kinds, "names": ["a"]}
        said = skoupa("check", "-f", file(yaml.safe_dump(policy)), "-o", "json")
        (found,) = document(said)
        assert said.code == 0
        told = f'the ServiceAccount "builder" may not delete {lacked} in shop, so that those stay'
        assert [one["what"] for one in found["cautions"]] == ([told] if lacked else [])
