"""What the pages show of a cluster that is looked at from outside: a plan, its Brakes, and the history behind it.

The plan is the one of `skoupa plan`, made anew while somebody looks. In between time passes: what was to come becomes due by
itself. Everything is read with the caller's own rights.
"""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, Final

import msgspec

from skoupa.cli.dashboard.leading import may_run
from skoupa.cli.dashboard.typing_along import TypedHere
from skoupa.cli.installed import Installed, settings_for
from skoupa.cli.looking.alive_part import with_alive
from skoupa.cli.looking.controller_holds import OBSERVES, controller_acts, with_controllers_holds
from skoupa.cli.looking.planning import Plan, Wishes, make_plan
from skoupa.cli.looking.policies_part import PolicyPart
from skoupa.cli.looking.tenants_part import announced as tenants_announced
from skoupa.cli.looking.tenants_part import with_tenants
from skoupa.cli.options import Connecting
from skoupa.cli.remembering.carried import carried_along
from skoupa.cli.remembering.ledgers import LedgerChoice, opened
from skoupa.cli.remembering.recalling import Filters as Recalled
from skoupa.cli.remembering.recalling import recall
from skoupa.cli.terminal.items import PolicyRun
from skoupa.cli.terminal.retention_shapes import RetentionStanding
from skoupa.cli.terminal.times import zone_of
from skoupa.cli.worlds import World
from skoupa.controller.braking.listing import every_brake, named_kinds
from skoupa.controller.braking.look import look
from skoupa.errors import NoController, SkoupaError, Unauthorized, UsageError
from skoupa.judge.brakes import Pulled
from skoupa.kube.discovery import discover
from skoupa.kube.timestamps import whole_seconds
from skoupa.web.dashboard import brakes, overview, remembered
from skoupa.web.dashboard.brakes import Known
from skoupa.web.dashboard.fresh import Fresh
from skoupa.web.dashboard.look import Look
from skoupa.web.dashboard.questions import Filters, Which
from skoupa.web.dashboard.sentences import missing
from skoupa.web.dashboard.shapes import (
    Brakes,
    Mode,
    Objects,
    Overview,
    Policies,
    Remembered,
    ShownPolicy,
    ShownRetained,
    ShownRun,
)

PLAN_SECONDS: Final = 10.0
_BRAKES_SECONDS: Final = 3.0
_HISTORY_SECONDS: Final = 25.0
_NO_HISTORY: Final = "a cluster in files has no history of its own"
_SWITCHED_OFF: Final = "the feature policies is switched off in the settings, so none of them runs"


class Planned(msgspec.Struct, frozen=True, kw_only=True):
    """A plan, and what the controller of that cluster does."""

    plan: Plan
    mode: Mode
    why: str


