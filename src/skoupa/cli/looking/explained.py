"""An explanation of one object, and how it is told in words."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import tzinfo
from typing import Final

import msgspec

from skoupa import names
from skoupa.cli.alive.standing import outliving
from skoupa.cli.looking.backlogs import only_perhaps
from skoupa.cli.looking.labelled_needs import is_waiting
from skoupa.cli.looking.parents import along, parent_lines, place
from skoupa.cli.looking.policies_told import about_one
from skoupa.cli.looking.retention_told import object_lines
from skoupa.cli.terminal.alive_shapes import AliveStanding
from skoupa.cli.terminal.items import Item, ItemPolicy, Parent, item_of
from skoupa.cli.terminal.needs_told import ItemNeeds
from skoupa.cli.terminal.retention_shapes import ItemRetention
from skoupa.cli.terminal.tenant_shapes import ItemTenant
from skoupa.cli.terminal.times import distance, full_time
from skoupa.controller.survey import Finding, Survey
from skoupa.controller.weighing.weight import Weight
from skoupa.model.reasons import render
from skoupa.model.verdicts import Verdict

_LIVES: Final = "This cluster lives: nobody asked for its deletion, and nothing that Skoupa decides takes it"


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    now: float
    found: Finding
    item: Item
    parents: list[Parent]
    # Those of them that take it along.
    takers: list[Parent]
    survey: Survey
    weight: Weight | None = None
    # Unset: the feature is off; retention: no policy; who needs it: nobody asked.
    policies: tuple[ItemPolicy, ...] | msgspec.UnsetType = msgspec.UNSET
    retention: tuple[ItemRetention, ...] | msgspec.UnsetType = msgspec.UNSET
    needed_by: ItemNeeds | msgspec.UnsetType = msgspec.UNSET
    needs_told: tuple[str, ...] = ()
    # Unset: nobody's, or there are no Tenants.
    tenant: ItemTenant | msgspec.UnsetType = msgspec.UNSET
    # Of Alive alone.
    alive: AliveStanding | None = None

    def with_holds(self, found: Finding) -> Explanation:
        """As it is, with what else holds it."""
        return msgspec.structs.replace(self, found=found, item=item_of(found, weight=self.weight))


def in_words(told: Explanation, zone: tzinfo) -> Iterator[str]:
    item = told.item
    yield f"{item.kind} {place(item.namespace, item.name)}"
    going = told.found.row.deleted_at
    if going:
        yield f"  Is being deleted since {full_time(going, zone)}, {distance(going, told.now)}."
    elif is_waiting(told.found, told.survey):
        yield "  Its time has not begun."
    else:
        yield f"  {fate(told.found.verdict, told.now, zone)}"
    if told.alive is not None:
        yield f"  {told.alive.text or _LIVES}."
        yield from (f"  {line}" for line in outliving(told.alive))
    if isinstance(told.tenant, ItemTenant):
        yield from (f"  {line}" for line in _of_tenant(told.tenant))
    own = told.found.verdict.goes
    yield from (f"  {line}" for line in along(told.takers, own, told.now, zone=zone))
    beside = {one.claim: one.holds for one in told.found.verdict.beside}
    for claim, said in zip(told.found.verdict.claims, item.claims, strict=True):
        yield f"  why: {said.reason.text}"
        yield f"       {said.mechanism}, due {said.due}, propagation {said.propagation}"
        if not item.holds:
            # It goes by another all the same.
            yield from (f"       held by: {render(hold.reason)}" for hold in beside.get(claim, ()))
    held = "held by" if item.claims else "would be held by"
    for hold in item.holds:
        until = f" (until {hold.until})" if hold.until else ""
        yield f"  {held}: {hold.reason.text}{until}"
    if isinstance(told.policies, tuple):
        yield from (f"  {line}" for line in about_one(told.policies, told.now, zone))
    if isinstance(told.retention, tuple):
        labelled = told.found.row.label(names.TTL_AFTER_LABEL) is not None
        yield from (f"  {line}" for line in object_lines(told.retention, labelled=labelled))
    yield from (f"  {line}" for line in parent_lines(told.parents))
    yield from (f"  {line}" for line in told.needs_told)
    yield from (f"  note: {note.text}" for note in item.notes)


def _of_tenant(told: ItemTenant) -> Iterator[str]:
    if not told.name:
        yield f"tenant: {told.text}"
    elif told.proof:
        yield f"tenant: {told.name}, since {told.proof}"
        yield f"        {told.text}"
    else:
        yield f"{told.text[:1].upper()}{told.text[1:]}."
    yield from (f"in the way: {one}" for one in told.blockers)


def fate(verdict: Verdict, now: float, zone: tzinfo) -> str:
    """When it goes, in a sentence."""
    if verdict.due is None:
        return "Nothing wants it to go."
    due = f"{full_time(verdict.due, zone)}, {distance(verdict.due, now)}"
    if not verdict.holds:
        return f"Goes {due}." if verdict.due > now else f"Due since {due}: it goes as soon as Skoupa acts."
    if verdict.goes is None:
        return f"Due {due}, but {'perhaps held.' if only_perhaps(verdict) else 'held: it stays.'}"
    return f"Due {due}, but held: it goes {full_time(verdict.goes, zone)}, {distance(verdict.goes, now)}."
