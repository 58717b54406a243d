from __future__ import annotations

import pytest

from skoupa.errors import KindUnreadable, UnknownKind
from skoupa.kube.kinds import Discovery, Gap
from skoupa.kube.resources import Resource

pytestmark = pytest.mark.unit

POD = Resource(version="v1", plural="pods", kind="Pod", namespaced=True, singular="pod", short_names=("po",))
POD_METRICS = Resource(
    group="metrics.k8s.io", version="v1beta1", plural="pods", kind="PodMetrics", namespaced=True
)
DEPLOYMENT = Resource(
    group="apps", version="v1", plural="deployments", kind="Deployment", namespaced=True, singular="deployment",
    short_names=("deploy",),
)  # fmt: skip
WIDGET_V2 = Resource(group="shop.example", version="v2", plural="widgets", kind="Widget", namespaced=True)
WIDGET_V1 = Resource(group="shop.example", version="v1", plural="widgets", kind="Widget", namespaced=True)
ALL = Discovery(resources=(POD_METRICS, POD, DEPLOYMENT, WIDGET_V2, WIDGET_V1))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("pods", POD),
        ("Pod", POD),
        ("POD", POD),
        ("po", POD),
        ("v1/Pod", POD),
        ("pods.metrics.k8s.io", POD_METRICS),
        ("podmetrics", POD_METRICS),
        ("deployment.apps", DEPLOYMENT),
        ("deployments.v1.apps", DEPLOYMENT),
        ("apps/v1/Deployment", DEPLOYMENT),
        ("apps/deployments", DEPLOYMENT),
        ("deploy", DEPLOYMENT),
        ("widget", WIDGET_V2),
        ("widgets.v1.shop.example", WIDGET_V1),
        ("shop.example/v1/Widget", WIDGET_V1),
        (" pods ", POD),
    ],
)
def test_a_kind_resolves_in_every_way_that_people_name_it(text: str, expected: Resource) -> None:
    assert ALL.resolve(text) == expected


def test_an_unknown_kind_is_refused_with_near_names() -> None:
    with pytest.raises(UnknownKind, match="did you mean deployment") as caught:
        ALL.resolve("deploymnet")
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("text", ["", "  ", ".", "/", "a/b/c/d", "pods.", ".apps", "v1/"])
def test_nonsense_is_an_unknown_kind(text: str) -> None:
    with pytest.raises(UnknownKind):
        ALL.resolve(text)


def test_a_kind_that_may_live_in_an_unreadable_group_is_not_called_unknown() -> None:
    partly = Discovery(resources=(POD,), gaps=(Gap(group="shop.example", version="v1", why="no endpoints"),))
    with pytest.raises(KindUnreadable, match=r"shop\.example/v1 could not.*no endpoints"):
        partly.resolve("widgets")
    assert partly.resolve("pods") == POD
    assert partly.unreadable("shop.example") is not None
    assert partly.unreadable("apps") is None


def test_each_kind_is_preferred_once_in_the_servers_version() -> None:
    assert list(ALL.preferred()) == [POD_METRICS, POD, DEPLOYMENT, WIDGET_V2]


def test_an_owner_reference_finds_its_kind_by_exact_group_and_kind() -> None:
    assert ALL.find("shop.example", "Widget") == WIDGET_V2
    assert ALL.find("shop.example", "Widget", "v1") == WIDGET_V1
    assert ALL.find("", "Widget") is None
