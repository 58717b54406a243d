"""What goes with a Namespace or a definition, counted, and whether data goes for good.

A count costs one object (the server says how many remain), so it is asked per kind and container. PersistentVolumes are
read once for everything: each names the claim that it is bound to. What can't be counted is said, never taken as none.
`counting` sees to it that a kind that does not answer keeps nobody.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Final

import msgspec

from skoupa.controller.sight.watchable import SHORT_LIVED
from skoupa.controller.weighing.counting import Counting
from skoupa.errors import ApiError, BadReply, KindUnreadable, SkoupaError, TimedOut
from skoupa.facts.rows import Row, Uid, pack_uid
from skoupa.judge.cascade import is_definition, is_namespace, waived_group
from skoupa.kube.client import Client
from skoupa.kube.kinds import Discovery
from skoupa.kube.lists import everything
from skoupa.kube.objects import Metadata, View
from skoupa.kube.resources import Resource
from skoupa.model.reasons import Reason, reason

COUNTS_AT_A_TIME: Final = 16
_VOLUMES: Final = Resource(
    version="v1", plural="persistentvolumes", kind="PersistentVolume", namespaced=False
)
_CLAIMS: Final = "persistentvolumeclaims"


class Weight(msgspec.Struct, kw_only=True):
    """`objects` counts by kind what goes along, `uncounted` says why a kind could not be counted."""

    objects: dict[str, int] = msgspec.field(default_factory=dict)
    uncounted: dict[str, str] = msgspec.field(default_factory=dict)
    data: tuple[Reason, ...] = ()

    @property
    def total(self) -> int:
        return sum(self.objects.values())

    def notes(self) -> Iterator[Reason]:
        counted = ", ".join(f"{kind} {number}" for kind, number in sorted(self.objects.items()) if number)
        what = f"{self.total} object{'s' * (self.total != 1)}" + (f" ({counted})" if counted else "")
        if self.uncounted:
            what += f" and what could not be counted: {', '.join(sorted(self.uncounted))}"
        if self.objects or self.uncounted:
            yield reason("takes-along", what=what)
        yield from self.data


class _ClaimRef(msgspec.Struct, frozen=True, kw_only=True):
    namespace: str = ""
    name: str = ""
    uid: str = ""


class _VolumeSpec(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    # The server's default for a volume that somebody made by hand.
    persistent_volume_reclaim_policy: str = "Retain"
    claim_ref: _ClaimRef | None = None


class _VolumeStatus(msgspec.Struct, frozen=True, kw_only=True):
    phase: str = ""


class _Volume(msgspec.Struct, frozen=True, kw_only=True):
    metadata: Metadata
    spec: _VolumeSpec = _VolumeSpec()
    status: _VolumeStatus = _VolumeStatus()


async def weigh(rows: Sequence[Row], *, client: Client, discovery: Discovery) -> dict[Uid, Weight]:
    """The weight of each row that has one."""
    weights = await count_inside(rows, counting=Counting(client), discovery=discovery)
    await _weigh_data(rows, weights, client)
    return weights


def _no_kind(_: str) -> bool:
    return False


async def count_inside(
    rows: Sequence[Row],
    *,
    counting: Counting,
    discovery: Discovery,
    needed: Callable[[str], bool] = _no_kind,
) -> dict[Uid, Weight]:
    """How much is in each row that contains others, without looking for data.

    Where a kind that is `needed` does not answer, the others are not waited for: that raises.
    """
    weights = {row.uid: Weight() for row in rows if is_namespace(row) or is_definition(row)}
    ahead = iter([(row, kind) for row in rows if row.uid in weights for kind in _inside(row, discovery)])

    async def work() -> None:
        for row, kind in ahead:
            weight = weights[row.uid]
            try:
                number = await counting.count(kind, namespace=row.name if is_namespace(row) else "")
            except (ApiError, BadReply, TimedOut) as error:
                weight.uncounted[kind.qualified] = _short(error)
                if isinstance(error, TimedOut) and needed(kind.qualified):
                    raise _not_all(row, f"{kind.qualified} ({_short(error)})") from error
            else:
                weight.objects[kind.qualified] = number

    async with asyncio.TaskGroup() as group:
        for _ in range(COUNTS_AT_A_TIME):
            group.create_task(work())
    return weights


def uncounted(weight: Weight, *, ignore: Collection[str]) -> str:
    """What could not be counted and is not waived, and why; empty: all was."""
    gaps = (
        f"{kind} ({why})" for kind, why in sorted(weight.uncounted.items()) if not _is_waived(kind, ignore)
    )
    return ", ".join(gaps)


def _is_waived(kind: str, ignore: Collection[str]) -> bool:
    return kind in ignore or waived_group(kind.partition(".")[2], ignore)


async def weigh_whole(row: Row, *, counting: Counting, discovery: Discovery, ignore: Collection[str]) -> int:
    """How much is in one row; raises where not all of that can be counted, for what nobody can weigh does not go."""
    try:
        weights = await count_inside(
            [row], counting=counting, discovery=discovery, needed=lambda kind: not _is_waived(kind, ignore)
        )
    except* SkoupaError as errors:
        first = errors.exceptions[0]
    else:
        gap = uncounted(weights[row.uid], ignore=ignore)
        if gap:
            raise _not_all(row, gap)
        return weights[row.uid].total
    if isinstance(first, KindUnreadable):
        raise first
    # A count that got no answer is no delete that got none.
    raise KindUnreadable(f"what {row.name} takes along can't be counted: {first}") from first


def _not_all(row: Row, gap: str) -> KindUnreadable:
    return KindUnreadable(f"what {row.name} takes along can't all be counted: {gap}")


def _inside(row: Row, discovery: Discovery) -> Iterator[Resource]:
    for resource in discovery.preferred():
        if not resource.may("list", "delete") or resource.qualified in SHORT_LIVED:
            continue
        if resource.namespaced if is_namespace(row) else resource.qualified == row.name:
            yield resource


async def _weigh_data(rows: Iterable[Row], weights: dict[Uid, Weight], client: Client) -> None:
    """Only who holds volumes is worth the list of all of them."""
    holders = [row for row in rows if _may_hold_data(row, weights.get(row.uid))]
    if not holders:
        return
    try:
        losses = _Losses(await _volumes(client))
    except (ApiError, BadReply, TimedOut) as error:
        unknown = (reason("data-unknown", why=f"PersistentVolumes can't be read ({_short(error)})"),)
        for row in holders:
            weights.setdefault(row.uid, Weight()).data = unknown
        return
    for row in holders:
        lost = losses.of(row)
        if lost:
            weights.setdefault(row.uid, Weight()).data = (reason("data-goes", why=_words(row, lost)),)


def _may_hold_data(row: Row, weight: Weight | None) -> bool:
    if is_namespace(row):
        return weight is None or _CLAIMS in weight.uncounted or bool(weight.objects.get(_CLAIMS))
    return row.resource.qualified in {_CLAIMS, _VOLUMES.plural}


class _Losses:
    """Volumes whose data ends with their claim, by whom they belong to."""

    def __init__(self, volumes: Iterable[_Volume]) -> None:
        self._by_place: dict[tuple[str, str], list[_Volume]] = {}
        self._by_uid: dict[Uid, _Volume] = {}
        for volume in volumes:
            if volume.spec.persistent_volume_reclaim_policy != "Delete":
                continue
            self._by_uid[pack_uid(volume.metadata.uid)] = volume
            ref = volume.spec.claim_ref
            # Released: its claim is gone already.
            if ref is not None and volume.status.phase not in {"Released", "Failed"}:
                for place in ((ref.namespace, ref.name), (ref.namespace, "")):
                    self._by_place.setdefault(place, []).append(volume)

    def of(self, row: Row) -> list[str]:
        """Names of the volumes that end with it."""
        if is_namespace(row):
            return [volume.metadata.name for volume in self._by_place.get((row.name, ""), ())]
        if row.resource.qualified == _VOLUMES.plural:
            return [row.name] if row.uid in self._by_uid else []
        return [
            volume.metadata.name
            for volume in self._by_place.get((row.namespace, row.name), ())
            if _is_claim_of(volume, row)
        ]


def _is_claim_of(volume: _Volume, row: Row) -> bool:
    """A claim of the same name that came later is another one; manifests written by hand name no uid."""
    ref = volume.spec.claim_ref
    return ref is not None and (not ref.uid or pack_uid(ref.uid) == row.uid)


def _words(row: Row, lost: Sequence[str]) -> str:
    if is_namespace(row):
        many = "PersistentVolume" if len(lost) == 1 else "PersistentVolumes"
        return f"PV reclaim policy Delete on {len(lost)} {many} of its claims"
    return f"PV reclaim policy Delete ({', '.join(lost)})"


async def _volumes(client: Client) -> list[_Volume]:
    view: View[_Volume] = View(type=_Volume)
    found = await everything(client, _VOLUMES, view)
    if found.undecodable:
        raise BadReply(f"{len(found.undecodable)} of them can't be understood")
    return found.items


def _short(error: SkoupaError) -> str:
    return error.status.message or error.message if isinstance(error, ApiError) else error.message
