"""That there is an Alive, once and for the whole life of a cluster: made where there is none, and ended for good.

Which one there is, what it wants, and that its deletion was asked for, is written down as soon as it is seen, and its end before Skoupa's
own finalizer is taken off. So one that vanishes is known for what it was: nobody's wish, and made anew with what it wanted, above all
what is to outlive the cluster; or somebody's, and over.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec

from skoupa import names
from skoupa.alive.reading import Alive, read_alive
from skoupa.controller.living.memory import (
    Life,
    Tombstone,
    garbled,
    remember,
    remember_wanted,
    remembered,
    wanted,
)
from skoupa.controller.state import ALIVE, State
from skoupa.errors import AlreadyExists, Invalid, NotFound
from skoupa.kinds.alive import ALIVES, AliveSpec, manifest
from skoupa.kube.client import Client
from skoupa.kube.objects import WHOLE
from skoupa.sweep.reporting import Report

NO_KIND: Final = "there is no kind Alive in this cluster: run `skoupa install --apply`, or upgrade the chart"
GARBLED: Final = (
    f"{names.STATE_CONFIG_MAP} says under {ALIVE} what can't be understood, so no Alive is made: nobody knows whether one has ended. Make one by "
    "hand (kubectl create) where this cluster is to live on"
)


class Existence:
    """`worse` hears why there is none, and can't be."""

    def __init__(
        self,
        client: Client,
        *,
        state: State,
        report: Report,
        server_now: Callable[[], float],
        worse: Callable[[str], None] = lambda _said: None,
    ) -> None:
        self._client = client
        self._state = state
        self._report = report
        self._now = server_now
        self._worse = worse

    @property
    def known(self) -> bool:
        """Whether there was one that we looked after, and whose end we have not seen."""
        life = remembered(self._state)
        return bool(life.uid) and not life.over

    async def note(self, alive: Alive) -> None:
        """It is there."""
        seen = msgspec.structs.replace(remembered(self._state), uid=alive.uid, began=alive.since)
        await remember(self._state, seen)
        await remember_wanted(self._state, alive.spec)

    async def bring_to_life(self) -> None:
        if garbled(self._state):
            self._worse(GARBLED)
            return
        life = remembered(self._state)
        if life.over:
            # It ended as somebody wished: this cluster is about to go, or somebody makes an Alive by hand.
            return
        if life.began is not None:
            # Somebody had asked for it, and somebody took off what it was waiting for.
            await self._taken_away(life, life.began)
            return
        before = wanted(self._state) if life.uid else None
        try:
            made = await self._made(before)
        except AlreadyExists:
            return
        except NotFound:
            self._worse(NO_KIND)
            return
        uid, now = str(made["metadata"]["uid"]), self._now()
        await remember(self._state, msgspec.structs.replace(life, uid=uid))
        if life.uid:
            as_before = before is not None and read_alive(made).spec == before
            spec = (
                "with the spec that it had"
                if as_before
                else "and what its spec was is not known: look at spec.preserve and the times"
            )
            note = (
                f"Alive {life.uid} vanished, and nobody had asked for its deletion: it was made anew, {spec}. Participants join again; who "
                "took it away can be seen in the audit log of the API server"
            )
            self._report.of_alive("SkoupaAliveVanished", note, uid=uid, at=now)
        else:
            self._report.of_alive("SkoupaAliveMade", "the cluster has an Alive now", uid=uid, at=now)

    async def _made(self, spec: AliveSpec | None) -> dict[str, Any]:
        """With this spec, unless the server does not take it any more."""
        if spec is not None:
            try:
                return await self._client.create(ALIVES, manifest(spec))
            except Invalid:
                pass
        return await self._client.create(ALIVES, manifest())

    async def gone_unwatched(self) -> None:
        """There is none, and nobody looks after it any more: one whose deletion nobody was seen to ask for is forgotten."""
        life = remembered(self._state)
        if life.over or garbled(self._state):
            return
        if life.began is None:
            await remember(self._state, Life())
        else:
            await self._taken_away(life, life.began)

    async def forget(self, alive: Alive) -> None:
        """It lives, and is nobody's any more: should it vanish from here on, nobody has to be told."""
        assert alive.since is None, "what is going is remembered"
        await remember(self._state, Life())

    async def _taken_away(self, life: Life, began: float) -> None:
        taken = Tombstone(uid=life.uid, began=began, ended=self._now(), outcome="TakenAway")
        await remember(self._state, msgspec.structs.replace(life, tombstone=taken))

    async def put_finalizer(self, alive: Alive) -> dict[str, Any]:
        finalizers = [*alive.finalizers, names.ALIVE_FINALIZER]
        metadata = {"uid": alive.uid, "resourceVersion": alive.resource_version, "finalizers": finalizers}
        return await self._client.merge_patch(ALIVES, names.ALIVE_NAME, {"metadata": metadata})

    async def end(self, alive: Alive) -> None:
        """Its end is written down before it is over."""
        assert alive.since is not None, "its deletion was asked for"
        if names.ALIVE_FINALIZER not in alive.finalizers:
            return
        forced = tuple(one.finalizer for one in alive.status.forced)
        tombstone = Tombstone(
            uid=alive.uid,
            began=alive.since,
            ended=self._now(),
            outcome="Forced" if forced else "Drained",
            forced=forced,
        )
        await remember(
            self._state,
            msgspec.structs.replace(remembered(self._state), uid=alive.uid, tombstone=tombstone),
        )
        found = await self._client.get(ALIVES, names.ALIVE_NAME, view=WHOLE)
        present = read_alive(found)
        if present.uid != alive.uid or present.waited_for:
            return
        try:
            await self.take_off(present)
        except NotFound:
            return

    async def take_off(self, alive: Alive) -> None:
        """Our own finalizer, and no other. Raises Conflict where it is not as it was read."""
        left = [one for one in alive.finalizers if one != names.ALIVE_FINALIZER]
        metadata = {"uid": alive.uid, "resourceVersion": alive.resource_version, "finalizers": left}
        await self._client.merge_patch(ALIVES, names.ALIVE_NAME, {"metadata": metadata})
