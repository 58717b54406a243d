"""Leader election on the real server: at most one writes, whatever happens to the others or to the network."""

from __future__ import annotations

import asyncio
import random
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager, asynccontextmanager
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from harness.controlplane import Access
from harness.faultproxy import Answer, FaultProxy, Reset, Rule, Silence, Slow, kube_status
from skoupa.clock import SystemClock
from skoupa.errors import Forbidden, LeaseLost, NotFound, TimedOut
from skoupa.kube.client import Client
from skoupa.kube.fence import Fence
from skoupa.kube.flow import Limits
from skoupa.kube.leases import Election
from skoupa.kube.objects import METADATA, WHOLE
from skoupa.kube.resources import CONFIG_MAPS, LEASES
from skoupa.kube.transport import Transport
from tests.cluster.lateness import measured
from tests.cluster.reaching import connected, eventually, exists, faulty, until

pytestmark = pytest.mark.cluster

LEASE = 3


def candidate(client: Client, namespace: str, identity: str, *, lease: int = LEASE) -> Election:
    return Election(
        client, namespace=namespace, name="leader", identity=identity, lease_seconds=lease, retry_seconds=2.0
    )


def behind(election: Election) -> Callable[[Transport], Transport]:
    return lambda inner: Fence(inner, election)


@asynccontextmanager
async def running(*elections: Election) -> AsyncIterator[list[asyncio.Task[None]]]:
    async with asyncio.TaskGroup() as tasks:
        started = [tasks.create_task(election.run()) for election in elections]
        yield started
        for task in started:
            task.cancel()


async def lease_of(client: Client, namespace: str) -> dict[str, Any]:
    lease = await client.get(LEASES, "leader", namespace=namespace, view=WHOLE)
    spec: dict[str, Any] = lease["spec"]
    return spec


def seconds(moment: str) -> float:
    return datetime.fromisoformat(moment).timestamp()


async def test_of_two_candidates_one_leads_and_the_other_waits(admin: Client, namespace: str) -> None:
    a, b = candidate(admin, namespace, "a"), candidate(admin, namespace, "b")
    async with running(a, b):
        await until(lambda: a.leading or b.leading, what="somebody leads")
        first, second = (a, b) if a.leading else (b, a)
        await until(lambda: second.holder == first.identity, what="the other one knows")
        renewed = (await lease_of(admin, namespace))["renewTime"]
        await first.until_leading()

        async def renewed_again() -> bool:
            return bool((await lease_of(admin, namespace))["renewTime"] != renewed)

        await eventually(renewed_again, what="the lease is renewed")
        assert first.leading
        assert not second.leading
        spec = await lease_of(admin, namespace)
        assert spec["holderIdentity"] == first.identity
        assert spec["leaseDurationSeconds"] == LEASE
        assert spec["leaseTransitions"] == 0


CANDIDATE = """
import asyncio, sys
from pathlib import Path
from tests.cluster.reaching import connected
from tests.cluster.test_leases import candidate

async def main():
    async with connected(Path(sys.argv[1])) as client, asyncio.TaskGroup() as tasks:
        election = candidate(client, sys.argv[2], "doomed")
        tasks.create_task(election.run())
        await election.until_leading()
        print("leading", flush=True)

asyncio.run(main())
"""


async def test_a_leader_that_is_killed_is_followed_after_the_lease_time_and_not_before(
    control_plane: Access, admin: Client, namespace: str
) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        CANDIDATE,
        str(control_plane.kubeconfig),
        namespace,
        stdout=asyncio.subprocess.PIPE,
        cwd=Path(__file__).parents[2],
    )
    try:
        assert process.stdout is not None
        async with asyncio.timeout(60):
            assert await process.stdout.readline() == b"leading\n"
        heir = candidate(admin, namespace, "heir")
        async with running(heir), measured() as lateness:
            await until(lambda: heir.holder == "doomed", what="the heir sees the leader")
            process.send_signal(signal.SIGKILL)
            await process.wait()
            last = await lease_of(admin, namespace)
            await until(lambda: heir.leading, what="the heir leads")
            spec = await lease_of(admin, namespace)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    waited = seconds(spec["acquireTime"]) - seconds(last["renewTime"])
    assert LEASE <= waited < LEASE + 3 + lateness.total
    assert spec["leaseTransitions"] == last["leaseTransitions"] + 1


