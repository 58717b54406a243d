from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skoupa.sim.applying.apply import ApplyConflict, ApplyRefused, apply_patch, track_update
from skoupa.sim.applying.fieldsets import decode, encode, printed
from skoupa.sim.applying.owners import MAX_UPDATERS

pytestmark = pytest.mark.unit

T1, T2, T3 = (f"2026-01-0{day}T00:00:00Z" for day in (1, 2, 3))
Body = dict[str, Any]


def config_map(**fields: Any) -> Body:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "c", **fields.pop("metadata", {})},
        **fields,
    }


def deployment(*containers: Body, **spec: Any) -> Body:
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": list(containers)}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": template, **spec},
    }


def apply(live: Body | None, applied: Body, manager: str, *, force: bool = False, **more: Any) -> Body:
    return apply_patch(live, applied, manager=manager, force=force, now=more.pop("now", T1), **more)


def update(live: Body | None, after: Body, manager: str, *, now: str = T1, subresource: str = "") -> Body:
    entries = track_update(live, after, manager=manager, now=now, subresource=subresource)
    metadata = {key: value for key, value in after["metadata"].items() if key != "managedFields"}
    return {**after, "metadata": {**metadata, **({"managedFields": entries} if entries else {})}}


def changed(live: Body, **fields: Any) -> Body:
    after = copy.deepcopy(live)
    after.update(fields)
    return after


def owned(obj: Body, manager: str, operation: str = "Apply", subresource: str = "") -> set[str]:
    for entry in obj["metadata"].get("managedFields", []):
        if (entry["manager"], entry["operation"], entry.get("subresource", "")) == (
            manager,
            operation,
            subresource,
        ):
            return {printed(path) for path in decode(entry["fieldsV1"])}
    return set()


def body_of(obj: Body) -> Body:
    metadata = {key: value for key, value in obj["metadata"].items() if key != "managedFields"}
    return {**obj, "metadata": metadata}


# Creating


def test_applying_what_is_absent_makes_it_and_owns_what_was_stated() -> None:
    made = apply(
        None, config_map(data={"k": "v"}, metadata={"labels": {"a": "1"}, "finalizers": ["x.io/y"]}), "me"
    )
    assert made["metadata"]["managedFields"] == [
        {
            "manager": "me",
            "operation": "Apply",
            "apiVersion": "v1",
            "time": T1,
            "fieldsType": "FieldsV1",
            "fieldsV1": {
                "f:data": {"f:k": {}},
                "f:metadata": {"f:finalizers": {'v:"x.io/y"': {}}, "f:labels": {"f:a": {}}},
            },
        }
    ]


def test_creating_owns_the_maps_that_came_to_be_but_not_the_structs_that_are_always_there() -> None:
    web = {"name": "c", "image": "i", "ports": [{"containerPort": 80}], "resources": {"limits": {"cpu": "1"}}}
    made = update(None, deployment(web, replicas=2), "kubectl-create")
    assert made["metadata"]["managedFields"][0]["fieldsV1"] == {
        "f:spec": {
            "f:replicas": {},
            "f:selector": {},
            "f:template": {
                "f:metadata": {"f:labels": {".": {}, "f:app": {}}},
                "f:spec": {
                    "f:containers": {
                        'k:{"name":"c"}': {
                            ".": {},
                            "f:image": {},
                            "f:name": {},
                            "f:ports": {
                                ".": {},
                                'k:{"containerPort":80,"protocol":"TCP"}': {".": {}, "f:containerPort": {}},
                            },
                            "f:resources": {".": {}, "f:limits": {".": {}, "f:cpu": {}}},
                        }
                    }
                },
            },
        }
    }


def test_nothing_given_is_changed() -> None:
    live = update(None, config_map(data={"k": "v"}, metadata={"uid": "u"}), "a")
    applied = config_map(data={"l": "w"})
    before = copy.deepcopy((live, applied))
    result = apply(live, applied, "b")
    result["data"]["k"] = result["metadata"]["managedFields"] = None
    assert (live, applied) == before


# Conflicts


def test_changing_what_another_owns_is_a_conflict_in_the_words_of_the_server() -> None:
    live = update(None, config_map(data={"key": "v"}), "kubectl")
    with pytest.raises(ApplyConflict) as refused:
        apply(live, config_map(data={"key": "other"}), "me")
    assert (
        refused.value.message == 'Apply failed with 1 conflict: conflict with "kubectl" using v1: .data.key'
    )
    assert refused.value.causes == [
        {
            "reason": "FieldManagerConflict",
            "message": 'conflict with "kubectl" using v1',
            "field": ".data.key",
        }
    ]


