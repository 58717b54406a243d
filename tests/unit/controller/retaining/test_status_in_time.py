"""The status of a retention policy where nothing happens but that time goes by: what it says is true all the same."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from skoupa import names
from skoupa.controller.retaining.policy_book import Entry, entry_of
from skoupa.controller.retaining.policy_status import Counts, RetentionStatuses
from skoupa.kinds.brake import BRAKE, BRAKES
from skoupa.kinds.definition import document
from skoupa.kinds.retention.policy import RETENTION_POLICIES
from skoupa.kube.kinds import Discovery
from skoupa.kube.resources import CUSTOM_RESOURCE_DEFINITIONS
from tests.unit.controller.retaining.scene import ON
from tests.unit.controller.retaining.test_policies import ALSO, defined, kinds, policy, status
from tests.unit.controller.stage import HOUR, MINUTE, Stage, story

pytestmark = pytest.mark.unit

MINE = kinds("ConfigMap", names=["mine-*"])


@story(also=ALSO, features=ON)
async def test_what_stays_though_its_time_is_over_is_counted_as_held_and_due_no_more(stage: Stage) -> None:
    await defined(stage)
    play = await stage.play()
    await policy(stage, "configs", match=MINE, after={"unused": "5m"})
    await stage.make("mine-1", "3h")
    await stage.later(MINUTE)
    told = status(stage, "configs")
    assert (told["waiting"], told["held"]) == (1, 0)
    assert told["nextTime"] == stage.time(4 * MINUTE)
    await stage.later(6 * MINUTE)
    told = status(stage, "configs")
    assert (told["waiting"], told["held"]) == (0, 1)
    assert "nextTime" not in told
    await stage.later(2 * HOUR)
    written = play.sent("PATCH", path="/retentionpolicies/configs/status")
    assert len(written) <= 4, "looked at now and then, and written when it is another"


@story(also=ALSO, features=ON)
async def test_what_is_held_no_more_although_nobody_tells_of_that_is_counted_anew(stage: Stage) -> None:
    await defined(stage)
    await stage.people.create(CUSTOM_RESOURCE_DEFINITIONS, document(BRAKE))
    await stage.later(5)
    await stage.play()
    brake = {
        "apiVersion": BRAKES.api_version,
        "kind": BRAKES.kind,
        "metadata": {"name": "freeze"},
        "spec": {"scope": {"all": True}, "reason": "a freeze", "until": stage.time(30 * MINUTE)},
    }
    await stage.people.create(BRAKES, brake)
    await policy(stage, "configs", match=MINE, after={"unused": "5m"})
    await stage.make("mine-1", labels={names.KEEP_LABEL: "true"})
    await stage.make("mine-2")
    await stage.later(20 * MINUTE)
    assert status(stage, "configs")["held"] == 2
    await stage.later(30 * MINUTE)
    assert not stage.there("mine-2")
    told = status(stage, "configs")
    assert (told["held"], told["deleted"]) == (1, 1)


class Book(dict[str, Entry]):
    def __iter__(self) -> Any:
        return iter(self.values())

    def doubt(self) -> str:
        return ""


@story(also=ALSO, features=ON)
async def test_its_time_comes_also_while_there_is_always_news_of_another(stage: Stage) -> None:
    await defined(stage)
    book = Book()
    for name in ("busy", "waits"):
        made = await policy(stage, name, match=MINE, after={"unused": "5m"})
        book[made["metadata"]["uid"]] = entry_of(RETENTION_POLICIES, made, Discovery(resources=()))
    looked: list[str] = []

    async def counts(entry: Entry) -> Counts:
        looked.append(entry.name)
        if entry.name == "busy":
            statuses.want((entry.uid,))
        return Counts(held=1)

    statuses = RetentionStatuses(
        stage.people,
        book,  # type: ignore[arg-type] # as much of it as is asked for
        counts=counts,
        acting=lambda: True,
        told=lambda _: None,
        untold=lambda _: None,
    )
    statuses.want()
    following = asyncio.create_task(statuses.follow())
    await stage.later(35 * MINUTE)
    following.cancel()
    assert looked.count("waits") == 4, "once told of, and each ten minutes"