class PlanBoard:
    """`namespace` empty: all of them. `place` is what is looked at, as it may be shown."""

    def __init__(
        self,
        world: World,
        *,
        namespace: str,
        choice: LedgerChoice,
        connecting: Connecting,
        config: str | None,
        typed: TypedHere,
        place: str,
    ) -> None:
        self._world = world
        self._namespace = namespace
        self._choice = choice
        self._connecting = connecting
        self._config = config
        self._typed = typed
        self._place = place
        self._doing = ""
        clock = world.client.clock
        self._plan = Fresh(self._planned, clock=clock, seconds=PLAN_SECONDS, doing=lambda: self._doing)
        self._brakes = Fresh(self._read_brakes, clock=clock, seconds=_BRAKES_SECONDS)

    def work(self) -> tuple[Coroutine[Any, Any, None], ...]:
        """What has to run beside, for as long as anybody is to be answered."""
        return self._plan.follow(), self._brakes.follow()

    async def overview(self) -> Overview:
        return overview.overview(await self._look())

    async def objects(self, which: Which) -> Objects:
        return overview.objects(await self._look(), which)

    async def brakes(self) -> Brakes:
        known, trouble = await self._brakes.get()
        acts: Mode = "unknown" if self._world.given is None else "files"
        told = brakes.brakes(known, acts=acts, now=self._world.now(), typed=self._typed)
        return msgspec.structs.replace(told, trouble=trouble, made=self._made(self._brakes.age()))

    async def history(self, filters: Filters) -> Remembered:
        if self._choice.ledger is None and self._world.given is not None:
            raise UsageError(_NO_HISTORY, advice="start the dashboard with --ledger, which names one")
        now = self._world.client.clock.now()
        asked = Recalled(
            words=(filters.object,) if filters.object else (),
            namespace=filters.namespace or self._namespace,
            since=filters.since or None,
            until=filters.until or None,
            by_policy=filters.rule or None,
            run=filters.run or None,
            outcomes=(filters.outcome,) if filters.outcome else None,
            limit=filters.limit,
        )
        async with (
            self._world.client.clock.timeout(_HISTORY_SECONDS),
            opened(self._choice, connecting=self._connecting, world=self._world) as source,
        ):
            entries, more = await recall(source, asked, now=now, zone=zone_of(None))
            notes = source.left_out.remarks()
            if "/" in filters.object:
                # What went along with something else has no row of its own.
                company = await carried_along(source, asked, entries, now=now, zone=zone_of(None))
                notes = [*company.remarks(), *notes]
        place = msgspec.structs.replace(filters, namespace=filters.namespace or self._namespace)
        return remembered.remembered(entries, place, now=now, more=more, notes=notes, typed=self._typed)

    async def policies(self) -> Policies:
        planned, trouble = await self._plan.get()
        runs = planned.plan.policies
        return Policies(
            now=whole_seconds(self._world.now()),
            made=self._made(self._plan.age()),
            trouble=trouble,
            items=(*map(_shown, runs or ()), *map(_retained, planned.plan.retention)),
            notes=(_SWITCHED_OFF,)
            if runs is None and not planned.plan.retention
            else tuple(missing(planned.plan.gaps)),
            command=self._typed(("plan", *(("-n", self._namespace) if self._namespace else ("-A",)))),
        )

    async def _look(self) -> Look:
        planned, trouble = await self._plan.get()
        plan = planned.plan
        # The page says it in its own words.
        said = OBSERVES.format(plan.survey.knowledge.settings.lease.namespace)
        return Look(
            now=self._world.now(),
            made=self._made(self._plan.age()),
            mode=planned.mode,
            mode_why=planned.why,
            place=self._place,
            namespace=self._namespace,
            findings=plan.findings,
            remarks=plan.remarks,
            gaps=plan.gaps,
            warnings=[warning for warning in plan.warnings if warning != said],
            trouble=trouble,
            announced=(
                *((plan.alive.text,) if plan.alive is not None and plan.alive.text else ()),
                *tenants_announced(plan),
            ),
            typed=self._typed,
        )

    def _made(self, age: float) -> str:
        """When what is shown was read; files are always of the time that it is there."""
        return "" if self._world.given is not None else whole_seconds(self._world.now() - age)

    async def _planned(self) -> Planned:
        found = await settings_for(self._world, self._config)
        settings = found.settings
        plan = await make_plan(
            self._world,
            settings=settings,
            wishes=Wishes(namespace=self._namespace),
            window=lambda _: None,
            progress=self._progress,
            trash_known=found.known,
            policies=PolicyPart(settings) if settings.features.policies else None,
            # Who looks need not be able to delete; what the controller may not, it says itself.
            own_rights=bool(self._world.as_user),
        )
        if found.doubt:
            plan.warnings.append(found.doubt)
        plan = await with_tenants(self._world, await with_alive(self._world, plan))
        home = self._choice.home or settings.lease.namespace
        plan = await with_controllers_holds(self._world, plan, home=home, token_file=self._choice.token_file)
        mode, why = await self._mode(found, home)
        return Planned(plan=plan, mode=mode, why=why)

    async def _mode(self, found: Installed, home: str) -> tuple[Mode, str]:
        if self._world.given is not None:
            return "files", ""
        by_settings: Mode = "acts" if found.settings.mode == "enforce" else "observes"
        if found.known and found.settings.api.address == "none":
            return by_settings, ""
        try:
            acts = await controller_acts(self._world, home=home, token_file=self._choice.token_file)
        except NoController as error:
            elsewhere = await may_run(self._world, found.settings, home=home)
            return ("unknown", elsewhere) if elsewhere else ("absent", error.message)
        except Unauthorized as error:
            # It is there, and its settings can be read: that it was shown no token changes neither.
            return (by_settings, "") if found.known else ("unknown", error.message)
        except SkoupaError as error:
            return "unknown", error.message
        return acts, ""

    async def _read_brakes(self) -> Known:
        client = self._world.client
        try:
            found = await every_brake(client)
        except UsageError as error:
            return Known(found=(), absent=str(error), pulled=await self._without_the_kind())
        return Known(found=found, kinds=await named_kinds(client, found))

    async def _without_the_kind(self) -> Pulled | None:
        """What holds all the same, as far as the cluster tells: Brakes that were here once and can't be read any more."""
        if self._world.given is not None:
            return None
        found = await settings_for(self._world, self._config)
        home = self._choice.home or found.settings.lease.namespace
        looked = await look(self._world.client, await discover(self._world.client), home=home)
        return looked.pulled if looked.everybody else None

    def _progress(self, text: str) -> None:
        self._doing = text


def _shown(run: PolicyRun) -> ShownPolicy:
    last = run.last_run
    return ShownPolicy(
        kind=run.kind,
        namespace=run.namespace,
        name=run.name,
        schedule=run.schedule,
        words=run.words,
        zone=run.zone,
        last_run=None if last is None else ShownRun(**msgspec.structs.asdict(last)),
        next_run=run.next_run,
        suspended=run.suspended,
        observed_until=run.observed_until,
        ahead=run.looked_at,
        matched=run.matched,
        would_go=run.would_go,
        held=run.held,
        unclear=run.unclear,
        would_brake=run.would_brake,
        problems=run.problems,
        cautions=run.cautions,
    )


def _retained(one: RetentionStanding) -> ShownPolicy:
    return ShownPolicy(
        kind=one.kind,
        namespace=one.namespace,
        name=one.name,
        schedule="",
        words="",
        zone="",
        last_run=None,
        next_run=None,
        suspended=one.suspended,
        observed_until=None,
        matched=one.matched,
        would_go=one.due,
        would_brake=one.would_brake,
        problems=one.problems,
        cautions=one.cautions,
        retained=ShownRetained(
            says=", ".join(f"{moment} {time}" for moment, time in one.after.items()),
            matched=one.matched,
            waiting=one.to_come,
            held=sum(one.stays.values()),
            deleted=None,
            next_time=one.next_time,
        ),
    )
