"""`skoupa unused` where something can't be read or understood: it is told, and what it might need is not called unused."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from skoupa.kube.resources import Resource
from skoupa.kube.transport import Request
from skoupa.sim.faults import asking
from tests.unit.cli.saying import Said, Shell
from tests.unit.cli.worlds import KEEP, Town, config_map, obj

pytestmark = pytest.mark.unit

SHOP = obj("Namespace", "shop")
HOOK = {"helm.sh/hook": "pre-install"}
WIDGETS = Resource(
    group="shop.example",
    version="v1",
    plural="widgets",
    kind="Widget",
    namespaced=True,
    singular="widget",
    verbs=("create", "delete", "get", "list", "patch", "update", "watch"),
)


@pytest.fixture
def town(skoupa: Shell, monkeypatch: pytest.MonkeyPatch) -> Town:
    return Town(skoupa, monkeypatch)


class Files:
    def __init__(self, folder: Path, skoupa: Shell) -> None:
        self._folder = folder
        self._skoupa = skoupa

    def unused(self, *objects: Mapping[str, Any] | str, now: bool = True) -> Said:
        texts = [one if isinstance(one, str) else yaml.safe_dump(dict(one)) for one in objects]
        (self._folder / "all.yaml").write_text("---\n".join(texts), encoding="utf-8")
        at = ("--now", "2026-05-01T12:00:00Z") if now else ()
        return self._skoupa("unused", "-A", "--from", str(self._folder), *at, "-o", "json", env={"TZ": "UTC"})

    def names(self, *objects: Mapping[str, Any] | str) -> list[str]:
        said = self.unused(*objects)
        assert said.code == 0, said.err
        return names(json.loads(said.out))


@pytest.fixture
def files(tmp_path: Path, skoupa: Shell) -> Files:
    return Files(tmp_path, skoupa)


def names(document: Mapping[str, Any]) -> list[str]:
    return [item["name"] for item in document["items"]]


def record(name: str, manifest: str | None, *, hook: str = "") -> dict[str, Any]:
    """`manifest` None: its values were taken out, as of every Secret in a snapshot."""
    release = {"name": name, "namespace": "shop", "manifest": manifest, "hooks": [{"manifest": hook}]}
    packed = base64.b64encode(base64.b64encode(gzip.compress(json.dumps(release).encode()))).decode()
    return obj(
        "Secret",
        f"sh.helm.release.v1.{name}.v1",
        namespace="shop",
        type="helm.sh/release.v1",
        labels={"owner": "helm", "name": name, "status": "deployed"},
        data={"release": packed if manifest is not None else ""},
    )


def of_records(request: Request) -> bool:
    return any("owner=helm" in value for _, value in request.query) and request.kind == "secrets"


# The records of Helm.


@pytest.mark.parametrize("code", [403, 500])
def test_records_of_releases_that_can_t_be_listed_may_name_anything(town: Town, code: int) -> None:
    named = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: hooked\n"
    town.holding(SHOP, record("web", "", hook=named), config_map("hooked", annotations=HOOK), config_map("c"))
    assert names(town.document("unused", "configmaps", "-A")) == ["c"]
    town.cluster.faults.answer(code, when=of_records, times=None)
    document = town.document("unused", "configmaps", "-A", code=4)
    assert names(document) == []
    assert {item["name"] for item in document["notJudged"]} == {"hooked", "c"}
    assert [gap["what"] for gap in document["gaps"]] == ["records of Helm releases in secrets"]


def test_records_that_can_t_be_listed_can_be_waived(town: Town, tmp_path: Path) -> None:
    town.holding(SHOP, config_map("c"))
    town.cluster.faults.answer(403, when=of_records, times=None)
    config = tmp_path / "settings.yaml"
    config.write_text("usage: {ignoreKinds: ['*.helm.sh']}", encoding="utf-8")
    assert names(town.document("unused", "configmaps", "-A", "--config", str(config))) == ["c"]


def test_who_may_read_records_in_one_namespace_alone_is_not_told_of_hooks(town: Town) -> None:
    town.holding(SHOP, config_map("hooked", annotations=HOOK), config_map("c"))
    town.cluster.faults.answer(
        403, when=lambda request: of_records(request) and request.path == "/api/v1/secrets", times=None
    )
    assert names(town.document("unused", "configmaps", "-n", "shop")) == ["c"]


@pytest.mark.parametrize("damage", ["no values", "corrupt"])
def test_a_record_that_can_t_be_read_holds_what_may_be_of_it(files: Files, damage: str) -> None:
    broken = record("web", None)
    if damage == "corrupt":
        broken["data"]["release"] = base64.b64encode(b"H4sIAAAA").decode()
    managed = {"app.kubernetes.io/managed-by": "Helm"}
    objects = (config_map("hooked", annotations=HOOK), config_map("old", labels=managed), config_map("c"))
    assert files.names(SHOP, broken, *objects) == ["c"]
    assert files.names(SHOP, record("web", ""), *objects) == ["c", "hooked", "old"]


# Definitions and Namespaces.


def definition() -> dict[str, Any]:
    tls = {"type": "string", "description": "Name of the Secret that has the certificate."}
    spec = {"type": "object", "properties": {"tls": tls}}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}},
    }
    body = {
        "group": "shop.example",
        "scope": "Namespaced",
        "names": {"plural": "widgets", "kind": "Widget"},
        "versions": [version],
    }
    return obj("CustomResourceDefinition", "widgets.shop.example", api="apiextensions.k8s.io/v1", spec=body)


@pytest.mark.parametrize("code", [403, 500])
def test_without_the_definitions_a_search_may_have_missed_anything(
    town: Town, code: int, tmp_path: Path
) -> None:
    widget = obj("Widget", "w", api="shop.example/v1", namespace="shop", spec={"tls": "used"})
    town.holding(
        definition(), SHOP, widget, *(obj("Secret", name, namespace="shop") for name in ("used", "left"))
    )
    assert names(town.document("unused", "secrets", "-A")) == ["left"]
    town.cluster.faults.answer(
        code, when=asking(kind="customresourcedefinitions.apiextensions.k8s.io"), times=None
    )
    document = town.document("unused", "secrets", "-A", code=4)
    assert names(document) == []
    assert "widgets.shop.example" in {gap["what"] for gap in document["gaps"]}
    assert "definition" in town("unused", "secrets", "-A").err
    config = tmp_path / "settings.yaml"
    waived = "widgets.shop.example, customresourcedefinitions.apiextensions.k8s.io"
    config.write_text(f"usage: {{ignoreKinds: [{waived}]}}", encoding="utf-8")
    assert "left" in names(town.document("unused", "secrets", "-A", "--config", str(config)))


def test_what_is_in_namespaces_that_can_t_be_read_is_not_judged(town: Town, tmp_path: Path) -> None:
    kept = obj("Namespace", "kept", labels={KEEP: "true"})
    town.holding(SHOP, kept, config_map("c"), config_map("k", namespace="kept"))
    assert names(town.document("unused", "configmaps", "-A")) == ["c"]
    town.cluster.faults.answer(403, when=asking(kind="namespaces", verb="list"), times=None)
    document = town.document("unused", "configmaps", "-A", code=4)
    assert names(document) == []
    assert [gap["what"] for gap in document["gaps"]] == ["namespaces"]
    # Of one namespace it can still be asked by its name.
    assert names(town.document("unused", "configmaps", "-n", "kept")) == []
    assert names(town.document("unused", "configmaps", "-n", "shop")) == ["c"]
    config = tmp_path / "settings.yaml"
    config.write_text("usage: {ignoreKinds: [namespaces]}", encoding="utf-8")
    assert names(town.document("unused", "configmaps", "-A", "--config", str(config))) == ["k", "c"]
    town.cluster.faults.answer(403, when=asking(kind="namespaces"), times=None)
    assert names(town.document("unused", "configmaps", "-n", "shop", code=4)) == []


# Kinds that this version does not know.


def test_a_kind_of_a_newer_kubernetes_is_searched_and_nothing_is_proved_beside_it(files: Files) -> None:
    volume = {"name": "v", "secret": {"secretName": "used"}}
    group = obj(
        "PodGroup",
        "g",
        api="scheduling.k8s.io/v1alpha2",
        namespace="shop",
        spec={"priorityClassName": "high", "template": {"spec": {"volumes": [volume]}}},
    )
    high = obj("PriorityClass", "high", api="scheduling.k8s.io/v1", value=1)
    secrets = [obj("Secret", name, namespace="shop") for name in ("used", "left")]
    said = files.unused(SHOP, group, high, *secrets)
    (item,) = json.loads(said.out)["items"]
    assert (item["name"], item["confidence"]) == ("left", "walked")
    assert item["walkedKinds"] == ["scheduling.k8s.io/PodGroup"]


def test_a_kind_of_a_newer_kubernetes_that_can_t_be_read_may_use_anything(town: Town) -> None:
    groups = Resource(
        group="scheduling.k8s.io",
        version="v1alpha2",
        plural="podgroups",
        kind="PodGroup",
        namespaced=True,
        singular="podgroup",
        verbs=WIDGETS.verbs,
    )
    town.cluster.install(groups)
    town.holding(SHOP, config_map("c"))
    assert names(town.document("unused", "configmaps", "-A")) == ["c"]
    town.cluster.faults.answer(403, when=asking(kind="podgroups.scheduling.k8s.io"), times=None)
    document = town.document("unused", "configmaps", "-A", code=4)
    assert [gap["what"] for gap in document["gaps"]] == ["podgroups.scheduling.k8s.io"]


@pytest.mark.parametrize("version", ["extensions/v1beta1", "networking.k8s.io/v1beta1"])
def test_manifests_of_old_versions_are_read(files: Files, version: str) -> None:
    path = {"backend": {"serviceName": "behind", "servicePort": 80}}
    spec = {
        "backend": {"serviceName": "otherwise", "servicePort": 80},
        "tls": [{"secretName": "certificate"}],
        "rules": [{"http": {"paths": [path]}}],
    }
    ingress = obj("Ingress", "i", api=version, namespace="shop", spec=spec)
    mounted = {"volumes": [{"name": "v", "configMap": {"name": "mounted"}}], "containers": []}
    deployment = obj(
        "Deployment", "d", api="extensions/v1beta1", namespace="shop", spec={"template": {"spec": mounted}}
    )
    services = [
        obj("Service", name, namespace="shop", spec={"selector": {"a": "b"}})
        for name in ("behind", "otherwise", "left")
    ]
    used = (obj("Secret", "certificate", namespace="shop"), config_map("mounted"))
    assert files.names(SHOP, ingress, deployment, *services, *used) == ["left"]


def test_a_text_that_is_too_long_to_be_read_is_a_doubt(files: Files) -> None:
    filling = "# one line like all others\n" * 20_000
    text = f"{filling}configMapRef:\n  name: used\n"
    widget = obj("Widget", "w", api="shop.example/v1", namespace="shop", spec={"values": text})
    said = files.unused(SHOP, widget, config_map("used"), config_map("c"))
    assert said.code == 4
    assert names(json.loads(said.out)) == []
    assert "Widget shop/w: a text in it is longer than 256 KiB" in said.err
    as_json = json.dumps({"filling": filling, "configMapRef": {"name": "used"}})
    widget["spec"]["values"] = as_json
    assert files.names(SHOP, widget, config_map("used"), config_map("c")) == ["c"]


# Manifests.


def test_a_lease_that_was_renewed_in_times_to_come_does_not_say_when_it_is(files: Files) -> None:
    def lease(name: str, renewed: str) -> dict[str, Any]:
        spec = {"holderIdentity": "x", "renewTime": renewed, "leaseDurationSeconds": 15}
        return obj("Lease", name, api="coordination.k8s.io/v1", namespace="shop", spec=spec)

    leases = (
        lease("future", "2099-01-01T00:00:00.000000Z"),
        lease("live", "2026-05-01T10:00:00.000000Z"),
    )
    said = files.unused(SHOP, *leases, now=False)
    document = json.loads(said.out)
    assert document["now"] == "2026-05-01T10:00:00Z"
    assert names(document) == []


@pytest.mark.parametrize(
    ("metadata", "told"),
    [
        ("namespace: 123", "ConfigMap c: metadata.namespace, 123, is not text"),
        ("ownerReferences: x", "ConfigMap c: metadata.ownerReferences is not a list"),
        ("ownerReferences: [x]", "ConfigMap c: an owner in metadata.ownerReferences has no apiVersion"),
        ("ownerReferences: [{kind: Foo}]", "has no apiVersion and no name and no uid"),
    ],
)
def test_metadata_that_can_t_be_of_an_object_is_told_with_its_place(
    files: Files, metadata: str, told: str
) -> None:
    said = files.unused(f"{{apiVersion: v1, kind: ConfigMap, metadata: {{name: c, {metadata}}}}}\n")
    assert said.code == 2
    assert told in said.sentence
    assert "all.yaml, document 1" in said.sentence


def test_a_kind_in_small_letters_is_told_with_how_it_is_written(files: Files) -> None:
    deployment = obj("deployment", "d", api="apps/v1", namespace="shop", spec={})
    said = files.unused(SHOP, deployment, config_map("c"))
    assert said.code == 2
    assert "there is no kind deployment of apps/v1" in said.sentence
    assert "write kind: Deployment" in said.sentence


@pytest.mark.parametrize(
    "annotations",
    [
        {"argocd.argoproj.io/hook": "PreSync"},
        {"argocd.argoproj.io/sync-options": "ServerSideApply=true, Prune=false"},
        {"helm.sh/resource-policy": "keep"},
        {"configmanagement.gke.io/managed": "enabled"},
    ],
)
def test_what_a_deployer_was_told_to_leave_stays(files: Files, annotations: dict[str, str]) -> None:
    assert files.names(SHOP, config_map("held", annotations=annotations), config_map("c")) == ["c"]
