"""Beside a living Kyverno cleanup controller Skoupa only observes, unless somebody tells it to act.

While it enforces and finds one, it pulls a Brake on everything: before its first deletion, or within a minute when Kyverno
comes later. Releasing that Brake means "act beside it", and is remembered until that Kyverno was gone for a while. The
Brake does not end when Kyverno does: that another controller crashed is no reason to begin with deleting.
An observer tells, and writes nothing. Where Leases may not be listed nothing is held, and that is told.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Final

from skoupa import names
from skoupa.clock import Clock
from skoupa.controller.braking.brakes import Brakes
from skoupa.controller.braking.release import Releases
from skoupa.controller.kyverno.living import KyvernoLeases, Living
from skoupa.controller.sight.rights import Rights
from skoupa.controller.state import KYVERNO_ACCEPTED, State
from skoupa.errors import Forbidden, NotFound, SkoupaError
from skoupa.kinds.brake import EVERYTHING, BrakeSpec
from skoupa.kinds.brake_effect import active
from skoupa.kinds.brake_reading import Brake
from skoupa.kube.backoff import Backoff
from skoupa.kube.client import Client
from skoupa.kube.resources import LEASES
from skoupa.kube.timestamps import whole_seconds
from skoupa.settings import Settings
from skoupa.sweep.tripping import Tripped, is_numbered

BRAKE_NAME: Final = "kyverno-alive"
LOOK_SECONDS: Final = 60.0
DENIED: Final = (
    f"no permission to list {LEASES.qualified} in the whole cluster: a Kyverno cleanup controller beside this one is "
    "not noticed"
)

# An event of the log, and its facts.
News = tuple[str, dict[str, str]]


class BesideKyverno:
    """`acting` says that this process leads and enforces; `trip` pulls a Brake; `told` hears what can't be done.

    `note_ends` looks for Brakes whose time is over since somebody last looked.
    """

    def __init__(
        self,
        client: Client,
        *,
        settings: Settings,
        state: State,
        brakes: Brakes,
        releases: Releases,
        rights: Rights,
        acting: Callable[[], bool],
        trip: Callable[[Tripped], str],
        note_ends: Callable[[], Awaitable[None]],
        told: Callable[[str], None],
    ) -> None:
        self._client = client
        self._clock: Clock = client.clock
        self._enforcing = settings.mode == "enforce"
        self._both = settings.beside_kyverno == "enforce"
        self._state = state
        self._brakes = brakes
        self._rights = rights
        self._acting = acting
        self._trip = trip
        self._note_ends = note_ends
        self._told = told
        self._leases = KyvernoLeases(client)
        # Uids of the Leases beside which somebody let Skoupa act; None: not read yet.
        self._accepted: set[str] | None = None
        self._written: set[str] = set()
        self._known: dict[str, Living] = {}
        self._news: list[News] = []
        self._denied = False
        self.error: SkoupaError | None = None
        releases.on_release, releases.on_end = self._released, self._ended

    def remember(self) -> None:
        """What the state says; it has to be read."""
        self._accepted = set(self._state.get(KYVERNO_ACCEPTED, list[str]) or ())
        self._written = set(self._accepted)

    async def before_acting(self) -> None:
        """Returns when it is known whether one lives, or that this may not be known."""
        backoff = Backoff(self._clock)
        while not await self._try():
            await self._clock.sleep(backoff.next())

    async def follow(self) -> None:
        while True:
            if not self._enforcing or (self._accepted is not None and self._acting()):
                await self._try()
            await self._clock.sleep(LOOK_SECONDS)

    async def _try(self) -> bool:
        try:
            await self._look()
            if self._enforcing:
                await self._weigh()
            self._compare()
        except SkoupaError as error:
            self.error = error
            return False
        self.error = None
        return True

    def news(self) -> list[News]:
        """What is to be logged since somebody last asked."""
        news, self._news = self._news, []
        return news

    def statistics(self) -> dict[str, int]:
        accepted = self._accepted or set()
        return {
            "alive": len(self._known),
            "accepted": sum(self._both or uid in accepted for uid in self._known),
            "unknown": int(self._denied),
        }

    async def _look(self) -> None:
        try:
            # What is not granted is not tried: each refusal is a line in somebody's audit log.
            self._denied = not await self._rights.may_list(LEASES, name=names.KYVERNO_CLEANUP_LEASE)
            if not self._denied:
                await self._leases.look()
        except Forbidden:
            self._denied = True
        if self._denied:
            self._told(DENIED)

    async def _weigh(self) -> None:
        """Pulls the Brake where one lives that nobody accepted, and forgets whom that was said of once it is gone."""
        if self._accepted is None:
            return
        # A Brake whose time is just over was accepted.
        await self._note_ends()
        if not self._denied:
            self._accepted -= {uid for uid in self._accepted if self._leases.is_gone(uid)}
        await self._write_down()
        living = self._leases.living()
        if self._both:
            await self._end_brake()
        elif unasked := [one for one in living if one.uid not in self._accepted]:
            self._trip(_tripped(unasked[0]))

    async def _end_brake(self) -> None:
        """The settings say by now what its release would have said."""
        kind = self._brakes.resource
        for _, brake in self._brakes.objects():
            if kind is not None and _is_ours(brake) and active(brake, self._clock.now()):
                patch = {"spec": {"until": whole_seconds(self._clock.now())}}
                try:
                    await self._client.merge_patch(kind, brake.name, patch)
                except NotFound:
                    return

    async def _released(self, brake: Brake) -> None:
        if not _is_ours(brake) or self._accepted is None:
            return
        # Who stopped Kyverno first has not said that Skoupa may act beside it.
        await self._look()
        self._accept(self._leases.living())
        await self._write_down()

    def _ended(self, brake: Brake) -> None:
        """Written down with the next look; by `besideKyverno: enforce` it ends without anybody having accepted it."""
        if _is_ours(brake) and not self._both and self._accepted is not None:
            self._accept(self._leases.living())

    def _accept(self, living: Iterable[Living]) -> None:
        assert self._accepted is not None
        self._accepted |= {one.uid for one in living}

    async def _write_down(self) -> None:
        assert self._accepted is not None
        if self._accepted == self._written:
            return
        accepted = set(self._accepted)
        try:
            await self._state.put(KYVERNO_ACCEPTED, sorted(accepted))
        except Forbidden as error:
            # Who may write no state has none after a restart either; that must not keep a Brake for ever.
            self.error = error
        self._written = accepted

    def _compare(self) -> None:
        living = {one.uid: one for one in self._leases.living()}
        for uid, one in living.items():
            if uid not in self._known:
                facts = {"lease": one.lease, "renewed": f"{one.quiet:.0f} s ago", "means": self._means(uid)}
                self._news.append(("kyverno is alive", facts))
        for uid, one in self._known.items():
            if uid not in living:
                held = any(_is_ours(brake) for _, brake in self._brakes.objects())
                advice = f"skoupa brakes release {BRAKE_NAME}" if held else ""
                self._news.append(("kyverno is gone", {"lease": one.lease, "release": advice}))
        self._known = living

    def _means(self, uid: str) -> str:
        if not self._enforcing:
            return "nothing: this controller only observes"
        if self._both:
            return "both delete: besideKyverno is enforce"
        if uid in (self._accepted or ()):
            return f"both delete: the Brake {BRAKE_NAME} was released"
        return f"nothing goes: the Brake {BRAKE_NAME} holds everything"


def _is_ours(brake: Brake) -> bool:
    return is_numbered(BRAKE_NAME, brake.name) and brake.scope == EVERYTHING


def _tripped(living: Living) -> Tripped:
    by = f"a Kyverno cleanup controller is alive (Lease {living.lease}, renewed {living.quiet:.0f} s ago)"
    reason = (
        f"{by}, and it obeys the same labels in its own way: stop it and then delete this Brake, or delete this Brake now "
        "to let Skoupa act beside it"
    )
    return Tripped(name=BRAKE_NAME, spec=BrakeSpec(scope=EVERYTHING, reason=reason), span="kyverno", by=by)