async def test_a_leader_that_leaves_hands_over_at_once(admin: Client, namespace: str) -> None:
    a, b = candidate(admin, namespace, "a", lease=60), candidate(admin, namespace, "b", lease=60)
    async with running(a) as (running_a,):
        await until(lambda: a.leading, what="a leads")
        async with running(b):
            await until(lambda: b.holder == "a", what="b knows")
            running_a.cancel()
            await until(lambda: b.leading, what="b leads, long before the lease time is over", seconds=30)
            assert not a.leading
    assert (await lease_of(admin, namespace))["holderIdentity"] == "", "the last one out leaves it free"


class FencedWrites:
    """Somebody who writes as fast as the fence allows, over a connection that is always good."""

    def __init__(self) -> None:
        self.done: list[tuple[float, float]] = []
        self.refused_at: float | None = None

    async def run(self, client: Client, namespace: str, name: str) -> None:
        while True:
            started = client.clock.monotonic()
            try:
                await client.merge_patch(
                    CONFIG_MAPS, name, {"data": {"at": str(started)}}, namespace=namespace
                )
            except LeaseLost:
                self.refused_at = self.refused_at or client.clock.monotonic()
                await client.clock.sleep(0.005)
                continue
            self.done.append((started, client.clock.monotonic()))
            self.refused_at = None


@pytest.mark.parametrize("how", ["silent", "refused", "reset", "never answered"])
async def test_a_leader_that_is_cut_off_stops_writing_before_another_may_begin(
    control_plane: Access, admin: Client, proxy: FaultProxy, namespace: str, how: str
) -> None:
    await admin.create(CONFIG_MAPS, {"metadata": {"name": "fenced"}}, namespace=namespace)
    async with connected(proxy) as cut_off:
        a, b = candidate(cut_off, namespace, "a"), candidate(admin, namespace, "b")
        writes = FencedWrites()
        async with (
            connected(control_plane.kubeconfig, wrap=behind(a)) as fenced,
            running(a),
        ):
            await until(lambda: a.leading, what="a leads")
            async with running(b), asyncio.TaskGroup() as tasks:
                writing = tasks.create_task(writes.run(fenced, namespace, "fenced"))
                await until(lambda: b.holder == "a" and len(writes.done) > 10, what="a writes")
                match how:
                    case "silent":
                        proxy.script(Rule(Silence(after_bytes=0), times=None))
                    case "reset":
                        proxy.script(Rule(Reset(), times=None))
                    case "refused":
                        await proxy.down()
                    case "never answered":
                        await proxy.down(refuse=False)
                await until(lambda: b.leading, what="b leads")
                begun = b._renewal_sent
                assert not a.leading
                writing.cancel()
    assert writes.refused_at is not None
    assert writes.refused_at < begun, "the fence closed before the other one began"
    assert max(end for _, end in writes.done) < begun
    assert any(start > begun - 3 * LEASE for start, _ in writes.done), "it did write while it led"


NO_RENEWALS = Rule(Reset(), path="/apis/coordination.k8s.io/", times=None)


async def test_a_write_may_take_longer_than_the_lease_while_it_is_renewed(
    admin: Client, proxy: FaultProxy, namespace: str
) -> None:
    """As with a slow webhook: the request waits before the server does anything about it."""
    lease = 5
    made = await admin.create(CONFIG_MAPS, {"metadata": {"name": "slow"}}, namespace=namespace)
    a = candidate(admin, namespace, "a", lease=lease)
    async with connected(proxy, wrap=behind(a)) as fenced, running(a):
        await until(lambda: a.leading, what="a leads")
        proxy.script(Rule(Slow(before=1.5 * lease), method="DELETE"))
        await fenced.delete(
            CONFIG_MAPS, "slow", namespace=namespace, uid=made["metadata"]["uid"], propagation="Background"
        )
        assert len([request for request in proxy.requests if request.method == "DELETE"]) == 1
        assert not await exists(admin, CONFIG_MAPS, "slow", namespace=namespace)


