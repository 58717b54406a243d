"""One deleted tenant on its way: what a census found of it, what went of that, and what may go next.

A step opens when nothing of those before it is still to be sent: what hangs on a finalizer, or is held, keeps nobody. Nothing here
sends a request; all of it is told anew by the next census, so a restart loses nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from skoupa.clock import Clock
from skoupa.controller.tenancy.drivers import PATIENCE_SECONDS as DRIVER_SECONDS
from skoupa.controller.tenancy.drivers import WAITS, Drivers
from skoupa.facts.rows import Uid, pack_uid
from skoupa.judge.tenants import Deleted, Doomed
from skoupa.kinds.tenant import Volume
from skoupa.kube.resources import Resource
from skoupa.settings import TenantSettings
from skoupa.tenants.blocking import blocked
from skoupa.tenants.census import Belonging, Census, Kept
from skoupa.tenants.order import ROLES, after_its_instances, open_step, step
from skoupa.tenants.ownership import is_definition, is_namespace
from skoupa.tenants.tenant import Tenant
from skoupa.tenants.told import volumes_told

FIRST_SECONDS: Final = 3.1
LONGEST_SECONDS: Final = 60.0
SENDING_SECONDS: Final = 15.0
# So long after the last delete was taken a reading that finds nothing begins at the earliest: what accounts of the tenant had under way is
# there by then, and a server that remembers rights for a moment has forgotten them.
CALM_SECONDS: Final = 3.0
# So few, for so long after all kinds were read, are looked for one by one.
HANGING: Final = 5
HANGING_SECONDS: Final = 20.0
# So long a step waits for those that are neither held nor gone while none of them goes.
PATIENCE_SECONDS: Final = 60.0
# So often one that is to be looked for waits for others that are still on their way, so that one reading does for all.
POSTPONED: Final = 20


class Deletion:
    """`due` is when the first of it may go; `holds` says what keeps an object from being sent, empty: nothing."""

    def __init__(self, clock: Clock, tenant: Tenant, *, due: float, holds: Callable[[Uid], str]) -> None:
        self._clock = clock
        self.tenant = tenant
        self.due = due
        self._holds = holds
        self.census: Census | None = None
        self.left: tuple[Belonging, ...] = ()
        self.kept: tuple[Kept, ...] = ()
        # By name: they are told as long as the Tenant is there, when the object is gone too, also by who takes over.
        self.volumes: dict[str, Volume] = {one.name: one for one in volumes_told(tenant)}
        self.sent: set[str] = set()
        # By uid, of what is left, whose delete nobody has asked for: thousands are asked for one after the other.
        self._unasked: dict[str, Belonging] = {}
        # By uid: of which it is not known whether somebody else uses it, so that it waits.
        self.unsure: dict[str, str] = {}
        # By uid, claims in its Namespaces: volumes are known by them when those are gone.
        self.bound: dict[str, str] = {}
        self._drivers = Drivers(clock)
        # By uid of Namespaces that hang, what they wait for.
        self.inside: dict[str, str] = {}
        self._before: set[str] = set()
        self._began = 0.0
        self.is_over = False
        # Of which a delete was taken, or that were found gone, since all kinds were read.
        self._taken: set[str] = set()
        # Those that were seen on their way out and still there: what they make meanwhile is there when they are gone.
        self._hung: set[str] = set()
        self._found_gone: set[str] = set()
        self._postponed = 0
        # When something of it was last there and not asked to go, as far as is known.
        self._there = clock.monotonic()
        self.looked_at = 0.0
        self._counted_at = 0.0
        self.next_look = clock.monotonic()
        self._wait = FIRST_SECONDS
        # The step that is under way; -1: none yet.
        self.step = -1
        # When it began, or the last delete of this deletion was taken.
        self._went_on_at = 0.0

    def counted(self, census: Census, at: float, *, began: float) -> None:
        """A reading, begun at that moment of the monotonic clock, after all that was asked for before it; one by label is never the last.

        Who uses what is asked after it, and then it is `settled`.
        """
        name = self.tenant.name
        found = census.of(name)
        self._before, self._began = {one.uid for one in self.left}, began
        if self.census is None or self._before - self._taken:
            # Nobody knows how long those were there, and they may have made others meanwhile: once more, later.
            self._there = self._clock.monotonic()
        self.census, self.looked_at = census, at
        self._counted_at = self._clock.monotonic()
        self.left = tuple(one for one in found if not one.is_shared)
        self.bound |= {one.claim: name for one in self.left if one.claim}
        self._drivers.counted(self.left)
        shared = (
            Kept(called=one.called, tenants=(name,), why="it has the label skoupa.dev/shared")
            for one in found
            if one.is_shared
        )
        self.kept = (*census.disputed_with(name), *shared)
        # One that is there and not on its way out was not sent, whatever we were told.
        self.sent = {one.uid for one in self.left if one.is_leaving}
        self._unasked = {one.uid: one for one in self.left if not one.is_leaving}

    def settled(self) -> None:
        """Whether that found nothing, and when all is read again."""
        assert self.census is not None, "there was a census"
        self.volumes |= {one.volume.name: one.volume for one in self.left if one.volume is not None}
        if self.census.narrowed and not self.left:
            # Nobody has read whether there is more.
            self.plan_look(FIRST_SECONDS)
            return
        nothing = not self.left and not self.owned() and not self.census.missing()
        if not nothing:
            self._there = self._clock.monotonic()
        self._taken.clear()
        self._found_gone.clear()
        self._postponed = 0
        self._hung = {one.uid for one in self.left if one.is_leaving}
        self.is_over = nothing and self._began - self._there >= CALM_SECONDS
        if self._before != {one.uid for one in self.left}:
            self._wait = FIRST_SECONDS
        # What is sent is heard of; it is read once more sooner only where nothing is left to be sent.
        self.plan_look(
            FIRST_SECONDS if nothing and not self.is_over else None,
            at_least=SENDING_SECONDS if self.to_send() else 0,
        )

    @property
    def is_new(self) -> bool:
        """Whether nothing was read for it yet: then a label may tell what can be sent on its way before all is read."""
        return self.census is None

    def owned(self) -> list[str]:
        """Objects that stay and have the Tenant among their owners: once it is gone the server might collect them."""
        assert self.census is not None, "there was a census"
        going = {one.uid for one in self.left}
        found = self.census.owned.get(self.tenant.name, {})
        return sorted(called for uid, called in found.items() if uid not in going)

    def hanging(self) -> Sequence[Belonging]:
        """Some that are on their way out, the slowest first; none where something is to be sent, or all was read long ago."""
        if self._clock.monotonic() - self._counted_at > HANGING_SECONDS or self.to_send():
            return ()
        left = [one for one in self.left if one.uid not in self._found_gone]
        return sorted(left, key=lambda one: not _takes_long(one.resource))

    def hangs(self, uid: str) -> None:
        """It was asked for by itself, and is there."""
        self._hung.add(uid)

    def gone(self, uid: str) -> None:
        """It was asked for by itself, and is not there."""
        self._found_gone.add(uid)
        if uid in self._hung:
            self._there = self._clock.monotonic()
            self._wait = FIRST_SECONDS
        self._taken.add(uid)

    @property
    def is_restless(self) -> bool:
        """Whether all of it was asked to go so shortly ago that a reading which finds nothing would not be believed."""
        calm = self._clock.monotonic() - self._there >= CALM_SECONDS
        return bool(self.left) and not self.to_send() and not calm

    def answered(self, *, used: Mapping[str, str], unknown: Mapping[str, str]) -> None:
        """Who uses what: of those that are still to be sent that is asked with each census, and may be over by the next."""
        mine = {one.uid: one for one in self.left}
        self.unsure = {uid: why for uid, why in unknown.items() if uid in mine}
        others = {uid: why for uid, why in used.items() if uid in mine}
        self.left = tuple(one for one in self.left if one.uid not in others)
        for uid in others:
            self._unasked.pop(uid, None)
        told = (
            Kept(called=mine[uid].called, tenants=(self.tenant.name,), why=why) for uid, why in others.items()
        )
        self.kept = (*self.kept, *told)

    def plan_look(self, wait: float | None = None, *, at_least: float = 0.0) -> None:
        """When the next census is: soon while something happens, else ever less often."""
        if wait is None:
            wait, self._wait = max(self._wait, at_least), min(2 * self._wait, LONGEST_SECONDS)
        self.next_look = self._clock.monotonic() + wait

    def postpone(self) -> bool:
        """For the sake of others; not without end."""
        if self.census is None or self._postponed >= POSTPONED:
            return False
        self._postponed += 1
        self.next_look = self._clock.monotonic() + FIRST_SECONDS
        return True

    @property
    def is_busy(self) -> bool:
        """Whether something of it goes from moment to moment, so that a reading would tell nothing yet."""
        quiet = self._clock.monotonic() - self._there
        return bool(self.left) and quiet < (SENDING_SECONDS if self.to_send() else CALM_SECONDS)

    def heard(self, uid: str) -> None:
        """Its delete was taken, or it is gone."""
        self.sent.add(uid)
        self._unasked.pop(uid, None)
        self._taken.add(uid)
        self._there = self._went_on_at = self._clock.monotonic()
        if all(map(self._drivers.have, self._unasked.values())):
            # The rest may well be gone when somebody looks.
            self._wait = FIRST_SECONDS
            self.plan_look()

    def blocked(self, settings: TenantSettings) -> tuple[str, str] | None:
        """Why nothing of it may go, in one word and in a sentence; None: it may."""
        assert self.census is not None, "there was a census"
        return blocked(self.census, self.tenant.name, len(self.left), settings)

    def to_send(self) -> list[Belonging]:
        """Those that have to be deleted by us; what a driver takes away is on its way as soon as its Namespace is."""
        return [one for one in self._unasked.values() if not self._drivers.have(one)]

    def held(self) -> dict[str, str]:
        """By uid, of those that still have to go, what holds them."""
        found = {
            one.uid: why
            for one in self.to_send()
            if (why := self.unsure.get(one.uid) or self._holds(pack_uid(one.uid)))
        }
        places = self._namespaces_that_stay()
        for one in self._unasked.values():
            place = places.get(one.claimed_in)
            if place is not None and place.uid in found:
                found.setdefault(
                    one.uid,
                    f"it is for a claim in the {place.called}, which is held: without it the data would go",
                )
            elif self._drivers.have(one):
                found.setdefault(one.uid, f"{WAITS}. That fails: {one.failure}" if one.failure else WAITS)
        return found

    def _namespaces_that_stay(self) -> dict[str, Belonging]:
        """By name, so far: what is for a claim in one must not go before it."""
        return {one.metadata.name: one for one in self.to_send() if is_namespace(one.resource)}

    def claims(self) -> Deleted:
        """What may go now, and what is on its way, so that somebody looks after it."""
        assert self.census is not None, "there was a census"
        left_over = (one for one in self._drivers.gave_up(self.left) if one.uid not in self.sent)
        self.volumes |= {one.reclaimed.name: one.reclaimed for one in left_over if one.reclaimed is not None}
        objects = {
            pack_uid(one.uid): Doomed(proof=_proof(one), version=None if one.lasting else _version(one))
            for one in self._open()
        }
        return Deleted(name=self.tenant.name, uid=self.tenant.uid, due=self.due, objects=objects)

    def claimed(self) -> list[Belonging]:
        return list(self._open())

    def _open(self) -> Iterator[Belonging]:
        assert self.census is not None, "there was a census"
        ownership, held = self.census.ownership, self.held()
        waiting = {one.uid for one in self.to_send() if one.uid not in held}
        now = self._clock.monotonic()
        wanted = open_step(self.left, ownership, waited_for=lambda one: one.uid in waiting)
        if wanted != self.step:
            self.step, self._went_on_at = wanted, now
        # One that fails again and again must not keep all others; many that go one after the other do.
        limit = wanted if now - self._went_on_at <= PATIENCE_SECONDS else ROLES
        not_sent = list(self._unasked.values())
        places = self._namespaces_that_stay()
        for one in self.left:
            later = step(one, ownership) > limit or after_its_instances(one, not_sent)
            later = later or one.uid in self.unsure or one.claimed_in in places or self._drivers.have(one)
            if one.uid in self.sent or not later:
                yield one


def _proof(one: Belonging) -> str:
    """Of data that stays, where it is: nothing else tells of it once the Tenant is gone."""
    if one.volume is not None:
        return f"{one.proof}; its data stays at {one.volume.handle}"
    if one.reclaimed is not None and not one.is_leaving:
        vain = f"its driver has not taken its data away for {int(DRIVER_SECONDS / 60)} minutes"
        return f"{one.proof}; {vain}: {one.reclaimed.handle}"
    return one.proof


def _takes_long(resource: Resource) -> bool:
    return is_namespace(resource) or is_definition(resource)


def _version(one: Belonging) -> int | str:
    version = one.metadata.resource_version
    return int(version) if version.isdecimal() else version
