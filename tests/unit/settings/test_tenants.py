"""Settings of tenants that can't be meant."""

from __future__ import annotations

import pytest

from skoupa import names
from skoupa.errors import UsageError
from skoupa.settings import decode

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("key", [names.TENANT_LABEL, "example.org/tenant", "tenant"])
def test_a_label_of_its_own_is_taken(key: str) -> None:
    assert decode({"tenants": {"label": key}}, source="the test").tenants.label == key


@pytest.mark.parametrize(
    "key",
    [
        *(names.KEEP_LABEL, names.SHARED_LABEL, names.TTL_LABEL.replace("cleanup.kyverno.io", "skoupa.dev")),
        *(
            "kubezoo.io/tenant",
            "pod-security.kubernetes.io/enforce",
            "kubernetes.io/x",
            "a/b/c",
            "with space",
        ),
    ],
)
def test_a_label_that_says_something_already_is_refused(key: str) -> None:
    with pytest.raises(UsageError, match=r"tenants\.label"):
        decode({"tenants": {"label": key}}, source="the test")


@pytest.mark.parametrize("other", ["objectLabel", "namespaceLabel"])
def test_what_skoupa_writes_can_not_be_what_gives_objects_away(other: str) -> None:
    with pytest.raises(UsageError, match="what makes an object a tenant's"):
        decode({"tenants": {"label": "example.org/tenant", other: "example.org/tenant"}}, source="the test")


@pytest.mark.parametrize(
    ("key", "label"),
    [
        ("{tenant}.tree.hnc.x-k8s.io/depth", ""),
        ("example.org/{tenant}", names.TENANT_LABEL),
        ("{tenant}.example.org", "example.org/tenant"),
    ],
)
def test_the_name_of_the_tenant_may_stand_in_the_key(key: str, label: str) -> None:
    given = {"namespaceLabel": key, "objectLabel": key, "label": label}
    assert decode({"tenants": given}, source="the test").tenants.namespace_label == key


@pytest.mark.parametrize("other", ["objectLabel", "namespaceLabel"])
@pytest.mark.parametrize("key", ["{tenant}", "{tenant}.{tenant}/x", "{id}.example.org", "{tenant/x", "a b"])
def test_a_key_that_no_label_can_have_is_refused(key: str, other: str) -> None:
    with pytest.raises(UsageError, match=rf"tenants\.{other}"):
        decode({"tenants": {other: key}}, source="the test")


@pytest.mark.parametrize("label", ["solar.example.org/x", "{tenant}.example.org/x"])
def test_what_skoupa_writes_can_not_be_a_key_that_gives_objects_away(label: str) -> None:
    with pytest.raises(UsageError, match=r"tenants\.label"):
        decode({"tenants": {"label": label, "objectLabel": "{tenant}.example.org/x"}}, source="the test")


@pytest.mark.parametrize("separator", ["", "x", "1", "_", "-x", "[-]", ".*"])
def test_what_can_not_stand_between_an_id_and_a_name_is_refused(separator: str) -> None:
    with pytest.raises(UsageError, match=r"tenants\.separator"):
        decode({"tenants": {"separator": separator}}, source="the test")
