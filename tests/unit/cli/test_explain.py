"""`skoupa explain`: one object, everything that is said of it, in words and as a document."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest

from skoupa.cli.looking.explain import explain
from skoupa.cli.looking.explained import Explanation, in_words
from skoupa.cli.terminal.items import Parent
from skoupa.cli.terminal.targets import Target, read_targets
from skoupa.cli.worlds import World
from skoupa.errors import UsageError
from skoupa.settings import Settings
from skoupa.sim.cluster import EmbeddedCluster
from skoupa.sim.state.access import Rule
from tests.unit.cli.saying import Shell
from tests.unit.cli.worlds import KEEP, TTL, Town, config_map, granting, looking, obj

pytestmark = pytest.mark.unit

DEPLOYMENT_UID = "aaaaaaaa-0000-0000-0000-000000000001"
SET_UID = "aaaaaaaa-0000-0000-0000-000000000002"


def explaining(
    *objects: dict[str, Any], target: str, user: str = "", prepare: Any = lambda _: None
) -> Explanation:
    async def work(world: World, _: EmbeddedCluster) -> Explanation:
        found, missing = await explain(world, tuple(target.split()), settings=Settings())
        if missing:
            raise missing[0][1]
        return found[0]

    return looking(work, *objects, namespace="shop", user=user, prepare=prepare)


def words(told: Explanation) -> list[str]:
    return list(in_words(told, UTC))


def owned(kind: str, name: str, uid: str) -> list[dict[str, Any]]:
    return [{"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": uid, "controller": True}]


def chain(**labels: str) -> list[dict[str, Any]]:
    """A Pod of a ReplicaSet of a Deployment; labels by kind."""
    ttl = {kind: {TTL: value} for kind, value in labels.items()}
    return [
        obj(
            "Deployment",
            "web",
            api="apps/v1",
            namespace="shop",
            uid=DEPLOYMENT_UID,
            labels=ttl.get("deployment"),
        ),
        obj(
            "ReplicaSet",
            "web-1",
            api="apps/v1",
            namespace="shop",
            uid=SET_UID,
            owners=owned("Deployment", "web", DEPLOYMENT_UID),
        ),
        obj(
            "Pod",
            "web-1-x",
            namespace="shop",
            owners=owned("ReplicaSet", "web-1", SET_UID),
            labels=ttl.get("pod"),
        ),
    ]


def test_it_says_when_and_why() -> None:
    told = words(explaining(config_map("a", "4h"), target="cm/a"))
    assert told[:3] == [
        "ConfigMap shop/a",
        "  Goes Fri 2026-05-01 14:00 UTC, in 2h.",
        "  why: cleanup.kyverno.io/ttl=4h, counted from 2026-05-01T10:00:00Z",
    ]


def test_it_says_what_holds_it_and_until_when() -> None:
    told = words(explaining(config_map("a", "1h", labels={KEEP: "2026-05-20"}), target="cm/a"))
    assert (
        "  Due Fri 2026-05-01 11:00 UTC, 1h ago, but held: it goes Wed 2026-05-20 00:00 UTC, in 18d." in told
    )
    assert "  held by: kept by its label skoupa.dev/keep=2026-05-20 (until 2026-05-20T00:00:00Z)" in told
    told = words(explaining(config_map("a", "1h", labels={KEEP: "yes"}), target="cm/a"))
    assert told[1] == "  Due Fri 2026-05-01 11:00 UTC, 1h ago, but held: it stays."


def test_an_object_without_a_label_is_wanted_gone_by_nobody() -> None:
    told = explaining(config_map("a"), target="cm/a")
    assert words(told) == ["ConfigMap shop/a", "  Nothing wants it to go."]
    assert told.item.due is None
    assert told.item.claims == ()


def test_it_says_what_would_hold_it_though_nothing_wants_it_to_go() -> None:
    told = words(explaining(config_map("a", labels={KEEP: "true"}), target="cm/a"))
    assert "  would be held by: kept by its label skoupa.dev/keep=true" in told


def test_it_names_the_chain_of_owners_and_who_makes_it_anew() -> None:
    told = explaining(*chain(pod="1h"), target="pod/web-1-x")
    assert "  owner: ReplicaSet shop/web-1, lives" in words(told)
    assert "  owner: Deployment shop/web, lives" in words(told)
    assert "  note: ReplicaSet web-1 will create it again" in words(told)
    owners = [(parent.kind, parent.state) for parent in told.parents if parent.relation == "owner"]
    assert owners == [("ReplicaSet", "lives"), ("Deployment", "lives")]


def test_it_says_with_whom_an_object_without_a_time_goes_along() -> None:
    told = words(explaining(*chain(deployment="3h"), target="pod/web-1-x"))
    assert told[1] == "  Nothing wants it to go."
    assert told[2] == "  Goes along with its owner Deployment shop/web: Fri 2026-05-01 13:00 UTC, in 1h."
    namespace = obj("Namespace", "shop", labels={TTL: "3h"})
    told = words(explaining(namespace, config_map("a", "1d"), target="cm/a"))
    assert "  Goes along with its Namespace shop: Fri 2026-05-01 13:00 UTC, in 1h." in told
    told = words(explaining(namespace, config_map("a", "150m"), target="cm/a"))
    assert not any("Goes along" in line for line in told), "its own time comes first"


def test_a_kept_object_is_not_said_to_go_along_with_its_namespace() -> None:
    namespace = obj("Namespace", "shop", labels={TTL: "3h"})
    told = words(explaining(namespace, config_map("a", labels={KEEP: "true"}), target="cm/a"))
    assert not any("Goes along" in line for line in told)


def test_owners_that_are_gone_or_can_not_be_read_are_told_as_such() -> None:
    pod = obj("Pod", "lost", namespace="shop", owners=owned("ReplicaSet", "gone", SET_UID))
    [owner] = [parent for parent in explaining(pod, target="po/lost").parents if parent.relation == "owner"]
    assert owner.state == "gone"

    def no_sets(cluster: EmbeddedCluster) -> None:
        cluster.deny(verbs=("get", "list"), resources=("replicasets.apps",))

    told = explaining(*chain(), target="po/web-1-x", prepare=no_sets)
    [owner] = [parent for parent in told.parents if parent.relation == "owner"]
    assert owner.state == "unreadable"
    assert "forbidden" in owner.why


def test_a_missing_right_to_delete_is_a_hold() -> None:
    told = explaining(
        config_map("a", "1h"),
        target="cm/a",
        user="bob",
        prepare=granting(Rule(verbs=("get", "list"), resources=("*",))),
    )
    assert "  held by: no permission: delete configmaps in shop" in words(told)


def test_who_may_list_but_not_get_is_answered_too() -> None:
    told = explaining(
        config_map("a", "1h"),
        target="cm/a",
        user="bob",
        prepare=granting(Rule(verbs=("list", "delete"), resources=("*",))),
    )
    assert told.item.due == "2026-05-01T11:00:00Z"


def test_an_object_that_is_being_deleted_is_said_to_be() -> None:
    going = config_map("a")
    going["metadata"] |= {"deletionTimestamp": "2026-05-01T11:00:00Z", "finalizers": ["shop.example/slow"]}
    told = words(explaining(going, target="cm/a"))
    assert told[1] == "  Is being deleted since Fri 2026-05-01 11:00 UTC, 1h ago."
    assert any("waiting for shop.example/slow" in line for line in told)


def test_what_is_not_there_is_a_sentence_with_the_namespace_that_was_meant() -> None:
    with pytest.raises(UsageError, match="there is no ConfigMap nosuch in shop"):
        explaining(config_map("a"), target="cm/nosuch")
    with pytest.raises(UsageError, match=r"there is no Node nosuch: "):
        explaining(config_map("a"), target="node/nosuch")


def test_a_label_written_as_an_annotation_is_told_with_the_command_that_makes_it_one() -> None:
    told = words(explaining(config_map("a", annotations={TTL: "1h"}), target="cm/a"))
    assert told[1] == "  Nothing wants it to go."
    assert (
        f"  note: {TTL} is written as an annotation and does nothing: write it under metadata.labels, "
        f"or run kubectl label configmaps/a -n shop {TTL}=1h"
    ) in told


def test_a_keep_label_that_was_probably_meant_otherwise_is_told_with_what_to_write() -> None:
    told = words(explaining(config_map("a", labels={KEEP: "FALSE"}), target="cm/a"))
    assert (
        f"  note: {KEEP}=FALSE keeps for good: only false, in lower case, says not to keep; "
        "write false, or remove the label"
    ) in told


def test_a_namespace_is_explained_with_what_goes_along() -> None:
    told = explaining(obj("Namespace", "shop", labels={TTL: "1d"}), config_map("a"), target="ns/shop")
    assert "  note: takes along 1 object (configmaps 1)" in words(told)
    assert told.item.takes_along


def test_a_definition_takes_its_objects_along() -> None:
    names = {"plural": "widgets", "singular": "widget", "kind": "Widget"}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object"}},
    }
    definition = obj(
        "CustomResourceDefinition",
        "widgets.shop.example",
        api="apiextensions.k8s.io/v1",
        labels={TTL: "1d"},
        spec={"group": "shop.example", "scope": "Namespaced", "names": names, "versions": [version]},
    )
    told = explaining(
        definition, obj("Widget", "w", api="shop.example/v1", namespace="shop"), target="widget/w"
    )
    found = {parent.relation: parent for parent in told.parents}
    assert isinstance(found["definition"], Parent)
    assert any("its CustomResourceDefinition widgets.shop.example" in line for line in words(told))


@pytest.mark.parametrize(
    ("texts", "targets"),
    [
        (("pod/web",), [Target("pod", "web")]),
        (("pod", "web", "db"), [Target("pod", "web"), Target("pod", "db")]),
        (("deployment.apps/a", "cm/b"), [Target("deployment.apps", "a"), Target("cm", "b")]),
        (("apps/v1/Deployment/a",), [Target("apps/v1/Deployment", "a")]),
        (("v1/Pod/web",), [Target("v1/Pod", "web")]),
        (("pod/shop/web",), [Target("pod", "web", "shop")]),
        (("apps/v1/Deployment/shop/a",), [Target("apps/v1/Deployment", "a", "shop")]),
        (("deployment.apps/v1/a",), [Target("deployment.apps", "a", "v1")]),
    ],
)
def test_objects_are_named_as_with_kubectl(texts: Sequence[str], targets: list[Target]) -> None:
    assert read_targets(texts) == targets


@pytest.mark.parametrize(
    "texts", [("web",), ("pod/",), ("/web",), ("pod/a", "b"), ("pod//web",), ("pod/a/b/c",)]
)
def test_what_names_no_object_is_refused(texts: Sequence[str]) -> None:
    with pytest.raises(UsageError, match="KIND/NAME"):
        read_targets(texts)


@pytest.mark.parametrize("target", ["cm/%2e%2e", "cm/shop/..", "cm/100%", "cm/%2e/a"])
@pytest.mark.parametrize("command", ["explain", "keep", "refresh"])
def test_a_name_that_no_object_can_have_is_misuse_with_advice(
    skoupa: Shell, monkeypatch: pytest.MonkeyPatch, target: str, command: str
) -> None:
    said = Town(skoupa, monkeypatch)(command, target, "-n", "shop")
    assert said.code == 2
    assert "no object can be called" in said.sentence
    assert "write its name as" in said.sentence


def test_several_objects_are_explained_and_one_that_is_not_there_does_not_hide_the_others(
    skoupa: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    town = Town(skoupa, monkeypatch).holding(config_map("a", "4h"), config_map("b", "5h", namespace="other"))
    said = town("explain", "cm/shop/a", "cm/shop/nosuch", "cm/other/b")
    assert said.code == 2
    assert said.out.index("ConfigMap shop/a\n  Goes ") < said.out.index("\n\nConfigMap other/b\n  Goes ")
    assert said.err == "skoupa: there is no ConfigMap nosuch in shop: check the name, -n and the context\n"
    document = town.document("explain", "cm/shop/a", "cm/other/b")
    assert [item["name"] for item in document["items"]] == ["a", "b"]


def test_what_plan_names_can_be_handed_to_explain(skoupa: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    town = Town(skoupa, monkeypatch).holding(
        obj("Namespace", "shop", labels={TTL: "3d"}), config_map("a", "4h"), config_map("b", "5h")
    )
    named = town("plan", "-A", "-o", "name").out.split()
    assert len(named) == 3
    said = town("explain", *named)
    assert said.code == 0
    assert said.out.count("Goes ") == 3


def test_a_kind_that_the_controller_does_not_watch_is_said_to_stay() -> None:
    lease = obj("Lease", "lock", api="coordination.k8s.io/v1", namespace="shop", labels={TTL: "3h"})
    told = words(explaining(lease, target="lease/lock"))
    assert told[1].endswith("but held: it stays.")
    assert any("add leases.coordination.k8s.io to the setting watchAlso" in line for line in told)


def test_a_namespace_is_looked_into_as_the_controller_will() -> None:
    lock = obj("Lease", "lock", api="coordination.k8s.io/v1", namespace="shop", labels={KEEP: "true"})
    told = words(explaining(obj("Namespace", "shop", labels={TTL: "1h"}), lock, target="ns/shop"))
    assert any("Lease shop/lock, which is kept" in line for line in told)


def test_a_protection_that_protects_nothing_is_told(
    skoupa: Shell, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    town = Town(skoupa, monkeypatch).holding(obj("Namespace", "shop"), config_map("a", "1h"))
    config = tmp_path / "settings.yaml"
    config.write_text("protect: {kinds: [ConfigMapp]}\n")
    said = town("explain", "configmap/a", "-n", "shop", "--config", str(config))
    assert said.code == 0
    assert "protect.kinds: 'ConfigMapp' protects nothing: there is no such kind; did you mean" in said.err


def test_a_refresh_that_is_not_understood_is_shown_as_what_holds_it_with_what_to_write() -> None:
    odd = {"skoupa.dev/refreshed-at": "2026-05-01 11:00:00"}
    told = words(explaining(config_map("a", "1h", annotations=odd), target="cm/a"))
    (held,) = (line for line in told if "held by" in line)
    assert "skoupa.dev/refreshed-at=2026-05-01 11:00:00 is not an RFC 3339 time" in held
    assert "write 2026-05-01T11:00:00Z, which is in UTC" in held
