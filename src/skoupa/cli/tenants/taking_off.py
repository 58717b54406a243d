"""Takes off what was shown and agreed to, finalizer by finalizer, as far as nothing has changed since.

Each object is read and asked about anew, its intent is in the ledger before the patch leaves, and the patch names the very state that
was read. Without a ledger that takes intents nothing more is sent; Ctrl-C lets the one that is under way finish.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Final, Literal

import msgspec

from skoupa.cli.acting.recording import close_open
from skoupa.cli.tenants.stuck import Look, Looking, Stuck
from skoupa.cli.terminal.orderly_end import stop_on_signal
from skoupa.cli.terminal.tables import printable
from skoupa.cli.worlds import World
from skoupa.errors import Conflict, Forbidden, LedgerUnavailable, NotFound, SkoupaError
from skoupa.facts.rows import Row
from skoupa.kube.objects import WHOLE
from skoupa.model.reasons import render
from skoupa.model.verdicts import Claim, Hold
from skoupa.settings import Settings
from skoupa.sweep.finalizers import FinalizerRemoval, Removal
from skoupa.sweep.record import Record
from skoupa.tenants.census import Census
from skoupa.tenants.tenant import Tenant

_TRIES: Final = 3

What = Literal["off", "gone", "stays", "failed"]


class Done(msgspec.Struct, frozen=True, kw_only=True):
    stuck: Stuck
    what: What
    why: str = ""
    denied: bool = False


class Forced(msgspec.Struct, frozen=True, kw_only=True):
    """`held`: there are others that were never to be taken off now."""

    done: tuple[Done, ...]
    ledger: str
    gaps: tuple[str, ...] = ()
    held: bool = False
    interrupted: bool = False


async def take_off(world: World, looking: Looking, shown: Look, record: Record, settings: Settings) -> Forced:
    looked = await looking.look()
    if looked.refused or looked.census is None:
        done = tuple(Done(stuck=one, what="stays", why=looked.refused) for one in shown.stuck)
        return Forced(done=tuple(map(_told, done)), ledger=record.store.where)
    await close_open(record, settings, client=world.client, discovery=looked.census.discovery)
    taking = _Taking(world, looking, record, census=looked.census, tenant=shown.tenant)
    present = {one.key: one for one in looked.found}
    done_so_far: list[Done] = []
    async with stop_on_signal() as stop:
        for one in shown.stuck:
            if stop.is_set():
                break
            known = present.get(one.key)
            if known is None:
                found = Done(stuck=one, what="gone")
            elif known.why:
                found = Done(stuck=one, what="stays", why=known.why)
            else:
                found = await taking.off(one)
            done_so_far.append(_told(found))
    return Forced(
        done=tuple(done_so_far),
        ledger=record.store.where,
        gaps=looked.gaps,
        held=looked.holds_some,
        interrupted=len(done_so_far) < len(shown.stuck),
    )


class _Taking:
    def __init__(
        self, world: World, looking: Looking, record: Record, *, census: Census, tenant: Tenant
    ) -> None:
        self._world = world
        self._looking = looking
        self._record = record
        self._census = census
        self._tenant = tenant
        self._removal = FinalizerRemoval(world.client, record=record, holds=self._holds)

    def _holds(self, row: Row, claim: Claim) -> Sequence[Hold]:
        now = self._world.now()
        away = self._record.hold(row, now)
        return [*self._looking.brakes.holds(row, claim, now), *([away] if away is not None else ())]

    async def off(self, one: Stuck) -> Done:
        """From the object as it is now: whoever else takes one off meanwhile changes it."""
        try:
            for _ in range(_TRIES):
                try:
                    return await self._try(one)
                except Conflict:
                    continue
        except NotFound:
            return Done(stuck=one, what="gone")
        except LedgerUnavailable:
            # Nothing can be written down, so nothing more is sent.
            raise
        except SkoupaError as error:
            return Done(stuck=one, what="failed", why=error.message, denied=isinstance(error, Forbidden))
        return Done(stuck=one, what="failed", why="it changes again and again")

    async def _try(self, one: Stuck) -> Done:
        metadata = one.hanging.metadata
        found = await self._world.client.get(
            one.hanging.resource, metadata.name, view=WHOLE, namespace=metadata.namespace
        )
        finalizers = found["metadata"].get("finalizers") or ()
        row, why = await self._looking.still(one, found, self._census, self._tenant)
        if why:
            return Done(stuck=one, what="stays", why=why)
        if one.finalizer not in finalizers:
            return Done(stuck=one, what="gone")
        asked = Removal(one.finalizer, one.claim(self._tenant))
        outcome = await self._removal.take_off(row, finalizers, [asked])
        if isinstance(outcome, Hold):
            return Done(stuck=one, what="stays", why=render(outcome.reason))
        return Done(stuck=one, what="gone" if outcome is None else "off")


def _told(done: Done) -> Done:
    """At once, since the next may take its time."""
    called, finalizer = done.stuck.hanging.called, done.stuck.finalizer
    match done.what:
        case "off":
            said = f"took {finalizer} off {called}"
        case "gone":
            said = f"{finalizer} is off {called} already, or it is gone"
        case _:
            said = f"{finalizer} stays on {called}: {done.why}"
    sys.stdout.write(f"{printable(said)}\n")
    sys.stdout.flush()
    return done
