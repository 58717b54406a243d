"""What went comes back as it was: manifests without server fields are the same before and after."""

from __future__ import annotations

import base64
import json
import secrets
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from harness.controlplane import Access
from skoupa.errors import NotFound, UnknownKind
from skoupa.kube.client import Client
from skoupa.kube.lists import Scope, everything
from skoupa.kube.objects import METADATA, WHOLE
from skoupa.kube.resources import CONFIG_MAPS, CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES, PODS, Resource
from skoupa.ledger.trash.manifests import without_addresses
from skoupa.ledger.trash.sealing import Key
from tests.cluster.reaching import eventually, exists, new_namespace, remove_namespace
from tests.cluster.trash.deleting import TTL, Bin

pytestmark = pytest.mark.cluster

DONE, USAGE, LEFTOVERS, DENIED = 0, 2, 4, 6
CONTAINER = {"name": "main", "image": "example/main:1"}
VALUE = "a-value-that-is-searched-for"
ENCODED = base64.b64encode(VALUE.encode()).decode()


def pod_spec(**rest: Any) -> dict[str, Any]:
    return {"containers": [CONTAINER], **rest}


def template(app: str) -> dict[str, Any]:
    return {"metadata": {"labels": {"app": app}}, "spec": pod_spec()}


SPREAD: dict[str, dict[str, Any]] = {
    "configmaps": {"data": {"a": "1"}, "binaryData": {"b": "AAEC"}},
    "services": {"spec": {"type": "NodePort", "selector": {"app": "x"}, "ports": [{"port": 80}]}},
    "persistentvolumeclaims": {
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
            "storageClassName": "none",
        }
    },
    "jobs.batch": {
        "spec": {"template": {"spec": pod_spec(restartPolicy="Never")}, "backoffLimit": 1, "suspend": True}
    },
    "cronjobs.batch": {
        "spec": {
            "schedule": "0 3 * * *",
            "suspend": True,
            "jobTemplate": {"spec": {"template": {"spec": pod_spec(restartPolicy="Never")}}},
        }
    },
    "deployments.apps": {
        "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "d"}}, "template": template("d")}
    },
    "statefulsets.apps": {
        "spec": {
            "replicas": 1,
            "serviceName": "s",
            "selector": {"matchLabels": {"app": "s"}},
            "template": template("s"),
            "volumeClaimTemplates": [
                {
                    "metadata": {"name": "data"},
                    "spec": {
                        "accessModes": ["ReadWriteOnce"],
                        "resources": {"requests": {"storage": "1Gi"}},
                    },
                }
            ],
        }
    },
    "serviceaccounts": {"imagePullSecrets": [{"name": "pull"}]},
    "roles.rbac.authorization.k8s.io": {
        "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]
    },
    "ingresses.networking.k8s.io": {
        "spec": {"defaultBackend": {"service": {"name": "web", "port": {"number": 80}}}}
    },
    "networkpolicies.networking.k8s.io": {"spec": {"podSelector": {}, "policyTypes": ["Ingress"]}},
    "horizontalpodautoscalers.autoscaling": {
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            "minReplicas": 1,
            "maxReplicas": 3,
        }
    },
    "poddisruptionbudgets.policy": {"spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "x"}}}},
    "pods": {"spec": pod_spec(terminationGracePeriodSeconds=0)},
    "resourcequotas": {"spec": {"hard": {"pods": "100"}}},
}


@pytest.fixture
async def furnished(trash: Bin, namespace: str) -> str:
    """A namespace with its default account: Pods are refused before."""
    accounts = await trash.kind("serviceaccounts")
    await eventually(
        lambda: exists(trash.client, accounts, "default", namespace=namespace), what="the default account"
    )
    return namespace


@pytest.mark.parametrize("kind", SPREAD)
async def test_an_object_of_any_kind_comes_back_as_it_was(trash: Bin, furnished: str, kind: str) -> None:
    resource = await trash.kind(kind)
    body = {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {
            "name": "web",
            "labels": {TTL: "1h", "team": "payments"},
            "annotations": {"note": "by hand"},
        },
        **SPREAD[kind],
    }
    made = await trash.client.create(resource, body, namespace=furnished)
    before = await trash.bare(kind, "web", namespace=furnished)
    entry_id = await trash.delete(kind, "web", namespace=furnished)
    done = await trash.restore(entry_id)
    assert done[f"{resource.kind}/web"]["outcome"] == {"what": "restored", "text": ""}
    assert await trash.bare(kind, "web", namespace=furnished) == before
    after = await trash.read(kind, "web", namespace=furnished)
    assert after["metadata"]["uid"] == done[f"{resource.kind}/web"]["newUid"] != made["metadata"]["uid"]
    assert TTL not in after["metadata"]["labels"]


