"""What a controller shows of its history, to whom, and at what cost."""

from __future__ import annotations

import asyncio
import io
import socket
import sqlite3
import struct
from datetime import UTC
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from skoupa import names
from skoupa.cli.remembering import asking
from skoupa.cli.remembering.carried import carried_along
from skoupa.cli.remembering.ledgers import Sealed
from skoupa.cli.remembering.recalling import Filters
from skoupa.errors import (
    Forbidden,
    LedgerUnavailable,
    LedgerUnusable,
    NoController,
    NotErased,
    Unauthorized,
    UsageError,
)
from skoupa.install.rights import own_namespace
from skoupa.kube.resources import NAMESPACES
from skoupa.ledger.nowhere import NoStore
from skoupa.ledger.sqlite import SqliteStore
from skoupa.ledger.store import Wish
from skoupa.ledger.trash.contents import NotKept
from skoupa.ledger.trash.sealing import Key
from skoupa.report.log import Log
from skoupa.settings import Settings
from skoupa.settings.trust import Trash
from skoupa.sim.faults import asking as when_asking
from skoupa.sim.state.access import Rule
from skoupa.web import history, serving
from tests.unit.ledger.entries import CLUSTER
from tests.unit.web.desks import ADMIN, ANNA, BEN, Ticking, make_namespace, open_office, until

pytestmark = pytest.mark.unit

NEW = "00000000-0000-4000-8000-000000000001"


async def test_rows_are_for_those_who_may_get_such_objects_and_the_rest_is_counted(tmp_path: Path) -> None:
    async with open_office(tmp_path) as office:
        await office.went(name="a", namespace="shop", at=1.0)
        await office.went(name="b", namespace="lab", at=2.0)
        await office.went(name="c", namespace="shop", kind="Secret", resource="secrets", at=3.0)
        admin, anna, ben = (office.asked_by(token) for token in (ADMIN, ANNA, BEN))
        assert [row.name for row in await admin.find(Wish(), limit=10)] == ["c", "b", "a"]
        assert [row.name for row in await anna.find(Wish(), limit=10)] == ["a"]
        assert await ben.find(Wish(), limit=10) == []
        assert [one.left_out.hidden for one in (admin, anna, ben)] == [0, 2, 3]
        assert anna.left_out.remarks() == [
            "2 rows are not shown: they are of kinds that you may not read there, or of an earlier namespace of that name"
        ]


async def test_a_row_comes_over_the_wire_as_it_is_in_the_ledger(tmp_path: Path) -> None:
    async with open_office(tmp_path) as office:
        made = await office.went(name="a", at=1.000000123)
        admin = office.asked_by(ADMIN)
        assert await admin.find(Wish(namespace="shop", since=1.0, outcomes=("deleted",)), limit=10) == [made]
        assert await admin.find(Wish(until=1.0), limit=10) == []
        assert await admin.find(Wish(namespace=""), limit=10) == []
        assert await admin.get(made.id) == made
        assert await admin.get("000000000000000x") is None


async def test_of_an_object_that_is_named_nobody_learns_whether_it_was_there(tmp_path: Path) -> None:
    async with open_office(tmp_path) as office:
        made = await office.went(name="a", namespace="lab")
        ben = office.asked_by(BEN)
        assert await ben.find(Wish(name="a"), limit=10) == []
        assert await ben.find(Wish(uid=made.uid), limit=10) == []
        assert ben.left_out.hidden == 0


async def test_looking_for_what_took_a_named_object_along_tells_nobody_how_much_is_hidden(
    tmp_path: Path,
) -> None:
    async with open_office(tmp_path) as office:
        made = await office.went(name="a", along=("login",))
        filters = Filters(words=("secret/login",), namespace="shop")
        admin, ben = office.asked_by(ADMIN), office.asked_by(BEN)
        company = await carried_along(admin, filters, (), now=2000.0, zone=UTC)
        assert [(one.entry.id, one.kept.name) for one in company.carried] == [(made.id, "login")]
        # Who may not read Secrets does not learn that there was one.
        for token in (ANNA, BEN):
            assert (
                await carried_along(office.asked_by(token), filters, (), now=2000.0, zone=UTC)
            ).remarks() == []
        await carried_along(ben, filters, (), now=2000.0, zone=UTC)
        assert ben.left_out.hidden == 0


