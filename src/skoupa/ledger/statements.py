"""The rules of a row, as SQL that both databases run: what a change may do to what is there.

A deletion is never taken back: `deleted` stays, `terminating` can only become `deleted`, and what went by us as far as is known
is not somebody else's because it is found gone once more. Whoever intended last owns
the row, so a leader that was replaced can't close what its successor has opened, unless it did delete the object.
What is in the trash is of the last try that may have deleted the object: a later one that has nothing to put there, or
comes when the object is gone, leaves it. A statement reads its rows from `n`, which each database fills in its own way.
"""

from __future__ import annotations

from typing import Final

import msgspec


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
_NAMES: Final = ", ".join(name for name, _ in _ENTRY_COLUMNS)
_IDENTITY: Final = {"cluster", "id", "uid", "attempts"}


def _upsert(unless: str, *, also: str = "") -> Statement:
    renewed = ", ".join(f"{name} = excluded.{name}" for name, _ in _ENTRY_COLUMNS if name not in _IDENTITY)
    return Statement(
        columns=_ENTRY_COLUMNS,
        # `WHERE true` keeps SQLite from reading ON as part of a join.
        text=f"INSERT INTO skoupa_entries ({_NAMES}) SELECT {_NAMES} FROM n WHERE true"  # noqa: S608 - constants
        f" ON CONFLICT (cluster, uid) DO UPDATE SET {renewed}, told = 0,{also}"
        " attempts = skoupa_entries.attempts + excluded.attempts"
        f" WHERE skoupa_entries.outcome NOT IN ({unless})"
        # A leader that stood still may write what it had in mind only now: its successor's delete is under way.
        " AND NOT (skoupa_entries.outcome = 'intended' AND skoupa_entries.epoch > excluded.epoch)",
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


INTEND_KEEPING: Final = _intend(unless=_GONE)
# The one that is still open may have deleted it, and then what it kept is all that is left.
INTEND_BARE: Final = _intend(unless=f"'intended', {_GONE}")
INTEND_GONE: Final = _upsert(_WENT)
# An open intent is news that must not be written over before it has its outcome.
NOTE: Final = _upsert(f"{_DELETIONS}, 'intended', {_GONE}")
FINISH: Final = Statement(
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
RESOLVE: Final = Statement(
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
TELL: Final = Statement(
    columns=(("cluster", "int"), ("uid", "text")),
    text="UPDATE skoupa_entries AS e SET told = 1 FROM n WHERE e.cluster = n.cluster AND e.uid = n.uid",
)
RESTORE: Final = Statement(
    columns=(("cluster", "int"), ("uid", "text"), ("restored_as", "text")),
    text="UPDATE skoupa_entries AS e SET restored_as = n.restored_as"
    " FROM n WHERE e.cluster = n.cluster AND e.uid = n.uid",
)
# After the intent, which locks the row: whatever others do to it then waits. A row that did not take the intent has no
# room, and neither has one that keeps what it has.
_HAS_ROOM: Final = "e.cluster = n.cluster AND e.uid = n.uid AND e.outcome = 'intended' AND e.kept = 0"
# What an earlier try kept goes whole, also where nothing takes its place: it is of another moment.
CLEAR_BODIES: Final = Statement(
    columns=(("cluster", "int"), ("uid", "text")),
    # Not as pairs: SQLite would compare them with every body there is.
    text="DELETE FROM skoupa_bodies WHERE cluster = (SELECT min(cluster) FROM n) AND uid IN"  # noqa: S608 - constants
    f" (SELECT n.uid FROM n CROSS JOIN skoupa_entries AS e WHERE {_HAS_ROOM})",
)
PUT_BODIES: Final = Statement(
    columns=(("cluster", "int"), ("uid", "text"), ("part", "text"), ("form", "text"), ("data", "bytea")),
    text="INSERT INTO skoupa_bodies (cluster, uid, part, form, data)"  # noqa: S608 - constants
    " SELECT n.cluster, n.uid, n.part, n.form, n.data FROM n CROSS JOIN skoupa_entries AS e"
    f" WHERE {_HAS_ROOM}",
)
WEIGH_BODIES: Final = Statement(
    columns=(("cluster", "int"), ("uid", "text"), ("kept", "int8"), ("partly", "int")),
    text=f"UPDATE skoupa_entries AS e SET kept = n.kept, partly = n.partly FROM n WHERE {_HAS_ROOM}",  # noqa: S608 - constants
)
# Nearly all objects are new here, and of these there is nothing to heed; a row that is there stays as it is.
NEW: Final = Statement(
    columns=(*_ENTRY_COLUMNS, ("kept", "int8"), ("partly", "int")),
    text=f"INSERT INTO skoupa_entries ({_NAMES}, kept, partly) SELECT {_NAMES}, kept, partly FROM n"  # noqa: S608 - constants
    " ON CONFLICT (cluster, uid) DO NOTHING",
    decides=True,
)
# Should something be left there of which nobody has a row, it is nobody's.
PUT_NEW: Final = Statement(
    columns=PUT_BODIES.columns,
    text="INSERT INTO skoupa_bodies (cluster, uid, part, form, data) SELECT cluster, uid, part, form, data FROM n WHERE true"
    " ON CONFLICT (cluster, uid, part) DO UPDATE SET form = excluded.form, data = excluded.data",
)
# Whether there is anything in the trash: asking costs nothing next to looking for each object.
ANY_BODY: Final = "SELECT EXISTS (SELECT 1 FROM skoupa_bodies)"
