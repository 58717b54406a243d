"""Whether Alive is guarded: the admission policies and their bindings are there, as this version would install them, and enforced.

What may not be read is not known, and said so. A policy that was altered counts as missing, however little was changed: nobody here
can tell what the change lets through. Whether the server does as they say is tried, by a write that they refuse and that would not be
kept: its admission plugin may be off, and what was installed a moment ago is not in force yet.
"""

from __future__ import annotations

from typing import Any, Final, Literal

import msgspec

from skoupa import names
from skoupa.admission.alive import alive_admission
from skoupa.errors import Conflict, Forbidden, Invalid, NotFound
from skoupa.kinds.alive import ALIVES, CHANGES_GUARD, STANDSTILL
from skoupa.kube.client import Client
from skoupa.kube.objects import WHOLE
from skoupa.kube.resources import Resource
from skoupa.settings import Settings

PROTECTED: Final = "Protected"
NOT_ENFORCED: Final = "NotEnforced"
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


_GUARDED: Final = Protection(
    status="True",
    reason="Guarded",
    message="it can be deleted only by who may signal, after a confirmation that names its uid",
)


async def look(client: Client, settings: Settings) -> Protection:
    """Of an Alive that is there. Raises what keeps the server from answering at all."""
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
    return await _tried(client)


async def _tried(client: Client) -> Protection:
    """By a confirmation of no Alive at all, in a dry run: who signals has to confirm, and this is refused by the same."""
    nobody = {
        "metadata": {"annotations": {names.CONFIRM_DELETION_ANNOTATION: "no uid, a trial of the guard"}}
    }
    try:
        await client.merge_patch(ALIVES, names.ALIVE_NAME, nobody, dry_run=True)
    except (Forbidden, Invalid, NotFound, Conflict) as error:
        if CHANGES_GUARD in error.status.message:
            return _GUARDED
        return Protection(
            status="Unknown",
            reason="NotTried",
            message=f"whether its guard is in force could not be tried: {error.status.message}",
        )
    return Protection(
        status="False",
        reason=NOT_ENFORCED,
        message=(
            "its guard is there, and the server takes in a dry run what that refuses: is the admission plugin ValidatingAdmissionPolicy "
            "switched off?"
        ),
    )


def _called(wanted: dict[str, Any]) -> str:
    name = wanted["metadata"]["name"]
    aid = ", which only blocks creation," if name == STANDSTILL else ""
    return f"{wanted['kind']} {name}{aid}"
