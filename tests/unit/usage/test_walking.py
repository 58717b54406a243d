"""The generic rule for custom kinds that no table knows: whatever is shaped like a reference is found, wherever it is."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skoupa.usage import builtin
from skoupa.usage.applying.layout import unfolded
from skoupa.usage.builtin.shapes import POD_SPEC
from skoupa.usage.found import Found, Target
from skoupa.usage.paths import parsed
from skoupa.usage.rules import Form, KindRules, Means, Reference
from skoupa.usage.walking import DEEPEST, MOST_REFERENCES, walk
from tests.unit.usage.made_from_rules import put

pytestmark = pytest.mark.unit

SECRET = Target("Secret", "shop", "wanted")


def gadget(spec: Any, **more: Any) -> dict[str, Any]:
    metadata = {"name": "gadget", "namespace": "shop"}
    return {"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": metadata, "spec": spec, **more}


def targets(found: Found) -> set[Target]:
    return {use.target for use in found.uses}


def walked(spec: Any) -> set[Target]:
    return targets(walk(gadget(spec)))


@pytest.mark.parametrize(
    "spec",
    [
        {"secretName": "wanted"},
        {"adminSecretName": "wanted"},
        {"secretNames": ["other", "wanted"]},
        {"tls": {"secret": "wanted"}},
        {"existingSecret": "wanted"},
        {"credentialName": "wanted"},
        {"credentialsSecretRef": "wanted"},
        {"passwordSecretRef": {"name": "wanted", "key": "password"}},
        {"secretKeyRef": {"name": "wanted", "key": "password", "optional": True}},
        {"auth": {"secret": {"name": "wanted"}}},
        {"secretRef": {"name": "wanted", "namespace": "shop"}},
        {"secret_name": "wanted"},
        {"secret-ref": {"name": "wanted"}},
        {"imagePullSecrets": [{"name": "wanted"}]},
        {"imagePullSecrets": ["wanted"]},
        {"secrets": {"db": "wanted"}},
        {"secrets": {"wanted": "/mnt/db"}},
        {"apiURL": {"name": "wanted", "key": "url"}},
        {"ref": {"kind": "Secret", "name": "wanted"}},
        {"from": {"kind": "Secret", "apiVersion": "v1", "name": "wanted"}},
        {"secretRef": "shop/wanted"},
        {"caProvider": {"type": "Secret", "name": "wanted", "key": "ca.crt", "namespace": "shop"}},
        {"exports": [{"name": "wanted", "key": "id", "value": "self.id"}]},
        {"secretRef": {"name": "wanted"}, "selector": {}},
        {"secretName": "wanted", "namespace": "elsewhere"},
        [[{"secretName": "wanted"}]],
        {"anything.with/dots": {"secretName": "wanted"}},
    ],
    ids=str,
)
def test_a_secret_that_is_named_like_one_is_in_use(spec: Any) -> None:
    assert SECRET in walked(spec)


@pytest.mark.parametrize(
    ("spec", "meant"),
    [
        ({"configMapName": "a"}, Target("ConfigMap", "shop", "a")),
        ({"configMapRef": {"name": "a"}}, Target("ConfigMap", "shop", "a")),
        ({"configMaps": ["a"]}, Target("ConfigMap", "shop", "a")),
        ({"serviceAccountName": "a"}, Target("ServiceAccount", "shop", "a")),
        ({"serviceAccount": {"name": "a"}}, Target("ServiceAccount", "shop", "a")),
        ({"existingClaim": "a"}, Target("PersistentVolumeClaim", "shop", "a")),
        ({"pvcName": "a"}, Target("PersistentVolumeClaim", "shop", "a")),
        ({"storageClassName": "a"}, Target("storage.k8s.io/StorageClass", "", "a")),
        ({"priorityClassName": "a"}, Target("scheduling.k8s.io/PriorityClass", "", "a")),
        ({"serviceName": "a"}, Target("Service", "shop", "a")),
        ({"serviceName": "a.elsewhere.svc"}, Target("Service", "elsewhere", "a")),
        ({"service": {"name": "a", "port": 80}}, Target("Service", "shop", "a")),
        ({"targetNamespace": "a"}, Target("Namespace", "", "a")),
        ({"secretRef": {"name": "a", "namespace": "b"}}, Target("Secret", "b", "a")),
        ({"secretName": "a", "secretNamespace": "b"}, Target("Secret", "b", "a")),
        (
            {"target": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "a"}},
            Target("apps/Deployment", "shop", "a"),
        ),
        ({"target": {"apiGroup": "x.io", "kind": "Thing", "name": "a"}}, Target("x.io/Thing", "shop", "a")),
        ({"target": {"apiGroup": "x.io", "kind": "Thing", "name": "a"}}, Target("x.io/Thing", "", "a")),
        ({"issuerRef": {"kind": "Issuer", "name": "a"}}, Target("*/Issuer", "shop", "a")),
        ({"clusterRef": {"name": "a"}}, Target("*", "shop", "a")),
        ({"clusterRef": {"name": "a"}}, Target("*", "", "a")),
        ({"clusterRef": "a"}, Target("*", "shop", "a")),
        ({"gateway": {"name": "a", "namespace": "b"}}, Target("*", "b", "a")),
        ({"discovery": {"name": "a", "namespace": "b", "more": {}}}, Target("*", "b", "a")),
        ({"owner": {"name": "a", "armId": "x"}}, Target("*", "shop", "a")),
    ],
    ids=str,
)
def test_what_a_reference_says_of_kind_and_place_is_taken_and_what_it_leaves_open_stays_open(
    spec: Any, meant: Target
) -> None:
    assert meant in walked(spec)


def test_a_field_may_mean_a_kind_with_a_longer_name() -> None:
    assert Target("*/ExternalSecret", "shop", "a") in walked({"externalSecretRef": {"name": "a"}})
    assert Target("*/VirtualService", "shop", "a") in walked({"canaryVirtualService": "a"})
    assert Target("Secret", "shop", "a") in walked({"externalSecretRef": {"name": "a"}})


def test_a_name_under_an_unknown_noun_is_only_mentioned_and_keeps_all_the_same() -> None:
    found = walk(gadget({"clusterName": "prod", "cluster": {"name": "staging"}}))
    assert {(use.target.name, use.means) for use in found.uses} == {
        ("prod", Means.MENTIONS),
        ("staging", Means.MENTIONS),
    }


@pytest.mark.parametrize(
    "spec",
    [
        {"replicas": 3, "name": "wanted", "containers": [{"name": "wanted", "image": "x"}]},
        {"env": [{"name": "wanted", "value": "x"}]},
        {"note": "shop/wanted"},
        {"hostname": "wanted"},
        {"href": "wanted"},
        {"secretName": ""},
        {"secretName": None, "secretRef": {"name": None}},
        {"secretName": "no name at all!"},
        {"secretName": 7, "secretRef": {"name": 7}},
        {"labels": {"app": "wanted"}},
    ],
    ids=str,
)
def test_what_is_not_shaped_like_a_reference_uses_nothing(spec: Any) -> None:
    assert walked(spec) == set()


@pytest.mark.parametrize("hole", ["{{inputs.parameters.db}}", "${DB}", "$(params.db)", "$DB"])
def test_a_name_that_is_filled_in_later_may_be_any(hole: str) -> None:
    assert walked({"secretName": f"{hole}-password"}) == {Target("Secret", "shop", "*-password")}
    assert walked({"secretName": hole}) == {Target("Secret", "shop", "*")}


def test_a_star_stands_for_anything_and_alone_for_nothing_in_particular() -> None:
    assert walked({"namespaces": ["team-*"]}) == {Target("Namespace", "", "team-*")}
    assert walked({"namespaces": ["*"], "secretName": "*"}) == set()


def test_a_whole_object_inside_is_there_to_be_made_and_what_it_names_is_used() -> None:
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "annotations": {"secretName": "not-a-reference"}},
        "spec": {"template": {"spec": {"volumes": [{"name": "v", "secret": {"secretName": "wanted"}}]}}},
    }
    found = walk(gadget({"manifests": [deployment]}))
    assert {(use.target, use.means) for use in found.uses} == {
        (Target("apps/Deployment", "shop", "web"), Means.PRODUCES),
        (SECRET, Means.USES),
    }


@pytest.mark.parametrize(
    "text",
    [
        "containers:\n- name: main\n  envFrom:\n  - secretRef:\n      name: wanted\n",
        '{"containers": [{"name": "main", "envFrom": [{"secretRef": {"name": "wanted"}}]}]}',
        "apiVersion: v1\nkind: Pod\nmetadata:\n  name: {{inputs.name}}\nspec:\n  secretName: wanted\n",
        "auth:\n  existingSecret: wanted\n",
        "ports:\n  80: 8080\n  yes: 2024-01-01\nsecretName: wanted\n",
        "if {{ .Values.x }:\n  - secretName: wanted\n\t- broken: [",
    ],
)
def test_a_manifest_that_is_written_as_text_is_read_too(text: str) -> None:
    assert SECRET in walked({"podSpecPatch": text})
    assert not walk(gadget({"podSpecPatch": text})).doubts
    assert SECRET in walked({"patches": [text]})


def test_what_a_program_is_told_by_a_flag_is_mentioned() -> None:
    found = walk(gadget({"worker": {"args": ["serve", "--config-map=wanted"]}}))
    assert {(use.target, use.means) for use in found.uses} == {
        (SECRET, Means.MENTIONS),
        (Target("ConfigMap", "shop", "wanted"), Means.MENTIONS),
    }


def test_text_that_is_no_manifest_uses_nothing() -> None:
    assert walked({"script": "#!/bin/sh\necho the secret is out\n", "note": "a\nsecret"}) == set()


def test_what_lives_in_no_namespace_and_says_none_means_any() -> None:
    found = walk({"metadata": {"name": "x"}, "spec": {"secretRef": {"name": "wanted"}}})
    assert targets(found) == {Target("Secret", "*", "wanted")}
    found = walk({"metadata": {"name": "x"}, "spec": {"secretName": "wanted", "namespace": "a"}})
    assert Target("Secret", "a", "wanted") in targets(found)
    assert Target("Secret", "*", "wanted") not in targets(found)


def test_what_is_in_metadata_is_not_walked_and_what_is_in_status_is() -> None:
    manifest = gadget({}, status={"binding": {"secretName": "wanted"}})
    manifest["metadata"]["annotations"] = {"secretName": "other"}
    manifest["metadata"]["ownerReferences"] = [{"kind": "Secret", "apiVersion": "v1", "name": "other"}]
    assert targets(walk(manifest)) == {SECRET}


def test_a_selector_chooses_what_it_says_and_anything_where_it_does_not_say() -> None:
    labels = {"matchLabels": {"app": "web"}}
    found = walk(gadget({"podSelector": labels, "secretSelector": labels, "other": {"selector": labels}}))
    chosen = {(choice.kind, choice.namespace, choice.selector) for choice in found.choices}
    assert chosen == {
        ("Pod", "shop", "app=web"),
        ("Secret", "shop", "app=web"),
        ("*", "shop", "app=web"),
        ("*", "", "app=web"),
    }


def test_a_selector_beside_one_of_namespaces_reaches_everywhere() -> None:
    found = walk(gadget({"selector": {"matchLabels": {"app": "web"}}, "namespaceSelector": {"any": True}}))
    assert ("*", "*", "app=web") in {(one.kind, one.namespace, one.selector) for one in found.choices}


def test_an_empty_selector_says_nothing_about_any_one_object() -> None:
    assert walk(gadget({"selector": {"matchLabels": {}}})) == Found()


def test_a_selector_that_nobody_understands_is_a_doubt() -> None:
    found = walk(gadget({"selector": {"matchExpressions": [{"key": "a", "operator": "Like"}]}}))
    assert found.doubts
    assert "spec.selector" in found.doubts[0]
    assert walk(gadget({"selector": {"matchLabels": {"app": "{{x}}"}}})).doubts


def test_ten_thousand_references_are_all_found_and_beyond_the_bound_there_is_a_doubt() -> None:
    many = [{"secretName": f"s-{number}"} for number in range(10_000)]
    found = walk(gadget({"parts": many}))
    assert len(found.uses) == 10_000
    assert not found.doubts
    too_many = [{"secretName": f"s-{number}"} for number in range(MOST_REFERENCES + 10)]
    assert "references" in walk(gadget({"parts": too_many})).doubts[0]


def test_what_is_too_deep_is_a_doubt_and_what_is_not_is_found() -> None:
    def nested(depth: int) -> dict[str, Any]:
        value: dict[str, Any] = {"secretName": "wanted"}
        for _ in range(depth):
            value = {"in": value}
        return value

    assert walked(nested(DEEPEST - 5)) == {SECRET}
    assert "deep" in walk(gadget(nested(DEEPEST + 5))).doubts[0]


def test_a_manifest_that_holds_itself_ends_in_a_doubt() -> None:
    """YAML has anchors, by which a file can say this."""
    loop: dict[str, Any] = {"secretName": "wanted"}
    loop["again"] = loop
    found = walk(gadget(loop))
    assert SECRET in targets(found)
    assert found.doubts
    bomb: list[Any] = ["x"]
    for _ in range(40):
        bomb = [bomb, bomb]
    assert walk(gadget(bomb)).doubts


def test_whatever_the_table_of_pods_finds_the_walk_finds_too() -> None:
    """An operator's kind with a pod spec somewhere: the parts of a Pod that can lose something."""
    lost = {"Secret", "ConfigMap", "PersistentVolumeClaim", "ServiceAccount", "resource.k8s.io/ResourceClaim"}
    missed = []
    for base, part in unfolded(POD_SPEC.parts):
        if (
            not isinstance(part, Reference)
            or part.to not in lost
            or part.kind_at
            or part.form is Form.ARGUMENT
        ):
            continue
        spec: dict[str, Any] = {}
        path = (*base, *parsed(part.at))
        put(spec, path, "wanted")
        kinds = {part.to, f"*/{part.to.rpartition('/')[2]}", "*"}
        if not any(Target(kind, "shop", "wanted") in walked({"worker": spec}) for kind in kinds):
            missed.append(path)
    assert missed == []


