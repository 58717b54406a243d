"""What a controller makes anew each time is counted by rounds, whoever of the family goes along."""

from __future__ import annotations

import pytest

from skoupa.controller.recreation.loops import FREE_ROUNDS, Recreations
from skoupa.controller.recreation.memory import MOST
from skoupa.controller.state import RECREATIONS, State
from skoupa.facts.rows import Row
from skoupa.kube.resources import PODS
from tests.unit.controller.stage import APPS, HOME, REPLICA_SETS, Play, Stage, story
from tests.unit.judge.rows import CREATED, owner_of
from tests.unit.judge.rows import row as judged_row

pytestmark = pytest.mark.unit

TTL = 5


def pod(parent: Row, number: int, *, made: float) -> Row:
    return judged_row(f"web-{number}", resource=PODS, owners=(owner_of(parent),), created=int(made))


def rounds_before_a_hold(*, replicas: int, parent_goes: bool) -> int:
    """Pods live for their TTL and are replaced a moment after: how often, until one is held."""
    remembered, number = Recreations(), 0
    at = float(CREATED) + 0.3
    for done in range(10):
        parent = judged_row("set", resource=REPLICA_SETS, uid=bytes([done if parent_goes else 0]) * 16)
        made = [pod(parent, number + index, made=at) for index in range(replicas)]
        number += replicas
        # A duration counts from a whole second.
        at = int(at) + TTL + 0.02
        held = [remembered.hold(row, at) is not None for row in made]
        if any(held):
            assert all(held)
            return done
        for row in made:
            remembered.deleted(row, at)
            at += 0.01
    raise AssertionError("nothing was ever held")


@pytest.mark.parametrize("replicas", [1, 2, 30])
@pytest.mark.parametrize(
    "parent_goes", [False, True], ids=["its controller stays", "its controller goes too"]
)
def test_pods_that_are_replaced_within_a_moment_have_three_rounds(
    *, replicas: int, parent_goes: bool
) -> None:
    assert rounds_before_a_hold(replicas=replicas, parent_goes=parent_goes) == FREE_ROUNDS


def test_pods_that_go_as_soon_as_they_are_made_are_one_round() -> None:
    remembered, parent = Recreations(), judged_row("set", resource=REPLICA_SETS)
    made = [pod(parent, number, made=CREATED) for number in range(10)]
    for number, row in enumerate(made):
        assert remembered.hold(row, CREATED) is None
        remembered.deleted(row, CREATED + 0.5 + number)


def test_another_controller_of_that_kind_is_not_backed_off() -> None:
    remembered, moment = Recreations(), float(CREATED)
    for number in range(FREE_ROUNDS + 1):
        remembered.deleted(pod(judged_row("set", resource=REPLICA_SETS), number, made=moment), moment + TTL)
        moment += 2 * TTL
    for parent in (
        judged_row("other", resource=REPLICA_SETS),
        judged_row("set", resource=REPLICA_SETS, namespace="elsewhere"),
    ):
        row = judged_row(
            "new", resource=PODS, namespace=parent.namespace, owners=(owner_of(parent),), created=int(moment)
        )
        assert remembered.hold(row, moment + TTL) is None


@story(also=APPS)
async def test_pods_whose_controller_comes_back_with_them_are_backed_off_and_shown(stage: Stage) -> None:
    play = await stage.play()
    for number in range(FREE_ROUNDS):
        owner = await stage.make("web", resource=REPLICA_SETS)
        await stage.make(f"web-{number}", f"{TTL}s", resource=PODS, owner=owner)
        await stage.later(TTL + 0.1)
        assert stage.found(PODS) == set()
        await stage.people.delete(
            REPLICA_SETS, "web", namespace="shop", uid=owner["metadata"]["uid"], propagation="Background"
        )
    owner = await stage.make("web", resource=REPLICA_SETS)
    await stage.make("web-last", f"{TTL}s", resource=PODS, owner=owner)
    await stage.later(30)
    assert stage.there("web-last", PODS)
    assert play.why_held("web-last").startswith(f"ReplicaSet web made another one {FREE_ROUNDS} times after")
    await stage.later(60)
    assert not stage.there("web-last", PODS)


