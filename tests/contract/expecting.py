"""What a rule may expect of an answer: a refusal with its words, or a document."""

from __future__ import annotations

import json
from collections.abc import Awaitable
from typing import Any

import msgspec

from skoupa.errors import ApiError, Status
from skoupa.kube.transport import Response

Object = dict[str, Any]


async def refused(call: Awaitable[Any], *, code: int, reason: str) -> Status:
    """What the server said when it refused `call`; an answer that is no such refusal fails the rule."""
    try:
        answer = await call
    except ApiError as error:
        said, full = error.status, str(error)
    else:
        raise AssertionError(f"a refusal ({code} {reason}) was to come, and not {answer}")
    assert (said.code, said.reason) == (code, reason), full
    return said


def status_of(response: Response, *, code: int, reason: str) -> Status:
    """The Status that a raw answer carries."""
    assert response.status == code, (response.status, response.body)
    body = json.loads(response.body)
    assert (body["kind"], body["apiVersion"], body["status"]) == ("Status", "v1", "Failure"), body
    said = msgspec.convert(body, Status)
    assert (said.code, said.reason) == (code, reason), body
    return said


def document(response: Response) -> Object:
    """The body of an answer that is no refusal."""
    assert response.status < 400, (response.status, response.body)
    return document_of(response)


def document_of(response: Response) -> Object:
    found: Object = json.loads(response.body)
    return found


def causes_of(status: Status) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (status.details or {}).get("causes") or []
    return found
