"""`skoupa explain`: everything that is known about the fate of single objects, in words.

Each object is told by itself; those of one namespace share what was read around them. One that is not there does not
keep the others from being told, but it decides the exit code.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from datetime import tzinfo
from typing import Any

import msgspec
import typer

from skoupa import names
from skoupa.cli.alive.standing import alive_standing
from skoupa.cli.installed import settings_for
from skoupa.cli.looking.backlogs import held_backlogs
from skoupa.cli.looking.controller_holds import hear_controller
from skoupa.cli.looking.explained import Explanation, in_words
from skoupa.cli.looking.parents import Ancestor, ancestors_of, parents_of, takers
from skoupa.cli.looking.planning import surrounded
from skoupa.cli.looking.policies_part import ObjectPolicies
from skoupa.cli.looking.retention_part import RetentionPart
from skoupa.cli.looking.tenants_part import whose_of
from skoupa.cli.looking.users_of import lines, needs_of, told_of
from skoupa.cli.options import Connecting, TextForm
from skoupa.cli.terminal import output
from skoupa.cli.terminal.items import Document, gap_of, item_of
from skoupa.cli.terminal.saying import progress, say
from skoupa.cli.terminal.tables import printable
from skoupa.cli.terminal.targets import Target, find, read_targets
from skoupa.cli.terminal.times import zone_of
from skoupa.cli.worlds import World, in_cluster
from skoupa.controller.keeping.surroundings import Surroundings
from skoupa.controller.survey import Finding, Survey, kind_of
from skoupa.controller.weighing.weight import weigh
from skoupa.errors import NotFound, UnknownKind, UsageError
from skoupa.facts.rows import Row, Uid
from skoupa.judge.retention import written
from skoupa.judge.tenants import NAME as TENANTS
from skoupa.kinds.alive import ALIVES
from skoupa.kube.timestamps import whole_seconds
from skoupa.model.reasons import reason
from skoupa.model.verdicts import Claim, Hold
from skoupa.settings import Settings


def run(
    *,
    connecting: Connecting,
    targets: tuple[str, ...],
    tz: str | None,
    form: TextForm,
    config: str | None,
    ledger: Mapping[str, Any],
    users: bool = False,
) -> None:
    zone = zone_of(tz)

    async def work(world: World) -> tuple[list[Explanation], list[tuple[Target, UsageError]]]:
        known = await settings_for(world, config)
        home, token_file = ledger.get("home"), ledger.get("token_file")
        told = await explain(world, targets, settings=known.settings, home=home, token_file=token_file)
        # What is gone went by whatever counted then.
        if known.doubt and told[0]:
            say(known.doubt)
        return (await _with_users(world, told[0], known.settings), told[1]) if users else told

    found, missing = in_cluster(work, connecting=connecting)
    if found and form != "text":
        output.write(_document(found), form)
    elif found:
        texts = ["".join(f"{printable(line)}\n" for line in in_words(told, zone)) for told in found]
        sys.stdout.write("\n".join(texts))
    for doubt in _doubts(found):
        say(doubt)
    _tell_missing(missing, ledger=ledger, connecting=connecting, zone=zone, form=form, alone=not found)


async def _with_users(world: World, found: list[Explanation], settings: Settings) -> list[Explanation]:
    unasked = [one.found.row for one in found if one.needed_by is msgspec.UNSET]
    needs = await needs_of(world, unasked, settings=settings, progress=progress)
    return [
        msgspec.structs.replace(one, needed_by=by, needs_told=lines(by))
        if (by := needs.get(one.found.row.uid)) is not None
        else one
        for one in found
    ]


def _tell_missing(
    missing: list[tuple[Target, UsageError]],
    *,
    ledger: Mapping[str, Any],
    connecting: Connecting,
    zone: tzinfo,
    form: TextForm,
    alone: bool,
) -> None:
    """What is not there may have gone by Skoupa, which the history knows."""
    if alone and len(missing) == 1:
        target, error = missing[0]
        # The history is not needed by who asks about what is there.
        from skoupa.cli.looking.gone import look_back, tell_gone  # noqa: PLC0415

        entry = in_cluster(
            lambda world: look_back(
                error, str(target), world=world, ledger=ledger, connecting=connecting, zone=zone
            ),
            connecting=connecting,
        )
        tell_gone(entry, zone=zone, form=form)
        return
    for _, error in missing:
        say(str(error))
    if missing:
        raise typer.Exit(UsageError.exit_code)


def _doubts(found: list[Explanation]) -> Iterator[str]:
    """Each once."""
    told: dict[str, None] = {}
    for survey in {id(one.survey): one.survey for one in found}.values():
        told |= dict.fromkeys(f"not read: {gap.what} ({gap.why})" for gap in survey.gaps)
        told |= dict.fromkeys(survey.doubts)
    yield from told


async def explain(
    world: World,
    targets: tuple[str, ...],
    *,
    settings: Settings,
    home: str | None = None,
    token_file: str | None = None,
) -> tuple[list[Explanation], list[tuple[Target, UsageError]]]:
    """Those that are there, in the order in which they were named, and those that are not.

    The controller in `home`, else where the settings have its Lease, is asked what it holds.
    """
    found: dict[int, Explanation] = {}
    missing: list[tuple[Target, UsageError]] = []
    wanted: dict[str, list[tuple[int, Target]]] = {}
    for number, target in enumerate(read_targets(targets)):
        wanted.setdefault(target.namespace or world.namespace, []).append((number, target))
    for namespace, named in wanted.items():
        policies = ObjectPolicies(settings)
        survey = Survey(
            world.client,
            settings,
            namespaces=(namespace,),
            inside_only=True,
            rulings=(policies.mechanism,),
            progress=progress,
        )
        await survey.discover()
        rows: dict[int, Row] = {}
        for number, target in named:
            try:
                rows[number] = await find(survey, target, namespace=namespace)
            except UsageError as error:
                # Of a kind that is gone too the ledger may know.
                if not isinstance(error, UnknownKind) and not isinstance(error.__cause__, NotFound):
                    raise
                missing.append((_spelled(survey, target), error))
        if not rows:
            continue
        # What could hold an object in no namespace is read everywhere, which is enough for the others.
        widest = min(rows.values(), key=lambda row: row.resource.namespaced)
        await survey.read_surroundings(widest)
        above = {row.uid: await ancestors_of(row, survey) for row in rows.values()}
        # What takes one of them goes by policies too.
        asked = {row.uid: row for row in rows.values()}
        for one in (one for ancestors in above.values() for one in ancestors):
            if isinstance(one.found, Row):
                asked.setdefault(one.uid, one.found)
        whose = await whose_of(world, survey, settings, tuple(rows.values()), around=asked.values())
        retained = await _retention(world, survey, tuple(rows.values()), settings, namespace)
        said = await policies.look(world, survey, tuple(asked.values()), namespace=namespace)
        told = {
            number: msgspec.structs.replace(
                await _explain(world, row, survey, above[row.uid]),
                policies=said.get(row.uid, msgspec.UNSET),
                tenant=whose.get(row.uid, msgspec.UNSET),
                **retained.get(row.uid, {}),
            )
            for number, row in rows.items()
        }
        if any((due := one.found.verdict.due) is not None and due <= one.now for one in told.values()):
            survey.doubts += held_backlogs(survey, world.now())
        heard = await hear_controller(
            world,
            [one.found for one in told.values()],
            home=home or settings.lease.namespace,
            token_file=token_file,
        )
        survey.doubts += heard.remarks
        found |= {number: one.with_holds(heard.added_to(one.found)) for number, one in told.items()}
    progress("")
    return [found[number] for number in sorted(found)], missing


def _spelled(survey: Survey, target: Target) -> Target:
    """With its kind in full, where that is one of the cluster: the history knows no others."""
    try:
        kind = kind_of(survey.knowledge.discovery, target.kind).qualified
    except UnknownKind:
        return target
    return msgspec.structs.replace(target, kind=kind)


async def _retention(
    world: World, survey: Survey, rows: tuple[Row, ...], settings: Settings, namespace: str
) -> dict[Uid, dict[str, Any]]:
    """What retention says of each that it is about, by label or policy; the judge of the survey knows it too."""
    part = RetentionPart(world, survey, settings, progress=progress)
    await part.read(namespace=namespace, only=rows)
    looked = await part.judge_by_needs(rows, namespace=namespace)
    found: dict[Uid, dict[str, Any]] = {}
    for row in rows:
        known: dict[str, Any] = {"retention": policies} if (policies := part.of_object(row)) else {}
        mechanism = survey.knowledge.retention
        if looked is not None and mechanism is not None and (known or written(row) is not None):
            needs = told_of(looked, row, evidence=mechanism.evidence)
            known |= {"needed_by": needs, "needs_told": lines(needs)} if needs is not None else {}
        found[row.uid] = known
    return found


async def _explain(world: World, row: Row, survey: Survey, ancestors: list[Ancestor]) -> Explanation:
    now = world.now()
    verdict = survey.finding(row, now).verdict
    if verdict.claims:
        await survey.learn_rights([row])
        verdict = survey.finding(row, now).verdict
    else:
        verdict = msgspec.structs.replace(verdict, holds=tuple(_would_hold(survey, row, now)))
    weights = (
        await weigh([row], client=world.client, discovery=survey.knowledge.discovery)
        if verdict.claims
        else {}
    )
    found = Finding(row, verdict)
    if not verdict.claims or verdict.claims[0].mechanism != TENANTS:
        # What goes with its tenant was looked at as a whole.
        found = await surrounded(found, Surroundings(world.client, survey.knowledge))
    parents = parents_of(ancestors, survey, now)
    value = row.label(names.TTL_AFTER_LABEL)
    if value is not None and survey.knowledge.retention is None:
        off = reason("ttl-after-off", key=names.TTL_AFTER_LABEL, value=value)
        told = msgspec.structs.replace(found.verdict, notes=(*found.verdict.notes, off))
        found = Finding(row, told)
    return Explanation(
        now=now,
        found=found,
        item=item_of(found, weight=weights.get(row.uid)),
        parents=parents,
        takers=takers(row, ancestors, parents),
        survey=survey,
        weight=weights.get(row.uid),
        alive=await alive_standing(world, survey.knowledge.discovery)
        if row.resource.qualified == ALIVES.qualified
        else None,
    )


def _would_hold(survey: Survey, row: Row, now: float) -> list[Hold]:
    """What stands against any Claim, also while there is none."""
    supposed = Claim(mechanism="", rule="", due=now, reason=reason("ttl-date", key="", value=""))
    return survey.knowledge.judge.holds(row, supposed, now)


def _document(found: list[Explanation]) -> Document:
    gaps = dict.fromkeys(gap for told in found for gap in told.survey.gaps)
    return Document(
        kind="Explanation",
        now=whole_seconds(found[0].now),
        items=tuple(
            msgspec.structs.replace(
                told.item,
                parents=tuple(told.parents),
                policies=told.policies,
                retention=told.retention,
                needed_by=told.needed_by,
                tenant=told.tenant,
            )
            for told in found
        ),
        alive=next((told.alive for told in found if told.alive is not None), msgspec.UNSET),
        gaps=tuple(gap_of(gap) for gap in gaps),
        warnings=tuple(dict.fromkeys(doubt for told in found for doubt in told.survey.doubts)),
    )
