"""A policy's path is read as the server reads it: one of a namespace never leads out of it, and none makes anything."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skoupa.errors import UsageError
from skoupa.runs.calls.paths import Path, read_path
from skoupa.sim.server.calls import place_of

pytestmark = pytest.mark.unit

SHOP = "/api/v1/namespaces/shop"


def refused(text: str, *, method: str = "GET", namespace: str = "") -> str:
    with pytest.raises(UsageError) as caught:
        read_path(text, method=method, namespace=namespace)
    assert caught.value.advice
    return str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        f"{SHOP}/pods",
        f"{SHOP}/pods/",
        f"{SHOP}/pods?labelSelector=app%3Dweb",
        f"{SHOP}/configmaps/prices",
        "/apis/apps/v1/namespaces/shop/deployments/web/scale",
        SHOP,
    ],
)
def test_a_policy_of_a_namespace_asks_for_what_is_in_it(text: str) -> None:
    assert read_path(text, method="GET", namespace="shop").path == text.partition("?")[0].removesuffix("/")


@pytest.mark.parametrize(
    "text",
    [
        "/api/v1/pods",
        "/api/v1/namespaces",
        "/api/v1/namespaces/bank/pods",
        "/api/v1/namespaces/bank",
        "/api/v1/nodes",
        "/apis/apps/v1/deployments",
        "/version",
        "/metrics",
        f"{SHOP}/../bank/secrets",
        f"{SHOP}/pods/../../bank/secrets",
        f"{SHOP}/%2e%2e/bank/secrets",
        f"{SHOP}/%2E%2E/bank/secrets",
        f"{SHOP}%2f..%2fbank/secrets",
        f"{SHOP}/%252e%252e/bank/secrets",
        f"{SHOP}/./../bank/secrets",
        f"{SHOP}//pods",
        f"{SHOP}\\..\\bank/secrets",
        f"{SHOP}/%5c../secrets",
        f"{SHOP}/services/web/proxy",
        f"{SHOP}/services/web:80/proxy/admin",
        f"{SHOP}/pods/web/exec?command=id",
        f"{SHOP}/pods/web/%70roxy/",
        f"{SHOP}/pods/web/attach",
        f"{SHOP}/pods/web/portforward",
        "/api/v1/watch/namespaces/shop/pods",
        f"{SHOP}/pods?watch=true",
        f"{SHOP}/pods?w%61tch=1",
        f"{SHOP}/pods?watch=false&watch=yes",
        f"{SHOP}/pods/web/log?follow=true",
        f"{SHOP}/pods#/../..",
        "api/v1/namespaces/shop/pods",
        "//evil.example/api/v1/namespaces/shop/pods",
        "https://evil.example/api/v1/namespaces/shop/pods",
        f"{SHOP}/pods\r\nHost: evil.example",
        f"{SHOP}/po ds",
        f"{SHOP}/%00",
        f"{SHOP}/%ff/x",
        "",
        "/",
    ],
)
def test_a_policy_of_a_namespace_gets_nowhere_else(text: str) -> None:
    refused(text, namespace="shop")


@pytest.mark.parametrize(
    "text",
    ["/api/v1/pods", "/api/v1/nodes/n1", "/apis/apps/v1/deployments", "/version", "/api/v1/namespaces/bank"],
)
def test_a_policy_of_the_cluster_asks_for_everything_in_it(text: str) -> None:
    assert read_path(text, method="GET").path == text


@pytest.mark.parametrize(
    "text",
    [
        "/api/v1/nodes/n1/proxy/stats",
        "/api/v1/namespaces/bank/services/web/proxy",
        "/api/v1/namespaces/bank/pods/web/exec",
        "/api/v1/proxy/nodes/n1",
        "/api/v1/watch/pods",
        "/api/v1/pods?watch=1",
        "/api/v1/nodes/../secrets",
        "/api/v1/nodes/%2e%2e/secrets",
    ],
)
def test_no_policy_is_led_through_the_server_to_something_else(text: str) -> None:
    refused(text)


@pytest.mark.parametrize(
    "name",
    ["Shop", "NAMESPACE", "{{request.namespace}}", "$(request.namespace)", "a.b", "-a", "a-", "a" * 64, "é"],
)
def test_what_lies_in_a_namespace_that_can_not_be_there_is_not_known(name: str) -> None:
    """The server says that there is nothing, and a policy would take that for a reason to delete."""
    for text in (f"/api/v1/namespaces/{name}/pods", f"/apis/apps/v1/namespaces/{name}/deployments/web"):
        assert "can't be the name of a namespace" in refused(text)
    # That there is no such Namespace is an answer.
    assert read_path(f"/api/v1/namespaces/{name}", method="GET").path


def test_a_namespace_may_have_any_name_that_the_server_lets_in() -> None:
    for name in ("a", "1", "a-b", "0-0", "a" * 63):
        assert read_path(f"/api/v1/namespaces/{name}/pods", method="GET").path


def test_the_query_is_sent_as_it_was_meant() -> None:
    found = read_path("/api/v1/pods?labelSelector=a%3Db%2Cc&limit=5&x=", method="GET")
    assert found == Path(
        path="/api/v1/pods",
        query=(("labelSelector", "a=b,c"), ("limit", "5"), ("x", "")),
        shown="/api/v1/pods",
    )


@pytest.mark.parametrize(
    ("text", "namespace"),
    [
        ("/apis/authorization.k8s.io/v1/subjectaccessreviews", ""),
        ("/apis/authorization.k8s.io/v1/namespaces/shop/localsubjectaccessreviews", "shop"),
        ("/apis/authentication.k8s.io/v1/selfsubjectreviews", ""),
    ],
)
def test_a_review_may_be_posted(text: str, namespace: str) -> None:
    assert read_path(text, method="POST", namespace=namespace).path == text


@pytest.mark.parametrize(
    "text",
    [
        f"{SHOP}/configmaps",
        f"{SHOP}/serviceaccounts/default/token",
        f"{SHOP}/pods/web/eviction",
        "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
        "/apis/authorization.k8s.io/v1/subjectaccessreviews/x",
    ],
)
def test_nothing_else_is_posted(text: str) -> None:
    assert "makes nothing" in refused(text, method="POST")
    refused(text, method="POST", namespace="shop")


def test_a_namespaced_policy_posts_reviews_of_its_own_namespace_only() -> None:
    refused("/apis/authorization.k8s.io/v1/subjectaccessreviews", method="POST", namespace="shop")
    refused(
        "/apis/authorization.k8s.io/v1/namespaces/bank/localsubjectaccessreviews",
        method="POST",
        namespace="shop",
    )


@pytest.mark.parametrize("method", ["DELETE", "PUT", "PATCH", "get", "CONNECT", ""])
def test_policies_know_get_and_post_only(method: str) -> None:
    refused(f"{SHOP}/pods", method=method)


PIECES = st.sampled_from(
    [
        "/",
        "..",
        ".",
        "%2e",
        "%2F",
        "%5c",
        "%25",
        "\\",
        "shop",
        "bank",
        "pods",
        "namespaces",
        "api",
        "v1",
        "apis",
        "proxy",
        "?",
        "#",
        "//",
        ";",
        "é",
        "%c3%a9",
        "apps",
        ":",
        "@",
        "watch",
        "&",
        "=",
    ]
)


@given(st.lists(PIECES, max_size=12).map("".join))
def test_whatever_is_written_after_it_stays_in_the_namespace(text: str) -> None:
    for written in (f"{SHOP}{text}", f"{SHOP}/{text}", text):
        try:
            found = read_path(written, method="GET", namespace="shop")
        except UsageError:
            continue
        place = place_of(found.path)
        assert place is not None
        assert place.namespace == "shop", found
        assert "proxy" not in place.subresource.split("/")[:1], found
