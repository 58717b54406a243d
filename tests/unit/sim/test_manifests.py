from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from skoupa.errors import ManifestError
from skoupa.kube.resources import CONFIG_MAPS, NAMESPACES, PODS
from skoupa.sim.clock import VirtualClock, run
from skoupa.sim.cluster import EmbeddedCluster
from skoupa.sim.content.documents import documents
from skoupa.sim.content.manifests import load, missing_kinds, parse, plural_of

pytestmark = pytest.mark.unit

TWO = """\
# what a user writes
apiVersion: v1
kind: ConfigMap
metadata: {name: first, namespace: shop}
data:
  at: 2026-01-01T00:00:00Z
---
---
apiVersion: v1
kind: Namespace
metadata:
  name: shop
"""

DUMP = """\
apiVersion: v1
items:
- apiVersion: stable.example.com/v1
  kind: Policy
  metadata:
    creationTimestamp: "2025-03-01T12:00:00Z"
    name: p1
    namespace: shop
    uid: 11111111-1111-1111-1111-111111111111
  status: {}
- apiVersion: stable.example.com/v1
  kind: Rack
  metadata:
    name: r1
- apiVersion: v1
  kind: Pod
  metadata: {name: web, namespace: shop}
kind: List
metadata:
  resourceVersion: ""
"""


def _bodies(text: str, file: str = "f.yaml") -> list[dict[str, Any]]:
    return [manifest.body for manifest in parse(text, file=file)]


def _fault(text: str, file: str = "f.yaml") -> ManifestError:
    with pytest.raises(ManifestError) as caught:
        _bodies(text, file)
    return caught.value


def test_documents_of_a_stream_become_objects_and_know_where_they_stand() -> None:
    found = list(parse(TWO, file="f.yaml"))
    assert [(m.kind, m.body["metadata"]["name"], m.document) for m in found] == [
        ("ConfigMap", "first", 1),
        ("Namespace", "shop", 3),
    ]
    assert found[0].body["data"] == {"at": "2026-01-01T00:00:00Z"}


def test_a_dump_is_its_items() -> None:
    assert [body["kind"] for body in _bodies(DUMP)] == ["Policy", "Rack", "Pod"]


def test_items_of_a_list_of_one_kind_need_not_repeat_it() -> None:
    text = json.dumps({"kind": "PodList", "apiVersion": "v1", "items": [{"metadata": {"name": "web"}}]})
    assert _bodies(text) == [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}}]


def test_a_kind_that_only_ends_like_a_list_is_an_object() -> None:
    text = "{apiVersion: example.com/v1, kind: AllowList, metadata: {name: a}, spec: {}}"
    assert [body["kind"] for body in _bodies(text)] == ["AllowList"]


@pytest.mark.parametrize("text", ["", "\n\n", "# nothing\n", "---\n---\n", "null\n"])
def test_what_is_empty_is_nothing(text: str) -> None:
    assert _bodies(text) == []


def test_a_folder_is_read_to_the_bottom_with_definitions_and_namespaces_first(tmp_path: Path) -> None:
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / ".git").mkdir()
    (tmp_path / "a.yaml").write_text(TWO)
    (tmp_path / "deep" / "b.yml").write_text(DUMP)
    (tmp_path / "deep" / "er" / "c.json").write_text(
        '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"j"}}'
    )
    (tmp_path / "readme.md").write_text("not: a manifest")
    (tmp_path / ".git" / "d.yaml").write_text("not a manifest")
    found = load(tmp_path)
    assert [m.body["metadata"]["name"] for m in found] == ["shop", "first", "p1", "r1", "web", "j"]
    assert found[-1].file == str(tmp_path / "deep" / "er" / "c.json")


def test_a_file_is_read_whatever_its_name_is_and_a_byte_order_mark_does_no_harm(tmp_path: Path) -> None:
    file = tmp_path / "dump.txt"
    file.write_bytes(b"\xef\xbb\xbf" + TWO.encode())
    assert len(load(file, file)) == 4


def test_what_can_not_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(ManifestError, match=r"nowhere\.yaml: can't be read: no such file or directory"):
        load(tmp_path / "nowhere.yaml")
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ManifestError, match=r"binary\.yaml: is not text in UTF-8"):
        load(tmp_path)


