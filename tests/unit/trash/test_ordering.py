"""What others stand on comes first, and owners before what they own."""

from __future__ import annotations

import pytest

from skoupa.ledger.trash.contents import Kept
from skoupa.ledger.trash.ordering import waves

pytestmark = pytest.mark.unit


def thing(resource: str, uid: str = "", *owners: str) -> Kept:
    references = [{"uid": owner, "kind": "X", "name": "x"} for owner in owners]
    return Kept(
        api_version="v1",
        kind="X",
        resource=resource,
        namespaced=True,
        name=uid or resource,
        uid=uid or resource,
        manifest={"metadata": {"ownerReferences": references}},
    )


def order(*things: Kept) -> list[str]:
    return [one.uid for wave in waves(things) for one in wave]


def test_kinds_come_in_the_order_in_which_they_need_each_other() -> None:
    wanted = [
        "namespaces",
        "customresourcedefinitions.apiextensions.k8s.io",
        "storageclasses.storage.k8s.io",
        "serviceaccounts",
        "secrets",
        "roles.rbac.authorization.k8s.io",
        "rolebindings.rbac.authorization.k8s.io",
        "persistentvolumes",
        "persistentvolumeclaims",
        "services",
        "widgets.shop.example",
        "pods",
        "deployments.apps",
        "jobs.batch",
        "ingresses.networking.k8s.io",
        "validatingwebhookconfigurations.admissionregistration.k8s.io",
    ]
    assert order(*(thing(kind) for kind in reversed(wanted))) == wanted


def test_an_owner_comes_before_what_it_owns_whatever_their_kinds() -> None:
    owner = thing("deployments.apps", "owner")
    child = thing("configmaps", "child", "owner")
    grandchild = thing("secrets", "grandchild", "child")
    assert order(grandchild, child, owner) == ["owner", "child", "grandchild"]


def test_an_owner_that_does_not_come_back_changes_nothing() -> None:
    assert order(thing("pods"), thing("configmaps", "a", "elsewhere")) == ["a", "pods"]


def test_a_circle_of_owners_does_not_stop_anything() -> None:
    assert set(order(thing("configmaps", "a", "b"), thing("configmaps", "b", "a"))) == {"a", "b"}


def test_what_does_not_wait_for_each_other_comes_together() -> None:
    assert len(waves([thing("configmaps", str(number)) for number in range(100)])) == 1
