"""Who needs single objects, for `explain --users`: the proofs, or that nobody does, or that this can't be told; also in words.

It costs a list of every kind that could use them, so it is done only where it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import Final

from skoupa.cli.terminal.needs_told import ItemNeeds, ToldNeed
from skoupa.cli.terminal.shape import ToldGap
from skoupa.cli.worlds import World
from skoupa.facts.rows import Row, Uid
from skoupa.kube.discovery import discover
from skoupa.runs.using.profiles import profiles_of
from skoupa.runs.using.reading import UsageReading
from skoupa.settings import Settings
from skoupa.usage.needs import Answer, Need, Needed, Needs, Unknown

MOST_TOLD: Final = 20
_VERBS: Final = {
    "uses": "used by",
    "produces": "made by",
    "manages": "managed by",
    "mentions": "mentioned by",
}


async def needs_of(
    world: World, rows: Iterable[Row], *, settings: Settings, progress: Callable[[str], None]
) -> dict[Uid, ItemNeeds]:
    discovery = await discover(world.client)
    taught, _ = await profiles_of(world.client, discovery)
    found: dict[Uid, ItemNeeds] = {}
    # What was read for one object of a kind is enough for all of them in that namespace.
    for (resource, namespace), group in groupby(
        sorted(rows, key=_place), key=lambda row: (row.resource, row.namespace)
    ):
        reading = UsageReading(
            world.client,
            discovery,
            taught,
            asked=(resource,),
            place=namespace,
            ignored=settings.usage.ignore_kinds,
            keys=False,
            progress=progress,
        )
        await reading.read()
        needs = Needs(reading.graph, reading.sight(), natures=reading.natures, trackers=reading.trackers())
        for row in group:
            found[row.uid] = told(needs.of(row, most=MOST_TOLD))
    progress("")
    return found


def _place(row: Row) -> tuple[str, str]:
    return row.resource.qualified, row.namespace


def told(answer: Answer) -> ItemNeeds:
    if isinstance(answer, Needed):
        return ItemNeeds(answer="needed", needs=tuple(_told(need) for need in answer.needs))
    if isinstance(answer, Unknown):
        unread = tuple(ToldGap(what=one.what, why=one.why) for one in answer.unread)
        return ItemNeeds(answer="unknown", unread=unread, doubts=answer.doubts)
    return ItemNeeds(answer="unneeded", confidence=answer.confidence, walked_kinds=answer.walked)


def lines(needs: ItemNeeds) -> tuple[str, ...]:
    return tuple(_in_words(needs))


def _in_words(needs: ItemNeeds) -> Iterator[str]:
    if needs.answer == "needed":
        yield from (_sentence(need) for need in needs.needs)
        if len(needs.needs) == MOST_TOLD:
            yield "needed by perhaps more: these are the first that were found"
    elif needs.answer == "unneeded":
        searched = f", by a search through {', '.join(needs.walked_kinds)}" if needs.walked_kinds else ""
        yield f"needed by nobody ({needs.confidence}{searched})"
    else:
        yield "needed by nobody that was found, but not all could be read or understood:"
        yield from (f"  {gap.what} ({gap.why})" for gap in needs.unread)
        yield from (f"  {doubt}" for doubt in needs.doubts)


def _told(need: Need) -> ToldNeed:
    by = need.by
    return ToldNeed(
        how=need.how,
        kind=by.kind if by else "",
        namespace=by.namespace if by else "",
        name=by.name if by else "",
        at=need.at,
        means=need.means.value if need.means else "",
        why=need.why,
    )


def _sentence(need: ToldNeed) -> str:
    place = f"{need.namespace}/{need.name}" if need.namespace else need.name
    who = f"{need.kind.rpartition('/')[2]} {place}"
    match need.how:
        case "never" | "work":
            return f"needed: {need.why}"
        case "tracker":
            return f"tracked: {need.why}"
        case "owner":
            return f"owned by: {who}, lives"
        case "selector":
            return f"selected by: {who} ({need.at})"
        case _:
            return f"{_VERBS.get(need.means, 'needed by')}: {who} ({need.at})"
