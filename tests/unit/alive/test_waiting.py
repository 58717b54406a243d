"""Waiting for the end of a deletion, in virtual time: what it ends with, whoever runs and whatever fails."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from skoupa.alive import waiting as alive_waiting
from skoupa.alive.reading import Alive
from skoupa.alive.sdk import register
from skoupa.alive.waiting import Ended, Terms, patiently, read, wait
from skoupa.errors import Forbidden, KubeconfigError, Unreachable
from skoupa.kinds.alive import ALIVES, manifest
from skoupa.kube.client import Client
from skoupa.kube.objects import METADATA
from skoupa.kube.resources import CUSTOM_RESOURCE_DEFINITIONS
from skoupa.sim.cluster import EmbeddedCluster
from skoupa.sim.faults import asking
from skoupa.sim.state.access import Rule
from tests.unit.alive.test_sdk import DNS, joined, prepared
from tests.unit.sim.asking import on_cluster

pytestmark = pytest.mark.unit

MINUTE = 60.0


async def signalled(client: Client, *, participants: tuple[str, ...] = (DNS,), **spec: Any) -> None:
    body = manifest()
    body["spec"] |= spec
    uid = str((await client.create(ALIVES, body))["metadata"]["uid"])
    for finalizer in participants:
        await joined(client, finalizer)
    await client.delete(ALIVES, "cluster", uid=uid, propagation="Background")


async def waited(client: Client, **terms: Any) -> tuple[Ended, float]:
    first = await read(client)
    assert first is not None
    began = client.clock.now()
    ended = await wait(client, first, terms=Terms(**terms), now=client.clock.now)
    return ended, client.clock.now() - began


async def freed(client: Client, *finalizers: str) -> None:
    await client.merge_patch(ALIVES, "cluster", {"metadata": {"finalizers": list(finalizers) or None}})


def test_it_ends_when_alive_is_gone() -> None:
    async def work(cluster: EmbeddedCluster) -> None:
        client = await prepared(cluster)
        await signalled(client)
        dns = await register(client, DNS, lease=("work", "dns"), identity="dns-operator")
        await dns.on_deletion()
        waiting = asyncio.ensure_future(waited(client))
        await cluster.clock.sleep(MINUTE)
        assert not waiting.done()
        await dns.report(remaining=0, preserved=["vol-1: sold"])
        await freed(client)
        ended, _ = await waiting
        assert (ended.outcome, ended.warnings) == ("drained", ())
        assert (ended.at.phase, ended.at.waiting, ended.at.remaining) == ("Drained", 0, 0)
        [last] = ended.at.participants
        assert (last.state, last.preserved) == ("Done", ("vol-1: sold",)), (
            "also what was said since the last look"
        )

    on_cluster(work)


def test_where_skoupa_is_down_it_ends_all_the_same_and_says_so() -> None:
    async def work(cluster: EmbeddedCluster) -> None:
        client = await prepared(cluster)
        await signalled(client)
        await freed(client, "skoupa.dev/alive")
        ended, seconds = await waited(client)
        assert ended.outcome == "drained"
        assert seconds < MINUTE
        assert "is it running?" in ended.warnings[0]

    on_cluster(work)


def test_one_that_was_made_anew_ends_it_with_a_warning() -> None:
    async def work(cluster: EmbeddedCluster) -> None:
        client = await prepared(cluster)
        await signalled(client)
        waiting = asyncio.ensure_future(waited(client))
        await cluster.clock.sleep(5)
        await freed(client)
        await client.create(ALIVES, manifest())
        ended, _ = await waiting
        assert ended.outcome == "replaced"
        assert "made anew" in ended.warnings[0]

    on_cluster(work)


@pytest.mark.parametrize(("policy", "outcome"), [("Fail", "timed-out"), ("Proceed", "proceeded")])
def test_a_time_out_means_what_the_spec_says_and_counts_from_the_deletion(policy: str, outcome: str) -> None:
    async def work(cluster: EmbeddedCluster) -> None:
        client = await prepared(cluster)
        await signalled(client, timeout="10m", onTimeout=policy)
        await cluster.clock.sleep(8 * MINUTE)
        ended, seconds = await waited(client)
        assert ended.outcome == outcome
        assert seconds < 3 * MINUTE
        assert ended.at.waiting == 1

    on_cluster(work)


def test_a_limit_of_ones_own_ends_ones_own_waiting() -> None:
    async def work(cluster: EmbeddedCluster) -> None:
        client = await prepared(cluster)
        await signalled(client, timeout="10h")
        ended, seconds = await waited(client, timeout=5 * MINUTE)
        assert (ended.outcome, round(seconds / MINUTE)) == ("timed-out", 5)

    on_cluster(work)


def test_who_shall_be_forced_and_is_not_times_out_in_the_end() -> None:
    """No Skoupa runs here."""

    async def work(cluster: EmbeddedCluster) -> None:
        client = await prepared(cluster)
        await signalled(client, timeout="10m", onTimeout="ForceFinalizers", forceAfter="5m")
        ended, seconds = await waited(client)
        assert ended.outcome == "timed-out"
        assert 16 * MINUTE < seconds < 19 * MINUTE
        assert "Skoupa did not force" in ended.why

    on_cluster(work)


def test_who_was_about_to_be_forced_when_it_was_gone_is_no_clean_end() -> None:
    """Skoupa forced, and wrote its end down, between two looks."""

    async def work(cluster: EmbeddedCluster) -> None:
        client = await prepared(cluster)
        await signalled(client, timeout="10m", onTimeout="ForceFinalizers")
        waiting = asyncio.ensure_future(waited(client))
        await cluster.clock.sleep(10 * MINUTE + 30)
        await freed(client)
        ended, _ = await waiting
        assert ended.outcome == "forced"
        assert DNS in ended.why

    on_cluster(work)


def test_who_was_perhaps_forced_while_the_server_did_not_answer_us_is_no_clean_end() -> None:
    async def work(cluster: EmbeddedCluster) -> None:
        client = await prepared(cluster)
        for sooner, outcome in ((-5.0, "drained"), (30.0, "forced")):
            await signalled(client, timeout="10m", onTimeout="ForceFinalizers", forceAfter="10s")
            waiting = asyncio.ensure_future(waited(Client(cluster.as_user("installer"), cluster.clock)))
            await cluster.clock.sleep(10 * MINUTE - 10)
            cluster.faults.disconnect(
                when=asking(method="GET", path=ALIVES.path(name="cluster")), times=None, seconds=20 + sooner
            )
            await freed(client)
            ended, _ = await waiting
            assert ended.outcome == outcome, sooner

    on_cluster(work)


def test_progress_that_is_seen_here_counts_where_nobody_writes_a_status() -> None:
    async def work(cluster: EmbeddedCluster) -> None:
        client = await prepared(cluster)
        await signalled(client, participants=(), timeout="2h", progressTimeout="5m")
        ended, _ = await waited(client)
        assert ended.outcome == "drained"
        await freed(client)
        await signalled(client, timeout="2h", progressTimeout="5m")
        dns = await register(client, DNS, lease=("work", "dns"), identity="dns-operator")
        waiting = asyncio.ensure_future(waited(client))
        for left in range(9, 0, -1):
            await dns.report(remaining=left)
            await cluster.clock.sleep(3 * MINUTE)
            assert not waiting.done()
        ended, _ = await waiting
        assert "no progress for 5m" in ended.why

    on_cluster(work)


def test_no_progress_is_noticed_too_where_a_controller_died_half_way() -> None:
    """Its status stays as it was, and everybody has got further since."""

    async def work(cluster: EmbeddedCluster) -> None:
        client = await prepared(cluster)
        await signalled(client, timeout="2h", progressTimeout="5m")
        dns = await register(client, DNS, lease=("work", "dns"), identity="dns-operator")
        last = {"finalizer": DNS, "state": "Working", "remaining": 9}
        status = {"status": {"phase": "Terminating", "participants": [last]}}
        await client.merge_patch(ALIVES, "cluster", status, subresource="status")
        await dns.report(remaining=5)
        ended, seconds = await waited(client)
        assert "no progress for 5m" in ended.why
        assert 5 * MINUTE <= seconds < 6 * MINUTE

    on_cluster(work)


def test_forcing_that_takes_long_is_waited_for_as_long_as_it_goes_on() -> None:
    """A thousand finalizers are taken off one after the other."""

    async def work(cluster: EmbeddedCluster) -> None:
        client = await prepared(cluster)
        many = [f"p{number}.example.com/cleanup" for number in range(5)]
        await signalled(client, participants=tuple(many), timeout="10m", onTimeout="ForceFinalizers")
        waiting = asyncio.ensure_future(waited(client))
        await cluster.clock.sleep(10 * MINUTE)
        while many:
            await cluster.clock.sleep(90)
            assert not waiting.done()
            many.pop()
            await freed(client, *many)
        ended, _ = await waiting
        assert ended.outcome == "forced"

    on_cluster(work)


def test_a_plugin_that_can_not_log_in_for_a_moment_does_not_end_the_waiting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where tokens are good for minutes it runs many times while somebody waits."""

    async def work(cluster: EmbeddedCluster) -> None:
        client = await prepared(cluster)
        await signalled(client, timeout="10h")
        waiting = asyncio.ensure_future(waited(client))
        await cluster.clock.sleep(5)

        async def failing(*_: object) -> None:
            raise KubeconfigError("the plugin aws failed with exit code 255")

        with monkeypatch.context() as patched:
            patched.setattr(alive_waiting, "_read_on", failing)
            await cluster.clock.sleep(40)
            assert not waiting.done()
        await cluster.clock.sleep(40)
        assert not waiting.done()
        monkeypatch.setattr(alive_waiting, "_read_on", failing)
        with pytest.raises(KubeconfigError):
            await waiting

    on_cluster(work)


