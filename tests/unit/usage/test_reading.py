"""Reading objects by the tables: what is odd costs itself alone and is told, and nothing odd is taken for nothing."""

from __future__ import annotations

import copy
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skoupa.kube.decoding import decode_list
from skoupa.kube.objects import METADATA
from skoupa.usage import builtin
from skoupa.usage.found import Found, Target
from skoupa.usage.paths import Every, Path, parsed
from skoupa.usage.reading import Readings, shipped
from skoupa.usage.rules import Annotated, Implied, KindRules, Reference, Selection
from tests.unit.usage.by_the_tables import READINGS, listed, pod, targets
from tests.unit.usage.made_from_rules import Example, examples

pytestmark = pytest.mark.unit

EXAMPLES = [one for one in examples(builtin.RULES, ()) if not one.at.startswith("metadata.")]


def changed(manifest: Any, path: Path, value: Any) -> Any:
    """A copy in which there is something else at this place."""
    if not path:
        return value
    made = copy.copy(manifest)
    key: Any = 0 if path[0] is Every.ITEM else "any" if path[0] is Every.VALUE else path[0]
    made[key] = changed(made[key], path[1:], value)
    return made


def beginnings(example: Example) -> list[Path]:
    path = parsed(example.at)
    ends = len(path) - 1 if path[-1] is Every.KEY else len(path)
    return [path[: index + 1] for index in range(ends)]


def test_what_is_of_another_type_than_it_should_be_is_doubted_wherever_it_is() -> None:
    for example in EXAMPLES:
        (good,) = listed(example.kind, example.manifest)
        for path in beginnings(example):
            if example.chosen and path == parsed(example.at):
                continue
            for odd in (7, ["a", 3]):
                manifest = changed(example.manifest, path, odd)
                found, beside_it = listed(example.kind, manifest, example.manifest)
                assert found.doubts, f"{example} with {odd} at {path}"
                assert READINGS.from_manifest(example.kind, manifest).doubts == found.doubts
                assert beside_it == good


def test_null_is_the_same_as_nothing_wherever_it_is() -> None:
    for example in EXAMPLES:
        for path in beginnings(example):
            (found,) = listed(example.kind, changed(example.manifest, path, None))
            assert not found.doubts, f"{example} with null at {path}"
            named = {use.at for use in found.uses if use.target.name not in example.also}
            assert named | {one.at for one in found.choices} <= {"metadata.name"}


def test_what_is_understood_beside_what_is_not_counts_too() -> None:
    odd = pod(
        volumes=[{"secret": {"secretName": 5}}, {"secret": {"secretName": "token"}}, "what"],
        serviceAccountName="runner",
    )
    (found,) = listed("Pod", odd)
    assert targets(found) == {("Secret", "shop", "token"), ("ServiceAccount", "shop", "runner")}
    assert set(found.doubts) == {
        "spec.volumes[] is text, where an object is meant",
        "spec.volumes[].secret.secretName is a number, where text is meant",
    }


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ("containers", "volumes", "env", "name", "secret", "secretName", "selector", "matchLabels")
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(json_values)
def test_whatever_stands_in_an_object_both_ways_of_reading_agree(spec: Any) -> None:
    manifest = {"metadata": {"name": "web", "namespace": "shop", "uid": "1"}, "spec": spec}
    for kind in ("Pod", "Service", "networking.k8s.io/NetworkPolicy"):
        (found,) = listed(kind, manifest)
        from_file = READINGS.from_manifest(kind, manifest)
        assert set(found.uses) == set(from_file.uses)
        assert set(found.choices) == set(from_file.choices)
        assert set(found.doubts) == set(from_file.doubts)


@pytest.mark.parametrize(
    "expression",
    [
        {"key": "a", "operator": "Near", "values": ["b"]},
        {"key": "a", "operator": "In"},
        {"key": "a", "operator": "In", "values": ["b,c"]},
        {"key": "a=b", "operator": "Exists"},
        {"operator": "Exists"},
    ],
)
def test_a_selector_that_nobody_understands_is_doubted(expression: dict[str, Any]) -> None:
    spec = {"selector": {"matchExpressions": [expression]}}
    (found,) = listed(
        "policy/PodDisruptionBudget", {"metadata": {"name": "p", "namespace": "shop"}, "spec": spec}
    )
    assert not found.choices
    assert found.doubts[0].startswith("spec.selector: ")


