"""Whether Alive is guarded: the admission policies and their bindings are there, as this version would install them, and enforced.

What may not be read is not known, and said so. A policy that was altered counts as missing, however little was changed: nobody here
can tell what the change lets through.
"""

from __future__ import annotations

from typing import Any, Final, Literal

import msgspec

from skoupa.admission.alive import alive_admission
from skoupa.errors import Forbidden, NotFound
from skoupa.kinds.alive import STANDSTILL
from skoupa.kube.client import Client
from skoupa.kube.objects import WHOLE
from skoupa.kube.resources import Resource
from skoupa.settings import Settings

PROTECTED: Final = "Protected"
_GROUP: Final = "admissionregistration.k8s.io"
_INSTALL: Final = "run `skoupa install --apply`, or upgrade the chart"


def _resource(kind: str, plural: str) -> Resource:
    return Resource(group=_GROUP, version="v1", plural=plural, kind=kind, namespaced=False)


_RESOURCES: Final = {
    "ValidatingAdmissionPolicy": _resource("ValidatingAdmissionPolicy", "validatingadmissionpolicies"),
    "ValidatingAdmissionPolicyBinding": _resource(
        "ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings"
    ),
}


class Protection(msgspec.Struct, frozen=True, kw_only=True):
    status: Literal["True", "False", "Unknown"]
    reason: str
    message: str


NOT_LOOKED_AT: Final = Protection(
    status="Unknown", reason="NotLookedAt", message="nobody has looked at the guard yet"
)


async def look(client: Client, settings: Settings) -> Protection:
    """Raises what keeps the server from answering at all."""
    missing: list[str] = []
    altered: list[str] = []
    try:
        for wanted in alive_admission(settings):
            name = str(wanted["metadata"]["name"])
            try:
                found = await client.get(_RESOURCES[wanted["kind"]], name, view=WHOLE)
            except NotFound:
                missing.append(_called(wanted))
                continue
            if found["metadata"].get("deletionTimestamp") or found.get("spec") != wanted["spec"]:
                altered.append(_called(wanted))
    except Forbidden as error:
        return Protection(
            status="Unknown",
            reason="MayNotBeRead",
            message=f"whether it is guarded may not be read: {error.status.message}",
        )
    if missing:
        return Protection(
            status="False", reason="Missing", message=f"{', '.join(missing)} is not there: {_INSTALL}"
        )
    if altered:
        return Protection(
            status="False",
            reason="Altered",
            message=f"{', '.join(altered)} is not as it was installed: {_INSTALL}",
        )
    return Protection(
        status="True",
        reason="Guarded",
        message="it can be deleted only by who may signal, after a confirmation that names its uid",
    )


def _called(wanted: dict[str, Any]) -> str:
    name = wanted["metadata"]["name"]
    aid = ", which only blocks creation," if name == STANDSTILL else ""
    return f"{wanted['kind']} {name}{aid}"
