"""The lead and what is under way: it goes on while the lead is held, and not a moment longer; a follower is silent."""

from __future__ import annotations

import pytest

from skoupa.kube.resources import LEASES
from skoupa.sim.faults import asking
from tests.unit.controller.replicas import Replica, replicas
from tests.unit.controller.stage import HOME, MINUTE, Stage, story

pytestmark = pytest.mark.unit

LEASE_SECONDS = 15
DELETES = asking(method="DELETE")
RENEWALS = asking(kind=LEASES.qualified)


async def take_the_lease(stage: Stage) -> None:
    """As somebody does who never renews it."""
    patch = {"spec": {"holderIdentity": "another"}}
    await stage.people.merge_patch(LEASES, "skoupa", patch, namespace=HOME)


async def keep_the_lease(stage: Stage, seconds: float) -> None:
    for _ in range(int(seconds / 5)):
        patch = {"spec": {"renewTime": stage.time().replace("Z", ".000000Z")}}
        await stage.people.merge_patch(LEASES, "skoupa", patch, namespace=HOME)
        await stage.later(5)


def said(replica: Replica, event: str) -> list[dict[str, str]]:
    return [line for line in replica.lines if line["event"] == event]


@story()
async def test_who_loses_the_lead_never_names_itself_as_its_holder_and_says_who_leads_once_that_is_known(
    stage: Stage,
) -> None:
    async with replicas(stage, 2) as both:
        first, second = sorted(both, key=lambda replica: not replica.leads)
        own, other = (replica.process.election.identity for replica in (first, second))  # type: ignore[union-attr] # both enforce
        first.cable.pulled = True
        await stage.later(MINUTE)
        (lost,) = said(first, "not leading any more")
        assert lost["leads"].startswith("nobody that is known here: the lease was not renewed in time")
        assert own not in str(lost)
        assert not said(first, "another replica leads")
        first.cable.pulled = False
        await stage.later(10)
        (told,) = said(first, "another replica leads")
        assert told["holder"] == other


@story()
async def test_who_is_put_off_by_another_names_it_at_once(stage: Stage) -> None:
    async with replicas(stage, 1) as (replica,):
        await take_the_lease(stage)
        await stage.later(10)
        (lost,) = said(replica, "not leading any more")
        assert lost["leads"] == "another"
        assert not said(replica, "another replica leads")


@pytest.mark.parametrize("seconds", [20, 30])
@story()
async def test_a_delete_may_take_longer_than_the_lease_while_the_lead_is_held(
    stage: Stage, seconds: float
) -> None:
    """A webhook may take 30 s."""
    async with replicas(stage, 2) as both:
        stage.cluster.faults.delay(seconds, when=DELETES, times=None)
        await stage.make("web", "1m")
        await stage.later(MINUTE + seconds + 1)
        assert not stage.there("web")
        assert sorted(len(replica.cable.deletes) for replica in both) == [0, 1]
        assert not [line for replica in both for line in said(replica, "delete failed")]


@story()
async def test_a_delete_is_cut_when_the_lease_runs_out_under_it(stage: Stage) -> None:
    async with replicas(stage, 1) as (replica,):
        stage.cluster.faults.delay(40, when=DELETES, times=None)
        await stage.make("web", "1m")
        await stage.later(MINUTE + 1)
        assert len(replica.cable.deletes) == 1
        stage.cluster.faults.answer(500, when=RENEWALS, times=None)
        await stage.later(LEASE_SECONDS)
        (failed,) = said(replica, "delete failed")
        assert "no answer before the lease ran out" in failed["error"]
        await stage.later(5 * MINUTE)
        assert stage.there("web")
        assert len(replica.cable.deletes) == 1, "who does not lead does not try again"


@story()
async def test_a_delete_is_cut_at_once_when_somebody_else_is_seen_to_hold_the_lease(stage: Stage) -> None:
    async with replicas(stage, 1) as (replica,):
        stage.cluster.faults.delay(30, when=DELETES, times=None)
        await stage.make("web", "1m")
        await stage.later(MINUTE + 1)
        await take_the_lease(stage)
        await stage.later(3)
        assert not replica.leads
        assert len(said(replica, "delete failed")) == 1
        await keep_the_lease(stage, MINUTE)
        assert stage.there("web")


WEB = {f"web-{number}" for number in range(16)}
ODD = {f"odd-{number}" for number in range(30)}
SOON = {f"soon-{number}" for number in range(30)}


@story()
async def test_who_leads_no_more_says_and_does_nothing_about_what_it_had_queued(stage: Stage) -> None:
    async with replicas(stage, 1, rate={"inFlight": len(WEB)}) as (replica,):
        for name in WEB:
            await stage.make(name, "1m")
        stage.cluster.faults.delay(10, when=DELETES, times=None)
        await stage.later(MINUTE)
        for name in ODD:
            await stage.make(name, "2days")
        for name in SOON:
            await stage.make(name, "1h", annotations={"skoupa.dev/notice-before": "2h"})
        await stage.settle()
        queued = replica.process.engine.sweeper.statistics()["queued"]
        assert queued == len(ODD | SOON), "everybody is busy with deletes, and the rest waits behind them"
        await take_the_lease(stage)
        await keep_the_lease(stage, 10 * MINUTE)
        assert not stage.events()
        assert len(replica.cable.deletes) == len(WEB)
        told = [line["event"] for line in replica.lines]
        assert not {"label problem", "notice", "deleted"} & set(told)
        assert told.count("delete failed") == len(WEB), "those were under way when it led"
        stage.cluster.faults.clear()
        await stage.later(2 * MINUTE)
        assert replica.leads
        assert stage.found() == ODD | SOON, "nothing is forgotten"
        assert {line["name"] for line in said(replica, "label problem")} == ODD
        assert {line["name"] for line in said(replica, "notice")} == SOON
