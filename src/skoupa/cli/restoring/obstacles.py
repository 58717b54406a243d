"""Why an object can't come back, in words: what the server's refusal of a create means.

What the server says about a Secret is not repeated: its refusals quote values.
"""

from __future__ import annotations

import msgspec

from skoupa.cli.remembering.remembered import RestoreResult
from skoupa.errors import AlreadyExists, ApiError, Forbidden, Invalid, NotFound, SkoupaError
from skoupa.kube.client import Client
from skoupa.kube.kinds import Discovery
from skoupa.kube.objects import METADATA
from skoupa.kube.resources import Resource
from skoupa.ledger.trash.contents import SECRETS, Kept
from skoupa.ledger.trash.ordering import NAMESPACES

_TERMINATING = "NamespaceTerminating"


class Comeback(msgspec.Struct, frozen=True, kw_only=True):
    """What was to come back, and where to; `elsewhere`: not to where it was.

    `restored_as` is the uid that it got when it came back before. Of what went along that is not written down, only
    whether what took it did come back (`again`).
    """

    kept: Kept
    resource: Resource
    namespace: str
    elsewhere: bool = False
    restored_as: str = ""
    again: bool = False


class Obstacle(msgspec.Struct, frozen=True, kw_only=True):
    """`uid` is that of the object that has its name already, `controller` that of who made that one."""

    what: RestoreResult
    text: str
    uid: str = ""
    controller: str = ""
    denied: bool = False


def kind_of(kept: Kept, discovery: Discovery) -> Resource | Obstacle:
    """As the server has it now, in the version that it was read in where that is served."""
    group, _, version = kept.api_version.rpartition("/")
    found = discovery.find(group, kept.kind, version) or discovery.find(group, kept.kind)
    if found is not None:
        return found
    gap = discovery.unreadable(group)
    if gap is not None:
        return Obstacle(what="failed", text=f"the kinds of {gap.where} can't be read: {gap.why}")
    text = f"the server has no kind {kept.kind} of {group or 'the core group'} any more"
    return Obstacle(what="refused", text=text)


async def obstacle_of(error: SkoupaError, wanted: Comeback, *, client: Client) -> Obstacle:
    kept, namespace = wanted.kept, wanted.namespace
    if isinstance(error, AlreadyExists):
        return await _existing(wanted, client)
    if isinstance(error, ApiError) and _is_terminating(error):
        return Obstacle(what="refused", text=f"the namespace {namespace} is being deleted; wait for its end")
    if isinstance(error, NotFound) and namespace:
        what_to_do = "restore it first, or give another one with --into"
        if wanted.elsewhere:
            what_to_do = f"create it first (kubectl create namespace {namespace})"
        return Obstacle(what="refused", text=f"there is no namespace {namespace}: {what_to_do}")
    if isinstance(error, ApiError):
        return Obstacle(what="refused", text=_words(error, kept), denied=isinstance(error, Forbidden))
    # What came instead of an answer may be quoted, too.
    said = f"no proper answer ({type(error).__name__})" if kept.resource == SECRETS else str(error)
    return Obstacle(what="failed", text=said)


async def _existing(wanted: Comeback, client: Client) -> Obstacle:
    kept = wanted.kept
    try:
        found = await client.get(wanted.resource, kept.name, namespace=wanted.namespace, view=METADATA)
    except SkoupaError:
        return Obstacle(what="exists", text="one of that name is there already")
    meta = found.metadata
    if meta.deletion_timestamp is not None:
        # A Namespace has its finalizers elsewhere.
        by_itself = "what is in it" if kept.resource == NAMESPACES else "its grace period"
        waiting = ", ".join(meta.finalizers or ()) or by_itself
        text = f"one of that name is still being deleted, waiting for {waiting}; try again when it is gone"
        return Obstacle(what="refused", text=text)
    text = "another one of that name is there by now"
    if meta.uid == kept.uid:
        text = "it never went: it is there with its old uid"
    elif meta.uid == wanted.restored_as:
        text = "it is back already: it was restored before"
    elif wanted.again:
        text = "one of that name is there by now, maybe since an earlier restore"
    controller = next((owner.uid for owner in meta.owner_references or () if owner.controller), "")
    return Obstacle(what="exists", text=text, uid=meta.uid, controller=controller)


def _is_terminating(error: ApiError) -> bool:
    causes = (error.status.details or {}).get("causes") or ()
    return any(isinstance(cause, dict) and cause.get("reason") == _TERMINATING for cause in causes)


def _words(error: ApiError, kept: Kept) -> str:
    if kept.resource != SECRETS or isinstance(error, Forbidden):
        return error.status.message or error.message
    causes = (error.status.details or {}).get("causes") or ()
    fields = ", ".join(str(cause.get("field", "")) for cause in causes if isinstance(cause, dict))
    said = f"the server refuses it as {error.status.reason or error.code}"
    said = f"{said} ({fields})" if fields else said
    # A type may ask for more than that its keys are there.
    empty = "its values were not kept, and it can't be without them: make it anew"
    return f"{said}; {empty}" if kept.withheld and isinstance(error, Invalid) else said
