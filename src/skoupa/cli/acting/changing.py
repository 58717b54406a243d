"""Writing one label or annotation on objects that a person names: what `keep`, `extend` and `refresh` share.

Every write names the very state it was decided on (resourceVersion); when somebody else was faster the object is read
and decided anew, so nothing is overwritten blindly. The caller's own rights are used. Everything is written before anything
else is read: who keeps an object is in a hurry. Then what becomes of it is told with its surroundings in view, as `explain`
does; only whether the caller might delete it, and what policies say of it, is not asked: who asks that is sent to `explain`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import tzinfo
from typing import Final, Literal

import msgspec
import typer

from skoupa.cli import exits
from skoupa.cli.acting.tenants import going_all_the_same
from skoupa.cli.installed import settings_for
from skoupa.cli.looking.explained import fate
from skoupa.cli.options import Connecting, TextForm
from skoupa.cli.terminal import output
from skoupa.cli.terminal.items import Change, Document, Item, Outcome, item_of
from skoupa.cli.terminal.saying import progress, say
from skoupa.cli.terminal.tables import printable
from skoupa.cli.terminal.targets import Target, find, read_targets
from skoupa.cli.terminal.times import zone_of
from skoupa.cli.worlds import World, in_cluster
from skoupa.controller.survey import Finding, Survey
from skoupa.errors import Conflict, SkoupaError
from skoupa.facts.naming import name_of
from skoupa.facts.rows import Row
from skoupa.judge.cascade import called
from skoupa.kube.client import Client
from skoupa.kube.kinds import Discovery
from skoupa.kube.objects import Partial
from skoupa.kube.timestamps import whole_seconds
from skoupa.settings import Settings

TRIES: Final = 10


class Edit(msgspec.Struct, frozen=True, kw_only=True):
    """What to write; no value removes it."""

    field: Literal["label", "annotation"]
    key: str
    value: str | None


class Decision(msgspec.Struct, frozen=True):
    """`edits` to make; where there are none, `why` says that all is as it should be."""

    edits: tuple[Edit, ...] = ()
    why: str = ""


_Failed = list[tuple[Target, SkoupaError]]
# From what is found, who judged it and the time to what is to be written; raises where it can't be meant.
Decide = Callable[[Finding, Survey, float], Decision]


class Changed(msgspec.Struct, frozen=True, kw_only=True):
    """`unasked`: who may want it to go and was not asked, in words; empty: all were."""

    found: Finding
    unasked: str
    changes: tuple[Change, ...]
    outcome: Outcome


class Changing(msgspec.Struct, frozen=True, kw_only=True):
    """What the options of the three commands have in common."""

    targets: tuple[str, ...]
    dry_run: bool = False
    tz: str | None = None
    form: TextForm = "text"
    config: str | None = None


def unasked(row: Row, settings: Settings) -> str:
    """Policies are not read here: that would take much longer than the write."""
    if not settings.features.policies:
        return ""
    where = f" -n {row.namespace}" if row.namespace else ""
    return f"whether a policy does, `skoupa explain {name_of(row, with_namespace=False)}{where}` tells"


def change_all(common: Changing, *, connecting: Connecting, decide: Decide) -> None:
    zone = zone_of(common.tz)
    targets = read_targets(common.targets)

    async def work(world: World) -> tuple[float, list[Changed], _Failed, list[str]]:
        written: list[_Written] = []
        failed: _Failed = []
        known = await settings_for(world, common.config)
        places = _Places(world, known.settings)
        for target in targets:
            try:
                place = await places.of(target)
                written.append(await _write(world, place, target, decide=decide, dry_run=common.dry_run))
            except SkoupaError as error:
                failed.append((target, error))
        if written and not common.dry_run:
            progress(f"{len(written)} written, reading what else could hold or take along")
        done = [await _seen(one) for one in written]
        rows = [one.row for one in written]
        going = await going_all_the_same(world, known, places.discovery, rows) if rows else []
        progress("")
        if known.doubt and done:
            say(known.doubt)
        return world.now(), done, failed, going

    now, done, failed, going = in_cluster(work, connecting=connecting)
    _show(done, now=now, zone=zone, common=common, warnings=tuple(going))
    if len(targets) == 1 and failed:
        raise failed[0][1]
    for target, error in failed:
        say(f"{target}: {error}")
    if failed:
        raise typer.Exit(exits.LEFTOVERS if done else failed[0][1].exit_code)


class _Place:
    """One namespace and what is known of it."""

    def __init__(self, client: Client, survey: Survey, namespace: str) -> None:
        self._client = client
        self.survey = survey
        self.namespace = namespace
        self._inside = False
        self._everywhere = False

    async def look_around(self, row: Row, now: float) -> None:
        """Reads what could hold the object, once, and only where something wants it to go."""
        if not self.survey.finding(row, now).verdict.claims:
            return
        if self._everywhere or (self._inside and row.resource.namespaced):
            # Whose owners are not known yet: what was kept a moment ago.
            await self.survey.knowledge.kept.read_chains(self._client, self.survey.knowledge.discovery)
            return
        await self.survey.read_surroundings(row)
        if row.resource.namespaced:
            self._inside = True
        else:
            self._everywhere = True


class _Places:
    """The namespaces that the targets are in; the kinds are asked for once."""

    def __init__(self, world: World, settings: Settings) -> None:
        self._world = world
        self._settings = settings
        self._known: dict[str, _Place] = {}
        self._discovery: Discovery | None = None

    @property
    def discovery(self) -> Discovery:
        """Once one of them was looked into."""
        assert self._discovery is not None, "somebody asked for a place before"
        return self._discovery

    async def of(self, target: Target) -> _Place:
        namespace = target.namespace or self._world.namespace
        place = self._known.get(namespace)
        if place is None:
            survey = Survey(self._world.client, self._settings, namespaces=(namespace,), inside_only=True)
            if self._discovery is None:
                self._discovery = await survey.discover()
            survey.knowledge.discovery = self._discovery
            place = self._known[namespace] = _Place(self._world.client, survey, namespace)
        return place


class _Written(msgspec.Struct, frozen=True, kw_only=True):
    """An object after the write, which was decided on at the time `now`."""

    place: _Place
    row: Row
    now: float
    changes: tuple[Change, ...]
    outcome: Outcome


async def _seen(written: _Written) -> Changed:
    place, row, now = written.place, written.row, written.now
    try:
        await place.look_around(row, now)
    except SkoupaError as error:
        # It is written, whatever else is not known.
        say(f"{called(row)}: what else could hold it or take it along is not known: {error}")
    return Changed(
        found=place.survey.finding(row, now),
        unasked=unasked(row, place.survey.knowledge.settings),
        changes=written.changes,
        outcome=written.outcome,
    )


async def _write(world: World, place: _Place, target: Target, *, decide: Decide, dry_run: bool) -> _Written:
    survey = place.survey
    for _ in range(TRIES):
        row = await find(survey, target, namespace=place.namespace)
        now = world.now()
        decision = decide(survey.finding(row, now), survey, now)
        if not decision.edits:
            unchanged = Outcome(what="unchanged", text=decision.why)
            return _Written(place=place, row=row, now=now, changes=(), outcome=unchanged)
        labels = {edit.key: edit.value for edit in decision.edits if edit.field == "label"}
        annotations = {edit.key: edit.value for edit in decision.edits if edit.field == "annotation"}
        patch = {
            "metadata": {
                "resourceVersion": row.resource_version,
                **({"labels": labels} if labels else {}),
                **({"annotations": annotations} if annotations else {}),
            }
        }
        try:
            written = await world.client.merge_patch(
                row.resource, row.name, patch, namespace=row.namespace, dry_run=dry_run
            )
        except Conflict:
            continue
        partial = msgspec.json.decode(msgspec.json.encode(written), type=Partial)
        after = survey.knowledge.extraction.row(row.resource, partial)
        delta = None if dry_run else survey.knowledge.store.refresh(after)
        if delta is not None:
            survey.knowledge.learn([delta])
        return _Written(
            place=place,
            row=after,
            now=now,
            changes=tuple(
                Change(
                    field=edit.field,
                    key=edit.key,
                    before=row.label(edit.key) if edit.field == "label" else row.annotation(edit.key),
                    after=edit.value,
                )
                for edit in decision.edits
            ),
            outcome=Outcome(what="would-change" if dry_run else "changed"),
        )
    raise SkoupaError(
        f"{target} changes all the time; it was tried {TRIES} times", advice="try again in a while"
    )


def _show(
    done: list[Changed], *, now: float, zone: tzinfo, common: Changing, warnings: tuple[str, ...]
) -> None:
    if common.form != "text":
        items = tuple(_item(changed) for changed in done)
        document = Document(
            kind="Changes",
            now=whole_seconds(now),
            dry_run=common.dry_run,
            items=items,
            warnings=warnings,
        )
        output.write(document, common.form)
    else:
        for changed in done:
            sys.stdout.write(printable(_sentence(changed, now=now, zone=zone)) + "\n")
    sys.stdout.flush()
    for warning in warnings:
        say(warning)


def _item(changed: Changed) -> Item:
    item = item_of(changed.found)
    return msgspec.structs.replace(item, changes=changed.changes, outcome=changed.outcome)


def _sentence(changed: Changed, *, now: float, zone: tzinfo) -> str:
    if changed.outcome.what == "unchanged":
        what = f"unchanged, {changed.outcome.text}"
    else:
        what = ", ".join(_told(change) for change in changed.changes)
    dry = "would be: " if changed.outcome.what == "would-change" else ""
    then = fate(changed.found.verdict, now, zone)
    if changed.unasked and changed.found.verdict.due is None:
        then = f"No label wants it to go; {changed.unasked}."
    return f"{called(changed.found.row)}: {dry}{what}. {then}"


def _told(change: Change) -> str:
    before = "absent" if change.before is None else change.before
    if change.after is None:
        return f"{change.field} {change.key} removed (was {before})"
    return f"{change.field} {change.key}={change.after} (was {before})"
