"""A leader that stands still for longer than its Lease, as a machine that sleeps or a process under SIGSTOP does.

Another replica leads meanwhile and people go on. When the first wakes up it believes what it knew: nothing that it had in
mind may reach the server any more. Each replica is a user of its own, so that the server's audit log tells who sent what.
"""

from __future__ import annotations

import asyncio
import os
import random
import secrets
import signal
from collections import Counter
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from harness.controlplane import ControlPlane
from skoupa import names
from skoupa.errors import Withdrawn
from skoupa.kube.lists import Scope, everything
from skoupa.kube.objects import METADATA
from skoupa.kube.resources import CONFIG_MAPS, NAMESPACES
from tests.cluster.controller.objects import AuditLog, People
from tests.cluster.controller.running import Skoupa, Yard
from tests.cluster.reaching import connected, eventually, faulty, until

pytestmark = pytest.mark.cluster

LEASE_SECONDS = 4
MANY = 400
ROUNDS = 3
# Of each round.
TRIES = 5
# A process can be stopped between its last question and the system call that sends: nothing can be asked in there.
AT_THE_VERY_MOMENT = 1
MADE_BY_THE_SERVER = "kube-root-ca.crt"


class Replicas:
    """Two of them; `leader` and `other` are who they are now."""

    def __init__(self, users: dict[Path, str], both: list[Skoupa]) -> None:
        self._users = users
        self._stopped: Skoupa | None = None
        self.leader, self.other = sorted(both, key=lambda process: not process.said("leading"))

    def user(self, process: Skoupa) -> str:
        return self._users[process.kubeconfig]

    def stop_leader(self) -> None:
        os.kill(self.leader.pid, signal.SIGSTOP)
        self._stopped = self.leader

    async def taken_over(self) -> None:
        """The other one leads; what was the leader still stands still."""
        before = len(self.other.said("leading"))
        await until(lambda: len(self.other.said("leading")) > before, what="the other to lead")
        self.leader, self.other = self.other, self.leader

    def wake_up(self) -> None:
        if self._stopped is not None:
            os.kill(self._stopped.pid, signal.SIGCONT)
            self._stopped = None

    async def woken_up(self) -> None:
        """It has understood that it leads no more, and nothing of what it had in mind is under way."""
        before = len(self.other.said("not leading any more"))
        self.wake_up()
        await until(
            lambda: len(self.other.said("not leading any more")) > before,
            what="the one that woke up to say that it leads no more",
            seconds=40,
        )

        async def idle() -> bool:
            return await self.other.metric('skoupa_queue{queue="under_way"}') == 0

        await eventually(idle, what="nothing to be under way")


@asynccontextmanager
async def two_replicas(plane: ControlPlane, yard: Yard, **settings: Any) -> AsyncIterator[Replicas]:
    """Both are ready, and one of them leads."""
    users = {
        plane.kubeconfig_for(user=user, groups=["system:masters"]): user
        for user in ("replica-a", "replica-b")
    }
    both = [
        yard.start(
            kubeconfig=kubeconfig,
            lease__seconds=str(LEASE_SECONDS),
            rate__deletionsPerSecond="100000",
            **settings,
        )
        for kubeconfig in users
    ]
    for process in both:
        await process.says("ready", seconds=60)
    await until(lambda: any(process.said("leading") for process in both), what="one of them to lead")
    found = Replicas(users, both)
    yield found
    # A process that stands still hears no other signal.
    found.wake_up()


@pytest.fixture
async def replicas(plane: ControlPlane, yard: Yard) -> AsyncIterator[Replicas]:
    # Who stands still in the middle of a write to a file that both have would stop the other, too, and with a file each
    # nobody knows how much went. `test_shared_file` has one for both.
    async with two_replicas(plane, yard, ledger__dsn="none") as found:
        yield found


async def left(people: People) -> set[str]:
    found = await everything(people.client, CONFIG_MAPS, METADATA, scope=Scope(namespace=people.namespace))
    return {item.metadata.name for item in found.items} - {MADE_BY_THE_SERVER}


async def all_gone(people: People) -> None:
    async def none_left() -> bool:
        return not await left(people)

    await eventually(none_left, what="all to go", seconds=60)


async def make_all(people: People, wanted: Iterable[str], ttl: str) -> None:
    waiting = iter(wanted)

    async def work() -> None:
        for name in waiting:
            await people.make(name, ttl)

    await asyncio.gather(*(work() for _ in range(16)))


async def another_place(people: People) -> People:
    """A namespace of its own, kept for now."""
    name = f"{people.namespace}-{secrets.token_hex(4)}"
    await people.client.create(NAMESPACES, {"metadata": {"name": name, "labels": {names.KEEP_LABEL: "true"}}})
    return People(people.client, name)


def sent_by(audit: AuditLog, people: People, user: str) -> list[dict[str, Any]]:
    return [entry for entry in audit.deletes(people.namespace) if entry["user"]["username"] == user]


async def in_the_audit_log(audit: AuditLog, people: People, wanted: Iterable[str]) -> list[dict[str, Any]]:
    """All deletes in that namespace, once each of these objects has one."""
    missing = set(wanted)

    def found() -> list[dict[str, Any]]:
        deletes = audit.deletes(people.namespace)
        return deletes if missing <= {entry["objectRef"]["name"] for entry in deletes} else []

    return await until(found, what="every object in the audit log")


