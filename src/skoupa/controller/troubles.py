"""What goes wrong beside single objects, told in the log each time that it changes.

Looks around every second: errors of the parts that work beside the engine, what is done in a poorer way for lack of
rights, settings that may not mean what they say, kinds that can't be read, what the first sweep waits for, and how many
deletes keep failing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from skoupa.clock import Clock
from skoupa.controller.backlogs.accept_once import ACCEPTING
from skoupa.controller.engine import Engine
from skoupa.controller.sight.feed_troubles import FeedTroubles
from skoupa.controller.sight.group_troubles import GroupTroubles
from skoupa.errors import NotFound
from skoupa.report.log import Log
from skoupa.settings import Settings

LOOK_SECONDS: Final = 1.0
# How often at most it is said how many deletes fail; and how often while nothing about it changes.
FAILING_SECONDS: Final = 60.0
FAILING_REMINDER_SECONDS: Final = 3600.0
HANGING_REMINDER_SECONDS: Final = 3600.0
NAMED_PLACES: Final = 20
ACCEPTED_NEXT: Final = (
    "it counts once: take acceptBacklog (--accept-backlog) out, what is found later is held again"
)
OBSERVED_NEXT: Final = f"nothing is accepted while observing, and a start without acceptBacklog holds them: {ACCEPTING} accepts them"


class Troubles:
    """`errors` are those of the parts beside the engine, by name, None where there is none.

    `standing_by`: another replica deletes, and tells what fails.
    """

    def __init__(
        self,
        engine: Engine,
        *,
        clock: Clock,
        log: Log,
        errors: Callable[[], Mapping[str, object]],
        standing_by: Callable[[], bool],
        settings: Settings,
    ) -> None:
        self._engine = engine
        self._clock = clock
        self._log = log
        self._errors = errors
        self._standing_by = standing_by
        self._settings = settings
        ignored = settings.cascade.ignore_kinds
        self._feeds = FeedTroubles(clock, log, ignored=ignored)
        self._groups = GroupTroubles(clock, log, ignored=ignored)
        self._awaited = ""
        self._accepted = False
        self._told: dict[str, str] = {}
        self._degraded: set[str] = set()
        self._doubted: set[str] = set()
        self._protection = engine.outlook.doubts
        # How many deletes failed and why, as it was last told.
        self._failing: tuple[int, str] = (0, "")
        self._failing_told_at = 0.0
        self._failing_at = clock.monotonic() + FAILING_SECONDS
        self._failed_before = False
        # Where deletes hang, and when that was told.
        self._hung: dict[str, float] = {}
        self._hanging_at = 0.0

    async def run(self) -> None:
        while True:
            await self._clock.sleep(LOOK_SECONDS)
            self._tell_errors()
            self._tell_degraded()
            if self._engine.feeds is not None:
                self._feeds.tell(self._engine.feeds)
                self._groups.tell(self._engine.feeds.untold)
            self._tell_awaited()
            self._tell_accepted()
            for event, facts in self._engine.braking.beside_kyverno.news():
                self._log(event, level="warning" if self._settings.mode == "enforce" else "info", **facts)
            self._tell_doubts()
            self._tell_hanging()
            self._tell_failing()

    def _tell_errors(self) -> None:
        for what, error in self._errors().items():
            said = str(error) if error is not None else ""
            if what == "lease" and isinstance(error, NotFound):
                # Without it nobody ever leads, and nothing is deleted.
                home = self._settings.lease.namespace
                said += f"; nothing is deleted before the namespace {home} exists: create it, run "
                said += "`skoupa install | kubectl apply -f -`, or set lease.namespace"
            if said and self._told.get(what) != said:
                self._log("trouble", level="warning", what=what, error=said)
            self._told[what] = said

    def _tell_awaited(self) -> None:
        """Why nothing goes at a start, although everything else works."""
        awaited = self._engine.first_look.awaited
        kinds, until = awaited or ("", 0.0)
        if kinds and kinds != self._awaited:
            self._log(
                "nothing goes yet",
                level="warning",
                why=f"what is overdue is counted before the first sweep, and these can't be read: {kinds}",
                next=f"goes on without them in {max(0.0, until - self._clock.monotonic()):.0f} s at the latest",
            )
        self._awaited = kinds

    def _tell_accepted(self) -> None:
        accepted = self._engine.first_look.accepted
        if accepted is None or self._accepted:
            return
        self._accepted = True
        event, then = "backlog accepted", ACCEPTED_NEXT
        if self._settings.mode != "enforce":
            event, then = "backlog would be accepted", OBSERVED_NEXT
        self._log(event, objects=accepted, by="acceptBacklog", next=then)

    def _tell_degraded(self) -> None:
        degraded = set(self._engine.outlook.degraded)
        for said in sorted(degraded - self._degraded):
            self._log("degraded", level="warning", why=said)
        for said in sorted(self._degraded - degraded):
            self._log("not degraded any more", was=said)
        self._degraded = degraded

    def _tell_doubts(self) -> None:
        named = {*self._engine.outlook.setting_doubts, *filter(None, [self._engine.first_look.doubt])}
        for said in sorted(named - self._doubted):
            self._log("setting in doubt", level="warning", why=said)
        self._doubted = named
        if self._protection is not self._engine.outlook.doubts:
            self._protection = self._engine.outlook.doubts
            for doubt in self._protection:
                self._log("protection in doubt", level="warning", why=doubt)

    def _tell_hanging(self) -> None:
        """Marks come and go while some answers are quick: a place is named once an hour, and all that are new in one line."""
        now = self._clock.monotonic()
        self._hung = {place: at for place, at in self._hung.items() if now - at < HANGING_REMINDER_SECONDS}
        news = [place for place in self._engine.sweeper.hanging.places if place not in self._hung]
        if not news or now < self._hanging_at:
            return
        self._hanging_at = now + FAILING_SECONDS
        self._hung |= dict.fromkeys(news, now)
        more = f" and {len(news) - NAMED_PLACES} more" if len(news) > NAMED_PLACES else ""
        self._log(
            "deletes hang",
            level="warning",
            where=", ".join(news[:NAMED_PLACES]) + more,
            so="only a few at a time are tried there until one is answered quickly; everything else goes on",
            advice="look for an admission webhook or an API service that does not answer",
        )

    def _tell_failing(self) -> None:
        """Each object said it once: this says that there are still some, and how many."""
        now = self._clock.monotonic()
        if now < self._failing_at:
            return
        self._failing_at = now + FAILING_SECONDS
        found = (0, "") if self._standing_by() else self._engine.sweeper.memory.fails()
        repeat = now - self._failing_told_at >= FAILING_REMINDER_SECONDS
        if found[0] and self._failed_before and (found != self._failing or repeat):
            self._log("still failing", level="warning", objects=found[0], mostly=found[1], next="tried again")
            self._failing, self._failing_told_at = found, now
        elif not found[0] and self._failing[0]:
            self._log("nothing fails any more")
            self._failing = found
        self._failed_before = found[0] > 0
