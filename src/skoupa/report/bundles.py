"""Deletions, and deletes that were refused, as Kubernetes Events, bundled when there are many at once.

An Event is a write like the delete itself, so a thousand deletions must not become a thousand Events. Of a few objects
each gets its own. When more than that go within a moment in one namespace and of one kind they share Events whose notes
carry all the names. A bundle that the writer has no room for waits for the next round: no name is lost. Refusals, which
are bundled by their words, wait until no deletion does.
"""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import Sequence
from typing import Final

from skoupa.clock import Clock
from skoupa.facts.rows import Row, uid_text
from skoupa.judge.tenants import NAME as TENANTS
from skoupa.judge.ttl import will_return
from skoupa.kube.events import Event, EventWriter, Regarding, shortened
from skoupa.model.reasons import render
from skoupa.model.verdicts import Claim
from skoupa.report.notes import note, pieces
from skoupa.report.policy_bundles import PolicyBundles, Told

FLUSH_SECONDS: Final = 1.0
# As many as this, alike and in one moment, still get an Event each.
FEW: Final = 10
# Bundles that wait for room while the server takes no Events; beyond it the oldest are dropped, and counted.
WAITING_LIMIT: Final = 20_000
# So many refusals are told in one round: the writer's queue belongs to the deletions.
REFUSALS_A_ROUND: Final = 50
# So long what goes with a tenant is gathered: it goes in several steps.
TENANT_SECONDS: Final = 20.0
# So long is gathered what fails for the server's sake: tries are up to 45 s apart.
PATIENT_SECONDS: Final = 45.0
# The shared words of a bundle leave room for names.
_WORDS_LIMIT: Final = 400
REASON: Final = "SkoupaDeleted"
REFUSED: Final = "SkoupaFailed"
ACTION: Final = "Delete"


class Bundles:
    def __init__(self, writer: EventWriter, clock: Clock) -> None:
        self._writer = writer
        self._clock = clock
        self._open: dict[tuple[str, str, str], list[tuple[Row, Claim, float]]] = {}
        self._with_tenants: dict[str, list[tuple[Row, Claim, float]]] = {}
        self._refused: dict[tuple[str, str, str], list[tuple[Row, str, float]]] = {}
        self._lasting: dict[tuple[str, str, str], list[tuple[Row, str, float]]] = {}
        self._unsent: deque[Event] = deque()
        self._unsent_refusals: deque[Event] = deque()
        self._policies = PolicyBundles()
        self._lasting_of_policies: deque[tuple[Told, str, float]] = deque()
        self._added = asyncio.Event()

    def __len__(self) -> int:
        collecting: list[Sequence[object]] = [
            *self._open.values(),
            *self._with_tenants.values(),
            *self._refused.values(),
            *self._lasting.values(),
            self._lasting_of_policies,
        ]
        waiting = len(self._unsent) + len(self._unsent_refusals) + len(self._policies)
        return sum(map(len, collecting)) + waiting

    def add(self, row: Row, claim: Claim, at: float) -> None:
        if claim.mechanism == TENANTS:
            self._with_tenants.setdefault(claim.rule, []).append((row, claim, at))
        else:
            alike = (row.namespace, row.resource.qualified, _by(claim))
            self._open.setdefault(alike, []).append((row, claim, at))
        self._added.set()

    def add_refusal(self, row: Row, *, words: str, shared: str, at: float, patient: bool = False) -> None:
        """`words` are the server's; `shared` are the same for all objects that are refused for one reason. `patient`: it may be gathered for long."""
        alike = (row.namespace, row.resource.qualified, shared)
        refused = self._lasting if patient else self._refused
        refused.setdefault(alike, []).append((row, words, at))
        self._added.set()

    def add_to_policy(self, told: Told, name: str, at: float, *, patient: bool = False) -> None:
        """Beside the Event of the object: who looks at a policy finds there what became of what it chose."""
        if patient:
            self._lasting_of_policies.append((told, name, at))
        else:
            self._policies.add(told, name, at)
        self._added.set()

    def add_made(self, events: Sequence[Event]) -> None:
        """Ready-made ones, of what is to go or went long ago; they wait for room behind what went just now."""
        self._unsent += events
        self._added.set()

    async def run(self) -> None:
        while True:
            await self._added.wait()
            self._added.clear()
            await self._clock.sleep(FLUSH_SECONDS)
            self.flush()
            if (
                self._unsent
                or self._unsent_refusals
                or self._with_tenants
                or self._lasting
                or self._lasting_of_policies
            ):
                self._added.set()

    def flush(self, *, at_the_end: bool = False) -> None:
        """`at_the_end`: nothing is gathered any longer."""
        bundles, self._open = self._open, {}
        for bundle in bundles.values():
            self._unsent += events_of(bundle)
        for rule, gone in list(self._with_tenants.items()):
            if at_the_end or self._clock.now() - gone[0][2] >= TENANT_SECONDS:
                self._unsent += events_of_tenant(self._with_tenants.pop(rule))
        self._take_lasting(at_the_end=at_the_end)
        self._unsent += self._policies.take()
        while self._unsent and self._writer.room:
            self._writer.tell(self._unsent.popleft())
        self._flush_refusals()
        for waiting in (self._unsent, self._unsent_refusals):
            while len(waiting) > WAITING_LIMIT:
                waiting.popleft()
                self._writer.dropped += 1

    def _take_lasting(self, *, at_the_end: bool) -> None:
        """What has been gathered for long enough, joined to what is told now."""
        before = math.inf if at_the_end else self._clock.now() - PATIENT_SECONDS
        for alike, bundle in list(self._lasting.items()):
            if bundle[0][2] <= before:
                self._refused.setdefault(alike, []).extend(self._lasting.pop(alike))
        waiting = self._lasting_of_policies
        if waiting and waiting[0][2] <= before:
            while waiting:
                self._policies.add(*waiting.popleft())

    def _flush_refusals(self) -> None:
        refused, self._refused = self._refused, {}
        for (_, _, shared), bundle in refused.items():
            self._unsent_refusals += refusals_of(bundle, shared=shared)
        for _ in range(REFUSALS_A_ROUND):
            if not self._unsent_refusals or not self._writer.room:
                break
            self._writer.tell(self._unsent_refusals.popleft())