async def test_a_deployment_comes_back_with_its_controller_making_the_rest(
    trash: Bin, furnished: str
) -> None:
    deployments, sets = await trash.kind("deployments.apps"), await trash.kind("replicasets.apps")
    spec = {"replicas": 2, "selector": {"matchLabels": {"app": "d"}}, "template": template("d")}
    body = {"metadata": {"name": "web", "labels": {TTL: "1h"}}, "spec": spec}
    await trash.client.create(deployments, body, namespace=furnished)

    async def running(besides: frozenset[str] = frozenset()) -> frozenset[str]:
        found = await _list(trash.client, PODS, furnished)
        uids = frozenset(pod["metadata"]["uid"] for pod in found) - besides
        return uids if len(uids) == 2 else frozenset()

    old = await eventually(running, what="two Pods")
    before = await trash.bare("deployments.apps", "web", namespace=furnished)
    entry_id = await trash.delete("deployments.apps", "web", namespace=furnished)

    async def empty() -> bool:
        return not await _list(trash.client, sets, furnished) and not await _list(
            trash.client, PODS, furnished
        )

    await eventually(empty, what="the cascade", seconds=60)
    done = await trash.restore(entry_id, "--with-dependents")
    assert {key: item["outcome"]["what"] for key, item in done.items()} == {"Deployment/web": "restored"}
    await eventually(lambda: running(old), what="two Pods again")
    assert await trash.bare("deployments.apps", "web", namespace=furnished) == before


async def test_what_a_deployment_without_pods_makes_again_is_no_failure(trash: Bin, furnished: str) -> None:
    """Its only ReplicaSet looks like an earlier revision, and is there before that one could come back."""
    deployments, sets = await trash.kind("deployments.apps"), await trash.kind("replicasets.apps")
    spec = {"replicas": 0, "selector": {"matchLabels": {"app": "d"}}, "template": template("d")}
    body = {"metadata": {"name": "web", "labels": {TTL: "1h"}}, "spec": spec}
    await trash.client.create(deployments, body, namespace=furnished)
    (made,) = await eventually(lambda: _list(trash.client, sets, furnished), what="its ReplicaSet")
    entry_id = await trash.delete("deployments.apps", "web", namespace=furnished)

    async def empty() -> bool:
        return not await _list(trash.client, sets, furnished)

    await eventually(empty, what="the cascade", seconds=60)
    done = await trash.restore(entry_id, "--with-dependents")
    assert done.pop("Deployment/web")["outcome"]["what"] == "restored"
    ((name, again),) = done.items()
    assert name == f"ReplicaSet/{made['metadata']['name']}"
    # Whoever is first.
    assert again["outcome"]["what"] in {"restored", "exists"}
    (now,) = await eventually(lambda: _list(trash.client, sets, furnished), what="its ReplicaSet")
    assert now["metadata"]["ownerReferences"][0]["name"] == "web"


async def _list(client: Client, resource: Resource, namespace: str) -> list[dict[str, Any]]:
    return (await everything(client, resource, WHOLE, scope=Scope(namespace=namespace))).items


async def test_a_service_gets_its_address_and_port_again_or_says_that_it_has_others(
    trash: Bin, namespace: str
) -> None:
    services = await trash.kind("services")
    spec = {"type": "NodePort", "selector": {"app": "x"}, "ports": [{"port": 80}]}
    body = {"metadata": {"name": "web", "labels": {TTL: "1h"}}, "spec": spec}
    made = await trash.client.create(services, body, namespace=namespace)
    address, port = made["spec"]["clusterIP"], made["spec"]["ports"][0]["nodePort"]
    first = await trash.delete("services", "web", namespace=namespace)
    await trash.restore(first)
    after = await trash.read("services", "web", namespace=namespace)
    assert (after["spec"]["clusterIP"], after["spec"]["ports"][0]["nodePort"]) == (address, port)
    second = await trash.delete("services", "web", namespace=namespace)
    squatter = {"metadata": {"name": "squatter"}, "spec": {**spec, "clusterIP": address}}
    await trash.client.create(services, squatter, namespace=namespace)
    done = await trash.restore(second)
    assert any("addresses or ports are others" in said for said in done["Service/web"]["differs"])
    other = await trash.read("services", "web", namespace=namespace)
    assert other["spec"]["clusterIP"] != address
    assert (
        without_addresses(await trash.bare("services", "web", namespace=namespace), "services")["spec"]
        == without_addresses(after, "services")["spec"]
    )


