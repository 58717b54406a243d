from __future__ import annotations

import contextlib
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skoupa.kube.resources import CONFIG_MAPS, EVENTS, NAMESPACES, PODS, Resource
from skoupa.kube.selectors import label_key_faults, label_value_faults, parse_labels, quoted
from skoupa.sim.server.selection import parse_fields

pytestmark = pytest.mark.unit

CORE_EVENTS = Resource(version="v1", plural="events", kind="Event", namespaced=True)
SECRETS = Resource(version="v1", plural="secrets", kind="Secret", namespaced=True)
SERVICES = Resource(version="v1", plural="services", kind="Service", namespaced=True)
NODES = Resource(version="v1", plural="nodes", kind="Node", namespaced=False)
JOBS = Resource(group="batch", version="v1", plural="jobs", kind="Job", namespaced=True)
SHIRTS = Resource(group="stable.example.com", version="v1", plural="shirts", kind="Shirt", namespaced=True)
CLUSTER_SHIRTS = Resource(
    group="stable.example.com", version="v1", plural="racks", kind="Rack", namespaced=False
)
SLICES = Resource(
    group="resource.k8s.io", version="v1", plural="resourceslices", kind="ResourceSlice", namespaced=False
)


@pytest.mark.parametrize(
    ("selector", "matching", "others"),
    [
        ("", [{}, {"a": "1"}], []),
        ("a=1", [{"a": "1"}, {"a": "1", "b": ""}], [{}, {"a": "2"}, {"a": ""}]),
        ("a==1", [{"a": "1"}], [{"a": "2"}]),
        ("a!=1", [{}, {"a": "2"}], [{"a": "1"}]),
        ("a=", [{"a": ""}], [{}, {"a": "1"}]),
        ("a in (1, 2)", [{"a": "1"}, {"a": "2"}], [{}, {"a": "3"}]),
        ("a notin (1,2)", [{}, {"a": "3"}], [{"a": "1"}, {"a": "2"}]),
        ("a in ()", [{"a": ""}], [{}, {"a": "1"}]),
        ("a in (,x)", [{"a": ""}, {"a": "x"}], [{}]),
        ("a in (x,)", [{"a": ""}, {"a": "x"}], [{}]),
        ("a in (x,,y)", [{"a": ""}, {"a": "y"}], [{}]),
        ("a", [{"a": ""}, {"a": "1"}], [{}, {"b": "1"}]),
        ("!a", [{}, {"b": ""}], [{"a": ""}]),
        (" ! a , b = 1 ", [{"b": "1"}], [{"a": "", "b": "1"}, {}]),
        ("a>4", [{"a": "5"}], [{"a": "4"}, {"a": "x"}, {}]),
        ("a<4", [{"a": "3"}], [{"a": "4"}, {"a": ""}, {}]),
        ("in in (in,notin)", [{"in": "in"}, {"in": "notin"}], [{"in": "x"}, {}]),
        ("example.com/a=1", [{"example.com/a": "1"}], [{"a": "1"}]),
    ],
)
def test_a_label_selector_selects_what_the_server_would_select(
    selector: str, matching: list[dict[str, str]], others: list[dict[str, str]]
) -> None:
    parsed = parse_labels(selector)
    assert [labels for labels in matching if not parsed.matches(labels)] == []
    assert [labels for labels in others if parsed.matches(labels)] == []


NAME_RULE = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
VALUE_RULE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
INTEGER_RULE = "for 'Gt', 'Lt' operators, the value must be an integer"


