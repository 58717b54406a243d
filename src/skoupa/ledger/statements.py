"""The rules of a row, as SQL that both databases run: what a change may do to what is there.

A deletion is never taken back: `deleted` stays, and `terminating` can only become `deleted`. Whoever intended last owns
the row, so a leader that was replaced can't close what its successor has opened, unless it did delete the object.
A statement reads its rows from `n`, which each database fills in its own way.
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


_INTEND: Final = _upsert("'deleted', 'terminating'", also=" kept = 0,")
# An open intent is news that must not be written over before it has its outcome.
_NOTE: Final = _upsert("'deleted', 'terminating', 'intended'")
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
    " OR (e.outcome NOT IN ('deleted', 'terminating')"
    " AND (e.epoch = n.epoch OR n.outcome IN ('deleted', 'terminating'))))",
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
# A second manifest replaces the first one whole: parts of different moments do not belong together.
_CLEAR_BODIES: Final = Statement(
    columns=(("cluster", "int"), ("uid", "text")),
    # Not as pairs: SQLite would compare them with every body there is.
    text="DELETE FROM skoupa_bodies WHERE cluster = (SELECT min(cluster) FROM n) AND uid IN (SELECT uid FROM n)",
)
# So does none: what an earlier try kept is of another moment.
_CLEAR_STALE: Final = Statement(
    columns=(("cluster", "int"), ("uid", "text")),
    text="DELETE FROM skoupa_bodies WHERE cluster = (SELECT min(cluster) FROM n) AND uid IN"
    " (SELECT n.uid FROM n JOIN skoupa_entries AS e ON e.cluster = n.cluster AND e.uid = n.uid"
    " WHERE e.kept > 0 AND e.outcome NOT IN ('deleted', 'terminating'))",
)
_PUT_BODIES: Final = Statement(
    columns=(("cluster", "int"), ("uid", "text"), ("part", "text"), ("form", "text"), ("data", "bytea")),
    text="INSERT INTO skoupa_bodies (cluster, uid, part, form, data)"
    " SELECT cluster, uid, part, form, data FROM n",
)
_WEIGH_BODIES: Final = Statement(
    columns=(("cluster", "int"), ("uid", "text"), ("kept", "int8")),
    text="UPDATE skoupa_entries AS e SET kept = n.kept FROM n WHERE e.cluster = n.cluster AND e.uid = n.uid",
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


# In the order in which changes of one object usually come, so that a batch needs few rounds.
_SIMPLE: Final[dict[type[Change], tuple[Statement, Callable[[int, Any], Values]]]] = {
    Intent: (_INTEND, lambda cluster, one: _entry(cluster, one.entry, intended=True)),
    Note: (_NOTE, lambda cluster, one: _entry(cluster, one.entry, intended=False)),
    Finish: (_FINISH, _finish),
    Resolution: (_RESOLVE, _resolve),
    Told: (_TELL, lambda cluster, one: (cluster, one.uid)),
    Restored: (_RESTORE, lambda cluster, one: (cluster, one.uid, one.restored_as)),
}
_RANK: Final = {kind: rank for rank, kind in enumerate(_SIMPLE)}


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
        statement, values = _SIMPLE[type(group[0])]
        bare = [one for one in group if isinstance(one, Intent) and not one.bodies]
        if bare and keeps:
            yield _CLEAR_STALE, [(cluster, one.uid) for one in bare]
        yield statement, [values(cluster, one) for one in group]
        kept = [one for one in group if isinstance(one, Intent) and one.bodies]
        if kept:
            yield _CLEAR_BODIES, [(cluster, one.uid) for one in kept]
            yield (
                _PUT_BODIES,
                [(cluster, one.uid, body.part, body.form, body.data) for one in kept for body in one.bodies],
            )
            yield (
                _WEIGH_BODIES,
                [(cluster, one.uid, sum(len(body.data) for body in one.bodies)) for one in kept],
            )


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