async def test_a_role_in_a_namespace_shows_what_became_of_it(tmp_path: Path) -> None:
    async with open_office(tmp_path) as office:
        rule = Rule(verbs=("get",), resources=("namespaces",), namespaces=("lab",))
        office.cluster.allow_only("ben", [rule])
        for found in office.cluster.objects(NAMESPACES):
            meta = found["metadata"]
            there: dict[str, Any] = {"namespace": "", "kind": "Namespace", "resource": "namespaces"}
            await office.went(name=meta["name"], uid=meta["uid"], **there)
        assert [row.name for row in await office.asked_by(BEN).find(Wish(), limit=10)] == ["lab"]


async def test_for_some_namespaces_the_right_to_get_each_is_enough_to_show_what_went_there(
    tmp_path: Path,
) -> None:
    asks = Rule(
        verbs=("create",),
        resources=("tokenreviews.authentication.k8s.io", "subjectaccessreviews.authorization.k8s.io"),
    )
    async with open_office(tmp_path, acting="sweeper") as office:
        everything = Rule(verbs=("get",), resources=("configmaps",), namespaces=("shop", "lab"))
        office.cluster.allow_only("ben", [everything])
        for namespace in ("shop", "lab"):
            await office.went(name=f"in-{namespace}", namespace=namespace)
        granted = own_namespace("shop")
        own = Rule(
            verbs=granted.verbs, resources=granted.resources, namespaces=granted.names, names=granted.names
        )
        office.cluster.allow_only("sweeper", [asks, own])
        ben = office.asked_by(BEN)
        assert [row.name for row in await ben.find(Wish(), limit=10)] == ["in-shop"]
        assert ben.left_out.hidden == 1, "how old the other Namespace is nobody can tell"


SECRETS: dict[str, Any] = {"kind": "Secret", "resource": "secrets"}
EVERYTHING_IN_PAYMENTS = Rule(verbs=("*",), resources=("*",), namespaces=("payments",))


async def test_who_gets_a_namespace_of_an_old_name_sees_nothing_of_those_who_had_it_before(
    tmp_path: Path,
) -> None:
    async with open_office(tmp_path) as office:
        # Of a Namespace that went with all that was in it, of what went in it before, and of what goes since.
        await office.went(name="login", namespace="payments", at=900.0, **SECRETS)
        there: dict[str, Any] = {"namespace": "", "kind": "Namespace", "resource": "namespaces"}
        await office.went(name="payments", at=1000.0, **there)
        office.cluster.allow_only("ben", [EVERYTHING_IN_PAYMENTS])
        make_namespace(office.cluster, "payments", at="1970-01-01T00:20:00Z")
        await office.went(name="fresh", namespace="payments", at=1300.0, **SECRETS)
        ben, admin = office.asked_by(BEN), office.asked_by(ADMIN)
        assert [row.name for row in await ben.find(Wish(), limit=10)] == ["fresh"]
        assert ben.left_out.hidden == 2
        rows = await admin.find(Wish(), limit=10)
        assert [row.name for row in rows] == ["fresh", "payments", "login"]
        for row in rows[1:]:
            for asked in (ben.get(row.id), ben.kept([row]), ben.purge(row.id), ben.restored({row.uid: NEW})):
                with pytest.raises(Forbidden, match="the right in all namespaces"):
                    await asked
        assert set(await admin.kept(rows)) == {row.id for row in rows}
        assert await ben.purge(rows[0].id)


async def test_what_went_along_from_a_namespace_of_before_is_not_shown_to_who_has_it_now(
    tmp_path: Path,
) -> None:
    async with open_office(tmp_path) as office:
        made = await office.went(name="a", along=("s1",), at=1000.0)
        everywhere = Rule(verbs=("get",), resources=("configmaps",))
        office.cluster.allow_only(
            "ben", [everywhere, Rule(verbs=("get",), resources=("secrets",), namespaces=("shop",))]
        )
        ben = office.asked_by(BEN)
        assert [one.name for one in (await ben.kept([made]))[made.id]] == ["a", "s1"]
        make_namespace(office.cluster, "shop", at="1970-01-01T00:20:00Z")
        [own] = (await ben.kept([made]))[made.id]
        assert own.unknown == ("1 object that went along, of a kind that you may not read",)


