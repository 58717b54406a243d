"""What will go, when and why: the answer behind `plan` and `sweep`, before anybody renders it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal

import msgspec

from skoupa.cli.looking.backlogs import PERHAPS, held_backlogs
from skoupa.cli.looking.candidates import candidates, order
from skoupa.cli.looking.labelled_needs import ControllerAlone, parted, told_waiting
from skoupa.cli.looking.policies_part import PolicyPart
from skoupa.cli.looking.retention_part import RetentionPart, with_retention
from skoupa.cli.looking.unkept import nothing_is_kept, with_losses
from skoupa.cli.terminal.alive_shapes import AliveStanding
from skoupa.cli.terminal.items import Document, Item, PolicyRun, gap_of, item_of, window_of
from skoupa.cli.terminal.retention_shapes import RetentionStanding
from skoupa.cli.terminal.tenant_shapes import DeletedTenant
from skoupa.cli.worlds import World
from skoupa.controller.keeping.surroundings import Surroundings
from skoupa.controller.survey import Finding, Gap, Survey, kind_of
from skoupa.controller.weighing.weight import Weight, weigh
from skoupa.errors import Forbidden, SkoupaError, UsageError
from skoupa.expr.comparisons import Comparison
from skoupa.expr.windows import Window
from skoupa.facts.rows import Row, Uid
from skoupa.judge.cascade import is_definition, is_namespace
from skoupa.judge.circumstances import SKEW_SECONDS
from skoupa.judge.retention import NAME as RETENTION
from skoupa.kube.timestamps import whole_seconds
from skoupa.model.reasons import reason
from skoupa.settings import Settings

# Counting what goes along costs a request per kind and Namespace.
MOST_WEIGHED: Final = 50
WOULD_BRAKE: Final = "run-would-brake"
_MAY_GO: Final = frozenset({WOULD_BRAKE, PERHAPS})
CONTROLLER: Final = "system:serviceaccount:skoupa:skoupa"


class Wishes(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked for. `namespace` empty: all of them."""

    kinds: tuple[str, ...] = ()
    namespace: str = ""
    lifetime: Comparison | None = None


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """`findings` are sorted by time; `remarks` are objects that only have something to be told, such as a bad label.

    `policies` None: they were not asked for. `supposed`: they are of files, and each as if it ran now. `waiting` are objects whose
    time by retention has not begun. `alive` None: there is no Alive, or nobody asked; `tenants` are those that are being deleted.
    """

    now: float
    namespace: str
    window: Window | None
    findings: list[Finding]
    remarks: list[Finding]
    weights: dict[Uid, Weight]
    gaps: list[Gap]
    warnings: list[str]
    given: frozenset[str] | None
    survey: Survey
    policies: tuple[PolicyRun, ...] | None = None
    retention: tuple[RetentionStanding, ...] = ()
    waiting: tuple[Finding, ...] = ()
    supposed: bool = False
    alive: AliveStanding | None = None
    tenants: tuple[DeletedTenant, ...] = ()

    def going(self) -> list[Finding]:
        """What goes within the window if nothing changes; by policies that are only supposed to run: at once.

        Retention policies of files are supposed to be there from now on: what they let go in time counts too.
        """
        return [
            found
            for found in self.findings
            if (goes := found.verdict.goes) is not None and self._counts(found, goes)
        ]

    def _counts(self, found: Finding, goes: float) -> bool:
        if self.supposed:
            return goes <= self.now or found.verdict.claims[0].mechanism == RETENTION
        return self.window is None or self.window.contains(goes)

    def wanted(self) -> int:
        """How many would go; also where only a Brake would stop them, for somebody may release it, or perhaps does."""
        stopped = sum(
            bool(holds := found.verdict.holds) and all(hold.reason.code in _MAY_GO for hold in holds)
            for found in self.findings
        )
        return len(self.going()) + stopped

    def item(self, found: Finding) -> Item:
        item = item_of(found, weight=self.weights.get(found.row.uid))
        if self.given is not None and item.uid not in self.given:
            return msgspec.structs.replace(item, uid="")
        return item

    def document(self, kind: Literal["Plan", "Sweep"]) -> Document:
        return Document(
            kind=kind,
            now=whole_seconds(self.now),
            window=window_of(self.window) if self.window else None,
            items=tuple(self.item(found) for found in self.findings),
            remarks=tuple(
                self.item(found) for found in (*self.remarks, *(self.waiting if self.supposed else ()))
            ),
            policies=msgspec.UNSET if self.policies is None else self.policies,
            retention=self.retention or msgspec.UNSET,
            alive=self.alive or msgspec.UNSET,
            tenants=self.tenants or msgspec.UNSET,
            gaps=tuple(gap_of(gap) for gap in self.gaps),
            warnings=tuple(self.warnings),
        )


