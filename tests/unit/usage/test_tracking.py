"""In use because a deployer tracks it, or held because one might that can't be read from here."""

from __future__ import annotations

import base64
import gzip
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skoupa.kube.objects import Metadata
from skoupa.usage.found import Target
from skoupa.usage.rules import Means
from skoupa.usage.tracking import Trackers, Tracks, helm, tracks
from skoupa.usage.tracking.documents import Named, Unreadable, named_in
from skoupa.usage.tracking.flux import object_of

pytestmark = pytest.mark.unit

APPLICATION, KUSTOMIZATION = "argoproj.io/Application", "kustomize.toolkit.fluxcd.io/Kustomization"
SETTINGS = Target("ConfigMap", "shop", "settings")


def meta(name: str = "settings", namespace: str = "shop", **more: Any) -> Metadata:
    return Metadata(name=name, namespace=namespace, **more)


def named(read: Tracks | None) -> set[Target]:
    assert read is not None
    return {use.target for use in read.found.uses}


# Argo CD


def application(
    *resources: Any, server: str = "https://kubernetes.default.svc", **status: Any
) -> dict[str, Any]:
    return {
        "metadata": {"name": "shop", "namespace": "argocd"},
        "spec": {"destination": {"server": server, "namespace": "shop"}},
        "status": {"resources": list(resources), "sync": {"status": "Synced"}, **status},
    }


CONFIG = {"version": "v1", "kind": "ConfigMap", "namespace": "shop", "name": "settings"}


def test_what_an_application_deploys_is_in_use_and_the_application_is_named() -> None:
    web = {"group": "apps", "version": "v1", "kind": "Deployment", "namespace": "shop", "name": "web"}
    read = tracks(APPLICATION, application(CONFIG, web))
    assert named(read) == {SETTINGS, Target("apps/Deployment", "shop", "web")}
    assert read is not None
    assert not read.untold
    assert {(use.means, use.at) for use in read.found.uses} == {(Means.MANAGES, "status.resources[]")}


def test_what_waits_to_be_pruned_is_not_held_by_the_application() -> None:
    assert named(tracks(APPLICATION, application({**CONFIG, "requiresPruning": True}))) == set()


def test_an_application_for_another_cluster_only_mentions() -> None:
    read = tracks(APPLICATION, application(CONFIG, server="https://1.2.3.4"))
    assert read is not None
    assert {use.means for use in read.found.uses} == {Means.MENTIONS}


def test_a_resource_of_an_unknown_kind_may_live_in_no_namespace() -> None:
    read = tracks(APPLICATION, application({"group": "x.io", "kind": "Thing", "name": "a"}))
    assert named(read) == {Target("x.io/Thing", "shop", "a"), Target("x.io/Thing", "", "a")}


@pytest.mark.parametrize(
    "manifest",
    [
        {"metadata": {"name": "shop"}, "spec": {}},
        application(CONFIG, operationState={"phase": "Running"}),
        application(CONFIG, sync={"status": "Unknown"}),
        application(CONFIG, {"kind": "ConfigMap"}),
        application("strange"),
    ],
)
def test_an_application_that_does_not_say_all_holds_what_names_it(manifest: dict[str, Any]) -> None:
    read = tracks(APPLICATION, manifest)
    assert read is not None
    assert read.untold
    known = Trackers()
    known.put(APPLICATION, meta("shop", "argocd"), read)
    tracked = meta(annotations={"argocd.argoproj.io/tracking-id": "shop:/ConfigMap:shop/settings"})
    assert "does not say all it tracks" in str(known.reason("ConfigMap", tracked))
    labelled = meta(labels={"app.kubernetes.io/instance": "shop"})
    assert "Application shop" in str(known.reason("ConfigMap", labelled))


def test_who_is_tracked_by_an_application_that_is_not_here_has_to_stay() -> None:
    tracked = meta(annotations={"argocd.argoproj.io/tracking-id": "shop:/ConfigMap:shop/settings"})
    assert "not among what could be read here" in str(Trackers().reason("ConfigMap", tracked))


def test_an_application_that_was_read_whole_and_does_not_name_it_holds_it_no_more() -> None:
    known = Trackers()
    known.put(APPLICATION, meta("shop", "argocd"), Tracks())
    for told in ("shop", "argocd_shop"):
        tracked = meta(annotations={"argocd.argoproj.io/tracking-id": f"{told}:/ConfigMap:shop/settings"})
        assert known.reason("ConfigMap", tracked) is None
    other = meta(annotations={"argocd.argoproj.io/tracking-id": "elsewhere_shop:/ConfigMap:shop/settings"})
    assert known.reason("ConfigMap", other) is not None