async def test_a_namespace_is_known_by_its_uid_however_soon_it_was_made_again(tmp_path: Path) -> None:
    async with open_office(tmp_path) as office:
        make_namespace(office.cluster, "payments", at="1970-01-01T00:16:40Z")
        office.cluster.allow_only("ben", [EVERYTHING_IN_PAYMENTS])
        there: dict[str, Any] = {"namespace": "", "kind": "Namespace", "resource": "namespaces"}
        made = await office.went(name="payments", along=("login",), at=1000.9, **there)
        ben = office.asked_by(BEN)
        assert await ben.find(Wish(), limit=10) == []
        with pytest.raises(Forbidden, match="the right in all namespaces"):
            await ben.kept([made])
        office.cluster.allow_only(
            "ben", [EVERYTHING_IN_PAYMENTS, Rule(verbs=("get",), resources=("namespaces",))]
        )
        clock = office.cluster.clock
        assert isinstance(clock, Ticking)
        clock.ahead += 60
        [own] = (await ben.kept([made]))[made.id]
        assert own.unseen == 1


@pytest.mark.parametrize("trouble", ["gone", "unreadable"])
async def test_where_nobody_can_say_how_old_a_namespace_is_a_right_in_it_shows_nothing(
    tmp_path: Path, trouble: str
) -> None:
    async with open_office(tmp_path) as office:
        if trouble != "gone":
            make_namespace(office.cluster, "payments", at="1970-01-01T00:00:00Z")
        if trouble == "unreadable":
            office.cluster.deny(user="kubernetes-admin", resources=("namespaces",))
        await office.went(name="login", namespace="payments", at=1000.9, **SECRETS)
        office.cluster.allow_only("ben", [EVERYTHING_IN_PAYMENTS])
        assert await office.asked_by(BEN).find(Wish(), limit=10) == []
        assert len(await office.asked_by(ADMIN).find(Wish(), limit=10)) == 1


async def test_many_rows_cost_an_administrator_one_review_per_kind_and_others_one_per_namespace(
    tmp_path: Path,
) -> None:
    async with open_office(tmp_path) as office:
        for number in range(700):
            where = f"team-{number % 130}" if number % 2 else "shop"
            await office.went(name=f"n{number}", namespace=where, at=float(number))
        found = await office.asked_by(ADMIN).find(Wish(), limit=1000)
        assert [row.name for row in found] == [f"n{number}" for number in reversed(range(700))]
        # Whose token it is, and what it may.
        assert office.reviews == 2
        anna = office.asked_by(ANNA)
        found = await anna.find(Wish(), limit=1000)
        assert {row.namespace for row in found} == {"shop"}
        assert (len(found), anna.left_out.hidden) == (350, 350)
        assert office.reviews == 2 + 1 + 1 + 66
        before = office.reviews
        await office.asked_by(ANNA).find(Wish(), limit=1000)
        assert office.reviews == before, "answers are remembered for a while"
        clock = office.cluster.clock
        assert isinstance(clock, Ticking)
        clock.ahead += 31
        await office.asked_by(ADMIN).find(Wish(), limit=10)
        assert office.reviews == before + 2, "and not for long"


async def test_a_page_that_would_take_too_many_reviews_ends_early_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "MOST_SPOTS", 3)
    async with open_office(tmp_path) as office:
        for number in range(20):
            await office.went(name=f"n{number}", namespace=f"team-{number}", at=float(number))
        await office.went(name="mine", namespace="shop", at=0.5)
        anna = office.asked_by(ANNA)
        assert [row.name for row in await anna.find(Wish(), limit=10)] == ["mine"]
        assert anna.left_out.hidden == 20


