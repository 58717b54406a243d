"""A retention policy as it counts, once it has been read, and whether it is about an object.

A policy that names no kinds is about everything that has rules of finish or usage, but never about what holds data or takes much
along: those kinds must be named (`NEVER_UNNAMED`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

import msgspec

from skoupa import names
from skoupa.kinds.policies.scheduling import Propagation
from skoupa.kinds.retention.policy import Divide, Per
from skoupa.kube.objects import Metadata
from skoupa.kube.resources import Resource
from skoupa.policy.match import Answer, Subject, answer, names_kind
from skoupa.policy.reach import out_of_reach, spared

Kind = Literal["RetentionPolicy", "ClusterRetentionPolicy"]
# By the first of their two names, which the Events of both have.
EVENTS: Final = Resource(version="v1", plural="events", kind="Event", namespaced=True)
Moment = Literal["created", "finished", "succeeded", "failed", "unused"]

NEVER_UNNAMED: Final = frozenset(
    {
        "customresourcedefinitions.apiextensions.k8s.io",
        "namespaces",
        "persistentvolumeclaims",
        "persistentvolumes",
        "secrets",
        "serviceaccounts",
    }
)


class Newest(msgspec.Struct, frozen=True, kw_only=True):
    """So many of each group stay. `family` is a regular expression whose first group is the family; empty: the shipped way."""

    count: int
    per: Per
    family: str = ""


class Limit(msgspec.Struct, frozen=True, kw_only=True):
    """`at_most` 0: as many as the quota of the namespace allows, under the name `quota`."""

    at_most: int = 0
    quota: str = ""
    divide: Divide = "PerNamespace"


class Retention(msgspec.Struct, frozen=True, kw_only=True):
    """`after` has the seconds for each moment that is written; `subject` None is about everything that has rules."""

    kind: Kind
    namespace: str
    name: str
    uid: str = ""
    generation: int = 0
    subject: Subject | None = None
    after: Mapping[Moment, int] = {}
    newest: Newest | None = None
    limit: Limit | None = None
    owners_hold: bool = True
    suspended: bool = False
    propagation: Propagation = "Background"

    @property
    def called(self) -> str:
        """As Brakes and messages name it."""
        return "/".join(part for part in (self.kind, self.namespace, self.name) if part)

    @property
    def of_the_cluster(self) -> bool:
        return self.kind == names.CLUSTER_RETENTION_POLICY_KIND

    @property
    def of_events(self) -> bool:
        """Whether it takes Events, which go by their age alone."""
        return self.names_kind(EVENTS) and "created" in self.after

    def names_kind(self, resource: Resource) -> bool:
        return self.subject is not None and names_kind(self.subject.match, resource)

    def is_about(
        self,
        resource: Resource,
        metadata: Metadata,
        *,
        has_rules: bool,
        namespace_labels: Mapping[str, str] | None = None,
    ) -> Answer:
        """`has_rules`: the kind has rules of finish or usage. Labels of the namespace are None where they could not be read."""
        if not self.names_kind(resource):
            why = _unnamed(resource, metadata, has_rules=has_rules)
            if why:
                return Answer(False, why)
        if self.subject is not None:
            return answer(self.subject, resource, metadata, namespace_labels=namespace_labels)
        if self.namespace and metadata.namespace != self.namespace:
            return Answer(False, f"it is not in {self.namespace}, the namespace of the policy")
        return Answer(True, wildcard=True)


def _unnamed(resource: Resource, metadata: Metadata, *, has_rules: bool) -> str:
    if resource.qualified in NEVER_UNNAMED:
        return f"a policy that does not name {resource.qualified} never takes them: write the kind"
    if not has_rules:
        return "its kind has no rules of finish or usage: write the kind, or teach it with a KindProfile"
    return out_of_reach(resource) or spared(resource, metadata)
