"""`skoupa test`: Kyverno's test files as they are, and our shorter form."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
import yaml

from tests.unit.cli.saying import Said, Shell

pytestmark = pytest.mark.unit

EXAMPLES = Path(__file__).parents[4] / "examples" / "policies"

CLEANUP: dict[str, Any] = {
    "apiVersion": "kyverno.io/v2",
    "kind": "ClusterCleanupPolicy",
    "metadata": {"name": "old"},
    "spec": {
        "schedule": "@daily",
        "match": {"any": [{"resources": {"kinds": ["Pod"]}}]},
        "conditions": {"all": [{"key": "{{ target.spec.nodeName }}", "operator": "Equals", "value": "one"}]},
    },
}
DELETING: dict[str, Any] = {
    "apiVersion": "policies.kyverno.io/v1",
    "kind": "DeletingPolicy",
    "metadata": {"name": "cel"},
    "spec": {
        "schedule": "@daily",
        "matchConstraints": {
            "resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}]
        },
        "variables": [{"name": "maps", "expression": "resource.List('v1', 'configmaps', 'shop').items"}],
        "conditions": [
            {"name": "map", "expression": "variables.maps.exists(m, m.metadata.name == object.metadata.name)"}
        ],
    },
}


def pod(name: str, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "shop"}, "spec": spec}


OBJECTS = [
    pod("a", nodeName="one"),
    pod("b", nodeName="two"),
    pod("c"),
    {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b", "namespace": "shop"}},
]


class Folder:
    def __init__(self, path: Path, skoupa: Shell) -> None:
        self.path = path
        self._skoupa = skoupa
        self.write("policies.yaml", CLEANUP, DELETING)
        self.write("objects.yaml", *OBJECTS)

    def write(self, name: str, *documents: Any) -> None:
        (self.path / name).write_text(yaml.safe_dump_all(documents), encoding="utf-8")

    def own(self, **fields: Any) -> None:
        written = {"policies": ["policies.yaml"], "resources": ["objects.yaml"], **fields}
        self.write("skoupa-test.yaml", written)

    def kyverno(self, *results: dict[str, Any], **fields: Any) -> None:
        self.write(
            "kyverno-test.yaml",
            {
                "apiVersion": "cli.kyverno.io/v1alpha1",
                "kind": "Test",
                "metadata": {"name": "deleting"},
                "policies": ["policies.yaml"],
                "resources": ["objects.yaml"],
                "results": list(results),
                **fields,
            },
        )

    def __call__(self, *options: str) -> Said:
        return self._skoupa("test", str(self.path), *options)


@pytest.fixture
def folder(tmp_path: Path, skoupa: Shell) -> Folder:
    return Folder(tmp_path, skoupa)


def result(policy: str, expected: str, *resources: str, **fields: Any) -> dict[str, Any]:
    return {"policy": policy, "kind": "Pod", "resources": list(resources), "result": expected, **fields}


def test_a_test_of_kyvernos_is_read_as_it_is(folder: Folder) -> None:
    folder.kyverno(
        result("cel", "pass", "b", isDeletingPolicy=True),
        result("cel", "fail", "shop/a", "c", isDeletingPolicy=True),
        result("old", "pass", "a"),
        result("old", "fail", "b"),
        result("old", "error", "c"),
    )
    said = folder()
    assert said.code == 0, said.out + said.err
    assert said.out.endswith("\n6 tests, 0 failed.\n")
    assert "ok      deleting: cel: Pod/b goes" in said.out


def test_of_what_does_not_match_the_reason_is_told(folder: Folder) -> None:
    """A Namespace that Kyverno would delete whatever its labels."""
    selected = {"kinds": ["Namespace"], "namespaceSelector": {"matchLabels": {"env": "pr"}}}
    spec = {"schedule": "@daily", "match": {"any": [{"resources": selected}]}}
    folder.write("policies.yaml", {**CLEANUP, "spec": spec})
    places = [{"name": "pr-1", "labels": {"env": "pr"}}, {"name": "prod"}]
    folder.write(
        "objects.yaml", *({"apiVersion": "v1", "kind": "Namespace", "metadata": one} for one in places)
    )
    folder.kyverno(result("old", "pass", "pr-1", "prod", kind="Namespace"))
    said = folder()
    assert said.code == 1
    assert "ok      deleting: old: Namespace/pr-1 goes" in said.out
    assert (
        "Namespace/prod goes, but it stays: match.any[0]: its own labels do not fit namespaceSelector "
        "(Kyverno would not ask a Namespace for them)" in said.out
    )


def test_a_result_that_differs_is_told_with_the_reason_and_the_exit_code_is_1(folder: Folder) -> None:
    folder.kyverno(result("old", "pass", "b", "c"), result("old", "fail", "nobody"))
    said = folder()
    assert said.code == 1
    assert (
        "FAILED  deleting: old: Pod/b goes, but it stays: conditions.all[0] does not hold: "
        '"{{ target.spec.nodeName }}" Equals "one" (key is "two")\n' in said.out
    )
    assert "Pod/c goes, but it is unclear: " in said.out
    assert "nodeName is not there" in said.out
    assert "Pod/nobody stays, but there is no such object in the test" in said.out


def of_kind(kind: str, namespace: str = "", node: str = "one") -> dict[str, Any]:
    """All of one name."""
    condition = {"key": "{{ target.spec.nodeName || '' }}", "operator": "Equals", "value": node}
    spec = {**CLEANUP["spec"], "conditions": {"all": [condition]}}
    return {**CLEANUP, "kind": kind, "metadata": {"name": "old", "namespace": namespace}, "spec": spec}


def test_of_policies_of_one_name_each_is_tried_by_its_namespace_or_kind(folder: Folder) -> None:
    elsewhere = {**pod("d", nodeName="one"), "metadata": {"name": "d", "namespace": "bank"}}
    folder.write("objects.yaml", *OBJECTS, elsewhere)
    cel = {**DELETING, "metadata": {"name": "old"}}
    folder.write(
        "policies.yaml", of_kind("CleanupPolicy", "shop"), of_kind("CleanupPolicy", "bank", "two"), cel
    )
    folder.kyverno(
        result("shop/old", "pass", "a"),
        result("shop/old", "fail", "b", "d"),
        result("bank/old", "fail", "d"),
        result("old", "pass", "b", isDeletingPolicy=True),
        result("DeletingPolicy/old", "fail", "a"),
    )
    said = folder()
    assert said.code == 0, said.out + said.err
    assert "ok      deleting: shop/old: Pod/a goes\n" in said.out
    (folder.path / "kyverno-test.yaml").unlink()
    folder.own(expect={"shop/old": {"goes": ["Pod/shop/a"]}, "bank/old": {}})
    assert folder().code == 0


def test_a_name_that_several_policies_have_is_told_with_what_to_write(folder: Folder) -> None:
    """Whichever were tried, the other might be meant."""
    folder.write("policies.yaml", of_kind("CleanupPolicy", "shop"), of_kind("CleanupPolicy", "bank", "two"))
    folder.kyverno(result("old", "pass", "a"))
    said = folder()
    assert said.code == 2
    assert "old is the name of several policies" in said.err
    assert "write one of CleanupPolicy/bank/old, CleanupPolicy/shop/old" in said.err
    folder.kyverno(result("park/old", "pass", "a"))
    said = folder()
    assert said.code == 2
    assert "there is no policy park/old in it" in said.err


def test_a_policy_that_stands_there_twice_counts_as_it_stands_there_last(folder: Folder) -> None:
    folder.write(
        "policies.yaml", of_kind("ClusterCleanupPolicy", node="two"), of_kind("ClusterCleanupPolicy")
    )
    folder.kyverno(result("old", "pass", "a"), result("old", "fail", "b"))
    assert folder().code == 0


def test_results_of_other_policies_and_values_are_passed_over_and_told(folder: Folder) -> None:
    folder.write("values.yaml", {"kind": "Value", "globalValues": {"request.operation": "UPDATE"}})
    folder.kyverno(
        result("old", "pass", "a"),
        result("labels", "pass", "a", rule="check"),
        variables="values.yaml",
        userinfo="user.yaml",
    )
    said = folder()
    assert said.code == 0
    assert "1 results are about policies that delete nothing" in said.err
    assert "globalValues of values.yaml are not read" in said.err
    assert "userinfo: not read" in said.err


def cel(expression: str) -> dict[str, Any]:
    spec = {**DELETING["spec"], "variables": [], "conditions": [{"name": "a", "expression": expression}]}
    return {**DELETING, "spec": spec}


@pytest.mark.parametrize(
    "values",
    [
        {"namespaces": [{"kind": "namespace", "metadata": {"name": "shop", "labels": {"env": "test"}}}]},
        {"namespaceSelector": [{"name": "shop", "labels": {"env": "test"}}]},
    ],
)
def test_namespaces_of_a_value_file_are_those_that_policies_see(
    folder: Folder, values: dict[str, Any]
) -> None:
    folder.write("policies.yaml", cel("namespaceObject.metadata.labels.env == 'test'"))
    folder.write("values.yaml", {"apiVersion": "cli.kyverno.io/v1alpha1", "kind": "Value", **values})
    folder.kyverno(result("cel", "pass", "a", "b"), variables="values.yaml")
    said = folder()
    assert said.code == 0, said.out + said.err
    assert "not read" not in said.err
    # As Kyverno reads them: what stands in the test counts, and the file beside it does not.
    folder.write("values.yaml", {"namespaceSelector": [{"name": "shop", "labels": {"env": "live"}}]})
    folder.kyverno(result("cel", "pass", "a", "b"), variables="values.yaml", values=values)
    said = folder()
    assert said.code == 0, said.out + said.err
    assert "not read" not in said.err
    folder.kyverno(result("cel", "pass", "a"), values={**values, "globalValues": {"a": "b"}})
    assert "globalValues of values are not read" in folder().err


def test_objects_of_a_context_file_are_asked_for_and_not_tried(folder: Folder) -> None:
    folder.write("policies.yaml", cel("resource.List('v1', 'pods', 'shop').items.size() == 4"))
    context = {"kind": "Context", "spec": {"resources": [pod("beside")], "images": []}}
    folder.write("context.yaml", context)
    folder.kyverno(result("cel", "pass", "a"), result("cel", "pass", "beside"), context="context.yaml")
    said = folder()
    assert said.code == 1
    assert "ok      deleting: cel: Pod/a goes" in said.out
    assert "Pod/beside goes, but there is no such object in the test" in said.out
    assert "images of context.yaml are not read" in said.err


def test_cluster_resources_are_there_with_their_definitions(folder: Folder) -> None:
    # Kyverno's own test-context-apicall-dpol, but for the names.
    expression = (
        "cel.bind(found, resource.get('shop.example.org/v1', 'classes', '', object.spec.nodeName),"
        " found.?spec.?spot.orValue(false))"
    )
    folder.write("policies.yaml", cel(expression))
    names = {"plural": "classes", "kind": "Class", "listKind": "ClassList", "singular": "class"}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object"}},
    }
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "classes.shop.example.org"},
        "spec": {"group": "shop.example.org", "versions": [version], "scope": "Cluster", "names": names},
    }
    (folder.path / "crds").mkdir()
    (folder.path / "cluster").mkdir()
    folder.write("crds/class.yaml", definition)
    classes = [
        {
            "apiVersion": "shop.example.org/v1",
            "kind": "Class",
            "metadata": {"name": name},
            "spec": {"spot": spot},
        }
        for name, spot in (("one", True), ("two", False))
    ]
    shop = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "labels": {"a": "b"}}}
    head = {"apiVersion": "cli.kyverno.io/v1alpha1", "kind": "ClusterResource"}
    spec = {"crds": ["crds/class.yaml"], "resources": [shop, *classes], "more": 1}
    folder.write("cluster/resources.yaml", {**head, "spec": spec})
    folder.kyverno(
        result("cel", "pass", "a", isDeletingPolicy=True),
        result("cel", "fail", "b", isDeletingPolicy=True),
        clusterResources=["cluster/resources.yaml"],
    )
    said = folder()
    assert said.code == 0, said.out + said.err
    assert "more of cluster/resources.yaml are not read" in said.err
    assert "clusterResources" not in said.err

    folder.write("cluster/resources.yaml", {**head, "spec": {**spec, "crds": ["crds/none.yaml"]}})
    said = folder()
    assert said.code == 2
    assert "none.yaml: can't be read" in said.sentence


def test_shared_context_that_a_test_gives_is_what_policies_get(folder: Folder) -> None:
    names = {"data": {"found": {"pods": [{"name": "a"}]}}, "fieldPath": "found", "name": "listed"}
    entries = [
        {**names, "projections": [{"name": "names", "path": "pods[].name"}]},
        {"name": "inline", "resources": [pod("a")]},
        {"name": "files", "resourceFiles": ["given.yaml"]},
    ]
    folder.write("given.yaml", pod("a"), pod("b"))
    expression = (
        "object.metadata.name in globalContext.Get('listed', 'names')"
        " && globalContext.Get('listed', '').names.size() == 1"
        " && globalContext.Get('inline', '').exists(p, p.metadata.name == object.metadata.name)"
        " && globalContext.Get('files', '').size() == 2"
    )
    spec = CLEANUP["spec"] | {
        "context": [{"name": "all", "globalReference": {"name": "listed", "jmesPath": "names"}}],
        "conditions": {
            "all": [{"key": "{{ target.metadata.name }}", "operator": "AnyIn", "value": "{{ all }}"}]
        },
    }
    folder.write("policies.yaml", cel(expression), {**CLEANUP, "spec": spec})
    folder.kyverno(
        *(result(name, "pass", "a") for name in ("cel", "old")),
        *(result(name, "fail", "b", "c") for name in ("cel", "old")),
        globalContextEntries=entries,
    )
    said = folder()
    assert said.code == 0, said.out + said.err
    assert "not read" not in said.err


def test_a_policy_of_a_namespace_gets_what_is_known_to_lie_in_it(folder: Folder) -> None:
    own = cel("globalContext.Get('own', '').size() == 1")
    other = cel("globalContext.Get('other', '').size() == 1")
    for policy, name in ((own, "own"), (other, "other")):
        policy |= {"kind": "NamespacedDeletingPolicy", "metadata": {"name": name, "namespace": "shop"}}
    folder.write("policies.yaml", own, other)
    elsewhere = pod("a")
    elsewhere["metadata"]["namespace"] = "bank"
    given = [{"name": "own", "resources": [pod("a")]}, {"name": "other", "resources": [elsewhere]}]
    folder.kyverno(result("own", "pass", "a"), result("other", "error", "a"), globalContextEntries=given)
    said = folder()
    assert said.code == 0, said.out + said.err


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"name": "x"}, "globalContextEntries: x: has no value"),
        ({"name": "x", "data": {}, "resources": []}, "globalContextEntries: x: has more than one value"),
        ({"name": "x", "data": {}, "fieldPath": "a..b"}, "globalContextEntries: x: a..b"),
        ({"name": "x", "data": {}, "fieldPath": "a"}, "globalContextEntries: x: a: a is not there"),
        ({"name": "x", "resourceFiles": ["none.yaml"]}, "none.yaml: can't be read"),
    ],
)
def test_shared_context_that_has_no_value_is_told(folder: Folder, entry: dict[str, Any], words: str) -> None:
    folder.kyverno(result("old", "pass", "a"), globalContextEntries=[entry])
    said = folder()
    assert said.code == 2
    assert words in said.sentence


def test_payloads_that_are_no_objects_are_passed_over_and_told(folder: Folder) -> None:
    (folder.path / "json").mkdir()
    folder.write("json/policies.yaml", {**DELETING, "spec": {"schedule": "@daily"}})
    payloads = {"jsonPayloads": ["a.json"], "policies": ["policies.yaml"]}
    folder.write("json/kyverno-test.yaml", {**payloads, "results": [{"policy": "cel", "result": "pass"}]})
    folder.kyverno(result("old", "pass", "a"))
    said = folder()
    assert said.code == 0, said.out + said.err
    assert "1 tests, 0 failed" in said.out
    assert "jsonPayloads are no objects that a cluster could hold: 1 results" in said.err


def test_a_file_that_is_no_test_does_not_take_the_others_along(folder: Folder, tmp_path: Path) -> None:
    (folder.path / "bad").mkdir()
    folder.write("bad/skoupa-test.yaml", {"policies": 1})
    (folder.path / "worse").mkdir()
    folder.write(
        "worse/skoupa-test.yaml", {"policies": ["none.yaml"], "resources": [], "expect": {"old": {}}}
    )
    folder.kyverno(result("old", "pass", "a"))
    said = folder("--junit", str(tmp_path / "report.xml"))
    assert said.code == 2
    assert "ok      deleting: old: Pod/a goes" in said.out
    assert "3 tests, 2 failed" in said.out
    assert "is no test" in said.out
    assert "none.yaml: can't be read" in said.out
    assert ET.parse(tmp_path / "report.xml").getroot().attrib["failures"] == "2"


def test_in_our_form_everything_stays_that_is_not_named(folder: Folder) -> None:
    folder.own(expect={"old": {"goes": ["Pod/shop/a"], "unclear": ["Pod/c"]}, "cel": {"goes": ["Pod/b"]}})
    said = folder()
    assert said.code == 0, said.out
    assert said.out.count("everything else stays") == 2
    folder.own(expect={"old": {"goes": []}})
    said = folder()
    assert said.code == 1
    assert "Pod/shop/a stays, but it goes" in said.out


def test_only_objects_of_the_test_are_meant_and_not_what_every_cluster_has(folder: Folder) -> None:
    spec = {"schedule": "@daily", "match": {"any": [{"resources": {"kinds": ["ConfigMap", "Namespace"]}}]}}
    folder.write("policies.yaml", {**CLEANUP, "spec": spec})
    folder.own(expect={"old": {"goes": ["ConfigMap/shop/b"]}})
    said = folder()
    assert said.code == 0, said.out


def test_ages_are_those_at_the_time_of_the_test(folder: Folder) -> None:
    age = "{{ time_since('', '{{ target.metadata.creationTimestamp }}', '') }}"
    policy = {**CLEANUP, "spec": {**CLEANUP["spec"], "conditions": {}}}
    policy["spec"]["conditions"] = {"all": [{"key": age, "operator": "GreaterThan", "value": "1h"}]}
    folder.write("policies.yaml", policy)
    old = pod("old")
    old["metadata"]["creationTimestamp"] = "2026-05-01T10:00:00Z"
    folder.write("objects.yaml", old)
    folder.own(now="2026-05-01T10:30:00Z", expect={"old": {}})
    assert folder().code == 0
    folder.own(now="2026-05-01T11:30:00Z", expect={"old": {"goes": ["Pod/shop/old"]}})
    assert folder().code == 0


def test_what_an_exception_exempts_stays(folder: Folder) -> None:
    exception = {
        "apiVersion": "policies.kyverno.io/v1",
        "kind": "PolicyException",
        "metadata": {"name": "not-b", "namespace": "shop"},
        "spec": {
            "policyRefs": [{"name": "cel", "kind": "DeletingPolicy"}],
            "matchConditions": [{"name": "b", "expression": "object.metadata.name == 'b'"}],
        },
    }
    folder.write("exception.yaml", exception)
    folder.own(exceptions=["exception.yaml"], expect={"cel": {}})
    assert folder().code == 0


def test_junit_has_a_case_for_each_expectation(folder: Folder) -> None:
    folder.own(name="shop", expect={"old": {"goes": ["Pod/b"], "unclear": ["Pod/c"]}})
    said = folder("--junit", str(folder.path / "results.xml"))
    assert said.code == 1
    root = ET.parse(folder.path / "results.xml").getroot()
    assert (root.get("tests"), root.get("failures")) == ("3", "2")
    cases = {case.get("name"): case.find("failure") for case in root.iter("testcase")}
    assert cases["Pod/c is unclear"] is None
    failure = cases["Pod/b goes"]
    assert failure is not None
    unmet = '"{{ target.spec.nodeName }}" Equals "one" (key is "two")'
    assert failure.get("message") == f"it stays: conditions.all[0] does not hold: {unmet}"


def test_of_many_tests_with_one_name_the_file_says_which_one_failed(folder: Folder, skoupa: Shell) -> None:
    places = [folder.path / name for name in ("one", "two")]
    for place, expected in zip(places, ("pass", "fail"), strict=True):
        place.mkdir()
        Folder(place, skoupa).kyverno(result("old", expected, "a"))
    said = folder("--junit", str(folder.path / "results.xml"))
    assert said.code == 1
    first, second = (f"{place / 'kyverno-test.yaml'}: deleting" for place in places)
    assert f"ok      {first}: old: Pod/a goes" in said.out
    assert f"FAILED  {second}: old: Pod/a" in said.out
    suites = list(ET.parse(folder.path / "results.xml").getroot())
    assert [(suite.get("name"), suite.get("failures")) for suite in suites] == [(first, "0"), (second, "1")]


def test_the_folder_that_one_stands_in_names_the_test_too(
    folder: Folder, skoupa: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.own(expect={"old": {"goes": ["Pod/a"], "unclear": ["Pod/c"]}})
    monkeypatch.chdir(folder.path)
    said = skoupa("test", ".", "--junit", "results.xml")
    assert said.code == 0, said.out
    assert f"ok      {folder.path.name}: old: Pod/a goes" in said.out
    (suite,) = ET.parse(folder.path / "results.xml").getroot()
    assert suite.get("name") == folder.path.name
    assert {case.get("classname") for case in suite} == {f"{folder.path.name}.old"}


BAD = [
    ({"expect": {}}, "nothing is expected in it"),
    ({"expect": {"nobody": {}}}, "there is no policy nobody"),
    ({"expect": {"old": {"gos": []}}}, "is no test"),
    ({"expect": {"old": {"goes": ["a"]}}}, "write Kind/name"),
    ({"expect": {"old": {}}, "policies": ["https://example.org/a.yaml"]}, "is not read"),
    ({"expect": {"old": {}}, "now": "yesterday"}, "now: "),
    ({"expect": {"old": {}}, "policies": ["none.yaml"]}, "can't be read"),
]


@pytest.mark.parametrize(("fields", "words"), BAD)
def test_a_test_that_cannot_be_carried_out_says_why_and_is_exit_code_2(
    folder: Folder, fields: dict[str, Any], words: str
) -> None:
    folder.own(**fields)
    said = folder()
    assert said.code == 2, said.out
    assert words in said.sentence
    # Who reads only the results sees it fail as well.
    assert folder("--junit", str(folder.path / "results.xml")).sentence == said.sentence
    root = ET.parse(folder.path / "results.xml").getroot()
    assert (root.get("tests"), root.get("failures")) == ("1", "1")
    (failure,) = root.iter("failure")
    assert words in (failure.get("message") or "")


def test_a_test_that_expects_nothing_is_told_beside_others(folder: Folder) -> None:
    folder.own(expect={}, policies=["none.yaml"])
    folder.kyverno(result("old", "pass", "a", kind="Pod"))
    said = folder()
    assert said.code == 2, said.out
    assert "nothing is expected in it" in said.out
    assert "2 tests, 1 failed." in said.out
    folder.own(expect={"old": {"goes": ["Pod/a"], "unclear": ["Pod/c"]}})
    folder.kyverno()
    said = folder()
    assert said.code == 0, said.out
    assert "kyverno-test.yaml: it has no results, so nothing was tried" in said.err


def test_a_policy_that_would_not_run_is_exit_code_2(folder: Folder) -> None:
    folder.write("policies.yaml", {**CLEANUP, "spec": {**CLEANUP["spec"], "schedule": "never"}})
    folder.own(expect={"old": {}})
    said = folder()
    assert said.code == 2
    assert "policy old would not run" in said.sentence


def test_a_policy_with_a_call_that_nobody_makes_would_not_run(folder: Folder) -> None:
    call = {"name": "x", "apiCall": {"urlPath": "/api/v1/namespaces/shop/services/web/proxy/a"}}
    folder.write("policies.yaml", {**CLEANUP, "spec": {**CLEANUP["spec"], "context": [call]}})
    folder.own(expect={"old": {}})
    said = folder()
    assert said.code == 2
    assert "policy old would not run: spec.context[0].apiCall.urlPath" in said.sentence


def test_cel_that_does_not_compile_is_exit_code_2(folder: Folder) -> None:
    spec: dict[str, Any] = {**DELETING["spec"], "conditions": [{"name": "a", "expression": "objct == 1"}]}
    folder.write("policies.yaml", {**DELETING, "spec": spec})
    folder.own(expect={"cel": {}})
    said = folder()
    assert said.code == 2
    assert "there is no variable objct" in said.sentence


def test_services_outside_are_not_called_unless_that_is_allowed_and_then_only_allowed_hosts(
    folder: Folder,
) -> None:
    call = {"service": {"url": "https://prices.example.org/"}}
    spec = {
        **CLEANUP["spec"],
        "context": [{"name": "prices", "apiCall": call}],
        "conditions": {"all": [{"key": "{{ prices }}", "operator": "Equals", "value": 1}]},
    }
    folder.write("policies.yaml", {**CLEANUP, "spec": spec})
    folder.own(expect={"old": {"goes": ["Pod/a"]}})
    refused = folder()
    assert refused.code == 1
    assert "--allow-calls" in refused.out
    allowed = folder("--allow-calls")
    assert allowed.code == 1
    assert "--allow-calls" not in allowed.out
    assert "allowedHosts" in allowed.out


def test_a_folder_without_tests_is_a_mistake(folder: Folder, skoupa: Shell) -> None:
    assert folder().code == 2
    assert "is not there" in skoupa("test", str(folder.path / "none")).sentence


def test_the_examples_do_what_their_first_lines_say(skoupa: Shell) -> None:
    said = skoupa("test", str(EXAMPLES))
    assert said.code == 0, said.out
    assert said.out.endswith(", 0 failed.\n")
