"""In which order things come back: what others stand on first, owners before what they own.

Pure: waves of objects; all of one wave may be created at once. A circle of owners, which no controller makes, does not
stop anything: who is met twice is taken as if it had no owner.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from skoupa.ledger.trash.contents import Kept

DEFINITIONS: Final = "customresourcedefinitions.apiextensions.k8s.io"
NAMESPACES: Final = "namespaces"

_ORDER: Final[tuple[tuple[str, ...], ...]] = (
    (NAMESPACES,),
    (DEFINITIONS,),
    (
        "priorityclasses.scheduling.k8s.io",
        "storageclasses.storage.k8s.io",
        "runtimeclasses.node.k8s.io",
        "ingressclasses.networking.k8s.io",
        "volumeattributesclasses.storage.k8s.io",
        "deviceclasses.resource.k8s.io",
    ),
    ("serviceaccounts", "limitranges"),
    ("secrets", "configmaps"),
    ("clusterroles.rbac.authorization.k8s.io", "roles.rbac.authorization.k8s.io"),
    ("clusterrolebindings.rbac.authorization.k8s.io", "rolebindings.rbac.authorization.k8s.io"),
    ("persistentvolumes",),
    ("persistentvolumeclaims",),
    ("services", "networkpolicies.networking.k8s.io", "poddisruptionbudgets.policy"),
    # Kinds that are not named here, custom resources among them.
    (),
    ("pods",),
    (
        "replicasets.apps",
        "replicationcontrollers",
        "deployments.apps",
        "statefulsets.apps",
        "daemonsets.apps",
    ),
    ("jobs.batch", "cronjobs.batch"),
    ("horizontalpodautoscalers.autoscaling", "ingresses.networking.k8s.io"),
    # Before the others they could refuse them.
    (
        "resourcequotas",
        "apiservices.apiregistration.k8s.io",
        "validatingadmissionpolicies.admissionregistration.k8s.io",
        "validatingadmissionpolicybindings.admissionregistration.k8s.io",
        "mutatingadmissionpolicies.admissionregistration.k8s.io",
        "mutatingadmissionpolicybindings.admissionregistration.k8s.io",
        "validatingwebhookconfigurations.admissionregistration.k8s.io",
        "mutatingwebhookconfigurations.admissionregistration.k8s.io",
    ),
)
_RANKS: Final = {kind: rank for rank, kinds in enumerate(_ORDER) for kind in kinds}
_OTHERS: Final = _ORDER.index(())


def rank(kind: str) -> int:
    return _RANKS.get(kind, _OTHERS)


def waves(objects: Sequence[Kept]) -> list[list[Kept]]:
    by_uid = {one.uid: one for one in objects if one.uid}
    places: dict[int, list[Kept]] = {}
    known: dict[str, int] = {}
    for one in objects:
        places.setdefault(_place(one, by_uid, known, frozenset()), []).append(one)
    return [places[place] for place in sorted(places)]


def owner_uids(kept: Kept) -> Iterable[str]:
    metadata = (kept.manifest or {}).get("metadata") or {}
    return (str(owner.get("uid", "")) for owner in metadata.get("ownerReferences") or ())


def _place(one: Kept, by_uid: Mapping[str, Kept], known: dict[str, int], above: frozenset[str]) -> int:
    if one.uid and one.uid in known:
        return known[one.uid]
    above = above | {one.uid}
    owners = [by_uid[uid] for uid in owner_uids(one) if uid in by_uid and uid not in above]
    place = max([rank(one.resource), *(_place(owner, by_uid, known, above) + 1 for owner in owners)])
    known[one.uid] = place
    return place