def test_of_the_built_in_tables_the_walk_would_find_nearly_all_references_to_what_can_be_lost() -> None:
    """A measure of the rule, on the paths that are known best."""
    parts = [(table, base, part) for table in builtin.RULES for base, part in _parts(table)]
    found = 0
    for table, base, part in parts:
        manifest: dict[str, Any] = {"kind": table.kind, "metadata": {"name": "x", "namespace": "shop"}}
        put(manifest, (*base, *parsed(part.at), *parsed(part.name)), "wanted")
        found += any(use.target.name == "wanted" for use in walk(manifest).uses)
    assert found / len(parts) > 0.95


def _parts(table: KindRules) -> list[tuple[Any, Reference]]:
    lost = ("Secret", "ConfigMap", "PersistentVolumeClaim", "ServiceAccount")
    return [
        (base, part)
        for base, part in unfolded(table.parts)
        if isinstance(part, Reference)
        and part.form is Form.NAME
        and part.to in lost
        and (*base, *parsed(part.at))[0] != "metadata"
    ]


NAMES = st.from_regex(r"[a-z]([-a-z0-9]{0,10}[a-z0-9])?", fullmatch=True)
FIELDS = st.text(
    st.characters(min_codepoint=33, max_codepoint=0x2FFF, exclude_characters='"'), min_size=1, max_size=8
)
# By which an object looks like something else, or like a reference itself.
TRICKY = st.sampled_from(
    ["name", "namespace", "kind", "apiVersion", "key", "type", "matchLabels", "items", "secret", "configMaps"]
)
LEAVES = NAMES | st.none() | st.booleans() | st.integers() | st.text(max_size=12)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(FIELDS, inner, max_size=3),
    max_leaves=12,
)
SHAPES = st.sampled_from(
    [
        lambda name: ("secretName", name),
        lambda name: ("adminPasswordSecretRef", {"name": name, "key": "k"}),
        lambda name: ("secretKeyRef", {"name": name}),
        lambda name: ("source", {"apiVersion": "v1", "kind": "Secret", "name": name}),
        lambda name: ("imagePullSecrets", [{"name": name}]),
        lambda name: ("tlsSecrets", [name]),
        lambda name: ("credentialName", name),
    ]
)


@given(data=st.data(), name=NAMES, shape=SHAPES)
def test_a_reference_is_found_wherever_it_is_put(data: st.DataObject, name: str, shape: Any) -> None:
    field, value = shape(name)
    node: Any = {**data.draw(st.dictionaries(FIELDS | TRICKY, VALUES, max_size=4)), field: value}
    for _ in range(data.draw(st.integers(0, 8))):
        siblings = data.draw(VALUES)
        if data.draw(st.booleans()):
            node = [siblings, node]
        else:
            node = {
                data.draw(TRICKY): siblings,
                data.draw(FIELDS.filter(lambda text: text != "metadata")): node,
            }
    found = walk(gadget(node if isinstance(node, dict) else {"list": node}))
    assert Target("Secret", "shop", name) in targets(found)


@given(VALUES)
def test_nothing_that_an_object_can_hold_stops_the_walk(value: Any) -> None:
    walk({"metadata": value, "spec": value})
    walk(gadget(value))
