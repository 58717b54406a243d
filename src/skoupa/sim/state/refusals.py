"""The server's ways to say no: every refusal of the embedded cluster is one exception that carries a metav1.Status.

Codes, reasons and message forms are those of kube-apiserver 1.35: clients match on reasons, people read messages.
The functions are named for what happened; each returns the exception for the caller to raise.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from skoupa.kube.resources import Resource

TOO_OLD_TOKEN = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new "  # noqa: S105 - a message
    "list without the continue parameter, or use the continue token in this response to retrieve the remainder of "
    "the results. Continuing with the provided token results in an inconsistent list - objects that were created, "
    "modified, or deleted between the time the first chunk was returned and now may show up in the list."
)


class Cause(msgspec.Struct, frozen=True, kw_only=True):
    reason: str = "FieldValueInvalid"
    message: str
    field: str = ""


class Refusal(Exception):
    """An answer other than success; `status` is the body, `headers` what goes along (Retry-After)."""

    def __init__(
        self,
        *,
        code: int,
        reason: str,
        message: str,
        details: dict[str, Any] | None = None,
        continue_token: str = "",
        retry_after: int | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.headers = {} if retry_after is None else {"retry-after": str(retry_after)}
        self.status: dict[str, Any] = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {"continue": continue_token} if continue_token else {},
            "status": "Failure",
            "message": message,
        }
        if reason:
            self.status["reason"] = reason
        if retry_after is not None:
            details = {**(details or {}), "retryAfterSeconds": retry_after}
        if details is not None:
            self.status["details"] = details
        self.status["code"] = code


def details_of(resource: Resource, name: str = "", **more: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"name": name} if name else {}
    if resource.group:
        found["group"] = resource.group
    found["kind"] = resource.plural
    return found | more


def not_found(resource: Resource, name: str) -> Refusal:
    return Refusal(
        code=404,
        reason="NotFound",
        message=f'{resource.qualified} "{name}" not found',
        details=details_of(resource, name),
    )


def no_such_path() -> Refusal:
    return Refusal(
        code=404, reason="NotFound", message="the server could not find the requested resource", details={}
    )


def already_exists(resource: Resource, name: str, *, deleting: bool = False) -> Refusal:
    held = "object is being deleted: " if deleting else ""
    return Refusal(
        code=409,
        reason="AlreadyExists",
        message=f'{held}{resource.qualified} "{name}" already exists',
        details=details_of(resource, name),
    )


def conflict(resource: Resource, name: str, said: str) -> Refusal:
    return Refusal(
        code=409,
        reason="Conflict",
        message=f'Operation cannot be fulfilled on {resource.qualified} "{name}": {said}',
        details=details_of(resource, name),
    )


def modified(resource: Resource, name: str) -> Refusal:
    return conflict(
        resource,
        name,
        "the object has been modified; please apply your changes to the latest version and try again",
    )


def bad_request(message: str) -> Refusal:
    return Refusal(code=400, reason="BadRequest", message=message)


def method_not_allowed(resource: Resource | None = None, verb: str = "") -> Refusal:
    if resource is None:
        message, details = "the server does not allow this method on the requested resource", {}
    else:
        message = f'{verb} is not supported on resources of kind "{resource.qualified}"'
        details = details_of(resource)
    return Refusal(code=405, reason="MethodNotAllowed", message=message, details=details)


def unsupported_media_type(accepted: Sequence[str]) -> Refusal:
    said = "the body of the request was in an unknown format - accepted media types include: "
    return Refusal(code=415, reason="UnsupportedMediaType", message=said + ", ".join(accepted))


def not_acceptable(accepted: Sequence[str]) -> Refusal:
    said = "406: Not Acceptable\n\nAvailable representations: "
    return Refusal(code=406, reason="NotAcceptable", message=said + ", ".join(accepted), details={})


def invalid(resource: Resource, name: str, causes: Sequence[Cause]) -> Refusal:
    """422 with one cause per field; several are shown in brackets, as field.ErrorList does."""
    said = [f"{cause.field}: {cause.message}" if cause.field else cause.message for cause in causes]
    group_kind = f"{resource.kind}.{resource.group}" if resource.group else resource.kind
    details: dict[str, Any] = {"name": name} if name else {}
    if resource.group:
        details["group"] = resource.group
    details["kind"] = resource.kind
    details["causes"] = [
        {"reason": cause.reason, "message": cause.message, "field": cause.field} for cause in causes
    ]
    return Refusal(
        code=422,
        reason="Invalid",
        message=f'{group_kind} "{name}" is invalid: '
        + (said[0] if len(said) == 1 else f"[{', '.join(said)}]"),
        details=details,
    )


def forbidden(resource: Resource, name: str, said: str, *, causes: Sequence[Cause] = ()) -> Refusal:
    details = details_of(resource, name)
    if causes:
        details["causes"] = [
            {"reason": cause.reason, "message": cause.message, "field": cause.field} for cause in causes
        ]
    whom = f'{resource.qualified} "{name}"' if name else resource.qualified
    return Refusal(code=403, reason="Forbidden", message=f"{whom} is forbidden: {said}", details=details)


def expired(message: str, *, continue_token: str = "") -> Refusal:
    return Refusal(code=410, reason="Expired", message=message, continue_token=continue_token)


def too_large_version(asked: int, current: int) -> Refusal:
    return Refusal(
        code=504,
        reason="Timeout",
        message=f"Timeout: Too large resource version: {asked}, current: {current}",
        details={"causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]},
        retry_after=1,
    )


def options_invalid(kind: str, *causes: Cause) -> Refusal:
    """422 for the options of a request rather than its object."""
    return invalid(
        Resource(group="meta.k8s.io", version="v1", plural="", kind=kind, namespaced=False), "", causes
    )


def unavailable() -> Refusal:
    return Refusal(
        code=503,
        reason="ServiceUnavailable",
        message="the server is currently unable to handle the request",
    )