async def test_who_may_see_nearly_nothing_does_not_read_the_whole_ledger(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking, "MOST_HIDDEN", 20)
    monkeypatch.setattr(history, "MOST_ROWS", 10)
    monkeypatch.setattr(history, "_MOST_LOOKED_AT", 20)
    async with open_office(tmp_path) as office:
        for number in range(60):
            await office.went(name=f"n{number}", namespace="lab", at=float(number))
        ben = office.asked_by(BEN)
        assert await ben.find(Wish(), limit=10) == []
        assert (ben.left_out.hidden, ben.left_out.unlooked) == (20, True)
        assert "older rows were not looked at" in ben.left_out.remarks()[-1]


async def test_bodies_are_opened_there_and_what_went_along_is_shown_kind_by_kind(tmp_path: Path) -> None:
    async with open_office(tmp_path) as office:
        made = [await office.went(name=f"n{number}", along=("s1", "s2")) for number in range(3)]
        kept = await office.asked_by(ADMIN).kept(made)
        assert {entry.id: [one.name for one in kept[entry.id]] for entry in made} == {
            entry.id: [entry.name, "s1", "s2"] for entry in made
        }
        kept = await office.asked_by(ANNA).kept(made)
        for entry in made:
            (own,) = kept[entry.id]
            assert own.manifest == {
                "metadata": {"name": entry.name, "namespace": "shop"},
                "data": {"value": f"value-of-{entry.name}"},
            }
            assert own.unknown == ("2 objects that went along, of kinds that you may not read",)
            assert own.unseen == 2
        with pytest.raises(Forbidden, match="ben may not get configmaps in shop"):
            await office.asked_by(BEN).kept(made)


async def test_what_is_not_kept_is_named_to_who_may_read_it_and_counted_for_others(tmp_path: Path) -> None:
    gaps = (
        NotKept(what="secrets/shop/root goes along", why="too large", resource="secrets", namespace="shop"),
        NotKept(why="no permission to list them", resource="secrets", namespace="shop"),
        NotKept(why="no permission to list them", resource="configmaps", namespace="shop"),
        NotKept(what="configmaps/far that may go along", why="no answer", resource="configmaps"),
        NotKept(what="kinds of metrics.example/v1 that may go along", why="the service is down"),
        # Of a release that did not write beside it whom it names.
        "secrets/shop/old goes along: too large",
        "configmaps, secrets that may go along: no answer in time",
        "an old word about the Secret root",
    )
    hers = (
        "kinds of metrics.example/v1 that may go along: the service is down",
        "configmaps that may go along: no permission to list them",
        "configmaps that may go along: no answer in time",
    )
    unclear = (
        "1 remark on what went along, of an earlier release, which only the ledger itself shows (--ledger): "
        "whom it may name is not known here"
    )
    async with open_office(tmp_path) as office:
        made = await office.went(name="a", along=("s1",), gaps=gaps)
        [own] = (await office.asked_by(ANNA).kept([made]))[made.id]
        assert own.unknown == (
            *hers,
            "5 remarks on what went along, of kinds that you may not read",
            unclear,
            "1 object that went along, of a kind that you may not read",
        )
        assert own.unseen == 1
        [own, _] = (await office.asked_by(ADMIN).kept([made]))[made.id]
        assert own.unknown == (
            "secrets/shop/root goes along: too large",
            "configmaps/far that may go along: no answer",
            "kinds of metrics.example/v1 that may go along: the service is down",
            "secrets/shop/old goes along: too large",
            "configmaps, secrets that may go along: no permission to list them",
            "configmaps, secrets that may go along: no answer in time",
            unclear,
        )


async def test_bodies_end_with_the_reason_when_it_can_not_be_asked_any_more_who_may_see_them(
    tmp_path: Path,
) -> None:
    async with open_office(tmp_path) as office:
        made = [await office.went(name="a"), await office.went(name="b", along=("s1", "s2"))]
        anna = office.asked_by(ANNA)
        # From now on it is known what she may see of the objects themselves, but not of what went along.
        assert len(await anna.find(Wish(), limit=10)) == 2
        office.cluster.faults.answer(500, when=when_asking(verb="review"), times=None)
        with pytest.raises(LedgerUnavailable, match="no answer from the API server"):
            async with asyncio.timeout(60):
                await anna.kept(made)
        await until(lambda: not office.desk._under_way)