def test_several_conflicts_are_listed_owner_by_owner() -> None:
    live = apply(None, config_map(data={"a": "1", "b": "1"}), "first")
    live = apply(live, config_map(data={"b": "1"}, metadata={"labels": {"l": "1"}}), "second")
    with pytest.raises(ApplyConflict) as refused:
        apply(live, config_map(data={"a": "2", "b": "2"}, metadata={"labels": {"l": "2"}}), "me")
    assert refused.value.message == (
        'Apply failed with 4 conflicts: conflicts with "first":\n- .data.a\n- .data.b\n'
        'conflicts with "second":\n- .data.b\n- .metadata.labels.l'
    )


def test_conflicts_name_list_items_by_their_keys_and_the_subresource_of_the_owner() -> None:
    live = apply(None, deployment({"name": "web", "image": "a"}), "first")
    status = {"status": {"conditions": [{"type": "Available", "status": "True"}]}}
    live = update(live, changed(live, **status), "controller", subresource="status")
    with pytest.raises(ApplyConflict) as refused:
        apply(live, deployment({"name": "web", "image": "b"}), "me")
    assert refused.value.causes[0]["field"] == '.spec.template.spec.containers[name="web"].image'
    again = {"conditions": [{"type": "Available", "status": "False"}]}
    with pytest.raises(ApplyConflict) as refused:
        apply(live, {**deployment(), "status": again}, "me", subresource="status")
    assert refused.value.message == (
        'Apply failed with 1 conflict: conflict with "controller" with subresource "status" using apps/v1: '
        '.status.conditions[type="Available"].status'
    )


def test_force_takes_what_another_owns() -> None:
    live = update(None, config_map(data={"a": "1", "b": "1"}), "kubectl")
    live = apply(live, config_map(data={"a": "2"}), "me", force=True)
    assert live["data"] == {"a": "2", "b": "1"}
    assert owned(live, "kubectl", "Update") == {".data", ".data.b"}
    assert owned(live, "me") == {".data.a"}


def test_the_same_value_is_shared_and_not_a_conflict() -> None:
    live = apply(None, config_map(data={"k": "v"}), "a")
    live = apply(live, config_map(data={"k": "v"}), "b")
    assert owned(live, "a") == owned(live, "b") == {".data.k"}


# Removing


def test_what_is_stated_no_more_goes() -> None:
    live = apply(None, config_map(data={"a": "1", "b": "1"}, metadata={"labels": {"l": "1"}}), "me")
    live = apply(live, config_map(data={"a": "1"}), "me")
    assert body_of(live) == config_map(data={"a": "1"})
    assert owned(live, "me") == {".data.a"}


def test_what_another_owns_as_well_stays() -> None:
    live = apply(None, config_map(data={"a": "1", "b": "1"}), "me")
    live = apply(live, config_map(data={"b": "1"}), "you")
    live = apply(live, config_map(data={"a": "1"}), "me")
    assert live["data"] == {"a": "1", "b": "1"}
    live = apply(live, config_map(), "you")
    assert live["data"] == {"a": "1"}
    assert owned(live, "you") == set()


def test_what_an_updater_wrote_stays_when_an_applier_lets_it_go() -> None:
    live = apply(None, config_map(data={"a": "1"}), "me")
    live = update(live, changed(live, data={"a": "2", "b": "1"}), "editor")
    live = apply(live, config_map(), "me")
    assert live["data"] == {"a": "2", "b": "1"}


def test_an_update_takes_what_it_changes_and_forgets_what_it_removes() -> None:
    live = apply(None, config_map(data={"a": "1", "b": "1", "c": "1"}), "me")
    live = update(live, changed(live, data={"a": "2", "b": "1"}), "editor", now=T2)
    assert owned(live, "me") == {".data.b"}
    assert owned(live, "editor", "Update") == {".data.a"}
    assert [entry["time"] for entry in live["metadata"]["managedFields"]] == [T1, T2]


# Lists


def test_containers_are_merged_by_name_in_the_order_applied() -> None:
    live = update(None, deployment({"name": "a", "image": "1"}, {"name": "side", "image": "1"}), "kubectl")
    live = apply(live, deployment({"name": "b", "image": "1"}, {"name": "a", "args": ["x"]}), "me")
    assert live["spec"]["template"]["spec"]["containers"] == [
        {"name": "b", "image": "1"},
        {"name": "a", "image": "1", "args": ["x"]},
        {"name": "side", "image": "1"},
    ]


