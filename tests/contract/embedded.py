"""The embedded cluster as the host of an arena."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from skoupa.clock import Clock
from skoupa.kube.resources import Resource
from skoupa.kube.transport import Transport
from skoupa.sim.cluster import EmbeddedCluster
from skoupa.sim.state.access import Rule, User
from skoupa.sim.state.admission import Refuse, Ruling, Warn
from tests.contract.arena import Gate, Grant


class EmbeddedHost:
    def __init__(self, cluster: EmbeddedCluster) -> None:
        self._cluster = cluster
        self.clock: Clock = cluster.clock
        self.transport: Transport = cluster
        self.mark = "embedded"
        self.shared: dict[str, Resource] = {}

    async def forget_the_past(self, custom: Resource) -> None:
        assert custom.group, "only the past of a custom kind can be forgotten on the real server"
        self._cluster.compact()

    async def as_user(self, name: str, grants: Sequence[Grant], *, namespace: str) -> Transport:
        rules = [
            Rule(
                verbs=grant.verbs,
                resources=grant.resources,
                namespaces=() if grant.everywhere else (namespace,),
                names=grant.names,
            )
            for grant in grants
        ]
        # What a real server grants to everybody who is authenticated.
        reviews = ("selfsubjectaccessreviews", "selfsubjectrulesreviews")
        asking = Rule(verbs=("create",), resources=tuple(f"{each}.authorization.k8s.io" for each in reviews))
        self._cluster.allow_only(name, [*rules, asking])
        return self._cluster.as_user(name)

    async def set_gate(self, gate: Gate, *, name: str, namespace: str) -> None:
        def hook(
            operation: str,
            resource: Resource,
            obj: Mapping[str, Any] | None,
            old: Mapping[str, Any] | None,
            user: User,
        ) -> Ruling:
            subject = (old if operation == "DELETE" else obj) or {}
            metadata = subject.get("metadata") or {}
            concerned = (
                operation == gate.operation
                and resource.qualified == gate.resource.qualified
                and metadata.get("namespace") == namespace
                and gate.label in (metadata.get("labels") or {})
            )
            if not concerned:
                return None
            return Refuse(gate.message, code=422) if gate.refuses else Warn(gate.message)

        self._cluster.admit(hook, name=name)
