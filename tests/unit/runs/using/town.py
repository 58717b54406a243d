"""A little cluster in which somebody uses something, and policies of one line that ask about it in both languages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

import msgspec

from skoupa.cli.worlds import StandingClock
from skoupa.clock import Clock
from skoupa.expr.cel.pool import Pool
from skoupa.kube.client import Client
from skoupa.kube.discovery import discover
from skoupa.kube.resources import Resource
from skoupa.runs.calls.outside import Outside
from skoupa.runs.evaluation import Evaluation, Found
from skoupa.runs.using.looks import UsageLooks
from skoupa.settings import PolicySettings
from skoupa.sim.cluster import EmbeddedCluster
from skoupa.sim.content.manifests import Manifest
from tests.unit.policy.world import cleanup, deleting, read

Language = Literal["JMESPath", "CEL"]
NOON = 1_777_636_800.0
LONG_AGO = "2026-01-01T00:00:00Z"


def obj(kind: str, name: str, namespace: str = "shop", **fields: Any) -> dict[str, Any]:
    """`labels` and `ownerReferences` go to its metadata; a kind may have its group before it: `apps/v1/Deployment`."""
    api_version, _, short = kind.rpartition("/")
    inner: dict[str, Any] = {
        key: fields.pop(key) for key in ("labels", "ownerReferences", "annotations") if key in fields
    }
    place: dict[str, Any] = {"namespace": namespace} if namespace else {}
    metadata: dict[str, Any] = {"name": name, **place, "creationTimestamp": LONG_AGO, **inner}
    return {"apiVersion": api_version or "v1", "kind": short, "metadata": metadata, **fields}


def pod_spec(*, claim: str = "", config_map: str = "") -> dict[str, Any]:
    volumes: list[dict[str, Any]] = []
    if claim:
        volumes.append({"name": "data", "persistentVolumeClaim": {"claimName": claim}})
    if config_map:
        volumes.append({"name": "settings", "configMap": {"name": config_map}})
    return {"containers": [{"name": "web", "image": "web"}], "volumes": volumes}


def workload(kind: str, name: str, *, namespace: str = "shop", **about: Any) -> dict[str, Any]:
    template = {"metadata": {"labels": {"app": name}}, "spec": pod_spec(**about)}
    spec = {"replicas": 0, "selector": {"matchLabels": {"app": name}}, "template": template}
    return obj(kind, name, namespace, spec=spec)


class Town:
    def __init__(
        self,
        objects: Iterable[Mapping[str, Any]],
        *,
        pool: Pool,
        clock: Clock | None = None,
        still: bool = True,
    ) -> None:
        self.cluster = EmbeddedCluster(clock=clock or StandingClock(NOON))
        self.cluster.load([Manifest(dict(one), "town.yaml", 1) for one in objects])
        self._pool = pool
        self.client = Client(self.cluster, self.cluster.clock)
        self.looks = UsageLooks(self.client, pool=pool, still=still)

    async def evaluation(
        self,
        expression: str,
        kinds: Iterable[str],
        *,
        language: Language,
        namespace: str = "",
        anew: bool = False,
        **spec: Any,
    ) -> Evaluation:
        """`object` stands for the object in both languages."""
        discovery = await discover(self.client)
        if language == "JMESPath":
            text = expression.replace("object", "target")
            condition = {"key": f"{{{{ {text} }}}}", "operator": "Equals", "value": True}
            scope = "CleanupPolicy" if namespace else "ClusterCleanupPolicy"
            written = cleanup({"kinds": list(kinds)}, scope=scope, conditions={"all": [condition]})
        else:
            plurals = [discovery.resolve(kind).plural for kind in kinds]
            scope = "NamespacedDeletingPolicy" if namespace else "DeletingPolicy"
            written = deleting({"resources": plurals}, scope=scope)
            written["spec"]["conditions"] = [{"name": "c", "expression": expression}]
        written["spec"] |= spec
        outside = Outside(self.client, settings=PolicySettings(), services=False, looks=self.looks)
        made = Evaluation(
            read(written, discovery=discovery),
            pool=self._pool,
            calls=outside.calls(namespace=namespace, discovery=discovery, anew=anew),
            clock=self.cluster.clock,
            namespaces={"shop": {}, "lab": {}},
        )
        await made.begin()
        return made

    def raw(self, resource: Resource) -> list[bytes]:
        return [msgspec.json.encode(one) for one in self.cluster.objects(resource)]

    async def found(
        self, expression: str, kind: str, *, language: Language, namespace: str = "", **spec: Any
    ) -> dict[str, Found]:
        """By name, all of that kind in the shop, or in no namespace."""
        evaluation = await self.evaluation(expression, [kind], language=language, namespace=namespace, **spec)
        return await self.asked(evaluation, kind)

    async def asked(self, evaluation: Evaluation, kind: str) -> dict[str, Found]:
        resource = (await discover(self.client)).resolve(kind)
        page = await evaluation.page(resource, self.raw(resource))
        return {one.metadata.name: one for one in page if one.metadata.namespace in ("", "shop")}
