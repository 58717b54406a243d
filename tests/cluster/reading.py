"""A second opinion on a watch: builds the picture from its events in the plainest way and checks the contract.

It shares no code with the store. `flaws` are sentences about what a reader must never see: objects outside of a list,
changes inside of one, versions that go backwards, a change that was told before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from contextlib import aclosing

from skoupa.errors import SkoupaError
from skoupa.kube import watch, watched
from skoupa.kube.client import Client
from skoupa.kube.following import Patience
from skoupa.kube.lists import Scope
from skoupa.kube.objects import METADATA, Partial
from skoupa.kube.resources import CONFIG_MAPS
from tests.cluster.writing import Written

Picture = dict[str, tuple[str, int]]


def picture_of(objects: Iterable[Partial]) -> Picture:
    return {
        found.metadata.uid: (found.metadata.name, int(found.metadata.resource_version)) for found in objects
    }


class Reader:
    def __init__(self) -> None:
        self.picture: Picture = {}
        self.first: Picture = {}
        self.told: Counter[tuple[str, int, bool]] = Counter()
        self.version = 0
        self.lists = 0
        # What happened in (after, up to) was told as the result of a list, not change by change.
        self.gaps: list[tuple[int, int]] = []
        self.errors: list[SkoupaError] = []
        self.flaws: list[str] = []
        self._arriving: Picture | None = None

    async def follow(self, client: Client, *, scope: Scope, patience: Patience) -> None:
        async with aclosing(
            watch.watch(client, CONFIG_MAPS, METADATA, scope=scope, patience=patience, page_size=50)
        ) as events:
            async for event in events:
                self.take(event)

    def take(self, event: watched.WatchEvent[Partial]) -> None:
        match event:
            case watched.Begun():
                self._arriving = {}
            case watched.Listed(objects, undecodable):
                self._check(self._arriving is not None, "objects were listed outside of a list")
                self._check(not undecodable, f"unreadable: {undecodable}")
                self._arriving = {**(self._arriving or {}), **picture_of(objects)}
            case watched.Synced(version):
                self._check(self._arriving is not None, "a list ended that never began")
                self._check(int(version) >= self.version, f"a list of {version} after {self.version}")
                self.picture, self._arriving = self._arriving or {}, None
                self.first = self.first if self.lists else dict(self.picture)
                self.gaps.append((self.version, int(version)))
                self.version = int(version)
                self.lists += 1
            case watched.Changed(changes, undecodable):
                self._check(self._arriving is None and self.lists > 0, "a change came inside of a list")
                self._check(not undecodable, f"unreadable: {undecodable}")
                for change in changes:
                    self._change(change.object, deleted=change.deleted)
            case watched.Progressed(version):
                self._check(int(version) >= self.version, f"a bookmark of {version} after {self.version}")
                self.version = int(version)
            case watched.Interrupted(error, _):
                self.errors.append(error)

    def _change(self, found: Partial, *, deleted: bool) -> None:
        uid, version = found.metadata.uid, int(found.metadata.resource_version)
        self._check(version > self.version, f"a change of {version} after {self.version}")
        self.version = version
        self.told[uid, version, deleted] += 1
        if deleted:
            self._check(uid in self.picture, f"{found.metadata.name} went and was not there")
            self.picture.pop(uid, None)
        else:
            self.picture[uid] = (found.metadata.name, version)

    def _check(self, holds: bool, flaw: str) -> None:  # noqa: FBT001 - reads as an assertion
        if not holds:
            self.flaws.append(flaw)

    def twice(self) -> list[tuple[str, int, bool]]:
        return [change for change, times in self.told.items() if times > 1]

    def missed(self, log: Iterable[Written], *, selected: bool) -> list[Written]:
        """Recorded changes that were neither told nor covered by a list."""
        return [
            written
            for written in log
            if written.seen(selected=selected)
            and not any(low < written.version <= high for low, high in self.gaps)
            and not self.told[
                written.uid, written.version, selected and written.before == "in" and written.after == "out"
            ]
        ]