@pytest.mark.parametrize(
    "told", ["/Service:shop/settings", "/ConfigMap:shop/web", "/ConfigMap:prod/settings"]
)
def test_an_annotation_that_was_copied_from_another_object_says_nothing(told: str) -> None:
    copied = meta(annotations={"argocd.argoproj.io/tracking-id": f"shop:{told}"})
    assert Trackers().reason("ConfigMap", copied) is None


@pytest.mark.parametrize("namespace", ["shop", ""])
def test_what_lives_in_no_namespace_has_that_of_its_application_in_the_annotation(namespace: str) -> None:
    role = "rbac.authorization.k8s.io/ClusterRole"
    told = f"shop:{role}:{namespace}/team:reader"
    tracked = meta("team:reader", "", annotations={"argocd.argoproj.io/tracking-id": told})
    assert "Application shop" in str(Trackers().reason(role, tracked))


def test_a_label_that_every_chart_writes_says_nothing_without_an_application_of_that_name() -> None:
    assert Trackers().reason("ConfigMap", meta(labels={"app.kubernetes.io/instance": "shop"})) is None


# Flux


def kustomization(*ids: str, **spec: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": "apps", "namespace": "flux-system"},
        "spec": spec,
        "status": {"inventory": {"entries": [{"id": one, "v": "v1"} for one in ids]}},
    }


FLUX_LABELS = {
    "kustomize.toolkit.fluxcd.io/name": "apps",
    "kustomize.toolkit.fluxcd.io/namespace": "flux-system",
}


def test_what_is_in_the_inventory_of_a_kustomization_is_in_use() -> None:
    read = tracks(KUSTOMIZATION, kustomization("shop_settings__ConfigMap", "shop_web_apps_Deployment"))
    assert named(read) == {SETTINGS, Target("apps/Deployment", "shop", "web")}
    assert read is not None
    assert not read.untold


@pytest.mark.parametrize(
    ("entry", "meant"),
    [
        ("shop_settings__ConfigMap", ("ConfigMap", "shop", "settings")),
        ("_shop__Namespace", ("Namespace", "", "shop")),
        (
            "_system__reader_rbac.authorization.k8s.io_ClusterRole",
            ("rbac.authorization.k8s.io/ClusterRole", "", "system:reader"),
        ),
        ("nonsense", ("", "", "")),
        ("", ("", "", "")),
    ],
)
def test_an_entry_of_the_inventory_is_namespace_name_group_and_kind(
    entry: str, meant: tuple[str, str, str]
) -> None:
    assert object_of(entry) == meant


def test_a_kustomization_that_was_read_holds_only_what_it_names() -> None:
    known = Trackers()
    assert "Kustomization flux-system/apps" in str(known.reason("ConfigMap", meta(labels=FLUX_LABELS)))
    read = tracks(KUSTOMIZATION, kustomization())
    assert read is not None
    known.put(KUSTOMIZATION, meta("apps", "flux-system"), read)
    assert known.reason("ConfigMap", meta(labels=FLUX_LABELS)) is None


@pytest.mark.parametrize(
    "manifest", [{"spec": {}}, kustomization("nonsense"), {"status": {"inventory": None}}]
)
def test_a_kustomization_without_an_inventory_that_can_be_read_holds_what_names_it(
    manifest: dict[str, Any],
) -> None:
    read = tracks(KUSTOMIZATION, manifest)
    assert read is not None
    assert read.untold
    known = Trackers()
    known.put(KUSTOMIZATION, meta("apps", "flux-system"), read)
    assert known.reason("ConfigMap", meta(labels=FLUX_LABELS)) is not None


def test_a_kustomization_that_deploys_to_another_cluster_only_mentions() -> None:
    elsewhere = kustomization("shop_settings__ConfigMap", kubeConfig={"secretRef": {"name": "a"}})
    read = tracks(KUSTOMIZATION, elsewhere)
    assert read is not None
    assert {use.means for use in read.found.uses} == {Means.MENTIONS}


