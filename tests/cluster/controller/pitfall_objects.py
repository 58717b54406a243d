"""The small clusters of the pitfalls (tests/unit/usage/pitfalls) on a real server: each in namespaces and with names of its own.

What a real server asks for beside (a port, a size, a parent's uid) is filled in, and statuses are written as controllers would. Words are
looked for in all of a cluster, so that no two cases may say the same.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import msgspec

from skoupa.errors import AlreadyExists, Forbidden, NotFound
from skoupa.kube.client import Client
from skoupa.kube.discovery import discover
from skoupa.kube.kinds import Discovery
from skoupa.kube.objects import METADATA, WHOLE
from skoupa.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES, Resource
from tests.cluster.reaching import eventually
from tests.unit.usage.pitfalls.making import ELSEWHERE, LEFT, SHOP, WANTED, Case

Object = dict[str, Any]
PLACES: Final = (SHOP, ELSEWHERE, "argocd", "flux-system")
_WORDS: Final = re.compile(rf"(?<![a-z0-9])({'|'.join((*PLACES, WANTED, LEFT))})(?![a-z0-9])")
_TOKEN: Final = "kubernetes.io/service-account-token"
_MIRROR: Final = "kubernetes.io/config.mirror"
# Nobody serves it: no default one is put in, and nothing is provisioned. Of each case its own, so that no claim gets the volume of another.
_CLASS: Final = "by-hand"
_SIZE: Final = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}


class Placed(msgspec.Struct, frozen=True):
    """A case with its names: `of`, `other` and `by` as they are to be made."""

    case: Case
    of: Object
    other: Object
    by: tuple[Object, ...]
    places: tuple[str, ...]

    @property
    def objects(self) -> tuple[Object, ...]:
        """Owners first, and what is to stay before what is to go: whoever saw the one go has seen the other."""
        every = (*self.by, self.of, self.other)
        return tuple(sorted(every, key=lambda one: "ownerReferences" in one["metadata"]))


def placed(case: Case, *, tag: str) -> Placed:
    """`tag` is a word that no other case has."""
    called = {word: f"{word}-{tag}" for word in (*PLACES, WANTED, LEFT)}
    class_ = f"{_CLASS}-{tag}"
    every = [copy.deepcopy(dict(one)) for one in (case.of, case.other, *case.by)]
    for one in every:
        if "namespace" not in one["metadata"] and one["metadata"]["name"] not in (WANTED, LEFT):
            called.setdefault(one["metadata"]["name"], f"{one['metadata']['name']}-{tag}")
    renamed = [_said(one, lambda text: called.get(text) or _worded(text, called)) for one in every]
    of, other, *by = (_as_servers_want(one, class_) for one in renamed)
    return Placed(case, of, other, tuple(by), tuple(called[place] for place in PLACES))


def _worded(text: str, called: Mapping[str, str]) -> str:
    return _WORDS.sub(lambda word: called[word[1]], text)


def _said(value: Any, renamed: Callable[[str], str]) -> Any:
    if isinstance(value, Mapping):
        return {
            key: inner if key in {"apiVersion", "kind"} else _said(inner, renamed)
            for key, inner in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [_said(one, renamed) for one in value]
    return renamed(value) if isinstance(value, str) else value


def _as_servers_want(one: Object, class_: str) -> Object:
    one["metadata"].pop("creationTimestamp", None)
    spec = one.get("spec", {})
    match one["kind"]:
        case "Job":
            _ending(spec)
            if "status" in one:
                # Else kube-controller-manager writes one of its own.
                spec["managedBy"] = "example.com/nobody"
        case "CronJob":
            _ending(spec["jobTemplate"]["spec"])
        case "StatefulSet":
            spec.setdefault("serviceName", "")
            for claim in spec.get("volumeClaimTemplates", ()):
                claim["spec"] = {**_SIZE, **claim["spec"]}
        case "Ingress":
            one.setdefault("spec", {"defaultBackend": {"service": {"name": "web", "port": {"number": 80}}}})
        case "Pod" if _MIRROR in one["metadata"].get("annotations", {}):
            spec["nodeName"] = "node-1"
        case "PersistentVolumeClaim":
            one["spec"] = {**_SIZE, "storageClassName": class_, **spec, "resources": _SIZE["resources"]}
        case "PersistentVolume":
            driver = {"driver": "disks", "volumeHandle": one["metadata"]["name"], **spec.get("csi", {})}
            size = {"capacity": {"storage": "1Gi"}, "accessModes": _SIZE["accessModes"]}
            kept = {"storageClassName": class_, "persistentVolumeReclaimPolicy": "Retain"}
            one["spec"] = {**size, **kept, **spec, "csi": driver}
    return one


def _ending(spec: Object) -> None:
    spec["template"]["spec"].setdefault("restartPolicy", "Never")


class Ground:
    """Where the cases of a test are made, and everything that has to be taken away again."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._discovery: Discovery | None = None
        self._uids: dict[str, str] = {}
        self._in_no_namespace: list[tuple[Resource, str]] = []
        self._definitions: list[str] = []
        self._places: list[str] = []

    def resource(self, one: Mapping[str, Any]) -> Resource:
        assert self._discovery is not None, "the kinds were brought"
        group = one["apiVersion"].rpartition("/")[0]
        found = self._discovery.find(group, one["kind"])
        assert found is not None, f"{one['apiVersion']} {one['kind']} is not served"
        return found

    async def bring_kinds(self, cases: tuple[Placed, ...]) -> None:
        self._discovery = await discover(self._client)
        missing = {
            (one["apiVersion"], one["kind"]): one
            for case in cases
            for one in case.objects
            if self._discovery.find(one["apiVersion"].rpartition("/")[0], one["kind"]) is None
        }
        for one in missing.values():
            definition = _definition(one)
            await self._client.create(CUSTOM_RESOURCE_DEFINITIONS, definition)
            self._definitions.append(definition["metadata"]["name"])

        async def served() -> bool:
            self._discovery = found = await discover(self._client)
            return all(found.find(api.rpartition("/")[0], kind) is not None for api, kind in missing)

        await eventually(served, what="the kinds to be served", seconds=60)

    async def make(self, placed: Placed, *, labels: Mapping[str, str]) -> None:
        """`labels` are for the object that is asked about, and for the one beside it."""
        for place in placed.places:
            await self._client.create(NAMESPACES, {"metadata": {"name": place}})
            self._places.append(place)
        for one in placed.objects:
            for needed in _needed_by(one):
                await self._make(needed)
            asked = one is placed.of or one is placed.other
            await self._make(one, labels=labels if asked and not placed.case.reported else {})

    async def _make(self, one: Object, *, labels: Mapping[str, str] | None = None) -> None:
        resource, metadata = self.resource(one), dict(one["metadata"])
        metadata["labels"] = {**(metadata.get("labels") or {}), **(labels or {})}
        given = metadata.pop("uid", "")
        metadata["ownerReferences"] = [
            {**owner, "uid": self._uids.get(owner["uid"], owner["uid"])}
            for owner in metadata.get("ownerReferences", ())
        ]
        custom = self._is_custom(resource)
        body = {
            **{field: value for field, value in one.items() if custom or field != "status"},
            "metadata": metadata,
        }
        where = metadata.get("namespace", "") if resource.namespaced else ""
        made = await self._put(resource, body, where)
        self._uids[given] = made["metadata"]["uid"]
        if not resource.namespaced:
            self._in_no_namespace.append((resource, metadata["name"]))
        if resource.kind == "PersistentVolume":
            await self._is_seen(resource, metadata["name"])
        if not custom and resource.kind in {"Pod", "Job"} and "status" in one:
            status = _ended(one["status"]) if resource.kind == "Job" else one["status"]
            await self._client.merge_patch(
                resource, metadata["name"], {"status": status}, namespace=where, subresource="status"
            )

    async def _is_seen(self, resource: Resource, name: str) -> None:
        async def seen() -> bool:
            found: Object = await self._client.get(resource, name, view=WHOLE)
            phase: str = found.get("status", {}).get("phase", "Pending")
            return phase != "Pending"

        await eventually(seen, what=f"kube-controller-manager to look at the volume {name}")

    def _is_custom(self, resource: Resource) -> bool:
        return resource.qualified in self._definitions

    async def _put(self, resource: Resource, body: Object, where: str) -> Object:
        made: Object = {}

        async def put() -> bool:
            try:
                made.update(await self._client.create(resource, body, namespace=where))
            except AlreadyExists:
                # As what every Namespace has.
                name, told = body["metadata"]["name"], {**body, "metadata": dict(body["metadata"])}
                del told["metadata"]["ownerReferences"]
                made.update(await self._client.merge_patch(resource, name, told, namespace=where))
            except Forbidden:
                # No Pod before the ServiceAccount of its Namespace.
                return False
            return True

        await eventually(put, what=f"{resource.kind} {body['metadata']['name']} to be taken")
        return made

    async def there(self, one: Mapping[str, Any]) -> Mapping[str, str] | None:
        """The annotations of what is there."""
        resource, metadata = self.resource(one), one["metadata"]
        where = metadata.get("namespace", "") if resource.namespaced else ""
        try:
            found = await self._client.get(resource, metadata["name"], namespace=where, view=METADATA)
        except NotFound:
            return None
        return None if found.metadata.deletion_timestamp else found.metadata.annotations or {}

    async def goes(self, one: Mapping[str, Any], *, what: str) -> None:
        async def is_gone() -> bool:
            return await self.there(one) is None

        await eventually(is_gone, what=f"{what}: {one['metadata']} to go", seconds=90, patiently=True)

    async def clear(self) -> None:
        """Other tests of this control plane do without all of it."""
        for place in self._places:
            await self._remove(NAMESPACES, place)
        for resource, name in self._in_no_namespace:
            await self._remove(resource, name)
        for name in self._definitions:
            await self._remove(CUSTOM_RESOURCE_DEFINITIONS, name)

        async def gone() -> bool:
            return not [
                name for name in self._definitions if await self._uid(CUSTOM_RESOURCE_DEFINITIONS, name)
            ]

        await eventually(gone, what="the kinds to go", seconds=90, patiently=True)

    async def _remove(self, resource: Resource, name: str) -> None:
        if uid := await self._uid(resource, name):
            await self._client.delete(resource, name, uid=uid, propagation="Background")

    async def _uid(self, resource: Resource, name: str) -> str:
        try:
            return (await self._client.get(resource, name, view=METADATA)).metadata.uid
        except NotFound:
            return ""


