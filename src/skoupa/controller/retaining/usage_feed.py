"""Follows one kind into the usage graph, and knows how good that knowledge is.

A new list is a swap: what it brings counts at once, what it does not bring leaves when it is complete, so that nothing looks unused
in between. While the first list is not complete, the watch is behind, or an object could not be read, `doubt` says so: then nobody
knows what else points where.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import aclosing
from typing import Any, Final, Protocol

import msgspec

from skoupa.errors import SkoupaError
from skoupa.facts.rows import Uid, pack_uid
from skoupa.kube import watch, watched
from skoupa.kube.client import Client
from skoupa.kube.decoding import Undecodable
from skoupa.kube.lines import Change
from skoupa.kube.lists import EVERYWHERE, Scope
from skoupa.kube.objects import View
from skoupa.kube.resources import Resource

NOT_READ_YET: Final = "not read yet"
_GONE_KEPT: Final = 1000


class Sink(Protocol):
    """Where what is read goes. `followed`: a watch told of it, change by change. To put the same once more changes nothing."""

    def put(self, resource: Resource, items: Sequence[Any], *, followed: bool) -> list[Uid]: ...

    def remove(self, uid: Uid, *, followed: bool) -> None: ...


class UsageFeed:
    """`on_health` hears that what is not known may be another than before."""

    def __init__(
        self,
        client: Client,
        resource: Resource,
        *,
        view: View[Any],
        sink: Sink,
        on_health: Callable[[], None],
        scope: Scope = EVERYWHERE,
    ) -> None:
        self._client = client
        self.resource = resource
        self.view = view
        self.scope = scope
        self._sink = sink
        self._on_health = on_health
        self._seen: set[Uid] = set()
        self._arriving: set[Uid] | None = None
        # The last that a watch told the end of: who read one of them beside it may come too late with that.
        self._gone: dict[Uid, None] = {}
        self._unreadable: dict[str, Undecodable] = {}
        # Before the list that is under way, which may still bring them.
        self._unreadable_before: dict[str, Undecodable] = {}
        self._left = False
        self.synced = False
        self.error: SkoupaError | None = None

    def __len__(self) -> int:
        return len(self._seen)

    @property
    def awaited(self) -> bool:
        """Its first list is under way, and nothing is wrong with it."""
        return not self.synced and self.error is None

    @property
    def doubt(self) -> str:
        """Why objects may be there that nobody knows, or known ones be others; empty: all are known."""
        if self.error is not None:
            return self.error.brief
        if not self.synced:
            return NOT_READ_YET
        if unreadable := self._unreadable_before | self._unreadable:
            bad = next(iter(unreadable.values()))
            return f"{len(unreadable)} of them can't be understood, {bad.name}: {bad.why}"
        return ""

    @property
    def _health(self) -> tuple[str, bool]:
        """Of a kind of which there is no object it does not matter how well it can be read."""
        return self.doubt, bool(self._seen)

    async def run(self) -> None:
        """For ever."""
        events = watch.watch(self._client, self.resource, self.view, scope=self.scope)
        async with aclosing(events):
            async for event in events:
                if self._left:
                    return
                before = self._health
                self._take(event)
                if self._health != before or isinstance(event, watched.Synced):
                    self._on_health()

    def leave(self) -> None:
        """Nobody follows it any more: what it brought is not known any more, and what it still brings may be read by other tables."""
        self._left = True
        self._lose([*self._seen, *(self._arriving or ())], followed=False)
        self._seen, self._arriving = set(), None

    def learn(self, item: Any) -> None:
        """A newer state that was read beside the watch, which will tell of its end, or has just done so."""
        if pack_uid(_uid_of(item)) not in self._gone and not self._left:
            before = self._health
            self._put((item,), self._seen, followed=True)
            if self._health != before:
                self._on_health()

    def _put(self, items: Sequence[Any], seen: set[Uid], *, followed: bool) -> None:
        """One that is no object as servers send them is as good as one that did not arrive, and costs no other."""
        try:
            seen.update(self._sink.put(self.resource, items, followed=followed))
        except (msgspec.ValidationError, KeyError, TypeError, ValueError, RecursionError) as error:
            if len(items) == 1:
                uid = _uid_of(items[0])
                self._note((Undecodable(name=uid, uid=uid, why=str(error)),))
                return
            for item in items:
                self._put((item,), seen, followed=followed)

    def _take(self, event: watched.WatchEvent[Any]) -> None:
        match event:
            case watched.Begun():
                self._lose((self._arriving or set()) - self._seen, followed=False)
                self._unreadable_before |= self._unreadable
                self._arriving, self._unreadable = set(), {}
            case watched.Listed(objects, undecodable):
                assert self._arriving is not None, "a list brings objects after it began"
                self._note(undecodable)
                self._put(objects, self._arriving, followed=False)
            case watched.Synced():
                assert self._arriving is not None, "a list is complete after it began"
                gone, self._seen, self._arriving = self._seen - self._arriving, self._arriving, None
                self._lose(gone, followed=False)
                self.synced, self.error = True, None
                self._unreadable_before = {}
            case watched.Changed(changes, undecodable):
                self.error = None
                self._note(undecodable)
                for change in changes:
                    self._change(change)
            case watched.Interrupted(error, _):
                self.error = error
            case watched.Progressed() | watched.Resumed():
                self.error = None
            case watched.Reread():
                # Only asked for by who has something to miss.
                return

    def _change(self, change: Change[Any]) -> None:
        uid = _uid_of(change.object)
        self._unreadable.pop(uid, None)
        self._unreadable_before.pop(uid, None)
        if change.deleted:
            self._end(uid)
        else:
            self._put((change.object,), self._seen, followed=True)

    def _end(self, uid: str) -> None:
        self._gone[pack_uid(uid)] = None
        if len(self._gone) > _GONE_KEPT:
            del self._gone[next(iter(self._gone))]
        self._seen.discard(pack_uid(uid))
        self._lose((pack_uid(uid),), followed=True)

    def _note(self, undecodable: Iterable[Undecodable]) -> None:
        for bad in undecodable:
            if bad.gone and bad.uid:
                self._unreadable.pop(bad.uid, None)
                self._unreadable_before.pop(bad.uid, None)
                self._end(bad.uid)
            else:
                self._unreadable[bad.uid or bad.name] = bad

    def _lose(self, uids: Iterable[Uid], *, followed: bool) -> None:
        for uid in list(uids):
            self._sink.remove(uid, followed=followed)


def _uid_of(item: Any) -> str:
    if isinstance(item, dict):
        return str((item.get("metadata") or {}).get("uid", ""))
    uid: str = item.metadata.uid
    return uid
