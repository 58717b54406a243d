"""What a controller makes anew each time is counted by rounds, whoever of the family goes along."""

from __future__ import annotations

import pytest

from skoupa.controller.recreation import FREE_ROUNDS, Recreations
from skoupa.facts.rows import Row
from skoupa.kube.resources import PODS
from tests.unit.controller.stage import APPS, REPLICA_SETS, Stage, story
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
