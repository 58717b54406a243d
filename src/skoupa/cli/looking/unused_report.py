"""What nothing needs, found and sorted: the answer behind `unused`, before anybody renders it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import msgspec

from skoupa import names
from skoupa.cli.looking.unused_document import NotJudgedItem, Size, UnreadKeys, UnusedDocument, UnusedItem
from skoupa.cli.terminal.items import ToldReason, moment
from skoupa.cli.terminal.shape import ToldGap
from skoupa.cli.worlds import World
from skoupa.controller.survey import kind_of
from skoupa.errors import UsageError
from skoupa.facts.rows import Row, uid_text
from skoupa.judge.protection import Protection
from skoupa.judge.retention import unneeded_since
from skoupa.kube.discovery import discover
from skoupa.kube.kinds import Discovery
from skoupa.kube.resources import Resource
from skoupa.kube.selectors import LabelSelector
from skoupa.kube.timestamps import whole_seconds
from skoupa.model.reasons import Reason, reason, render
from skoupa.runs.using.profiles import profiles_of
from skoupa.runs.using.reading import UsageReading
from skoupa.settings import Settings
from skoupa.usage.found import Target
from skoupa.usage.graph import kind_name
from skoupa.usage.leftovers.answers import is_used_by_others
from skoupa.usage.leftovers.judging import Leftover, NotJudged, judge
from skoupa.usage.leftovers.keys import unread_keys
from skoupa.usage.leftovers.looked import Looked
from skoupa.usage.leftovers.questions import ON_REQUEST, QUESTIONS
from skoupa.usage.needs import Needs, Unknown
from skoupa.usage.reading import Readings
from skoupa.usage.sight import Sight, Unread


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """Which objects are asked about. `namespace` empty: all of them; `younger` than so many seconds are not told."""

    kinds: tuple[str, ...] = ()
    namespace: str = ""
    labels: LabelSelector | None = None
    younger: int = 0
    keys: bool = False


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """`asked` are the kinds that were looked at; `given` as in a World."""

    now: float
    namespace: str
    asked: tuple[Resource, ...]
    leftovers: list[Leftover]
    not_judged: list[NotJudged]
    keys: list[UnreadKeys] | None
    looked_at: int
    protected: int
    sight: Sight
    warnings: list[str]
    given: frozenset[str] | None

    def gaps(self) -> tuple[Unread, ...]:
        """What was not read and matters: kinds that were asked about, and what could use objects that look unused."""
        asked = {kind_name(resource) for resource in self.asked}
        found = [one for one in self.sight.unread if one.kind in asked]
        found += (gap for one in self.not_judged for gap in one.why.unread)
        return tuple(dict.fromkeys(found))

    def document(self) -> UnusedDocument:
        return UnusedDocument(
            now=whole_seconds(self.now),
            looked_at=self.looked_at,
            protected=self.protected,
            items=tuple(self.item(one) for one in self.leftovers),
            keys=msgspec.UNSET if self.keys is None else tuple(self.keys),
            not_judged=tuple(_not_judged(one) for one in self.not_judged),
            gaps=_gaps(self.gaps()),
            waived=_gaps((*self.sight.waived, *self.sight.overlooked)),
            warnings=tuple(self.warnings),
        )

    def item(self, found: Leftover) -> UnusedItem:
        row, told = found.row, found.reason
        uid = uid_text(row.uid)
        return UnusedItem(
            api_version=row.resource.api_version,
            kind=row.resource.kind,
            namespace=row.namespace,
            name=row.name,
            uid=uid if self.given is None or uid in self.given else "",
            created=moment(row.created or None),
            unneeded_since=moment(since(row, self.now)),
            size=Size(bytes=found.particulars.size, capacity=found.particulars.capacity),
            reason=_told(told),
            confidence=found.confidence,
            walked_kinds=found.walked,
        )


async def make_report(
    world: World, *, settings: Settings, wanted: Wanted, by_kind: bool, progress: Callable[[str], None]
) -> Report:
    began = world.now()
    discovery = await discover(world.client)
    taught, doubts = await profiles_of(world.client, discovery)
    asked = asked_for(discovery, wanted.kinds, taught.readings(), inside=bool(wanted.namespace))
    reading = UsageReading(
        world.client,
        discovery,
        taught,
        asked=asked,
        place=wanted.namespace,
        ignored=settings.usage.ignore_kinds,
        keys=wanted.keys,
        progress=progress,
    )
    await reading.read()
    now, sight = world.now(), reading.sight()
    if asked and len(reading.refused) == len(asked):
        progress("")
        raise next(iter(reading.refused.values()))
    needs = Needs(reading.graph, sight, natures=reading.natures, trackers=reading.trackers())
    looked = Looked(
        reading.graph, needs, sight, particulars=reading.particulars, served=reading.served, now=now
    )
    progress(f"{len(reading.graph)} objects, judging")

    def namespace_label(namespace: str) -> str | None:
        found = reading.graph.get(Target("Namespace", "", namespace))
        return None if found is None else found.label(names.KEEP_LABEL)

    protection = Protection(settings.protect, namespace_label=namespace_label, home=settings.lease.namespace)
    leftovers: list[Leftover] = []
    not_judged: list[NotJudged] = []
    keys: list[UnreadKeys] = []
    looked_at = protected = 0
    for row in _candidates(world, reading, asked, wanted):
        # Whoever needs what was made while this looked around may have come after its list was read.
        if world.given is None and row.created >= int(began):
            continue
        looked_at += 1
        if protection.reasons(row, now):
            protected += 1
            continue
        if wanted.younger and now - row.created < wanted.younger:
            continue
        found = _judged(looked, row)
        if isinstance(found, Leftover):
            leftovers.append(found)
        elif found is not None:
            not_judged.append(found)
        elif unread := unread_keys(looked, row, reading.keys.get(row.uid, ()), reading.key_uses):
            keys.append(_keys(row, unread, walked=bool(sight.walked)))
    progress("")
    return Report(
        now=now,
        namespace=wanted.namespace,
        asked=tuple(asked),
        leftovers=sorted(leftovers, key=lambda one: _order(one.row, by_kind=by_kind)),
        not_judged=sorted(not_judged, key=lambda one: _order(one.row, by_kind=by_kind)),
        keys=sorted(keys, key=lambda one: (one.namespace, one.kind, one.name)) if wanted.keys else None,
        looked_at=looked_at,
        protected=protected,
        sight=sight,
        warnings=doubts,
        given=world.given,
    )


def asked_for(
    discovery: Discovery, kinds: Sequence[str], readings: Readings, *, inside: bool
) -> list[Resource]:
    """The kinds that are meant; none named: those of which it says something that nothing needs an object."""
    if not kinds:
        return [
            resource
            for resource in discovery.preferred()
            if kind_name(resource) in QUESTIONS.keys() - ON_REQUEST
            and resource.may("list")
            and (resource.namespaced or not inside)
        ]
    return list(dict.fromkeys(_answerable(kind_of(discovery, kind), readings) for kind in kinds))


def _answerable(resource: Resource, readings: Readings) -> Resource:
    if is_used_by_others(resource, readings):
        return resource
    raise UsageError(
        f"{resource.qualified} are there for themselves: that nothing uses one says nothing",
        advice="name kinds that others use, such as configmaps,secrets,persistentvolumeclaims; none means all of those",
    )


def since(row: Row, now: float) -> float | None:
    """When it was first seen unneeded, as written on it; what can't be so is not told."""
    found = unneeded_since(row, now)
    return found if found is not None and found <= now else None


