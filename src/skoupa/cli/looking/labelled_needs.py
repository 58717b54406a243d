"""Evidence for the label `skoupa.dev/ttl-after` where a cluster is read once: what has finished, and who needs what.

One pass of lists over what could use the labelled objects; nothing is read where nothing is labelled, or the feature is off. The
moment from which their times count is on the objects: a controller writes it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import aclosing
from typing import Any

from skoupa import names
from skoupa.cli.looking.profiles import taught_finishes
from skoupa.cli.worlds import World
from skoupa.controller.survey import Finding, Survey
from skoupa.errors import ApiError, BadReply, TimedOut
from skoupa.facts.rows import Row, Uid, pack_uid
from skoupa.judge.retention import NAME, unneeded_since
from skoupa.kube.lists import Scope, pages
from skoupa.kube.resources import Resource
from skoupa.model.reasons import REASONS, reason
from skoupa.model.verdicts import Claim, Hold
from skoupa.policy.retention.teaching import Taught
from skoupa.runs.using.profiles import profiles_of
from skoupa.runs.using.reading import UsageReading
from skoupa.usage import finishing, needs
from skoupa.usage.finishing import Doubt, Ends, Finish
from skoupa.usage.graph import kind_name
from skoupa.usage.leftovers.looked import Looked
from skoupa.usage.leftovers.worth import for_itself, good_for, is_asked

_MOST_PROOFS = 3
_CHANGED = Doubt("it changed while it was read: look again")


class ReadEvidence:
    """`finishes` are by uid, each with the version that it was read of."""

    def __init__(
        self, looked: Looked, finishes: dict[Uid, tuple[str, Finish | Doubt | None]], *, taught: Taught
    ) -> None:
        self._looked = looked
        self._finishes = finishes
        self._taught = taught
        self._taught_ends = frozenset(taught.endings())

    def finish(self, row: Row) -> Finish | Doubt | None:
        doubt = self._taught.end_doubt(kind_name(row.resource))
        if doubt is not None:
            return doubt
        version, found = self._finishes.get(row.uid, ("", _CHANGED))
        return found if version == row.resource_version else _CHANGED

    def ends(self, row: Row) -> Ends:
        kind = kind_name(row.resource)
        if kind in self._taught_ends or self._taught.end_doubt(kind) is not None:
            return Ends.BY_RULE
        return finishing.shipped().ends(kind)

    def needs(self, row: Row) -> needs.Answer | None:
        found = self._looked.needs.of(row, most=_MOST_PROOFS)
        if isinstance(found, needs.Needed):
            return found
        alone = for_itself(
            row, ends=self.ends(row), finish=self.finish(row), readings=self._looked.sight.readings
        )
        if alone is not None or not is_asked(kind_name(row.resource)):
            return alone or found
        return good_for(self._looked, row) or found

    def since(self, row: Row, now: float) -> float | None:
        return unneeded_since(row, now)


class ControllerAlone:
    """A guard for who acts on what was read once: that nothing uses an object is not true for long."""

    def holds(self, row: Row, claim: Claim, now: float) -> Iterator[Hold]:  # noqa: ARG002 - whatever it is, and for good
        if claim.mechanism == NAME:
            yield Hold(reason=reason("controller-alone", key=names.TTL_AFTER_LABEL))


async def read_needs(
    world: World, survey: Survey, rows: Iterable[Row], *, namespace: str, progress: Callable[[str], None]
) -> None:
    """Hands evidence about the labelled ones among the rows to the judge of a survey. `namespace` empty: they are in several."""
    mechanism = survey.knowledge.retention
    labelled = [row for row in rows if row.label(names.TTL_AFTER_LABEL) is not None]
    if mechanism is None:
        return
    taught, doubts = await profiles_of(world.client, survey.knowledge.discovery)
    survey.knowledge.takes = taught.takes
    if not labelled:
        return
    survey.doubts += doubts
    asked = dict.fromkeys(row.resource for row in labelled)
    reading = UsageReading(
        world.client,
        survey.knowledge.discovery,
        taught,
        asked=asked,
        place=namespace,
        ignored=survey.knowledge.settings.usage.ignore_kinds,
        keys=False,
        progress=progress,
    )
    await reading.read()
    finishes: dict[Uid, tuple[str, Finish | Doubt | None]] = {}
    endings = taught.endings()
    for resource in asked:
        progress(f"reading {resource.qualified}")
        ending = endings.get(kind_name(resource))
        place = namespace if resource.namespaced else ""
        if ending is not None:
            finishes |= await taught_finishes(world.client, resource, ending, place=place)
        else:
            finishes |= await _finishes(world, resource, place)
    sight = reading.sight()
    found = needs.Needs(reading.graph, sight, natures=reading.natures, trackers=reading.trackers())
    looked = Looked(
        reading.graph,
        found,
        sight,
        particulars=reading.particulars,
        served=reading.served,
        now=world.now(),
    )
    mechanism.evidence = ReadEvidence(looked, finishes, taught=taught)
    waived = sorted({one.what for one in sight.waived})
    if waived:
        survey.doubts.append(f"not read, and need not be (usage.ignoreKinds): {', '.join(waived)}")


async def _finishes(
    world: World, resource: Resource, place: str
) -> dict[Uid, tuple[str, Finish | Doubt | None]]:
    table, kind = finishing.shipped(), kind_name(resource)
    view: Any = table.view(kind)
    found: dict[Uid, tuple[str, Finish | Doubt | None]] = {}
    if view is None:
        return found
    scope = Scope(namespace=place, labels=names.TTL_AFTER_LABEL)
    try:
        async with aclosing(pages(world.client, resource, view, scope=scope)) as listing:
            async for page in listing:
                for item in page.items:
                    uid, version = pack_uid(item.metadata.uid), item.metadata.resource_version
                    found[uid] = (version, table.finish(kind, item))
    except (ApiError, BadReply, TimedOut):
        # Those that are missing here have not finished, as far as anybody knows.
        return found
    return found


def is_waiting(found: Finding) -> bool:
    """Whether nothing but the label speaks of it, and its time has not begun: no mistake that somebody should hear of."""
    notes = found.verdict.notes
    waits = found.row.label(names.TTL_AFTER_LABEL) is not None and not found.verdict.claims
    return waits and bool(notes) and not any(REASONS[note.code].role == "problem" for note in notes)


def told_waiting(waiting: Collection[Finding]) -> list[str]:
    if not waiting:
        return []
    count = f"{len(waiting)} objects" if len(waiting) > 1 else "1 object"
    told = "in use, owned, not finished, or not marked yet; `skoupa explain KIND/NAME` says which"
    return [f"waiting for {names.TTL_AFTER_LABEL} to count: {count} ({told})"]