async def test_secret_values_come_back_with_the_key_and_are_nowhere_without_it(
    trash: Bin, control_plane: Access, admin: Client, namespace: str, tmp_path: Path
) -> None:
    secret = await trash.kind("secrets")
    applied = f'{{"data":{{"password":"{ENCODED}"}}}}'
    body = {
        "metadata": {
            "name": "login",
            "labels": {TTL: "1h"},
            "annotations": {"kubectl.kubernetes.io/last-applied-configuration": applied},
        },
        "type": "Opaque",
        "data": {"password": ENCODED},
    }
    sealed = Bin(admin, tmp_path / "sealed.db", kubeconfig=control_plane.kubeconfig, keys=(Key(b"k" * 32),))
    right, wrong = tmp_path / "right", tmp_path / "wrong"
    right.write_text((b"k" * 32).hex())
    wrong.write_text((b"w" * 32).hex())
    await admin.create(secret, body, namespace=namespace)
    before = await sealed.bare("secrets", "login", namespace=namespace)
    with_key = await sealed.delete("secrets", "login", namespace=namespace)
    said = await sealed.skoupa("restore", with_key, "--yes", "--key-file", str(wrong))
    assert said.code == USAGE
    assert "encrypted with the key" in said.sentence
    await sealed.restore(with_key, "--key-file", str(right))
    assert await sealed.bare("secrets", "login", namespace=namespace) == before

    without_key = await trash.delete("secrets", "login", namespace=namespace)
    told = [
        await trash.skoupa("history", "show", without_key),
        await trash.skoupa("history", "-A", "-o", "json"),
        await trash.skoupa("restore", without_key, "--yes", "-o", "yaml"),
    ]
    assert [one.code for one in told] == [DONE, DONE, DONE]
    empty = await trash.read("secrets", "login", namespace=namespace)
    assert empty["data"] == {"password": ""}
    # Some types ask for more than keys with empty values.
    private = {"type": "kubernetes.io/ssh-auth", "data": {"ssh-privatekey": ENCODED}}
    await admin.create(secret, {"metadata": {"name": "git"}, **private}, namespace=namespace)
    said = await trash.skoupa("restore", await trash.delete("secrets", "git", namespace=namespace), "--yes")
    assert said.code == LEFTOVERS
    assert "its values were not kept, and it can't be without them: make it anew" in said.out
    told.append(said)
    written = _written(tmp_path)
    for spelt in (VALUE, ENCODED):
        assert spelt.encode() not in written
        assert all(spelt not in one.out + one.err for one in (*told, said))


def _written(folder: Path) -> bytes:
    """Both ledgers, with what SQLite keeps beside them."""
    files = [file for file in folder.iterdir() if file.name.startswith(("ledger", "sealed"))]
    assert len(files) >= 2
    return b"".join(file.read_bytes() for file in files)