OK = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\na: 2\n", 'f.yaml, document 1: line 2: the key "a" is there twice'),
        (
            OK + "---\n" + OK + "spec: {a: 1, b: 2, a: 3}",
            'f.yaml, document 2: line 8: the key "a" is there twice',
        ),
        ('{"a": 1, "a": 2}', 'f.yaml: the key "a" is there twice'),
        ("- a\n- b\n", "f.yaml, document 1: a list is not an object"),
        (OK + "---\njust words\n", 'f.yaml, document 2: the plain value "just words" is not an object'),
        ("kind: Pod\nmetadata: {name: a}", "f.yaml, document 1: there is no apiVersion"),
        ("apiVersion: v1\nmetadata: {name: a}", "f.yaml, document 1: there is no kind"),
        ("apiVersion: v1\nkind: Pod", "f.yaml, document 1: Pod has no metadata"),
        ("apiVersion: v1\nkind: Pod\nmetadata: {}", "f.yaml, document 1: Pod has no name"),
        ("apiVersion: v1\nkind: Pod\nmetadata: {name: 5}", "f.yaml, document 1: Pod has no name"),
        (
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a, labels: {ttl: 5}}",
            "f.yaml, document 1: Pod a: the value of metadata.labels[ttl], 5, is not text: put it in quotes",
        ),
        (
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a, labels: [x]}",
            "f.yaml, document 1: Pod a: metadata.labels is not a mapping",
        ),
        (
            "apiVersion: v1\nkind: List\nitems: [5]",
            "f.yaml, document 1: item 1: the plain value 5 is not an object",
        ),
        ("a: [1, 2\nb: 3\n", "f.yaml, document 1: line 2: "),
        ("a: !!binary aGk=", "f.yaml, document 1: line 1: the tag !!binary has no form in JSON"),
        ("a: !mine x", "f.yaml, document 1: line 1: the tag !mine has no form in JSON"),
        ("a: .inf", "f.yaml, document 1: line 1: .inf is not a number that JSON has"),
        ("? [a]\n: b", "f.yaml, document 1: line 1: a key has to be text"),
        ("a: &a [*a]", "f.yaml, document 1: line 1: "),
        ("a: \x07", "f.yaml, document 1: "),
    ],
)
def test_what_is_no_manifest_is_named_with_file_and_document(text: str, message: str) -> None:
    assert str(_fault(text)).startswith(message)


def test_broken_json_is_named_as_such() -> None:
    assert str(_fault('{"a": ', "f.json")).startswith("f.json: is not JSON: ")
    assert str(_fault('{"a": NaN}', "f.json")) == "f.json: NaN is not a number that JSON has"
    assert str(_fault('{"a": 1e400}', "f.json")) == "f.json: 1e400 is not a number that JSON has"
    long = "f.json: " + "9" * 40 + "... is not a number that JSON has"
    assert str(_fault('{"a": ' + "9" * 5000 + "}", "f.json")) == long


@pytest.mark.parametrize("number", [0, -1, 2**63, 2**64 - 1, -(2**63), 2**64, -(2**63) - 1, 10**40])
def test_a_number_is_the_same_in_json_and_yaml(number: int) -> None:
    ((_, in_json),) = documents(f'{{"a": {number}}}', file="f.json")
    ((_, in_yaml),) = documents(f"a: {number}", file="f.yaml")
    assert repr(in_json) == repr(in_yaml)
    assert in_json["a"] == number or abs(number) >= 2**63


@pytest.mark.parametrize("text", [r'{"a": "\ud83d"}', r'{"\uDE00": 1}', r'{"a": ["\ude00\ud83d"]}'])
def test_half_a_character_is_no_text(text: str) -> None:
    assert "has half a character in it" in str(_fault(text, "f.json"))
    whole = r'{"a": "\ud83d\ude00", "b": "\\ud83d"}'
    assert list(documents(whole, file="f.json")) == [(1, {"a": "😀", "b": r"\ud83d"})]


@pytest.mark.parametrize("text", ["[" * 100_000, "{a: " * 5000, '{"a":' * 100_000, "- " * 50_000])
def test_endless_nesting_is_refused(text: str) -> None:
    assert isinstance(_fault(text), ManifestError)


def test_aliases_that_blow_up_are_refused() -> None:
    lines = ["a0: &a0 [x]"] + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    assert "its aliases stand for too much" in str(_fault("\n".join(lines)))


