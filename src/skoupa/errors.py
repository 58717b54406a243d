"""Everything that can go wrong, as one tree.

    SkoupaError                     a sentence, what to do about it, and the exit code of the command line
    ├── UsageError                  2  the caller asked for something that can't be meant
    │   ├── KubeconfigError            a kubeconfig that can't be used: names file and field
    │   ├── ManifestError              a file of manifests that can't be read: names file and document
    │   ├── UnknownKind                no kind of that name; near names are suggested
    │   └── ExpressionError            an expression without an answer: names it and says what to write
    │       ├── BadExpression             it does not parse or can't be meant, whatever it is asked about
    │       ├── Unresolved                it looks at something that is not there
    │       ├── TooCostly                 it takes more steps, output or time than its limits allow
    │       └── Unanswered                it asks who uses the object, and nobody knows: no default stands in for that
    ├── UsageUnknown                6  who uses an object, or whether it has ended, can't be told; names no other object
    ├── KindUnreadable              6  discovery of that group failed: whether the kind exists is not known
    ├── TimedOut                    3  no answer in time; safe to repeat
    │   └── CutShort                   the lease ran out first: it says nothing about the server
    ├── Unreachable                 6  no connection, or a broken one
    │   └── Disconnected               the connection ended in the middle of an answer
    ├── BadReply                    6  an answer that no API server would give
    ├── LeaseLost                   7  a write that was not sent because another replica may be leading
    ├── Withdrawn                   5  a write that was not sent because nobody wanted it any more when its turn came
    ├── TooLate                     5  the deletion of the cluster has begun: nobody can take part in it any more
    ├── LedgerUnavailable           6  the ledger can't be read or written now; safe to repeat
    │   ├── LedgerUnusable             waiting does not help: no database, a newer one, a missing right
    │   ├── NotErased                  out of the trash, and its bytes are still in a file
    │   └── NoController               nobody answers for it where a controller was looked for
    └── ApiError                    1  the server's refusal, with its Status
        ├── BadRequest 400 · Invalid 422 · MethodNotAllowed 405
        ├── Unauthorized 401 · Forbidden 403          6
        ├── NotFound 404 · AlreadyExists 409 · Conflict 409 · Gone 410
        └── TooManyRequests 429 · ServerFailure 5xx   3   may be repeated

Every error is raised `from` its cause and caught at one boundary per task.
"""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """The server's own words about a request (metav1.Status)."""

    code: int = 0
    reason: str = ""
    message: str = ""
    status: str = ""
    details: dict[str, Any] | None = None


class SkoupaError(Exception):
    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, *, advice: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.advice = advice

    def __str__(self) -> str:
        return f"{self.message}: {self.advice}" if self.advice else self.message

    @property
    def brief(self) -> str:
        """Only what is wrong, in the server's words where it has some."""
        return self.message


class UsageError(SkoupaError):
    exit_code = 2


class KubeconfigError(UsageError):
    def __init__(self, message: str, *, file: str = "", field: str = "", advice: str = "") -> None:
        where = " ".join(part for part in (file, f"({field})" if field else "") if part)
        super().__init__(f"kubeconfig {where}: {message}" if where else message, advice=advice)
        self.file = file
        self.field = field


class ManifestError(UsageError):
    def __init__(self, message: str, *, file: str = "", document: int = 0, advice: str = "") -> None:
        where = f"{file}, document {document}" if document else file
        super().__init__(f"{where}: {message}" if where else message, advice=advice)
        self.file = file
        self.document = document


class UnknownKind(UsageError):
    pass


class ExpressionError(UsageError):
    """`reason` is what is wrong without the expression, for places that show that themselves."""

    def __init__(self, reason: str, *, expression: str, advice: str = "") -> None:
        shown = expression if len(expression) <= 200 else f"{expression[:197]}..."
        super().__init__(f"{shown}: {reason}", advice=advice)
        self.reason = reason
        self.expression = expression


class BadExpression(ExpressionError):
    pass


