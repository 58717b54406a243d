"""resourceFilters of Kyverno's ConfigMap: what Kyverno leaves alone, our policies leave alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skoupa.kube.objects import Metadata
from skoupa.policy.kyverno_filters import left_alone, parse_filters
from tests.unit.policy.world import kind

pytestmark = pytest.mark.unit

# The shape of what Kyverno's chart writes.
SHIPPED = (
    "[Event,*,*] [*/*,kube-system,*] [Node,*,*] [Node/?*,*,*] [Binding,*,*] [Pod/binding,*,*] [ReplicaSet,*,*] "
    "[ReplicaSet/?*,*,*] [ConfigMap,kyverno,kyverno] [Pod/?*,kyverno,kyverno-cleanup-controller-*]"
)


@pytest.mark.parametrize(
    ("what", "namespace", "name", "entry"),
    [
        ("Event", "shop", "a", "[Event,*,*]"),
        ("ConfigMap", "kube-system", "a", "[*/*,kube-system,*]"),
        ("Namespace", "", "kube-system", "[*/*,kube-system,*]"),
        ("Namespace", "", "shop", ""),
        ("Node", "", "one", "[Node,*,*]"),
        ("ReplicaSet", "shop", "web", "[ReplicaSet,*,*]"),
        ("Pod", "shop", "web", ""),
        ("Pod", "kyverno", "kyverno-cleanup-controller-1", "[Pod/?*,kyverno,kyverno-cleanup-controller-*]"),
        ("ConfigMap", "kyverno", "kyverno", "[ConfigMap,kyverno,kyverno]"),
        ("ConfigMap", "kyverno", "other", ""),
        ("Deployment", "shop", "web", ""),
    ],
)
def test_what_kyverno_leaves_alone_is_left_alone(what: str, namespace: str, name: str, entry: str) -> None:
    read = parse_filters(SHIPPED)
    assert read.unread == ()
    assert left_alone(read.filters, kind(what), Metadata(name=name, namespace=namespace)) == entry


@pytest.mark.parametrize(
    ("text", "held"),
    [
        ("[Pod]", True),
        ("[Pod,shop]", True),
        ("[Pod,,]", True),
        ("[Pod,other]", False),
        ("[v1/Pod,shop,w?b]", True),
        ("[apps/v1/Deployment]", False),
        ("[*,shop,*][x", True),
        ("", False),
        ("no brackets", False),
    ],
)
def test_a_part_that_is_missing_means_all(text: str, *, held: bool) -> None:
    pod = Metadata(name="web", namespace="shop")
    assert bool(left_alone(parse_filters(text).filters, kind("Pod"), pod)) == held


def test_an_entry_that_can_not_be_read_is_told() -> None:
    read = parse_filters("[Pod,a,b,c] [,a] [Secret,*,*]")
    assert read.unread == ('"[Pod,a,b,c]" is no [Kind,namespace,name]', '"[,a]" is no [Kind,namespace,name]')
    assert [one.text for one in read.filters] == ["[Secret,*,*]"]


@given(st.text(max_size=80) | st.text(alphabet="[],*?/aP ", max_size=40))
def test_no_text_makes_it_fail(text: str) -> None:
    left_alone(parse_filters(text).filters, kind("Pod"), Metadata(name="web", namespace="shop"))
