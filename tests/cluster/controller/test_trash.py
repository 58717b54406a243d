"""With the trash as shipped: what `skoupa run` lets go, `skoupa restore` brings back as it was, each a process of its own."""

from __future__ import annotations

import base64
import json
import secrets
from pathlib import Path
from typing import Any

import pytest

from harness.controlplane import ControlPlane
from skoupa import names
from skoupa.kube.client import Client
from skoupa.kube.discovery import discover
from skoupa.kube.objects import METADATA, WHOLE
from skoupa.kube.resources import CONFIG_MAPS, CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES, Resource
from skoupa.ledger.opening import store_for
from skoupa.ledger.rows import Entry
from skoupa.ledger.store import Wish
from skoupa.ledger.trash.manifests import stripped
from tests.cluster.commands import Said, skoupa
from tests.cluster.controller.objects import SECRETS, People, grant
from tests.cluster.controller.running import Skoupa, Yard
from tests.cluster.reaching import eventually

pytestmark = pytest.mark.cluster

DONE, USAGE, LEFTOVERS = 0, 2, 4
NAME = "test"
VALUE = "a-value-that-is-searched-for"
ENCODED = base64.b64encode(VALUE.encode()).decode()
SERVICES = Resource(
    version="v1", plural="services", kind="Service", namespaced=True, subresources=("status",)
)
DEPLOYMENTS = Resource(
    group="apps",
    version="v1",
    plural="deployments",
    kind="Deployment",
    namespaced=True,
    subresources=("status",),
)
INGRESSES = Resource(
    group="networking.k8s.io", version="v1", plural="ingresses", kind="Ingress", namespaced=True
)
TEMPLATE: dict[str, Any] = {
    "metadata": {"labels": {"app": "web"}},
    "spec": {"containers": [{"name": "main", "image": "example/main:1"}]},
}


async def bare(people: People, name: str, resource: Resource = CONFIG_MAPS) -> dict[str, Any]:
    """Without server fields, without the label that lets it go, and without the uids of its owners."""
    read = await people.client.get(resource, name, namespace=people.namespace, view=WHOLE)
    found = stripped(read, resource)
    metadata = found["metadata"]
    labels = {key: value for key, value in metadata.get("labels", {}).items() if key != names.TTL_LABEL}
    metadata.pop("labels", None)
    owners = [{**owner, "uid": ""} for owner in metadata.pop("ownerReferences", [])]
    return {**found, "metadata": {**metadata, "labels": labels, "ownerReferences": owners}}


async def restore(yard: Yard, process: Skoupa, *args: str, code: int = DONE) -> dict[str, dict[str, Any]]:
    """What became of each, by KIND/NAME."""
    said = await restore_said(yard, process, *args)
    assert said.code == code, said.err + said.out
    return {f"{item['kind']}/{item['name']}": item for item in json.loads(said.out)["items"]}


async def restore_said(yard: Yard, process: Skoupa, *args: str) -> Said:
    given = ("--ledger", str(yard.ledger), "--yes", "-o", "json")
    return await skoupa("restore", *args, *given, kubeconfig=process.kubeconfig)


async def entry_of(yard: Yard, name: str, people: People) -> Entry:
    """As soon as its outcome is known."""

    async def found() -> list[Entry]:
        store = store_for(str(yard.ledger), cluster=NAME, writable=False)
        await store.open()
        try:
            rows = await store.find(Wish(namespace=people.namespace, name=name))
        finally:
            await store.close()
        return [row for row in rows if row.outcome in {"deleted", "terminating"}]

    return (await eventually(found, what=f"the row of {name}"))[0]


def bytes_of(yard: Yard) -> bytes:
    """The ledger with its WAL, and everything that was logged."""
    return b"".join(file.read_bytes() for file in yard.ledger.parent.iterdir() if file.is_file())


async def test_what_went_comes_back_as_it_was_while_the_controller_goes_on(
    people: People, yard: Yard
) -> None:
    process = await yard.started(clusterName=NAME)
    body = {"data": {"a": "1", "b": "größe"}, "binaryData": {"c": "AAEC"}}
    made = await people.make("web", labels={"team": "payments"}, annotations={"note": "by hand"}, body=body)
    before = await bare(people, "web")
    await people.label("web", ttl="1s")
    await people.gone("web")
    entry = await entry_of(yard, "web", people)
    assert entry.kept > 0
    done = await restore(yard, process, "configmap/web", "-n", people.namespace)
    assert done["ConfigMap/web"]["outcome"] == {"what": "restored", "text": ""}
    assert await bare(people, "web") == before
    after = await people.client.get(CONFIG_MAPS, "web", namespace=people.namespace, view=METADATA)
    assert after.metadata.uid == done["ConfigMap/web"]["newUid"] != made["metadata"]["uid"]
    assert (await entry_of(yard, "web", people)).restored_as == after.metadata.uid
    # It is not taken again, and the controller has not stopped for it.
    await people.make("other", "1s")
    await people.gone("other")
    assert await people.there("web")


