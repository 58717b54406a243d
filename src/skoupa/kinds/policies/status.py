"""What is told of a policy: when it ran, when it runs next, and how its last run went.

Kyverno's schemas have room for `lastExecutionTime` and conditions only; the server drops the rest where those are installed.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Final

import msgspec

from skoupa.kinds.conditions import Conditions
from skoupa.kinds.definition import AGE, Column
from skoupa.kinds.schema import about

_Time = Annotated[datetime, msgspec.Meta(tz=True)]
_Count = Annotated[int, msgspec.Meta(ge=0)]


class LastRun(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """How many objects the last run was about."""

    matched: Annotated[_Count, about("How many it matched.")] = 0
    deleted: Annotated[_Count, about("How many of those it deleted.")] = 0
    held: Annotated[_Count, about("How many of those stay, for something holds them.")] = 0
    failed: Annotated[_Count, about("How many of those could not be judged or deleted.")] = 0


class PolicyStatus(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """When it ran, when it runs next, and how its last run went."""

    conditions: Conditions = ()
    last_execution_time: Annotated[_Time | None, about("When it ran last.")] = None
    next_execution_time: Annotated[_Time | None, about("When it runs next.")] = None
    observed_generation: Annotated[
        _Count | None, about("The generation of the policy that this status is about.")
    ] = None
    last_run: Annotated[LastRun | None, about("How many objects its last run was about.")] = None


class ConditionStatus(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Whether the policy does what it should."""

    ready: Annotated[bool | None, about("Whether it is understood and runs.")] = None
    message: Annotated[str | None, about("Why, in a sentence.")] = None
    conditions: Conditions = ()


class DeletingPolicyStatus(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """When it ran, when it runs next, and how its last run went."""

    condition_status: Annotated[ConditionStatus | None, about("Whether it does what it should.")] = None
    last_execution_time: Annotated[_Time | None, about("When it ran last.")] = None
    next_execution_time: Annotated[_Time | None, about("When it runs next.")] = None
    observed_generation: Annotated[
        _Count | None, about("The generation of the policy that this status is about.")
    ] = None
    last_run: Annotated[LastRun | None, about("How many objects its last run was about.")] = None


SCHEDULE: Final = Column(name="Schedule", path=".spec.schedule", description="When it runs.")
READY_CONDITION: Final = Column(
    name="Ready",
    path='.status.conditions[?(@.type=="Ready")].status',
    description="Whether it is understood and runs.",
)
READY_FIELD: Final = Column(
    name="Ready",
    path=".status.conditionStatus.ready",
    description="Whether it is understood and runs.",
)
# Times as text: kubectl shows a date as an age, which says nothing of what is to come.
_WHEN: Final = (
    Column(name="Last Run", path=".status.lastExecutionTime", type="date", description="When it ran last."),
    Column(name="Next Run", path=".status.nextExecutionTime", description="When it runs next."),
    Column(
        name="Deleted",
        path=".status.lastRun.deleted",
        type="integer",
        description="How many objects its last run deleted.",
        priority=1,
    ),
    Column(
        name="Held",
        path=".status.lastRun.held",
        type="integer",
        description="How many objects that it matched stay.",
        priority=1,
    ),
    AGE,
)
CLEANUP_COLUMNS: Final = (SCHEDULE, READY_CONDITION, *_WHEN)
DELETING_COLUMNS: Final = (SCHEDULE, READY_FIELD, *_WHEN)