@pytest.mark.parametrize("named", [True, False], ids=["under its name", "as another of its controller"])
@pytest.mark.parametrize("ends", ["stopped", "killed", "standing by"])
@story(also=APPS)
async def test_a_loop_is_backed_off_by_the_next_leader_too(stage: Stage, *, named: bool, ends: str) -> None:
    play = await stage.play()
    owner = await stage.make("set", resource=REPLICA_SETS)

    async def make(number: int) -> str:
        name = "web" if named else f"web-{number}"
        await stage.make(name, f"{TTL}s", resource=PODS, owner=None if named else owner)
        return name

    for number in range(FREE_ROUNDS + 1):
        name = await make(number)
        await stage.later(TTL + 0.1 if number < FREE_ROUNDS else 70)
        assert not stage.there(name, PODS)
    name = await make(FREE_ROUNDS + 1)
    await stage.later(TTL + 1)
    assert stage.there(name, PODS)
    if ends == "standing by":
        play.standing_by = True
    elif ends == "stopped":
        await play.stop()
    else:
        await play.kill()
    deletions = len(play.sent("DELETE"))
    after = await stage.play()
    await stage.later(60)
    assert stage.there(name, PODS), "the second wait is two minutes"
    assert f"{FREE_ROUNDS + 1} times" in after.why_held(name)
    await stage.later(65)
    assert not stage.there(name, PODS)
    name = await make(FREE_ROUNDS + 2)
    await stage.later(200)
    assert stage.there(name, PODS), "the third one is four minutes, and was counted on"
    assert (deletions, len(after.sent("DELETE"))) == (FREE_ROUNDS + 1, 1)


@story()
async def test_state_holds_no_more_than_a_hundred_loops_and_none_that_is_over(stage: Stage) -> None:
    play = await stage.play()
    everyone = [f"web-{number}" for number in range(MOST + 30)]
    for _ in range(FREE_ROUNDS):
        for name in everyone:
            await stage.make(name, f"{TTL}s")
        await stage.later(TTL + 5)
        assert stage.found() == set()
    await stage.later(10)
    state = State(play.client, namespace=HOME)
    await state.read()
    assert len(state.get(RECREATIONS, list[dict[str, object]])) == MOST
    assert 1 <= _writes(play) <= 3
    before = _writes(play)
    await stage.later(2 * 3600)
    assert _writes(play) == before, "nothing happens, nothing is written"
    await play.stop()
    play = await stage.play()
    await stage.make("web-120", f"{TTL}s")
    await stage.later(TTL + 1)
    assert not stage.there("web-120")


def _writes(play: Play) -> int:
    return sum(
        RECREATIONS in bytes(request.body or b"").decode()
        for _, request in play.sent("PATCH", path="skoupa-state")
    )


def test_a_name_that_was_deleted_once_or_twice_is_not_worth_remembering() -> None:
    remembered, moment = Recreations(), float(CREATED)
    for number in range(FREE_ROUNDS - 1):
        remembered.deleted(judged_row("web", uid=bytes([number]) * 16), moment)
        assert remembered.backed_off(moment, most=MOST) == []
        assert not remembered.news.is_set()
    remembered.deleted(judged_row("web", uid=bytes([9]) * 16), moment)
    assert len(remembered.backed_off(moment, most=MOST)) == 1
    assert remembered.news.is_set()


def test_what_was_seen_here_later_is_not_undone_by_what_was_written() -> None:
    remembered, moment = Recreations(), float(CREATED)
    for number in range(FREE_ROUNDS):
        remembered.deleted(judged_row("web", uid=bytes([number]) * 16), moment)
    before = remembered.backed_off(moment, most=MOST)
    remembered.deleted(judged_row("web", uid=bytes([9]) * 16), moment + 60)
    remembered.recall(before, moment + 60)
    (now,) = remembered.backed_off(moment + 60, most=MOST)
    assert now.count == FREE_ROUNDS + 1
