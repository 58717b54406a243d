"""Conventions of tenants that can't be meant: an ownership that claims everything, or nothing, must not pass."""

from __future__ import annotations

import re
from typing import Final

from skoupa.errors import UsageError
from skoupa.settings.fields import Settings

_SEPARATOR: Final = re.compile(r"[-.]([-.a-z0-9]{0,8}[-.])?")
_KEY: Final = re.compile(
    r"([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
)
_NAME: Final = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9.:]{0,251}[A-Za-z0-9])?")


def check_tenants(settings: Settings, *, source: str) -> None:
    tenants = settings.tenants
    if not _SEPARATOR.fullmatch(tenants.separator):
        raise UsageError(
            f"{source}: tenants.separator: {tenants.separator!r} can't stand between an id and a name",
            advice="write - or . (or something that begins and ends so, such as -t-): without one, 111111 would mean 1111112-foo",
        )
    for key, text in (("namespaceLabel", tenants.namespace_label), ("objectLabel", tenants.object_label)):
        if text and not _KEY.fullmatch(text):
            raise UsageError(
                f"{source}: tenants.{key}: {text!r} can't be the key of a label",
                advice="write a key alone, such as capsule.clastix.io/tenant",
            )
    for text in tenants.protected:
        if not _NAME.fullmatch(text):
            raise UsageError(
                f"{source}: tenants.protected: {text!r} can't be the name of an object",
                advice="write whole names, without wildcards: system-node-critical",
            )


def check_feature(settings: Settings, *, source: str) -> None:
    if settings.features.tenants and settings.namespaces:
        raise UsageError(
            f"{source}: features.tenants is for a whole cluster, and only some namespaces are looked after here",
            advice="leave namespaces empty, or features.tenants out",
        )
