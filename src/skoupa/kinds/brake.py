"""Brake: while one is there and active, nothing of its scope is deleted (design: `kubectl get brakes` shows why).

Here is its shape, from which the definition comes. `brake_reading` reads one and `brake_effect` tells what it holds and when.
The rules in CEL are coarse where CEL can't know (cron expressions, time zones): reading checks those again, in full.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, ClassVar, Final, Literal

import msgspec

from skoupa import names
from skoupa.expr.cron import LONGEST
from skoupa.kinds.conditions import Conditions
from skoupa.kinds.definition import AGE, Column, Definition, Version, resource
from skoupa.kinds.schema import FORM, Rule, about

# How many of the held objects a status names; the others are only counted.
SAMPLE_SIZE: Final = 20

Mechanism = Literal["ttl", "policies", "retention", "tenants", "external"]

_NamespaceName = Annotated[
    str,
    msgspec.Meta(
        max_length=63,
        pattern="^[a-z0-9]([-a-z0-9]*[a-z0-9])?$",
        extra={FORM: "write the name of one namespace: small letters, digits and - in between, 63 at most"},
    ),
]
_KindName = Annotated[
    str, msgspec.Meta(max_length=317, pattern="^[A-Za-z*?][-A-Za-z0-9.*?]*(/[-A-Za-z0-9.]+){0,2}$")
]
_PolicyName = Annotated[
    str, msgspec.Meta(max_length=380, pattern="^[A-Za-z0-9][-A-Za-z0-9.]*(/[-A-Za-z0-9.]+){0,2}$")
]
_Reason = Annotated[str, msgspec.Meta(max_length=1024)]
_CronText = Annotated[str, msgspec.Meta(min_length=1, max_length=LONGEST)]
_ZoneName = Annotated[str, msgspec.Meta(min_length=1, max_length=64)]
_Time = Annotated[datetime, msgspec.Meta(tz=True)]
_Count = Annotated[int, msgspec.Meta(ge=0)]
_Sample = Annotated[tuple[str, ...], msgspec.Meta(max_length=SAMPLE_SIZE)]

_CRON_RULE: Final = Rule(
    r"self.matches('^\\s*(@[a-z]+|\\S+(\\s+\\S+){4})\\s*$')",
    'write five fields (minute, hour, day of the month, month, day of the week) such as "0 16 * * 5", or "@daily"',
)
_OTHERS: Final = "has(self.__namespace__) || has(self.policy) || has(self.kind) || has(self.mechanism)"
_ALL: Final = "(has(self.all) && self.all)"


class Scope(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, forbid_unknown_fields=True
):
    """What stands still: everything, or what fits all of the others that are named."""

    RULES: ClassVar = (
        Rule(
            f"{_ALL} || {_OTHERS}",
            "say what stands still: `all: true`, or at least one of namespace, policy, kind, mechanism",
        ),
        Rule(
            f"!{_ALL} || !({_OTHERS})",
            "`all: true` is the whole cluster: leave it out, or leave out namespace, policy, kind and mechanism",
        ),
    )

    all: Annotated[bool | None, about("Everything in the cluster; stands alone.")] = None
    namespace: Annotated[
        _NamespaceName | None, about("What is in this namespace, and the Namespace itself.")
    ] = None
    policy: Annotated[
        _PolicyName | None,
        about(
            "What the rule of this name would delete: NAME, NAMESPACE/NAME or KIND/NAMESPACE/NAME. "
            "A bare name means every rule that is called so."
        ),
    ] = None
    kind: Annotated[
        _KindName | None,
        about(
            "Objects of this kind, written as for kubectl (pods, Pod, deployments.apps); * and ? are wildcards. "
            "For a custom kind its definition stands still too."
        ),
    ] = None
    mechanism: Annotated[
        Mechanism | None,
        about("What this part of Skoupa would delete: ttl, policies, retention, tenants or external."),
    ] = None


class Schedule(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, forbid_unknown_fields=True
):
    """A window that comes again and again, such as a change freeze over the weekend."""

    RULES: ClassVar = (Rule("self.from != self.to", "from and to are the same: such a window has no length"),)

    begins: Annotated[
        _CronText,
        about('When the window begins, as a cron expression: "0 16 * * 5" is Friday at 16:00.', _CRON_RULE),
    ] = msgspec.field(name="from")
    ends: Annotated[
        _CronText,
        about('When the window ends, as a cron expression: "0 8 * * 1" is Monday at 8:00.', _CRON_RULE),
    ] = msgspec.field(name="to")
    time_zone: Annotated[
        _ZoneName, about("The time zone of both: a name such as Europe/Athens, or an offset such as +02:00.")
    ] = "UTC"


class BrakeSpec(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, forbid_unknown_fields=True
):
    """What stands still, why, and for how long."""

    scope: Annotated[
        Scope, about("What stands still: `all: true`, or what fits all of the others that are named.")
    ]
    reason: Annotated[_Reason | None, about("Why, for who wonders that nothing goes.")] = None
    until: Annotated[
        _Time | None, about("Until when it holds (RFC 3339). Without it: until the Brake is deleted.")
    ] = None
    schedule: Annotated[
        Schedule | None, about("Holds only within this window. Without it: all the time.")
    ] = None


class BrakeStatus(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What Skoupa makes of it."""

    active: Annotated[
        bool | None, about("Whether it holds at present: its window is open and its end has not come.")
    ] = None
    held: Annotated[_Count | None, about("How many objects it holds that would go without it.")] = None
    since: Annotated[_Time | None, about("Since when it holds.")] = None
    tripped_by: Annotated[
        str | None, about("What made Skoupa pull it: the ceiling and what went over it.")
    ] = None
    sample: Annotated[_Sample, about("Some of the objects that it holds, as KIND/NAMESPACE/NAME.")] = ()
    observed_generation: Annotated[
        _Count | None, about("The generation of the Brake that this status is about.")
    ] = None
    conditions: Conditions = ()


class BrakeShape(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """While it is there and active, nothing of its scope is deleted; everything else goes on.

    Skoupa makes one when a ceiling trips, and `skoupa pause` makes one by hand. Deleting it releases what it held.
    """

    spec: BrakeSpec
    status: BrakeStatus | None = None


BRAKE: Final = Definition(
    group=names.SKOUPA_GROUP,
    kind=names.BRAKE_KIND,
    plural="brakes",
    namespaced=False,
    short_names=("brk",),
    categories=("skoupa",),
    versions=(
        Version(
            name="v1alpha1",
            shape=BrakeShape,
            columns=(
                Column(
                    name="Active",
                    path=".status.active",
                    type="boolean",
                    description="Whether it holds at present.",
                ),
                Column(name="Scope", path=".spec.scope", description="What stands still."),
                Column(
                    name="Held", path=".status.held", type="integer", description="How many objects it holds."
                ),
                Column(name="Reason", path=".spec.reason", description="Why."),
                Column(name="Until", path=".spec.until", description="When it ends by itself."),
                AGE,
            ),
        ),
    ),
)
BRAKES: Final = resource(BRAKE)

EVERYTHING: Final = Scope(all=True)


def manifest(name: str, spec: BrakeSpec) -> dict[str, Any]:
    """The object to create."""
    return {
        "apiVersion": BRAKES.api_version,
        "kind": BRAKES.kind,
        "metadata": {"name": name},
        "spec": msgspec.to_builtins(spec),
    }


def stopped_run(edition: str, objects: int) -> str:
    """For the annotation that says which run of a rule was stopped, and how many objects it claimed."""
    return f"{edition}:{objects}"
