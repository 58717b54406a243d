"""Webhooks that refuse our delete, or never answer: nothing is lost, nobody else waits, and it is told in their words."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.cluster.controller.objects import SECRETS, AuditLog, People
from tests.cluster.controller.other_time import OtherTime
from tests.cluster.controller.refusing import Doorman, doorman
from tests.cluster.controller.running import Skoupa, Yard
from tests.cluster.reaching import eventually, until

pytestmark = pytest.mark.cluster

WORDS = "ask the owner of the shop first"
ERRORS = {400: "BadRequest", 403: "Forbidden"}
# How long it waits before the next try is a story of its own; here it only has to come.
SHORTER = 5.0


@pytest.fixture
async def door(people: People, tmp_path: Path) -> AsyncIterator[Doorman]:
    async with doorman(people, tmp_path) as found:
        yield found


@pytest.fixture
def program(tmp_path: Path) -> tuple[str, ...]:
    return OtherTime(tmp_path, shorter=SHORTER).program


async def failing(process: Skoupa, count: int) -> None:
    async def counted() -> bool:
        return await process.metric('skoupa_holds{reason="failing"}') == count

    await eventually(counted, what=f"{count} failing")


# What a webhook answers by itself, and what most policy engines say; the server says the latter for missing rights too.
@pytest.mark.parametrize("code", [400, 403])
async def test_a_delete_that_a_webhook_refuses_is_shown_in_its_words_and_tried_until_it_lets_go(
    door: Doorman, people: People, yard: Yard, audit: AuditLog, *, program: tuple[str, ...], code: int
) -> None:
    process = await yard.started(program=program)
    door.refuse("web", WORDS, code=code)
    await people.make("web", "1s")
    failed = await process.says("delete failed", name="web", namespace=people.namespace)
    assert failed["level"] == "warning"
    assert f'admission webhook "{door.name}" denied the request: {WORDS}' in failed["error"]
    await failing(process, 1)
    await people.make("other", "1s")
    await people.gone("other")
    await until(lambda: len(door.asked_about("web")) >= 4, what="it to be tried again")
    assert await people.there("web")
    assert await process.metric('skoupa_holds{reason="no-permission"}') == 0
    sample = f'skoupa_delete_failures_total{{error="{ERRORS[code]}",kind="configmaps"}}'
    assert await process.metric(sample) >= 3

    door.let_go("web")
    await people.gone("web", seconds=60)
    deleted = await process.says("deleted", name="web", namespace=people.namespace)
    assert deleted["why"].startswith("cleanup.kyverno.io/ttl=1s, counted from ")
    await failing(process, 0)
    assert await until(lambda: codes(audit, people, "web")[-1] == 200, what="the end of the audit log")
    assert set(codes(audit, people, "web")[:-1]) == {code}


def codes(audit: AuditLog, people: People, name: str) -> list[int]:
    return [
        entry["responseStatus"]["code"]
        for entry in audit.deletes(people.namespace)
        if entry["objectRef"]["name"] == name
    ]


async def test_a_webhook_that_never_answers_holds_up_nobody_else(
    people: People, yard: Yard, tmp_path: Path, program: tuple[str, ...]
) -> None:
    async with doorman(people, tmp_path, seconds=1) as door:
        process = await yard.started(program=program, rate__inFlight="4")
        stubborn = [f"stubborn-{number}" for number in range(3)]
        for name in stubborn:
            door.hang(name)
            await people.make(name, "1s")
        await until(lambda: set(stubborn) <= set(door.arrived), what="all to be asked about")
        for number in range(20):
            await people.make(f"other-{number}", "1s")
        for number in range(20):
            await people.gone(f"other-{number}")
        assert not process.said("deleted", name="stubborn-0")
        for name in stubborn:
            failed = await process.says("delete failed", name=name, namespace=people.namespace)
            assert f'failed calling webhook "{door.name}"' in failed["error"]
        await failing(process, 3)

        for name in stubborn:
            door.let_go(name)
        for name in stubborn:
            await people.gone(name, seconds=60)
        await failing(process, 0)


async def test_more_deletes_that_hang_than_may_be_in_flight_make_only_each_other_wait(
    people: People, yard: Yard, tmp_path: Path, program: tuple[str, ...]
) -> None:
    async with doorman(people, tmp_path, seconds=4) as door:
        process = await yard.started(program=program, rate__inFlight="4")
        stubborn = [f"stubborn-{number}" for number in range(12)]
        for name in stubborn:
            door.hang(name)
            await people.make(name, "1s")
        hanging = await process.says("deletes hang")
        assert hanging["where"] == f"configmaps in {people.namespace}"
        assert "admission webhook" in hanging["advice"]
        for number in range(20):
            await people.make(f"other-{number}", "1s", resource=SECRETS)
        for number in range(20):
            await people.gone(f"other-{number}", resource=SECRETS, seconds=10)

        async def all_are_shown() -> bool:
            waiting = await process.metric('skoupa_holds{reason="hanging"}')
            return waiting + await process.metric('skoupa_holds{reason="failing"}') == len(stubborn)

        await eventually(all_are_shown, what="all that hang or wait for them to be counted")
        for name in stubborn:
            door.let_go(name)
        for name in stubborn:
            await people.gone(name, seconds=60)
