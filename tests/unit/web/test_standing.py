"""What a controller says it holds, to whom; and what `plan` and `explain` make of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from skoupa import names
from skoupa.cli.looking.controller_holds import hear_controller, with_controllers_holds
from skoupa.cli.looking.explain import explain
from skoupa.cli.looking.planning import Plan, Wishes, make_plan
from skoupa.cli.worlds import World
from skoupa.errors import LedgerUnusable, Unauthorized
from skoupa.kube.client import Client
from skoupa.kube.login.secret import Secret
from skoupa.ledger.nowhere import NoStore
from skoupa.model.reasons import Reason, reason, render
from skoupa.report.opinions import Acts, Opinion, Standing
from skoupa.settings import Settings
from skoupa.web.shapes import MOST_OBJECTS, Named, named_of, named_query
from tests.unit.cli.worlds import KEEP, TTL, config_map, obj
from tests.unit.ledger.entries import CLUSTER
from tests.unit.web.desks import ADMIN, ANNA, BEN, Office, open_office

pytestmark = pytest.mark.unit

TOO_LARGE = Standing(code="not-in-trash", text="it could not be put into the trash first: it is too large")
OVER = "2020-01-01"


class Engine:
    """One that holds these, by name of the kind."""

    def __init__(self, acts: Acts = "acts", **stays: Standing) -> None:
        self.answers: Sequence[Acts] = (acts,)
        self.asked = 0
        self._stays = stays

    def acts(self) -> Acts:
        self.asked += 1
        return self.answers[min(self.asked, len(self.answers)) - 1]

    def of(self, uid: str, *, resource: str, namespace: str) -> Opinion:
        stays = (self._stays[resource],) if resource in self._stays else ()
        return Opinion(uid=uid, resource=resource, namespace=namespace, stays=stays)


def named(resource: str = "configmaps", namespace: str = "shop", uid: str = "u") -> Named:
    return Named(resource=resource, namespace=namespace, uid=uid)


async def test_it_is_for_those_who_may_read_the_object_also_without_a_ledger(tmp_path: Path) -> None:
    engine = Engine(configmaps=TOO_LARGE, secrets=TOO_LARGE)
    async with open_office(tmp_path, store=NoStore(cluster=CLUSTER), opinions=engine) as office:
        asked = [named(uid="a"), named("secrets", uid="b"), named(namespace="lab", uid="c")]
        seen = {}
        for who in (ADMIN, ANNA, BEN):
            said = await office.asked_by(who).standings(asked, seconds=5.0)
            assert said.acts == "acts"
            assert all(one.stays == (TOO_LARGE,) for one in said.items)
            seen[who] = "".join(one.uid for one in said.items)
        assert seen == {ADMIN: "abc", ANNA: "a", BEN: ""}
        with pytest.raises(Unauthorized):
            await office.asked_by("nobody's").standings(asked, seconds=5.0)


async def test_what_an_object_would_take_along_is_named_to_who_may_read_that(tmp_path: Path) -> None:
    text = "deleting it would take along Secret shop/login, which stays: brake audit: no reason given"
    engine = Engine(configmaps=Standing(code="brake-inside", text=text))
    async with open_office(tmp_path, opinions=engine) as office:
        texts = {}
        for who in (ADMIN, ANNA):
            [one] = (await office.asked_by(who).standings([named()], seconds=5.0)).items
            texts[who] = one.stays[0].text
        assert texts == {ADMIN: text, ANNA: "what is said here names something that you may not read"}


@pytest.mark.parametrize(
    "told",
    [
        reason("in-use", user="Secret shop/login", at="spec"),
        reason("exempted", exception="shop/login", policy="ClusterDeletingPolicy old"),
        reason("re-created-by", controller="ReplicaSet login", count=3, until="noon"),
        reason("brake", name="login", why="an audit"),
    ],
    ids=lambda told: told.code,
)
async def test_whatever_else_is_named_is_for_who_may_read_that(tmp_path: Path, told: Reason) -> None:
    engine = Engine(configmaps=Standing(code=told.code, text=render(told)))
    async with open_office(tmp_path, opinions=engine) as office:
        texts = {}
        for who in (ADMIN, ANNA):
            [one] = (await office.asked_by(who).standings([named()], seconds=5.0)).items
            texts[who] = one.stays[0].text
        assert texts == {ADMIN: render(told), ANNA: "what is said here names something that you may not read"}


async def test_a_replica_that_stands_by_tells_nothing_and_reviews_nobody(tmp_path: Path) -> None:
    async with open_office(tmp_path, opinions=Engine("stands-by", configmaps=TOO_LARGE)) as office:
        before = office.reviews
        said = await office.asked_by(ANNA).standings([named()], seconds=5.0)
        assert (said.acts, said.items) == ("stands-by", ())
        # Who asks is looked at, and nothing else.
        assert office.reviews <= before + 1


async def test_a_controller_that_does_not_know_the_question_is_told_as_older(tmp_path: Path) -> None:
    async with open_office(tmp_path) as office:
        with pytest.raises(LedgerUnusable, match="does not know such a question"):
            await office.asked_by(ADMIN).standings([named()], seconds=5.0)


@pytest.mark.parametrize(
    "query",
    [
        "",
        "object=",
        "object=configmaps",
        "object=/shop/u",
        "object=configmaps/shop/",
        "object=a/b/c/d",
        "kind=pods",
        "&".join(["object=configmaps/shop/u"] * (MOST_OBJECTS + 1)),
    ],
)
async def test_what_can_not_be_meant_is_refused(tmp_path: Path, query: str) -> None:
    async with open_office(tmp_path, opinions=Engine()) as office, aiohttp.ClientSession() as session:
        url = f"http://{office.proxy.address}/api/v1alpha1/standing?{query}"
        headers = {names.CALLER_HEADER: f"Bearer {ADMIN}"}
        async with session.get(url, headers=headers) as answer:
            assert (answer.status, (await answer.json())["reason"]) == (400, "BadRequest")


def test_what_is_asked_comes_over_the_wire_as_it_was() -> None:
    asked = [named(), named("namespaces", "", "x"), named("widgets.shop.example", "a-b", "y")]
    assert named_of(named_query(asked)) == asked


def world(office: Office, token: str = ADMIN) -> World:
    async def shown() -> Secret:
        return Secret(token)

    return World(client=Client(office.proxy, office.cluster.clock), namespace="shop", token=shown)


def fill(office: Office, *objects: dict[str, Any]) -> None:
    office.cluster.load(list(objects))


async def planned(office: Office, token: str = ADMIN) -> Plan:
    here = world(office, token)
    plan = await make_plan(
        here,
        settings=Settings(),
        wishes=Wishes(namespace="shop"),
        window=lambda _: None,
        progress=lambda _: None,
    )
    return await with_controllers_holds(here, plan, home="skoupa")


def held(plan: Plan) -> dict[str, str]:
    """By name: what holds it; empty: it goes."""
    return {
        found.row.name: "; ".join(str(hold.reason) for hold in found.verdict.holds) for found in plan.findings
    }


async def test_a_plan_says_what_the_controller_holds_and_where_that_is_known_from(tmp_path: Path) -> None:
    engine = Engine(secrets=TOO_LARGE, configmaps=Standing(code="kept", text="kept there"))
    async with open_office(tmp_path, opinions=engine) as office:
        fill(
            office,
            obj("Secret", "large", namespace="shop", labels={TTL: OVER}),
            obj("Pod", "free", namespace="shop", labels={TTL: OVER}, spec={"containers": []}),
            obj("Secret", "later", namespace="shop", labels={TTL: "2999-01-01"}),
            config_map("mine", OVER, labels={KEEP: "true"}),
        )
        plan = await planned(office)
        assert held(plan) == {
            "large": f"the controller in skoupa holds it (not-in-trash): {TOO_LARGE.text}",
            "free": "",
            # What is not due yet it is not asked about, nor what is held anyway.
            "later": "",
            "mine": "kept by its label skoupa.dev/keep=true",
        }
        assert sorted(found.row.name for found in plan.going()) == ["free", "later"]
        assert plan.warnings == []
        assert [one for one in office.proxy.asked if "standing" in one] == [
            "GET https /api/v1alpha1/standing",
            "GET http /api/v1alpha1/standing",
        ]


@pytest.mark.parametrize(
    ("acts", "said"),
    [
        ("observes", "the controller in skoupa only observes: nothing goes by it"),
        ("starts", "can't all be seen from here: it has only begun to look at the cluster"),
        ("stands-by", "can't all be seen from here: only replicas that do not lead have answered"),
    ],
)
async def test_a_plan_says_that_the_controller_does_not_act(tmp_path: Path, acts: Acts, said: str) -> None:
    async with open_office(tmp_path, opinions=Engine(acts)) as office:
        fill(office, config_map("web", OVER))
        (warning,) = (await planned(office)).warnings
        assert said in warning


async def test_the_one_that_leads_is_looked_for_among_replicas(tmp_path: Path) -> None:
    engine = Engine(configmaps=TOO_LARGE)
    engine.answers = ("stands-by", "stands-by", "acts")
    async with open_office(tmp_path, opinions=engine) as office:
        fill(office, config_map("web", OVER))
        plan = await planned(office)
        assert "not-in-trash" in held(plan)["web"]
        assert plan.warnings == []


async def test_without_a_controller_nothing_is_said_and_one_that_does_not_tell_is_named(
    tmp_path: Path,
) -> None:
    async with open_office(tmp_path, opinions=Engine(configmaps=TOO_LARGE)) as office:
        fill(office, config_map("web", OVER))
        (refused,) = (await planned(office, "no-such-token")).warnings
        assert refused == (
            "whether the controller in skoupa holds any of it can't all be seen from here: "
            "it was shown no token that it takes"
        )
        plan = await planned(office)
        elsewhere = await hear_controller(world(office), plan.findings, home="elsewhere")
        assert (elsewhere.holds, elsewhere.remarks) == ({}, [])


async def test_explain_says_it_too(tmp_path: Path) -> None:
    async with open_office(tmp_path, opinions=Engine(configmaps=TOO_LARGE)) as office:
        fill(office, config_map("web", OVER), config_map("plain"))
        (web, plain), _ = await explain(world(office), ("cm/web", "cm/plain"), settings=Settings())
        (hold,) = web.item.holds
        assert hold.reason.code == "controller-holds"
        assert hold.reason.facts == {"by": "not-in-trash", "namespace": "skoupa", "why": TOO_LARGE.text}
        assert web.item.goes_at is None
        assert plain.item.holds == ()


async def test_what_may_be_of_a_backlog_is_asked_about_too(tmp_path: Path) -> None:
    held_there = Standing(code="retroactive-label", text="one of 60 objects")
    state = {"massLabellings": '[{"start": 1, "end": 2, "count": 60, "brake": "mass-labels-1"}]'}
    async with open_office(tmp_path, opinions=Engine(secrets=held_there)) as office:
        fill(
            office,
            config_map(names.STATE_CONFIG_MAP, namespace="skoupa", data=state),
            obj("Secret", "theirs", namespace="shop", labels={TTL: OVER}),
            config_map("other", OVER),
        )
        found = held(await planned(office))
        assert found["theirs"].endswith(
            "the controller in skoupa holds it (retroactive-label): one of 60 objects"
        )
        assert found["other"].startswith("perhaps one of 60 objects")
        assert "the controller in skoupa" not in found["other"]
