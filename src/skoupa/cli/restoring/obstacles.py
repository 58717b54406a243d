"""Why an object can't come back, in words: what the server's refusal of a create means.

What the server says about a Secret is not repeated: its refusals quote values.
"""

from __future__ import annotations

import msgspec

from skoupa.cli.remembering.remembered import RestoreResult
from skoupa.errors import AlreadyExists, ApiError, Forbidden, NotFound, SkoupaError
from skoupa.kube.client import Client
from skoupa.kube.objects import METADATA
from skoupa.kube.resources import Resource
from skoupa.ledger.trash.contents import SECRETS, Kept

_TERMINATING = "NamespaceTerminating"


class Obstacle(msgspec.Struct, frozen=True, kw_only=True):
    """`uid` is that of the object that has its name already."""

    what: RestoreResult
    text: str
    uid: str = ""
    denied: bool = False


async def obstacle_of(
    error: SkoupaError, kept: Kept, resource: Resource, *, client: Client, namespace: str
) -> Obstacle:
    if isinstance(error, AlreadyExists):
        return await _existing(kept, resource, client=client, namespace=namespace)
    if isinstance(error, ApiError) and _is_terminating(error):
        return Obstacle(what="refused", text=f"the namespace {namespace} is being deleted; wait for its end")
    if isinstance(error, NotFound) and namespace:
        text = f"there is no namespace {namespace}: restore it first, or give another one with --into"
        return Obstacle(what="refused", text=text)
    if isinstance(error, ApiError):
        return Obstacle(what="refused", text=_words(error, kept), denied=isinstance(error, Forbidden))
    # What came instead of an answer may be quoted, too.
    said = f"no proper answer ({type(error).__name__})" if kept.resource == SECRETS else str(error)
    return Obstacle(what="failed", text=said)


async def _existing(kept: Kept, resource: Resource, *, client: Client, namespace: str) -> Obstacle:
    try:
        found = await client.get(resource, kept.name, namespace=namespace, view=METADATA)
    except SkoupaError:
        return Obstacle(what="exists", text="one of that name is there already")
    meta = found.metadata
    if meta.deletion_timestamp is not None:
        waiting = ", ".join(meta.finalizers or ()) or "its grace period"
        text = f"one of that name is still being deleted, waiting for {waiting}; try again when it is gone"
        return Obstacle(what="refused", text=text)
    if meta.uid == kept.uid:
        return Obstacle(what="exists", text="it never went: it is there with its old uid", uid=meta.uid)
    return Obstacle(what="exists", text="another one of that name is there by now", uid=meta.uid)


def _is_terminating(error: ApiError) -> bool:
    causes = (error.status.details or {}).get("causes") or ()
    return any(isinstance(cause, dict) and cause.get("reason") == _TERMINATING for cause in causes)


def _words(error: ApiError, kept: Kept) -> str:
    if kept.resource != SECRETS or isinstance(error, Forbidden):
        return error.status.message or error.message
    causes = (error.status.details or {}).get("causes") or ()
    fields = ", ".join(str(cause.get("field", "")) for cause in causes if isinstance(cause, dict))
    return f"the server refuses it as {error.status.reason or error.code}" + (
        f" ({fields})" if fields else ""
    )