def test_a_list_item_that_is_stated_no_more_goes() -> None:
    live = apply(None, deployment({"name": "a", "image": "1"}, {"name": "b", "image": "1"}), "me")
    live = apply(live, deployment({"name": "a", "image": "1"}), "me")
    assert [c["name"] for c in live["spec"]["template"]["spec"]["containers"]] == ["a"]


def test_ports_without_a_protocol_are_those_with_tcp() -> None:
    live = update(
        None, deployment({"name": "a", "ports": [{"containerPort": 80, "protocol": "TCP"}]}), "kubectl"
    )
    live = apply(live, deployment({"name": "a", "ports": [{"containerPort": 80, "name": "http"}]}), "me")
    assert live["spec"]["template"]["spec"]["containers"][0]["ports"] == [
        {"containerPort": 80, "protocol": "TCP", "name": "http"}
    ]


def test_finalizers_are_a_set_and_owner_references_go_by_uid() -> None:
    one = {"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "1"}
    live = apply(None, config_map(metadata={"finalizers": ["a/a"], "ownerReferences": [one]}), "a")
    live = apply(
        live, config_map(metadata={"finalizers": ["b/b"], "ownerReferences": [{**one, "uid": "2"}]}), "b"
    )
    assert live["metadata"]["finalizers"] == ["a/a", "b/b"]
    assert [owner["uid"] for owner in live["metadata"]["ownerReferences"]] == ["1", "2"]
    assert owned(live, "b") == {'.metadata.finalizers[="b/b"]', '.metadata.ownerReferences[uid="2"]'}
    live = apply(live, config_map(), "b")
    assert live["metadata"]["finalizers"] == ["a/a"]


def test_other_lists_and_selectors_are_replaced_as_one() -> None:
    live = apply(None, deployment({"name": "a", "args": ["x", "y"]}), "me")
    live = apply(live, deployment({"name": "a", "args": ["z"]}), "me")
    assert live["spec"]["template"]["spec"]["containers"][0]["args"] == ["z"]
    other = deployment({"name": "a", "args": ["z"]}, selector={"matchLabels": {"app": "web", "more": "x"}})
    with pytest.raises(ApplyConflict, match=r": \.spec\.selector$"):
        apply(live, other, "you")


def test_items_that_share_a_key_are_owned_together_and_replaced_by_an_applied_one() -> None:
    twice = [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]
    live = update(None, deployment({"name": "a", "env": twice}), "kubectl")
    live = apply(live, deployment({"name": "a", "env": [{"name": "A", "value": "3"}]}), "me", force=True)
    assert live["spec"]["template"]["spec"]["containers"][0]["env"] == [{"name": "A", "value": "3"}]


def test_applied_items_that_share_a_key_are_refused() -> None:
    with pytest.raises(ApplyRefused) as refused:
        apply(None, config_map(metadata={"finalizers": ["a/a", "a/a"]}), "me")
    assert refused.value.code == 500
    assert refused.value.message == (
        "failed to create typed patch object (/c; /v1, Kind=ConfigMap): "
        '.metadata.finalizers: duplicate entries for key [="a/a"]'
    )


# Status, time and bookkeeping


def test_the_status_subresource_has_owners_of_its_own_and_writes_nothing_else() -> None:
    live = apply(None, deployment({"name": "a"}), "me")
    live = apply(live, {**deployment(replicas=9), "status": {"replicas": 1}}, "me", subresource="status")
    assert live["status"] == {"replicas": 1}
    assert "replicas" not in live["spec"]
    assert owned(live, "me", subresource="status") == {".status.replicas"}
    assert ".spec.template.metadata.labels.app" in owned(live, "me")


def test_a_write_of_the_object_does_not_own_the_status_that_the_server_fills_in() -> None:
    live = update(None, {**deployment({"name": "a"}), "status": {"replicas": 0}}, "kubectl")
    assert not any(place.startswith(".status") for place in owned(live, "kubectl", "Update"))


def test_applying_the_same_again_changes_nothing_not_even_the_time() -> None:
    live = apply(None, config_map(data={"a": "1"}), "me", now=T1)
    assert apply(live, config_map(data={"a": "1"}), "me", now=T2) == live


def test_an_owner_that_changed_nothing_has_no_time() -> None:
    live = apply(None, config_map(data={"a": "1"}), "a", now=T1)
    live = apply(live, config_map(data={"a": "1"}), "b", now=T2)
    assert [(e["manager"], e.get("time")) for e in live["metadata"]["managedFields"]] == [
        ("b", None),
        ("a", T1),
    ]


def test_an_update_that_changes_nothing_keeps_the_owners() -> None:
    live = update(None, config_map(data={"a": "1"}), "a", now=T1)
    assert track_update(live, body_of(live), manager="b", now=T2) == live["metadata"]["managedFields"]


def test_an_object_without_owners_gets_one_for_all_that_was_there_before() -> None:
    live = config_map(data={"a": "1", "b": "1"}, metadata={"uid": "u"})
    with pytest.raises(ApplyConflict, match=r'conflict with "before-first-apply" using v1: \.data\.a$'):
        apply(live, config_map(data={"a": "2"}), "me")
    live = apply(live, config_map(data={"a": "2"}), "me", force=True)
    assert owned(live, "before-first-apply", "Update") == {".data", ".data.b"}


def test_an_object_whose_owners_were_emptied_is_not_tracked_again() -> None:
    live = update(None, config_map(data={"a": "1"}), "a")
    for entries in range(2):
        after = changed(live, metadata={**live["metadata"], "managedFields": [{}] * entries})
        assert track_update(live, after, manager="b", now=T2) == []
    assert track_update(body_of(live), config_map(data={"a": "2"}), manager="b", now=T2) == []


def test_old_updaters_are_thrown_together_when_there_are_too_many() -> None:
    live = update(None, config_map(data={}), "creator")
    for number in range(MAX_UPDATERS + 2):
        data = {**live["data"], f"k{number}": "v"}
        live = update(live, changed(live, data=data), f"m{number}", now=f"2026-01-01T00:00:{number + 10}Z")
    managers = [entry["manager"] for entry in live["metadata"]["managedFields"]]
    assert len(managers) == MAX_UPDATERS
    assert managers[0] == "ancient-changes"
    assert {".data.k0", ".data.k1"} <= owned(live, "ancient-changes", "Update")
    assert managers[-1] == f"m{MAX_UPDATERS + 1}"


def test_managed_fields_can_not_be_applied() -> None:
    with pytest.raises(ApplyRefused, match=r"^metadata\.managedFields must be nil$"):
        apply(None, config_map(metadata={"managedFields": []}), "me")


def test_a_list_item_without_its_key_is_refused_when_applied_and_untracked_when_written() -> None:
    broken = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "s"}, "secrets": [{}]}
    with pytest.raises(
        ApplyRefused, match=r"\.secrets: element 0: associative list with keys has an element"
    ):
        apply(None, broken, "me")
    assert track_update(None, broken, manager="me", now=T1) == []


