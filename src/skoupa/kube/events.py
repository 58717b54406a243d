"""Kubernetes Events (events.k8s.io/v1): told beside the work, never in its way.

`tell` puts an Event in a bounded queue and returns at once; what does not fit is dropped and counted, because a
decision must not wait for its announcement. An Event's name is derived from what it says, so that telling twice
(a retry, a second replica) makes one Event. An Event about an object in a terminating namespace goes to `default`.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Callable
from typing import Final, Literal

import msgspec

from skoupa import names
from skoupa.clock import Clock
from skoupa.errors import AlreadyExists, ApiError, Forbidden, NotFound, SkoupaError
from skoupa.kube.backoff import Backoff
from skoupa.kube.client import Client
from skoupa.kube.resources import EVENTS
from skoupa.kube.timestamps import micro_time

NOTE_LIMIT: Final = 1024
QUEUE_SIZE: Final = 10_000
_NO_LABEL: Final = re.compile("[^a-z0-9-]+")


class Regarding(msgspec.Struct, frozen=True, rename="camel", kw_only=True, omit_defaults=True):
    """The object that an Event is about."""

    api_version: str
    kind: str
    name: str
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""


class Event(msgspec.Struct, frozen=True, kw_only=True):
    regarding: Regarding
    reason: str
    action: str
    note: str
    type: Literal["Normal", "Warning"] = "Normal"
    # When it happened, seconds since the epoch.
    at: float
    # What makes it the same Event when it is told again; the time, where nothing is given.
    identity: str = ""
    # All objects that it tells of, where there are more than the one it is about or somebody wants to hear of them.
    uids: tuple[str, ...] = ()


class EventWriter:
    def __init__(self, client: Client, *, instance: str, queue_size: int = QUEUE_SIZE) -> None:
        self._client = client
        self._clock: Clock = client.clock
        self._instance = instance
        self._queue: asyncio.Queue[Event] = asyncio.Queue(queue_size)
        self.told = 0
        self.dropped = 0
        self.failed = 0
        self.last_error: SkoupaError | None = None
        # Hears of each Event that the server has taken.
        self.on_told: Callable[[Event], None] = lambda _: None

    @property
    def room(self) -> bool:
        return not self._queue.full()

    def tell(self, event: Event) -> bool:
        """Whether there was room; never waits."""
        try:
            self._queue.put_nowait(event)
        except asyncio.QueueFull:
            self.dropped += 1
            return False
        return True

    async def run(self) -> None:
        """Writes what was told until cancelled.

        A refusal is final. A server that is away or busy is tried for as long as it takes, and an Event that it does
        not take goes to the end of the queue, so that the ones behind it are not kept waiting.
        """
        backoff = Backoff(self._clock)
        while True:
            event = await self._queue.get()
            try:
                while not await self._written(event):
                    await self._clock.sleep(backoff.next())
                    if self.room:
                        self._queue.put_nowait(event)
                        break
                else:
                    backoff.reset()
            finally:
                self._queue.task_done()

    async def drain(self) -> None:
        """Returns once everything told so far has been written or given up."""
        await self._queue.join()

    async def _written(self, event: Event) -> bool:
        """Whether it is done with, for good or ill."""
        namespace = event.regarding.namespace or "default"
        while True:
            try:
                await self._client.create(EVENTS, self._body(event, namespace), namespace=namespace)
            except AlreadyExists:
                pass
            except (Forbidden, NotFound) as error:
                if namespace != "default" and _namespace_is_going(error):
                    namespace = "default"
                    continue
                self._gave_up(error)
                return True
            except SkoupaError as error:
                if isinstance(error, ApiError) and not error.repeatable:
                    self._gave_up(error)
                    return True
                self.last_error = error
                return False
            self.told += 1
            self.last_error = None
            self.on_told(event)
            return True

    def _gave_up(self, error: SkoupaError) -> None:
        self.failed += 1
        self.last_error = error

    def _body(self, event: Event, namespace: str) -> dict[str, object]:
        return {
            "apiVersion": EVENTS.api_version,
            "kind": EVENTS.kind,
            "metadata": {"name": event_name(event), "namespace": namespace},
            "eventTime": micro_time(event.at),
            "reportingController": names.COMPONENT,
            "reportingInstance": self._instance[:128],
            "action": event.action,
            "reason": event.reason,
            "regarding": msgspec.to_builtins(event.regarding),
            "note": shortened(event.note),
            "type": event.type,
        }

    def statistics(self) -> dict[str, int]:
        return {
            "queued": self._queue.qsize(),
            "told": self.told,
            "dropped": self.dropped,
            "failed": self.failed,
        }


def event_name(event: Event) -> str:
    identity = event.identity or repr(event.at)
    said = msgspec.json.encode((event.regarding.uid, event.reason, event.action, event.note, identity))
    digest = hashlib.sha256(said).hexdigest()[:16]
    # A name of 253 characters at most; the object's own may be as long.
    return f"{_as_subdomain(event.regarding.name)[:230].rstrip('.-')}.{digest}"


def _as_subdomain(name: str) -> str:
    """RBAC objects and some custom ones have names that no Event can have (system:node)."""
    parts = (_NO_LABEL.sub("-", part).strip("-") for part in name.lower().split("."))
    return ".".join(part for part in parts if part) or "unnamed"


def shortened(note: str, *, limit: int = NOTE_LIMIT) -> str:
    """The server counts bytes; a cut must not split a character."""
    encoded = note.encode()
    if len(encoded) <= limit:
        return note
    return encoded[: limit - 3].decode("utf-8", "ignore") + "…"


def _namespace_is_going(error: ApiError) -> bool:
    if isinstance(error, NotFound):
        return True
    causes = (error.status.details or {}).get("causes") or []
    return any(cause.get("reason") == "NamespaceTerminating" for cause in causes)
