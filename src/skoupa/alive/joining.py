"""What of Alive is a participant's: its entry and finalizer, and what it has to write to join, or to be done.

For `sdk`, so only the wire is needed. Pure: from Alive as the server has it to a merge patch that names the state which was read, so that
a write of somebody else in between is a conflict and overwrites nothing. It changes what is the participant's own, and of nobody else.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

import msgspec

from skoupa import names
from skoupa.kube.resources import Resource

Found = Mapping[str, Any]

# What spec.deletionPolicy says where participants are to clean up.
SIGNAL: Final = "Signal"

ALIVES: Final = Resource(
    group=names.SKOUPA_GROUP,
    version="v1alpha1",
    plural="alives",
    kind=names.ALIVE_KIND,
    namespaced=False,
    verbs=("get", "list", "watch", "patch"),
)
# The form of the seed, which is in a namespace.
NAMESPACED_ALIVES: Final = msgspec.structs.replace(
    ALIVES, group=names.NAMESPACED_ALIVE_GROUP, namespaced=True
)


# Of `spec.preserve`: whatever there is.
_EVERYTHING: Final = {"names": ["*"], "reason": "spec.deletionPolicy of Alive is Preserve"}


class Deletion(msgspec.Struct, frozen=True, kw_only=True):
    """The cluster is about to die: since when, how long is waited, and what `spec.preserve` wants to be left as it is.

    What is preserved may become more: `sdk.deletion` says what is wanted now.
    """

    uid: str
    since: float
    timeout: str
    preserve: tuple[dict[str, Any], ...] = ()


def kind_in(namespace: str) -> Resource:
    """Empty: that of the whole cluster."""
    return NAMESPACED_ALIVES if namespace else ALIVES


def uid_of(found: Found) -> str:
    return str(found["metadata"]["uid"])


def entries_of(found: Found) -> list[dict[str, Any]]:
    return list((found.get("spec") or {}).get("participants") or ())


def finalizers_of(found: Found) -> list[str]:
    return list(found["metadata"].get("finalizers") or ())


def asked_since(found: Found) -> float | None:
    """Since when its deletion is asked for; None: it lives."""
    text = found["metadata"].get("deletionTimestamp")
    return datetime.fromisoformat(str(text)).timestamp() if text else None


def deletion_of(found: Found, since: float) -> Deletion:
    spec = found.get("spec") or {}
    # Its guard refuses that deletion; where it was not there nobody is to clean up all the same.
    everything = () if spec.get("deletionPolicy", SIGNAL) == SIGNAL else (_EVERYTHING,)
    return Deletion(
        uid=uid_of(found),
        since=since,
        timeout=str(spec.get("timeout") or ""),
        preserve=(*everything, *(spec.get("preserve") or ())),
    )


def entry(finalizer: str, *, identity: str, lease: tuple[str, str], title: str) -> dict[str, Any]:
    namespace, name = lease
    ours: dict[str, Any] = {"finalizer": finalizer, "identity": identity}
    ours["lease"] = {"namespace": namespace, "name": name}
    if title:
        ours["title"] = title
    return ours


def joining(found: Found, ours: Mapping[str, Any]) -> dict[str, Any]:
    """Each entry keeps its place: the server compares them place by place."""
    finalizer = ours["finalizer"]
    entries = [dict(ours) if one.get("finalizer") == finalizer else one for one in entries_of(found)]
    finalizers = finalizers_of(found)
    return {
        "metadata": {
            "resourceVersion": _version(found),
            "finalizers": finalizers if finalizer in finalizers else [*finalizers, finalizer],
        },
        "spec": {"participants": entries if ours in entries else [*entries, ours]},
    }


def leaving(found: Found, finalizer: str, *, with_entry: bool) -> dict[str, Any] | None:
    """None: nothing of it is there. Once it goes the entry stays, which says that we are done."""
    finalizers, entries = finalizers_of(found), entries_of(found)
    left = [one for one in finalizers if one != finalizer]
    others = [one for one in entries if one.get("finalizer") != finalizer]
    patch: dict[str, Any] = {"metadata": {"resourceVersion": _version(found), "finalizers": left}}
    if with_entry and others != entries:
        patch["spec"] = {"participants": others}
    return patch if left != finalizers or "spec" in patch else None


def _version(found: Found) -> str:
    return str(found["metadata"]["resourceVersion"])