def test_what_a_helm_release_of_flux_made_is_held_by_the_record_of_helm_where_it_names_one() -> None:
    labels = {"helm.toolkit.fluxcd.io/name": "web", "helm.toolkit.fluxcd.io/namespace": "shop"}
    assert "HelmRelease shop/web" in str(Trackers().reason("ConfigMap", meta(labels=labels)))
    annotations = {"meta.helm.sh/release-name": "web", "meta.helm.sh/release-namespace": "shop"}
    known = Trackers()
    known.put("Secret", meta("sh.helm.release.v1.web.v3", labels={"owner": "helm", "name": "web"}), Tracks())
    assert known.reason("ConfigMap", meta(labels=labels, annotations=annotations)) is None


# Helm

MANIFEST = """---
# Source: web/templates/config.yaml
apiVersion: v1
kind: ConfigMap
metadata:
  name: settings
  labels:
    name: not-this
data:
  text: |
    kind: Nothing
    ---
    name: nothing
---
# Source: web/templates/deployment.yaml
apiVersion: apps/v1
kind: "Deployment"
metadata:
  # where it goes
  namespace: 'other'
  name: web # the web
spec: {}
---
# only a comment
---
{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}}
---
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Secret
  metadata: {name: in-a-list}
- apiVersion: v1
  kind: ConfigMap
  metadata: {generateName: job-}
"""
IN_MANIFEST = {
    Named("ConfigMap", "", "settings"),
    Named("apps/Deployment", "other", "web"),
    Named("Service", "", "web"),
    Named("Secret", "", "in-a-list"),
    Named("ConfigMap", "", "job-*"),
}


def packed(release: Any) -> str:
    inner = base64.b64encode(gzip.compress(json.dumps(release).encode(), mtime=0))
    return base64.b64encode(inner).decode()


def record(data: str, *, status: str = "deployed", type_: str = "helm.sh/release.v1") -> dict[str, Any]:
    labels = {"owner": "helm", "name": "web", "status": status, "version": "1"}
    managed = [
        {"manager": "helm", "operation": "Update", "time": "2026-01-01T00:00:00Z", "fieldsV1": {"f:data": {}}}
    ]
    metadata = {
        "name": "sh.helm.release.v1.web.v1",
        "namespace": "shop",
        "labels": labels,
        "managedFields": managed,
    }
    return {"kind": "Secret", "type": type_, "metadata": metadata, "data": {"release": data}}


RELEASE = {
    "name": "web",
    "namespace": "shop",
    "manifest": MANIFEST,
    "config": {"password": "hunter2"},
    "hooks": [{"manifest": "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: migrate\n"}],
}


def test_the_names_in_a_manifest_are_read_however_it_is_written() -> None:
    assert set(named_in(MANIFEST)) == IN_MANIFEST


def test_what_a_deployed_release_has_in_its_manifest_is_in_use_in_its_namespace() -> None:
    read = tracks("Secret", record(packed(RELEASE)))
    assert named(read) == {
        SETTINGS,
        Target("apps/Deployment", "other", "web"),
        Target("Service", "shop", "web"),
        Target("Secret", "shop", "in-a-list"),
        Target("ConfigMap", "shop", "job-*"),
        Target("batch/Job", "shop", "migrate"),
    }
    assert "hunter2" not in repr(read)


@pytest.mark.parametrize("status", ["failed", "pending-upgrade", "uninstalling", "unknown"])
def test_a_release_that_may_have_objects_counts_and_an_older_revision_does_not(status: str) -> None:
    assert SETTINGS in named(tracks("Secret", record(packed(RELEASE), status=status)))
    assert named(tracks("Secret", record(packed(RELEASE), status="superseded"))) == set()


def test_records_in_config_maps_are_packed_once() -> None:
    manifest = record(
        base64.b64encode(gzip.compress(json.dumps(RELEASE).encode(), mtime=0)).decode(), type_=""
    )
    assert SETTINGS in named(tracks("ConfigMap", {**manifest, "kind": "ConfigMap"}))


def test_no_other_secret_is_ever_decoded() -> None:
    assert tracks("Secret", record(packed(RELEASE), type_="Opaque")) is None
    other = record(packed(RELEASE))
    other["metadata"]["labels"] = {}
    assert tracks("Secret", other) is None
    with pytest.raises(ValueError, match="only the records of Helm"):
        helm.tracks("Secret", record(packed(RELEASE), type_="Opaque"))


def bomb() -> str:
    text = b'{"manifest": "' + b" " * (helm.MOST_UNPACKED + 10) + b'"}'
    return base64.b64encode(base64.b64encode(gzip.compress(text, 1, mtime=0))).decode()