@pytest.mark.parametrize(
    ("spec", "terms", "outcome"),
    [
        ({}, {}, "unreachable"),
        ({"onUnreachable": "Proceed"}, {}, "proceeded-unreachable"),
        ({}, {"on_unreachable": "Proceed"}, "proceeded-unreachable"),
        ({"onUnreachable": "Proceed"}, {"on_unreachable": "Fail"}, "unreachable"),
    ],
)
def test_a_server_that_is_silent_for_long_ends_it_and_a_short_silence_does_not(
    spec: dict[str, Any], terms: dict[str, Any], outcome: str
) -> None:
    async def work(cluster: EmbeddedCluster) -> None:
        client = await prepared(cluster)
        await signalled(client, timeout="10h", **spec)
        waiting = asyncio.ensure_future(waited(client, unreachable_after=MINUTE, **terms))
        await cluster.clock.sleep(5)
        cluster.faults.disconnect(when=asking(path="/apis/skoupa.dev"), times=None, seconds=30)
        await cluster.clock.sleep(10 * MINUTE)
        assert not waiting.done()
        cluster.faults.disconnect(when=asking(path="/apis/skoupa.dev"), times=None, seconds=1800)
        ended, _ = await waiting
        assert ended.outcome == outcome
        assert ended.at.waiting == 1, "what was seen last"

    on_cluster(work)


