"""A controller that is asked through the API server: its Service and Pod as installed, and people with tokens."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import msgspec

from harness.controlplane import ControlPlane
from skoupa.cli.installing.install import plan
from skoupa.install.manifests import manifests
from skoupa.kube.client import Client
from skoupa.kube.resources import PODS, Resource
from skoupa.kube.transport import Request
from tests.cluster import commands, kubeconfigs
from tests.cluster.controller.objects import RBAC, grant
from tests.cluster.controller.running import START_SECONDS, Skoupa, Yard
from tests.cluster.reaching import SERVICE_ACCOUNTS, eventually, token_of

SERVICES = Resource(version="v1", plural="services", kind="Service", namespaced=True)
ENDPOINTS = Resource(version="v1", plural="endpoints", kind="Endpoints", namespaced=True)
ROLES = Resource(group=RBAC, version="v1", plural="roles", kind="Role", namespaced=True)
ROLE_BINDINGS = Resource(group=RBAC, version="v1", plural="rolebindings", kind="RoleBinding", namespaced=True)


def own_address() -> str:
    """Of this machine, and not loopback: an Endpoint may not be. Nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))
        return str(probe.getsockname()[0])


async def furnish(admin: Client, process: Skoupa, *, home: str) -> str:
    """The Service and the Role of the installation, and a Pod that stands for the process; where it listens."""
    address = str((await process.says("history is served"))["address"])
    host, _, port = address.rpartition(":")
    for body in manifests(plan(home=home)):
        name = body["metadata"]["name"]
        if body["kind"] == "Service":
            # No kubelet runs the Pod, so nobody would make its Endpoints: the Service selects nothing.
            spec = {key: value for key, value in body["spec"].items() if key != "selector"}
            await admin.create(SERVICES, {**body, "spec": spec}, namespace=home)
        elif body["kind"] == "Role" and name == "skoupa-history":
            await admin.create(ROLES, body, namespace=home)
    # Pods need the account.
    await token_of(admin, home)
    container = {"name": "skoupa", "image": "skoupa:test"}
    pod = {"metadata": {"name": "skoupa-0"}, "spec": {"containers": [container]}}
    await admin.create(PODS, pod, namespace=home)
    # The proxy believes an Endpoint only where a Pod of the namespace has its address.
    status = {"phase": "Running", "podIP": host, "podIPs": [{"ip": host}]}
    await admin.merge_patch(PODS, "skoupa-0", {"status": status}, namespace=home, subresource="status")
    target = {"kind": "Pod", "name": "skoupa-0", "namespace": home}
    subset = {
        "addresses": [{"ip": host, "targetRef": target}],
        "ports": [{"name": "api", "port": int(port)}],
    }
    await admin.create(ENDPOINTS, {"metadata": {"name": "skoupa"}, "subsets": [subset]}, namespace=home)
    return address


class Person:
    """A ServiceAccount with a token, in a kubeconfig; it may ask the controller in `home`."""

    def __init__(self, admin: Client, *, home: str, name: str, token: str, kubeconfig: Path) -> None:
        self._admin = admin
        self.home = home
        self.name = f"system:serviceaccount:{home}:{name}"
        self.token = token
        self.kubeconfig = kubeconfig

    async def may(self, verbs: str, resources: str, *, namespace: str = "", group: str = "") -> None:
        """As soon as this returns: the authorizer hears of a Role by a watch."""
        await grant(self._admin, self.name, [(verbs, group, resources)], namespace=namespace)
        verb = verbs.rsplit(maxsplit=1)[-1]
        plural, _, subresource = resources.rsplit(maxsplit=1)[-1].partition("/")
        review = Resource(
            group="authorization.k8s.io",
            version="v1",
            plural="subjectaccessreviews",
            kind="SubjectAccessReview",
            namespaced=False,
        )
        attributes = {
            "verb": verb,
            "group": group,
            "resource": plural,
            "subresource": subresource,
            "namespace": namespace,
        }
        spec = {"user": self.name, "resourceAttributes": attributes}

        async def counts() -> bool:
            answer = await self._admin.create(
                review, {"apiVersion": review.api_version, "kind": review.kind, "spec": spec}
            )
            return bool(answer["status"]["allowed"])

        await eventually(counts, what=f"{self.name} to be granted {verbs} {resources}")

    async def skoupa(self, *args: str | Path) -> commands.Said:
        return await commands.skoupa(
            *args,
            "--skoupa-namespace",
            self.home,
            "--kubeconfig",
            self.kubeconfig,
            kubeconfig=self.kubeconfig,
        )

    async def items(self, *args: str | Path) -> list[dict[str, Any]]:
        said = await self.skoupa(*args, "-o", "json")
        assert said.code == 0, said.err
        found: list[dict[str, Any]] = msgspec.json.decode(said.out)["items"]
        return found


class Street:
    """Where people live; makes them."""

    def __init__(self, admin: Client, plane: ControlPlane, *, home: str, directory: Path) -> None:
        self.admin = admin
        self._plane = plane
        self.home = home
        self._directory = directory
        self.people: list[Person] = []

    async def person(self, name: str, *, asks: bool = True) -> Person:
        body = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}}
        await self.admin.create(SERVICE_ACCOUNTS, body, namespace=self.home)
        token = await token_of(self.admin, self.home, name)
        config = kubeconfigs.write(
            self._directory / f"{name}.kubeconfig",
            cluster=kubeconfigs.cluster_of(self._plane),
            user={"token": token},
        )
        person = Person(self.admin, home=self.home, name=name, token=token, kubeconfig=config)
        self.people.append(person)
        if asks:
            binding = {
                "metadata": {"name": f"history-{name}"},
                "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": "skoupa-history"},
                "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": self.home}],
            }
            await self.admin.create(ROLE_BINDINGS, binding, namespace=self.home)
            await self._bound(person)
        return person

    async def _bound(self, person: Person) -> None:
        path = f"/api/v1/namespaces/{self.home}/services/https:skoupa:api/proxy/"

        async def counts() -> bool:
            headers = (("Impersonate-User", person.name), *self.admin.headers())
            return (await self.admin.transport.send(Request(path=path, headers=headers))).status != 403

        await eventually(counts, what=f"{person.name} to reach the controller")


async def served(yard: Yard, admin: Client, *, leads: bool = True, **given: Any) -> Skoupa:
    """One that leads, or stands by, and is asked at this machine's own address, trash included."""
    own = {"clusterName": "test", "trash__enabled": "true", "api__address": f"{own_address()}:0"}
    process = await yard.started(**(own | given)) if leads else yard.start(**(own | given))
    await process.says("ready", seconds=START_SECONDS)
    await furnish(admin, process, home=yard.home)
    return process
