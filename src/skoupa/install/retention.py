"""What retention policies and profiles of kinds need in a cluster beside their definitions, which are always brought: rights.

What they match is listed, watched, deleted and marked by the rights of the mechanism itself (`install.rights`); here is what concerns
the kinds of retention, and quotas.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from skoupa import names
from skoupa.install.rights import READ, REPORT, Right
from skoupa.kinds.retention import DEFINITIONS
from skoupa.settings import Settings

_FOLLOWING: Final = {names.KIND_PROFILE_KIND: "what people teach of their kinds is read and followed"}
_TELLING: Final = {names.KIND_PROFILE_KIND: "whether a profile is understood is told in its status"}


def retention_rights(settings: Settings) -> Iterator[Right]:
    if not settings.features.retention:
        return
    for definition in DEFINITIONS:
        for role, verbs, below, why in (
            (
                READ,
                ("list", "watch"),
                "",
                _FOLLOWING.get(definition.kind, "retention policies are read and followed"),
            ),
            (
                REPORT,
                ("patch",),
                "/status",
                _TELLING.get(definition.kind, "what a retention policy is about is told in its status"),
            ),
        ):
            yield Right(
                role=role,
                group=definition.group,
                resources=(f"{definition.plural}{below}",),
                verbs=verbs,
                namespaced=definition.namespaced,
                why=why,
            )
    why = "what a namespace may have is read where a policy says fromQuota"
    yield Right(role=READ, resources=("resourcequotas",), verbs=("list",), why=why)
