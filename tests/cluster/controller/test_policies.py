"""Policies on a real server, from what is foretold of them to what they leave behind. Stories that can wait together do."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.controlplane import ControlPlane
from tests.cluster.controller.objects import People
from tests.cluster.controller.policy_stories import outage, restarts, thousands
from tests.cluster.controller.policy_stories.at_the_tick import (
    a_costly_policy_holds_up_no_other_and_ends,
    a_policy_deletes_what_the_account_that_it_acts_as_may_delete,
    all_kinds_of_policies_run_at_the_tick,
    what_is_wrong_and_what_will_go_is_told_before_the_run,
)
from tests.cluster.controller.policy_stories.braked import (
    TIGHT,
    a_release_is_not_for_another_spec_of_the_policy,
    what_a_brake_holds_is_held_though_another_policy_observes_it,
)
from tests.cluster.controller.policy_stories.explained import (
    Explained,
    who_may_only_list_in_a_namespace_is_told_that_policies_are_not_read,
)
from tests.cluster.controller.policy_stories.late import (
    what_a_brake_held_goes_only_if_its_policy_chooses_it_still,
)
from tests.cluster.controller.policy_stories.planned import (
    Planned,
    Planning,
    a_run_that_a_brake_would_stop_is_stopped_by_one,
    an_invalid_policy_is_refused_with_the_kinds_of_the_server,
    rights_of_one_namespace_are_enough_for_its_policies,
)
from tests.cluster.controller.running import Yard
from tests.cluster.controller.stages import Stage, spare_stage
from tests.cluster.controller.together import together

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(600)]


@pytest.fixture
def stage(policies: None, running: Yard, people: People, plane: ControlPlane, tmp_path: Path) -> Stage:
    """Its processes end before the kinds are taken away, and what is labelled goes with its people."""
    return Stage(plane=plane, client=people.client, yard=running, folder=tmp_path)


async def test_policies_do_at_their_tick_what_was_foretold(stage: Stage) -> None:
    shops = [await stage.shop() for _ in range(10)]
    planned, entitled, invalid = (Planning(shop, stage.plane, stage.folder) for shop in shops[:3])
    what, why = Planned(planned), Explained(shops[3], stage.plane)
    await together(what.what_will_go_is_planned(), why.what_will_be_done_is_explained())
    process = await stage.yard.started()
    await together(
        what.what_was_planned_goes(),
        why.what_was_explained_is_done(),
        all_kinds_of_policies_run_at_the_tick(shops[4], process),
        a_policy_deletes_what_the_account_that_it_acts_as_may_delete(shops[5]),
        what_is_wrong_and_what_will_go_is_told_before_the_run(shops[6]),
        rights_of_one_namespace_are_enough_for_its_policies(entitled),
        an_invalid_policy_is_refused_with_the_kinds_of_the_server(invalid),
        who_may_only_list_in_a_namespace_is_told_that_policies_are_not_read(shops[7], stage.plane),
        a_costly_policy_holds_up_no_other_and_ends(shops[8]),
        what_a_brake_held_goes_only_if_its_policy_chooses_it_still(shops[9]),
    )


async def with_tight_brakes(stage: Stage) -> None:
    edited, much, watched = await stage.shop(), await stage.shop(), await stage.shop()
    await stage.yard.started(**TIGHT)
    await together(
        a_release_is_not_for_another_spec_of_the_policy(edited),
        what_a_brake_holds_is_held_though_another_policy_observes_it(watched),
        a_run_that_a_brake_would_stop_is_stopped_by_one(Planning(much, stage.plane, stage.folder)),
    )


async def with_restarts(folder: Path) -> None:
    async with spare_stage(folder) as stage:
        await restarts.nothing_runs_twice_or_is_missed_and_a_brake_is_known_after_a_crash(stage)


async def with_an_outage(folder: Path) -> None:
    async with spare_stage(folder) as stage:
        await outage.after_a_time_of_errors_every_policy_runs_at_its_next_tick(stage)


async def without_brakes(folder: Path) -> None:
    async with spare_stage(folder) as stage:
        await thousands.five_thousand_deletions_leave_five_thousand_names(stage)


async def test_no_run_is_lost_or_repeated_and_every_name_is_told(stage: Stage, tmp_path: Path) -> None:
    """Two ticks, on a control plane for each: what one needs to stand still another needs to run."""
    await together(
        with_tight_brakes(stage),
        with_restarts(tmp_path / "restarts"),
        with_an_outage(tmp_path / "outage"),
        without_brakes(tmp_path / "without-brakes"),
    )