def test_not_found_by_something_that_knows_no_alive_is_no_end() -> None:
    """A load balancer whose servers go away says 404 to everything."""

    async def work(cluster: EmbeddedCluster) -> None:
        client = await prepared(cluster)
        await signalled(client, timeout="10h")
        waiting = asyncio.ensure_future(waited(client))
        await cluster.clock.sleep(5)
        cluster.faults.answer(404, when=asking(path="/apis/"), times=None, seconds=30)
        await cluster.clock.sleep(10 * MINUTE)
        assert not waiting.done()
        cluster.faults.answer(404, when=asking(path="/apis/skoupa.dev"), times=None)
        ended, _ = await waiting
        assert ended.outcome == "unreachable"
        assert "nobody can tell" in ended.why
        assert ended.at.waiting == 1

    on_cluster(work)


def test_where_its_definition_went_too_it_is_gone() -> None:
    async def work(cluster: EmbeddedCluster) -> None:
        client = await prepared(cluster)
        await signalled(client, timeout="10h")
        waiting = asyncio.ensure_future(waited(client))
        await cluster.clock.sleep(5)
        definition = await client.get(CUSTOM_RESOURCE_DEFINITIONS, ALIVES.qualified, view=METADATA)
        await freed(client)
        await client.delete(
            CUSTOM_RESOURCE_DEFINITIONS,
            ALIVES.qualified,
            uid=definition.metadata.uid,
            propagation="Background",
        )
        ended, _ = await waiting
        assert ended.outcome == "drained"

    on_cluster(work)


