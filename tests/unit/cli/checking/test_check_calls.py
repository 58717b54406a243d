"""`skoupa check` tells of calls that nobody will make for a policy: by the API server's refusal, ever, or by the settings."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.unit.cli.saying import Shell

pytestmark = pytest.mark.unit

Check = Callable[..., dict[str, Any]]


@pytest.fixture
def checked(skoupa: Shell, tmp_path: Path) -> Check:
    """What `check` says of one policy, by these settings of policies; it is invalid exactly where the exit code is 2."""

    def check(policy: dict[str, Any], **policies: Any) -> dict[str, Any]:
        (tmp_path / "policy.yaml").write_text(yaml.safe_dump(policy), encoding="utf-8")
        (tmp_path / "settings.yaml").write_text(yaml.safe_dump({"policies": policies}), encoding="utf-8")
        said = skoupa(
            "check",
            "-f",
            str(tmp_path / "policy.yaml"),
            "--offline",
            "--config",
            str(tmp_path / "settings.yaml"),
            "-o",
            "json",
        )
        assert said.out, said.err
        (found,) = json.loads(said.out)["policies"]
        assert (said.code == 2) == (not found["valid"])
        return dict(found)

    return check


def cleanup(call: dict[str, Any], *, namespace: str = "") -> dict[str, Any]:
    return {
        "apiVersion": "kyverno.io/v2",
        "kind": "CleanupPolicy" if namespace else "ClusterCleanupPolicy",
        "metadata": {"name": "a", **({"namespace": namespace} if namespace else {})},
        "spec": {
            "schedule": "@daily",
            "match": {"any": [{"resources": {"kinds": ["ConfigMap"], "names": ["old-*"]}}]},
            "context": [{"name": "x", "apiCall": call}],
            "conditions": {"all": [{"key": "{{ x }}", "operator": "Equals", "value": "a"}]},
        },
    }


def deleting(expression: str, *, namespace: str = "") -> dict[str, Any]:
    return {
        "apiVersion": "policies.kyverno.io/v1",
        "kind": "NamespacedDeletingPolicy" if namespace else "DeletingPolicy",
        "metadata": {"name": "a", **({"namespace": namespace} if namespace else {})},
        "spec": {
            "schedule": "@daily",
            "matchConstraints": {
                "resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}]
            },
            "conditions": [{"name": "a", "expression": expression}],
        },
    }


def places(many: list[dict[str, str]]) -> list[str]:
    return [one["path"] for one in many]


SERVICE = {"service": {"url": "https://prices.shop/a"}}
SECRETS = {"urlPath": "/api/v1/namespaces/shop/secrets/{{ target.metadata.name }}"}
HTTP = "http.Get('https://prices.shop/a').statusCode == 200"


@pytest.mark.parametrize(
    ("policy", "path", "setting", "instead"),
    [
        (
            cleanup(SERVICE, namespace="shop"),
            "spec.context[0].apiCall.service",
            "allowHttpInNamespacedPolicies",
            "write a ClusterCleanupPolicy",
        ),
        (
            cleanup(SECRETS, namespace="shop"),
            "spec.context[0].apiCall.urlPath",
            "allowSecretsInNamespacedPolicies",
            "write a ClusterCleanupPolicy",
        ),
        (
            deleting(HTTP, namespace="shop"),
            "spec.conditions[0].expression",
            "allowHttpInNamespacedPolicies",
            "write a DeletingPolicy",
        ),
    ],
)
def test_what_the_server_refuses_to_a_policy_of_a_namespace_is_a_problem(
    checked: Check, policy: dict[str, Any], path: str, setting: str, instead: str
) -> None:
    found = checked(policy)
    (problem,) = found["problems"]
    assert problem["path"] == path
    assert instead in problem["instead"]
    assert f"policies.{setting}" in problem["instead"]
    assert path not in places(found["cautions"])
    assert checked(policy, **{setting: True})["valid"]


def test_a_path_that_hides_where_it_leads_is_a_problem_in_a_namespace(checked: Check) -> None:
    hidden = {"urlPath": "/api/v1/namespaces/shop/config%6daps?labelSelector=a%3Db"}
    (problem,) = checked(cleanup(hidden, namespace="shop"))["problems"]
    assert "write the character itself" in problem["instead"]
    fine = {"urlPath": "/apis/rbac.authorization.k8s.io/v1/namespaces/shop/roles/a%3Ab?labelSelector=a%3Db"}
    assert checked(cleanup(fine, namespace="shop"))["valid"]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ({"urlPath": "/api/v1/namespaces/shop/services/web/proxy/a"}, "something else"),
        ({"urlPath": "api/v1/pods"}, "no path of the API server"),
        ({"urlPath": "/api/v1/pods?watch=true"}, "without an end"),
        ({"urlPath": "/api/v1/namespaces/shop/configmaps", "method": "POST"}, "would make something"),
        ({"service": {"url": "prices.shop/a"}}, "no scheme or no host"),
        ({"service": {"url": "https://me:pass@prices.shop/a"}}, "a name and password"),
    ],
)
def test_a_call_that_no_setting_allows_is_a_problem(checked: Check, call: dict[str, Any], said: str) -> None:
    settings = {"allowedHosts": ["*"], "allowPlainHttp": True, "allowedNetworks": ["0.0.0.0/0"]}
    found = checked(cleanup(call), **settings)
    (problem,) = found["problems"]
    assert problem["path"].startswith("spec.context[0].apiCall.")
    assert said in problem["what"]
    assert problem["instead"]
    assert "pass" not in problem["what"].replace("password", "")


@pytest.mark.parametrize(
    ("address", "said", "settings"),
    [
        ("https://prices.shop/a?key=abc", "may not call this host", {"allowedHosts": ["prices.shop"]}),
        ("http://prices.shop/a", "https only", {"allowedHosts": ["prices.shop"], "allowPlainHttp": True}),
        (
            "https://169.254.169.254/a",
            "of the link itself",
            {"allowedHosts": ["169.254.169.254"], "allowedNetworks": ["169.254.0.0/16"]},
        ),
        (
            "https://localhost/a",
            "this machine itself",
            {"allowedHosts": ["localhost"], "allowedNetworks": ["127.0.0.0/8"]},
        ),
    ],
)
def test_a_service_that_the_settings_do_not_allow_is_a_caution(
    checked: Check, address: str, said: str, settings: dict[str, Any]
) -> None:
    cel = deleting(f"http.Get('{address}').statusCode == 200")
    for policy, path in (
        (cleanup({"service": {"url": address}}), "spec.context[0].apiCall.service.url"),
        (cel, "spec.conditions[0].expression"),
    ):
        found = checked(policy)
        assert found["valid"]
        (caution,) = found["cautions"]
        assert caution["path"] == path
        assert said in caution["what"]
        assert "abc" not in caution["what"] + caution["instead"]
        assert checked(policy, **settings)["cautions"] == []


def test_what_variables_and_expressions_make_is_left_to_the_run(checked: Check) -> None:
    hosts = {"allowedHosts": ["prices.shop"]}
    for policy in (
        cleanup({"urlPath": "{{ target.metadata.annotations.path }}/proxy/a"}),
        cleanup({"service": {"url": "http://{{ target.metadata.name }}/a"}}),
        deleting("http.Get('http://' + object.metadata.name).statusCode == 200"),
        deleting("object.metadata.name == 'http://a:b@c'"),
    ):
        found = checked(policy, **hosts)
        assert (found["problems"], found["cautions"]) == ([], [])


def test_cel_that_makes_something_is_a_problem(checked: Check) -> None:
    (problem,) = checked(deleting("resource.Post('v1', 'configmaps', 'shop', {'a': 1}) != null"))["problems"]
    assert "would make something" in problem["what"]
    review = "resource.Post('authorization.k8s.io/v1', 'subjectaccessreviews', '', {'a': 1}) != null"
    assert checked(deleting(review))["valid"]
