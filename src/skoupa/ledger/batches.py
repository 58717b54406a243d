"""Which statements a batch of changes needs, with their rows, and what of it may run together or has to come in order.

Each statement has a uid once, and its rows are in the order of their uids: two writers that lock the same rows in different
orders would wait for each other.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from skoupa.ledger.reading import details_of
from skoupa.ledger.rows import Entry, clean, error_text
from skoupa.ledger.statements import (
    CLEAR_BODIES,
    FINISH,
    INTEND_BARE,
    INTEND_GONE,
    INTEND_KEEPING,
    NEW,
    NOTE,
    PUT_BODIES,
    PUT_NEW,
    RESOLVE,
    RESTORE,
    TELL,
    WEIGH_BODIES,
    Statement,
)
from skoupa.ledger.store import Change, Finish, Intent, Note, Resolution, Restored, Told

Values = tuple[Any, ...]


def _entry(cluster: int, entry: Entry, *, intended: bool) -> Values:
    return (
        cluster,
        entry.id,
        entry.uid,
        entry.at,
        entry.kind,
        entry.resource,
        entry.namespace,
        entry.name,
        clean(entry.mechanism),
        clean(entry.rule),
        clean(entry.run),
        "intended" if intended else entry.outcome,
        entry.epoch,
        int(intended),
        entry.weight,
        None if intended else (entry.finished_at or entry.at),
        "" if intended else error_text(entry.error),
        details_of(entry),
    )


def _finish(cluster: int, one: Finish) -> Values:
    return (cluster, one.uid, one.epoch, one.outcome, one.at, error_text(one.error))


def _resolve(cluster: int, one: Resolution) -> Values:
    return (cluster, one.uid, one.seen, one.epoch, one.outcome, one.at, error_text(one.error))


_SIMPLE: Final[dict[type[Change], tuple[Statement, Callable[[int, Any], Values]]]] = {
    Note: (NOTE, lambda cluster, one: _entry(cluster, one.entry, intended=False)),
    Finish: (FINISH, _finish),
    Resolution: (RESOLVE, _resolve),
    Told: (TELL, lambda cluster, one: (cluster, one.uid)),
    Restored: (RESTORE, lambda cluster, one: (cluster, one.uid, one.restored_as)),
}
# In the order in which changes of one object usually come, so that a batch needs few rounds.
_RANK: Final[dict[type[Change], int]] = {kind: rank for rank, kind in enumerate((Intent, *_SIMPLE))}


def planned(
    cluster: int, changes: Sequence[Change], *, keeps: bool
) -> Iterable[tuple[Statement, list[Values]]]:
    """The statements to run one after the other. Each has a uid once, and changes of one uid stay in their order.

    `keeps`: there is anything in the trash at all.
    """
    for group in _rounds(changes):
        group.sort(key=_uid)
        intents = [one for one in group if isinstance(one, Intent)]
        if intents:
            yield from _intended(cluster, intents, keeps=keeps)
        else:
            statement, values = _SIMPLE[type(group[0])]
            yield statement, [values(cluster, one) for one in group]


def at_once(cluster: int, changes: Sequence[Change]) -> list[tuple[Statement, list[Values]]]:
    """Statements that may run together, in whatever order, for each object is in one of them, once; `apart` chose these.

    Who is new gets a row here; with bodies they have to be `put` then, and who has a row has to be written as `planned`.
    """
    group = sorted(changes, key=_uid)
    begun = [_begun(cluster, one) for one in group if isinstance(one, Intent | Note)]
    found = [(NEW, begun)] if begun else []
    for kind in (Finish, Told):
        statement, values = _SIMPLE[kind]
        if rows := [values(cluster, one) for one in group if isinstance(one, kind)]:
            found.append((statement, rows))
    return found


def apart(changes: Sequence[Change]) -> tuple[list[Change], list[Change]]:
    """Those that are alone with their object and heed nothing but its row, and the others in their order."""
    times = Counter(map(_uid, changes))
    plain = (Intent, Note, Finish, Told)
    alone: list[Change] = [one for one in changes if times[one.uid] == 1 and isinstance(one, plain)]
    return alone, [one for one in changes if times[one.uid] > 1 or not isinstance(one, plain)]


def _begun(cluster: int, one: Intent | Note) -> Values:
    if isinstance(one, Note):
        return (*_entry(cluster, one.entry, intended=False), 0, None)
    kept = _weight(one) if one.bodies else (0, None)
    return (*_entry(cluster, one.entry, intended=True), *kept)


def put(cluster: int, intents: Iterable[Intent]) -> tuple[Statement, list[Values]]:
    """What is kept of these goes to where there is nothing of them."""
    return PUT_NEW, [
        (cluster, one.uid, body.part, body.form, body.data) for one in intents for body in one.bodies
    ]


def _intended(
    cluster: int, intents: Sequence[Intent], *, keeps: bool
) -> Iterable[tuple[Statement, list[Values]]]:
    keeping = [one for one in intents if one.bodies]
    bare = [one for one in intents if not one.bodies and not one.found_gone]
    gone = [one for one in intents if not one.bodies and one.found_gone]
    for statement, some in ((INTEND_KEEPING, keeping), (INTEND_BARE, bare), (INTEND_GONE, gone)):
        if some:
            yield statement, [_entry(cluster, one.entry, intended=True) for one in some]
    if keeps and (keeping or bare):
        yield CLEAR_BODIES, [(cluster, one.uid) for one in (*keeping, *bare)]
    if keeping:
        yield (
            PUT_BODIES,
            [(cluster, one.uid, body.part, body.form, body.data) for one in keeping for body in one.bodies],
        )
        yield (
            WEIGH_BODIES,
            [(cluster, one.uid, *_weight(one)) for one in keeping],
        )


def _weight(intent: Intent) -> tuple[int, int]:
    """How much it takes in the trash, and whether it lacks something there."""
    return sum(len(body.data) for body in intent.bodies), int(any(body.partly for body in intent.bodies))


def _uid(change: Change) -> str:
    return change.uid


def _rounds(changes: Sequence[Change]) -> Iterable[list[Change]]:
    rounds: defaultdict[int, list[Change]] = defaultdict(list)
    last: dict[str, int] = {}
    for change in changes:
        rank, before = _RANK[type(change)], last.get(change.uid, -1)
        place = rank if rank > before else before + 1 + (rank - before - 1) % len(_RANK)
        last[change.uid] = place
        rounds[place].append(change)
    return [rounds[place] for place in sorted(rounds)]
