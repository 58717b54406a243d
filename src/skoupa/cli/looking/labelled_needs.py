"""Evidence for the label `skoupa.dev/ttl-after` and for retention policies where a cluster is read once: what has finished, who needs what.

One pass of lists over what could use the objects in question; nothing is read where there are none, or the feature is off. The
moment from which their times count is on the objects: a controller writes it. Policies that are only supposed to be there would have
it written now.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from skoupa import names
from skoupa.cli.looking.profiles import taught_finishes
from skoupa.cli.looking.waived import told_waived
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
from skoupa.usage import finishing
from skoupa.usage.finishing import Doubt, Ends, Finish
from skoupa.usage.graph import kind_name
from skoupa.usage.leftovers.looked import Looked
from skoupa.usage.leftovers.worth import for_itself, good_for, is_asked
from skoupa.usage.needs import Answer, Needed, Needs

if TYPE_CHECKING:
    from skoupa.cli.looking.retention_rules import RulesOnce

_MOST_PROOFS = 3
_CHANGED = Doubt("it changed while it was read: look again")


class ReadEvidence:
    """`finishes` are by uid, each with the version that it was read of; `rules` is what policies say."""

    def __init__(
        self,
        looked: Looked,
        finishes: dict[Uid, tuple[str, Finish | Doubt | None]],
        *,
        taught: Taught,
        rules: RulesOnce | None = None,
    ) -> None:
        self._looked = looked
        self._finishes = finishes
        self._taught = taught
        self._rules = rules
        self._known: dict[Uid, Answer | None] = {}

    def finish(self, row: Row) -> Finish | Doubt | None:
        doubt = self._taught.end_doubt(kind_name(row.resource))
        if doubt is not None:
            return doubt
        version, found = self._finishes.get(row.uid, ("", _CHANGED))
        return found if version == row.resource_version else _CHANGED

    def ends(self, row: Row) -> Ends:
        return self._taught.ends(kind_name(row.resource))

    def needs(self, row: Row) -> Answer | None:
        if row.uid not in self._known:
            self._known[row.uid] = self._needs(row)
        return self._known[row.uid]

    def _needs(self, row: Row) -> Answer | None:
        owners = self._rules is None or self._rules.owners_hold(row)
        found = self._looked.needs.of(row, most=_MOST_PROOFS, owners=owners)
        if isinstance(found, Needed):
            return found
        alone = for_itself(
            row, ends=self.ends(row), finish=self.finish(row), readings=self._looked.sight.readings
        )
        if alone is not None or not is_asked(kind_name(row.resource)):
            return alone or found
        return good_for(self._looked, row) or found

    def since(self, row: Row, now: float) -> float | None:
        mark = unneeded_since(row, now)
        return now if mark is None and self._rules is not None and self._rules.supposes(row) else mark


class ControllerAlone:
    """A guard for who acts on what was read once: that nothing uses an object is not true for long."""

    def holds(self, row: Row, claim: Claim, now: float) -> Iterator[Hold]:  # noqa: ARG002 - whatever it is, and for good
        if claim.mechanism == NAME:
            yield Hold(
                reason=reason("controller-alone", key=claim.rule if claim.run else names.TTL_AFTER_LABEL)
            )


async def read_needs(
    world: World,
    survey: Survey,
    rows: Iterable[Row],
    *,
    namespace: str,
    progress: Callable[[str], None],
    rules: RulesOnce | None = None,
    profiles: Sequence[Mapping[str, Any]] = (),
) -> Looked | None:
    """Hands evidence to the judge of a survey, about those of the rows that are labelled or that policies (`rules`) are about.

    `namespace` empty: they are in several. `profiles` are those of files, which count as well. None: there was nothing to ask.
    """
    mechanism, by_rules = survey.knowledge.retention, survey.knowledge.retention_rules
    if mechanism is None or by_rules is None:
        return None
    taught, doubts = await profiles_of(world.client, survey.knowledge.discovery, supposed=profiles)
    survey.knowledge.takes = taught.takes
    ruled = dict.fromkeys(row.resource for row in (rules.rows() if rules is not None else ()))
    labelled = dict.fromkeys(row.resource for row in rows if row.label(names.TTL_AFTER_LABEL) is not None)
    asked = labelled | ruled
    if not asked:
        return None
    survey.doubts += doubts
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
        # Of a kind that policies are about all have to be known.
        labels = "" if resource in ruled else names.TTL_AFTER_LABEL
        if ending is not None:
            finishes |= await taught_finishes(world.client, resource, ending, place=place, labels=labels)
        else:
            finishes |= await _finishes(world, resource, place, labels=labels)
    sight = reading.sight()
    found = Needs(reading.graph, sight, natures=reading.natures, trackers=reading.trackers())
    looked = Looked(
        reading.graph,
        found,
        sight,
        particulars=reading.particulars,
        served=reading.served,
        now=world.now(),
    )
    mechanism.evidence = by_rules.evidence = ReadEvidence(
        looked, finishes, taught=taught.waived(survey.knowledge.settings.usage.ignore_kinds), rules=rules
    )
    survey.doubts += told_waived(sight)
    return looked


async def _finishes(
    world: World, resource: Resource, place: str, *, labels: str
) -> dict[Uid, tuple[str, Finish | Doubt | None]]:
    table, kind = finishing.shipped(), kind_name(resource)
    view: Any = table.view(kind)
    found: dict[Uid, tuple[str, Finish | Doubt | None]] = {}
    if view is None:
        return found
    scope = Scope(namespace=place, labels=labels)
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


def is_waiting(found: Finding, survey: Survey) -> bool:
    """Whether only the label or a policy of retention speaks of it, and its time has not begun: nobody's mistake."""
    row, notes = found.row, found.verdict.notes
    waits = not found.verdict.claims and (row.label(names.TTL_AFTER_LABEL) is not None or _ruled(row, survey))
    return waits and bool(notes) and not any(REASONS[note.code].role == "problem" for note in notes)


def parted(found: Iterable[Finding], survey: Survey) -> tuple[list[Finding], list[Finding]]:
    """What has to be told of single objects, and what only waits."""
    told: list[Finding] = []
    waiting: list[Finding] = []
    for one in found:
        (waiting if is_waiting(one, survey) else told).append(one)
    return told, waiting


def told_waiting(waiting: Collection[Finding]) -> list[str]:
    labelled = sum(one.row.label(names.TTL_AFTER_LABEL) is not None for one in waiting)
    counts = ((labelled, names.TTL_AFTER_LABEL), (len(waiting) - labelled, "retention policies"))
    told = "in use, owned, not finished, or not marked yet; `skoupa explain KIND/NAME` says which"
    return [
        f"waiting for {what} to count: {number} {'objects' if number > 1 else 'object'} ({told})"
        for number, what in counts
        if number
    ]


def _ruled(row: Row, survey: Survey) -> bool:
    mechanism = survey.knowledge.retention_rules
    return mechanism is not None and mechanism.rules.wish(row) is not None
