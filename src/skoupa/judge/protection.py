"""What never goes: protected namespaces, what the operator protects, Skoupa's own, and what people keep.

`skoupa.dev/keep` on an object or on its Namespace keeps it; a date keeps it until then (midnight UTC). Skoupa's own
kinds never go by a label: a TTL that slipped onto a policy must not end the policy. A Tenant may carry one. A policy of a
namespace goes along with that Namespace: whose time is over there is all that it could act on.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from fnmatch import translate
from typing import Final

from skoupa import names
from skoupa.expr.ttl import NOT_KEPT, Keeping, keep_until
from skoupa.facts.rows import Row
from skoupa.judge.tenants import NAME as TENANTS
from skoupa.kinds.naming import means
from skoupa.kube.resources import Resource
from skoupa.kube.selectors import LabelSelector, parse_labels
from skoupa.model.reasons import Reason, reason
from skoupa.model.verdicts import Claim, Hold
from skoupa.settings import Protect

PROTECTED_NAMESPACES: Final = frozenset({"kube-system", "kube-public", "kube-node-lease"})
# Of the groups that belong to Kyverno only the policies that Skoupa carries out: an exception may well end by a TTL.
_OWN_POLICIES: Final = frozenset(
    {
        (names.KYVERNO_GROUP, names.CLEANUP_POLICY_KIND),
        (names.KYVERNO_GROUP, names.CLUSTER_CLEANUP_POLICY_KIND),
        (names.KYVERNO_POLICIES_GROUP, names.DELETING_POLICY_KIND),
        (names.KYVERNO_POLICIES_GROUP, names.NAMESPACED_DELETING_POLICY_KIND),
    }
)
_NAMESPACED_POLICIES: Final = frozenset(
    {
        (names.KYVERNO_GROUP, names.CLEANUP_POLICY_KIND),
        (names.KYVERNO_POLICIES_GROUP, names.NAMESPACED_DELETING_POLICY_KIND),
    }
)
# Alive in a namespace is the signal just as much as that of the whole cluster.
_OWN_GROUPS: Final = frozenset({names.SKOUPA_GROUP, names.NAMESPACED_ALIVE_GROUP})
OWN_CRD_GROUPS: Final = _OWN_GROUPS | {
    names.KYVERNO_GROUP,
    names.KYVERNO_POLICIES_GROUP,
    names.TENANT_GROUP,
}


def own(row: Row) -> str:
    """What part of Skoupa the object is, in words; empty: none."""
    resource = row.resource
    if resource.group in _OWN_GROUPS or (resource.group, resource.kind) in _OWN_POLICIES:
        return f"a {resource.kind}"
    if resource.kind == "CustomResourceDefinition":
        group = row.name.partition(".")[2]
        if group in OWN_CRD_GROUPS:
            return f"the definition of {row.name}"
    if row.label(names.PART_OF_LABEL) == names.COMPONENT or (
        resource.kind == "ConfigMap" and row.name == names.STATE_CONFIG_MAP
    ):
        return f"the {resource.kind} {row.name}"
    return ""


def goes_with_its_namespace(row: Row) -> bool:
    """Whether it is Skoupa's own and yet holds no Namespace: a policy that acts nowhere else, and that no install brought."""
    policy = (row.resource.group, row.resource.kind) in _NAMESPACED_POLICIES
    return policy and row.label(names.PART_OF_LABEL) != names.COMPONENT


def goes_with_its_tenant(told: Reason, row: Row) -> bool:
    """What keeps an object from everything but the deletion of the tenant that it belongs to."""
    if told.code in {"kept", "namespace-kept"}:
        return True
    resource = row.resource
    policy = resource.group == names.SKOUPA_GROUP or (resource.group, resource.kind) in _OWN_POLICIES
    return told.code == "protected-own" and policy and row.label(names.PART_OF_LABEL) != names.COMPONENT