def test_a_refusal_counts_when_it_lasts() -> None:
    async def work(cluster: EmbeddedCluster) -> None:
        client = await prepared(cluster)
        await signalled(client, timeout="10h")
        waiting = asyncio.ensure_future(waited(client))
        await cluster.clock.sleep(5)
        for status in (401, 403):
            cluster.faults.answer(status, when=asking(path="/apis/skoupa.dev"), times=None, seconds=30)
            await cluster.clock.sleep(2 * MINUTE)
            assert not waiting.done()
        cluster.faults.answer(403, when=asking(path="/apis/skoupa.dev"), times=None)
        with pytest.raises(Forbidden):
            await waiting

    on_cluster(work)


def test_one_that_was_forced_and_made_anew_has_leftovers() -> None:
    async def work(cluster: EmbeddedCluster) -> None:
        client = await prepared(cluster)
        await signalled(client, timeout="10m", onTimeout="ForceFinalizers")
        waiting = asyncio.ensure_future(waited(client))
        await cluster.clock.sleep(10 * MINUTE + 31)
        await freed(client)
        await client.create(ALIVES, manifest())
        ended, _ = await waiting
        assert ended.outcome == "forced"
        assert "made anew" in ended.warnings[0]

    on_cluster(work)


def test_a_server_that_is_silent_at_first_is_asked_for_a_while() -> None:
    async def work(cluster: EmbeddedCluster) -> None:
        client = await prepared(cluster)
        await client.create(ALIVES, manifest())

        async def reading() -> Alive | None:
            return await patiently(client, lambda: read(client), unreachable_after=MINUTE)

        cluster.faults.unreachable(when=asking(path="/apis/skoupa.dev"), times=None, seconds=40)
        assert await reading() is not None
        cluster.faults.answer(302, when=asking(path="/apis/skoupa.dev"), times=None, seconds=40)
        assert await reading() is not None, "something else that answers is no server"
        cluster.faults.unreachable(when=asking(path="/apis/skoupa.dev"), times=None)
        with pytest.raises(Unreachable):
            await reading()

    on_cluster(work)


def test_that_there_is_none_is_not_believed_of_something_that_knows_no_alive() -> None:
    """A wrong address, or a load balancer without a server behind it."""

    async def work(cluster: EmbeddedCluster) -> None:
        client = await prepared(cluster)
        await client.create(ALIVES, manifest())
        cluster.faults.answer(404, when=asking(path="/apis/"), times=None, seconds=MINUTE)
        with pytest.raises(Unreachable, match="nobody can tell"):
            await read(client)

    on_cluster(work)


def test_who_may_not_read_definitions_is_told_that_there_is_no_alive() -> None:
    async def work(cluster: EmbeddedCluster) -> None:
        cluster.allow_only("installer", [Rule(verbs=("get",), resources=(ALIVES.qualified,))])
        assert await read(Client(cluster.as_user("installer"), cluster.clock)) is None
        assert await read(Client(cluster, cluster.clock)) is None

    on_cluster(work)


def test_something_else_that_answers_counts_when_it_lasts() -> None:
    async def work(cluster: EmbeddedCluster) -> None:
        client = await prepared(cluster)
        await signalled(client, timeout="10h")
        waiting = asyncio.ensure_future(waited(client))
        await cluster.clock.sleep(5)
        cluster.faults.answer(302, when=asking(path="/apis/skoupa.dev"), times=None, seconds=30)
        await cluster.clock.sleep(2 * MINUTE)
        assert not waiting.done()
        await freed(client)
        assert (await waiting)[0].outcome == "drained"

    on_cluster(work)
