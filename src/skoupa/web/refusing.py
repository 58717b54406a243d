"""Why a question is not answered: an error that becomes a Status, and the other errors of the house made into one.

What a Status says is read by people at another machine: it names what to do there, and nothing of what the controller
could not do is repeated that might quote a token.
"""

from __future__ import annotations

import msgspec

from skoupa.errors import Forbidden, LedgerUnavailable, NotErased, SkoupaError, Status, UsageError
from skoupa.web.shapes import Reason, refusal

CANNOT_ASK = (
    "this controller may not ask the API server who is asking and what they may do (create tokenreviews and "
    "subjectaccessreviews): bind it to the ClusterRole system:auth-delegator, or read the ledger itself with --ledger"
)


class Refused(Exception):
    def __init__(self, code: int, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.status = refusal(code, reason, message)


def status_of(error: Exception) -> Status:
    while isinstance(error, ExceptionGroup):
        # Reviews that were asked together fail together.
        error = error.exceptions[0]
    if isinstance(error, Refused):
        return error.status
    if isinstance(error, Forbidden):
        # Reviews are the only requests that are made for somebody who asks here.
        return refusal(403, "CannotAsk", CANNOT_ASK)
    if isinstance(error, NotErased):
        return refusal(503, "NotErased", str(error))
    if isinstance(error, LedgerUnavailable):
        return refusal(503, "LedgerUnavailable", str(error))
    if isinstance(error, TimeoutError):
        return refusal(503, "TimedOut", "the controller did not get to an answer in time; ask again")
    if isinstance(error, UsageError):
        return refusal(400, "BadRequest", str(error))
    if isinstance(error, SkoupaError):
        return refusal(503, "CannotAsk", "the controller got no answer from the API server; ask again")
    if isinstance(error, msgspec.ValidationError | msgspec.DecodeError):
        return refusal(400, "BadRequest", f"the question is not understood: {error}")
    return refusal(500, "InternalError", "the controller failed at this; its log says how")