async def stopped_in_the_middle(
    replicas: Replicas, people: People, *, many: int, at: int
) -> tuple[People, set[str]]:
    """Where much was going when the leader stood still, and what was left there; it is kept by now, and another leads."""
    for _ in range(TRIES):
        place, there = await _stopped(replicas, people, many=many, at=at)
        if there:
            return place, there
        # This machine had other things to do, and all had gone meanwhile.
        await replicas.woken_up()
    raise AssertionError(f"{TRIES} times all had gone before it stood still")


async def _stopped(replicas: Replicas, people: People, *, many: int, at: int) -> tuple[People, set[str]]:
    place = await another_place(people)
    await make_all(place, [f"web-{number}" for number in range(many)], "1s")
    await place.label(place.namespace, resource=NAMESPACES, keep=None)

    async def in_the_middle() -> bool:
        return len(await left(place)) <= at

    await eventually(in_the_middle, what="some to go", patiently=False)
    replicas.stop_leader()
    await place.label(place.namespace, resource=NAMESPACES, keep="true")
    await replicas.taken_over()
    return place, await left(place)


async def test_a_leader_that_wakes_up_sends_nothing_and_stands_by(
    replicas: Replicas, people: People, audit: AuditLog
) -> None:
    first, second = replicas.leader, replicas.other
    kept_place = await another_place(people)
    await kept_place.label(kept_place.namespace, resource=NAMESPACES, keep=None)
    due = [f"web-{number}" for number in range(40)]
    kept = {"kept", "cancelled", "put-off"}
    # Late enough for the leader to know all of them and to do nothing about any.
    await make_all(people, [*due, *kept], "14s")
    await make_all(kept_place, ["in-a-kept-namespace"], "14s")
    await first.has_heard_of_all(People(people.client, "default"), CONFIG_MAPS)
    replicas.stop_leader()
    await people.label("kept", keep="true")
    await people.label("cancelled", ttl=None)
    await people.label("put-off", ttl="1h")
    await kept_place.label(kept_place.namespace, resource=NAMESPACES, keep="true")
    await replicas.taken_over()
    assert replicas.leader is second
    for name in due:
        await people.gone(name)
    await second.says("held", namespace=people.namespace, name="kept")
    await second.says("held", namespace=kept_place.namespace, name="in-a-kept-namespace")

    await replicas.woken_up()
    assert first.said("not leading any more")[-1]["level"] == "warning"
    assert await first.metric("skoupa_leading") == 0
    assert await second.metric("skoupa_leading") == 1
    await people.make("later", "1s")
    await people.gone("later")
    deletes = await in_the_audit_log(audit, people, [*due, "later"])
    assert Counter(entry["objectRef"]["name"] for entry in deletes) == Counter([*due, "later"])
    assert {entry["user"]["username"] for entry in deletes} == {replicas.user(second)}
    assert not audit.deletes(kept_place.namespace)
    assert await left(people) == kept

    # It goes on when it is its turn again, by what is so then.
    second.terminate()
    await until(lambda: len(first.said("leading")) == 2, what="the first to lead again")
    await people.make("last", "1s")
    await people.gone("last")
    (entry,) = await until(
        lambda: sent_by(audit, people, replicas.user(first)), what="the delete in the audit log"
    )
    assert entry["objectRef"]["name"] == "last"
    assert await left(people) == kept
    assert await left(kept_place) == {"in-a-kept-namespace"}
    assert not audit.deletes(kept_place.namespace)


async def test_a_leader_that_stood_still_in_the_middle_of_hundreds_of_deletes_sends_none_of_those_it_had_ready(
    replicas: Replicas, people: People, audit: AuditLog
) -> None:
    """The Namespace is kept meanwhile, which no precondition of a delete tells the server."""
    chance = random.Random()
    for number in range(ROUNDS):
        place, there = await stopped_in_the_middle(
            replicas, people, many=MANY, at=chance.randint(MANY // 2, MANY - MANY // 8)
        )
        asleep = replicas.user(replicas.other)
        sent = len(sent_by(audit, place, asleep))
        await replicas.woken_up()
        # The server writes its log as it answers, and a later delete that is in there is behind all others.
        await people.make(f"bystander-{number}", "1s")
        await people.gone(f"bystander-{number}")
        late = sent_by(audit, place, asleep)[sent:]
        assert len(late) <= AT_THE_VERY_MOMENT, f"sent after another led: {late}"
        assert await left(place) == there - {entry["objectRef"]["name"] for entry in late}
        await place.label(place.namespace, resource=NAMESPACES, keep=None)
        await all_gone(place)
        wanted = [f"web-{index}" for index in range(MANY)]
        deletes = await in_the_audit_log(audit, place, wanted)
        assert {entry["responseStatus"]["code"] for entry in deletes} == {200}
        assert Counter(entry["objectRef"]["name"] for entry in deletes) == Counter(wanted)


async def test_a_delete_that_is_taken_back_while_it_is_on_its_way_to_the_wire_is_not_sent(
    plane: ControlPlane, people: People
) -> None:
    """The connection is made, and then everything is otherwise than it was when that began."""
    made = await people.make("web")
    answers = iter([True, False])
    async with faulty(plane) as proxy, connected(proxy) as client:
        with pytest.raises(Withdrawn, match="not wanted any more"):
            await client.delete(
                CONFIG_MAPS,
                "web",
                namespace=people.namespace,
                uid=made["metadata"]["uid"],
                propagation="Background",
                still_wanted=lambda: next(answers),
            )
        # Whatever left before this is in the proxy's journal when this is answered.
        await client.get(CONFIG_MAPS, "web", namespace=people.namespace, view=METADATA)
        assert [seen.method for seen in proxy.requests] == ["GET"]
