"""The settings that decide about rights and admission policies, each as a switch that is on or off, and what install makes then.

Names that only Helm knows stand in as placeholders; templates replace them. A test changes every other setting and sees that nothing but
the workload differs.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, Final

import msgspec

from harness.chart.pieces import Circumstance, pieces
from skoupa.admission.alive import alive_admission
from skoupa.admission.tenants import tenant_admission
from skoupa.cli.installing.install import admission_of, installation_of
from skoupa.install.kinds import DEFAULT_KINDS
from skoupa.install.labelling import Manifest
from skoupa.install.manifests import manifests
from skoupa.install.rights import LABEL_TENANTS
from skoupa.settings import Settings

HOME: Final = "the-namespace-of-the-release"
LEASE: Final = "the-name-of-the-lease"
WATCHED: Final = "a-namespace-that-is-watched"
SEPARATOR: Final = "the-separator-of-tenants"

Setting = tuple[str, Any]

# Where a switch is on, and where it is off.
_SETTINGS: Final[dict[str, tuple[Setting, Setting]]] = {
    "ttl": (("features.ttl", True), ("features.ttl", False)),
    "policies": (("features.policies", True), ("features.policies", False)),
    "retention": (("features.retention", True), ("features.retention", False)),
    "alive": (("features.alive", True), ("features.alive", False)),
    "tenants": (("features.tenants", True), ("features.tenants", False)),
    "tenantNames": (("tenants.byName", True), ("tenants.byName", False)),
    "tenantLabel": (("tenants.label", "a-label"), ("tenants.label", "")),
    "enforce": (("mode", "enforce"), ("mode", "observe")),
    "history": (("api.address", "0.0.0.0:8443"), ("api.address", "none")),
    "webhook": (("webhook.address", "0.0.0.0:9443"), ("webhook.address", "none")),
    "namespaced": (("namespaces", [WATCHED]), ("namespaces", [])),
    "kyvernoTtl": (("compat.kyvernoTtl", True), ("compat.kyvernoTtl", False)),
    "refuse": (("ttl.refuse", True), ("ttl.refuse", False)),
    "ttlDeleteRight": (("ttl.requireDeleteRight", True), ("ttl.requireDeleteRight", False)),
    "policyDeleteRight": (("policies.requireDeleteRight", True), ("policies.requireDeleteRight", False)),
    "http": (
        ("policies.allowHttpInNamespacedPolicies", True),
        ("policies.allowHttpInNamespacedPolicies", False),
    ),
    "secrets": (
        ("policies.allowSecretsInNamespacedPolicies", True),
        ("policies.allowSecretsInNamespacedPolicies", False),
    ),
}
# No setting: the policy of the limits is there where a limit is set, and stays where one was set once.
_LIMITS: Final = "limits"
_OF_RIGHTS: Final = (
    *("ttl", "policies", "retention", "alive", "tenants"),
    *("enforce", "history", "webhook", "namespaced"),
)
_OF_ADMISSION: Final = (
    *("ttl", "policies", "enforce", "kyvernoTtl", "refuse", _LIMITS),
    *("ttlDeleteRight", "policyDeleteRight", "http", "secrets"),
)
_OF_ALIVE: Final = ("alive",)
_OF_TENANTS: Final = ("tenants", "tenantNames", "enforce")
_OF_LABELS: Final = ("tenants", "tenantLabel", "enforce", "namespaced")
_KINDS_OF_RIGHTS: Final = {"ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"}
SWITCHING: Final = {setting[0] for both in _SETTINGS.values() for setting in both}


def rights() -> list[Manifest]:
    return [one for one in _rights() if one["object"]["metadata"].get("namespace") != WATCHED]


def watched_rights() -> list[Manifest]:
    """Those that there are once in each namespace that is watched."""
    return [one for one in _rights() if one["object"]["metadata"].get("namespace") == WATCHED]


def admission() -> list[Manifest]:
    def made(circumstance: Circumstance) -> tuple[Manifest, ...]:
        settings = _settings(circumstance, _OF_ADMISSION)
        return admission_of(settings, had_limits=_LIMITS in circumstance)

    def made_for_tenants(circumstance: Circumstance) -> tuple[Manifest, ...]:
        return tenant_admission(_settings(circumstance, _OF_TENANTS))

    def made_for_alive(circumstance: Circumstance) -> tuple[Manifest, ...]:
        return alive_admission(_settings(circumstance, _OF_ALIVE))

    # By themselves: every switch doubles the circumstances.
    return [
        *pieces(_OF_ADMISSION, made),
        *pieces(_OF_TENANTS, made_for_tenants),
        *pieces(_OF_ALIVE, made_for_alive),
    ]


@cache
def _rights() -> list[Manifest]:
    # Which kinds may go is said in the values: here it is seen only whether any may.
    some = [kind.qualified for kind in DEFAULT_KINDS[:1]]

    def made(circumstance: Circumstance) -> Iterator[Manifest]:
        installation = installation_of(_settings(circumstance, _OF_RIGHTS), kinds=some)
        for body in manifests(installation):
            if body["kind"] in _KINDS_OF_RIGHTS:
                yield _without_instance(body)

    def made_for_labels(circumstance: Circumstance) -> Iterator[Manifest]:
        installation = installation_of(_settings(circumstance, _OF_LABELS), kinds=some)
        for body in manifests(installation):
            if body["metadata"]["name"] == LABEL_TENANTS:
                yield _without_instance(body)

    # By itself: what a single setting brings need not double all the others.
    return [*pieces(_OF_RIGHTS, made), *pieces(_OF_LABELS, made_for_labels)]


def _settings(circumstance: Circumstance, switches: tuple[str, ...]) -> Settings:
    tree: dict[str, Any] = {
        "lease": {"namespace": HOME, "name": LEASE},
        "tenants": {"separator": SEPARATOR},
    }
    for switch in switches:
        if switch not in _SETTINGS:
            continue
        on, off = _SETTINGS[switch]
        key, value = on if switch in circumstance else off
        *sections, last = key.split(".")
        place = tree
        for section in sections:
            place = place.setdefault(section, {})
        place[last] = value
    # Not `decode`: looking at every key of a thousand trees takes seconds, and all of these are known to be right.
    return msgspec.convert(tree, Settings, strict=True)


def _without_instance(body: Manifest) -> Manifest:
    """The chart's own labels are put on all objects alike."""
    labels = {key: text for key, text in body["metadata"]["labels"].items() if text != HOME}
    return {**body, "metadata": {**body["metadata"], "labels": labels}}
