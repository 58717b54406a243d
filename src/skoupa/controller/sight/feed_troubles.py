"""Kinds that can't be read for longer than a moment, told once for all that share a trouble, and again when it is over.

A watch that breaks and stands again within seconds is nobody's business, and a server that restarts is one line, not one
for each kind. Without a line a kind that is never read would look like a kind of which nothing is due. Nothing here
decides: what is not known holds elsewhere. Rights that were lost are remembered by `unseen` and told here.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from typing import Final

import msgspec

from skoupa.clock import Clock
from skoupa.controller.sight.blind_kinds import sees_kept, timed
from skoupa.controller.sight.ever_read import Place
from skoupa.controller.sight.feeds import Feeds
from skoupa.controller.sight.group_troubles import LASTING_SECONDS, NOT_SEEN
from skoupa.errors import ApiError, Forbidden, Gone, NotFound
from skoupa.facts.feeds import Feed
from skoupa.judge.cascade import waived
from skoupa.kube.resources import NAMESPACES
from skoupa.report.log import Log

# What is refused makes kinds and rights be asked for anew, once a minute at least, which explains it better.
REFUSED_SECONDS: Final = 90.0
# Watches that break together do not do so in the same instant.
ALONG_SECONDS: Final = 1.0
# They come back one by one, each when it tries again.
WELL_SECONDS: Final = 60.0
NAMED_KINDS: Final = 60
NAMED_OBJECTS: Final = 5
NAMED_WAIVERS: Final = 3

# A kind's plural with its group, the namespace, the selector.
Key = tuple[str, str, str]


class Trouble(msgspec.Struct):
    """`what` stays the same while only the words change; times are those of the clock that never jumps."""

    what: str
    since: float
    what_since: float
    told: str = ""


class FeedTroubles:
    """`ignored` are the kinds of `cascade.ignoreKinds`."""

    def __init__(self, clock: Clock, log: Log, *, ignored: Collection[str]) -> None:
        self._clock = clock
        self._log = log
        self._ignored = ignored
        self._troubles: dict[Key, Trouble] = {}
        # Told as in trouble and well again: since when, and what was told.
        self._well: dict[Key, tuple[float, str]] = {}

    def tell(self, feeds: Feeds) -> None:
        """Says what is new since it was last called; meant to be called every second or so."""
        now = self._clock.monotonic()
        open_now = {_key(feed): feed for feed in feeds}
        self._look(open_now, now)
        self._tell_troubles(open_now, now)
        self._tell_well(open_now, now)
        self._tell_lost(feeds)

    def _look(self, open_now: dict[Key, Feed], now: float) -> None:
        # What is closed is not wanted, not there, or not allowed any more: others tell that.
        self._troubles = {key: found for key, found in self._troubles.items() if key in open_now}
        self._well = {key: found for key, found in self._well.items() if key in open_now}
        for key, feed in open_now.items():
            what = _what(feed)
            known = self._troubles.get(key)
            if what and known is None:
                told = self._well.pop(key, (0.0, ""))[1]
                self._troubles[key] = Trouble(what=what, since=now, what_since=now, told=told)
            elif known is not None and not what:
                del self._troubles[key]
                if known.told:
                    self._well[key] = (now, known.told)
            elif known is not None and known.what != what and not isinstance(feed.health.error, Gone):
                # A list that has to be read anew is how a watch comes back, and no other trouble.
                known.what, known.what_since = what, now

    def _tell_troubles(self, open_now: dict[Key, Feed], now: float) -> None:
        news = {key: one for key, one in self._troubles.items() if one.told != one.what}
        lasting = {one.what for key, one in news.items() if _lasts(one, open_now[key], now)}
        groups: defaultdict[tuple[str, str], list[Feed]] = defaultdict(list)
        told = {one.told for one in self._troubles.values()}
        for key, one in news.items():
            if one.told and one.what in told:
                # Feeds try again at their own times, so they learn of a change that was told one after the other.
                one.told = one.what
                continue
            # One whose trouble changed has to show that the new one lasts, too.
            along = _lasts(one, open_now[key], now) if one.told else now - one.since >= ALONG_SECONDS
            if one.what in lasting and along:
                groups[_event(open_now[key]), one.what].append(open_now[key])
                one.told = one.what
        for (event, _), group in groups.items():
            why = Counter(map(_words, group)).most_common(1)[0][0]
            self._log(
                event,
                level="warning",
                kinds=_named(group),
                why=why,
                so="; ".join(_effects(group, self._ignored)),
            )

    def _tell_well(self, open_now: dict[Key, Feed], now: float) -> None:
        """All at once when the last of them is well, or those that are when that takes long."""
        if not self._well:
            return
        over = not any(one.told for one in self._troubles.values())
        if over or now - min(since for since, _ in self._well.values()) >= WELL_SECONDS:
            # A kind may be read by two selectors, and is well when both are.
            ill = {_place(open_now[key]) for key, one in self._troubles.items() if one.told}
            well = [open_now[key] for key in self._well if _place(open_now[key]) not in ill]
            if well:
                self._log("can be read again", kinds=_named(well))
            self._well.clear()

    def _tell_lost(self, feeds: Feeds) -> None:
        lost, back = feeds.unseen.news()
        if lost:
            self._log(
                "can't be read any more",
                level="warning",
                kinds=", ".join(sorted(str(one.place) for one in lost)),
                why=lost[0].why,
                objects=sum(one.known for one in lost),
                advice="grant it again; until then what is due there stays, and changes are not seen",
            )
        if back:
            self._log("can be read again", kinds=", ".join(sorted(map(str, back))))


def unreadable(feeds: Feeds, *, blind: Iterable[str]) -> str:
    """All kinds of which something can't be read, for whatever reason and whoever wants it, by name."""
    return ", ".join(sorted({*blind, *feeds.unreadable_kinds()}))


