"""Questions about others: whose token this is (TokenReview), and what they may do (SubjectAccessReview).

What we may do ourselves is `access`. A token is sent to the API server and nowhere else, and is part of no error.
"""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from skoupa.kube.client import Client
from skoupa.kube.decoding import decode
from skoupa.kube.login.secret import Secret
from skoupa.kube.resources import Resource
from skoupa.kube.transport import Request

R = TypeVar("R")

TOKEN_REVIEWS = Resource(
    group="authentication.k8s.io", version="v1", plural="tokenreviews", kind="TokenReview", namespaced=False
)
SUBJECT_ACCESS_REVIEWS = Resource(
    group="authorization.k8s.io",
    version="v1",
    plural="subjectaccessreviews",
    kind="SubjectAccessReview",
    namespaced=False,
)


class Caller(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody whom the API server knows, with all that its authorizers look at."""

    username: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """A verb on a kind (`deployments.apps`) in a namespace; without one: everywhere."""

    verb: str
    resource: str
    namespace: str = ""


class _User(msgspec.Struct):
    username: str = ""
    uid: str = ""
    groups: tuple[str, ...] | None = None
    extra: dict[str, tuple[str, ...]] | None = None


class _Authentication(msgspec.Struct):
    authenticated: bool = False
    user: _User = msgspec.field(default_factory=_User)


class _TokenReview(msgspec.Struct):
    status: _Authentication


class _Authorization(msgspec.Struct):
    allowed: bool = False


class _AccessReview(msgspec.Struct):
    status: _Authorization


async def whose(client: Client, token: Secret) -> Caller | None:
    """None: the API server does not take this token, or not any more."""
    spec = {"token": token.reveal()}
    status = (await _review(client, TOKEN_REVIEWS, spec, _TokenReview, doing="ask whose token it is")).status
    if not status.authenticated or not status.user.username:
        return None
    extra = {key: tuple(values) for key, values in (status.user.extra or {}).items()}
    return Caller(
        username=status.user.username,
        uid=status.user.uid,
        groups=tuple(status.user.groups or ()),
        extra=tuple(sorted(extra.items())),
    )


async def may(client: Client, caller: Caller, ask: Ask) -> bool:
    plural, _, group = ask.resource.partition(".")
    spec = {
        "user": caller.username,
        "uid": caller.uid,
        "groups": list(caller.groups),
        "extra": {key: list(values) for key, values in caller.extra},
        "resourceAttributes": {
            "verb": ask.verb,
            "group": group,
            "resource": plural,
            "namespace": ask.namespace,
        },
    }
    doing = "ask what somebody may do"
    return (await _review(client, SUBJECT_ACCESS_REVIEWS, spec, _AccessReview, doing=doing)).status.allowed


async def _review(
    client: Client, resource: Resource, spec: dict[str, Any], kind: type[R], *, doing: str
) -> R:
    body = {"apiVersion": resource.api_version, "kind": resource.kind, "spec": spec}
    request = Request(
        method="POST",
        path=resource.path(),
        headers=client.headers(("Accept", "application/json"), ("Content-Type", "application/json")),
        body=msgspec.json.encode(body),
        timeout=10.0,
        verb="review",
        kind=resource.qualified,
        repeatable=True,
    )
    response = await client.ask(request, doing=doing)
    return decode(response.body, kind, doing=doing)  # type: ignore[no-any-return]
