"""Paths of the API server that a policy of a namespace may ask for."""

from __future__ import annotations

import pytest

from skoupa.policy.confinement import confined, may_be_confined

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("path", "inside"),
    [
        ("/api/v1/namespaces/shop/pods", True),
        ("/api/v1/namespaces/shop/pods/web/status?limit=5", True),
        ("/apis/apps/v1/namespaces/shop/deployments?labelSelector=a%2Fb", True),
        ("/api/v1/namespaces/shop/pods/proxy/status", True),
        ("/api/v1/namespaces/shop/services/web/proxy/admin", False),
        ("/api/v1/namespaces/shop/pods/web/exec?command=sh", False),
        ("/api/v1/namespaces/other/pods", False),
        ("/api/v1/namespaces/shop", True),
        ("/api/v2/namespaces/shop", False),
        ("/apis/apps/v1/namespaces/shop", False),
        ("/api/v1/namespaces/other", False),
        ("/api/v1/namespaces", False),
        ("/api/v1/pods", False),
        ("/apis/apps/v1/deployments", False),
        ("/version", False),
        ("", False),
        ("api/v1/namespaces/shop/pods", False),
        ("/api/v1/namespaces/shop/../other/pods", False),
        ("/api/v1/namespaces/shop/%2e%2e/other/pods", False),
        ("/api/v1/namespaces/shop/%252e%252e/other/pods", False),
        ("/api/v1/namespaces/shop%2f..%2fother/pods", False),
        ("//evil/api/v1/namespaces/shop/pods", False),
        ("/api/v1/namespaces//shop/pods", False),
        ("/api/v1/namespaces/shop/..\\other/pods", False),
        ("https://evil/api/v1/namespaces/shop/pods", False),
        ("/api/v1/namespaces/shopping/pods", False),
    ],
)
def test_a_path_stays_in_the_namespace_or_it_does_not(path: str, *, inside: bool) -> None:
    assert confined(path, "shop") == inside
    assert may_be_confined(path, "shop") == inside


@pytest.mark.parametrize(
    ("path", "maybe"),
    [
        ("/api/v1/namespaces/{{request.namespace}}/pods", True),
        ("/api/v1/namespaces/shop/pods/{{ target.metadata.name }}", True),
        ("{{ path }}", True),
        ("/apis/{{ group }}/v1/namespaces/other/x", True),
        ("/api/v1/namespaces/other/pods/{{ name }}", False),
        ("/api/v1/pods/{{ name }}", False),
        ("/version/{{ name }}", False),
        ("/apis/apps/v1/deployments/{{ name }}", False),
    ],
)
def test_a_path_with_variables_is_refused_only_where_no_value_could_mend_it(
    path: str, *, maybe: bool
) -> None:
    assert may_be_confined(path, "shop") == maybe
