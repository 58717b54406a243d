"""Calls that Kyverno makes for a policy and Skoupa refuses."""

from __future__ import annotations

from typing import Any

import pytest

from skoupa.cli.migrating.calls import call_differences
from skoupa.clock import SystemClock
from skoupa.expr.cel.pool import Pool
from skoupa.kinds.policies.deleting import NamedExpression
from skoupa.model.differences import Difference
from skoupa.policy.cel_checks import source_of
from skoupa.policy.policies import Clauses
from skoupa.policy.reading import read_policy
from skoupa.settings import decode
from tests.unit.cli.migrating.clusters import cleanup

pytestmark = pytest.mark.unit


def found(entry: dict[str, Any], *, namespace: str = "", **policies: Any) -> list[Difference]:
    seen: list[Clauses] = []

    def note(clauses: Clauses) -> tuple[()]:
        seen.append(clauses)
        return ()

    read_policy(cleanup("a", namespace=namespace, context=[{"name": "x", **entry}]), check=note)
    return list(call_differences(seen[0], decode({"policies": policies}, source="the test").policies))


def service(url: str) -> dict[str, Any]:
    return {"apiCall": {"service": {"url": url}}}


def test_a_host_that_is_not_allowed_is_told_with_what_would_allow_it() -> None:
    (one,) = found(service("https://svc.example:8443/secret?token=abc"))
    assert one.code == "service-call"
    assert "svc.example:8443 to policies.allowedHosts" in one.skoupa
    assert "abc" not in one.kyverno + one.skoupa
    assert found(service("https://svc.example:8443/a"), allowedHosts=["svc.example:8443"]) == []


def test_plain_http_and_namespaced_policies_are_refused() -> None:
    (plain,) = found(service("http://svc.example/a"), allowedHosts=["svc.example"])
    assert "https only" in plain.skoupa
    (inside,) = found(service("https://svc.example/a"), namespace="shop", allowedHosts=["svc.example"])
    assert "allowHttpInNamespacedPolicies" in inside.skoupa


def test_an_address_with_variables_counts_by_what_is_certain() -> None:
    assert [one.code for one in found(service("https://{{ target.x }}/a"))] == ["service-call"]
    assert found(service("https://{{ target.x }}/a"), allowedHosts=["svc.example"]) == []


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ({"urlPath": "/api/v1/pods"}, []),
        ({"urlPath": "/api/v1/namespaces/shop/services/web/proxy/a"}, ["reaching-call"]),
        ({"urlPath": "/api/v1/pods?watch=true"}, ["reaching-call"]),
        ({"urlPath": "/api/v1/namespaces/NAMESPACE/pods"}, ["reaching-call"]),
        ({"urlPath": "/api/v1/namespaces/{{ request.namespace }}/pods"}, []),
        ({"urlPath": "/api/v1/namespaces/shop/configmaps", "method": "POST"}, ["post-call"]),
        ({"urlPath": "/apis/authorization.k8s.io/v1/subjectaccessreviews", "method": "POST"}, []),
    ],
)
def test_paths_that_are_refused_are_told(call: dict[str, Any], expected: list[str]) -> None:
    assert [one.code for one in found({"apiCall": call})] == expected


def test_shared_context_is_told_for_namespaced_policies() -> None:
    entry = {"globalReference": {"name": "pods"}}
    assert [one.code for one in found(entry, namespace="shop")] == ["shared-context"]
    assert found(entry) == []
    assert found(entry, namespace="shop", allowGlobalContextInNamespacedPolicies=True) == []


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/api/v1/namespaces/shop/secrets", ["secret-values"]),
        ("/api/v1/namespaces/{{ request.namespace }}/secrets/a", ["secret-values"]),
        ("/api/v1/namespaces/shop/configmaps/secrets", []),
    ],
)
def test_values_of_secrets_are_told_for_namespaced_policies(path: str, expected: list[str]) -> None:
    entry = {"apiCall": {"urlPath": path}}
    assert [one.code for one in found(entry, namespace="shop")] == expected
    assert found(entry) == []
    assert found(entry, namespace="shop", allowSecretsInNamespacedPolicies=True) == []


@pytest.mark.parametrize(
    ("expression", "asks", "namespace", "expected"),
    [
        ("http.Get('https://svc.example/a').ok", "http.Get", "", ["service-call"]),
        ("http.Get(object.metadata.name).ok", "http.Get", "", ["service-call"]),
        ("resource.Post('v1', 'configmaps', {})", "resource.Post", "", ["post-call"]),
        ("resource.Post('authorization.k8s.io/v1', 'subjectaccessreviews', {})", "resource.Post", "", []),
        ("globalContext.Get('pods', '').size() > 0", "globalContext.Get", "shop", ["shared-context"]),
        ("globalContext.Get('pods', '').size() > 0", "globalContext.Get", "", []),
        (
            "resource.List('v1', 'secrets').items.size() > 0",
            "resource.List",
            "shop",
            ["secret-values"],
        ),
        ("object.metadata.name == 'http.Get'", "", "", []),
    ],
)
async def test_cel_that_calls_is_found(
    expression: str, asks: str, namespace: str, expected: list[str]
) -> None:
    named = (NamedExpression(name="a", expression=expression),)
    clauses = Clauses(namespace=namespace, expressions=named)
    settings = decode({}, source="the test").policies
    told = call_differences(clauses, settings, asks=[asks] if asks else [])
    assert [one.code for one in told] == expected
    async with Pool(clock=SystemClock()) as pool:
        # As the compiler names them.
        assert (await pool.compile(source_of(clauses))).asks == ((asks,) if asks else ())
