"""Faults as values: what a Rule does to the answer of a request, and how a connection can end.

A fault says what the client gets; it holds no state and does no I/O, so one value can serve any number of
rules. Reset, HalfClose, Close and Silence share one way to say when: with neither `after_bytes` nor
`after_lines` they act before the request goes upstream; with one of them the upstream gets the request, and
that much of the answer's body gets through (`after_bytes=0` keeps back even the head: the server has acted
and the answer is lost). An answer that is shorter ends the same way, where it ends.
Faults of single packets and of the TLS handshake itself are out of scope.
"""

from http import HTTPStatus
from typing import Literal, TypeAlias

import msgspec

Headers: TypeAlias = tuple[tuple[str, str], ...]

# The machine-readable reasons that the API server pairs with each code (metav1.StatusReason).
REASONS = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    409: "Conflict",
    410: "Expired",
    422: "Invalid",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}


class Reset(msgspec.Struct, frozen=True):
    """The connection breaks with a TCP RST."""

    after_bytes: int | None = None
    after_lines: int | None = None

    def __post_init__(self) -> None:
        _one_point_in_time(self.after_bytes, self.after_lines)


class HalfClose(msgspec.Struct, frozen=True):
    """FIN without a TLS close_notify; what the client still sends is taken in and dropped."""

    after_bytes: int | None = None
    after_lines: int | None = None

    def __post_init__(self) -> None:
        _one_point_in_time(self.after_bytes, self.after_lines)


class Close(msgspec.Struct, frozen=True):
    """The connection is closed politely (close_notify, FIN), though the answer is not complete."""

    after_bytes: int | None = None
    after_lines: int | None = None

    def __post_init__(self) -> None:
        _one_point_in_time(self.after_bytes, self.after_lines)


class Silence(msgspec.Struct, frozen=True):
    """Nothing more is sent; the connection stays open until the client gives up."""

    after_bytes: int | None = None
    after_lines: int | None = None

    def __post_init__(self) -> None:
        _one_point_in_time(self.after_bytes, self.after_lines)


class Slow(msgspec.Struct, frozen=True):
    """The answer waits `delay` seconds, and then flows at no more than `bytes_per_second`.

    `before` are seconds that the request waits, until it goes upstream.
    """

    delay: float = 0.0
    bytes_per_second: int | None = None
    before: float = 0.0

    def __post_init__(self) -> None:
        if min(self.delay, self.before) < 0 or (
            self.bytes_per_second is not None and self.bytes_per_second < 1
        ):
            raise ValueError("Slow takes delays of 0 or more and, if any, at least 1 byte per second")


class OtherClock(msgspec.Struct, frozen=True):
    """The answer is dated `ahead` seconds later than the server dated it; nothing else is changed."""

    ahead: float


class CutLine(msgspec.Struct, frozen=True):
    """`lines` complete lines get through, then the first half of the next one, then a polite close."""

    lines: int = 0

    def __post_init__(self) -> None:
        _not_negative(self.lines)


class EndWatch(msgspec.Struct, frozen=True):
    """The body ends in good order after so many lines, as when the server's watch timeout is over."""

    after_lines: int = 0

    def __post_init__(self) -> None:
        _not_negative(self.after_lines)


class Duplicate(msgspec.Struct, frozen=True):
    """Every line is sent twice."""


class InjectLine(msgspec.Struct, frozen=True):
    """A line of our own stands after so many lines; with `end` the body ends in good order behind it."""

    line: bytes
    after_lines: int = 0
    end: bool = False

    def __post_init__(self) -> None:
        _not_negative(self.after_lines)


class WatchError(msgspec.Struct, frozen=True):
    """An ERROR event with a Status after so many lines, and the end of the watch behind it."""

    code: int = 410
    after_lines: int = 0
    message: str = "too old resource version: 1 (2)"

    def __post_init__(self) -> None:
        _not_negative(self.after_lines)


class Answer(msgspec.Struct, frozen=True):
    """A complete answer of our own; the request does not go upstream. `kube_status` makes the usual ones."""

    status: int = 200
    body: bytes = b""
    headers: Headers = (("Content-Type", "application/json"),)


class Stream(msgspec.Struct, frozen=True):
    """A watch of our own: chunked lines (given without newline), and then open or ended in good order."""

    lines: tuple[bytes, ...] = ()
    stay_open: bool = True


class Garbage(msgspec.Struct, frozen=True):
    """Status 200 and a well-framed body that is not what the client asked for."""

    kind: Literal["text", "truncated", "html"] = "text"


Cut: TypeAlias = Reset | HalfClose | Close | Silence
Scripted: TypeAlias = Answer | Stream | Garbage
Fault: TypeAlias = (
    Cut | Scripted | Slow | OtherClock | CutLine | EndWatch | Duplicate | InjectLine | WatchError
)


def kube_status(code: int, *, message: str = "", retry_after: int | None = None) -> Answer:
    """The Answer with the Status object that the API server sends for `code`.

    Priority and fairness refuses in plain text instead: `Answer(429, b"Too many requests", headers)`.
    """
    headers: Headers = (("Content-Type", "application/json"),)
    if retry_after is not None:
        headers = (*headers, ("Retry-After", str(retry_after)))
    return Answer(status=code, body=msgspec.json.encode(status_object(code, message)), headers=headers)


def status_object(code: int, message: str = "") -> dict[str, object]:
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message or HTTPStatus(code).phrase,
        "reason": REASONS.get(code, ""),
        "code": code,
    }


def error_line(error: WatchError) -> bytes:
    return msgspec.json.encode({"type": "ERROR", "object": status_object(error.code, error.message)})


def acts_at_once(fault: Cut) -> bool:
    return fault.after_bytes is None and fault.after_lines is None


def _one_point_in_time(after_bytes: int | None, after_lines: int | None) -> None:
    if after_bytes is not None and after_lines is not None:
        raise ValueError("give after_bytes or after_lines, not both")
    _not_negative(after_bytes or 0)
    _not_negative(after_lines or 0)


def _not_negative(count: int) -> None:
    if count < 0:
        raise ValueError(f"a fault acts after 0 or more bytes or lines, not after {count}")