def _candidates(
    world: World, reading: UsageReading, asked: Sequence[Resource], wanted: Wanted
) -> Iterator[Row]:
    resources = frozenset(asked)
    for row in reading.graph:
        if row.resource not in resources or row.deleted_at:
            continue
        if wanted.namespace and row.namespace not in ("", wanted.namespace):
            continue
        if world.given is not None and (row.resource.kind, row.namespace, row.name) not in world.brought:
            continue
        if wanted.labels is None or wanted.labels.matches(dict(row.labels)):
            yield row


def _judged(looked: Looked, row: Row) -> Leftover | NotJudged | None:
    found = judge(looked, row)
    home = Target("Namespace", "", row.namespace)
    if isinstance(found, Leftover) and row.namespace and looked.graph.get(home) is None:
        # A Namespace that was not read may say that all in it is kept.
        unread = tuple(one for one in looked.sight.unread if one.kind == home.kind)
        return NotJudged(row, Unknown(unread)) if unread else found
    return found


def _order(row: Row, *, by_kind: bool) -> tuple[str, str, str]:
    first = (row.resource.kind, row.namespace) if by_kind else (row.namespace, row.resource.kind)
    return (*first, row.name)


def _told(told: Reason) -> ToldReason:
    return ToldReason(code=told.code, facts=dict(told.facts), text=render(told))


def _keys(row: Row, keys: tuple[str, ...], *, walked: bool) -> UnreadKeys:
    return UnreadKeys(
        api_version=row.resource.api_version,
        kind=row.resource.kind,
        namespace=row.namespace,
        name=row.name,
        keys=keys,
        reason=_told(reason("keys-unread", keys=", ".join(keys))),
        confidence="walked" if walked else "proved",
    )


def _gaps(unread: Sequence[Unread]) -> tuple[ToldGap, ...]:
    return tuple(ToldGap(what=one.what, why=one.why) for one in unread)


def _not_judged(found: NotJudged) -> NotJudgedItem:
    row = found.row
    return NotJudgedItem(
        api_version=row.resource.api_version,
        kind=row.resource.kind,
        namespace=row.namespace,
        name=row.name,
        unread=_gaps(found.why.unread),
        doubts=found.why.doubts,
    )
