"""The kinds that `protect` names: each way of writing one, and what is said of those that mean none or several."""

from __future__ import annotations

import pytest

from skoupa.judge.protected_kinds import doubts
from skoupa.kinds.naming import means
from skoupa.kube.kinds import Discovery, Gap
from skoupa.kube.resources import Resource
from skoupa.settings import Protect

pytestmark = pytest.mark.unit

VERBS = ("delete", "get", "list")
POD = Resource(
    version="v1",
    plural="pods",
    kind="Pod",
    namespaced=True,
    singular="pod",
    short_names=("po",),
    verbs=VERBS,
)
POD_METRICS = Resource(
    group="metrics.k8s.io",
    version="v1beta1",
    plural="pods",
    kind="PodMetrics",
    namespaced=True,
    verbs=("get", "list"),
)
VOLUME = Resource(
    version="v1",
    plural="persistentvolumes",
    kind="PersistentVolume",
    namespaced=False,
    singular="persistentvolume",
    short_names=("pv",),
    verbs=VERBS,
)
DEPLOYMENT = Resource(
    group="apps",
    version="v1",
    plural="deployments",
    kind="Deployment",
    namespaced=True,
    singular="deployment",
    short_names=("deploy",),
    verbs=VERBS,
)
SERVICE = Resource(version="v1", plural="services", kind="Service", namespaced=True, verbs=VERBS)
KNATIVE = Resource(
    group="serving.knative.dev",
    version="v1",
    plural="services",
    kind="Service",
    namespaced=True,
    verbs=VERBS,
)
CORE_EVENT = Resource(version="v1", plural="events", kind="Event", namespaced=True, verbs=VERBS)
EVENT = Resource(
    group="events.k8s.io", version="v1", plural="events", kind="Event", namespaced=True, verbs=VERBS
)
ALL = Discovery(resources=(POD, VOLUME, SERVICE, CORE_EVENT, EVENT, DEPLOYMENT, KNATIVE, POD_METRICS))


def meant(text: str) -> set[str]:
    return {resource.qualified for resource in ALL.preferred() if means(text, resource)}


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("Deployment", {"deployments.apps"}),
        ("DEPLOYMENTS", {"deployments.apps"}),
        ("deploy", {"deployments.apps"}),
        ("deployment.apps", {"deployments.apps"}),
        ("deploy.apps", {"deployments.apps"}),
        ("deployments.v1.apps", {"deployments.apps"}),
        ("deployments.v1beta2.apps", {"deployments.apps"}),
        ("apps/v1/Deployment", {"deployments.apps"}),
        ("apps/deployments", {"deployments.apps"}),
        ("v1/Service", {"services"}),
        ("services.v1", {"services"}),
        ("services.serving.knative.dev", {"services.serving.knative.dev"}),
        ("serving.knative.dev/Service", {"services.serving.knative.dev"}),
        ("Service", {"services", "services.serving.knative.dev"}),
        ("*.apps", {"deployments.apps"}),
        ("pers*", {"persistentvolumes"}),
        ("deployments.batch", set()),
        ("Deploymnet", set()),
    ],
)
def test_a_kind_is_meant_in_each_way_that_it_can_be_written(text: str, kinds: set[str]) -> None:
    assert meant(text) == kinds


def said(discovery: Discovery = ALL, **protect: tuple[str, ...]) -> list[str]:
    return [str(doubt) for doubt in doubts(Protect(**protect), discovery)]


def test_a_kind_that_the_server_has_is_in_no_doubt() -> None:
    assert said(kinds=("Pod", "pv", "deployments.apps", "pods.metrics.k8s.io")) == []
    assert said(names=("Pod/web", "deploy/shop/web", "pv/data-*", "*/shop/*", "*.apps/x")) == []


def test_a_kind_that_is_misspelt_is_told_with_what_was_meant() -> None:
    (one, other) = said(kinds=("Deploymnet",), names=("Poood/shop/web",))
    assert one == (
        "protect.kinds: 'Deploymnet' protects nothing: there is no such kind; "
        "did you mean deployment, deployments?"
    )
    assert other.startswith("protect.names: 'Poood/shop/web' protects nothing: there is no such kind")


def test_a_wildcard_that_no_kind_matches_is_told() -> None:
    (one,) = said(names=("*.cert-manager.io/*",))
    assert "'*.cert-manager.io/*' protects nothing" in one


def test_a_name_that_several_kinds_share_is_told_with_all_of_them() -> None:
    (one,) = said(kinds=("service",))
    expected = "means services, services.serving.knative.dev; write one of them if not all are meant"
    assert one == f"protect.kinds: 'service' {expected}"
    assert [doubt.empty for doubt in doubts(Protect(kinds=("service",)), ALL)] == [False]


def test_kinds_that_can_not_be_deleted_and_the_two_names_of_events_make_no_name_ambiguous() -> None:
    assert said(kinds=("pods", "events", "Event")) == []


def test_a_namespace_before_the_name_of_something_that_is_in_none_is_told() -> None:
    (one,) = said(names=("pv/shop/data",))
    assert one == (
        "protect.names: 'pv/shop/data' protects nothing: persistentvolumes are in no namespace; write pv/data"
    )


def test_while_kinds_can_not_be_read_none_is_called_unknown() -> None:
    gap = Gap(group="cert-manager.io", version="v1", why="the server behind it does not answer")
    (one,) = said(Discovery(resources=ALL.resources, gaps=(gap,)), kinds=("certificates.cert-manager.io",))
    assert "protects nothing that is known" in one
    assert "the kinds of cert-manager.io/v1 could not" in one
