"""The rules of a store on a real PostgreSQL, and what only a server can do: refuse, die, come back, be slow."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from typing import Any

import asyncpg  # type: ignore[import-untyped]  # it has no types
import pytest

from harness.postgres import PostgresServer
from skoupa.clock import SystemClock
from skoupa.errors import LedgerUnavailable, LedgerUnusable
from skoupa.ledger import reading, schema
from skoupa.ledger.identity import Identity
from skoupa.ledger.journal import Journal
from skoupa.ledger.postgres import PostgresStore
from skoupa.ledger.rows import Body
from skoupa.ledger.store import Wish
from tests.unit.ledger.entries import CLUSTER, finish, intent, told
from tests.unit.ledger.rules import NewStore, StoreRules

pytestmark = pytest.mark.cluster


@pytest.fixture
def new_store(dsn: str) -> NewStore:
    def made(cluster: str, *, identity: Identity | None = None) -> PostgresStore:
        return PostgresStore(dsn, cluster=cluster, identity=identity)

    return made


@pytest.fixture
async def store(dsn: str) -> AsyncIterator[PostgresStore]:
    store = PostgresStore(dsn, cluster=CLUSTER)
    await store.open()
    yield store
    await store.close()


class TestPostgres(StoreRules):
    pass


async def test_replicas_that_start_together_make_the_tables_once(dsn: str) -> None:
    stores = [PostgresStore(dsn, cluster=CLUSTER) for _ in range(6)]
    async with asyncio.TaskGroup() as group:
        for store in stores:
            group.create_task(store.open())
    await stores[0].write([intent("a")])
    assert len(await stores[5].find()) == 1
    for store in stores:
        await store.close()


async def test_two_leaders_that_write_the_same_rows_in_opposite_order_do_not_wait_for_each_other(
    dsn: str,
) -> None:
    stores = [PostgresStore(dsn, cluster=CLUSTER) for _ in range(2)]
    for store in stores:
        await store.open()
    uids = [f"u{number}" for number in range(1000)]
    body = (Body(form="json", data=b"x"),)

    async def write(store: PostgresStore, order: list[str], epoch: int) -> None:
        for _ in range(6):
            await store.write(
                [intent(uid, epoch=epoch, bodies=body if uid[-1] in "02468" else ()) for uid in order]
            )

    async with asyncio.TaskGroup() as group:
        group.create_task(write(stores[0], uids, 1))
        group.create_task(write(stores[1], uids[::-1], 2))
    rows = await stores[0].open_entries()
    assert len(rows) == 1000
    assert {row.uid: row.kept for row in rows} == {uid: int(uid[-1] in "02468") for uid in uids}
    for store in stores:
        await store.close()


@pytest.mark.parametrize(("kept", "most"), [(b"", 1), (b"x", 4)])
async def test_what_is_new_and_its_news_are_written_by_few_questions(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch, kept: bytes, most: int
) -> None:
    bodies = (Body(form="json", data=kept),) if kept else ()
    first = [intent(f"first-{number}", bodies=bodies) for number in range(20)]
    second = [intent(f"second-{number}", bodies=bodies) for number in range(20)]
    news = [finish(one.uid) for one in first]
    await store.write([*first, intent("before"), finish("before")])
    asked: list[str] = []
    for name in ("execute", "fetch", "fetchval"):
        plain = getattr(asyncpg.Connection, name)

        async def noted(self: Any, query: str, *args: Any, plain: Any = plain, **options: Any) -> Any:
            asked.append(query)
            return await plain(self, query, *args, **options)

        monkeypatch.setattr(asyncpg.Connection, name, noted)
    ids = await store.write([*second, *news, told("before")])
    monkeypatch.undo()
    assert len(asked) == most
    assert ids == {one.uid: one.entry.id for one in second}
    gone = await store.find(Wish(outcomes=("deleted",)))
    assert {row.uid for row in gone} == {"before", *(one.uid for one in first)}
    assert [row.uid for row in gone if row.told] == ["before"]
    assert len(await store.bodies([one.entry.id for one in second])) == 20 * len(kept)


@pytest.mark.parametrize("bodies", [(), (Body(form="json", data=b"late"),)])
async def test_an_intent_that_had_to_wait_for_the_news_of_a_deletion_leaves_what_that_kept(
    store: PostgresStore, dsn: str, bodies: tuple[Body, ...]
) -> None:
    first = (Body(form="json", data=b"first"), Body(part="x", form="json", data=b"x"))
    ids = await store.write([intent("a", epoch=2, bodies=first)])
    async with held(dsn, "UPDATE skoupa_entries SET outcome = 'deleted'") as connection:
        writing = asyncio.create_task(store.write([intent("a", epoch=1, bodies=bodies)]))
        await somebody_waits(connection)
    assert await writing == ids
    (row,) = await store.find()
    assert (row.outcome, row.epoch, row.kept) == ("deleted", 2, 6)
    assert await store.body(row.id) == first


async def test_what_is_put_into_the_trash_while_somebody_purges_it_is_purged_too(
    store: PostgresStore, dsn: str
) -> None:
    ids = await store.write([intent("a", bodies=(Body(form="json", data=b"first"),))])
    again = (
        "UPDATE skoupa_entries SET kept = 3",
        "DELETE FROM skoupa_bodies",
        "INSERT INTO skoupa_bodies SELECT cluster, uid, '', 'json', 'new'::bytea FROM skoupa_entries",
    )
    async with held(dsn, *again) as connection:
        purging = asyncio.create_task(store.purge(ids["a"]))
        await somebody_waits(connection)
    assert await purging
    (row,) = await store.find()
    assert (row.kept, await store.body(row.id)) == (-1, ())


@asynccontextmanager
async def held(dsn: str, *statements: str) -> AsyncIterator[Any]:
    """They are run at once, and committed when the block ends."""
    connection = await asyncpg.connect(dsn)
    async with connection.transaction():
        for statement in statements:
            await connection.execute(statement)
        yield connection
    await connection.close()


async def somebody_waits(connection: Any) -> None:
    """In this database, for a lock."""
    async with asyncio.timeout(60):
        while True:
            if await connection.fetchval(
                "SELECT count(*) FROM pg_locks JOIN pg_stat_activity USING (pid)"
                " WHERE NOT granted AND datname = current_database()"
            ):
                return
            await asyncio.sleep(0.01)


async def test_a_newer_ledger_is_refused(store: PostgresStore, dsn: str) -> None:
    connection = await asyncpg.connect(dsn)
    await connection.execute("INSERT INTO skoupa_versions VALUES (99)")
    await connection.close()
    again = PostgresStore(dsn, cluster=CLUSTER)
    with pytest.raises(LedgerUnusable, match=r"newer Skoupa.*version is 99"):
        await again.open()
    await again.close()


async def make_version_one(dsn: str) -> None:
    connection = await asyncpg.connect(dsn)
    await connection.execute(schema.VERSIONS_TABLE)
    for statement in schema.statements(schema.MIGRATIONS[0], "postgres"):
        await connection.execute(statement)
    await connection.execute("INSERT INTO skoupa_clusters (name) VALUES ($1)", CLUSTER)
    await connection.execute(
        "INSERT INTO skoupa_entries (cluster, id, uid, at, kind, resource, namespace, name, mechanism, rule, run,"
        " outcome, epoch, attempts, weight, details) VALUES (1, 'old', 'u', 5, 'Pod', 'pods', 'shop', 'web', 'ttl',"
        """ 'r', '', 'deleted', 1, 1, 1, '{"api_version": "v1"}')"""
    )
    await connection.close()


async def test_an_older_ledger_is_brought_up_to_date_with_its_rows(dsn: str) -> None:
    await make_version_one(dsn)
    reader = PostgresStore(dsn, cluster=CLUSTER, writable=False)
    with pytest.raises(LedgerUnusable, match="older version 1"):
        await reader.find()
    store = PostgresStore(dsn, cluster=CLUSTER)
    await store.write([intent("a", bodies=(Body(form="json", data=b"x"),))])
    assert [(row.id, row.partly) for row in await reader.find(Wish(outcomes=("deleted",)))] == [("old", None)]
    assert await store.mark("new") == "new"
    await reader.close()
    await store.close()


async def test_a_migration_that_was_interrupted_never_was(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    await make_version_one(dsn)
    whole = schema.statements
    monkeypatch.setattr(
        schema, "statements", lambda one, dialect: [*whole(one, dialect)[:-1], "SELECT no_such_thing"]
    )
    store = PostgresStore(dsn, cluster=CLUSTER)
    with pytest.raises(LedgerUnavailable, match="no_such_thing"):
        await store.open()
    monkeypatch.undo()
    await store.open()
    assert [row.id for row in await store.find()] == ["old"]
    await store.close()


async def test_a_reader_writes_nothing(store: PostgresStore, dsn: str) -> None:
    await store.write([intent("a")])
    reader = PostgresStore(dsn, cluster=CLUSTER, writable=False)
    with pytest.raises(LedgerUnavailable, match="read-only"):
        await reader.write([intent("b")])
    stranger = PostgresStore(dsn, cluster="unknown", writable=False)
    assert len(await reader.find()) == 1
    assert await stranger.find() == []
    assert list(await reader.clusters()) == [CLUSTER]
    await reader.close()
    await stranger.close()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("/postgres", "/no_such_database"), "create the database"),
        (("skoupa:", "stranger:"), "look at user and password"),
        (("@127.0.0.1:", "@127.0.0.1:99"), "as %XX"),
        (("@127.0.0.1", "/with@slash:x@127.0.0.1"), "as %XX|see that PostgreSQL runs"),
        (("postgresql://", "postgresql://?"), "as %XX|see that PostgreSQL runs"),
        (("@127.0.0.1:", "@no-such-host.invalid:"), "see that PostgreSQL runs"),
    ],
)
async def test_what_refuses_us_is_told_without_the_password(
    server: PostgresServer, change: tuple[str, str], says: str
) -> None:
    store = PostgresStore(server.dsn.replace(*change), cluster=CLUSTER, connect_seconds=20)
    with pytest.raises(LedgerUnavailable, match=says) as caught:
        await store.open()
    await store.close()
    whole = "".join(traceback.format_exception(caught.value))
    assert server.password not in whole + store.where


async def test_the_password_is_right_or_refused(server: PostgresServer) -> None:
    store = PostgresStore(server.dsn.replace(server.password, "hunter2"), cluster=CLUSTER)
    with pytest.raises(LedgerUnusable, match="password authentication failed") as caught:
        await store.open()
    assert "hunter2" not in "".join(traceback.format_exception(caught.value))
    await store.close()


async def test_a_value_that_cannot_be_stored_is_not_quoted(store: PostgresStore) -> None:
    wrong: Any = "hunter2"
    with pytest.raises(LedgerUnavailable, match=r"can't store a value \(DataError\)") as caught:
        await store.write([intent("a", bodies=(Body(form="json", data=wrong),))])
    told = "".join(traceback.format_exception(caught.value))
    assert "'hunter2'" not in told.replace('wrong: Any = "hunter2"', "")


async def test_a_lock_of_another_is_unavailable_and_passes(dsn: str) -> None:
    store = PostgresStore(dsn, cluster=CLUSTER, statement_seconds=2)
    await store.open()
    connection = await asyncpg.connect(dsn)
    lock = connection.transaction()
    await lock.start()
    await connection.execute("LOCK TABLE skoupa_entries IN EXCLUSIVE MODE")
    with pytest.raises(LedgerUnavailable, match="statement timeout"):
        await store.write([intent("a")])
    await lock.rollback()
    await connection.close()
    await store.write([intent("a")])
    assert len(await store.find()) == 1
    await store.close()


async def test_tables_that_were_dropped_are_made_anew(store: PostgresStore, dsn: str) -> None:
    await store.write([intent("a")])
    connection = await asyncpg.connect(dsn)
    await connection.execute("DROP TABLE skoupa_entries, skoupa_bodies, skoupa_clusters, skoupa_versions")
    await connection.close()
    with pytest.raises(LedgerUnavailable, match="does not exist"):
        await store.write([intent("b")])
    await store.write([intent("b")])
    assert [row.uid for row in await store.find()] == ["b"]


async def test_main_filters_walk_along_an_index(store: PostgresStore, dsn: str) -> None:
    connection = await asyncpg.connect(dsn)
    await connection.execute(
        "INSERT INTO skoupa_entries (cluster, id, uid, at, kind, resource, namespace, name, mechanism, rule, run,"
        " outcome, epoch, attempts, weight, details)"
        " SELECT 1, lpad(i::text, 15, '0'), 'u' || i, i, 'Kind' || i % 40, 'kinds' || i % 40, 'ns-' || i % 500,"
        " 'web-' || i, 'ttl', 'rule-' || i % 300, CASE i % 2 WHEN 0 THEN '' ELSE 'run-' || i / 1000 END,"
        " CASE i % 100 WHEN 0 THEN 'intended' ELSE 'deleted' END, 1, 1, 1, '{\"api_version\": \"v1\"}'"
        " FROM generate_series(0, 99999) AS i"
    )
    await connection.execute("ANALYZE")
    wishes = [
        Wish(),
        Wish(kind="kinds7"),
        Wish(namespace="ns-3"),
        Wish(name="web-5"),
        Wish(rule="rule-9"),
        Wish(run="run-9"),
        Wish(outcomes=("failed",)),
        Wish(uid="u5"),
        Wish(id="000000000000005"),
        Wish(since=99_000.0),
    ]
    queries = [reading.find_query(1, wish, limit=50, before=None) for wish in wishes]
    queries += [
        reading.open_query(1),
        reading.untold_query(1, limit=50),
        reading.tally_query(1, since=99_500.0),
        reading.policies_query(1),
    ]
    for text, values in queries:
        plan = await connection.fetch(f"EXPLAIN {reading.numbered(text)}", *values)
        assert not any("Seq Scan on skoupa_entries" in row[0] for row in plan), (text, plan)
    await connection.close()
    assert len(await store.open_entries()) == 1000


async def test_nothing_acknowledged_is_lost_when_the_server_is_killed_under_load() -> None:
    """Also: everything goes on by itself when it is back."""
    acknowledged: set[str] = set()
    finished: set[str] = set()
    refused = 0
    stop = asyncio.Event()
    # With fsync off a crash of the server alone still loses nothing: the kernel has it.
    with PostgresServer() as server:
        store = PostgresStore(server.dsn, cluster=CLUSTER, connect_seconds=2)
        await store.open()
        journal = Journal(store, clock=SystemClock())
        numbers = count()

        async def work() -> None:
            nonlocal refused
            while not stop.is_set():
                uid = f"u{next(numbers)}"
                try:
                    await journal.intend([intent(uid)])
                except LedgerUnavailable:
                    refused += 1
                    await asyncio.sleep(0.01)
                    continue
                acknowledged.add(uid)
                journal.finish(uid, outcome="deleted", epoch=1)
                finished.add(uid)

        async def until_more(more: int) -> None:
            target = len(acknowledged) + more
            async with asyncio.timeout(60):
                while len(acknowledged) < target:  # noqa: ASYNC110 - a condition of the code under test
                    await asyncio.sleep(0.01)

        async with asyncio.TaskGroup() as group:
            running = group.create_task(journal.run())
            for _ in range(32):
                group.create_task(work())
            for _ in range(3):
                await until_more(300)
                await asyncio.to_thread(server.kill)
                await asyncio.to_thread(server.start)
            await until_more(300)
            await asyncio.to_thread(server.restart)
            await until_more(300)
            stop.set()
            assert await journal.drain(60)
            running.cancel()

        rows = {row.uid: row for row in await store.find(limit=10**6)}
        assert refused > 0
        assert acknowledged <= rows.keys()
        assert {rows[uid].outcome for uid in finished} == {"deleted"}
        # What was refused was not sent: no row of it is left open.
        assert {row.outcome for uid, row in rows.items() if uid not in acknowledged} <= {"failed"}
        assert await store.open_entries() == []
        await store.close()


async def test_a_finish_of_the_old_leader_meets_the_new_one_in_one_row(
    store: PostgresStore, dsn: str
) -> None:
    successor = PostgresStore(dsn, cluster=CLUSTER)
    await store.write([intent("a", epoch=1)])
    await successor.write([intent("a", epoch=2)])
    await store.write([finish("a", "deleted", epoch=1)])
    await successor.write([finish("a", "gone", epoch=2)])
    (row,) = await store.find()
    assert (row.outcome, row.epoch, row.attempts) == ("deleted", 2, 2)
    await successor.close()


async def test_the_way_to_a_row_that_suits_an_empty_table_is_not_kept_for_a_large_one(
    dsn: str, store: PostgresStore
) -> None:
    number, each = 3000, 30
    uids = [f"uid-{index:05d}" for index in range(number)]
    # First one by one, as a ledger begins; the server keeps a plan after a few.
    batches = [uids[index : index + 1] for index in range(each)]
    batches += [uids[index : index + each] for index in range(each, number, each)]
    for batch in batches:
        await store.write([intent(uid) for uid in batch])
        await store.write([finish(uid, "deleted") for uid in batch])
    # The server counts for certain when a connection ends.
    await store.close()
    connection = await asyncpg.connect(dsn)
    async with asyncio.timeout(60):
        while True:
            read = await _read_along(connection)
            if sum(read.values()) >= number:
                break
            await asyncio.sleep(0.1)
    await connection.close()
    assert sum(read.values()) < 10 * number, read


async def _read_along(connection: Any) -> dict[str, int]:
    """How many entries of each index the server has read."""
    rows = await connection.fetch("SELECT indexrelname, idx_tup_read FROM pg_stat_user_indexes")
    return dict(rows)
