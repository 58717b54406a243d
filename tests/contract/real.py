"""The real control plane as the host of an arena: what its owner does, done through etcd, RBAC and policies."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import msgspec

from harness.controlplane.access import Access
from skoupa.clock import Clock
from skoupa.kube.client import Client
from skoupa.kube.objects import WHOLE
from skoupa.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, Resource
from skoupa.kube.transport import Method, Request, Response, Stream, Transport
from tests.contract.arena import Gate, Grant, Object

_RBAC = "rbac.authorization.k8s.io"
_POLICIES = "admissionregistration.k8s.io"
_SECONDS = 30.0
# One test process tries one rule at a time, so what its rules share is never in use twice.
_SHARED: dict[str, dict[str, Resource]] = {}
_TRIES: dict[str, Method] = {"CREATE": "POST", "UPDATE": "PUT", "DELETE": "DELETE"}


class RealHost:
    def __init__(self, access: Access, transport: Transport, clock: Clock) -> None:
        self._access = access
        self.transport = transport
        self.clock: Clock = clock
        self.mark = secrets.token_hex(4)
        self.shared = _SHARED.setdefault(access.url, {})
        self._client = Client(transport, clock)

    async def forget_the_past(self, custom: Resource) -> None:
        """Changes the definition, whereupon the server begins its cache anew, and compacts etcd."""
        name = f"{custom.plural}.{custom.group}"
        definition = await self._client.get(CUSTOM_RESOURCE_DEFINITIONS, name, view=WHOLE)
        touched = await self._touch(definition)
        await self._until_shown(
            custom, touched["spec"]["versions"][0]["additionalPrinterColumns"][-1]["name"]
        )
        compaction = {"revision": touched["metadata"]["resourceVersion"], "physical": True}
        answer = await asyncio.to_thread(
            self._access.etcd_probe().ask, "POST", "/v3/kv/compaction", compaction
        )
        # Another rule may have compacted further meanwhile, which serves as well.
        assert answer.status == 200 or b"compacted" in answer.body, answer

    async def _touch(self, definition: Object) -> Object:
        for version in definition["spec"]["versions"]:
            columns = version.setdefault("additionalPrinterColumns", [])
            column = {"name": f"C{len(columns)}", "type": "string", "jsonPath": ".metadata.name"}
            version["additionalPrinterColumns"] = [*columns, column]
        return await self._client.replace(CUSTOM_RESOURCE_DEFINITIONS, definition)

    async def _until_shown(self, custom: Resource, column: str) -> None:
        table = ("Accept", "application/json;as=Table;g=meta.k8s.io;v=v1")
        request = Request(path=custom.path(), headers=(table,))
        end = self.clock.monotonic() + _SECONDS
        while f'"name":"{column}"'.encode() not in (await self.transport.send(request)).body:
            assert self.clock.monotonic() < end, "the changed definition is not in use"
            await self.clock.sleep(0.05)

    async def as_user(self, name: str, grants: Sequence[Grant], *, namespace: str) -> Transport:
        for number, grant in enumerate(grants):
            await self._bind(f"{name}-{number}", grant, user=name, namespace=namespace)
        transport = Impersonated(self.transport, name)
        client = Client(transport, self.clock)
        end = self.clock.monotonic() + _SECONDS
        while not all([await self._granted(client, grant, namespace) for grant in grants]):
            assert self.clock.monotonic() < end, "the grants did not become effective"
            await self.clock.sleep(0.05)
        return transport

    async def _bind(self, name: str, grant: Grant, *, user: str, namespace: str) -> None:
        cluster = "Cluster" if grant.everywhere else ""
        rules = []
        for resource in grant.resources:
            plural, _, group = resource.partition(".")
            rule = {"verbs": list(grant.verbs), "apiGroups": [group], "resources": [plural]}
            rules.append({**rule, "resourceNames": list(grant.names)} if grant.names else rule)
        role = {"metadata": {"name": name}, "rules": rules}
        binding = {
            "metadata": {"name": name},
            "roleRef": {"apiGroup": _RBAC, "kind": f"{cluster}Role", "name": name},
            "subjects": [{"apiGroup": _RBAC, "kind": "User", "name": user}],
        }
        await self._client.create(_rbac(f"{cluster}Role"), role, namespace=namespace)
        await self._client.create(_rbac(f"{cluster}RoleBinding"), binding, namespace=namespace)

    async def _granted(self, client: Client, grant: Grant, namespace: str) -> bool:
        plural, _, group = grant.resources[0].partition(".")
        attributes = {
            "verb": grant.verbs[0],
            "group": group,
            "resource": plural,
            "name": grant.names[0] if grant.names else "",
            "namespace": "" if grant.everywhere else namespace,
        }
        review = {"spec": {"resourceAttributes": attributes}}
        return bool((await client.create(_ACCESS_REVIEWS, review))["status"]["allowed"])

    async def set_gate(self, gate: Gate, *, name: str, namespace: str) -> None:
        subject = "oldObject" if gate.operation == "DELETE" else "object"
        spec: Object = {
            "failurePolicy": "Fail",
            "matchConstraints": {
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
                "resourceRules": [
                    {
                        "apiGroups": [gate.resource.group],
                        "apiVersions": [gate.resource.version],
                        "operations": [gate.operation],
                        "resources": [gate.resource.plural],
                    }
                ],
            },
            "validations": [
                {
                    "expression": f"!has({subject}.metadata.labels) || !('{gate.label}' in {subject}.metadata.labels)",
                    "message": gate.message,
                }
            ],
        }
        binding = {"policyName": name, "validationActions": ["Deny" if gate.refuses else "Warn"]}
        await self._client.create(_policy("Policy"), {"metadata": {"name": name}, "spec": spec})
        await self._client.create(_policy("PolicyBinding"), {"metadata": {"name": name}, "spec": binding})
        await self._until_in_force(gate, probe=f"{name}-probe", namespace=namespace)

    async def _until_in_force(self, gate: Gate, *, probe: str, namespace: str) -> None:
        """Tries what the gate is about, without effect, until it says its piece."""
        body = {"metadata": {"name": probe, "labels": {gate.label: "probe"}}}
        many, one = (
            gate.resource.path(namespace=namespace),
            gate.resource.path(namespace=namespace, name=probe),
        )
        if gate.operation != "CREATE":
            await self._client.create(gate.resource, body, namespace=namespace)
        method, path = _TRIES[gate.operation], many if gate.operation == "CREATE" else one
        request = Request(
            method=method,
            path=path,
            query=(("dryRun", "All"),),
            headers=(("Content-Type", "application/json"),),
            body=b"" if method == "DELETE" else msgspec.json.encode(body),
        )
        end = self.clock.monotonic() + _SECONDS
        while True:
            answer = await self.transport.send(request)
            if gate.message.encode() in answer.body or gate.message in answer.headers.get("warning", ""):
                return
            assert self.clock.monotonic() < end, "the policy did not come into force"
            await self.clock.sleep(0.05)


class Impersonated:
    """The transport of an administrator who acts as somebody else."""

    def __init__(self, inner: Transport, user: str) -> None:
        self._inner = inner
        self._user = user

    def _as(self, request: Request) -> Request:
        return msgspec.structs.replace(request, headers=(*request.headers, ("Impersonate-User", self._user)))

    async def send(self, request: Request) -> Response:
        return await self._inner.send(self._as(request))

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[Stream]:
        async with self._inner.stream(self._as(request)) as stream:
            yield stream

    async def close(self) -> None:
        await self._inner.close()


_ACCESS_REVIEWS = Resource(
    group="authorization.k8s.io",
    version="v1",
    plural="selfsubjectaccessreviews",
    kind="SelfSubjectAccessReview",
    namespaced=False,
)


def _rbac(kind: str) -> Resource:
    namespaced = not kind.startswith("Cluster")
    return Resource(group=_RBAC, version="v1", plural=f"{kind.lower()}s", kind=kind, namespaced=namespaced)


def _policy(part: str) -> Resource:
    kind = f"ValidatingAdmission{part}"
    plural = kind.lower()[:-1] + "ies" if kind.endswith("y") else f"{kind.lower()}s"
    return Resource(group=_POLICIES, version="v1", plural=plural, kind=kind, namespaced=False)