@pytest.mark.parametrize(
    "data",
    ["", "%%%", base64.b64encode(b"not packed").decode(), packed({"manifest": 7}), packed({"manifest": "a: [b"}),
     packed({"manifest": "just words"}), packed({"manifest": "kind: A\napiVersion: v1\nmetadata: {}\n"}),
     base64.b64encode(base64.b64encode(gzip.compress(b'{"manifest": ""}', mtime=0)[:-6])).decode()],
)  # fmt: skip
def test_a_record_that_can_t_be_read_holds_what_names_the_release(data: str) -> None:
    read = tracks("Secret", record(data))
    assert read is not None
    assert read.untold
    known = Trackers()
    known.put("Secret", meta("sh.helm.release.v1.web.v1", labels={"owner": "helm", "name": "web"}), read)
    mine = meta(annotations={"meta.helm.sh/release-name": "web", "meta.helm.sh/release-namespace": "shop"})
    assert "the Helm release shop/web tracks it" in str(known.reason("ConfigMap", mine))


def test_a_record_that_unpacks_without_end_is_given_up() -> None:
    read = tracks("Secret", record(bomb()))
    assert read is not None
    assert read.untold


def test_an_object_of_a_release_of_which_no_record_is_here_stays() -> None:
    mine = meta(annotations={"meta.helm.sh/release-name": "web", "meta.helm.sh/release-namespace": "shop"})
    assert Trackers().reason("ConfigMap", mine) is not None
    known = Trackers()
    known.put("Secret", meta("sh.helm.release.v1.web.v1", labels={"owner": "helm", "name": "web"}), Tracks())
    assert known.reason("ConfigMap", mine) is None
    assert known.reason("ConfigMap", meta(labels={"app.kubernetes.io/managed-by": "Helm"})) is None


NAMES = st.from_regex(r"[a-z0-9]([-a-z0-9.]{0,12}[a-z0-9])?", fullmatch=True)


@given(st.lists(st.tuples(NAMES, NAMES | st.just("")), max_size=6))
def test_plain_reading_and_the_yaml_reader_see_the_same_names(objects: list[tuple[str, str]]) -> None:
    import yaml

    documents = [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": name, **({"namespace": space} if space else {})},
        }
        for name, space in objects
    ]
    text = yaml.safe_dump_all(documents)
    expected = [Named("ConfigMap", space, name) for name, space in objects]
    assert list(named_in(text)) == expected
    assert list(named_in("\n---\n".join(map(json.dumps, documents)))) == expected


@given(st.text(max_size=200))
def test_no_manifest_makes_more_than_a_doubt(text: str) -> None:
    try:
        list(named_in(text))
    except Unreadable:
        return


# ApplySets and others


def test_the_parent_of_an_apply_set_chooses_its_members() -> None:
    parent = {
        "metadata": {
            "name": "apps",
            "namespace": "shop",
            "labels": {"applyset.kubernetes.io/id": "applyset-a-v1"},
        }
    }
    read = tracks("Secret", parent)
    assert read is not None
    assert {(choice.kind, choice.namespace, choice.selector) for choice in read.found.choices} == {
        ("*", "*", "applyset.kubernetes.io/part-of=applyset-a-v1"),
        ("*", "", "applyset.kubernetes.io/part-of=applyset-a-v1"),
    }


def test_a_member_of_an_apply_set_whose_parent_is_not_here_stays() -> None:
    member = meta(labels={"applyset.kubernetes.io/part-of": "applyset-a-v1"})
    known = Trackers()
    assert "applyset.kubernetes.io/part-of" in str(known.reason("ConfigMap", member))
    known.put("Secret", meta("apps", labels={"applyset.kubernetes.io/id": "applyset-a-v1"}), Tracks())
    assert known.reason("ConfigMap", member) is None


@pytest.mark.parametrize(
    "member",
    [meta(labels={"kapp.k14s.io/app": "1234"}), meta(annotations={"config.k8s.io/owning-inventory": "1234"})],
)
def test_members_of_what_is_not_read_stay(member: Metadata) -> None:
    assert Trackers().reason("ConfigMap", member) is not None


def test_an_object_of_nobody_is_tracked_by_nobody() -> None:
    assert Trackers().reason("ConfigMap", meta()) is None
    assert tracks("ConfigMap", {"metadata": {"name": "a"}}) is None
    assert tracks("ConfigMap", {"metadata": {"name": 7, "labels": {"owner": 7}}}) is None
    assert tracks("ConfigMap", {"metadata": None}) is None