async def test_a_write_that_would_outlast_the_lease_is_given_up(proxy: FaultProxy, namespace: str) -> None:
    async with connected(proxy) as cut_off:
        a = candidate(cut_off, namespace, "a")
        await cut_off.create(CONFIG_MAPS, {"metadata": {"name": "slow"}}, namespace=namespace)
        async with connected(proxy, wrap=behind(a)) as fenced, running(a), measured() as lateness:
            await until(lambda: a.leading, what="a leads")
            proxy.script(Rule(Slow(before=60), method="PATCH"))
            proxy.script(NO_RENEWALS)
            ends = a._renewal_sent + LEASE
            with pytest.raises(TimedOut, match="before the lease ran out"):
                await fenced.merge_patch(CONFIG_MAPS, "slow", {"data": {"a": "b"}}, namespace=namespace)
            assert ends - 0.5 <= fenced.clock.monotonic() <= ends + 0.5 + lateness.worst
            proxy.clear()
            found = await cut_off.get(CONFIG_MAPS, "slow", namespace=namespace, view=WHOLE)
            assert "data" not in found


@pytest.mark.parametrize(
    ("refusal", "ended"),
    [
        (kube_status(429, retry_after=60), pytest.raises(TimedOut, match="before the lease ran out")),
        # Each try asks anew whether the lease is still there.
        (kube_status(429), pytest.raises(LeaseLost, match="not sent, another replica may be leading")),
    ],
    ids=["held back", "repeated"],
)
async def test_a_write_that_still_waits_for_its_turn_when_the_lease_runs_out_is_never_sent(
    admin: Client,
    proxy: FaultProxy,
    namespace: str,
    refusal: Answer,
    ended: AbstractContextManager[object],
) -> None:
    """The fence may stand before the flow: then the lease can run out between the two."""
    await admin.create(CONFIG_MAPS, {"metadata": {"name": "waiting"}}, namespace=namespace)
    proxy.script(Rule(refusal, method="PATCH", times=None))
    async with (
        connected(proxy) as cut_off,
        running(a := candidate(cut_off, namespace, "a")),
        connected(proxy, limits=Limits(tries=1_000_000)) as client,
    ):
        await until(lambda: a.leading, what="a leads")
        fenced = Client(Fence(client.transport, a), client.clock)
        proxy.script(NO_RENEWALS)
        with ended:
            async with asyncio.timeout(60):
                await fenced.merge_patch(CONFIG_MAPS, "waiting", {"data": {"a": "b"}}, namespace=namespace)
        sent = len([request for request in proxy.requests if request.method == "PATCH"])
        assert sent >= 1
        with pytest.raises(TimeoutError):
            await proxy.wait_for(lambda request: request.method == "PATCH", within=0.5, count=sent + 1)


async def test_without_the_lease_reads_go_on_and_writes_are_not_sent(
    proxy: FaultProxy, namespace: str, admin: Client
) -> None:
    a = candidate(admin, namespace, "a")
    async with connected(proxy, wrap=behind(a)) as fenced:
        with pytest.raises(LeaseLost, match="another replica may be leading"):
            await fenced.create(CONFIG_MAPS, {"metadata": {"name": "never"}}, namespace=namespace)
        with pytest.raises(LeaseLost):
            await fenced.delete(CONFIG_MAPS, "x", namespace=namespace, uid="u", propagation="Background")
        assert proxy.requests == []
        async with running(a):
            await until(lambda: a.leading, what="a leads")
            await fenced.create(CONFIG_MAPS, {"metadata": {"name": "now"}}, namespace=namespace)
        with pytest.raises(LeaseLost):
            await fenced.create(CONFIG_MAPS, {"metadata": {"name": "never"}}, namespace=namespace)
        assert (
            await fenced.get(CONFIG_MAPS, "now", namespace=namespace, view=METADATA)
        ).metadata.name == "now"


