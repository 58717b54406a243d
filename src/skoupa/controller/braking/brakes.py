"""Which Brakes count: those that are in the cluster, and those that were pulled here and are yet to become objects.

What was readable once and is not any more holds everything: a watch that is behind, a right that was lost, a definition
that is gone. Where the kind never was there are no Brakes, which is told. Each that counts has a name of its own: an object
never hides one that was pulled here or lost. Nothing is written here; `brake_upkeep` does that.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterable, Iterator
from typing import Final, Literal

import msgspec

from skoupa import names
from skoupa.clock import Clock
from skoupa.controller.braking.feed import BrakeFeed, Found, Unlisted, kind_in
from skoupa.controller.braking.listing import INSTALL_AGAIN
from skoupa.controller.braking.of_runs import RunBrakes, lasts
from skoupa.controller.knowledge import Knowledge
from skoupa.controller.sight.rights import Rights
from skoupa.judge.brakes import Pulled
from skoupa.kinds.brake import Scope
from skoupa.kinds.brake_effect import active, next_change_of
from skoupa.kinds.brake_reading import Brake, read_brake
from skoupa.kube.client import Client
from skoupa.kube.resources import Resource
from skoupa.sweep.tripping import Tripped, is_numbered, numbered

_Kind = Literal["not asked", "absent", "denied", "there"]
_NOT_READ: Final = "they are not read yet"
LOST: Final = (
    f"the kind brakes.skoupa.dev was here and is gone; bring it back with {INSTALL_AGAIN}, or take brakesSeen out of "
    "the ConfigMap skoupa-state and start again"
)
_DENIED: Final = f"no permission: list and watch brakes.skoupa.dev; {INSTALL_AGAIN} grants it"
NO_KIND: Final = (
    "there is no kind brakes.skoupa.dev: `skoupa pause` can't stop this controller, and a ceiling that trips holds only "
    f"until this process ends; {INSTALL_AGAIN} brings it"
)
NO_RIGHT: Final = "no permission to list and watch brakes.skoupa.dev: Brakes are not obeyed"


class Brakes:
    """`on_change` hears that what is held has to be judged anew; `told` what is done in a poorer way."""

    def __init__(
        self,
        client: Client,
        *,
        knowledge: Knowledge,
        rights: Rights,
        on_change: Callable[[], None],
        told: Callable[[str], None],
    ) -> None:
        self._clock: Clock = client.clock
        self._knowledge = knowledge
        self._rights = rights
        self._on_change = on_change
        self._told = told
        self.feed = BrakeFeed(client, on_change=self._compose)
        self.runs = RunBrakes(self.feed)
        # Set with every change, for who keeps the objects in order.
        self.changed = asyncio.Event()
        # Whether Brakes could be read at some time, here or before; None: not known yet.
        self.seen: bool | None = None
        # Pulled here and no objects yet, by the name that their cause has.
        self._trips: dict[str, Tripped] = {}
        # Lost with their definition, by the name under which they hold now.
        self._lost: dict[str, Found] = {}
        self._epoch = 0
        # When the next of them begins or ends by itself.
        self._next_turn = math.inf
        self._kind: _Kind = "not asked"
        self._resource: Resource | None = None
        self._following: asyncio.Task[None] | None = None
        self._group: asyncio.TaskGroup | None = None
        knowledge.brakes = Pulled(unknown=_NOT_READ)

    @property
    def epoch(self) -> int:
        """Grows whenever more is held, also where time alone made it: who judged can tell whether that still counts."""
        if self._clock.now() >= self._next_turn:
            self._turn()
        return self._epoch

    def seconds_to_turn(self) -> float:
        """How long until the next of them begins or ends by itself."""
        if self._clock.now() >= self._next_turn:
            self._turn()
        return self._next_turn - self._clock.now()

    @property
    def settled(self) -> bool:
        """Whether they were read, or it is known why they can't be."""
        return self._kind in {"absent", "denied"} or self.feed.synced or bool(self.feed.behind)

    @property
    def resource(self) -> Resource | None:
        """The kind, while it is there and may be read."""
        return self._resource if self._kind == "there" else None

    def objects(self) -> Iterator[tuple[Found, Brake]]:
        """Those that are in the cluster, whole and as they count."""
        return ((found, read_brake(found)) for found in self.feed)

    def pending(self) -> Iterator[Tripped]:
        """Those that were pulled here and are to become objects, under the names that are free for them."""
        return iter(list(self._trips.values()))

    def is_pulling(self, name: str) -> bool:
        """Whether it was pulled here under that name and is no object yet."""
        return any(tripped.name == name for tripped in self._trips.values())

    def going(self) -> list[Brake]:
        """Those that somebody deleted and that still count."""
        deleted = [found for found in self.feed if found["metadata"].get("deletionTimestamp")]
        return [read_brake(found) for found in (*deleted, *self.feed.leaving)]

    def lost(self) -> list[tuple[str, Found]]:
        """Those that went along with their definition, each with the name that is free for it."""
        return list(self._lost.items())

    def remember(self, *, seen: bool, known: Iterable[Found] = (), unlisted: Unlisted | None = None) -> None:
        """What was written down before this process began."""
        self.seen = self.seen or seen
        if seen:
            self.feed.recall(known, unlisted)
        self._compose()

    def trip(self, tripped: Tripped) -> tuple[Tripped, bool]:
        """Holds its scope from now on; under which name, and whether that is news. The object is made when possible."""
        now = self._clock.now()
        for _, brake in self.objects():
            same = is_numbered(tripped.name, brake.name) and brake.scope == tripped.spec.scope
            if same and lasts(brake, tripped, now) and not self.runs.answers_another(brake, tripped, now):
                pulled = msgspec.structs.replace(tripped, name=brake.name)
                if self.runs.ask(pulled):
                    self.changed.set()
                return pulled, False
        known = self._trips.get(tripped.name)
        if known is not None and known.spec.scope == tripped.spec.scope:
            if tripped.edition:
                known = self._trips[tripped.name] = msgspec.structs.replace(tripped, name=known.name)
            return known, False
        self._trips[tripped.name] = tripped
        # What a ceiling had room for goes; only what comes after it is held.
        self._compose(stops_what_waits=not tripped.of_ceiling)
        return self._trips.get(tripped.name, tripped), True

    def lift(self, scope: Scope, but: Tripped | None = None) -> None:
        """Nothing of that scope is stopped any more by what was pulled here and is no object, but for the same again."""
        over = [
            cause
            for cause, one in self._trips.items()
            if one.spec.scope == scope and (but is None or (cause, one.by) != (but.name, but.by))
        ]
        for cause in over:
            del self._trips[cause]
        if over:
            self._compose()

    def open(self, group: asyncio.TaskGroup) -> None:
        """Following becomes a task of this group; whoever followed in an earlier one has ended with it."""
        self._group, self._following = group, None

    async def arrange(self) -> None:
        """Follows where the kind is there and may be read; called whenever kinds or rights were looked at."""
        discovery = self._knowledge.discovery
        kind = kind_in(discovery)
        if kind is None and discovery.unreadable(names.SKOUPA_GROUP) is not None:
            # A group whose kinds can't be told for a while: its watch knows better, or holds.
            if self._kind == "not asked":
                self._kind, self.feed.behind = "there", f"the kinds of {names.SKOUPA_GROUP} can't be read"
        elif kind is None:
            self._kind = "absent"
            self.close()
        elif not await self._rights.scopes(kind, verbs=("list", "watch")):
            self._kind = "denied"
            self.close()
        else:
            self._kind, self._resource = "there", kind
            if self._following is None:
                assert self._group is not None
                self.feed.behind = ""
                self._following = self._group.create_task(self.feed.follow(kind))
        self._compose()

    def close(self) -> None:
        if self._following is not None:
            self._following.cancel()
        self._following = None
        self.feed.synced = False

    def statistics(self) -> dict[str, int]:
        now, pulled = self._clock.now(), self._knowledge.brakes
        holding = sum(active(brake, now) for brake in pulled.brakes)
        waiting = len(pulled.brakes) - holding
        return {"active": holding, "waiting": waiting, "unknown": int(bool(pulled.unknown))}

    def _compose(self, *, stops_what_waits: bool = True) -> None:
        """What the guard is to believe from now on."""
        self.seen = True if self.feed.synced else self.seen
        self.changed.set()
        self._tell()
        pulled = Pulled(brakes=tuple(self._counting()), unknown=self._unknown())
        if pulled == self._knowledge.brakes:
            return
        before = [_plain(brake) for brake in self._knowledge.brakes.brakes]
        more = pulled.unknown or any(_plain(brake) not in before for brake in pulled.brakes)
        self._knowledge.brakes = pulled
        self._turn(grow=bool(more) and stops_what_waits)
        self._on_change()

    def _counting(self) -> list[Brake]:
        standing = {brake.name: brake for brake in map(read_brake, self.feed)}
        self._lost = {}
        for found in self.feed.lost:
            name = _placed(read_brake(found), standing)
            if name:
                self._lost[name] = found
            else:
                # From here on the object counts again.
                self.feed.brought_back(found)
        for found in self.feed.leaving:
            _placed(read_brake(found), standing)
        for cause, tripped in list(self._trips.items()):
            self._place_trip(cause, tripped, standing)
        return sorted(standing.values(), key=lambda brake: brake.name)

    def _place_trip(self, cause: str, tripped: Tripped, standing: dict[str, Brake]) -> None:
        now, scope = self._clock.now(), tripped.spec.scope
        for name in numbered(cause):
            known = standing.get(name)
            if known is not None and known.scope != scope:
                # Somebody else's by now.
                continue
            if known is not None and self.runs.answers_another(known, tripped, now):
                continue
            if known is not None and lasts(known, tripped, now):
                # From here on the object counts, and who deletes it releases it.
                del self._trips[cause]
            else:
                self._trips[cause] = msgspec.structs.replace(tripped, name=name)
                until = tripped.spec.until
                standing[name] = Brake(
                    name=name,
                    scope=scope,
                    reason=tripped.spec.reason or "",
                    until=until.timestamp() if until is not None else None,
                )
            return

    def _turn(self, *, grow: bool = True) -> None:
        self._next_turn = next_change_of(self._knowledge.brakes.brakes, self._clock.now())
        self._epoch += grow

    def _tell(self) -> None:
        if self._kind == "absent" and self.seen is False:
            self._told(NO_KIND)
        if self._kind == "denied" and self._waived():
            self._told(NO_RIGHT)

    def _unknown(self) -> str:
        match self._kind:
            case "not asked":
                return _NOT_READ
            case "absent":
                if self.seen is None:
                    return _NOT_READ
                return LOST if self.seen else ""
            case "denied":
                return "" if self._waived() else _DENIED
            case "there":
                return self.feed.doubt()

    def _waived(self) -> bool:
        """An install for some namespaces can't be granted what is in no namespace; that was decided so."""
        return bool(self._knowledge.settings.namespaces) and not self.seen


def _placed(brake: Brake, standing: dict[str, Brake]) -> str:
    """The name under which it holds beside those that stand; empty: one of them holds just the same."""
    for name in numbered(brake.name):
        one = msgspec.structs.replace(brake, name=name)
        known = standing.get(name)
        if known is None:
            standing[name] = one
            return name
        if _plain(known) == _plain(one):
            return ""
    raise AssertionError("there is always a free name")


def _plain(brake: Brake) -> Brake:
    """What it holds and when, whatever else is said of it."""
    return msgspec.structs.replace(brake, uid="", generation=0, reason="", problems=(), edition="", asked=0)
