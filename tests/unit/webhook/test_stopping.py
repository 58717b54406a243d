"""What runs already can be stopped and restrained, also where its spec would be refused if it were written today."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from skoupa.kube.kinds import Discovery
from skoupa.kube.reviews import Ask, Caller
from skoupa.policy.policies import Clauses
from skoupa.policy.problems import Problem
from skoupa.settings import PolicySettings, Settings
from skoupa.sim.state.kinds import BUILT_IN
from skoupa.webhook.reviewing import Reviewer

pytestmark = pytest.mark.unit

SUSPEND, OBSERVE = "skoupa.dev/suspend", "skoupa.dev/observe"
MOST, ZONE = "skoupa.dev/max-deletions", "skoupa.dev/time-zone"
UNCOMPILED = Problem(path="spec.conditions[0].expression", what="it does not compile", instead="mend it")


def policy(schedule: str = "* * * * *", **annotations: str) -> dict[str, Any]:
    return {
        "apiVersion": "kyverno.io/v2",
        "kind": "ClusterCleanupPolicy",
        "metadata": {"name": "tidy", "annotations": annotations},
        "spec": {
            "schedule": schedule,
            "match": {"any": [{"resources": {"kinds": ["Job"], "names": ["old-*"]}}]},
        },
    }


async def says(
    new: dict[str, Any],
    old: dict[str, Any] | None,
    *,
    may: bool = True,
    strict: bool = False,
    compiled: tuple[Problem, ...] = (),
) -> tuple[str, str]:
    """The refusal and the warnings, where runs have to be five minutes apart."""

    async def discovery() -> Discovery:
        return Discovery(resources=BUILT_IN)

    async def check(_: Clauses) -> tuple[Problem, ...]:
        return compiled

    async def allowed(caller: Caller | None, _: Ask) -> bool:
        return caller is None or may

    settings = Settings(policies=PolicySettings(minimum_interval="5m", require_delete_right=strict))
    reviewer = Reviewer(settings=settings, discovery=discovery, check=check, may=allowed)
    request = {"uid": "1", "object": new, "oldObject": old, "userInfo": {"username": "bob"}}
    answer = msgspec.json.decode(await reviewer.answer(msgspec.json.encode({"request": request})))
    response = answer["response"]
    assert response["allowed"] == ("status" not in response)
    return response.get("status", {}).get("message", ""), "\n".join(response.get("warnings", ()))


@pytest.mark.parametrize(
    "restraint", [{SUSPEND: "true"}, {OBSERVE: "7d"}, {MOST: "5"}, {"example.com/owner": "shop"}]
)
async def test_a_policy_that_runs_too_often_can_be_stopped_and_restrained(restraint: dict[str, str]) -> None:
    refusal, warnings = await says(policy(**restraint), policy())
    assert refusal == ""
    assert "spec.schedule" in warnings


async def test_the_same_schedule_is_refused_when_it_is_written() -> None:
    assert "spec.schedule" in (await says(policy(), None))[0]
    assert "spec.schedule" in (await says(policy(), policy("0 1 * * *")))[0]
    assert "spec.schedule" in (await says(policy(**{SUSPEND: "true"}), None))[0]


async def test_an_annotation_that_is_not_understood_is_refused_whatever_the_spec_is() -> None:
    refusal, _ = await says(policy(**{MOST: "few"}), policy())
    assert "max-deletions" in refusal
    assert "spec.schedule" not in refusal
    assert "max-deletions" in (await says(policy("0 1 * * *", **{MOST: "few"}), policy("0 1 * * *")))[0]


async def test_an_annotation_that_makes_the_spec_wrong_is_refused() -> None:
    zoned = "CRON_TZ=Europe/Athens 0 1 * * *"
    refusal, _ = await says(policy(zoned, **{ZONE: "Europe/Paris"}), policy(zoned))
    assert refusal


async def test_what_was_wrong_with_other_annotations_before_does_not_stand_in_the_way() -> None:
    refusal, warnings = await says(policy(**{MOST: "few", OBSERVE: "7d"}), policy(**{MOST: "few"}))
    assert refusal == ""
    assert "max-deletions" in warnings


async def test_a_write_that_suspends_is_never_refused_for_what_is_wrong_with_the_policy() -> None:
    stopped = policy("not a schedule", **{SUSPEND: "true", MOST: "few"})
    refusal, warnings = await says(stopped, policy())
    assert refusal == ""
    assert "spec.schedule" in warnings
    assert "max-deletions" in warnings
    refusal, _ = await says(policy(**{SUSPEND: "true"}), policy(), may=False, strict=True)
    assert refusal == ""


async def test_expressions_that_do_not_compile_are_no_reason_to_refuse_an_annotation() -> None:
    daily = "0 1 * * *"
    new, old = policy(daily, **{OBSERVE: "7d"}), policy(daily)
    refusal, warnings = await says(new, old, compiled=(UNCOMPILED,))
    assert refusal == ""
    assert "it does not compile" in warnings
    assert "it does not compile" in (await says(new, None, compiled=(UNCOMPILED,)))[0]


async def test_who_may_not_delete_does_not_let_it_go_on_either() -> None:
    """Where that right is required: a policy that runs too often asks for it as any other."""
    stopped = policy(**{SUSPEND: "true"})
    refusal, _ = await says(policy(), stopped, may=False, strict=True)
    assert "you may not delete jobs.batch" in refusal
    assert (await says(policy(), stopped, strict=True))[0] == ""
    broken = policy("never", **{SUSPEND: "true"})
    assert "spec.schedule" in (await says(policy("never"), broken, strict=True))[0]
