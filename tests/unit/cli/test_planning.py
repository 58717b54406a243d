"""The plan of who may not read or delete everything: gaps are told, and never look like "there is nothing"."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from skoupa.cli.looking.planning import MOST_WEIGHED, Plan, Wishes, make_plan
from skoupa.cli.terminal.items import Document
from skoupa.cli.worlds import World
from skoupa.errors import Forbidden, KindUnreadable
from skoupa.settings import Settings
from skoupa.sim.cluster import EmbeddedCluster
from skoupa.sim.state.access import Rule
from tests.unit.cli.worlds import KEEP, TTL, config_map, granting, looking, obj

pytestmark = pytest.mark.unit


def planning(
    *objects: dict[str, Any],
    namespace: str = "",
    kinds: tuple[str, ...] = (),
    user: str = "",
    settings: Settings | None = None,
    prepare: Any = lambda _: None,
) -> Plan:
    async def work(world: World, _: EmbeddedCluster) -> Plan:
        return await make_plan(
            world,
            settings=settings or Settings(),
            wishes=Wishes(kinds=kinds, namespace=namespace),
            window=lambda _: None,
            progress=lambda _: None,
        )

    return looking(work, *objects, user=user, prepare=prepare)


def told(plan: Plan) -> Document:
    return plan.document("Plan")


def codes(plan: Plan, name: str) -> list[str]:
    [item] = [item for item in told(plan).items if item.name == name]
    return [hold.reason.code for hold in item.holds]


def test_a_kind_that_may_not_be_read_is_a_gap() -> None:
    plan = planning(
        config_map("a", "1h"),
        obj("Secret", "b", namespace="shop", labels={TTL: "1h"}),
        prepare=lambda cluster: cluster.deny(verbs=("list",), resources=("secrets",)),
    )
    assert [item.name for item in told(plan).items] == ["a"]
    [gap] = told(plan).gaps
    assert gap.what == "secrets"
    assert "forbidden" in gap.why


def test_a_list_that_breaks_off_half_way_shows_nothing_of_that_kind() -> None:
    many = [config_map(f"many-{number}", "1h") for number in range(600)]

    def second_page_fails(cluster: EmbeddedCluster) -> None:
        def is_second_page(request: Any) -> bool:
            return request.path.endswith("/configmaps") and any(key == "continue" for key, _ in request.query)

        cluster.faults.answer(500, when=is_second_page)

    plan = planning(*many, config_map("other", "1h"), prepare=second_page_fails)
    assert told(plan).items == ()
    assert [gap.what for gap in told(plan).gaps] == ["configmaps"]


def test_who_may_read_nothing_gets_the_refusal_and_no_empty_plan() -> None:
    with pytest.raises(Forbidden):
        planning(config_map("a", "1h"), user="bob", prepare=granting())


def test_who_may_read_one_namespace_is_told_to_ask_for_that_one() -> None:
    inside = Rule(verbs=("list", "delete"), resources=("*",), namespaces=("shop",))
    with pytest.raises(Forbidden, match="look into one namespace with -n NAMESPACE"):
        planning(config_map("a", "1h"), user="bob", prepare=granting(inside))


def test_who_asks_as_somebody_is_not_told_to_do_so() -> None:
    async def work(world: World, _: EmbeddedCluster) -> Plan:
        return await make_plan(
            msgspec.structs.replace(world, as_user="bob"),
            settings=Settings(),
            wishes=Wishes(),
            window=lambda _: None,
            progress=lambda _: None,
        )

    reading = granting(Rule(verbs=("list", "get"), resources=("*",)))
    plan = looking(work, config_map("a", "1h"), user="bob", prepare=reading)
    assert "bob may not delete 1 of them" in told(plan).warnings


def state_of(**values: str) -> dict[str, Any]:
    return config_map("skoupa-state", namespace="skoupa", data=values)


def test_a_backlog_that_the_controller_holds_is_told_with_what_lets_it_go() -> None:
    old = [config_map(f"old-{number}", "10m") for number in range(101)]
    [warning] = told(planning(*old, state_of())).warnings
    assert warning.startswith("101 objects here are overdue by more than an hour")
    assert "`skoupa run --enforce --accept-backlog`" in warning
    assert told(planning(*old, state_of(firstSweep="1777000000"))).warnings == ()
    assert told(planning(*old[:100], state_of())).warnings == ()
    [warning] = told(planning(state_of(firstStartHeld="[1777000000.5, 340]"))).warnings
    assert warning.startswith("340 objects were overdue when Skoupa first looked at this cluster")
    later = '[{"kind": "secrets", "namespace": "", "before": 1777000000.5, "count": 120}]'
    swept = state_of(firstSweep="1777000000", firstReadingsHeld=later)
    [warning] = told(planning(swept)).warnings
    assert warning.startswith("120 objects were overdue when Skoupa first looked at secrets")


def test_labels_on_very_many_that_the_controller_holds_are_told() -> None:
    masses = '[{"start": 1777600000, "end": 1777600100, "count": 77, "brake": "mass-labels-1777600000"}]'
    [warning] = told(planning(state_of(firstSweep="1777000000", massLabellings=masses))).warnings
    assert "the controller holds 77 objects that became overdue together" in warning
    accepted = state_of(firstSweep="1777000000", massLabellings=masses, backlogAccepted="1777600200")
    assert told(planning(accepted)).warnings == ()


def test_rights_in_one_namespace_are_enough_for_a_plan_of_it() -> None:
    everything = Rule(verbs=("list", "delete"), resources=("*",), namespaces=("shop",))
    plan = planning(
        config_map("a", "1h"),
        config_map("b", "1h", namespace="other"),
        namespace="shop",
        user="bob",
        prepare=granting(everything),
    )
    assert [(item.name, item.holds) for item in told(plan).items] == [("a", ())]
    assert told(plan).gaps == ()
    [doubt] = told(plan).warnings
    assert "whether the Namespace shop is kept" in doubt


def test_a_cluster_is_asked_for_labelled_objects_only_and_those_are_remarked_upon() -> None:
    plan = planning(
        config_map("unseen", annotations={TTL: "1h"}),
        config_map("kept", labels={KEEP: "true"}, annotations={TTL: "1h"}),
    )
    assert [(item.name, item.notes[0].code) for item in told(plan).remarks] == [("kept", "ttl-annotation")]


def test_a_keep_label_that_was_probably_meant_otherwise_is_remarked_upon_with_and_without_a_ttl() -> None:
    plan = planning(config_map("timed", "1h", labels={KEEP: "off"}), config_map("kept", labels={KEEP: "1h"}))
    assert [(item.name, item.notes[0].code) for item in told(plan).remarks] == [("kept", "keep-unclear")]
    [timed] = told(plan).items
    assert [note.code for note in timed.notes] == ["keep-unclear"]
    assert [hold.reason.code for hold in timed.holds] == ["kept"]


def test_a_kind_alone_has_no_gap_when_others_may_not_be_read() -> None:
    config_maps = Rule(verbs=("list", "delete"), resources=("configmaps",), namespaces=("shop",))
    plan = planning(
        config_map("a", "1h"), kinds=("cm",), namespace="shop", user="bob", prepare=granting(config_maps)
    )
    assert [item.name for item in told(plan).items] == ["a"]
    assert told(plan).gaps == ()


def test_what_may_not_be_deleted_is_held_in_that_namespace_granting() -> None:
    plan = planning(
        config_map("mine", "1h"),
        config_map("theirs", "1h", namespace="other"),
        user="bob",
        prepare=granting(
            Rule(verbs=("list", "get"), resources=("*",)),
            Rule(verbs=("delete",), resources=("configmaps",), namespaces=("shop",)),
        ),
    )
    assert codes(plan, "mine") == []
    assert codes(plan, "theirs") == ["no-permission"]
    assert any("--as system:serviceaccount:skoupa:skoupa" in warning for warning in told(plan).warnings)


def test_a_group_that_does_not_answer_is_a_gap_and_its_kinds_are_not_called_unknown() -> None:
    def stale(cluster: EmbeddedCluster) -> None:
        cluster.discovery.stale.add("autoscaling")

    plan = planning(config_map("a", "1h"), prepare=stale)
    assert any("autoscaling" in gap.what for gap in told(plan).gaps)
    with pytest.raises(KindUnreadable):
        planning(config_map("a", "1h"), kinds=("hpa",), prepare=stale)


def test_a_namespace_is_held_while_kept_objects_inside_it_may_be_unseen() -> None:
    plan = planning(
        obj("Namespace", "shop", labels={TTL: "1h"}),
        prepare=lambda cluster: cluster.deny(verbs=("list",), resources=("secrets",)),
    )
    assert codes(plan, "shop") == ["keeps-unknown"]
    [item] = told(plan).items
    assert item.takes_along
    assert list(item.takes_along.uncounted) == ["secrets"]


def test_a_namespace_that_is_kept_keeps_what_is_in_it_also_in_a_plan_of_it_alone() -> None:
    objects = (obj("Namespace", "shop", labels={KEEP: "true"}), config_map("a", "1h"))
    for namespace in ("", "shop"):
        assert codes(planning(*objects, namespace=namespace), "a") == ["namespace-kept"]


def test_a_kept_object_holds_its_owners_whichever_kinds_were_asked_for() -> None:
    uid = "aaaaaaaa-0000-0000-0000-000000000001"
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": uid, "controller": True}
    plan = planning(
        obj("Deployment", "web", api="apps/v1", namespace="shop", uid=uid, labels={TTL: "1h"}),
        obj("ReplicaSet", "web-1", api="apps/v1", namespace="shop", owners=[owner], labels={KEEP: "true"}),
        kinds=("deployments",),
        namespace="shop",
    )
    assert codes(plan, "web") == ["keeps-inside"]


def test_data_that_may_go_is_said_where_volumes_can_not_be_read() -> None:
    plan = planning(
        obj("PersistentVolumeClaim", "data", namespace="shop", labels={TTL: "1h"}),
        prepare=lambda cluster: cluster.deny(verbs=("list",), resources=("persistentvolumes",)),
    )
    [item] = told(plan).items
    assert [note.code for note in item.notes] == ["data-unknown"]


def test_counting_is_limited_and_the_limit_is_told() -> None:
    many = [obj("Namespace", f"team-{number:03}", labels={TTL: "1h"}) for number in range(MOST_WEIGHED + 3)]
    plan = planning(*many)
    assert sum(bool(item.takes_along) for item in told(plan).items) == MOST_WEIGHED
    assert any(f"first {MOST_WEIGHED} of {MOST_WEIGHED + 3}" in warning for warning in told(plan).warnings)


def test_a_clock_that_is_off_here_is_told_and_the_servers_time_counts() -> None:
    async def work(world: World, _: EmbeddedCluster) -> Plan:
        ahead = World(client=world.client, namespace="", skew=lambda: 7200.0)
        return await make_plan(
            ahead,
            settings=Settings(),
            wishes=Wishes(),
            window=lambda _: None,
            progress=lambda _: None,
        )

    plan = looking(work, config_map("a", "3h"))
    assert told(plan).now == "2026-05-01T14:00:00Z"
    assert any("+7200 s" in warning for warning in told(plan).warnings)
    [item] = told(plan).items
    assert item.holds == ()


def test_rights_that_can_not_be_asked_for_are_a_doubt_and_no_obstacle() -> None:
    plan = planning(
        config_map("a", "1h"),
        user="bob",
        prepare=lambda cluster: cluster.allow_only("bob", [Rule(verbs=("list", "get"), resources=("*",))]),
    )
    assert codes(plan, "a") == []
    assert any("what you may delete is not known" in warning for warning in told(plan).warnings)
