"""The scales: which runs of a rule are too much, by the numbers alone."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skoupa.facts.rows import Uid, pack_uid
from skoupa.judge.mechanism import Run
from skoupa.kube.kinds import Discovery
from skoupa.kube.resources import CONFIG_MAPS, Resource
from skoupa.settings import BrakeSettings
from skoupa.sim.clock import VirtualClock, run
from skoupa.sweep.allowances import Grant
from skoupa.sweep.ceilings import Ceiling, Ceilings, Going
from skoupa.sweep.tripping import Tripped
from skoupa.sweep.weighing import Load, Part, Scales

pytestmark = pytest.mark.unit

RULE = "ClusterCleanupPolicy/old"
CLAIMS = Resource(
    version="v1",
    plural="persistentvolumeclaims",
    singular="persistentvolumeclaim",
    short_names=("pvc",),
    kind="PersistentVolumeClaim",
    namespaced=True,
)
SETS = Resource(
    group="apps",
    version="v1",
    plural="statefulsets",
    kind="StatefulSet",
    short_names=("sts",),
    namespaced=True,
)
KINDS = (CONFIG_MAPS, CLAIMS, SETS)


def uid(number: int) -> Uid:
    return pack_uid(f"00000000-0000-0000-0000-{number:012}")


def parts(count: int, kind: str = "configmaps", **more: Any) -> list[Part]:
    return [Part(kind=kind, namespace="shop", **more) for _ in range(count)]


def weigh(
    claimed: list[Part],
    *,
    gone: list[Part] | None = None,
    totals: dict[str, int] | None = None,
    largest: int | None = None,
    most: int | None = None,
    ceilings: tuple[Ceiling, ...] = (),
    before: int = 0,
    allowed: int = 0,
    allowed_kind: str = "configmaps",
    allowed_edition: str = "one:1",
    **settings: Any,
) -> Tripped | None:
    async def main(clock: VirtualClock) -> Tripped | None:
        bounds = Ceilings(clock, ceilings)
        for _ in range(before):
            bounds.reserve(Going(namespace="shop", rule="another"))
        if allowed:
            bounds.grant(
                Grant(
                    span="rule",
                    name=RULE,
                    kind=allowed_kind,
                    edition=allowed_edition,
                    number=allowed,
                    at=0.0,
                    until=math.inf,
                )
            )
        named = Run(mechanism="policies", rule=RULE, name="1", most=most, uid="one", generation=1)
        load = Load(
            run=named,
            claimed={uid(number): part for number, part in enumerate(claimed)},
            gone=tuple(gone or ()),
        )
        scales = Scales(BrakeSettings(**settings), bounds, discovery=lambda: Discovery(resources=KINDS))
        known = totals or {}
        there = {kind: known.get(kind, 10**6) for kind in scales.doubtful(load)}
        return scales.weigh(load, totals=there, largest=largest)

    return run(main)


@pytest.mark.parametrize(
    ("claimed", "total", "stopped"),
    [(20, 20, False), (21, 21, True), (30, 100, False), (31, 100, True), (21, 70, False), (21, 69, True)],
)
def test_a_share_is_too_large_over_twenty_objects_and_thirty_percent(
    claimed: int, total: int, *, stopped: bool
) -> None:
    assert (weigh(parts(claimed), totals={"configmaps": total}) is not None) is stopped


def test_the_share_counts_what_went_before_on_both_sides() -> None:
    assert weigh(parts(10), gone=parts(20), totals={"configmaps": 80}) is None
    found = weigh(parts(11), gone=parts(20), totals={"configmaps": 80})
    assert found is not None
    assert "claims 31 of all 100 configmaps (31 %)" in found.by
    assert "20 went before" in found.by


def test_a_run_is_over_the_maximum_with_what_it_takes_along() -> None:
    along = (("pods", 1000),)
    assert weigh(parts(1, "widgets", along=along), max_per_run=1001) is None
    found = weigh(parts(1, "widgets", along=along), max_per_run=1000)
    assert found is not None
    assert found.span == "max-per-run"


def test_parents_are_counted_by_kind() -> None:
    assert weigh([*parts(3, "namespaces"), *parts(3, "persistentvolumeclaims")]) is None
    found = weigh(parts(4, "persistentvolumeclaims"))
    assert found is not None
    assert found.span == "parents"


@pytest.mark.parametrize(
    ("kind", "written"),
    [
        *(
            (CLAIMS, text)
            for text in ("PersistentVolumeClaim", "persistentvolumeclaim", "pvc", "v1/PersistentVolumeClaim")
        ),
        *(
            (SETS, text)
            for text in (
                "StatefulSet",
                "sts",
                "apps/v1/StatefulSet",
                "statefulsets.apps",
                "statefulsets.v1.apps",
            )
        ),
    ],
)
def test_parents_are_named_as_people_name_kinds(kind: Resource, written: str) -> None:
    assert weigh(parts(3, kind.qualified), parents=(written,)) is None
    found = weigh(parts(4, kind.qualified), parents=(written, kind.qualified))
    assert found is not None
    assert f"claims 4 {kind.qualified}, which hold data" in found.by
    assert weigh(parts(4), parents=(written,)) is None


def test_a_parent_that_the_server_does_not_tell_of_counts_by_the_name_that_it_would_have() -> None:
    assert weigh(parts(4, "clusters.cluster.x-k8s.io")) is not None


def test_parents_that_go_along_count_as_if_they_were_claimed_themselves() -> None:
    few = parts(3, "namespaces", along=(("persistentvolumeclaims", 1),))
    assert weigh(few) is None
    found = weigh(parts(3, "namespaces", along=(("persistentvolumeclaims", 100),)))
    assert found is not None
    assert found.span == "parents"
    assert "claims 300 persistentvolumeclaims with what goes along" in found.by
    assert weigh([*few, *parts(1, "persistentvolumeclaims")]) is not None


@pytest.mark.parametrize(
    ("claimed", "largest", "stopped"),
    [(51, None, False), (50, 0, False), (51, 0, True), (100, 10, False), (101, 10, True)],
)
def test_a_surge_is_more_than_fifty_and_ten_times_the_largest_run(
    claimed: int, largest: int | None, *, stopped: bool
) -> None:
    assert (weigh(parts(claimed), largest=largest) is not None) is stopped


def test_a_ceiling_needs_room_for_all_of_it_at_once() -> None:
    shop = Ceiling(span="namespace", seconds=60, most=30)
    assert weigh(parts(20), ceilings=(shop,), before=10) is None
    found = weigh(parts(21), ceilings=(shop,), before=10)
    assert found is not None
    assert found.spec.scope.policy == RULE
    assert "brakes.namespacePerMinute" in found.by


def test_an_allowance_lets_as_much_pass_as_was_released_and_not_one_more() -> None:
    everything: dict[str, Any] = {"totals": {"configmaps": 50}, "largest": 0, "max_per_run": 10}
    assert weigh(parts(50), allowed=50, **everything) is None
    assert weigh(parts(51), allowed=50, **everything) is not None


def test_an_allowance_is_for_the_kinds_that_were_held_and_for_the_rule_as_it_was() -> None:
    assert weigh(parts(6, "namespaces"), allowed=50) is not None
    assert weigh(parts(6, "namespaces"), allowed=6, allowed_kind="namespaces") is None
    assert weigh([*parts(6, "namespaces"), *parts(1)], allowed=50, allowed_kind="namespaces") is not None
    for edition in ("", "one:2", "another:1"):
        assert weigh(parts(50), allowed=50, allowed_edition=edition, max_per_run=10) is not None


def test_what_went_along_and_is_of_no_known_kind_weighs_but_is_no_share_of_anything() -> None:
    assert weigh(parts(1, "namespaces"), gone=parts(1, "namespaces", unnamed=26)) is None
    found = weigh(parts(1, "namespaces"), gone=parts(1, "namespaces", unnamed=26), max_per_run=27)
    assert found is not None
    assert "claims 28 objects in one run" in found.by


@given(
    claimed=st.lists(st.sampled_from(["configmaps", "pods", "namespaces"]), max_size=60),
    totals=st.fixed_dictionaries(
        {kind: st.integers(0, 300) for kind in ("configmaps", "pods", "namespaces")}
    ),
    largest=st.none() | st.integers(0, 10),
)
def test_what_passes_is_within_every_limit(
    claimed: list[str], totals: dict[str, int], largest: int | None
) -> None:
    found = weigh([Part(kind=kind, namespace="shop") for kind in claimed], totals=totals, largest=largest)
    if found is not None:
        assert found.by.startswith(RULE)
        assert msgspec.to_builtins(found.spec.scope) == {"policy": RULE}
        return
    assert claimed.count("namespaces") <= 3
    for kind in set(claimed):
        number = claimed.count(kind)
        assert number <= 20 or number <= 0.3 * max(number, totals[kind])
    assert len(claimed) <= 50 or largest is None or len(claimed) <= 10 * largest


def test_what_stops_a_run_says_of_which_edition_of_its_rule_and_for_how_many_objects_still_to_go() -> None:
    tripped = weigh(parts(30), gone=parts(10), totals={"configmaps": 40})
    assert tripped is not None
    assert (tripped.edition, tripped.objects, tripped.count) == ("one:1", 30, 40)
