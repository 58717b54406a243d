"""Which finalizers nobody may take off by force, since whoever answers for them is there."""

from __future__ import annotations

import pytest

from skoupa.tenants.foreign import whose

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    "finalizer",
    [
        "foregroundDeletion",
        "customresourcecleanup.apiextensions.k8s.io",
        "kubernetes.io/pv-protection",
        "kubernetes.io/pvc-protection",
        # Of volumes whose driver is part of Kubernetes: with it their data would be left behind.
        "kubernetes.io/pv-controller",
        "networking.k8s.io/service-cidr-finalizer",
        "batch.kubernetes.io/job-tracking",
    ],
)
def test_what_kubernetes_itself_answers_for_is_its_own(finalizer: str) -> None:
    assert whose(finalizer) == "Kubernetes takes it off itself"


@pytest.mark.parametrize(
    "finalizer", ["kubezoo.io/tenant", "skoupa.dev/tenant", "skoupa.dev/external-cleanup"]
)
def test_skoupas_are_its_own(finalizer: str) -> None:
    assert whose(finalizer) == "Skoupa takes it off itself"


@pytest.mark.parametrize(
    "finalizer",
    [
        "external-provisioner.volume.kubernetes.io/finalizer",
        "service.kubernetes.io/load-balancer-cleanup",
        "controller.cattle.io/namespace-auth",
    ],
)
def test_those_of_drivers_clouds_and_operators_are_foreign(finalizer: str) -> None:
    assert whose(finalizer) == ""