def _key(feed: Feed) -> Key:
    return (feed.resource.qualified, feed.scope.namespace, feed.scope.labels)


def _place(feed: Feed) -> str:
    return str(Place(feed.resource, feed.scope.namespace))


def _what(feed: Feed) -> str:
    health = feed.health
    if health.synced_at is not None and health.behind_since is None:
        return "not understood" if health.unreadable else ""
    if health.error is None:
        return "no answer"
    return str(health.error.code) if isinstance(health.error, ApiError) else "no connection"


def _lasts(trouble: Trouble, feed: Feed, now: float) -> bool:
    refused = isinstance(feed.health.error, Forbidden | NotFound)
    since = trouble.what_since if trouble.told else trouble.since
    return now - since >= (REFUSED_SECONDS if refused else LASTING_SECONDS)


def _event(feed: Feed) -> str:
    if feed.health.synced_at is None:
        return "can't be read"
    return "can't be followed" if feed.health.behind_since is not None else "can't be understood"


def _words(feed: Feed) -> str:
    health = feed.health
    if health.error is not None:
        return (isinstance(health.error, ApiError) and health.error.status.message) or health.error.message
    if not health.unreadable:
        return "the server has not answered yet"
    some = ", ".join(f"{bad.namespace}/{bad.name}".strip("/") for bad in health.unreadable[:NAMED_OBJECTS])
    return f"{len(health.unreadable)} of them can't be understood ({some}): {health.unreadable[0].why}"


def _named(feeds: Iterable[Feed]) -> str:
    found = sorted(set(map(_place, feeds)))
    more = len(found) - NAMED_KINDS
    return ", ".join(found[:NAMED_KINDS]) + (f" and {more} more" if more > 0 else "")


def _effects(feeds: Collection[Feed], ignored: Collection[str]) -> Iterable[str]:
    """What follows from it, in the order of how much it concerns."""
    if any(feed.resource.qualified == NAMESPACES.qualified for feed in feeds):
        yield "everything due in namespaces is held, because their keep labels are not known"
    some = timed(feeds)
    if any(feed.health.synced_at is None for feed in some):
        yield NOT_SEEN
    elif some:
        yield "what changed there since is not seen"
    blind = [feed for feed in feeds if sees_kept(feed) and not waived(feed.resource, ignored)]
    if blind:
        yield f"{_held_for(blind)} ({_waiver(blind)})"


def _held_for(blind: Iterable[Feed]) -> str:
    """As the Judge has it: a kind that may be read and is not holds whatever could own one of it."""
    granted = [feed.resource for feed in blind if feed.health.synced_at is not None or not _forbidden(feed)]
    if not granted:
        return "what might take kept ones of them along is held"
    all_of_it = any(resource.namespaced for resource in granted)
    which = "that is due" if all_of_it else "due that lives in no namespace"
    return f"everything {which} is held, because it could own a kept one of them"


def _waiver(blind: Iterable[Feed]) -> str:
    kinds = sorted({feed.resource.qualified for feed in blind})
    if len(kinds) > NAMED_WAIVERS:
        return "cascade.ignoreKinds waives that"
    return f"{' and '.join(kinds)} in cascade.ignoreKinds waives that"


def _forbidden(feed: Feed) -> bool:
    return isinstance(feed.health.error, Forbidden)