async def make_plan(
    world: World,
    *,
    settings: Settings,
    wishes: Wishes,
    window: Callable[[float], Window | None],
    progress: Callable[[str], None],
    acting: bool = False,
    trash_known: bool = False,
    policies: PolicyPart | None = None,
    own_rights: bool = True,
) -> Plan:
    """`window` is asked with the server's time; who is `acting` is held by a clock that is off and Brakes unread.

    `trash_known`: what can't come back is told, because the settings are those of who will let it go. `policies`: without
    them labels alone decide. Without `own_rights` what the caller may not delete is not held for that: somebody else is to do it.
    """
    if not settings.features.ttl and not settings.features.retention and policies is None:
        raise UsageError("the feature ttl is switched off in the settings", advice="set features.ttl: true")
    supposed = policies is not None and policies.written is not None
    files = policies.retention if policies is not None else None
    off = bool(files) and not settings.features.retention
    settings = with_retention(settings) if off else settings
    places: tuple[str, ...] = (wishes.namespace,) if wishes.namespace else ()
    places = policies.places if policies is not None and supposed else places
    survey = Survey(
        world.client,
        settings,
        namespaces=places,
        inside_only=bool(places),
        # A server would have to send every object; manifests are here.
        unlabelled=world.given is not None,
        acting=acting,
        rulings=(policies.mechanism,) if policies is not None else (),
        skew=world.skew if acting else lambda: 0.0,
        progress=progress,
    )
    # Before anything long: a window that can't be meant is told at once.
    window(world.now())
    await _read(survey, wishes, supposed=supposed, everywhere=not places)
    kinds = {kind_of(survey.knowledge.discovery, kind).qualified for kind in wishes.kinds}
    part = RetentionPart(world, survey, settings, written=files, off=off, progress=progress)
    # Who acts leaves them to the controller.
    if not acting and (files or not supposed):
        await part.read(namespace=wishes.namespace, kinds=kinds)
    await part.judge_by_needs(survey.rows(), namespace=wishes.namespace)
    if acting:
        survey.knowledge.judge.join(ControllerAlone())
    now = world.now()
    within = window(now)
    chosen = list(part.chosen(namespace=wishes.namespace, kinds=kinds))
    end = within.end if within is not None else None
    await part.weigh(chosen, now, until=end)
    if policies is not None:
        await policies.look(world, survey, namespace=wishes.namespace, now=now, until=end, progress=progress)
        chosen += policies.rows(kinds)
    rows, silent = candidates(survey, within, wishes.lifetime, now, namespace=wishes.namespace, chosen=chosen)
    if own_rights:
        await survey.learn_rights(rows)
    findings: list[Finding] = []
    remarks = [found for row in silent if (found := survey.finding(row, now)).verdict.notes]
    for found in (survey.finding(row, now) for row in rows):
        if not found.verdict.claims:
            remarks += [found] if found.verdict.notes else []
        elif within is None or any(
            moment is not None and within.contains(moment)
            for moment in (found.verdict.due, found.verdict.goes)
        ):
            findings.append(found)
    remarks, waiting = parted(remarks, survey)
    around = Surroundings(world.client, survey.knowledge)
    findings = [await surrounded(found, around) for found in findings]
    findings.sort(key=order)
    heavy = [found.row for found in findings if _is_heavy(found.row)]
    progress(f"counting what goes along with {len(heavy)} objects" if heavy else "")
    weights = await weigh(_first_containers(heavy), client=world.client, discovery=survey.knowledge.discovery)
    trashless = ""
    if trash_known and findings:
        findings = [with_losses(found, weights.get(found.row.uid), settings) for found in findings]
        trashless = nothing_is_kept(settings)
    backlogs = held_backlogs(survey, now) if world.given is None else []
    progress("")
    return Plan(
        now=now,
        namespace=wishes.namespace,
        window=within,
        findings=findings,
        remarks=sorted(remarks, key=order),
        weights=weights,
        gaps=list(dict.fromkeys((*survey.gaps, *(policies.gaps if policies is not None else ())))),
        warnings=[
            *survey.doubts,
            *(policies.doubts if policies is not None else ()),
            *backlogs,
            *_warnings(world, findings, heavy),
            *(told_waiting(waiting) if not supposed else ()),
            *([f"nothing of it can come back: {trashless}"] if trashless else ()),
        ],
        given=world.given,
        survey=survey,
        policies=policies.runs(survey, findings, now) if policies is not None else None,
        retention=part.standings(findings, now, namespace=wishes.namespace),
        waiting=tuple(sorted(waiting, key=order)),
        supposed=supposed,
    )


