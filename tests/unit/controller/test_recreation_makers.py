"""What is put back each time it goes: noticed however long its time is, and told with who puts it back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from skoupa.controller.recreation.loops import FREE_ROUNDS, BackedOff, Recreations
from skoupa.controller.recreation.makers import Entry, maker_of
from skoupa.controller.recreation.memory import MOST
from skoupa.expr.durations import render_duration
from skoupa.kinds.definition import document
from skoupa.kinds.retention.policy import RETENTION_POLICIES, RETENTION_POLICY
from skoupa.kube.resources import CONFIG_MAPS, CUSTOM_RESOURCE_DEFINITIONS
from skoupa.kube.transport import Request
from tests.unit.controller.retaining.scene import KINDS, ON, after
from tests.unit.controller.stage import DAY, HOUR, MINUTE, SHOP, Play, Stage, described, story
from tests.unit.judge.rows import CREATED
from tests.unit.judge.rows import row as judged_row

pytestmark = pytest.mark.unit


def is_read(request: Request) -> bool:
    return request.method == "GET" and ("fieldSelector", "metadata.name=web") in request.query


async def by_ttl(stage: Stage, seconds: float, **metadata: Any) -> None:
    await _put_back(stage, described("web", render_duration(int(seconds)), **metadata))


async def by_use(stage: Stage, seconds: float, **metadata: Any) -> None:
    await _put_back(
        stage, described("web", labels=after(f"unused-{render_duration(int(seconds))}"), **metadata)
    )


async def _put_back(stage: Stage, metadata: dict[str, Any]) -> None:
    """As Argo CD does it."""
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
    await stage.people.apply(CONFIG_MAPS, body, namespace=SHOP, manager="argocd-controller")
    await stage.settle()


async def rounds(stage: Stage, put_back: Callable[..., Awaitable[None]], time: float) -> None:
    """As many as nobody minds, and once more: it is there."""
    for _ in range(FREE_ROUNDS):
        await put_back(stage, time)
        await stage.later(time + 20)
        assert not stage.there("web")
    await put_back(stage, time)


@pytest.mark.parametrize("put_back", [by_ttl, by_use], ids=["ttl", "ttl-after"])
@story(also=KINDS, features=ON)
async def test_pitfall_11_what_a_deployer_puts_back_is_backed_off_and_says_who_puts_it_back(
    stage: Stage, put_back: Callable[..., Awaitable[None]]
) -> None:
    play, time = await stage.play(), 5 * MINUTE
    await rounds(stage, put_back, time)
    await stage.later(time + 20)
    assert stage.there("web"), "the first wait is a minute"
    why = play.why_held("web")
    assert why.startswith(
        f"it came back {FREE_ROUNDS} times after it was deleted, made by argocd-controller, so "
    )
    assert len(play.told("held", "web")) == 1
    await stage.later(MINUTE)
    assert not stage.there("web")
    await put_back(stage, time)
    await stage.later(time + 60)
    assert stage.there("web"), "the second one is two"
    await stage.later(MINUTE)
    assert not stage.there("web")


@story(also=KINDS, features=ON)
async def test_what_a_deployer_puts_back_after_a_retention_policy_took_it_is_backed_off_too(
    stage: Stage,
) -> None:
    """However long the time of the policy is: nothing of it is written on the object."""
    await stage.people.create(CUSTOM_RESOURCE_DEFINITIONS, document(RETENTION_POLICY))
    await stage.later(5)
    play, time = await stage.play(), 150 * MINUTE
    match = {"any": [{"resources": {"kinds": ["ConfigMap"]}}]}
    body = {
        "apiVersion": RETENTION_POLICIES.api_version,
        "kind": RETENTION_POLICIES.kind,
        "metadata": {"name": "left"},
        "spec": {"match": match, "after": {"unused": "150m"}},
    }
    await stage.people.create(RETENTION_POLICIES, body, namespace=SHOP)
    await stage.later(5)

    async def put_back(stage: Stage, _: float) -> None:
        await _put_back(stage, described("web", labels={"app": "web"}))

    await rounds(stage, put_back, time)
    await stage.later(time + 30)
    assert stage.there("web"), "the first wait is a minute"
    assert (
        f"it came back {FREE_ROUNDS} times after it was deleted, made by argocd-controller"
        in play.why_held("web")
    )
    await stage.later(MINUTE)
    assert not stage.there("web")


@story()
async def test_the_next_leader_knows_who_makes_it(stage: Stage) -> None:
    first = await stage.play()
    await rounds(stage, by_ttl, 5.0)
    await stage.later(2 * MINUTE)
    assert not stage.there("web")
    await by_ttl(stage, 5.0)
    await stage.later(10)
    await first.stop()
    second = await stage.play()
    await stage.later(10)
    assert stage.there("web")
    assert f"{FREE_ROUNDS + 1} times after it was deleted, made by argocd-controller" in second.why_held(
        "web"
    )


def test_and_of_a_loop_of_hours_as_long_as_it_can_come_round_again() -> None:
    remembered = Recreations(lambda _: 3 * HOUR)
    moment = loop(remembered, lives=3 * HOUR)
    kept = remembered.backed_off(moment + 4 * HOUR, most=MOST)
    assert [one.count for one in kept] == [FREE_ROUNDS]
    other = Recreations(lambda _: 3 * HOUR)
    other.recall(kept, moment + 4 * HOUR)
    assert other.backed_off(moment + 4 * HOUR, most=MOST) == kept
    assert remembered.backed_off(moment + 6 * HOUR, most=MOST) == []
    # As it was written before that time was known.
    older = [
        msgspec.json.decode(
            b'{"of":["configmaps","shop","web"],"count":3,"began":1,"made":1,"deleted":1,"uid":"1"}',
            type=BackedOff,
        )
    ]
    other.recall(older, 2.0)
    assert len(other) == 1


@story()
async def test_where_the_server_can_not_be_asked_who_made_it_it_is_backed_off_all_the_same(
    stage: Stage,
) -> None:
    play = await stage.play()
    stage.cluster.faults.answer(500, when=is_read, seconds=DAY)
    await rounds(stage, by_ttl, 5.0)
    await stage.later(20)
    assert stage.there("web")
    assert play.why_held("web").startswith(
        f"it came back {FREE_ROUNDS} times after it was deleted, so the next"
    )
    await stage.later(2 * MINUTE)
    assert not stage.there("web")


@story()
async def test_who_made_it_is_told_with_the_rights_of_an_installation_which_has_no_get(stage: Stage) -> None:
    stage.cluster.deny(user="installed", verbs=("get",), namespaces=(SHOP,))
    play = await stage.play(user="installed")
    await rounds(stage, by_ttl, 5.0)
    await stage.later(20)
    assert ", made by argocd-controller, so the next" in play.why_held("web")


@story()
async def test_nobody_is_asked_about_what_came_back_once_or_twice(stage: Stage) -> None:
    play = await stage.play()
    for _ in range(FREE_ROUNDS):
        await by_ttl(stage, 5.0)
        await stage.later(25)
    assert not _reads(play)
    await by_ttl(stage, 5.0)
    await stage.later(20)
    assert len(_reads(play)) == 1


def loop(remembered: Recreations, *, lives: float, back_after: float = MINUTE) -> float:
    """As many rounds as nobody minds; when it is there again."""
    moment = float(CREATED)
    for number in range(FREE_ROUNDS):
        row = judged_row("web", uid=bytes([number]) * 16, created=int(moment))
        assert remembered.hold(row, moment + lives) is None
        remembered.deleted(row, moment + lives)
        moment += lives + back_after
    return moment


@pytest.mark.parametrize("time", [5.0, 10 * MINUTE, 3 * HOUR, 30 * DAY])
def test_however_long_its_time_is_it_waits_an_hour_longer_at_most(time: float) -> None:
    remembered = Recreations(lambda _: time)
    moment = loop(remembered, lives=time, back_after=1.0)
    for number in range(20):
        back = judged_row("web", uid=bytes([100 + number]) * 16, created=int(moment))
        due = moment + time
        held = remembered.hold(back, due)
        assert held is not None
        assert held.until is not None
        assert due < held.until <= due + HOUR
        remembered.deleted(back, held.until)
        moment = held.until + 1


def test_what_was_used_for_long_in_between_is_in_no_loop() -> None:
    remembered = Recreations(lambda _: 10 * MINUTE)
    moment = loop(remembered, lives=10 * MINUTE)
    back = judged_row("web", uid=b"9" * 16, created=int(moment))
    assert remembered.hold(back, moment + 5 * HOUR) is None
    remembered.deleted(back, moment + 5 * HOUR)
    assert remembered.backed_off(moment + 5 * HOUR, most=MOST) == []


def test_a_time_that_was_not_waited_for_holds_nothing_for_so_long() -> None:
    """A policy took it within a minute, whatever its label said."""
    remembered = Recreations(lambda _: 30 * DAY)
    moment = loop(remembered, lives=MINUTE)
    back = judged_row("web", uid=b"9" * 16, created=int(moment))
    held = remembered.hold(back, moment)
    assert held is None or (held.until or 0.0) <= moment + 2 * MINUTE


def test_who_comes_back_a_day_later_each_time_is_in_no_loop() -> None:
    remembered = Recreations(lambda _: 8 * HOUR)
    moment = float(CREATED)
    for number in range(3 * FREE_ROUNDS):
        one = judged_row("web", uid=bytes([number]) * 16, created=int(moment))
        assert remembered.hold(one, moment + 8 * HOUR) is None
        remembered.deleted(one, moment + 8 * HOUR)
        moment += DAY


T1, T2 = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC)


@pytest.mark.parametrize(
    ("entries", "maker"),
    [
        ([Entry(manager="helm", operation="Update", time=T1)], "helm"),
        ([Entry(manager="hpa", operation="Update", time=T2), Entry(manager="flux", operation="Apply", time=T1)], "flux"),
        ([Entry(manager="a", operation="Update", time=T1), Entry(manager="b", operation="Apply", time=T1)], "b"),
        ([Entry(manager="kcm", operation="Update", time=T1, subresource="status")], ""),
        ([Entry(manager="skoupa", operation="Update", time=T1), Entry(manager="kubectl", operation="Update", time=T2)], "kubectl"),
        ([Entry(manager="nobody knows when", operation="Update")], ""),
        ([], ""),
    ],
    ids=["update", "the first", "apply", "status", "ourselves", "no time", "none"],
)  # fmt: skip
def test_who_wrote_it_first_made_it(entries: list[Entry], maker: str) -> None:
    assert maker_of(entries) == maker


def _reads(play: Play) -> list[float]:
    return [at for at, request in play.wire.seen if is_read(request)]