def test_a_kind_without_rules_is_listed_by_its_metadata_and_points_at_nothing() -> None:
    assert READINGS.view("example.com/Gadget") is METADATA
    assert READINGS.view("Secret") is METADATA
    (found,) = listed("example.com/Gadget", {"metadata": {"name": "g"}, "spec": {"secretName": "s"}})
    assert found == Found()


def test_an_annotation_of_any_kind_counts_for_kinds_without_rules_too() -> None:
    readings = Readings((), (Annotated(key="example.com/uses-*", to="Secret"),))
    manifest = {"metadata": {"name": "g", "namespace": "shop", "annotations": {"example.com/uses-a": "s"}}}
    (found,) = listed("example.com/Gadget", manifest, readings=readings)
    assert targets(found) == {("Secret", "shop", "s")}
    assert readings.may_point_at("Secret") == {"*"}


def test_which_kinds_can_keep_which_is_known_from_the_tables() -> None:
    users = READINGS.may_point_at("Secret")
    assert {"Pod", "ServiceAccount", "networking.k8s.io/Ingress", "PersistentVolume"} <= users
    assert "*" not in users
    assert "policy/PodDisruptionBudget" not in users
    # A capacity only concerns its class, and an autoscaler may be told any kind.
    assert "storage.k8s.io/CSIStorageCapacity" not in READINGS.may_point_at("storage.k8s.io/StorageClass")
    assert "autoscaling/HorizontalPodAutoscaler" in READINGS.may_point_at("example.com/Gadget")


def test_equal_references_are_one_value_in_memory() -> None:
    volumes = [{"name": "v", "configMap": {"name": "settings"}}]
    first, second = listed("Pod", pod("a", volumes=volumes), pod("b", volumes=volumes))
    assert all(one is other for one, other in zip(first.uses, second.uses, strict=True))


def test_ten_thousand_references_are_all_found() -> None:
    env = [{"valueFrom": {"secretKeyRef": {"name": f"s{index}", "key": "k"}}} for index in range(10_000)]
    (found,) = listed("Pod", pod(containers=[{"env": env}], serviceAccountName="a"))
    assert len(found.uses) == 10_001
    assert not found.doubts


def test_bytes_that_are_no_text_are_doubted_and_cost_nothing_else() -> None:
    good = msgspec.json.encode(pod("good", serviceAccountName="a"))
    bad = msgspec.json.encode(pod("bad", serviceAccountName="BYTES")).replace(b"BYTES", b"\xff\xfe")
    body = b'{"metadata": {}, "items": [' + bad + b"," + good + b"]}"
    _, items, undecodable = decode_list(body, READINGS.view("Pod"), doing="test")
    first, second = (READINGS.found("Pod", item) for item in items)
    assert not undecodable
    assert first.doubts == ("spec is nothing that anybody could read",)
    assert targets(second) == {("ServiceAccount", "shop", "a")}


def test_metadata_in_a_file_may_be_anything_too() -> None:
    for metadata in (None, 5, {"name": 3, "labels": "x", "annotations": {"a": 1}}):
        found = READINGS.from_manifest("Pod", {"metadata": metadata, "spec": {"serviceAccountName": "a"}})
        assert Target("ServiceAccount", "*", "a") in {use.target for use in found.uses}


@pytest.mark.parametrize(
    "parts",
    [
        (Reference(at="spec.a", to="Secret"), Reference(at="spec.a.name", to="Secret")),
        (Reference(at="spec.a[]", to="Secret"), Reference(at="spec.a.name", to="Secret")),
        (Reference(at="spec.a", to="Secret"), Selection(at="spec.a", to="Pod")),
        (Reference(at="spec.a[]", to="Secret", namespace_at="namespace"),),
        (Implied(to="Secret", name="{spec.a[].name}-{spec.b[].name}"),),
    ],
)
def test_a_table_that_contradicts_itself_does_not_start(parts: tuple[Any, ...]) -> None:
    with pytest.raises(ValueError, match=r"spec\."):
        Readings((KindRules(kind="Gadget", parts=parts),)).view("Gadget")


def test_two_tables_for_one_kind_do_not_start() -> None:
    with pytest.raises(ValueError, match="two tables for Gadget"):
        Readings((KindRules(kind="Gadget", parts=()), KindRules(kind="Gadget", parts=())))


def test_all_tables_that_are_shipped_agree_with_themselves() -> None:
    readings = shipped()
    for kind in readings.kinds():
        assert readings.view(kind)
