"""Somebody who changes ConfigMaps at random, several at a time, and keeps a record of what the server confirmed.

Each worker has names of its own, so that no two writes race. A write without an answer (the server was killed under
it) is looked up and not recorded: nobody knows whether it happened.
"""

from __future__ import annotations

import asyncio
import random

import msgspec

from skoupa.errors import NotFound, SkoupaError
from skoupa.kube.client import Client
from skoupa.kube.objects import METADATA
from skoupa.kube.resources import CONFIG_MAPS

SIDE = "side"
SELECTOR = f"{SIDE}=in"


class Written(msgspec.Struct, frozen=True):
    """A confirmed create or change: the version that it made, and the label before (None: created) and after."""

    uid: str
    version: int
    before: str | None
    after: str

    def seen(self, *, selected: bool) -> bool:
        """Whether a watch with the selector, or without, tells it."""
        return not selected or "in" in {self.before, self.after}


class _Held(msgspec.Struct):
    uid: str
    side: str


class Writer:
    def __init__(self, client: Client, namespace: str, *, seed: int, names: int = 20) -> None:
        self._client = client
        self._namespace = namespace
        self._random = random.Random(seed)
        self._names = names
        self._stopped = False
        self.log: list[Written] = []
        self.removed: dict[str, str] = {}
        self.unanswered = 0

    @property
    def changes(self) -> int:
        return len(self.log) + len(self.removed)

    def newest(self, *, selected: bool) -> int:
        """The version of the last recorded change that a watch tells."""
        return max(
            (written.version for written in self.log[-200:] if written.seen(selected=selected)), default=0
        )

    def stop(self) -> None:
        self._stopped = True

    async def run(self, *, workers: int = 8) -> None:
        async with asyncio.TaskGroup() as tasks:
            for worker in range(workers):
                tasks.create_task(self._work(worker))

    async def _work(self, worker: int) -> None:
        held: dict[str, _Held | None] = {f"w{worker}-{number}": None for number in range(self._names)}
        while not self._stopped:
            name = self._random.choice(list(held))
            try:
                held[name] = await self._change(name, held[name])
            except SkoupaError:
                self.unanswered += 1
                held[name] = await self._look_up(name)

    async def _change(self, name: str, now: _Held | None) -> _Held | None:
        side = self._random.choice(("in", "out"))
        if now is None:
            body = {"metadata": {"name": name, "labels": {SIDE: side}}, "data": {"payload": "x" * 200}}
            made = await self._client.create(CONFIG_MAPS, body, namespace=self._namespace)
            return self._record(made["metadata"], before=None, after=side)
        if self._random.random() < 0.25:
            await self._client.delete(
                CONFIG_MAPS, name, namespace=self._namespace, uid=now.uid, propagation="Background"
            )
            self.removed[now.uid] = now.side
            return None
        tick = str(self._random.random())
        patch = {"metadata": {"labels": {SIDE: side}, "annotations": {"tick": tick}}}
        made = await self._client.merge_patch(CONFIG_MAPS, name, patch, namespace=self._namespace)
        return self._record(made["metadata"], before=now.side, after=side)

    def _record(self, metadata: dict[str, str], *, before: str | None, after: str) -> _Held:
        self.log.append(Written(metadata["uid"], int(metadata["resourceVersion"]), before, after))
        return _Held(metadata["uid"], after)

    async def _look_up(self, name: str) -> _Held | None:
        while not self._stopped:
            try:
                found = await self._client.get(CONFIG_MAPS, name, namespace=self._namespace, view=METADATA)
            except NotFound:
                return None
            except SkoupaError:
                await asyncio.sleep(0.05)
                continue
            return _Held(found.metadata.uid, (found.metadata.labels or {})[SIDE])
        return None
