"""The rules of a row, as SQL that both databases run: what a change may do to what is there.

A deletion is never taken back: `deleted` stays, `terminating` can only become `deleted`, and what went by us as far as is known
is not somebody else's because it is found gone once more. Whoever intended last owns
the row, so a leader that was replaced can't close what its successor has opened, unless it did delete the object.
What is in the trash is of the last try that may have deleted the object: a later one that has nothing to put there, or
comes when the object is gone, leaves it. A statement reads its rows from `n`, which each database fills in its own way.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import msgspec

from skoupa.ledger.reading import details_of
from skoupa.ledger.rows import Entry, clean, error_text
from skoupa.ledger.store import Change, Finish, Intent, Note, Resolution, Restored, Told

Values = tuple[Any, ...]


class Statement(msgspec.Struct, frozen=True, kw_only=True):
    """`columns` are those of `n`, with the types that PostgreSQL wants to hear; `decides`: it makes rows."""

    columns: tuple[tuple[str, str], ...]
    text: str
    decides: bool = False


_ENTRY_COLUMNS: Final = (
    ("cluster", "int"),
    ("id", "text"),
    ("uid", "text"),
    ("at", "float8"),
    ("kind", "text"),
    ("resource", "text"),
    ("namespace", "text"),
    ("name", "text"),
    ("mechanism", "text"),
    ("rule", "text"),
    ("run", "text"),
    ("outcome", "text"),
    ("epoch", "int8"),
    ("attempts", "int"),
    ("weight", "int8"),
    ("finished_at", "float8"),
    ("error", "text"),
    ("details", "text"),
)
_IDENTITY: Final = {"cluster", "id", "uid", "attempts"}


def _upsert(unless: str, *, also: str = "") -> Statement:
    names = ", ".join(name for name, _ in _ENTRY_COLUMNS)
    renewed = ", ".join(f"{name} = excluded.{name}" for name, _ in _ENTRY_COLUMNS if name not in _IDENTITY)
    return Statement(
        columns=_ENTRY_COLUMNS,
        # `WHERE true` keeps SQLite from reading ON as part of a join.
        text=f"INSERT INTO skoupa_entries ({names}) SELECT {names} FROM n WHERE true"  # noqa: S608 - constants
        f" ON CONFLICT (cluster, uid) DO UPDATE SET {renewed}, told = 0,{also}"
        " attempts = skoupa_entries.attempts + excluded.attempts"
        f" WHERE skoupa_entries.outcome NOT IN ({unless})",
        decides=True,
    )


_DELETIONS: Final = "'deleted', 'terminating'"
# No object comes back under its uid, so whatever is there is all that there will ever be.
_GONE: Final = "'gone', 'gone-by-unknown'"


# What is looked for once more because a watch is late stays what it was.
_WENT: Final = f"{_DELETIONS}, 'gone-by-unknown'"


def _intend(*, unless: str) -> Statement:
    """What was kept stays where the row's outcome is one of these; else 0 says that there is room for something new."""
    return _upsert(
        _WENT,
        also=f" kept = CASE WHEN skoupa_entries.outcome IN ({unless}) THEN skoupa_entries.kept ELSE 0 END,",
    )