class Unresolved(ExpressionError):
    pass


class TooCostly(ExpressionError):
    pass


class Unanswered(ExpressionError):
    pass


class UsageUnknown(SkoupaError):
    exit_code = 6


class KindUnreadable(SkoupaError):
    exit_code = 6


class TimedOut(SkoupaError):
    exit_code = 3


class CutShort(TimedOut):
    pass


class Unreachable(SkoupaError):
    exit_code = 6


class Disconnected(Unreachable):
    pass


class BadReply(SkoupaError):
    exit_code = 6


class LeaseLost(SkoupaError):
    exit_code = 7


class Withdrawn(SkoupaError):
    exit_code = 5


class TooLate(SkoupaError):
    exit_code = 5


class LedgerUnavailable(SkoupaError):
    exit_code = 6


class LedgerUnusable(LedgerUnavailable):
    pass


class NotErased(LedgerUnavailable):
    pass


class NoController(LedgerUnavailable):
    pass


class ApiError(SkoupaError):
    """A refusal; `status` is what the server said and `retry_after` the seconds it asked to wait.

    `after_silence`: the same request was sent before, and nobody knows what came of that.
    """

    repeatable: ClassVar[bool] = False
    after_silence: bool = False

    def __init__(
        self, message: str, *, status: Status, retry_after: float | None = None, advice: str = ""
    ) -> None:
        super().__init__(message, advice=advice)
        self.status = status
        self.retry_after = retry_after

    @property
    def code(self) -> int:
        return self.status.code

    @property
    def brief(self) -> str:
        return self.status.message or self.message


class BadRequest(ApiError):
    pass


class Unauthorized(ApiError):
    exit_code = 6


class Forbidden(ApiError):
    exit_code = 6


class NotFound(ApiError):
    pass


class MethodNotAllowed(ApiError):
    pass


class Conflict(ApiError):
    pass


class AlreadyExists(ApiError):
    pass


class Gone(ApiError):
    """The resourceVersion or continue token is too old: whoever asked has to list anew."""


class Invalid(ApiError):
    pass


class TooManyRequests(ApiError):
    exit_code = 3
    repeatable = True


class ServerFailure(ApiError):
    exit_code = 3
    repeatable = True


# To ask again later may help: nobody answered, or a server that was not well.
PASSING: tuple[type[SkoupaError], ...] = (Unreachable, TimedOut, TooManyRequests, ServerFailure)

_BY_CODE: dict[int, type[ApiError]] = {
    400: BadRequest,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    405: MethodNotAllowed,
    409: Conflict,
    410: Gone,
    422: Invalid,
    429: TooManyRequests,
}

# Of etcd, of what carries a request to it, and of the server before that.
_NO_ROOM: tuple[str, ...] = (
    "etcdserver: request is too large",
    "trying to send message larger than max",
    "Request entity too large: limit is",
)

_ADVICE: dict[int, str] = {
    401: "the credentials are missing, wrong or expired; log in again or renew them",
    403: "ask for a role that grants this",
}


def api_error(status: Status, *, doing: str, retry_after: float | None = None) -> ApiError:
    """The error that a Status stands for; `doing` says what was asked ("delete pods/web in shop")."""
    kind = _BY_CODE.get(status.code, ServerFailure if status.code >= 500 else ApiError)
    if status.code == 409 and status.reason == "AlreadyExists":
        kind = AlreadyExists
    said = status.message or status.reason or "no reason given"
    error = kind(
        f"{doing}: {said} ({status.code})",
        status=status,
        retry_after=retry_after,
        advice=_ADVICE.get(status.code, ""),
    )
    if too_large(error):
        error.advice = "the object would be larger than its store takes (1.5 MB where nobody changed that); shorten what is in it"
    return error


def too_large(error: SkoupaError) -> bool:
    """Whether there is no room for it, which no second try changes: etcd's own limit comes as a failure of the server."""
    return isinstance(error, ApiError) and any(one in error.status.message for one in _NO_ROOM)
