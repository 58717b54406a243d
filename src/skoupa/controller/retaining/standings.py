"""Since when each labelled object is free: needed by nobody, and ended where its kind ends.

Whoever sees one become free writes that on it, once; whoever sees it needed, or at work again, takes that off. What nobody can tell at
the moment changes nothing. A moment is that of now, unless this process watched the object from before it ended and nothing needed it
since: then it is that of its end. Whatever is written on an object, it counts from no earlier than this process last saw it not free.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from enum import Enum
from typing import Any, Final, Protocol

from skoupa.clock import Clock
from skoupa.controller.retaining.labelled import Labelled
from skoupa.expr.readings import Problem
from skoupa.expr.ttl_after import TtlAfter
from skoupa.facts.rows import Row, Uid
from skoupa.judge.protection import own
from skoupa.judge.retention import Evidence
from skoupa.usage.finishing import Doubt, Ends, Finish
from skoupa.usage.needs import Answer, Needed, Unknown, Unneeded

# Marks are whole seconds.
_GRAIN_SECONDS: Final = 1.0
# What could not be written within this time is written as of then.
_OLD_SECONDS: Final = 60.0


class Standing(Enum):
    NOT_KNOWN = "not known"
    NEEDED = "needed"
    AT_WORK = "at work"
    FREE = "free"


class _State:
    """`since` is when it became free, `floor` when it was last seen not to be; `ran`: it was seen at work before.

    `certain` is from when on it is known without a gap that nothing needs it. `marked`: since it is free a mark was seen on it.
    """

    __slots__ = ("certain", "floor", "marked", "ran", "since", "standing", "told")

    def __init__(self) -> None:
        self.standing = Standing.NOT_KNOWN
        self.since = 0.0
        self.floor = -math.inf
        self.certain = math.inf
        self.ran = False
        self.marked = False
        self.told: Any = None


class Marking(Protocol):
    def want(self, uid: Uid, moment: float | None) -> None:
        """None: there is to be no mark."""

    def is_settled(self, row: Row) -> bool:
        """Whether what was last written is known to be so."""

    def mark(self, row: Row, now: float) -> float | None:
        """What is written, where that can be meant."""

    def is_marked(self, row: Row) -> bool: ...

    def forget(self, uid: Uid) -> None: ...


class Standings:
    """`on_news` hears of those that have to be judged anew.

    `wished` are the times that count for an object; `timeless`: it goes by none, so that its moment need not be written.
    """

    def __init__(
        self,
        clock: Clock,
        labelled: Labelled,
        *,
        evidence: Callable[[], Evidence],
        marking: Marking,
        wished: Callable[[Row], TtlAfter | Problem | None],
        timeless: Callable[[Row], bool],
        on_news: Callable[[Iterable[Uid]], None],
    ) -> None:
        self._clock = clock
        self._labelled = labelled
        self._evidence = evidence
        self._marking = marking
        self._wished = wished
        self._timeless = timeless
        self._on_news = on_news
        self._states: dict[Uid, _State] = {}
        # Free, and without the mark that it should have; or with one that it should not have.
        self.unsettled: set[Uid] = set()

    def begin(self, uid: Uid) -> None:
        """Somebody wishes from now on that it goes: its time counts from no earlier, whatever is written on it."""
        self._states.setdefault(uid, _State()).floor = self._clock.now()

    def forget(self, uid: Uid) -> None:
        self._states.pop(uid, None)
        self.unsettled.discard(uid)
        self._marking.forget(uid)

    def since(self, row: Row, now: float) -> float | None:
        """None: its time has not begun, as far as is written down."""
        mark, state = self._marking.mark(row, now), self._states.get(row.uid)
        if mark is None and self._timeless(row) and state is not None and state.standing is Standing.FREE:
            mark = state.since
        if mark is None or state is None:
            return mark
        return max(mark, state.floor)

    def look(self, uids: Iterable[Uid]) -> None:
        """What is known of these may be another than before."""
        news = [uid for uid in uids if (row := self._labelled.get(uid)) is not None and self._look(row)]
        if news:
            self._on_news(news)

    def _look(self, row: Row) -> bool:
        """Whether it has to be judged anew."""
        after = self._wished(row)
        if after is None or isinstance(after, Problem) or own(row) or row.deleted_at:
            self.forget(row.uid)
            return False
        evidence, now = self._evidence(), self._clock.now()
        needs, finish = evidence.needs(row), evidence.finish(row)
        must_end = after.on_finish or evidence.ends(row) is Ends.BY_RULE
        state = self._states.setdefault(row.uid, _State())
        if isinstance(needs, Needed):
            standing = Standing.NEEDED
        elif must_end and finish is None:
            standing = Standing.AT_WORK
        elif not isinstance(needs, Unneeded) or (must_end and isinstance(finish, Doubt)):
            standing = Standing.NOT_KNOWN
        else:
            standing = Standing.FREE
        if isinstance(needs, Unneeded):
            state.certain = min(state.certain, now)
        else:
            state.certain = math.inf
        self._stand(state, standing, finish if isinstance(finish, Finish) else None, row, now)
        self._mark(state, standing, row, now)
        # While it is not free its floor rises with each look, and means nothing yet.
        moments = (state.since, state.floor) if standing is Standing.FREE else ()
        told = (standing, moments, _gist(needs), finish)
        if told == state.told:
            return False
        state.told = told
        return True

    def _stand(self, state: _State, standing: Standing, finish: Finish | None, row: Row, now: float) -> None:
        if standing is Standing.NOT_KNOWN:
            # It may be what it was, or not: the next that is known decides.
            return
        before, state.standing = state.standing, standing
        if standing is not Standing.FREE:
            state.marked = False
            state.ran = state.ran or standing is Standing.AT_WORK
            state.floor = now
        elif before is not Standing.FREE:
            ended = finish.at.timestamp() if finish is not None and finish.at is not None else math.inf
            watched = state.ran and state.certain <= ended <= now
            state.since = max(ended if watched else now, float(row.created))
            state.ran = False
            if before is not Standing.NOT_KNOWN:
                state.floor = state.since

    def _mark(self, state: _State, standing: Standing, row: Row, now: float) -> None:
        """Only on transitions, and where what is written can't be meant."""
        if standing is Standing.NOT_KNOWN or not self._marking.is_settled(row):
            return
        if standing is Standing.FREE and self._timeless(row):
            return
        wanted: float | None = None
        if standing is Standing.FREE:
            mark = self._marking.mark(row, now)
            if mark is not None and mark >= state.floor - _GRAIN_SECONDS:
                state.marked = True
                self.unsettled.discard(row.uid)
                return
            if state.marked or now - state.since > _OLD_SECONDS:
                # Somebody took it off, wrote what can't be meant, or nobody could write it for long: the time starts anew.
                state.since = state.floor = now
            wanted = state.since
        elif not self._marking.is_marked(row):
            self.unsettled.discard(row.uid)
            return
        self.unsettled.add(row.uid)
        self._marking.want(row.uid, wanted)


def _gist(needs: Answer | None) -> object:
    """What is to be told anew when it changes: not why something could not be read."""
    return tuple(one.kind for one in needs.unread) if isinstance(needs, Unknown) else needs
