"""`skoupa migrate`: both readings of labels and policies, exit codes, dumps, and what may not be read."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from skoupa.cli.migrating import documents
from skoupa.cli.terminal.shape import Shape
from skoupa.sim.state.access import Rule
from tests.unit.cli.migrating.clusters import Migrating, cleanup, codes, deployment, filters, lease, named
from tests.unit.cli.saying import Shell
from tests.unit.cli.worlds import config_map, granting, obj

pytestmark = pytest.mark.unit

DOCS = Path(__file__).parents[4] / "docs"


def test_every_label_has_both_readings(town: Migrating) -> None:
    town.holding(lease(), config_map("same", "4h"), config_map("odd", "1.5d"), config_map("bare"))
    found = town.document()
    assert [one["name"] for one in found["labels"]] == ["odd", "same"]
    odd = named(found["labels"], "odd")
    assert (odd["kyverno"]["goesAt"], odd["skoupa"]["goesAt"]) == ("2026-05-06T10:00:00Z", None)
    assert codes(odd) == ["odd-value"]
    assert odd["differences"][0]["docs"] == "docs/differences.md#values"
    same = named(found["labels"], "same")
    assert same["kyverno"]["goesAt"] == same["skoupa"]["goesAt"] == "2026-05-01T14:00:00Z"
    assert codes(same) == []


def test_people_see_what_differs_and_with_all_the_rest_too(town: Migrating) -> None:
    town.holding(lease(), config_map("same", "4h"), config_map("odd", "1.5d"))
    said = town()
    assert said.code == 0
    assert "2 objects with cleanup.kyverno.io/ttl, of which 1 differs:" in said.out
    assert re.search(r"ConfigMap +shop +odd +1\.5d +2026-05-06 10:00 +stays", said.out)
    assert "write 1d12h" in said.out
    assert not re.search(r"ConfigMap +shop +same", said.out)
    assert re.search(r"ConfigMap +shop +same +4h +2026-05-01 14:00 +2026-05-01 14:00", town("--all").out)


def test_settings_change_the_reading(town: Migrating, tmp_path: Path) -> None:
    town.holding(lease(), config_map("odd", "1.5d"))
    config = tmp_path / "skoupa.yaml"
    config.write_text("compat: {kyvernoTtl: true}", encoding="utf-8")
    found = town.document("--config", str(config))
    assert codes(named(found["labels"], "odd")) == []


def test_an_object_that_is_kept_from_going_along_holds_its_namespace(town: Migrating) -> None:
    town.holding(
        lease(),
        obj("Namespace", "shop", labels={"cleanup.kyverno.io/ttl": "4h"}),
        config_map("kept", labels={"skoupa.dev/keep": "true"}),
    )
    (one,) = town.document()["labels"]
    assert (one["kind"], one["skoupa"]["goesAt"], codes(one)) == ("Namespace", None, ["held"])


def test_many_that_are_overdue_are_told_for_the_cluster(town: Migrating) -> None:
    town.holding(*(config_map(f"old-{number}", "10m") for number in range(101)))
    assert codes(town.document()) == ["many-overdue"]


def test_every_policy_has_both_readings(town: Migrating) -> None:
    town.holding(
        lease(),
        config_map("a"),
        config_map("later", "4h"),
        config_map("kept", labels={"skoupa.dev/keep": "true"}),
        cleanup("plain"),
        cleanup("zoned", annotations={"skoupa.dev/time-zone": "Europe/Athens"}),
        cleanup("wild", "*"),
        cleanup("odd", schedule="@every 1h"),
    )
    policies = town.document()["policies"]
    plain = named(policies, "plain")
    assert plain["kyvernoNextRun"] == plain["skoupaNextRun"] == "2026-05-02T00:00:00Z"
    assert set(codes(plain)) == {"ttl-ahead", "held-matches"}
    assert plain["matches"]["goes"] < plain["matches"]["matched"]
    zoned = named(policies, "zoned")
    assert zoned["skoupaNextRun"] == "2026-05-01T21:00:00Z"
    assert {"time-zone", "own-annotations"} <= set(codes(zoned))
    assert "wild-kinds" in codes(named(policies, "wild"))
    odd = named(policies, "odd")
    assert (odd["kyvernoRuns"], odd["skoupaRuns"], codes(odd)) == (False, False, ["schedule-nobody"])


def test_a_policy_with_a_call_that_nobody_makes_does_not_run_here(town: Migrating) -> None:
    call = {"name": "x", "apiCall": {"urlPath": "/api/v1/namespaces/shop/services/web/proxy/a"}}
    town.holding(lease(), config_map("a"), cleanup("proxied", context=[call]))
    policy = named(town.document()["policies"], "proxied")
    assert (policy["skoupaRuns"], policy["skoupaNextRun"]) == (False, None)


def test_a_policy_that_would_take_too_much_is_told_with_its_brake(town: Migrating) -> None:
    town.holding(*(config_map(f"a-{number}") for number in range(30)), cleanup("all"))
    policy = named(town.document()["policies"], "all")
    brake = next(one for one in policy["differences"] if one["code"] == "brake")
    assert "brakes.share" in brake["skoupa"]
    assert policy["matches"]["goes"] == 0


def test_without_matches_no_objects_are_read_for_policies(town: Migrating) -> None:
    town.holding(*(config_map(f"a-{number}") for number in range(30)), cleanup("all"))
    policy = named(town.document("--no-matches")["policies"], "all")
    assert (policy["matches"], codes(policy)) == (None, [])


def test_a_policy_that_skoupa_refuses_is_told_with_the_place_and_what_to_write(town: Migrating) -> None:
    conditions = {"all": [{"key": "{{ time_since(target.x) }}", "operator": "Equals", "value": "a"}]}
    context = [{"name": "pods", "apiCall": {"urlPath": "/api/v1/namespaces/other/pods"}}]
    town.holding(
        cleanup("broken", conditions=conditions),
        cleanup("reaching", namespace="shop", context=context),
    )
    policies = town.document()["policies"]
    broken = named(policies, "broken")
    assert (broken["skoupaRuns"], broken["skoupaNextRun"], codes(broken)) == (False, None, ["refused"])
    assert "spec.conditions.all[0].key" in broken["differences"][0]["skoupa"]
    assert codes(named(policies, "reaching")) == ["confined-call"]


def test_context_that_both_refuse_is_no_difference_in_what_goes(town: Migrating) -> None:
    clipped = [{"name": "a", "configMap": {"name": "a", "namespace": "shop"}}]
    town.holding(cleanup("clipped", context=clipped))
    (policy,) = town.document()["policies"]
    assert (policy["skoupaRuns"], codes(policy)) == (False, ["context-refused"])


def test_a_policy_that_has_to_name_an_account_and_does_not_is_refused(
    town: Migrating, tmp_path: Path
) -> None:
    config = tmp_path / "skoupa.yaml"
    config.write_text("policies: {requireServiceAccount: true}", encoding="utf-8")
    town.holding(cleanup("plain", namespace="shop"))
    (policy,) = town.document("--config", str(config))["policies"]
    assert (policy["skoupaRuns"], codes(policy)) == (False, ["refused"])


def test_a_policy_whose_objects_may_not_be_read_is_a_gap(town: Migrating) -> None:
    town.holding(config_map("a"), cleanup("all", "Secret"))
    kinds = ("configmaps", "namespaces", "clustercleanuppolicies.kyverno.io")
    granting(Rule(verbs=("list",), resources=kinds))(town.cluster)
    town.user = "bob"
    found = town.document(code=4)
    assert "what ClusterCleanupPolicy/all matches" in {gap["what"] for gap in found["gaps"]}


def test_cel_is_compiled_and_evaluated(town: Migrating) -> None:
    def deleting(name: str, expression: str) -> dict[str, Any]:
        rule = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}
        spec = {
            "schedule": "@daily",
            "matchConstraints": {"resourceRules": [rule]},
            "conditions": [{"name": "a", "expression": expression}],
        }
        return obj("DeletingPolicy", name, api="policies.kyverno.io/v1", spec=spec)

    town.holding(
        config_map("a"),
        deleting("one", "object.metadata.name == 'a'"),
        deleting("wrong", "oldObject.metadata.name == 'a'"),
        deleting("calling", "http.Get('https://svc.example/a').ok"),
    )
    policies = town.document()["policies"]
    assert named(policies, "one")["matches"] == {"matched": 1, "goes": 1, "unknown": ""}
    assert codes(named(policies, "wrong")) == ["refused"]
    calling = named(policies, "calling")
    assert codes(calling) == ["service-call"]
    assert "svc.example" in calling["differences"][0]["kyverno"]
    assert calling["matches"]["unknown"] == "it calls services, and none are called here"


def test_an_exception_of_another_namespace_counts_for_one_namespace_too(town: Migrating) -> None:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}
    group, spec = (
        "policies.kyverno.io/v1",
        {"schedule": "@daily", "matchConstraints": {"resourceRules": [rule]}},
    )
    named_rule = {"policyRefs": [{"name": "tidy", "kind": "NamespacedDeletingPolicy"}]}
    town.holding(
        obj("Namespace", "guards"),
        config_map("a"),
        obj("NamespacedDeletingPolicy", "tidy", namespace="shop", api=group, spec=spec),
        obj("PolicyException", "spare", namespace="guards", api=group, spec=named_rule),
    )
    for args in ((), ("-n", "shop")):
        (policy,) = town.document(*args)["policies"]
        assert policy["matches"]["goes"] == 0


def test_conditions_that_can_not_be_answered_are_told(town: Migrating) -> None:
    conditions = {"all": [{"key": "{{ target.data.x }}", "operator": "Equals", "value": "a"}]}
    town.holding(config_map("a"), cleanup("unclear", conditions=conditions))
    (policy,) = town.document()["policies"]
    assert "unclear-matches" in codes(policy)


def test_values_of_secrets_that_a_policy_of_a_namespace_looks_at_are_told(
    town: Migrating, tmp_path: Path
) -> None:
    """Kyverno deletes by them; nothing fails there."""

    def looking(key: str, **policy: Any) -> dict[str, Any]:
        conditions = {"all": [{"key": key, "operator": "Equals", "value": "YQ=="}]}
        return cleanup(policy.pop("name"), "Secret", conditions=conditions, **policy)

    by_value = "{{ target.data.x }}"
    carried = [{"name": "it", "variable": {"jmesPath": "target.data.x"}}]
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["secrets"]}
    spec = {
        "schedule": "@daily",
        "matchConstraints": {"resourceRules": [rule]},
        "conditions": [{"name": "a", "expression": "object.data.x == 'YQ=='"}],
    }
    town.holding(
        obj("Secret", "s", namespace="shop", data={"x": "YQ=="}),
        looking(by_value, name="own", namespace="shop"),
        looking("{{ it }}", name="carried", namespace="shop", context=carried),
        looking("{{ target.metadata.labels.x || '' }}", name="labels", namespace="shop"),
        looking(by_value, name="wide"),
        obj("NamespacedDeletingPolicy", "cel", namespace="shop", api="policies.kyverno.io/v1", spec=spec),
    )
    for args in ((), ("--no-matches",)):
        policies = town.document(*args)["policies"]
        told = {one["name"] for one in policies if "secret-values" in codes(one)}
        assert told == {"own", "carried", "cel"}
        assert all("unclear-matches" not in codes(one) for one in policies)
    config = tmp_path / "skoupa.yaml"
    config.write_text("policies: {allowSecretsInNamespacedPolicies: true}", encoding="utf-8")
    policies = town.document("--config", str(config))["policies"]
    assert not any({"secret-values", "unclear-matches"}.intersection(codes(one)) for one in policies)


def test_the_exit_code_is_10_only_where_it_is_asked_for_and_something_differs(town: Migrating) -> None:
    town.holding(lease(), config_map("same", "4h"))
    assert town("--detailed-exitcode").code == 0
    town.holding(config_map("odd", "1.5d"))
    assert town().code == 0
    assert town("--detailed-exitcode").code == 10


def test_what_may_not_be_read_is_told_and_the_rest_is_shown(town: Migrating) -> None:
    town.holding(lease(), deployment(), filters("[Event,*,*]"), config_map("odd", "1.5d"), cleanup("all"))
    granting(Rule(verbs=("list",), resources=("configmaps", "namespaces")))(town.cluster)
    town.user = "bob"
    found = town.document("--detailed-exitcode", code=4)
    assert found["kyverno"]["state"] == "unknown"
    assert codes(named(found["labels"], "odd")) == ["odd-value"]
    gaps = {gap["what"] for gap in found["gaps"]}
    assert {
        "the Lease kyverno-cleanup-controller",
        "deployments.apps",
        "clustercleanuppolicies.kyverno.io",
    } <= gaps
    said = town()
    assert said.code == 4
    refusals = [line for line in said.err.splitlines() if "no permission" in line]
    assert len(refusals) == 1, "one sentence for all that the same right would show"


def test_rights_of_one_namespace_suffice_for_that_namespace(town: Migrating) -> None:
    town.holding(config_map("odd", "1.5d"), config_map("odd", "1.5d", namespace="other"))
    granting(Rule(verbs=("list", "get"), resources=("*",), namespaces=("shop",)))(town.cluster)
    town.user = "bob"
    found = town.document("-n", "shop", code=4)
    assert [(one["namespace"], one["name"]) for one in found["labels"]] == [("shop", "odd")]


def test_what_a_cluster_in_memory_has_of_its_own_is_not_matched(skoupa: Shell, tmp_path: Path) -> None:
    dump = tmp_path / "dump.yaml"
    items = [lease(), cleanup("spaces", "Namespace"), obj("Namespace", "shop")]
    dump.write_text(yaml.safe_dump_all(items), encoding="utf-8")
    said = skoupa("migrate", "--from", str(dump), "--now", "2026-05-01T12:00:00Z", "-o", "json")
    (told,) = json.loads(said.out)["policies"]
    assert told["matches"]["matched"] == 1, "the Namespace default is in no file"


def test_a_dump_is_looked_at_as_of_when_it_was_made(skoupa: Shell, tmp_path: Path) -> None:
    dump = tmp_path / "shop.yaml"
    items = [lease(), deployment(), config_map("same", "4h"), config_map("odd", "1.5d"), cleanup("plain")]
    dump.write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": items}), encoding="utf-8")

    def told(*args: str) -> dict[str, Any]:
        said = skoupa("migrate", "--from", str(dump), "-o", "json", *args)
        assert said.code == 0, said.err
        found: dict[str, Any] = json.loads(said.out)
        return found

    found = told()
    assert (found["now"], found["kyverno"]["state"]) == ("2026-05-01T11:59:50Z", "alive")
    assert codes(named(found["labels"], "same")) == []
    assert codes(named(found["labels"], "odd")) == ["odd-value"]
    later = told("--now", "2026-06-01T00:00:00Z")
    assert codes(named(later["labels"], "same")) == ["given-up"]


NONSENSE: list[dict[str, Any]] = [
    {},
    {"spec": None},
    {"spec": [1, 2]},
    {"spec": {"schedule": 5, "match": 7, "conditions": 9, "context": 3}, "status": {"lastExecutionTime": 17}},
    {"spec": {"schedule": "@daily", "match": {"any": [{"resources": {"kinds": [1, None, "Pod/exec"]}}]}}},
    {
        "spec": {
            "schedule": "0 3 * * *",
            "match": {"any": [{"resources": {"kinds": ["Pod"]}}]},
            "conditions": {"all": [5, {"key": {"a": 1}, "operator": 7, "value": [[1]]}], "some": []},
        },
        "status": {"lastExecutionTime": "never"},
    },
    {"spec": {"schedule": "@daily", "matchConstraints": {"excludeResourceRules": [5, {"operations": 7}]}}},
]


@pytest.mark.parametrize("body", NONSENSE)
@pytest.mark.parametrize(
    ("api", "kind"),
    [("kyverno.io/v2", "ClusterCleanupPolicy"), ("policies.kyverno.io/v1", "DeletingPolicy")],
)
def test_a_policy_that_is_nonsense_is_told_and_ends_nothing(
    skoupa: Shell, tmp_path: Path, body: dict[str, Any], api: str, kind: str
) -> None:
    dump = tmp_path / "dump.yaml"
    odd = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "kyverno-cleanup-controller", "namespace": "kyverno"},
        "spec": {"template": {"spec": {"containers": []}}},
    }
    items = [obj(kind, "odd", api=api, **body), odd, config_map("same", "4h"), config_map("empty", "")]
    dump.write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": items}), encoding="utf-8")
    said = skoupa("migrate", "--from", str(dump), "-o", "json")
    assert said.code == 0, said.err
    found = json.loads(said.out)
    (policy,) = found["policies"]
    assert (policy["skoupaRuns"], policy["matches"]) == (False, None)
    assert codes(policy)
    assert [one["name"] for one in found["labels"]] == ["empty", "same"]


def test_yaml_says_the_same_as_json(town: Migrating) -> None:
    town.holding(lease(), config_map("odd", "1.5d"), cleanup("plain"))
    assert yaml.safe_load(town("-o", "yaml").out) == town.document()


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (("--now", "2026-06-01"), "--now needs --from"),
        (("--from", "nowhere.yaml"), "nowhere.yaml"),
        (("--tz", "Mars/Phobos"), "Mars/Phobos"),
    ],
)
def test_what_can_not_be_meant_is_one_sentence(town: Migrating, args: tuple[str, ...], sentence: str) -> None:
    said = town(*args)
    assert said.code == 2
    assert sentence in said.sentence


def test_a_feature_that_is_off_is_told(town: Migrating, tmp_path: Path) -> None:
    config = tmp_path / "skoupa.yaml"
    config.write_text("features: {policies: false}", encoding="utf-8")
    town.holding(cleanup("plain"))
    assert "the feature policies is switched off" in town("--config", str(config)).err
    config.write_text("features: {ttl: false}", encoding="utf-8")
    assert town("--config", str(config)).code == 2


def test_labels_and_names_can_not_steer_a_terminal(town: Migrating) -> None:
    town.holding(lease(), cleanup("odd", schedule="\x1b[2J 0 3 * * *"))
    assert "\x1b" not in town().out


def every_field(shape: type[Any]) -> set[str]:
    found: set[str] = set()
    for field in msgspec.structs.fields(shape):
        found.add(field.encode_name)
    return found


def test_every_field_of_the_output_is_in_the_guide() -> None:
    page = (DOCS / "migrate.md").read_text(encoding="utf-8")
    shapes = [
        shape
        for shape in vars(documents).values()
        if isinstance(shape, type) and issubclass(shape, Shape) and shape is not Shape
    ]
    assert len(shapes) > 8
    for shape in shapes:
        for name in every_field(shape):
            assert f"`{name}`" in page, f"docs/migrate.md does not describe {name} of {shape.__name__}"


def test_what_a_policy_will_not_delete_is_not_told_as_going(town: Migrating) -> None:
    town.cluster.allow_only("system:serviceaccount:shop:robot", ())
    town.holding(
        config_map("a"),
        config_map("b"),
        cleanup("acting", namespace="shop", annotations={"skoupa.dev/service-account": "robot"}),
        cleanup("looking", namespace="shop", annotations={"skoupa.dev/observe": "48h"}),
        cleanup("resting", namespace="shop", annotations={"skoupa.dev/suspend": "true"}),
    )
    policies = town.document()["policies"]
    for name, why in (
        ("acting", "robot"),
        ("looking", "it only reports for the first 2d"),
        ("resting", "it is suspended"),
    ):
        policy = named(policies, name)
        assert (policy["matches"]["matched"], policy["matches"]["goes"]) == (2, 0), name
        (held,) = (one for one in policy["differences"] if one["code"] == "held-matches")
        assert why in held["skoupa"]


def test_a_new_policy_that_reports_at_first_does_not_go_at_once(town: Migrating, tmp_path: Path) -> None:
    config = tmp_path / "skoupa.yaml"
    config.write_text("policies: {observeNew: 12h}\n", encoding="utf-8")
    town.holding(config_map("a"), cleanup("tidy", namespace="shop"))
    policy = named(town.document("--config", str(config))["policies"], "tidy")
    assert policy["matches"]["goes"] == 0


def test_the_steps_name_the_kinds_that_an_installation_may_not_delete_by_itself(town: Migrating) -> None:
    town.holding(
        config_map("a"),
        obj("PersistentVolumeClaim", "disk", namespace="shop"),
        obj("Secret", "key", namespace="shop", labels={"cleanup.kyverno.io/ttl": "4h"}),
        obj("Secret", "other", namespace="shop"),
        obj("ServiceAccount", "kept", namespace="shop", labels={"skoupa.dev/keep": "true"}),
        cleanup("disks", "PersistentVolumeClaim", "ConfigMap", "ServiceAccount", namespace="shop"),
    )
    document = town.document()
    told = "\n".join(one["what"] for one in document["over"])
    assert "may not delete persistentvolumeclaims, secrets by itself" in told
    commands = [one["command"] for one in (*document["over"], *document["back"])]
    installs = [one for one in commands if one.startswith("skoupa install")]
    assert len(installs) == 3
    assert all("--kinds default,persistentvolumeclaims,secrets |" in one for one in installs)