def events_of(bundle: list[tuple[Row, Claim, float]]) -> list[Event]:
    """One Event for each of a few objects; for many, as few as their names fit into."""
    if len(bundle) <= FEW:
        return [_single(row, claim, at) for row, claim, at in bundle]
    rows, claim = [row for row, _, _ in bundle], bundle[0][1]
    head = f"deleted {rows[0].resource.qualified} ({_by(claim)}): "
    events: list[Event] = []
    for piece in pieces([row.name for row in rows], head):
        told = rows[piece]
        uids = tuple(uid_text(row.uid) for row in told)
        events.append(
            deletion(
                regarding(told[0]), bundle[piece.start][2], note(head, [row.name for row in told]), uids=uids
            )
        )
    return events


def events_of_tenant(bundle: list[tuple[Row, Claim, float]]) -> list[Event]:
    """All kinds together, each named before the first of its objects; every name is there."""
    if len(bundle) <= FEW:
        return [_single(row, claim, at) for row, claim, at in bundle]
    bundle = sorted(bundle, key=lambda one: (one[0].resource.qualified, one[0].name))
    head = f"deleted ({bundle[0][1].rule}): "
    words, kind = [], ""
    for row, _, _ in bundle:
        words.append(row.name if row.resource.qualified == kind else f"{row.resource.qualified} {row.name}")
        kind = row.resource.qualified
    longest = max(len(row.resource.qualified) for row, _, _ in bundle)
    events: list[Event] = []
    for piece in pieces(words, head + " " * (longest + 1)):
        told = [row for row, _, _ in bundle[piece]]
        uids = tuple(uid_text(row.uid) for row in told)
        said = note(head, [f"{told[0].resource.qualified} {told[0].name}", *words[piece][1:]])
        events.append(deletion(regarding(told[0]), bundle[piece.start][2], said, uids=uids))
    return events


def refusals_of(bundle: list[tuple[Row, str, float]], *, shared: str) -> list[Event]:
    """The same for objects whose deletes were refused; `shared` is what all of them were told."""
    if len(bundle) <= FEW:
        said = "could not be deleted, and is tried again: "
        return [_refusal(row, at, said + words) for row, words, at in bundle]
    rows = [row for row, _, _ in bundle]
    words = shortened(shared, limit=_WORDS_LIMIT)
    head = f"could not delete {rows[0].resource.qualified}, tried again ({words}): "
    names = [row.name for row in rows]
    return [
        _refusal(rows[piece.start], bundle[piece.start][2], note(head, names[piece]))
        for piece in pieces(names, head)
    ]


def _by(claim: Claim) -> str:
    """Who wanted it: a rule that chose many objects itself, by its name."""
    return claim.rule if claim.run else claim.mechanism


def _single(row: Row, claim: Claim, at: float) -> Event:
    again = will_return(row)
    said = f"deleted: {render(claim.reason)}" + (f"; {render(again)}" if again else "")
    return deletion(regarding(row), at, said, uids=(uid_text(row.uid),))


def regarding(row: Row) -> Regarding:
    return Regarding(
        api_version=row.resource.api_version,
        kind=row.resource.kind,
        name=row.name,
        namespace=row.namespace,
        uid=uid_text(row.uid),
    )


def deletion(about: Regarding, at: float, said: str, *, uids: tuple[str, ...]) -> Event:
    """An object goes once: whoever tells it again, whenever, tells the same."""
    return Event(regarding=about, reason=REASON, action=ACTION, note=said, at=at, identity="once", uids=uids)


def _refusal(row: Row, at: float, said: str) -> Event:
    """The same refusal told again is the same Event; another one has other words."""
    return Event(
        regarding=regarding(row),
        reason=REFUSED,
        action=ACTION,
        note=said,
        type="Warning",
        at=at,
        identity="refused",
    )