def _needed_by(one: Mapping[str, Any]) -> Iterator[Object]:
    """kube-controller-manager takes the token of an account that is not there."""
    account = one["metadata"].get("annotations", {}).get("kubernetes.io/service-account.name")
    if one.get("type") == _TOKEN and account:
        metadata = {"name": account, "namespace": one["metadata"]["namespace"]}
        yield {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}


def _ended(status: Object) -> Object:
    """As a server takes it from a controller of Jobs."""
    ended = next(one["lastTransitionTime"] for one in status["conditions"])
    met = {
        "type": "SuccessCriteriaMet",
        "status": "True",
        "lastTransitionTime": ended,
        "reason": "CompletionsReached",
    }
    return {
        "startTime": ended,
        "completionTime": ended,
        "succeeded": 1,
        "conditions": [met, *status["conditions"]],
    }


def _definition(one: Mapping[str, Any]) -> Object:
    group, version = one["apiVersion"].split("/")
    plural = one["kind"].lower() + ("es" if one["kind"].endswith("s") else "s")
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    return {
        "metadata": {
            "name": f"{plural}.{group}",
            # Groups of Kubernetes' own ask for it.
            "annotations": {"api-approved.kubernetes.io": "unapproved, test"},
        },
        "spec": {
            "group": group,
            "names": {"plural": plural, "kind": one["kind"], "singular": one["kind"].lower()},
            "scope": "Namespaced" if "namespace" in one["metadata"] else "Cluster",
            "versions": [{"name": version, "served": True, "storage": True, "schema": schema}],
        },
    }