class Protection:
    """`namespace_label` gives the keep label of a Namespace, or None where it has none; `home` is Skoupa's own."""

    def __init__(
        self, protect: Protect, *, namespace_label: Callable[[str], str | None], home: str = ""
    ) -> None:
        self._namespaces = PROTECTED_NAMESPACES | set(protect.namespaces)
        self._namespace_patterns = [
            re.compile(translate(text)) for text in protect.namespaces if "*" in text or "?" in text
        ]
        self._home = home
        self._kinds = protect.kinds
        self._names = [(text, text.partition("/")[0], _name_pattern(text)) for text in protect.names]
        # What the settings say of each kind that was met.
        self._by_kind: dict[Resource, tuple[tuple[str, ...], tuple[tuple[str, re.Pattern[str]], ...]]] = {}
        self._selectors: list[tuple[str, LabelSelector]] = [
            (text, parse_labels(text)) for text in protect.selectors
        ]
        self._by_settings = bool(self._kinds or self._names or self._selectors)
        self._namespace_label = namespace_label

    def holds(self, row: Row, claim: Claim, now: float) -> list[Hold]:
        of_tenant = claim.mechanism == TENANTS
        return [
            Hold(reason=told, until=until)
            for told, until in self.reasons(row, now)
            if not (of_tenant and goes_with_its_tenant(told, row))
        ]

    def reasons(self, row: Row, now: float) -> list[tuple[Reason, float | None]]:
        """Why an object never goes, by itself or along with another; with the time at which that ends."""
        found: list[tuple[Reason, float | None]] = []
        is_namespace = row.resource.kind == "Namespace" and not row.resource.group
        namespace = row.name if is_namespace else row.namespace
        if namespace in self._namespaces or (
            self._namespace_patterns
            and any(pattern.fullmatch(namespace) for pattern in self._namespace_patterns)
        ):
            found.append((reason("protected-namespace", namespace=namespace), None))
        # Whatever its labels say: state and Lease would go with it.
        what = own(row) or (f"the Namespace {row.name}" if is_namespace and row.name == self._home else "")
        if what:
            found.append((reason("protected-own", what=what), None))
        kept = row.label(names.KEEP_LABEL)
        if kept is not None:
            found += _kept("kept", kept, now)
        kept = self._namespace_label(row.namespace) if row.namespace else None
        if kept is not None:
            found += _kept("namespace-kept", kept, now)
        if self._by_settings:
            found += ((told, None) for told in self._by_setting(row))
        return found

    def _by_setting(self, row: Row) -> Iterator[Reason]:
        if self._kinds or self._names:
            kinds, names_ = self._meant(row.resource)
            for text in kinds:
                yield reason("protected-setting", setting="kinds", value=text)
            place = f"{row.namespace}/{row.name}"
            for text, pattern in names_:
                if pattern.fullmatch(place):
                    yield reason("protected-setting", setting="names", value=text)
        if self._selectors:
            labels = dict(row.labels)
            for text, selector in self._selectors:
                if selector.matches(labels):
                    yield reason("protected-setting", setting="selectors", value=text)

    def _meant(self, resource: Resource) -> tuple[tuple[str, ...], tuple[tuple[str, re.Pattern[str]], ...]]:
        meant = self._by_kind.get(resource)
        if meant is None:
            kinds = tuple(text for text in self._kinds if means(text, resource))
            names_ = tuple((text, pattern) for text, kind, pattern in self._names if means(kind, resource))
            meant = self._by_kind[resource] = (kinds, names_)
        return meant


def _kept(code: str, value: str, now: float) -> Iterator[tuple[Reason, float | None]]:
    until = kept_until(value, now)
    if until is not None:
        yield reason(code, value=value or '""'), finite(until)


def kept_until(value: str | None, now: float) -> float | None:
    """When a keep label ends: None when it keeps nothing now, infinity when it keeps for good."""
    until = NOT_KEPT if value is None else keep_until(value)
    if until is NOT_KEPT:
        return None
    moment = math.inf if isinstance(until, Keeping) else float(until)
    return moment if moment > now else None


def finite(moment: float) -> float | None:
    return moment if math.isfinite(moment) else None


def _name_pattern(text: str) -> re.Pattern[str]:
    """`KIND/NAME` means any namespace, `KIND/NAMESPACE/NAME` that one; of `namespace/name` without the kind."""
    _, *place, name = text.split("/")
    return re.compile(translate(f"{place[0] if place else '*'}/{name}"))
