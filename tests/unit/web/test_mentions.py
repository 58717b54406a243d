"""A row names other objects to those only who may read them, whatever they may see of the row itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from skoupa.ledger.rows import Entry
from skoupa.ledger.store import Note, Wish
from skoupa.model.reasons import REASONS, reason, render
from skoupa.model.verdicts import Claim, Hold
from skoupa.sim.state.access import Rule
from skoupa.web.mentioned import BRAKE_FACTS, OBJECTS, PLAIN, TEXTS, in_reason, in_rendered
from tests.unit.ledger.entries import entry
from tests.unit.web.desks import ADMIN, BEN, Office, open_office

pytestmark = pytest.mark.unit

NAME = "root-password"
SECRET = f"Secret shop/{NAME}"
INSIDE = (
    reason("brake-inside", object=SECRET, name="pause-kind-secrets", why="an audit"),
    reason("protects-inside", object=SECRET, why=f"kept by its label skoupa.dev/keep={NAME}"),
    reason("keeps-inside", object=SECRET),
    reason("owners-unknown", object=SECRET, why="no permission"),
    reason("not-in-trash", why=f"secrets/shop/{NAME} goes along: it has 9 bytes"),
    reason(
        "controller-holds",
        namespace="skoupa",
        by="keeps-inside",
        why=f"it would take along {SECRET}, which is kept",
    ),
)
NAMESPACE: dict[str, Any] = {"namespace": "", "kind": "Namespace", "resource": "namespaces", "name": "shop"}


async def braked(office: Office, *holds: Hold, error: str = "") -> Entry:
    made = entry(**NAMESPACE, api_version="v1", holds=holds, error=error, outcome="braked")
    await office.store.write([Note(entry=made)])
    found = await office.store.get(made.id)
    assert found is not None
    return found


def text_of(row: Entry) -> str:
    return msgspec.json.encode(row).decode()


@pytest.mark.parametrize("why", INSIDE, ids=lambda why: why.code)
async def test_what_holds_a_namespace_is_named_to_who_may_read_that(tmp_path: Path, why: Any) -> None:
    async with open_office(tmp_path) as office:
        row = await braked(office, Hold(reason=why), error=render(why))
        ben, admin = office.asked_by(BEN), office.asked_by(ADMIN)
        office.cluster.allow_only("ben", [Rule(verbs=("get",), resources=("namespaces",))])
        [found] = await ben.find(Wish(kind="Namespace", name="shop"), limit=10)
        assert NAME not in text_of(found)
        assert found == await ben.get(row.id)
        # It is still told that something holds it, and what sort of thing.
        assert [hold.reason.code for hold in found.holds] == [why.code]
        assert "that you may not read" in render(found.holds[0].reason)
        assert "that you may not read" in found.error
        assert await admin.get(row.id) == row


async def test_who_may_read_the_kind_there_is_told_the_name(tmp_path: Path) -> None:
    async with open_office(tmp_path) as office:
        row = await braked(office, Hold(reason=INSIDE[0]))
        everywhere = Rule(verbs=("get",), resources=("namespaces", "secrets", "brakes.skoupa.dev"))
        office.cluster.allow_only("ben", [everywhere])
        assert await office.asked_by(BEN).get(row.id) == row


async def test_a_right_to_such_objects_elsewhere_is_none(tmp_path: Path) -> None:
    async with open_office(tmp_path) as office:
        row = await braked(office, Hold(reason=INSIDE[0]))
        rules = [
            Rule(verbs=("get",), resources=("namespaces",)),
            Rule(verbs=("get",), resources=("secrets",), namespaces=("lab",)),
        ]
        office.cluster.allow_only("ben", rules)
        found = await office.asked_by(BEN).get(row.id)
        assert found is not None
        assert NAME not in text_of(found)


async def test_the_reason_of_a_brake_is_told_to_who_may_read_brakes_whatever_it_holds_inside(
    tmp_path: Path,
) -> None:
    async with open_office(tmp_path) as office:
        row = await braked(office, Hold(reason=INSIDE[0]))
        office.cluster.allow_only(
            "ben", [Rule(verbs=("get",), resources=("namespaces", "brakes.skoupa.dev"))]
        )
        found = await office.asked_by(BEN).get(row.id)
        assert found is not None
        assert render(found.holds[0].reason).endswith("which stays: brake pause-kind-secrets: an audit")


NAMING = (
    reason("in-use", user=SECRET, at="spec.volumes"),
    reason("owner-lives", owner=SECRET),
    reason("re-created-by", controller=f"ReplicaSet {NAME}", count=3, until="noon"),
    reason("exempted", exception=f"shop/{NAME}", policy="CleanupPolicy shop/old"),
    reason(
        "exemption-unclear", exception="shop/x", policy="CleanupPolicy shop/old", why=f"{NAME} is no number"
    ),
    reason("users-unclear", why=f"{SECRET}: its template can't be understood"),
    reason("owner-goes", owner=NAME, policy="ClusterCleanupPolicy old"),
    reason("data-goes", why=f"PV reclaim policy Delete ({NAME})"),
    reason("brake", name="freeze", why=f"{NAME} leaked"),
    reason("retroactive-label", count=9, brake=NAME),
)


@pytest.mark.parametrize("why", NAMING, ids=lambda why: why.code)
async def test_whatever_names_another_object_or_a_brake_is_for_who_may_read_that(
    tmp_path: Path, why: Any
) -> None:
    claim = Claim(mechanism="ttl", rule="skoupa.dev/ttl=1h", due=0.0, reason=why)
    async with open_office(tmp_path) as office:
        made = entry(**NAMESPACE, api_version="v1", holds=(Hold(reason=why),), claims=(claim,))
        await office.store.write([Note(entry=msgspec.structs.replace(made, outcome="braked"))])
        row = await office.store.get(made.id)
        office.cluster.allow_only("ben", [Rule(verbs=("get",), resources=("namespaces",))])
        found = await office.asked_by(BEN).get(made.id)
        assert found is not None
        assert NAME not in text_of(found)
        assert [claim.reason.code for claim in found.claims] == [why.code]
        assert [hold.reason.code for hold in found.holds] == [why.code]
        assert await office.asked_by(ADMIN).get(made.id) == row


@pytest.mark.parametrize("code", REASONS)
def test_of_every_fact_of_every_reason_is_known_whether_it_names_an_object(code: str) -> None:
    """Who adds one says so in web/mentioned.py."""
    assert not OBJECTS.keys() & (TEXTS | PLAIN)
    assert not TEXTS & PLAIN
    known = {*OBJECTS, *TEXTS, *PLAIN, *BRAKE_FACTS.get(code, ())}
    assert REASONS[code].facts <= known
    assert BRAKE_FACTS.get(code, frozenset()) <= REASONS[code].facts


@pytest.mark.parametrize("code", REASONS)
def test_words_are_read_back_into_the_facts_that_they_were_made_of(code: str) -> None:
    facts = {name: f"Thing shop/{name}" for name in REASONS[code].facts}
    told = reason(code, **facts)
    assert {*in_reason(told, "shop")} <= {*in_rendered(code, render(told), "shop")}


async def test_a_kind_that_nobody_knows_is_named_to_who_may_read_everything(tmp_path: Path) -> None:
    async with open_office(tmp_path) as office:
        told = reason("keeps-inside", object=f"Widget shop/{NAME}")
        row = await braked(office, Hold(reason=told))
        office.cluster.allow_only("ben", [Rule(verbs=("get",), resources=("namespaces", "secrets"))])
        found = await office.asked_by(BEN).get(row.id)
        assert found is not None
        assert NAME not in text_of(found)
        assert await office.asked_by(ADMIN).get(row.id) == row


async def test_while_kinds_can_not_be_looked_up_nothing_is_named(tmp_path: Path) -> None:
    async with open_office(tmp_path) as office:
        row = await braked(office, Hold(reason=INSIDE[0]))
        office.cluster.allow_only("ben", [Rule(verbs=("get",), resources=("namespaces", "secrets"))])
        office.cluster.faults.answer(403, when=lambda asked: asked.path in {"/api", "/apis"}, times=None)
        found = await office.asked_by(BEN).get(row.id)
        assert found is not None
        assert NAME not in text_of(found)


async def test_rows_that_name_nobody_cost_nothing_more(tmp_path: Path) -> None:
    async with open_office(tmp_path) as office:
        row = await braked(office, Hold(reason=reason("kept", value="true")), error="no")
        before = office.reviews
        assert await office.asked_by(ADMIN).get(row.id) == row
        assert office.reviews - before <= 2