async def test_many_go_and_all_of_them_come_back_by_one_command(people: People, yard: Yard) -> None:
    process = await yard.started(clusterName=NAME)
    number = 40
    # However long it takes to make and to read them, all of them wait for the same moment.
    await people.label(people.namespace, resource=NAMESPACES, keep="true")
    for one in range(number):
        await people.make(f"web-{one}", "1s", body={"data": {"number": str(one)}})
    before = {f"web-{one}": await bare(people, f"web-{one}") for one in range(number)}
    await people.label(people.namespace, resource=NAMESPACES, keep=None)
    for one in range(number):
        await people.gone(f"web-{one}")
    for one in range(number):
        await entry_of(yard, f"web-{one}", people)
    done = await restore(yard, process, "configmaps", "-n", people.namespace, "--limit", "0")
    assert len(done) == number
    assert {name: await bare(people, name) for name in before} == before


async def test_an_owner_comes_back_with_what_it_took_along(people: People, yard: Yard) -> None:
    process = await yard.started(clusterName=NAME)
    spec = {"replicas": 1, "selector": {"matchLabels": {"app": "web"}}, "template": TEMPLATE}
    owner = await people.make("web", resource=DEPLOYMENTS, body={"spec": spec})
    link = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "name": "web",
        "uid": owner["metadata"]["uid"],
    }
    children = {"settings": CONFIG_MAPS, "front": SERVICES}
    await people.make("settings", body={"data": {"a": "1"}}, ownerReferences=[link])
    ports = {"ports": [{"port": 80}], "selector": {"app": "web"}}
    await people.make("front", resource=SERVICES, body={"spec": ports}, ownerReferences=[link])
    before = {name: await bare(people, name, kind) for name, kind in children.items()}
    workload = await bare(people, "web", DEPLOYMENTS)
    await people.label("web", resource=DEPLOYMENTS, ttl="1s")
    await people.gone("web", resource=DEPLOYMENTS, seconds=60)
    for name, kind in children.items():
        await people.gone(name, resource=kind, seconds=60)
    await entry_of(yard, "web", people)

    alone = await restore_said(yard, process, "deployment/web", "-n", people.namespace, "--dry-run")
    assert "2 objects that went along are kept too" in alone.err
    done = await restore(yard, process, "deployment/web", "-n", people.namespace, "--with-dependents")
    assert {key: item["outcome"]["what"] for key, item in done.items()} == {
        "Deployment/web": "restored",
        "ConfigMap/settings": "restored",
        "Service/front": "restored",
    }
    assert {name: await bare(people, name, kind) for name, kind in children.items()} == before
    assert await bare(people, "web", DEPLOYMENTS) == workload
    child = await people.client.get(CONFIG_MAPS, "settings", namespace=people.namespace, view=METADATA)
    [reference] = child.metadata.owner_references or []
    assert reference.uid == done["Deployment/web"]["newUid"] != owner["metadata"]["uid"]


async def test_without_a_key_a_secret_leaves_its_keys_and_no_byte_of_a_value(
    people: People, yard: Yard
) -> None:
    process = await yard.started(clusterName=NAME)
    applied = json.dumps({"data": {"password": ENCODED}})
    await people.make(
        "login",
        "2s",
        resource=SECRETS,
        annotations={"kubectl.kubernetes.io/last-applied-configuration": applied, "team": "payments"},
        body={"type": "Opaque", "data": {"password": ENCODED}},
    )
    await people.gone("login", resource=SECRETS)
    await entry_of(yard, "login", people)
    found = bytes_of(yard)
    assert b"login" in found
    for spelt in (VALUE, ENCODED, ENCODED.rstrip("=")):
        assert spelt.encode() not in found
    shown = await skoupa(
        "history",
        "secret/login",
        "-n",
        people.namespace,
        "--ledger",
        str(yard.ledger),
        kubeconfig=process.kubeconfig,
    )
    assert shown.code == DONE
    done = await restore(yard, process, "secret/login", "-n", people.namespace)
    assert any("without its values" in said for said in done["Secret/login"]["differs"])
    came = await people.client.get(SECRETS, "login", namespace=people.namespace, view=WHOLE)
    assert came["data"] == {"password": ""}
    assert came["metadata"]["annotations"] == {"team": "payments"}


async def test_with_a_key_values_come_back_and_a_wrong_key_loses_nothing(
    people: People, yard: Yard, tmp_path: Path
) -> None:
    keys = tmp_path / "keys" / "right"
    keys.parent.mkdir()
    keys.write_text(base64.b64encode(secrets.token_bytes(32)).decode())
    wrong = keys.with_name("wrong")
    wrong.write_text(base64.b64encode(secrets.token_bytes(32)).decode())
    process = await yard.started(clusterName=NAME, trash__keyFile=str(keys))
    await people.make("login", resource=SECRETS, body={"type": "Opaque", "data": {"password": ENCODED}})
    before = await bare(people, "login", SECRETS)
    await people.label("login", resource=SECRETS, ttl="2s")
    await people.gone("login", resource=SECRETS)
    await entry_of(yard, "login", people)
    for spelt in (VALUE, ENCODED):
        assert spelt.encode() not in bytes_of(yard)
    what = ("secret/login", "-n", people.namespace)
    for given in ((), ("--key-file", str(wrong))):
        said = await restore_said(yard, process, *what, *given)
        assert said.code == USAGE
        assert "is encrypted with the key" in said.err
        assert VALUE not in said.err + said.out
        assert not await people.there("login", resource=SECRETS)
    done = await restore(yard, process, *what, "--key-file", str(keys))
    assert done["Secret/login"]["differs"] == [
        "without cleanup.kyverno.io/ttl=2s, by which it would go again"
    ]
    assert await bare(people, "login", SECRETS) == before


