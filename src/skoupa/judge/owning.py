"""Which kinds own which: what a delete may take along although nobody can read it.

Only asked about kinds whose kept objects can't be read; where they can, each says itself on whom it hangs. People may
write an owner reference from anything to anything (`could_own`). Where the right to read was never granted that is not
reckoned with for built-in owners (`might_own`), because an install that may read few kinds could delete nothing else.
"""

from __future__ import annotations

from typing import Final

from skoupa.kube.resources import BUILT_IN_GROUPS, Resource

# Kinds of Kubernetes itself whose objects own others, and what they own directly. The rest of the built-in kinds own
# nothing by themselves; custom kinds may own anything.
_OWNED: Final[dict[str, frozenset[str]]] = {
    "deployments.apps": frozenset({"replicasets.apps"}),
    "replicasets.apps": frozenset({"pods"}),
    "replicationcontrollers": frozenset({"pods"}),
    "statefulsets.apps": frozenset({"pods", "controllerrevisions.apps", "persistentvolumeclaims"}),
    "daemonsets.apps": frozenset({"pods", "controllerrevisions.apps"}),
    "jobs.batch": frozenset({"pods"}),
    "cronjobs.batch": frozenset({"jobs.batch"}),
    "pods": frozenset(
        {
            "persistentvolumeclaims",
            "podcertificaterequests.certificates.k8s.io",
            "resourceclaims.resource.k8s.io",
        }
    ),
    "endpoints": frozenset({"endpointslices.discovery.k8s.io"}),
    "services": frozenset({"endpointslices.discovery.k8s.io"}),
    # Without an owner reference: the controller of tokens does it.
    "serviceaccounts": frozenset({"secrets"}),
    "nodes": frozenset(
        {
            "csinodes.storage.k8s.io",
            "leases.coordination.k8s.io",
            "pods",
            "resourceslices.resource.k8s.io",
        }
    ),
}


def _all_owned(kind: str) -> frozenset[str]:
    """Also what hangs on what it owns."""
    found: set[str] = set()
    ahead = [kind]
    while ahead:
        further = _OWNED.get(ahead.pop(), frozenset()) - found
        found |= further
        ahead += further
    return frozenset(found)


_TAKEN_ALONG: Final = {kind: _all_owned(kind) for kind in _OWNED}


def could_own(owner: Resource, owned: Resource) -> bool:
    """Whether the garbage collector would follow an owner reference at all: within a namespace, or to one of none."""
    return owned.namespaced or not owner.namespaced


def might_own(owner: Resource, owned: Resource) -> bool:
    """Whether deleting an object of one kind may take along objects of the other, however far down its owners go."""
    known = _TAKEN_ALONG.get(owner.qualified)
    if known is not None:
        return owned.qualified in known
    return owner.group not in BUILT_IN_GROUPS and could_own(owner, owned)