async def _read(survey: Survey, wishes: Wishes, *, supposed: bool, everywhere: bool) -> None:
    """What is asked for and what could hold it; where policies of files say what is asked for, only the latter."""
    if not supposed:
        await survey.read(wishes.kinds)
        if survey.first_error is not None and not survey.saw_something:
            raise _refusal(survey.first_error, everywhere=not wishes.namespace)
        return
    try:
        await survey.read_around(everywhere=everywhere)
    except UsageError as error:
        error.advice = (
            "a policy in these files is for it: check its namespace, or where -n says that it would go"
        )
        raise


def _refusal(error: SkoupaError, *, everywhere: bool) -> SkoupaError:
    """Rights in single namespaces are of no use for lists over all of them."""
    if not everywhere or not isinstance(error, Forbidden):
        return error
    advice = f"look into one namespace with -n NAMESPACE, or {error.advice}"
    return Forbidden(error.message, status=error.status, advice=advice)


def _is_heavy(row: Row) -> bool:
    kinds = {"persistentvolumeclaims", "persistentvolumes"}
    return is_namespace(row) or is_definition(row) or row.resource.qualified in kinds


def _first_containers(rows: list[Row]) -> list[Row]:
    containers = [row for row in rows if is_namespace(row) or is_definition(row)][:MOST_WEIGHED]
    return containers + [row for row in rows if not (is_namespace(row) or is_definition(row))]


def _warnings(world: World, findings: list[Finding], heavy: list[Row]) -> list[str]:
    told: list[str] = []
    skew = world.skew()
    if abs(skew) >= SKEW_SECONDS:
        told.append(f"the clock here and the server's differ by {skew:+.0f} s; times are the server's")
    denied = sum(
        any(hold.reason.code == "no-permission" for hold in found.verdict.holds) for found in findings
    )
    if denied:
        who = f"{world.as_user} may" if world.as_user else "you may"
        other = f"; the controller may have other rights than you: --as {CONTROLLER} asks with those"
        told.append(f"{who} not delete {denied} of them{'' if world.as_user else other}")
    containers = sum(is_namespace(row) or is_definition(row) for row in heavy)
    if containers > MOST_WEIGHED:
        told.append(
            f"what goes along was counted for the first {MOST_WEIGHED} of {containers} Namespaces and definitions; "
            "`skoupa explain` counts it for one"
        )
    return told


async def surrounded(found: Finding, around: Surroundings) -> Finding:
    """What it must not take along is found by looking at it, as the controller will: into a Namespace or a definition, or by a profile."""
    row, verdict = found.row, found.verdict
    taken = await around.takes(row) if verdict.claims else []
    if taken:
        note = reason("takes-along", what=", ".join(taken))
        verdict = msgspec.structs.replace(verdict, notes=(*verdict.notes, note))
    if not verdict.claims or verdict.holds or not (taken or is_namespace(row) or is_definition(row)):
        return Finding(row, verdict)
    holds = await around.holds(row, verdict.claims[0])
    return Finding(row, msgspec.structs.replace(verdict, holds=holds) if holds else verdict)
