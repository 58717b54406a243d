"""A watch is a stream of lines: cuts it into lines, and lines into changes.

The stream arrives in pieces that end anywhere. Each piece gives one batch, in the server's order, without events that
were sent twice; what stands before an error in the same piece happened and is handed on before the error is.
"""

from __future__ import annotations

from typing import Final, Generic, TypeVar, cast

import msgspec

from skoupa.errors import BadReply, SkoupaError, Status, api_error
from skoupa.kube.decoding import Undecodable, decode_line, metadata_of
from skoupa.kube.objects import View

T = TypeVar("T")

INITIAL_EVENTS_END: Final = "k8s.io/initial-events-end"


class Change(msgspec.Struct, Generic[T], frozen=True):
    object: T
    deleted: bool


class Batch(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    changes: list[Change[T]]
    undecodable: tuple[Undecodable, ...]
    version: str
    # Index in `changes` at which the initial state ended, where this batch has the bookmark that ends it,
    # and the moment that the state is of.
    closing: int | None
    closing_version: str = ""
    # Whether an object changed or went before that: then what was sent so far is no initial state.
    unsettled: bool = False


class LineReader(Generic[T]):
    """Cuts a stream into lines and lines into changes; keeps the unfinished rest."""

    def __init__(self, view: View[T], *, doing: str) -> None:
        self._view = view
        self._doing = doing
        self._newest = ""
        self.rest = b""
        self.error: SkoupaError | None = None

    def read(self, chunk: bytes) -> Batch[T]:
        *lines, self.rest = (self.rest + chunk).split(b"\n") if self.rest else chunk.split(b"\n")
        changes: list[Change[T]] = []
        bad: list[Undecodable] = []
        version = closing_version = ""
        closing: int | None = None
        unsettled = False
        for line in lines:
            if not line:
                continue
            try:
                found = decode_line(line, self._view)
            except BadReply as error:
                self.error = error
                break
            if isinstance(found, Undecodable):
                bad.append(found)
                continue
            if isinstance(found.object, Status):
                self.error = api_error(found.object, doing=self._doing)
                break
            metadata = metadata_of(found.object)
            if found.type == "BOOKMARK":
                version = metadata.resource_version
                if (metadata.annotations or {}).get(INITIAL_EVENTS_END) == "true" and closing is None:
                    closing, closing_version = len(changes), version
                continue
            # Two events of one kind never share a resourceVersion: the same again is the same event again.
            if metadata.resource_version == self._newest:
                continue
            version = self._newest = metadata.resource_version
            unsettled = unsettled or (closing is None and found.type != "ADDED")
            changes.append(Change(cast("T", found.object), found.type == "DELETED"))
        return Batch(
            changes=changes,
            undecodable=tuple(bad),
            version=version,
            closing=closing,
            closing_version=closing_version,
            unsettled=unsettled,
        )