async def test_a_kind_that_is_not_there_any_more_is_told_and_comes_back_with_its_definition(
    people: People, yard: Yard
) -> None:
    group = f"g{secrets.token_hex(4)}.example"
    widgets = Resource(group=group, version="v1", plural="widgets", kind="Widget", namespaced=True)
    definition = _definition(widgets)
    made = await people.client.create(CUSTOM_RESOURCE_DEFINITIONS, definition)
    await _served(people.client, widgets)
    process = await yard.started(clusterName=NAME)
    await people.make("one", resource=widgets, body={"spec": {"size": 3}})
    before = await bare(people, "one", widgets)
    await people.label("one", resource=widgets, ttl="1s")
    await people.gone("one", resource=widgets)
    await entry_of(yard, "one", people)
    await people.remove(made, resource=CUSTOM_RESOURCE_DEFINITIONS)
    await people.gone(definition["metadata"]["name"], resource=CUSTOM_RESOURCE_DEFINITIONS, seconds=60)
    await _served(people.client, widgets, yes=False)
    what = (f"widgets.{group}/one", "-n", people.namespace)
    done = await restore(yard, process, *what, code=LEFTOVERS)
    assert done["Widget/one"]["outcome"]["what"] == "refused"
    assert f"no kind Widget of {group} any more" in done["Widget/one"]["outcome"]["text"]
    await people.client.create(CUSTOM_RESOURCE_DEFINITIONS, definition)
    await _served(people.client, widgets)
    done = await restore(yard, process, *what)
    assert done["Widget/one"]["outcome"]["what"] == "restored"
    assert await bare(people, "one", widgets) == before


def _definition(resource: Resource) -> dict[str, Any]:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {
        "metadata": {"name": resource.qualified},
        "spec": {
            "group": resource.group,
            "scope": "Namespaced",
            "names": {"kind": resource.kind, "plural": resource.plural, "singular": "widget"},
            "versions": [
                {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
            ],
        },
    }


async def _served(client: Client, resource: Resource, *, yes: bool = True) -> None:
    async def settled() -> bool:
        return ((await discover(client)).find(resource.group, resource.kind) is not None) is yes

    await eventually(settled, what=f"{resource.qualified} to be served: {yes}", seconds=60)


async def test_with_list_watch_and_delete_in_one_namespace_all_goes_and_comes_back(
    plane: ControlPlane, people: People, yard: Yard
) -> None:
    user, boss = f"sweeper-{secrets.token_hex(4)}", people.client
    own = [("get create update", "coordination.k8s.io", "leases"), ("get create patch", "", "configmaps")]
    await grant(boss, user, own, namespace=yard.home)
    verbs = "list watch delete"
    enough = [(verbs, "", "configmaps"), (verbs, INGRESSES.group, INGRESSES.plural)]
    await grant(boss, user, enough, namespace=people.namespace)
    process = await yard.started(
        kubeconfig=plane.kubeconfig_for(user=user),
        namespaces=f"{people.namespace},{yard.home}",
        clusterName=NAME,
    )
    spec = {"defaultBackend": {"service": {"name": "web", "port": {"number": 80}}}}
    made = await people.make("front", resource=INGRESSES, body={"spec": spec})
    link = {
        "apiVersion": INGRESSES.api_version,
        "kind": "Ingress",
        "name": "front",
        "uid": made["metadata"]["uid"],
    }
    await people.make("settings", body={"data": {"a": "1"}}, ownerReferences=[link])
    before = await bare(people, "settings")
    await people.label("front", resource=INGRESSES, ttl="1s")
    await people.gone("front", resource=INGRESSES)
    await people.gone("settings", seconds=60)
    entry = await entry_of(yard, "front", people)
    shown = await skoupa(
        "history", "show", entry.id, "--ledger", str(yard.ledger), kubeconfig=process.kubeconfig
    )
    assert "went along: configmaps/" in shown.out
    assert "that may go along: no permission to list them" in shown.out
    said = await skoupa(
        *("restore", entry.id, "--with-dependents", "--yes", "--ledger", str(yard.ledger)),
        kubeconfig=plane.kubeconfig,
    )
    # Kinds that could not be listed may have lost something that nobody kept.
    assert said.code == LEFTOVERS, said.err
    assert "2 of 2 restored, and maybe more went along." in said.out
    assert await bare(people, "settings") == before
