"""A cluster as it was read, and what the questions about its objects ask of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Final

import msgspec

from skoupa.facts.rows import Row, Uid
from skoupa.kube.resources import BUILT_IN_GROUPS, PODS
from skoupa.kube.selectors import LabelSelector
from skoupa.usage.bound_claims import VOLUME, claims_of
from skoupa.usage.edges.choosing import selector_of
from skoupa.usage.found import Choice, Target, Use
from skoupa.usage.graph import Graph, is_partly_known, kind_name, target_of
from skoupa.usage.leftovers.particulars import Particulars
from skoupa.usage.leftovers.templates import Labels
from skoupa.usage.made_for import is_word_of
from skoupa.usage.needs import Needs, Unknown, told
from skoupa.usage.rules import Means
from skoupa.usage.sight import Sight

RBAC: Final = "rbac.authorization.k8s.io"
_SPENT: Final = frozenset({"Succeeded", "Failed"})
# The phase of a volume that no claim has had yet.
_WAITS: Final = "Available"
# Every server makes these, also where manifests do not have them.
_BUILT_IN_ROLES: Final = frozenset({"cluster-admin", "admin", "edit", "view"})
_IN_EVERY_NAMESPACE: Final = frozenset(
    {
        ("ConfigMap", "kube-root-ca.crt"),
        ("ConfigMap", "openshift-service-ca.crt"),
        ("ServiceAccount", "default"),
        ("ServiceAccount", "builder"),
        ("ServiceAccount", "deployer"),
    }
)
MAKE_PODS: Final = (
    "Pod",
    "PodTemplate",
    "ReplicationController",
    "apps/DaemonSet",
    "apps/Deployment",
    "apps/ReplicaSet",
    "apps/StatefulSet",
    "batch/CronJob",
    "batch/Job",
)
# Labels that controllers give to the Pods of a template, of whatever value.
_ADDED: Final = frozenset(
    {
        "statefulset.kubernetes.io/pod-name",
        "apps.kubernetes.io/pod-index",
        "pod-template-hash",
        "pod-template-generation",
        "controller-revision-hash",
        "rollouts-pod-template-hash",
        "job-name",
        "controller-uid",
        "batch.kubernetes.io/job-name",
        "batch.kubernetes.io/controller-uid",
        "batch.kubernetes.io/job-completion-index",
        "jobset.sigs.k8s.io/jobset-name",
        "leaderworkerset.sigs.k8s.io/worker-index",
        "spark-role",
        "spark-app-selector",
        "spark-exec-id",
    }
)
_NOTHING_KNOWN: Final = Particulars()


class Looked:
    """`served` are the kinds by the names of their definitions (`widgets.shop.example`); `now` is for Leases."""

    def __init__(
        self,
        graph: Graph,
        needs: Needs,
        sight: Sight,
        *,
        particulars: Mapping[Uid, Particulars],
        served: Mapping[str, str],
        now: float,
    ) -> None:
        self.graph = graph
        self.sight = sight
        self.needs = needs
        self.served = served
        self.now = now
        self._particulars = particulars

    def put_together(self) -> None:
        """At once, for who keeps it for a while: all of it speaks of this moment."""
        kept = (self.fitted, self._templates, self._custom_names, self._custom_groups)
        for _ in (*kept, self._unclear, self.of_kind, self.inside):
            pass

    def seen(self, row: Row) -> Particulars:
        return self._particulars.get(row.uid, _NOTHING_KNOWN)

    def is_spent(self, row: Row) -> bool:
        return self.seen(row).phase in _SPENT

    def unread(self, *kinds: str) -> Unknown | None:
        """What of these was not read; a kind that the server does not have has no objects."""
        gaps = tuple(gap for kind in kinds if (gap := self.sight.gap(kind)) is not None)
        return Unknown(gaps) if gaps else None

    @cached_property
    def fitted(self) -> frozenset[int]:
        """The selectors that some Pod, or template of Pods, has the labels for."""
        labels = self.needs.namespace_labels
        return frozenset(
            number for pod in self._pods() for number in self.graph.selectors_fitting(pod, labels)
        )

    def fits(self, row: Row, number: int, choice: Choice) -> bool | Unknown:
        """Whether a Pod that lives, or one that somebody would make, has the labels for what `row` selects by."""
        if number in self.fitted:
            return True
        selector = selector_of(choice.selector)
        requirements = selector.requirements if selector is not None else ()
        named = {(row.namespace, value) for one in requirements for value in one.values}
        if not named.isdisjoint(self._custom_names):
            # Operators label the Pods that they make with the name of what they make them for.
            return True
        asked = tuple(one for one in requirements if one.key not in _ADDED)
        wanted = LabelSelector(asked)
        if any(
            wanted.matches(dict(labels))
            for labels in self._made_elsewhere(choice, closely=len(asked) == len(requirements))
        ):
            return True
        doubts = tuple(
            f"the template of {told(target_of(one))} can't be understood"
            for one in self._unclear
            if one.namespace in ("", row.namespace)
        )
        return Unknown(doubts=doubts) if doubts else False

    def may_be_given(self, row: Row, choice: Choice) -> bool:
        """Whether it selects by a label of an operator that has something to run here: its Pods come and go, as those of a CronWorkflow."""
        selector = selector_of(choice.selector)
        groups = self._custom_groups.get(row.namespace, frozenset()) | self._custom_groups.get(
            "", frozenset()
        )
        return selector is not None and any(
            is_word_of(one.key, group) for one in selector.requirements for group in groups
        )

    def claims_awaited(self, volume: Row) -> Iterator[Target]:
        """A volume that was made for a claim waits for it. One that was released does not: no other claim gets it as it is."""
        return claims_of(self.graph, volume) if self.seen(volume).phase == _WAITS else iter(())

    def is_wanted(self, claim: Target) -> bool:
        """Whether there is such a claim, or somebody who has one made: a StatefulSet, what mounts it."""
        users = (user for user in self.graph.users(claim) if kind_name(user.row.resource) != VOLUME)
        return self.graph.get(claim) is not None or any(user.means is not Means.CONCERNS for user in users)

    def doubts_of(self, row: Row) -> tuple[str, ...]:
        """What of the object itself could not be understood."""
        return tuple(
            f"{told(target_of(one))}: {'; '.join(doubts)}"
            for one, doubts in self.graph.doubtful()
            if one.uid == row.uid
        )

    def _made_elsewhere(self, choice: Choice, *, closely: bool) -> Iterator[Labels]:
        """Templates that are in no namespace make Pods in any; those that are in one were looked at `closely` already."""
        yield from self._templates.get("", ())
        if not closely:
            for namespace, templates in self._templates.items():
                if choice.namespaces or choice.namespace in (namespace, "*"):
                    yield from templates

    @cached_property
    def _templates(self) -> dict[str, dict[Labels, None]]:
        found: dict[str, dict[Labels, None]] = {}
        for row in self.graph:
            for labels in self.seen(row).templates:
                found.setdefault(row.namespace, {})[labels] = None
        return found

    @cached_property
    def _custom_names(self) -> frozenset[tuple[str, str]]:
        return frozenset(
            (row.namespace, row.name) for row in self.graph if row.resource.group not in BUILT_IN_GROUPS
        )

    @cached_property
    def _custom_groups(self) -> dict[str, frozenset[str]]:
        found: dict[str, set[str]] = {}
        for row in self.graph:
            if row.resource.group not in BUILT_IN_GROUPS:
                found.setdefault(row.namespace, set()).add(row.resource.group)
        return {namespace: frozenset(groups) for namespace, groups in found.items()}

    @cached_property
    def _unclear(self) -> tuple[Row, ...]:
        return tuple(
            row for row in self.graph if kind_name(row.resource) in MAKE_PODS and self.seen(row).unclear
        )

    @cached_property
    def of_kind(self) -> Counter[str]:
        return Counter(kind_name(row.resource) for row in self.graph)

    @cached_property
    def inside(self) -> Counter[str]:
        """How many objects there are in each namespace beside those that every namespace has."""
        return Counter(
            row.namespace
            for row in self.graph
            if row.namespace and (kind_name(row.resource), row.name) not in _IN_EVERY_NAMESPACE
        )

    def exists(self, target: Target) -> bool | Unknown:
        if is_partly_known(target) or self.graph.get(target) is not None or _always_there(target):
            return True
        gap = self.sight.gap(target.kind, namespace=target.namespace)
        return False if gap is None else Unknown((gap,))

    def uses(self, row: Row, *beginnings: str) -> Iterator[Use]:
        for use in self.graph.uses_of(row.uid):
            if use.at.startswith(beginnings):
                yield use

    def _pods(self) -> Iterator[Row]:
        """Those that live, and those that somebody would make."""
        for row in self.graph:
            if kind_name(row.resource) == "Pod" and not self.is_spent(row):
                yield row
            for labels in self.seen(row).templates:
                yield msgspec.structs.replace(row, resource=PODS, labels=labels)


def _always_there(target: Target) -> bool:
    if target.kind == f"{RBAC}/ClusterRole":
        return target.name in _BUILT_IN_ROLES or target.name.startswith("system:")
    return target.kind == "ServiceAccount" and target.name == "default"
