"""Objects as no manual shows them: owners in other namespaces, frozen ones, very large ones, and one that names thousands."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from skoupa.kube.decoding import decode_list
from skoupa.kube.objects import WHOLE
from skoupa.usage.found import Found
from skoupa.usage.graph import Graph
from skoupa.usage.needs import Needed, Needs, Unneeded
from skoupa.usage.reading import shipped
from skoupa.usage.sight import Sight
from skoupa.usage.walking import walk
from tests.unit.cli.saying import Shell
from tests.unit.usage.making import row
from tests.unit.usage.pitfalls.making import ELSEWHERE, config, custom, mounting, owned_by, workload

pytestmark = pytest.mark.unit

UID = "aaaaaaaa-0000-0000-0000-000000000001"
MANY = 10_000
# The largest that etcd takes.
LARGE = 1_500_000


@pytest.fixture
def skoupa(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(monkeypatch, capsys)


class Asked:
    def __init__(self, folder: Path, skoupa: Shell) -> None:
        self._file = folder / "all.json"
        self._skoupa = skoupa

    def __call__(self, *objects: Any, code: int = 0) -> set[str]:
        """The ConfigMaps of all namespaces that are told."""
        self._file.write_text(
            json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}), encoding="utf-8"
        )
        said = self._skoupa("unused", "configmaps", "-A", "--from", str(self._file), "-o", "json")
        assert said.code == code, said.err
        return {item["name"] for item in json.loads(said.out)["items"]}


@pytest.fixture
def told(tmp_path: Path, skoupa: Shell) -> Asked:
    return Asked(tmp_path, skoupa)


def test_an_owner_in_another_namespace_keeps_while_it_lives_though_the_server_would_not_heed_it(
    told: Asked,
) -> None:
    owners = owned_by("apps/v1", "Deployment", "web", UID)
    owner = workload("Deployment", uid=UID, pod={})
    assert told(owner, config("kept", namespace=ELSEWHERE, owners=owners), config("left")) == {"left"}


def test_an_owner_in_another_namespace_that_is_gone_keeps_nothing(told: Asked) -> None:
    owners = owned_by("apps/v1", "Deployment", "web", UID)
    namesake = workload("Deployment", uid=UID.replace("a", "b"), pod={})
    assert told(namesake, config("left", namespace=ELSEWHERE, owners=owners)) == {"left"}


@pytest.mark.parametrize("version", ["apps/v1beta1", "extensions/v1beta1"])
def test_an_owner_is_found_though_nobody_serves_the_version_that_the_reference_says(
    told: Asked, version: str
) -> None:
    owners = owned_by(version, "Deployment", "web", UID)
    owner = workload("Deployment", uid=UID, pod={})
    assert told(owner, config("kept", owners=owners), config("left")) == {"left"}


def test_an_owner_of_a_kind_that_nobody_serves_may_live(told: Asked) -> None:
    owners = owned_by("extensions/v1beta1", "Deployment", "web", UID)
    assert told(config("kept", owners=owners), config("left"), code=4) == {"left"}


def test_a_frozen_config_map_is_judged_like_any_other(told: Asked) -> None:
    frozen = [{**config(name), "immutable": True, "data": {"a": "b"}} for name in ("used", "left")]
    user = workload("Deployment", pod=mounting(configMap={"name": "used"}))
    assert told(*frozen, user) == {"left"}


@pytest.mark.parametrize("large", ["thing", "built-in user", "custom user"])
def test_an_object_of_a_megabyte_and_a_half_is_read_to_its_end(told: Asked, large: str) -> None:
    filling = "x" * LARGE
    used, left = config("used"), config("left")
    user = workload("Deployment", pod=mounting(configMap={"name": "used"}))
    if large == "thing":
        left["data"] = used["data"] = {"filling": filling}
    elif large == "built-in user":
        user["metadata"]["annotations"] = {"example.com/filling": filling}
    else:
        # What is named stands behind it.
        user = custom("shop.example/v1", "Widget", filling=filling, then={"configMapRef": {"name": "used"}})
    assert told(used, left, user) == {"left"}


@pytest.mark.parametrize(
    ("kind", "key", "kept"),
    [
        ("networking.k8s.io/Ingress", "alb.ingress.kubernetes.io/auth-idp-oidc", "Secret"),
        ("Pod", "sidecar.istio.io/userVolume", "Secret"),
        ("Pod", "k8s.v1.cni.cncf.io/networks", "k8s.cni.cncf.io/NetworkAttachmentDefinition"),
    ],
)
@pytest.mark.parametrize("depth", [900, 20_000])
def test_an_annotation_that_is_nested_too_deep_may_name_anything_of_what_it_names(
    kind: str, key: str, kept: str, depth: int
) -> None:
    name = "wanted" if depth < 1000 else "*"
    text = f'[{{"name": "wanted", "secretName": "wanted", "more": {"[" * depth}{"]" * depth}}}]'
    manifest = {"metadata": {"name": "web", "namespace": "shop", "uid": "1", "annotations": {key: text}}}
    body = json.dumps({"metadata": {}, "items": [{"kind": kind, **manifest}]}).encode()
    readings = shipped()
    _, (item,), _ = decode_list(body, readings.view(kind), doing="test")
    for found in (readings.found(kind, item), readings.from_manifest(kind, manifest)):
        assert (kept, name) in {(use.target.kind, use.target.name) for use in found.uses}


def test_one_object_that_names_ten_thousand_others_keeps_each_of_them() -> None:
    volumes = [{"name": f"v{n}", "configMap": {"name": f"c{n}"}} for n in range(MANY)]
    pod = {"containers": [], "volumes": volumes}
    manifest = {"kind": "Deployment", "metadata": {"name": "web", "namespace": "shop", "uid": "1"}}
    manifest["spec"] = {"template": {"spec": pod}}
    readings = shipped()
    body = json.dumps({"metadata": {}, "items": [manifest]}).encode()
    began = time.process_time()
    _, (item,), bad = decode_list(body, readings.view("apps/Deployment"), doing="test")
    assert not bad
    found = readings.found("apps/Deployment", item)
    _keeps_all(found, row("apps/Deployment", "web"))
    assert time.process_time() - began < 4


def test_also_one_that_no_table_knows() -> None:
    manifest = {
        "apiVersion": "shop.example/v1",
        "kind": "Widget",
        "metadata": {"name": "w", "namespace": "shop", "uid": "1"},
        "spec": {"parts": [{"configMapRef": {"name": f"c{n}"}} for n in range(MANY)]},
    }
    _, (item,), _ = decode_list(
        json.dumps({"metadata": {}, "items": [manifest]}).encode(), WHOLE, doing="test"
    )
    found = walk(item, schema=None)
    _keeps_all(found, row("shop.example/Widget", "w"))


def _sight() -> Sight:
    readings = shipped()
    return Sight(readings=readings, read=frozenset({*readings.kinds(), "shop.example/Widget", "ConfigMap"}))


def _keeps_all(found: Found, user: Any) -> None:
    graph = Graph()
    targets = [row("ConfigMap", f"c{n}") for n in range(MANY)]
    for target in targets:
        graph.put(target, Found())
    graph.put(user, found)
    needs = Needs(graph, _sight())
    assert not found.doubts
    assert [one.name for one in targets if not isinstance(needs.of(one), Needed)] == []
    graph.remove(user.uid)
    assert [one.name for one in targets if needs.of(one) != Unneeded("proved")] == []