@pytest.fixture
async def widgets(admin: Client) -> AsyncIterator[str]:
    """The name of a definition of a kind of this test's own."""
    group = f"t{secrets.token_hex(4)}.example"
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    names = {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    version["subresources"] = {"status": {}}
    body = {
        "metadata": {"name": f"widgets.{group}", "labels": {TTL: "1h"}},
        "spec": {"group": group, "scope": "Namespaced", "names": names, "versions": [version]},
    }
    await admin.create(CUSTOM_RESOURCE_DEFINITIONS, body)
    name = f"widgets.{group}"
    yield name
    try:
        found = await admin.get(CUSTOM_RESOURCE_DEFINITIONS, name, view=METADATA)
    except NotFound:
        return
    await admin.delete(CUSTOM_RESOURCE_DEFINITIONS, name, uid=found.metadata.uid, propagation="Background")


async def _served(trash: Bin, name: str) -> Resource:
    async def kind() -> Resource | None:
        try:
            return await trash.kind(name)
        except UnknownKind:
            return None

    found = await eventually(kind, what=f"{name} to be served", seconds=60)
    assert found is not None
    return found


async def test_a_definition_comes_back_with_its_objects_and_a_kind_that_is_gone_is_told(
    trash: Bin, namespace: str, widgets: str
) -> None:
    resource = await _served(trash, widgets)
    body = {
        "apiVersion": resource.api_version,
        "kind": "Widget",
        "metadata": {"name": "w", "labels": {TTL: "1h"}},
        "spec": {"size": 3},
        "status": {"phase": "Made"},
    }
    await trash.client.create(resource, body, namespace=namespace)
    before = await trash.bare(widgets, "w", namespace=namespace)
    single = await trash.delete(widgets, "w", namespace=namespace)
    await trash.restore(single)
    assert await trash.bare(widgets, "w", namespace=namespace) == before
    whole = await trash.delete(CUSTOM_RESOURCE_DEFINITIONS.qualified, widgets)
    done = await trash.restore(single, code=LEFTOVERS)
    assert "has no kind Widget" in done["Widget/w"]["outcome"]["text"]
    done = await trash.restore(whole, "--with-dependents")
    assert {item["outcome"]["what"] for item in done.values()} == {"restored"}
    assert await trash.bare(widgets, "w", namespace=namespace) == before


async def test_a_namespace_comes_back_with_all_that_was_in_it(trash: Bin) -> None:
    name = f"whole-{secrets.token_hex(4)}"
    await trash.client.create(NAMESPACES, {"metadata": {"name": name, "labels": {TTL: "1h"}}})
    accounts = await trash.kind("serviceaccounts")
    await eventually(lambda: exists(trash.client, accounts, "default", namespace=name), what="the account")
    pull = {"imagePullSecrets": [{"name": "pull"}]}
    await trash.client.merge_patch(accounts, "default", pull, namespace=name)
    owner = await trash.client.create(CONFIG_MAPS, {"metadata": {"name": "owner"}}, namespace=name)
    link = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}
    child = {"metadata": {"name": "child", "ownerReferences": [link]}, "data": {"k": "v"}}
    await trash.client.create(CONFIG_MAPS, child, namespace=name)
    await trash.client.create(PODS, {"metadata": {"name": "p"}, "spec": pod_spec()}, namespace=name)
    services = await trash.kind("services")
    ports = {"spec": {"ports": [{"port": 80}]}}
    await trash.client.create(services, {"metadata": {"name": "web"}, **ports}, namespace=name)
    inside = [("configmaps", "owner"), ("pods", "p"), ("services", "web"), ("serviceaccounts", "default")]
    before = {kind: await trash.bare(kind, one, namespace=name) for kind, one in inside}
    space = await trash.bare("namespaces", name)
    entry_id = await trash.delete("namespaces", name)
    alone = await trash.restore(entry_id, "--dry-run")
    assert alone[f"Namespace/{name}"]["outcome"]["what"] == "would-restore"
    done = await trash.restore(entry_id, "--with-dependents")
    try:
        assert {item["outcome"]["what"] for item in done.values()} == {"restored"}, done
        assert await trash.bare("namespaces", name) == space
        for kind, one in inside:
            assert await trash.bare(kind, one, namespace=name) == before[kind], kind
        new_owner = await trash.read("configmaps", "owner", namespace=name)
        new_child = await trash.read("configmaps", "child", namespace=name)
        assert new_child["metadata"]["ownerReferences"][0]["uid"] == new_owner["metadata"]["uid"]
    finally:
        await remove_namespace(trash.client, name, uid=done[f"Namespace/{name}"]["newUid"])


