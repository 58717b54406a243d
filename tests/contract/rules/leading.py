"""Leases and the election that is built on them."""

from __future__ import annotations

import asyncio

from skoupa.kube.leases import Election
from skoupa.kube.resources import LEASES
from tests.contract.arena import Arena
from tests.contract.expecting import refused
from tests.contract.registry import rule
from tests.contract.sabotage import always, edit, refuse


def candidate(arena: Arena, identity: str, *, seconds: int = 2) -> Election:
    return Election(
        arena.client,
        namespace=arena.namespace,
        name="lead",
        identity=identity,
        lease_seconds=seconds,
        retry_seconds=0.2,
    )


@rule(broken_by=edit("server.encoding.document", lambda body: body.replace(b".678901Z", b"Z")))
async def a_lease_keeps_microseconds(arena: Arena) -> None:
    """The times of a Lease come back with the microseconds that were written."""
    spec = {"holderIdentity": "me", "leaseDurationSeconds": 15, "renewTime": "2026-01-02T03:04:05.678901Z"}
    await arena.create(LEASES, {"metadata": {"name": "one"}, "spec": spec})
    assert (await arena.get(LEASES, "one"))["spec"] == spec


@rule(broken_by=always("writing.validation.lease_faults", []))
async def a_lease_has_a_holder_for_some_time(arena: Arena) -> None:
    """A Lease with a duration of zero is invalid."""
    body = {"metadata": {"name": "one"}, "spec": {"leaseDurationSeconds": 0}}
    await refused(arena.create(LEASES, body), code=422, reason="Invalid")


@rule(broken_by=refuse("server.endpoints._update"))
async def one_candidate_leads_and_hands_over(arena: Arena) -> None:
    """Of two candidates one leads; when it leaves, the other follows at once."""
    # Nobody who waited for it to run out would be in time, nor does a busy machine lose it.
    first, second = candidate(arena, "first", seconds=60), candidate(arena, "second", seconds=60)
    async with arena.clock.timeout(30), asyncio.TaskGroup() as tasks:
        running = tasks.create_task(first.run())
        await first.until_leading()
        other = tasks.create_task(second.run())
        while second.holder != "first":
            await arena.clock.sleep(0.05)
        assert first.leading
        assert not second.leading
        running.cancel()
        await second.until_leading()
        assert not first.leading
        lease = await arena.get(LEASES, "lead")
        assert lease["spec"]["holderIdentity"] == "second"
        assert lease["spec"]["leaseTransitions"] == 1
        other.cancel()


@rule(broken_by=refuse("server.endpoints._update"))
async def a_lease_that_is_not_renewed_is_taken(arena: Arena) -> None:
    """A Lease whose holder vanished is taken over after its duration, and not before."""
    spec = {"holderIdentity": "vanished", "leaseDurationSeconds": 2, "leaseTransitions": 4}
    await arena.create(LEASES, {"metadata": {"name": "lead"}, "spec": spec})
    start = arena.clock.monotonic()
    heir = candidate(arena, "heir")
    async with arena.clock.timeout(30), asyncio.TaskGroup() as tasks:
        running = tasks.create_task(heir.run())
        await heir.until_leading()
        assert arena.clock.monotonic() - start >= 2
        lease = await arena.get(LEASES, "lead")
        assert lease["spec"]["leaseTransitions"] == 5
        running.cancel()