async def test_a_lease_that_is_deleted_under_its_holder_does_not_make_a_second_leader(
    admin: Client, proxy: FaultProxy, namespace: str
) -> None:
    async with connected(proxy) as delayed:
        # Long enough for the holder to have it again before it runs out.
        a, b = (
            candidate(delayed, namespace, "a", lease=12),
            candidate(admin, namespace, "b", lease=12),
        )
        async with running(a):
            await until(lambda: a.leading, what="a leads")
            async with running(b), asyncio.TaskGroup() as tasks:
                await until(lambda: b.holder == "a", what="b waits")
                observer = tasks.create_task(watch_for_two([a, b]))
                # The holder notices only after the candidate could have made a new Lease.
                slow = proxy.script(Rule(Slow(delay=1.0), times=1))
                await until(lambda: proxy.hits(slow) == 1, what="a renews")
                found = await admin.get(LEASES, "leader", namespace=namespace, view=METADATA)
                await admin.delete(
                    LEASES, "leader", namespace=namespace, uid=found.metadata.uid, propagation="Background"
                )

                async def made_anew() -> bool:
                    try:
                        lease = await admin.get(LEASES, "leader", namespace=namespace, view=METADATA)
                    except NotFound:
                        return False
                    return lease.metadata.uid != found.metadata.uid

                await eventually(made_anew, what="there is a Lease again")
                assert (await lease_of(admin, namespace))["holderIdentity"] == "a"
                observer.cancel()


async def watch_for_two(elections: list[Election]) -> None:
    clock = SystemClock()
    while True:
        leading = [election.identity for election in elections if election.leading]
        assert len(leading) <= 1, f"{leading} lead at the same moment"
        await clock.sleep(0.001)


MISHAPS: tuple[Rule, ...] = (
    Rule(Silence(after_bytes=0), times=4),
    Rule(Reset(after_bytes=0), method="PUT", times=3),
    Rule(Reset(), times=20),
    Rule(kube_status(409), method="PUT", times=5),
    Rule(Slow(delay=0.4), times=4),
)


class Candidates:
    """Candidates with a network and a fenced connection each, that come and go; all that they wrote is kept."""

    def __init__(self, plane: Access, namespace: str) -> None:
        self._plane = plane
        self._namespace = namespace
        self._chance = random.Random(20260804)
        self.living: list[Election] = []
        self.terms: list[str] = []
        self.spans: list[tuple[float, float, str]] = []

    async def live(self, number: int) -> None:
        async with faulty(self._plane) as way:
            for life in range(1000):
                async with connected(way) as client:
                    await self._one_life(
                        candidate(client, self._namespace, f"c{number}.{life}", lease=1), way
                    )
                way.clear()

    async def _one_life(self, election: Election, way: FaultProxy) -> None:
        writes = FencedWrites()
        self.living.append(election)
        async with (
            connected(self._plane.kubeconfig, wrap=behind(election)) as fenced,
            running(election),
            asyncio.TaskGroup() as tasks,
        ):
            writing = tasks.create_task(writes.run(fenced, self._namespace, "shared"))
            await until(lambda: len(writes.done) > 3, what="it leads and writes", seconds=180)
            self.terms.append(election.identity)
            way.script(self._chance.choice(MISHAPS))
            written = len(writes.done) + self._chance.randrange(100)
            await until(lambda: not election.leading or len(writes.done) > written, what="the term ends")
            writing.cancel()
            self.spans += [(start, end, election.identity) for start, end in writes.done]
        self.living.remove(election)

    def overlaps(self) -> list[object]:
        spans = sorted(self.spans)
        return [
            (one, next_one)
            for one, next_one in pairwise(spans)
            if one[2] != next_one[2] and next_one[0] < one[1]
        ]


async def test_whatever_happens_to_five_candidates_no_two_lead_at_the_same_moment(
    control_plane: Access, admin: Client, namespace: str
) -> None:
    await admin.create(CONFIG_MAPS, {"metadata": {"name": "shared"}}, namespace=namespace)
    all_five = Candidates(control_plane, namespace)
    async with asyncio.TaskGroup() as tasks:
        lives = [tasks.create_task(all_five.live(number)) for number in range(5)]
        observer = tasks.create_task(watch_for_two(all_five.living))
        await until(lambda: len(all_five.terms) >= 12, what=lambda: f"terms: {all_five.terms}", seconds=180)
        for task in (*lives, observer):
            task.cancel()
    assert all_five.overlaps() == [], "two wrote at the same moment"
    assert len({who for _, _, who in all_five.spans}) >= 5


async def test_a_candidate_without_rights_says_so_and_never_leads(
    control_plane: Access, namespace: str
) -> None:
    async with connected(control_plane.kubeconfig_for(user="no-lease-for-me")) as client:
        a = candidate(client, namespace, "a")
        async with running(a):
            await until(lambda: isinstance(a.last_error, Forbidden), what="the refusal is told")
            assert not a.leading