def test_scalars_are_read_as_kubectl_reads_them() -> None:
    text = """
    on: yes
    12: 30
    port: 12:30
    mode: 0644
    hex: 0x1F
    day: 2026-01-01
    big: 123456789012345678901234567890
    exponent: 1e3
    text: "1"
    none: ~
    empty:
    version: 1.10
    under: 1_000
    n: n
    """
    assert next(documents(text, file="f"))[1] == {
        "true": True,
        "false": False,
        "12": 30,
        "port": "12:30",
        "mode": 0o644,
        "hex": 31,
        "day": "2026-01-01",
        "big": 123456789012345678901234567890.0,
        "exponent": 1000.0,
        "text": "1",
        "none": None,
        "empty": None,
        "version": 1.1,
        "under": 1000,
    }


def test_anchors_and_merge_keys_work() -> None:
    text = "base: &b {x: 1, z: 2}\nuse: {<<: *b, z: 3}\n"
    assert next(documents(text, file="f"))[1]["use"] == {"x": 1, "z": 3}


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8"), max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc019._-", max_size=5), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


@settings(deadline=None)
@given(st.dictionaries(st.text("abc", min_size=1), VALUES, max_size=3))
def test_what_was_written_as_json_is_read_back(spec: dict[str, Any]) -> None:
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": spec}
    assert _bodies(json.dumps(body)) == [body]
    assert _bodies(json.dumps(body) * 2) == [body, body]


@settings(deadline=None)
@given(st.lists(st.dictionaries(st.text("abc", min_size=1), VALUES, max_size=3), max_size=3))
def test_what_was_written_as_yaml_is_read_back(specs: list[dict[str, Any]]) -> None:
    bodies = [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": spec} for spec in specs]
    assert _bodies(yaml.safe_dump_all(bodies, default_style='"')) == bodies


@settings(deadline=None)
@given(st.text() | st.text("ab:-[]{}#&*!|>'\"%@`,? \n\t0.", max_size=40))
def test_any_text_is_manifests_or_a_named_fault(text: str) -> None:
    with contextlib.suppress(ManifestError):
        _bodies(text)
    with contextlib.suppress(ManifestError):
        _bodies(text, "f.json")


def test_unknown_kinds_of_a_dump_get_a_row() -> None:
    rows = missing_kinds(parse(DUMP, file="f"), [PODS, CONFIG_MAPS])
    assert [(row.qualified, row.kind, row.namespaced, row.subresources) for row in rows] == [
        ("policies.stable.example.com", "Policy", True, ("status",)),
        ("racks.stable.example.com", "Rack", False, ()),
    ]
    assert all(row.may("get", "list", "watch", "create", "patch", "delete") for row in rows)


def test_a_kind_is_namespaced_when_any_of_its_objects_is() -> None:
    text = "{apiVersion: v9, kind: X, metadata: {name: a}}\n---\n{apiVersion: v9, kind: X, metadata: {name: a, namespace: b}}"
    assert [row.namespaced for row in missing_kinds(parse(text, file="f"), [])] == [True]


def test_a_kind_that_the_manifests_define_is_not_missing() -> None:
    definition = """
    apiVersion: apiextensions.k8s.io/v1
    kind: CustomResourceDefinition
    metadata: {name: policies.stable.example.com}
    spec: {group: stable.example.com, names: {kind: Policy, plural: policies}, versions: [{name: v1}]}
    """
    found = list(parse(DUMP + "\n---" + definition, file="f"))
    assert [row.kind for row in missing_kinds(found, [PODS, NAMESPACES])] == [
        "Rack",
        "CustomResourceDefinition",
    ]


@pytest.mark.parametrize(
    ("kind", "plural"),
    [
        ("Pod", "pods"),
        ("NetworkPolicy", "networkpolicies"),
        ("Ingress", "ingresses"),
        ("Gateway", "gateways"),
        ("Mailbox", "mailboxes"),
        ("Branch", "branches"),
    ],
)
def test_plurals_are_guessed(kind: str, plural: str) -> None:
    assert plural_of(kind) == plural


def test_what_has_only_a_generate_name_gets_a_name_of_its_own(tmp_path: Path) -> None:
    build = {"apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": "build-", "namespace": "ci"}}
    (tmp_path / "a.yaml").write_text(yaml.safe_dump_all([build] * 3))

    async def main(clock: VirtualClock) -> list[str]:
        cluster = EmbeddedCluster(clock=clock)
        assert cluster.load(load(tmp_path)) == 3
        return [pod["metadata"]["name"] for pod in cluster.objects(PODS, namespace="ci")]

    names = run(main)
    assert len(set(names)) == 3
    assert all(name.startswith("build-") and len(name) > len("build-") for name in names)
    assert run(main) == names, "the same files are the same cluster"
