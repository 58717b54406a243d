"""Kept objects hold what would take them along, also when there are thousands of them."""

from __future__ import annotations

import time

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skoupa.controller.keeping.kept import KeptIndex
from skoupa.facts.rows import Row
from skoupa.facts.store import Delta
from skoupa.judge.cascade import Blind, CascadeGuard, waived
from skoupa.judge.owning import might_own
from skoupa.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES, Resource
from skoupa.model.reasons import REASONS, reason
from skoupa.model.verdicts import Claim
from tests.unit.judge.rows import CREATED, owner_of, row

pytestmark = pytest.mark.unit

WIDGETS = Resource(group="shop.example", version="v1", plural="widgets", kind="Widget", namespaced=True)
CLAIM = Claim(mechanism="ttl", rule="x", due=0.0, reason=reason("ttl-date", key="k", value="v"))


def guard(kept: KeptIndex, *blind: Blind) -> CascadeGuard:
    return CascadeGuard(kept=kept.around, blind=lambda: blind)


def index(*rows: Row) -> KeptIndex:
    kept = KeptIndex()
    kept.learn([Delta(None, one) for one in rows])
    return kept


def codes(asked: CascadeGuard, about: Row) -> list[str]:
    return [hold.reason.code for hold in asked.holds(about, CLAIM, CREATED)]


def test_a_kept_object_holds_its_namespace_and_its_definition_and_nothing_else() -> None:
    asked = guard(index(row("deed", keep="true", resource=WIDGETS)))
    assert codes(asked, row("shop", resource=NAMESPACES)) == ["keeps-inside"]
    assert codes(asked, row("widgets.shop.example", resource=CUSTOM_RESOURCE_DEFINITIONS)) == ["keeps-inside"]
    assert codes(asked, row("other", resource=NAMESPACES)) == []
    assert codes(asked, row("gears.shop.example", resource=CUSTOM_RESOURCE_DEFINITIONS)) == []
    assert codes(asked, row("web")) == []


def test_an_object_whose_owners_are_not_known_yet_holds_all_that_could_be_one() -> None:
    parent = row("parent")
    asked = guard(index(row("deed", keep="true", owners=(owner_of(parent),))))
    assert codes(asked, row("bystander")) == ["owners-unread"]
    assert codes(asked, row("anywhere", resource=NAMESPACES)) == ["owners-unread"]
    assert codes(asked, row("elsewhere", namespace="other")) == []


def test_keeping_that_is_over_holds_nothing() -> None:
    asked = guard(index(row("deed", keep="2025-12-31"), row("other", keep="false")))
    assert codes(asked, row("shop", resource=NAMESPACES)) == []


def test_a_kind_that_may_not_be_read_holds_namespaces_and_definitions_only() -> None:
    asked = guard(KeptIndex(), Blind(resource=WIDGETS, why="no permission"))
    assert codes(asked, row("shop", resource=NAMESPACES)) == ["keeps-unknown"]
    for name in ("widgets.shop.example", "gears.shop.example"):
        # A gear may own a widget.
        assert codes(asked, row(name, resource=CUSTOM_RESOURCE_DEFINITIONS)) == ["keeps-unknown"]
    assert codes(asked, row("web")) == []


def test_a_kind_that_may_be_read_and_is_not_holds_all_that_could_own_one() -> None:
    tenants = msgspec.structs.replace(WIDGETS, plural="tenants", kind="Tenant", namespaced=False)
    asked = guard(KeptIndex(), Blind(resource=WIDGETS, why="it fails", granted=True))
    assert codes(asked, row("web")) == ["keeps-behind"], "told with the kind, once for all that it concerns"
    assert codes(asked, row("acme", resource=tenants)) == ["keeps-unknown"], "a custom kind owns as a rule"
    orphaning = msgspec.structs.replace(CLAIM, propagation="Orphan")
    assert not list(asked.holds(row("web"), orphaning, CREATED))
    asked = guard(KeptIndex(), Blind(resource=tenants, why="it fails", granted=True))
    assert codes(asked, row("web")) == [], "what lives in a namespace owns nothing that lives in none"


def test_a_kind_whose_feed_is_behind_holds_in_silence_and_one_that_is_unread_aloud() -> None:
    behind = Blind(resource=WIDGETS, why="cut", behind=True)
    gears = msgspec.structs.replace(WIDGETS, plural="gears", kind="Gear")
    asked = guard(KeptIndex(), behind, Blind(resource=gears, why="no permission"))
    assert codes(asked, row("shop", resource=NAMESPACES)) == ["keeps-unknown", "keeps-behind"]
    assert REASONS["keeps-behind"].passing


def kind(name: str) -> Resource:
    plural, _, group = name.partition(".")
    return Resource(group=group, version="v1", plural=plural, kind=plural, namespaced=True)


@pytest.mark.parametrize(
    ("owner", "owned", "might"),
    [
        ("deployments.apps", "pods", True),
        ("deployments.apps", "persistentvolumeclaims", True),
        ("cronjobs.batch", "persistentvolumeclaims", True),
        ("jobs.batch", "resourceclaims.resource.k8s.io", True),
        ("replicasets.apps", "replicasets.apps", False),
        ("configmaps", "secrets", False),
        ("serviceaccounts", "secrets", True),
        ("ingresses.networking.k8s.io", "secrets", False),
        ("gateways.gateway.networking.k8s.io", "deployments.apps", True),
        ("widgets.shop.example", "secrets", True),
    ],
)
def test_what_a_kind_takes_along_is_known_all_the_way_down(owner: str, owned: str, *, might: bool) -> None:
    assert might_own(kind(owner), kind(owned)) is might


def test_what_was_seen_kept_holds_until_it_is_seen_again() -> None:
    deed, other = row("deed", keep="true", resource=WIDGETS), row("other", keep="true", resource=WIDGETS)
    kept = index(deed, other)
    place = (WIDGETS.qualified, "")
    kept.retain(place)
    kept.learn([Delta(deed, None), Delta(other, None)])
    assert len(kept) == 2
    assert kept.release(place, seen={deed.uid: deed}.get)
    assert [found.row for found in kept] == [deed]
    kept.learn([Delta(deed, None)])
    assert len(kept) == 0


@pytest.mark.parametrize(
    ("ignore", "expected"),
    [((), False), (("widgets.shop.example",), True), (("*.shop.example",), True), (("*.example",), False)],
)
def test_kinds_and_whole_groups_can_be_waived(ignore: tuple[str, ...], *, expected: bool) -> None:
    assert waived(WIDGETS, ignore) is expected


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["true", "false", None])), max_size=30))
def test_the_index_knows_what_is_kept_now_whatever_happened_before(
    steps: list[tuple[str, str | None]],
) -> None:
    kept, known = KeptIndex(), dict[str, Row]()
    for name, keep in steps:
        before = known.get(name)
        after = row(name, "1h", keep=keep) if keep is not None else None
        if before is None and after is None:
            continue
        kept.learn([Delta(before, after)])
        known.pop(name, None)
        if after is not None:
            known[name] = after
    assert {one.row.name for one in kept} == set(known)
    around = {one.row.name for one in kept.around(row("shop", resource=NAMESPACES))}
    assert around == set(known)


def test_thousands_of_kept_objects_do_not_slow_down_a_judgement() -> None:
    asked = guard(index(*(row(f"deed-{number}", keep="true") for number in range(20_000))))
    started = time.thread_time()
    for number in range(1000):
        assert codes(asked, row(f"web-{number}")) == []
    assert time.thread_time() - started < 1.0
