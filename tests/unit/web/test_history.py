"""What a controller shows of its history, to whom, and at what cost."""

from __future__ import annotations

import io
import socket
from pathlib import Path

import aiohttp
import pytest

from skoupa import names
from skoupa.cli.remembering import asking
from skoupa.errors import (
    Forbidden,
    LedgerUnavailable,
    LedgerUnusable,
    NoController,
    Unauthorized,
    UsageError,
)
from skoupa.ledger.nowhere import NoStore
from skoupa.ledger.store import Wish
from skoupa.ledger.trash.sealing import Key
from skoupa.report.log import Log
from skoupa.settings import Settings
from skoupa.settings.trust import Trash
from skoupa.sim.state.access import Rule
from skoupa.web import history, serving
from tests.unit.ledger.entries import CLUSTER
from tests.unit.web.desks import ADMIN, ANNA, BEN, Ticking, open_office, until

pytestmark = pytest.mark.unit


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
            "2 rows are not shown: they are of kinds that you may not read there"
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


async def test_a_role_in_a_namespace_shows_what_became_of_it(tmp_path: Path) -> None:
    async with open_office(tmp_path) as office:
        rule = Rule(verbs=("get",), resources=("namespaces",), namespaces=("lab",))
        office.cluster.allow_only("ben", [rule])
        for name in ("lab", "shop"):
            await office.went(name=name, namespace="", kind="Namespace", resource="namespaces")
        assert [row.name for row in await office.asked_by(BEN).find(Wish(), limit=10)] == ["lab"]


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
        with pytest.raises(Forbidden, match="ben may not get configmaps in shop"):
            await office.asked_by(BEN).kept(made)


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


async def test_noting_what_came_back_needs_the_right_to_create_and_erasing_that_to_delete(
    tmp_path: Path,
) -> None:
    heard = io.StringIO()
    async with open_office(tmp_path, log=Log(Ticking(), stream=heard)) as office:
        made = await office.went(name="a")
        office.cluster.allow_only("ben", [Rule(verbs=("get",), resources=("configmaps",))])
        with pytest.raises(Forbidden, match="ben may not create configmaps in shop"):
            await office.asked_by(BEN).restored({made.uid: "new"})
        with pytest.raises(Forbidden, match="ben may not delete configmaps in shop"):
            await office.asked_by(BEN).purge(made.id)
        anna = office.asked_by(ANNA)
        await anna.restored({made.uid: "new", "never-seen": "other"})
        found = await anna.get(made.id)
        assert found is not None
        assert found.restored_as == "new"
        assert await anna.purge(made.id)
        assert not await anna.purge(made.id)
        assert await anna.kept([made]) == {}
    assert '"event":"purged from the trash"' in heard.getvalue()
    assert '"by":"anna"' in heard.getvalue()
    assert ANNA not in heard.getvalue()


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
        news = {"uids": {f"u{number}": "x" for number in range(201)}}
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
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
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
