"""Kept objects hold what would take them along, also when there are thousands of them."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skoupa.controller.kept import KeptIndex
from skoupa.facts.rows import Row
from skoupa.facts.store import Delta
from skoupa.judge.cascade import Blind, CascadeGuard, waived
from skoupa.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES, Resource
from skoupa.model.reasons import reason
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


def test_a_kind_that_can_not_be_read_holds_namespaces_and_its_definition_only() -> None:
    asked = guard(KeptIndex(), Blind(resource=WIDGETS, why="no permission"))
    assert codes(asked, row("shop", resource=NAMESPACES)) == ["keeps-unknown"]
    assert codes(asked, row("widgets.shop.example", resource=CUSTOM_RESOURCE_DEFINITIONS)) == [
        "keeps-unknown"
    ]
    assert codes(asked, row("gears.shop.example", resource=CUSTOM_RESOURCE_DEFINITIONS)) == []
    assert codes(asked, row("web")) == []


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
    started = time.perf_counter()
    for number in range(1000):
        assert codes(asked, row(f"web-{number}")) == []
    assert time.perf_counter() - started < 1.0
