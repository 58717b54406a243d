"""Anything may happen, in any order: faults, edits, Brakes, crashes. What is kept or braked stays, and each deletion has its row."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from skoupa import names
from skoupa.errors import AlreadyExists, SkoupaError
from skoupa.kube.resources import CONFIG_MAPS, Resource
from skoupa.kube.transport import Request
from skoupa.ledger.rows import COUNTED
from skoupa.ledger.sqlite import SqliteStore
from skoupa.sim.clock import START
from skoupa.sim.faults import asking
from skoupa.sim.state.access import Rule, User
from skoupa.sim.state.admission import Operation
from skoupa.sweep.record import Record
from tests.standing_rule import Spec, StandingRule
from tests.unit.controller.braking import bring_kind, pull, release
from tests.unit.controller.stage import HOUR, Play, Stage, story

pytestmark = pytest.mark.unit

PLACES = ("a", "b", "c")
US = "sweeper"
SECONDS = 420.0
# Rules take these, whatever labels they have.
RULED = ("web-", "app-")


def ours(request: Request) -> bool:
    return request.method == "DELETE" and "/configmaps/" in request.path


class Chaos:
    """What happens is drawn from `seed`; `taken` are the uids of what our deletes have met, `wrong` what must not be."""

    def __init__(self, stage: Stage, store: SqliteStore, seed: int) -> None:
        self.stage = stage
        self.store = store
        self.chance = random.Random(seed)
        self.taken: set[str] = set()
        self.wrong: list[str] = []
        self.braked: dict[str, float] = {}
        self._plays: list[Play] = []
        self._writing: asyncio.Task[None] | None = None
        self._made = 0

    async def begin(self) -> None:
        lives = len(self._plays) + 1
        record = Record(self.store, self.stage.clock, epoch=lambda: lives)
        self._writing = asyncio.create_task(record.journal.run())
        rules = [
            StandingRule(Spec(rule="Rule/web", names="web-*", first=START + 60, every=60.0)),
            StandingRule(Spec(rule="Rule/app", names="app-*", first=START + 75, every=45.0)),
        ]
        self._plays.append(await self.stage.play(user=US, rulings=rules, record=record))

    async def end(self) -> None:
        await self._plays[-1].kill()
        assert self._writing is not None
        self._writing.cancel()
        await asyncio.gather(self._writing, return_exceptions=True)

    async def crash(self) -> None:
        if self.chance.random() < 0.5:
            await self._plays[-1].stop()
        await self.end()
        self.stage.plays.remove(self._plays[-1])
        await self.begin()

    def watch(
        self,
        operation: Operation,
        resource: Resource,
        obj: Mapping[str, Any] | None,
        old: Mapping[str, Any] | None,
        user: User,
    ) -> None:
        """Each of our deletes as the server takes it, trials too."""
        if operation != "DELETE" or user.name != US or resource.plural != "configmaps" or old is None:
            return
        found = old["metadata"]
        self.taken.add(found["uid"])
        labels, place, name = found.get("labels") or {}, found["namespace"], found["name"]
        if labels.get(names.KEEP_LABEL) == "true":
            self.wrong.append(f"{name} is kept")
        if names.TTL_LABEL not in labels and not name.startswith(RULED):
            self.wrong.append(f"nothing wants {name} to go")
        path = f"/api/v1/namespaces/{place}/configmaps/{name}"
        sent = max(at for play in self._plays for at, one in play.wire.seen if ours(one) and one.path == path)
        if sent > self.braked.get(place, sent) + 1:
            self.wrong.append(f"{name} went although {place} is braked")

    async def make(self) -> None:
        self._made += 1
        kind = self.chance.choice(["web", "app", "both", "ttl", "ttl", "none"])
        ttl = f"{self.chance.randint(5, 120)}s" if kind in {"both", "ttl"} else None
        waits: dict[str, Any] = {"finalizers": ["example.com/slow"]} if self.chance.random() < 0.15 else {}
        name = f"{'web' if kind == 'both' else kind}-{self._made}"
        await self.stage.make(name, ttl, namespace=self.chance.choice(PLACES), **waits)

    def there(self, place: str) -> list[dict[str, Any]]:
        found = self.stage.cluster.objects(CONFIG_MAPS, namespace=place)
        return [one["metadata"] for one in found if one["metadata"]["name"] != "kube-root-ca.crt"]

    async def edit(self) -> None:
        place = self.chance.choice(PLACES)
        if not (there := self.there(place)):
            return
        name, drawn = self.chance.choice(there)["name"], self.chance.random()
        ttl = f"{self.chance.randint(5, 200)}s"
        patch: dict[str, Any] = self.chance.choice(
            [
                {"data": {"drawn": str(drawn)}},
                {"metadata": {"labels": {names.TTL_LABEL: self.chance.choice([None, ttl])}}},
                {"metadata": {"labels": {names.KEEP_LABEL: self.chance.choice([None, "true"])}}},
                {"metadata": {"finalizers": None}},
            ]
        )
        try:
            await self.stage.people.merge_patch(CONFIG_MAPS, name, patch, namespace=place)
        except SkoupaError:
            # It went meanwhile.
            return

    def fail(self) -> None:
        faults, times = self.stage.cluster.faults, self.chance.randint(1, 4)
        maps = asking(kind="configmaps")
        match self.chance.randrange(8):
            case 0:
                faults.answer(429, when=ours, times=times, retry_after=self.chance.randint(1, 8))
            case 1:
                faults.answer(409, when=ours, times=times, message="the object has been modified")
            case 2:
                faults.answer(500, when=ours, times=times, message="etcdserver: request timed out")
            case 3:
                faults.disconnect(when=ours, times=times, done=True)
            case 4:
                faults.disconnect(when=ours, times=times)
            case 5:
                faults.delay(self.chance.choice([0.3, 2.0, 6.0]), when=ours, times=times)
            case 6:
                faults.cut_watch(when=maps, times=1, after=times)
            case _:
                faults.silence_watch(when=maps, times=1, after=times)

    async def brake(self) -> None:
        place = self.chance.choice(PLACES)
        if self.braked.pop(place, None) is not None:
            await release(self.stage, f"stop-{place}")
            return
        try:
            await pull(self.stage, f"stop-{place}", namespace=place)
        except AlreadyExists:
            # The one before is not let go yet.
            return
        self.braked[place] = self.stage.clock.now()

    async def happen(self) -> None:
        drawn = self.chance.random()
        if drawn < 0.35:
            await self.make()
        elif drawn < 0.6:
            await self.edit()
        elif drawn < 0.87:
            self.fail()
        elif drawn < 0.95:
            await self.brake()
        elif drawn < 0.98:
            await self.crash()

    async def calm_down(self) -> None:
        self.stage.cluster.faults.clear()
        for place in list(self.braked):
            await release(self.stage, f"stop-{place}")
            del self.braked[place]
        for _ in range(4):
            for place in PLACES:
                for one in self.there(place):
                    patch = {"metadata": {"finalizers": None}}
                    await self.stage.people.merge_patch(CONFIG_MAPS, one["name"], patch, namespace=place)
            await self.stage.later(120)
        await self.stage.later(HOUR)


@pytest.mark.parametrize("seed", [7, 15, 31, 48])
@story(brakes={"shareOver": 10**6, "surgeOver": 10**6})
async def test_what_must_stay_stays_what_must_go_goes_and_each_that_went_has_its_row(
    stage: Stage, tmp_path: Path, seed: int
) -> None:
    stage.cluster.allow_only(US, (Rule(verbs=("*",), resources=("*",)),))
    await bring_kind(stage)
    for place in PLACES:
        await stage.namespace(place)
    store = SqliteStore(tmp_path / "l.db", cluster="east")
    await store.open()
    chaos = Chaos(stage, store, seed)
    stage.cluster.admit(chaos.watch)
    await chaos.begin()
    while stage.now < SECONDS:
        await stage.clock.sleep(chaos.chance.expovariate(1.0))
        await chaos.happen()
    await chaos.calm_down()
    await chaos.end()
    assert chaos.wrong == []
    there = {one["uid"]: one for place in PLACES for one in chaos.there(place)}
    rows = {row.uid: row for row in await store.find(limit=10_000)}
    went = chaos.taken - there.keys()
    assert len(went) > 20
    assert {
        uid: rows[uid].outcome for uid in went if rows[uid].outcome not in {"deleted", "gone-by-unknown"}
    } == {}
    assert [row for uid, row in rows.items() if uid in there and row.outcome in COUNTED] == []
    left = (one for one in there.values() if (one.get("labels") or {}).get(names.KEEP_LABEL) != "true")
    assert [
        one["name"]
        for one in left
        if names.TTL_LABEL in (one.get("labels") or {}) or one["name"].startswith(RULED)
    ] == []
    await store.close()