_INTEND_KEEPING: Final = _intend(unless=_GONE)
# The one that is still open may have deleted it, and then what it kept is all that is left.
_INTEND_BARE: Final = _intend(unless=f"'intended', {_GONE}")
_INTEND_GONE: Final = _upsert(_WENT)
# An open intent is news that must not be written over before it has its outcome.
_NOTE: Final = _upsert(f"{_DELETIONS}, 'intended', {_GONE}")
_FINISH: Final = Statement(
    columns=(
        ("cluster", "int"),
        ("uid", "text"),
        ("epoch", "int8"),
        ("outcome", "text"),
        ("at", "float8"),
        ("error", "text"),
    ),
    text="UPDATE skoupa_entries AS e SET"
    " outcome = CASE e.outcome WHEN 'terminating' THEN 'deleted' ELSE n.outcome END,"
    " finished_at = CASE n.outcome WHEN 'intended' THEN NULL ELSE n.at END, error = n.error"
    " FROM n WHERE e.cluster = n.cluster AND e.uid = n.uid AND ("
    "(e.outcome = 'terminating' AND n.outcome IN ('deleted', 'gone'))"
    " OR (e.outcome NOT IN ('deleted', 'terminating') AND n.outcome IN ('deleted', 'terminating'))"
    " OR (e.outcome NOT IN ('deleted', 'terminating', 'gone-by-unknown') AND e.epoch = n.epoch))",
)
_RESOLVE: Final = Statement(
    columns=(
        ("cluster", "int"),
        ("uid", "text"),
        ("seen", "int8"),
        ("epoch", "int8"),
        ("outcome", "text"),
        ("at", "float8"),
        ("error", "text"),
    ),
    text="UPDATE skoupa_entries AS e"
    " SET outcome = n.outcome, epoch = n.epoch, finished_at = n.at, error = n.error"
    " FROM n WHERE e.cluster = n.cluster AND e.uid = n.uid AND e.epoch = n.seen"
    " AND (e.outcome = 'intended' OR (e.outcome = 'terminating' AND n.outcome = 'deleted'))",
)
_TELL: Final = Statement(
    columns=(("cluster", "int"), ("uid", "text")),
    text="UPDATE skoupa_entries AS e SET told = 1 FROM n WHERE e.cluster = n.cluster AND e.uid = n.uid",
)
_RESTORE: Final = Statement(
    columns=(("cluster", "int"), ("uid", "text"), ("restored_as", "text")),
    text="UPDATE skoupa_entries AS e SET restored_as = n.restored_as"
    " FROM n WHERE e.cluster = n.cluster AND e.uid = n.uid",
)
# After the intent, which locks the row: whatever others do to it then waits. A row that did not take the intent has no
# room, and neither has one that keeps what it has.
_HAS_ROOM: Final = "e.cluster = n.cluster AND e.uid = n.uid AND e.outcome = 'intended' AND e.kept = 0"
# What an earlier try kept goes whole, also where nothing takes its place: it is of another moment.
_CLEAR_BODIES: Final = Statement(
    columns=(("cluster", "int"), ("uid", "text")),
    # Not as pairs: SQLite would compare them with every body there is.
    text="DELETE FROM skoupa_bodies WHERE cluster = (SELECT min(cluster) FROM n) AND uid IN"  # noqa: S608 - constants
    f" (SELECT n.uid FROM n CROSS JOIN skoupa_entries AS e WHERE {_HAS_ROOM})",
)
_PUT_BODIES: Final = Statement(
    columns=(("cluster", "int"), ("uid", "text"), ("part", "text"), ("form", "text"), ("data", "bytea")),
    text="INSERT INTO skoupa_bodies (cluster, uid, part, form, data)"  # noqa: S608 - constants
    " SELECT n.cluster, n.uid, n.part, n.form, n.data FROM n CROSS JOIN skoupa_entries AS e"
    f" WHERE {_HAS_ROOM}",
)
_WEIGH_BODIES: Final = Statement(
    columns=(("cluster", "int"), ("uid", "text"), ("kept", "int8"), ("partly", "int")),
    text=f"UPDATE skoupa_entries AS e SET kept = n.kept, partly = n.partly FROM n WHERE {_HAS_ROOM}",  # noqa: S608 - constants
)


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
    Note: (_NOTE, lambda cluster, one: _entry(cluster, one.entry, intended=False)),
    Finish: (_FINISH, _finish),
    Resolution: (_RESOLVE, _resolve),
    Told: (_TELL, lambda cluster, one: (cluster, one.uid)),
    Restored: (_RESTORE, lambda cluster, one: (cluster, one.uid, one.restored_as)),
}
# In the order in which changes of one object usually come, so that a batch needs few rounds.
_RANK: Final[dict[type[Change], int]] = {kind: rank for rank, kind in enumerate((Intent, *_SIMPLE))}


# Whether there is anything in the trash: asking costs nothing next to looking for each object.
ANY_BODY: Final = "SELECT EXISTS (SELECT 1 FROM skoupa_bodies)"


def planned(
    cluster: int, changes: Sequence[Change], *, keeps: bool
) -> Iterable[tuple[Statement, list[Values]]]:
    """The statements to run one after the other. Each has a uid once, and changes of one uid stay in their order.

    `keeps`: there is anything in the trash at all.
    """
    for group in _rounds(changes):
        # Two writers that lock the same rows in different orders would wait for each other.
        group.sort(key=_uid)
        intents = [one for one in group if isinstance(one, Intent)]
        if intents:
            yield from _intended(cluster, intents, keeps=keeps)
        else:
            statement, values = _SIMPLE[type(group[0])]
            yield statement, [values(cluster, one) for one in group]


def _intended(
    cluster: int, intents: Sequence[Intent], *, keeps: bool
) -> Iterable[tuple[Statement, list[Values]]]:
    keeping = [one for one in intents if one.bodies]
    bare = [one for one in intents if not one.bodies and not one.found_gone]
    gone = [one for one in intents if not one.bodies and one.found_gone]
    for statement, some in ((_INTEND_KEEPING, keeping), (_INTEND_BARE, bare), (_INTEND_GONE, gone)):
        if some:
            yield statement, [_entry(cluster, one.entry, intended=True) for one in some]
    if keeps and (keeping or bare):
        yield _CLEAR_BODIES, [(cluster, one.uid) for one in (*keeping, *bare)]
    if keeping:
        yield (
            _PUT_BODIES,
            [(cluster, one.uid, body.part, body.form, body.data) for one in keeping for body in one.bodies],
        )
        yield (
            _WEIGH_BODIES,
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