async def test_what_is_sealed_needs_the_key_of_the_controller(tmp_path: Path) -> None:
    key = Key(b"k" * 32)
    async with open_office(tmp_path) as office:
        made = await office.went(name="a", keys=(key,))
        with pytest.raises(UsageError, match=r"the controller can't open it: .* trash\.keyFile"):
            await office.asked_by(ADMIN).kept([made])
        file = tmp_path / "keys"
        file.write_text(key.secret.hex())
    settings = Settings(trash=Trash(key_file=str(file)))
    async with open_office(tmp_path, settings=settings) as office:
        assert (await office.asked_by(ADMIN).kept([made]))[made.id][0].name == "a"


async def test_one_that_can_not_be_opened_keeps_no_other_from_being_given(tmp_path: Path) -> None:
    key = Key(b"k" * 32)
    async with open_office(tmp_path) as office:
        made = [
            await office.went(name="a"),
            await office.went(name="b", keys=(key,)),
            await office.went(name="c"),
        ]
        sealed: Sealed = {}
        kept = await office.asked_by(ADMIN).kept(made, sealed=sealed)
        assert {parts[0].name for parts in kept.values()} == {"a", "c"}
        assert list(sealed) == [made[1].id]
        assert f"encrypted with the key {key.fingerprint}" in str(sealed[made[1].id])


async def test_what_a_new_key_closed_is_opened_without_a_restart(tmp_path: Path) -> None:
    old, new = Key(b"o" * 32), Key(b"n" * 32)
    file = tmp_path / "keys"
    file.write_text(old.secret.hex())
    settings = Settings(trash=Trash(key_file=str(file)))
    async with open_office(tmp_path, settings=settings) as office:
        admin = office.asked_by(ADMIN)
        before = await office.went(name="a", keys=(old,))
        assert (await admin.kept([before]))[before.id][0].name == "a"
        file.write_text(f"{new.secret.hex()}\n{old.secret.hex()}")
        after = await office.went(name="b", keys=(new, old))
        clock = office.cluster.clock
        assert isinstance(clock, Ticking)
        clock.ahead += 2
        assert set(await admin.kept([before, after])) == {before.id, after.id}
        file.write_text("garbage")
        clock.ahead += 2
        assert set(await admin.kept([before, after])) == {before.id, after.id}


async def test_noting_what_came_back_needs_the_right_to_create_and_erasing_that_to_delete(
    tmp_path: Path,
) -> None:
    heard = io.StringIO()
    async with open_office(tmp_path, log=Log(Ticking(), stream=heard)) as office:
        made = await office.went(name="a")
        office.cluster.allow_only("ben", [Rule(verbs=("get",), resources=("configmaps",))])
        with pytest.raises(Forbidden, match="ben may not create configmaps in shop"):
            await office.asked_by(BEN).restored({made.uid: NEW})
        with pytest.raises(Forbidden, match="ben may not delete configmaps in shop"):
            await office.asked_by(BEN).purge(made.id)
        anna = office.asked_by(ANNA)
        await anna.restored({made.uid: NEW, "never-seen": NEW})
        found = await anna.get(made.id)
        assert found is not None
        assert found.restored_as == NEW
        assert await anna.purge(made.id)
        assert not await anna.purge(made.id)
        assert await anna.kept([made]) == {}
    assert '"event":"purged from the trash"' in heard.getvalue()
    assert '"by":"anna"' in heard.getvalue()
    assert ANNA not in heard.getvalue()


async def test_what_could_not_be_erased_is_said_and_logged(tmp_path: Path) -> None:
    heard = io.StringIO()
    file = tmp_path / "ledger.db"
    store = SqliteStore(file, cluster=CLUSTER, busy_seconds=0.1)
    async with open_office(tmp_path, store=store, log=Log(Ticking(), stream=heard)) as office:
        made = await office.went(name="a")
        other = sqlite3.connect(file)
        other.execute("BEGIN")
        other.execute("SELECT count(*) FROM skoupa_entries").fetchall()
        with pytest.raises(NotErased, match=r"still in .*-wal.* purge it once more"):
            await office.asked_by(ANNA).purge(made.id)
        other.close()
        assert not await office.asked_by(ANNA).purge(made.id)
    assert '"event":"purged from the trash, but not erased"' in heard.getvalue()
    assert '"by":"anna"' in heard.getvalue()


