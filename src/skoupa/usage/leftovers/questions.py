"""What an object of some kind is good for, kind by kind: what nothing uses, selects, names or stands behind.

Each question gives a reason why the object looks left over, or None where it is good for something, or what would have to be
read to tell. Kinds that do their work by themselves (a Deployment, a Job) are not in the table: that nothing points at them
says nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from skoupa.facts.rows import Row
from skoupa.kube.timestamps import whole_seconds
from skoupa.model.reasons import Reason, reason
from skoupa.usage.found import Choice, Target
from skoupa.usage.graph import kind_name, target_of
from skoupa.usage.leftovers.looked import MAKE_PODS, RBAC, Looked
from skoupa.usage.needs import Unknown, told
from skoupa.usage.objects import may_be_inside
from skoupa.usage.sight import Unread

NETWORK_POLICY: Final = "networking.k8s.io/NetworkPolicy"
SLICE: Final = "discovery.k8s.io/EndpointSlice"
ENDPOINTS: Final = "Endpoints"
# A Lease that nobody renewed for so long, and for so many of its durations, has no holder any more.
STALE_SECONDS: Final = 3600
STALE_DURATIONS: Final = 10
NO_VOLUME: Final = frozenset({"Available", "Released", "Failed"})

# A reason, nothing (it is good for something), or what was not read.
Looks = Reason | None | Unknown
Question = Callable[[Looked, Row], Looks]


def _used(found: Looked, row: Row) -> Looks:  # noqa: ARG001 - whether somebody needs it is all that is asked
    return reason("unused")


def _selects_pods(found: Looked, row: Row) -> Looks:
    """Of a PodDisruptionBudget and a NetworkPolicy: one that is for all Pods is for those to come."""
    own = [
        (number, choice)
        for number, choice in found.graph.selectors_of(row.uid)
        if choice.at in {"spec.selector", "spec.podSelector"}
    ]
    if not own:
        return _without_selector(found, row)
    if any(not choice.selector or found.may_be_given(row, choice) for _, choice in own):
        return None
    if gap := found.unread(*MAKE_PODS):
        return gap
    return _nothing_fits(found, row, own, reason("selects-nothing", kind="Pod"))


def _without_selector(found: Looked, row: Row) -> Looks:
    """A NetworkPolicy that says none is for all Pods, a PodDisruptionBudget for none; what is said may not be understood."""
    if doubts := found.doubts_of(row):
        return Unknown(doubts=doubts)
    return None if kind_name(row.resource) == NETWORK_POLICY else reason("selects-nothing", kind="Pod")


def _nothing_fits(found: Looked, row: Row, own: list[tuple[int, Choice]], otherwise: Reason) -> Looks:
    answers = [found.fits(row, number, choice) for number, choice in own]
    if any(answer is True for answer in answers):
        return None
    return next((answer for answer in answers if isinstance(answer, Unknown)), otherwise)


def _scales(found: Looked, row: Row) -> Looks:
    targets = [use.target for use in found.uses(row, "spec.scaleTargetRef")]
    return _none_exists(found, targets)


def _binds(found: Looked, row: Row) -> Looks:
    """A binding is about a role and about those who have it: without either it grants nothing."""
    role = _none_exists(found, [use.target for use in found.uses(row, "roleRef")])
    if role is not None:
        return role
    seen = found.seen(row)
    if seen.alive or seen.unclear:
        return None
    accounts = [use.target for use in found.uses(row, "subjects")]
    return _none_exists(found, accounts) if accounts else reason("names-nothing", what="it has no subjects")


def _routes(found: Looked, row: Row) -> Looks:
    if found.seen(row).alive or found.seen(row).unclear:
        return None
    backends = [use.target for use in found.uses(row, "spec.rules", "spec.defaultBackend")]
    return _none_exists(found, backends)


def _none_exists(found: Looked, targets: list[Target]) -> Looks:
    """Nothing named is nothing said."""
    answers = [found.exists(target) for target in targets]
    if not answers or any(answer is True for answer in answers):
        return None
    gaps = [gap for answer in answers if isinstance(answer, Unknown) for gap in answer.unread]
    if gaps:
        return Unknown(tuple(dict.fromkeys(gaps)))
    return reason("names-nothing", what=", ".join(dict.fromkeys(told(target) for target in targets)))


def _serves(found: Looked, row: Row) -> Looks:
    seen = found.seen(row)
    if seen.phase == "ExternalName" or seen.unclear:
        return None
    if gap := found.unread(SLICE, *MAKE_PODS):
        return gap
    slices = [user.row for user in found.graph.users(target_of(row)) if kind_name(user.row.resource) == SLICE]
    if any(found.seen(one).alive or found.seen(one).unclear for one in slices):
        return None
    if not seen.selects:
        return _by_hand(found, row, slices)
    own = [pair for pair in found.graph.selectors_of(row.uid) if pair[1].at == "spec.selector"]
    return _nothing_fits(found, row, own, reason("nothing-behind"))


def _by_hand(found: Looked, row: Row, slices: list[Row]) -> Looks:
    """Somebody writes its addresses; there may be none right now. Those of old (Endpoints) are not always copied into slices."""
    addresses = Target(ENDPOINTS, row.namespace, row.name)
    if slices or found.graph.get(addresses) is not None:
        return None
    return found.unread(ENDPOINTS) or reason("nothing-behind")


def _served(found: Looked, row: Row) -> Looks:
    """What ends by itself serves nobody."""
    if found.is_spent(row) or any(owner.kind == "Job" for owner in row.owners):
        return None
    if gap := found.unread("Service"):
        return gap
    services = (user.row for user in found.graph.choosers(row, found.needs.namespace_labels))
    return (
        None if any(kind_name(one.resource) == "Service" for one in services) else reason("behind-no-service")
    )


def _volume(found: Looked, row: Row) -> Looks:
    phase = found.seen(row).phase
    if phase not in NO_VOLUME or any(map(found.is_wanted, found.claims_awaited(row))):
        return None
    return reason("unmounted", phase=phase)


def _priority(found: Looked, row: Row) -> Looks:
    seen = found.seen(row)
    return None if seen.alive or seen.unclear else reason("unused")


def _lease(found: Looked, row: Row) -> Looks:
    seen = found.seen(row)
    if seen.renewed is None:
        return None
    late = seen.renewed + max(STALE_SECONDS, STALE_DURATIONS * seen.duration)
    return reason("lease-stale", since=whole_seconds(seen.renewed)) if late < found.now else None


def _namespace(found: Looked, row: Row) -> Looks:
    if found.inside[row.name]:
        return None
    # What is waived need not be read for what it points at; here it may be all that there is.
    unread = (*found.sight.unread, *filter(may_be_inside, found.sight.waived))
    return Unknown(unread) if unread else reason("namespace-empty")


def _definition(found: Looked, row: Row) -> Looks:
    kind = found.served.get(row.name)
    if kind is None:
        why = "the server does not serve the kind that it defines"
        return Unknown((Unread(kind=row.name, what=row.name, why=why),))
    if found.of_kind[kind]:
        return None
    return found.unread(kind) or reason("no-instances")


QUESTIONS: Final[dict[str, Question]] = {
    "ConfigMap": _used,
    "Secret": _used,
    "PersistentVolumeClaim": _used,
    "PersistentVolume": _volume,
    "ServiceAccount": _used,
    f"{RBAC}/Role": _used,
    f"{RBAC}/ClusterRole": _used,
    f"{RBAC}/RoleBinding": _binds,
    f"{RBAC}/ClusterRoleBinding": _binds,
    "Service": _serves,
    "networking.k8s.io/Ingress": _routes,
    "networking.k8s.io/IngressClass": _used,
    NETWORK_POLICY: _selects_pods,
    "autoscaling/HorizontalPodAutoscaler": _scales,
    "policy/PodDisruptionBudget": _selects_pods,
    "storage.k8s.io/StorageClass": _used,
    "storage.k8s.io/VolumeAttributesClass": _used,
    "scheduling.k8s.io/PriorityClass": _priority,
    "node.k8s.io/RuntimeClass": _used,
    "resource.k8s.io/ResourceClaimTemplate": _used,
    "coordination.k8s.io/Lease": _lease,
    "apiextensions.k8s.io/CustomResourceDefinition": _definition,
    "Namespace": _namespace,
    "Pod": _served,
}
# Of these more is asked than who uses them.
ASKING: Final = frozenset(kind for kind, question in QUESTIONS.items() if question is not _used)
# Asked only by who names them: a Pod without a Service is mostly as it should be.
ON_REQUEST: Final = frozenset({"Pod"})
# Of these it says nothing that somebody owns or manages them: a Deployment does, whoever its Pods serve.
ANSWERED_ALONE: Final = frozenset({"Pod"})
_EVERYTHING: Final = ("*",)
# What a question has to have read, beside whatever could use the object; `*` is every kind that there is.
REQUIRED: Final[dict[str, tuple[str, ...]]] = {
    "Service": (SLICE, ENDPOINTS, *MAKE_PODS),
    "Pod": ("Service",),
    NETWORK_POLICY: MAKE_PODS,
    "policy/PodDisruptionBudget": MAKE_PODS,
    "networking.k8s.io/Ingress": ("Service",),
    f"{RBAC}/RoleBinding": (f"{RBAC}/Role", f"{RBAC}/ClusterRole", "ServiceAccount"),
    f"{RBAC}/ClusterRoleBinding": (f"{RBAC}/ClusterRole", "ServiceAccount"),
    # These are about objects of any kind.
    "autoscaling/HorizontalPodAutoscaler": _EVERYTHING,
    "apiextensions.k8s.io/CustomResourceDefinition": _EVERYTHING,
    "Namespace": _EVERYTHING,
}
# Questions about Pods, also those that are still to be made.
PODS_MATTER: Final = frozenset({"Service", NETWORK_POLICY, "policy/PodDisruptionBudget"})
# And of these also what is in other namespaces.
REQUIRED_EVERYWHERE: Final[dict[str, tuple[str, ...]]] = {f"{RBAC}/RoleBinding": ("ServiceAccount",)}


def question_of(kind: str) -> Question:
    """Of other kinds, such as an Issuer, it is asked whether something uses them."""
    return QUESTIONS.get(kind, _used)