# Custom kinds

SCHEMA: Body = {
    "properties": {
        "spec": {
            "properties": {
                "color": {"type": "string"},
                "free": {"x-kubernetes-preserve-unknown-fields": True},
                "map": {"additionalProperties": {"properties": {"z": {"type": "integer"}}}},
                "whole": {"x-kubernetes-map-type": "atomic", "additionalProperties": {"type": "string"}},
                "items": {
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["id", "proto"],
                    "items": {"properties": {"id": {}, "proto": {"default": "TCP"}}},
                },
                "tags": {"x-kubernetes-list-type": "set"},
                "plain": {"type": "array"},
            }
        }
    }
}


def widget(**spec: Any) -> Body:
    return {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": spec}


def test_a_custom_kind_is_merged_by_its_schema() -> None:
    stated = widget(
        color="b",
        free={"a": {"b": [1]}, "c": {}},
        map={"k": {"z": 1}},
        whole={"a": "b"},
        items=[{"id": "1"}, {"id": "2", "proto": "UDP"}],
        tags=["x"],
        plain=[1],
    )
    live = apply(None, stated, "me", schema=SCHEMA)
    assert live["metadata"]["managedFields"][0]["fieldsV1"] == {
        "f:spec": {
            "f:color": {},
            "f:free": {"f:a": {".": {}, "f:b": {}}, "f:c": {}},
            "f:items": {
                'k:{"id":"1","proto":"TCP"}': {".": {}, "f:id": {}},
                'k:{"id":"2","proto":"UDP"}': {".": {}, "f:id": {}, "f:proto": {}},
            },
            "f:map": {"f:k": {".": {}, "f:z": {}}},
            "f:plain": {},
            "f:tags": {'v:"x"': {}},
            "f:whole": {},
        }
    }
    live = apply(live, widget(tags=["y"], items=[{"id": "1", "proto": "TCP", "v": 1}]), "you", schema=SCHEMA)
    assert live["spec"]["tags"] == ["x", "y"]
    assert live["spec"]["items"][0] == {"id": "1", "proto": "TCP", "v": 1}


def test_a_custom_kind_without_a_schema_merges_maps_and_replaces_lists() -> None:
    live = apply(None, widget(a={"b": 1}, list=[1]), "me")
    live = apply(live, widget(a={"c": 2}), "you")
    assert live["spec"] == {"a": {"b": 1, "c": 2}, "list": [1]}
    assert owned(live, "you") == {".spec", ".spec.a", ".spec.a.c"}


# Properties

TEXTS = st.dictionaries(st.sampled_from("abc"), st.sampled_from("12"), max_size=3)
NAMED = st.lists(st.sampled_from("xyz"), unique=True, min_size=1, max_size=3)
DEPLOYMENTS = st.builds(
    lambda names, image, args, labels: {
        **deployment(*({"name": name, "image": image, "args": args} for name in names)),
        "metadata": {"name": "web", **({"labels": labels} if labels else {})},
    },
    NAMED,
    st.sampled_from("ij"),
    st.lists(st.sampled_from("pq"), max_size=2),
    TEXTS,
)
CONFIG_MAPS = st.builds(
    lambda data, labels: config_map(
        **({"data": data} if data else {}), metadata={"labels": labels} if labels else {}
    ),
    TEXTS,
    TEXTS,
)
OBJECTS = DEPLOYMENTS | CONFIG_MAPS


def _states(result: Any, stated: Any) -> bool:
    """Whether everything that was stated is in the result."""
    if isinstance(stated, dict):
        return all(key in result and _states(result[key], value) for key, value in stated.items())
    if isinstance(stated, list) and stated and isinstance(stated[0], dict):
        found = {item["name"]: item for item in result}
        return all(_states(found[item["name"]], item) for item in stated)
    return bool(result == stated)


@settings(deadline=None)
@given(CONFIG_MAPS, CONFIG_MAPS)
def test_after_a_forced_apply_everything_stated_holds_and_is_owned(first: Body, second: Body) -> None:
    live = apply(apply(None, first, "a"), second, "b", force=True)
    assert _states(body_of(live), second)
    assert {f".data.{key}" for key in second.get("data", {})} <= owned(live, "b")


@settings(deadline=None)
@given(DEPLOYMENTS, DEPLOYMENTS)
def test_a_sole_applier_gets_exactly_what_it_applied_last(first: Body, second: Body) -> None:
    live = apply(apply(None, first, "a"), second, "a")
    assert _states(body_of(live), second)
    names = [c["name"] for c in second["spec"]["template"]["spec"]["containers"]]
    assert [c["name"] for c in live["spec"]["template"]["spec"]["containers"]] == names
    assert live["metadata"].get("labels", {}) == second["metadata"].get("labels", {})


@settings(deadline=None)
@given(OBJECTS, st.sampled_from("ab"))
def test_applying_twice_is_applying_once(stated: Body, manager: str) -> None:
    once = apply(None, stated, manager)
    assert apply(once, stated, manager, now=T3) == once


@settings(deadline=None)
@given(CONFIG_MAPS, CONFIG_MAPS, CONFIG_MAPS)
def test_an_applier_that_lets_go_leaves_what_the_others_state(first: Body, second: Body, third: Body) -> None:
    live = apply(None, first, "a")
    live = apply(live, second, "b", force=True)
    live = apply(live, third, "c", force=True)
    gone = apply(live, config_map(), "b")
    assert _states(gone, third)
    assert gone.get("data", {}).items() <= live.get("data", {}).items()


STEPS = st.one_of(
    st.text("abc./", min_size=1, max_size=4).map(lambda name: f"f:{name}"),
    st.sampled_from(['k:{"name":"a"}', 'k:{"name":"b","port":80}', 'v:"x"', "v:1"]),
)


@settings(deadline=None)
@given(st.frozensets(st.lists(STEPS, min_size=1, max_size=4).map(tuple), max_size=12))
def test_sets_of_fields_survive_their_nested_form(fields: frozenset[tuple[str, ...]]) -> None:
    assert decode(encode(fields)) == fields
