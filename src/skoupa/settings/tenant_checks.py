"""Conventions of tenants that can't be meant: an ownership that claims everything, or nothing, must not pass."""

from __future__ import annotations

import re
from typing import Final

from skoupa import names
from skoupa.errors import UsageError
from skoupa.settings.fields import Settings
from skoupa.settings.tenants import IN_THE_KEY, TenantSettings

_SEPARATOR: Final = re.compile(r"[-.]([-.a-z0-9]{0,8}[-.])?")
_KEY: Final = re.compile(
    r"([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
)
_OF_KUBERNETES: Final = frozenset({"kubernetes.io", "k8s.io"})
_BELOW_KUBERNETES: Final = (".kubernetes.io", ".k8s.io")
_NAME: Final = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9.:]{0,251}[A-Za-z0-9])?")


def check_tenants(settings: Settings, *, source: str) -> None:
    tenants = settings.tenants
    if not _SEPARATOR.fullmatch(tenants.separator):
        raise UsageError(
            f"{source}: tenants.separator: {tenants.separator!r} can't stand between an id and a name",
            advice="write - or . (or something that begins and ends so, such as -t-): without one, 111111 would mean 1111112-foo",
        )
    keys = (
        ("namespaceLabel", tenants.namespace_label),
        ("objectLabel", tenants.object_label),
        ("label", tenants.label),
    )
    for key, text in keys:
        written = text if key == "label" or text == IN_THE_KEY else text.replace(IN_THE_KEY, "x", 1)
        if text and not _KEY.fullmatch(written):
            raise UsageError(
                f"{source}: tenants.{key}: {text!r} can't be the key of a label",
                advice="write a key alone, such as capsule.clastix.io/tenant"
                + ("" if key == "label" else f", or {IN_THE_KEY}.tree.hnc.x-k8s.io/depth"),
            )
    if why := _means_something(tenants):
        raise UsageError(
            f"{source}: tenants.label: {tenants.label!r} {why}",
            advice=f"write a key that nobody else reads or writes, such as {names.TENANT_LABEL}: whoever writes it gives nothing away with it",
        )
    for text in tenants.protected:
        if not _NAME.fullmatch(text):
            raise UsageError(
                f"{source}: tenants.protected: {text!r} can't be the name of an object",
                advice="write whole names, without wildcards: system-node-critical",
            )


def _means_something(tenants: TenantSettings) -> str:
    """What Skoupa writes itself must not be what makes an object somebody's, or say anything else."""
    if not tenants.label:
        return ""
    if any(_may_mean(key, tenants.label) for key in (tenants.namespace_label, tenants.object_label)):
        return "is also what makes an object a tenant's"
    # Its label is called as its finalizer.
    if tenants.label == names.KUBEZOO_TENANT_FINALIZER:
        return "is KubeZoo's own, and speaks against whoever it does not name"
    prefix = tenants.label.rpartition("/")[0]
    if prefix in _OF_KUBERNETES or prefix.endswith(_BELOW_KUBERNETES):
        return "is Kubernetes' to write"
    if prefix == names.SKOUPA_GROUP and tenants.label != names.TENANT_LABEL:
        return "means something else to Skoupa"
    return ""


def _may_mean(key: str, label: str) -> bool:
    before, place, after = key.partition(IN_THE_KEY)
    return label == key or bool(place and label.startswith(before) and label.endswith(after))


def check_feature(settings: Settings, *, source: str) -> None:
    if settings.features.tenants and settings.namespaces:
        raise UsageError(
            f"{source}: features.tenants is for a whole cluster, and only some namespaces are looked after here",
            advice="leave namespaces empty, or features.tenants out",
        )