@pytest.mark.parametrize(
    ("selector", "message"),
    [
        (",a", "found ',', expected: !, identifier, or 'end of string'"),
        ("a,", "found '', expected: identifier after ','"),
        ("a,,b", "found ',', expected: identifier after ','"),
        ("a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
        ("a = b c", "found 'c', expected: ',' or 'end of string'"),
        ("!a=b", "found '=', expected: ',' or 'end of string'"),
        ("!", "unable to parse requirement: found '', expected: identifier"),
        ("a=!", "unable to parse requirement: found '!', expected: identifier"),
        ("a in b", "unable to parse requirement: found 'b' expected: '('"),
        ("a in (b", "unable to parse requirement: found '', expected: ',' or ')'"),
        ("a in (=", "unable to parse requirement: found '=', expected: ',', ')' or identifier"),
        ("a in (,=", "unable to parse requirement: found '=', expected: ',', or identifier"),
        ("-a=b", f'unable to parse requirement: <nil>: Invalid value: "-a": {NAME_RULE}'),
        ("a>b", f'unable to parse requirement: values[0]: Invalid value: "b": {INTEGER_RULE}'),
        ("a=-b", f'unable to parse requirement: values[0][a]: Invalid value: "-b": {VALUE_RULE}'),
        (
            "a in (-c,b,-b)",
            (
                f'unable to parse requirement: [values[0][a]: Invalid value: "-b": {VALUE_RULE}, '
                f'values[1][a]: Invalid value: "-c": {VALUE_RULE}]'
            ),
        ),
    ],
)
def test_a_label_selector_is_refused_in_the_words_of_the_server(selector: str, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        parse_labels(selector)


WORD = st.text("abcXYZ019", min_size=1, max_size=8)
LABELS = st.dictionaries(WORD, WORD | st.just(""), max_size=4)


@settings(deadline=None)
@given(LABELS, LABELS)
def test_equality_selects_exactly_the_objects_that_have_all_the_labels(
    wanted: dict[str, str], labels: dict[str, str]
) -> None:
    parsed = parse_labels(",".join(f"{key}={value}" for key, value in wanted.items()))
    assert parsed.matches(labels) == (wanted.items() <= labels.items())
    assert parsed.matches({**labels, **wanted})


@settings(deadline=None)
@given(WORD, st.lists(WORD, min_size=1), LABELS)
def test_in_and_notin_are_opposites_and_so_are_exists_and_absent(
    key: str, values: list[str], labels: dict[str, str]
) -> None:
    chosen = ",".join(values)
    within, without = parse_labels(f"{key} in ({chosen})"), parse_labels(f"{key} notin ({chosen})")
    assert within.matches(labels) != without.matches(labels)
    assert parse_labels(key).matches(labels) != parse_labels(f"!{key}").matches(labels)


@settings(deadline=None)
@given(st.text() | st.text("ab=!(),<> intoz-./", max_size=30))
def test_any_text_is_a_label_selector_or_a_refusal(text: str) -> None:
    with contextlib.suppress(ValueError):
        parse_labels(text).matches({"a": "b"})


@settings(deadline=None)
@given(st.text() | st.text("ab=!\\,.metadatanme", max_size=30))
def test_any_text_is_a_field_selector_or_a_refusal(text: str) -> None:
    with contextlib.suppress(ValueError):
        parse_fields(text, resource=PODS).matches({})


@settings(deadline=None)
@given(st.text(max_size=20))
def test_an_escaped_field_value_is_compared_as_it_was_meant(value: str) -> None:
    escaped = value.replace("\\", "\\\\").replace(",", "\\,").replace("=", "\\=")
    parsed = parse_fields(f"metadata.name={escaped}", resource=CONFIG_MAPS)
    assert parsed.name == value
    assert parsed.matches({"metadata": {"name": value}})
    assert not parsed.matches({"metadata": {"name": value + "x"}})


def _pod(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "web", "namespace": "shop"}, "spec": spec, "status": {"phase": "Running"}}


@pytest.mark.parametrize(
    ("resource", "selector", "obj", "selected"),
    [
        (PODS, "status.phase=Running", _pod(), True),
        (PODS, "status.phase!=Running", _pod(), False),
        (PODS, "status.phase!=Failed,status.phase!=Succeeded", _pod(), True),
        (PODS, "spec.nodeName=", _pod(), True),
        (PODS, "spec.nodeName=n1", _pod(nodeName="n1"), True),
        (PODS, "spec.host=n1", _pod(nodeName="n1"), True),
        (PODS, "spec.restartPolicy=Always", _pod(), True),
        (PODS, "spec.hostNetwork=false", _pod(), True),
        (PODS, "spec.hostNetwork=true", _pod(hostNetwork=True), True),
        (PODS, "status.podIP=10.0.0.1", {"status": {"podIPs": [{"ip": "10.0.0.1"}]}}, True),
        (PODS, "status.podIP=10.0.0.1", {"status": {"podIP": "10.0.0.1"}}, True),
        (SECRETS, "type=Opaque", {}, True),
        (SECRETS, "type!=Opaque", {"type": "helm.sh/release.v1"}, True),
        (SERVICES, "spec.type=ClusterIP", {"spec": {}}, True),
        (NODES, "spec.unschedulable=true", {"spec": {"unschedulable": True}}, True),
        (NAMESPACES, "status.phase=Active", {"status": {"phase": "Terminating"}}, False),
        (JOBS, "status.successful=1", {"status": {"succeeded": 1}}, True),
        (JOBS, "status.successful=0", {}, True),
        (CORE_EVENTS, "involvedObject.name=web", {"involvedObject": {"name": "web"}}, True),
        (CORE_EVENTS, "source=kubelet", {"source": {"component": "kubelet"}}, True),
        (CORE_EVENTS, "source=skoupa", {"reportingController": "skoupa"}, True),
        (EVENTS, "regarding.name=web", {"involvedObject": {"name": "web"}}, True),
        (
            EVENTS,
            "regarding.kind=Pod,reason=Expired",
            {"regarding": {"kind": "Pod"}, "reason": "Expired"},
            True,
        ),
        (EVENTS, "reportingController=skoupa", {"reportingController": "skoupa"}, True),
        (CONFIG_MAPS, "metadata.namespace!=kube-system", {"metadata": {"namespace": "shop"}}, True),
    ],
)
def test_a_field_selector_reads_the_fields_of_its_kind(
    resource: Resource, selector: str, obj: dict[str, Any], *, selected: bool
) -> None:
    assert parse_fields(selector, resource=resource).matches(obj) is selected


def test_an_exact_name_and_namespace_are_offered_as_a_short_way() -> None:
    parsed = parse_fields("metadata.name=web,metadata.namespace==shop", resource=PODS)
    assert (parsed.name, parsed.namespace) == ("web", "shop")
    assert parse_fields("metadata.name!=web", resource=PODS).name is None
    assert parse_fields("", resource=PODS).matches({})
    assert parse_fields("=,", resource=PODS).matches({})


def test_two_different_exact_names_match_nothing() -> None:
    parsed = parse_fields("metadata.name=a,metadata.name=b", resource=PODS)
    assert not parsed.matches({"metadata": {"name": parsed.name}})


@pytest.mark.parametrize(
    ("resource", "selector", "message"),
    [
        (PODS, "spec.foo=1", "field label not supported: spec.foo"),
        (NODES, "metadata.namespace=x", "field label not supported: metadata.namespace"),
        (
            CONFIG_MAPS,
            "data.x=1",
            '"data.x" is not a known field selector: only "metadata.name", "metadata.namespace"',
        ),
        (JOBS, "spec.x=1", 'field label "spec.x" not supported for Job'),
        (SLICES, "a=b", "field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: a"),
        (SHIRTS, "spec.color=blue", "field label not supported: spec.color"),
        (CLUSTER_SHIRTS, "metadata.namespace=x", "field label not supported: metadata.namespace"),
        (PODS, "metadata.name", "invalid selector: 'metadata.name'; can't understand 'metadata.name'"),
        (PODS, "metadata.name=a=b", "invalid field selector: unescaped character in value: 61"),
        (PODS, r"metadata.name=a\b", r"invalid field selector: invalid escape sequence: \b"),
        (PODS, "metadata.name=a\\", "invalid field selector: invalid escape sequence: \\"),
    ],
)
def test_a_field_selector_is_refused_in_the_words_of_the_server(
    resource: Resource, selector: str, message: str
) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        parse_fields(selector, resource=resource)


def test_a_custom_kind_can_be_selected_by_the_fields_of_its_definition() -> None:
    parsed = parse_fields(
        "spec.color=blue,spec.size=3", resource=SHIRTS, selectable=(".spec.color", ".spec.size")
    )
    assert parsed.matches({"spec": {"color": "blue", "size": 3}})
    assert not parsed.matches({"spec": {"color": "green", "size": 3}})
    assert not parsed.matches({"spec": "nonsense"})


def test_what_is_wrong_with_a_label_is_named() -> None:
    assert label_key_faults("example.com/my_key.x") == []
    assert label_value_faults("") == []
    assert label_key_faults("/a") == ["prefix part must be non-empty"]
    assert label_key_faults("a/")[0] == "name part must be non-empty"
    assert label_key_faults("a" * 64) == ["name part must be no more than 63 bytes"]
    assert label_value_faults("a" * 64) == ["must be no more than 63 bytes"]
    assert len(label_key_faults(f"{'a.' * 127}a/b")) == 1


def test_strings_are_quoted_as_go_quotes_them() -> None:
    assert quoted('a"\\\n\x00é\x7f\u200b') == r'"a\"\\\n\x00é\x7f\u200b"'
