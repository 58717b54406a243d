"""Ids by which too much would be meant: such a Tenant is refused, and nothing goes with it.

An id stands at the beginning of names, with a separator after it. So it must be of the form that names have, long enough to be
nobody's word, not the beginning of what Kubernetes or the operator call their own, and no other tenant's id may begin with it and
a separator: `team` has `team-a-x` as its `a-x`, and so has `team-a` as its `x`. Then neither goes.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable
from functools import cache
from typing import Final

from skoupa.kube.resources import BUILT_IN_GROUPS
from skoupa.settings import Protect, TenantSettings
from skoupa.tenants.tenant import Tenant

_LONGEST: Final = 57
# Whatever begins so is of Kubernetes itself, or of the distribution.
_RESERVED: Final = ("kube", "kubernetes", "system", "openshift")
# Names of objects in no namespace, and of Namespaces, that a cluster has or that everybody knows.
KNOWN: Final = frozenset(
    {
        *(
            "kube-system",
            "kube-public",
            "kube-node-lease",
            "default",
            "local-path-storage",
            "gatekeeper-system",
        ),
        *("cert-manager", "ingress-nginx", "istio-system", "metallb-system", "monitoring", "skoupa"),
        # KubeZoo's quotas of all tenants begin so.
        "kubezoo-tenant-quota",
        # What many run: the first part of such a name is soon somebody's id.
        *(
            "calico-system",
            "tigera-operator",
            "cilium-secrets",
            "cattle-system",
            "longhorn-system",
            "rook-ceph",
        ),
        *(
            "external-secrets",
            "external-dns",
            "flux-system",
            "knative-serving",
            "linkerd-viz",
            "tekton-pipelines",
        ),
        *("argocd", "kyverno", "velero", "traefik", "prometheus-operator", "rancher-operator-system"),
        # Priority and fairness.
        *(
            "catch-all",
            "exempt",
            "global-default",
            "leader-election",
            "node-high",
            "workload-high",
            "workload-low",
        ),
        *("endpoint-controller", "kube-controller-manager", "kube-scheduler", "kube-system-service-accounts"),
        *(
            "probes",
            "service-accounts",
            "system",
            "system-leader-election",
            "system-node-high",
            "system-nodes",
        ),
        *("workload-leader-election", "system-node-critical", "system-cluster-critical"),
        # Roles that every cluster has begin with system: or are these.
        *("admin", "cluster-admin", "edit", "view", "volume-scheduler"),
        *(
            "selfsubject-review",
            "legacy-unknown",
            "cluster-autoscaler",
            "service-controller",
            "metrics-server",
        ),
    }
)


class Ids:
    """The ids of all Tenants that there are, in order, so that thousands can be asked about each other."""

    def __init__(self, tenants: Iterable[Tenant]) -> None:
        self._sorted = sorted({one.name for one in tenants})
        self._known = frozenset(self._sorted)

    def beginning_with(self, prefix: str) -> str:
        """One that begins so; empty: none does."""
        place = bisect_left(self._sorted, prefix)
        found = self._sorted[place] if place < len(self._sorted) else ""
        return found if found.startswith(prefix) else ""

    def before(self, name: str, separator: str) -> str:
        """One that, with the separator, the name begins with; empty: none."""
        place = name.find(separator)
        while place >= 0:
            if name[:place] in self._known:
                return name[:place]
            place = name.find(separator, place + 1)
        return ""


def refusal(tenant: Tenant, others: Ids, *, settings: TenantSettings, protect: Protect) -> str:
    """Why nothing goes with it; empty: it may. `others` are the ids of all Tenants that there are."""
    name = tenant.name
    said = _of_the_object(tenant)
    if not (settings.by_name or settings.namespace_label or settings.object_label or settings.owners):
        said = "nothing says what belongs to a tenant: switch tenants.byName on, or set namespaceLabel, objectLabel or owners"
    if said or not settings.by_name:
        return said
    if not _form(settings.separator).fullmatch(name):
        return (
            f"its name {name!r} can't be the beginning of names: small letters, digits and - in between, "
            f"{_LONGEST} at most, and not ending with {settings.separator!r}"
        )
    if len(name) < settings.shortest_id:
        return (
            f"its name {name!r} is shorter than tenants.shortestId ({settings.shortest_id}): too much could be called "
            f"{name}{settings.separator}…"
        )
    return _too_much(name, others, settings=settings, protect=protect)


def _of_the_object(tenant: Tenant) -> str:
    written = tenant.written_id
    # In Go a number that nobody wrote is 0.
    if written is None or written in (0, ""):
        return ""
    same = written == tenant.name or (
        isinstance(written, int)
        and not isinstance(written, bool)
        and tenant.name.isascii()
        and tenant.name.isdecimal()
        and int(tenant.name) == written
    )
    return (
        ""
        if same
        else f"its spec.id ({written!s}) is not its name ({tenant.name}): which of both is meant is not known"
    )


def _too_much(name: str, others: Ids, *, settings: TenantSettings, protect: Protect) -> str:
    prefix = f"{name}{settings.separator}"
    if word := reserved(name):
        return f"names that begin with {word} belong to the cluster itself"
    for known in (*sorted(KNOWN), *settings.protected, *protect.namespaces, *_names(protect.names)):
        if known == name or known.startswith(prefix):
            return f"{prefix}… would also mean {known}, which is protected"
    for group in sorted(BUILT_IN_GROUPS):
        if group.startswith(prefix):
            return f"{prefix}… would also mean all of the group {group}, which belongs to the cluster itself"
    if longer := others.beginning_with(prefix):
        return f"{prefix}… would also mean what belongs to the Tenant {longer}"
    if shorter := others.before(name, settings.separator):
        return f"{prefix}… could also be what belongs to the Tenant {shorter}"
    return ""


def reserved(name: str) -> str:
    """The word in front by which it is the cluster's own; empty: it has none."""
    return next((word for word in _RESERVED if name == word or name.startswith((f"{word}-", f"{word}:"))), "")


def _names(texts: Iterable[str]) -> Iterable[str]:
    """`KIND/NAME` of the settings; what has wildcards is looked at object by object."""
    return (text.rpartition("/")[2] for text in texts)


@cache
def _form(separator: str) -> re.Pattern[str]:
    dots = "." if "." in separator else ""
    return re.compile(rf"[a-z0-9](?:[-a-z0-9{dots}]{{0,{_LONGEST - 2}}}[a-z0-9])?")