@pytest.mark.parametrize(
    "uid", ["", "new", "<script>", NEW.upper().replace("0", "g"), NEW + "\n", "x" * 5000]
)
async def test_what_came_back_has_a_uid_and_nothing_else_is_noted(tmp_path: Path, uid: str) -> None:
    async with open_office(tmp_path) as office:
        made = await office.went(name="a")
        with pytest.raises(UsageError, match="is no uid of an object"):
            await office.asked_by(ANNA).restored({made.uid: uid})
        found = await office.store.get(made.id)
        assert found is not None
        assert found.restored_as == ""


@pytest.mark.parametrize(
    ("token", "part"), [("", "no token came with this"), ("token-of-nobody", "does not take this token")]
)
async def test_nobody_is_answered_without_a_token_that_counts(tmp_path: Path, token: str, part: str) -> None:
    async with open_office(tmp_path) as office:
        with pytest.raises(Unauthorized, match=part):
            await office.asked_by(token).find(Wish(), limit=1)


async def test_a_controller_that_may_not_ask_about_others_says_so_once_in_its_log(tmp_path: Path) -> None:
    heard = io.StringIO()
    async with open_office(tmp_path, log=Log(Ticking(), stream=heard)) as office:
        office.cluster.deny(user="kubernetes-admin", resources=("subjectaccessreviews.authorization.k8s.io",))
        await office.went(name="a")
        for _ in range(2):
            with pytest.raises(Forbidden, match="system:auth-delegator"):
                await office.asked_by(ADMIN).find(Wish(), limit=1)
    assert heard.getvalue().count('"event":"degraded"') == 1


async def test_without_a_ledger_there_is_nothing_to_look_back_at(tmp_path: Path) -> None:
    async with open_office(tmp_path, store=NoStore(cluster=CLUSTER)) as office:
        with pytest.raises(LedgerUnusable, match="this controller keeps no history"):
            await office.asked_by(ADMIN).find(Wish(), limit=1)


async def test_a_ledger_that_is_away_is_said_and_may_be_asked_again(tmp_path: Path) -> None:
    async with open_office(tmp_path) as office:
        await office.went(name="a")
        ledger = tmp_path / "ledger.db"
        ledger.rename(tmp_path / "away.db")
        with pytest.raises(LedgerUnavailable, match="can't answer now"):
            await office.asked_by(ADMIN).find(Wish(), limit=1)
        (tmp_path / "away.db").rename(ledger)
        assert len(await office.asked_by(ADMIN).find(Wish(), limit=1)) == 1


async def test_it_is_asked_by_tls_first_and_in_the_clear_where_it_speaks_none(tmp_path: Path) -> None:
    async with open_office(tmp_path) as office:
        admin = office.asked_by(ADMIN)
        await admin.find(Wish(), limit=1)
        await admin.find(Wish(), limit=1)
        path = "/api/v1alpha1/history"
        assert office.proxy.asked == [f"GET https {path}", f"GET http {path}", f"GET http {path}"]


async def test_where_no_controller_is_that_is_said(tmp_path: Path) -> None:
    async with open_office(tmp_path) as office:
        office.proxy.address = ""
        source = asking.ControllerSource(
            office.asked_by(ADMIN)._client, namespace="elsewhere", token=office.asked_by(ADMIN)._token
        )
        with pytest.raises(NoController, match="no controller of Skoupa in the namespace elsewhere"):
            await source.find(Wish(), limit=1)