async def test_a_claim_says_what_became_of_its_volume(trash: Bin, namespace: str) -> None:
    volumes, claims = await trash.kind("persistentvolumes"), await trash.kind("persistentvolumeclaims")
    volume = f"v-{secrets.token_hex(4)}"
    size = {"storage": "1Gi"}
    spec = {
        "capacity": size,
        "accessModes": ["ReadWriteOnce"],
        "persistentVolumeReclaimPolicy": "Retain",
        "storageClassName": "manual",
        "hostPath": {"path": "/tmp/none"},
    }
    made = await trash.client.create(volumes, {"metadata": {"name": volume}, "spec": spec})
    claim = {
        "metadata": {"name": "data", "labels": {TTL: "1h"}},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": size},
            "storageClassName": "manual",
            "volumeName": volume,
        },
    }
    await trash.client.create(claims, claim, namespace=namespace)

    async def bound() -> bool:
        found = await trash.read("persistentvolumeclaims", "data", namespace=namespace)
        return bool(found["status"].get("phase") == "Bound")

    await eventually(bound, what="the claim to be bound")
    before = await trash.bare("persistentvolumeclaims", "data", namespace=namespace)
    first = await trash.delete("persistentvolumeclaims", "data", namespace=namespace)
    done = await trash.restore(first)
    [said] = done["PersistentVolumeClaim/data"]["differs"][1:]
    assert f"kubectl patch pv {volume}" in said
    assert await trash.bare("persistentvolumeclaims", "data", namespace=namespace) == before
    # What it says to do binds it again, with its data.
    patch = [{"op": "remove", "path": "/spec/claimRef/uid"}]
    await trash.client.json_patch(volumes, volume, patch)
    await eventually(bound, what="the claim to be bound again", seconds=60)
    second = await trash.delete("persistentvolumeclaims", "data", namespace=namespace)
    await trash.client.delete(volumes, volume, uid=made["metadata"]["uid"], propagation="Background")
    await trash.gone(volumes, volume)
    done = await trash.restore(second)
    assert any("the data with it" in said for said in done["PersistentVolumeClaim/data"]["differs"])
    after = await trash.read("persistentvolumeclaims", "data", namespace=namespace)
    assert "volumeName" not in after["spec"]


async def test_who_may_not_create_is_told_and_nothing_is_written_down(trash: Bin, namespace: str) -> None:
    body = {"metadata": {"name": "a", "labels": {TTL: "1h"}}}
    await trash.client.create(CONFIG_MAPS, body, namespace=namespace)
    entry_id = await trash.delete("configmaps", "a", namespace=namespace)
    done = await trash.restore(entry_id, "--as", "nobody", code=DENIED)
    assert done["ConfigMap/a"]["outcome"]["what"] == "refused"
    assert "forbidden" in done["ConfigMap/a"]["outcome"]["text"]
    assert not await exists(trash.client, CONFIG_MAPS, "a", namespace=namespace)
    shown = await trash.skoupa("history", "show", entry_id, "-o", "json")
    assert json.loads(shown.out)["items"][0]["restoredAs"] == ""


async def test_what_is_there_terminating_or_in_a_namespace_that_goes_is_told(
    trash: Bin, namespace: str
) -> None:
    body = {"metadata": {"name": "a", "labels": {TTL: "1h"}}}
    await trash.client.create(CONFIG_MAPS, body, namespace=namespace)
    entry_id = await trash.delete("configmaps", "a", namespace=namespace)
    held = {"metadata": {"name": "a", "finalizers": ["test.example/guard"]}}
    made = await trash.client.create(CONFIG_MAPS, held, namespace=namespace)
    done = await trash.restore(entry_id, code=LEFTOVERS)
    assert done["ConfigMap/a"]["outcome"]["what"] == "exists"
    uid = made["metadata"]["uid"]
    await trash.client.delete(CONFIG_MAPS, "a", namespace=namespace, uid=uid, propagation="Background")
    done = await trash.restore(entry_id, code=LEFTOVERS)
    assert "test.example/guard" in done["ConfigMap/a"]["outcome"]["text"]
    space = await trash.read("namespaces", namespace)
    await remove_namespace(trash.client, namespace, uid=space["metadata"]["uid"])
    await trash.restore(entry_id, code=LEFTOVERS)
    other = {"metadata": {"name": "b", "labels": {TTL: "1h"}}}
    async with new_namespace(trash.client) as elsewhere:
        await trash.client.create(CONFIG_MAPS, other, namespace=elsewhere)
        moved = await trash.delete("configmaps", "b", namespace=elsewhere)
        done = await trash.restore(moved, "--into", namespace, code=LEFTOVERS)
    assert (
        done["ConfigMap/b"]["outcome"]["text"]
        == f"the namespace {namespace} is being deleted; wait for its end"
    )
    patch = {"metadata": {"finalizers": None}}
    await trash.client.merge_patch(CONFIG_MAPS, "a", patch, namespace=namespace)
