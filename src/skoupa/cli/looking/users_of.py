"""Who needs single objects, for `explain`: the proofs, or that nobody does, or that this can't be told; also in words.

It costs a list of every kind that could use them, so it is done only where it is asked for (`--users`), or where retention is about
the object, and so all of that was read anyway.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import Final

import msgspec

from skoupa.cli.looking.chains import way_up
from skoupa.cli.terminal.needs_told import ItemNeeds, ToldLink, ToldNeed
from skoupa.cli.terminal.shape import ToldGap
from skoupa.cli.worlds import World
from skoupa.facts.rows import Row, Uid
from skoupa.judge.retention import Evidence
from skoupa.kube.discovery import discover
from skoupa.runs.using.profiles import profiles_of
from skoupa.runs.using.reading import UsageReading
from skoupa.settings import Settings
from skoupa.usage.finishing import Ends
from skoupa.usage.graph import kind_name
from skoupa.usage.leftovers.looked import Looked
from skoupa.usage.leftovers.worth import for_itself, good_for, is_asked
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
    of_ends = taught.waived(settings.usage.ignore_kinds)
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
        sight = reading.sight()
        needs = Needs(reading.graph, sight, natures=reading.natures, trackers=reading.trackers())
        looked = Looked(
            reading.graph,
            needs,
            sight,
            particulars=reading.particulars,
            served=reading.served,
            now=world.now(),
        )
        for row in group:
            found[row.uid] = told(
                _answer(looked, row, ends=of_ends.ends(kind_name(row.resource))), looked, row
            )
    progress("")
    return found


def _answer(looked: Looked, row: Row, *, ends: Ends) -> Answer:
    """Who needs it, or what it is good for although nobody does, as `skoupa unused` would ask."""
    answer = looked.needs.of(row, most=MOST_TOLD)
    if isinstance(answer, Needed):
        return answer
    alone = for_itself(row, ends=ends, finish=None, readings=looked.sight.readings)
    if alone is not None or not is_asked(kind_name(row.resource)):
        return alone or answer
    return good_for(looked, row) or answer


def _place(row: Row) -> tuple[str, str]:
    return row.resource.qualified, row.namespace


def told_of(looked: Looked, row: Row, *, evidence: Evidence) -> ItemNeeds | None:
    """As `evidence` has it, with more proofs; None: nobody has asked."""
    answer = evidence.needs(row)
    if isinstance(answer, Needed):
        more = looked.needs.of(row, most=MOST_TOLD)
        answer = more if isinstance(more, Needed) else answer
    return None if answer is None else told(answer, looked, row)


def told(answer: Answer, looked: Looked, row: Row) -> ItemNeeds:
    if isinstance(answer, Needed):
        proofs = [(need, way_up(looked, row, need)) for need in answer.needs]
        # The shortest proof first; of equals as they were found.
        proofs.sort(key=lambda proof: len(proof[1]))
        return ItemNeeds(answer="needed", needs=tuple(_proof(need, way) for need, way in proofs))
    if isinstance(answer, Unknown):
        unread = tuple(ToldGap(what=one.what, why=one.why) for one in answer.unread)
        return ItemNeeds(answer="unknown", unread=unread, doubts=answer.doubts)
    return ItemNeeds(answer="unneeded", confidence=answer.confidence, walked_kinds=answer.walked)


def lines(needs: ItemNeeds) -> tuple[str, ...]:
    return tuple(_in_words(needs))


def _in_words(needs: ItemNeeds) -> Iterator[str]:
    if needs.answer == "needed":
        for need in needs.needs:
            yield _sentence(need)
            yield from (f"{'  ' * depth}{_sentence(link)}" for depth, link in enumerate(need.chain, 1))
        if len(needs.needs) == MOST_TOLD:
            yield "needed by perhaps more: these are the first that were found"
    elif needs.answer == "unneeded":
        searched = f", by a search through {', '.join(needs.walked_kinds)}" if needs.walked_kinds else ""
        yield f"needed by nobody ({needs.confidence}{searched})"
    else:
        yield "needed by nobody that was found, but not all could be read or understood:"
        yield from (f"  {gap.what} ({gap.why})" for gap in needs.unread)
        yield from (f"  {doubt}" for doubt in needs.doubts)


def _proof(need: Need, way: tuple[Need, ...]) -> ToldNeed:
    own = msgspec.structs.asdict(_told(need))
    return ToldNeed(**own, chain=tuple(_told(one) for one in way))


def _told(need: Need) -> ToldLink:
    by = need.by
    return ToldLink(
        how=need.how,
        kind=by.kind if by else "",
        namespace=by.namespace if by else "",
        name=by.name if by else "",
        at=need.at,
        means=need.means.value if need.means else "",
        why=need.why,
    )


def _sentence(need: ToldLink) -> str:
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