@pytest.mark.parametrize(
    ("method", "path", "code", "reason"),
    [
        ("GET", "/api/v1alpha1/nosuch", 404, "UnknownPath"),
        ("PUT", "/api/v1alpha1/history", 404, "UnknownPath"),
        ("GET", "/api/v2/history", 404, "UnknownPath"),
        ("GET", "/api/v1alpha1/history?limit=many", 400, "BadRequest"),
        ("GET", "/api/v1alpha1/history?outcome=eaten", 400, "BadRequest"),
        ("GET", "/api/v1alpha1/history?nosuch=1", 400, "BadRequest"),
        ("GET", "/api/v1alpha1/bodies", 400, "BadRequest"),
        ("POST", "/api/v1alpha1/restored", 400, "BadRequest"),
    ],
)
async def test_questions_that_can_not_be_meant_are_refused_in_words(
    tmp_path: Path, method: str, path: str, code: int, reason: str
) -> None:
    async with open_office(tmp_path) as office, aiohttp.ClientSession() as session:
        headers = {names.CALLER_HEADER: f"Bearer {ADMIN}"}
        url = f"http://{office.proxy.address}{path}"
        async with session.request(method, url, headers=headers) as answer:
            said = await answer.json()
            assert (answer.status, said["reason"]) == (code, reason)
            assert said["details"] == {"group": "skoupa.dev"}
            assert said["message"]


async def test_who_sends_too_much_is_refused(tmp_path: Path) -> None:
    async with open_office(tmp_path) as office, aiohttp.ClientSession() as session:
        headers = {names.CALLER_HEADER: f"Bearer {ADMIN}"}
        url = f"http://{office.proxy.address}/api/v1alpha1/restored"
        async with session.post(url, headers=headers, data=b"x" * 300_000) as answer:
            assert answer.status == 413
        news = {"uids": {f"u{number}": NEW for number in range(201)}}
        async with session.post(url, headers=headers, json=news) as answer:
            assert answer.status == 400


async def test_when_too_many_ask_the_rest_is_told_to_come_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "MOST_AT_ONCE", 0)
    async with (
        open_office(tmp_path) as office,
        aiohttp.ClientSession() as session,
        session.get(f"http://{office.proxy.address}/api/v1alpha1/history") as answer,
    ):
        assert answer.status == 429
        assert answer.headers["Retry-After"] == "1"
        assert "Date" not in answer.headers, "the API server's own is read"


async def test_who_does_not_read_the_answer_holds_up_nobody_and_is_let_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(serving, "_WRITE_SECONDS", 0.2)
    async with open_office(tmp_path) as office:
        many = tuple(f"{number:04}" + "x" * 200 for number in range(20_000))
        large = await office.went(name="large", along=many)
        host, _, port = office.proxy.address.rpartition(":")
        with socket.create_connection((host, int(port))) as slow:
            slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            asked = f"GET /api/v1alpha1/bodies?id={large.id} HTTP/1.1\r\nHost: x\r\n"
            slow.sendall(f"{asked}{names.CALLER_HEADER}: Bearer {ADMIN}\r\n\r\n".encode())
            source = office.asked_by(ADMIN)
            await until(lambda: office.desk._under_way)
            assert len(await source.find(Wish(), limit=10)) == 1
            await until(lambda: not office.desk._under_way)
        assert caplog.records == []


async def test_who_breaks_off_leaves_nothing_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    heard = io.StringIO()
    async with open_office(tmp_path, log=Log(Ticking(), stream=heard)) as office:
        many = tuple(f"{number:04}" + "x" * 200 for number in range(5_000))
        large = await office.went(name="large", along=many)
        host, _, port = office.proxy.address.rpartition(":")
        more = f"Host: x\r\n{names.CALLER_HEADER}: Bearer {ADMIN}\r\n"
        for asked in (
            f"GET /api/v1alpha1/bodies?id={large.id} HTTP/1.1\r\n{more}\r\n",
            f"POST /api/v1alpha1/restored HTTP/1.1\r\n{more}Content-Length: 1000\r\n\r\nhalf",
        ):
            with socket.create_connection((host, int(port))) as going:
                # Closed at once, without a farewell.
                going.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                going.sendall(asked.encode())
                await until(lambda: office.desk._under_way)
            await until(lambda: not office.desk._under_way)
        # Everybody else is answered as before.
        assert len(await office.asked_by(ADMIN).find(Wish(), limit=10)) == 1
    assert [record.getMessage() for record in caplog.records] == []
    assert heard.getvalue() == ""
