"""RetentionPolicy and ClusterRetentionPolicy: how long objects stay after they finished, or after nothing uses them (seed 003).

`match` and `exclude` are those of a CleanupPolicy. Nothing here has a schedule: an object goes when its time has come and every
mechanism agrees that nothing needs it. What CEL can't know (which kinds there are, what they have of finish and usage rules) is
asked by who reads a policy.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, ClassVar, Final, Literal

import msgspec

from skoupa import names
from skoupa.kinds.conditions import Conditions
from skoupa.kinds.definition import AGE, Column, Definition, Version, resource
from skoupa.kinds.policies.filters import Filters, no_namespaces
from skoupa.kinds.policies.scheduling import PropagationPolicy
from skoupa.kinds.policies.status import READY_CONDITION
from skoupa.kinds.schema import FORM, Rule, about

Per = Literal["Owner", "Namespace", "Family"]
Owners = Literal["Respect", "Ignore"]
Divide = Literal["PerNamespace", "PerOwner", "Cluster"]
LONGEST_FAMILY: Final = 256

_Duration = Annotated[
    str,
    msgspec.Meta(
        min_length=1,
        max_length=63,
        pattern="^(0|([0-9]+w)?([0-9]+d)?([0-9]+h)?([0-9]+m)?([0-9]+s)?)$",
        extra={FORM: "write a duration such as 30m, 1d12h or 2w: whole numbers, the largest unit first"},
    ),
]
_Count = Annotated[int, msgspec.Meta(ge=0)]
_Positive = Annotated[int, msgspec.Meta(ge=1)]
_Time = Annotated[datetime, msgspec.Meta(tz=True)]
_Regex = Annotated[str, msgspec.Meta(min_length=1, max_length=LONGEST_FAMILY)]
_QuotaKey = Annotated[
    str,
    msgspec.Meta(
        max_length=317,
        pattern="^(count/[a-z0-9]([-a-z0-9.]*[a-z0-9])?|pods|services|secrets|configmaps|persistentvolumeclaims)$",
        extra={FORM: "write what a ResourceQuota counts: count/jobs.batch, count/configmaps, pods"},
    ),
]


class After(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, forbid_unknown_fields=True
):
    """Moments in the life of an object, and how long after each it stays at least.

    With several, all that apply must be over. The time counts anew from when the last owner and the last user are gone.
    """

    RULES: ClassVar = (
        Rule(
            "has(self.created) || has(self.finished) || has(self.succeeded) || has(self.failed) || has(self.unused)",
            "write after which moment: created, finished, succeeded, failed or unused",
        ),
    )

    created: Annotated[_Duration | None, about("So long after it was created.")] = None
    finished: Annotated[
        _Duration | None, about("So long after it finished, however that went. For example 1h.")
    ] = None
    succeeded: Annotated[
        _Duration | None, about("So long after it finished well; counts instead of finished.")
    ] = None
    failed: Annotated[_Duration | None, about("So long after it failed; counts instead of finished.")] = None
    unused: Annotated[_Duration | None, about("So long after nothing used it any more.")] = None


class KeepNewest(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, forbid_unknown_fields=True
):
    """So many of each group stay whatever their age, the newest by last use."""

    RULES: ClassVar = (
        Rule(
            "!has(self.family) || self.per == 'Family'",
            "family says how names make a family: write per: Family with it, or leave family out",
        ),
    )

    count: Annotated[_Count, about("How many of each group stay.")]
    per: Annotated[
        Per,
        about(
            "What a group is: all of one owner, all of one namespace, or a family: all whose names differ by the hash or "
            "number at their end only."
        ),
    ] = "Family"
    family: Annotated[
        _Regex | None,
        about(
            "A regular expression (RE2) whose first group is the family in a name; names it does not fit stay."
        ),
    ] = None


class Capacity(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, forbid_unknown_fields=True
):
    """How many there may be; beyond it the oldest by last use go at once, never one in use or owned."""

    RULES: ClassVar = (
        Rule(
            "has(self.atMost) != has(self.fromQuota)",
            "write how many there may be: either atMost or fromQuota, not both",
        ),
        Rule(
            "!has(self.fromQuota) || !has(self.divide) || self.divide == 'PerNamespace'",
            "fromQuota counts for each namespace by itself: leave out divide, or write PerNamespace",
        ),
    )

    at_most: Annotated[
        _Positive | None,
        about(
            "How many there may be in total of each kind; of kinds that finish only what has ended counts."
        ),
    ] = None
    from_quota: Annotated[
        _QuotaKey | None,
        about(
            "As many as the ResourceQuota of the namespace allows, less a tenth, by the name that it has there: count/jobs.batch. "
            "Only the kind that it names is limited, and a namespace without such a quota has no limit."
        ),
    ] = None
    divide: Annotated[
        Divide | None,
        about(
            "How atMost is shared: PerNamespace (equally, and what one does not need is lent to the others; as shipped), "
            "PerOwner, or Cluster (all together, the oldest first)."
        ),
    ] = None


_SOMETHING: Final = Rule(
    "has(self.after) || has(self.keepNewest) || has(self.capacity)",
    "it says nothing: write after, keepNewest or capacity",
)
_MATCH: Final = (
    "Which objects are meant: any or all of some filters. Without it, or where no kinds are named: everything that has rules of "
    "finish or usage, but never PersistentVolumeClaim, PersistentVolume, Namespace, CustomResourceDefinition, Secret or "
    "ServiceAccount: those must be named."
)
_EXCLUDE: Final = (
    "Which of those are not meant. Leave it out where there are none: an empty one excludes everything."
)
_AFTER: Final = "How long after which moment an object stays at least."
_KEEP_NEWEST: Final = "How many stay whatever their age; alone, all others go once nothing needs them."
_CAPACITY: Final = "How many there may be."
_OWNERS: Final = "Respect: a living owner holds (as shipped). Ignore: it does not, for Jobs under a living CronJob for instance."
_SUSPEND: Final = "While true nothing goes by this policy; what it would take stays marked."
_NO_NAMESPACES: Final = no_namespaces("RetentionPolicy", "ClusterRetentionPolicy")


class RetentionSpec(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, forbid_unknown_fields=True
):
    """What stays how long after its use."""

    RULES: ClassVar = (_SOMETHING,)

    match: Annotated[Filters | None, about(_MATCH)] = None
    exclude: Annotated[Filters | None, about(_EXCLUDE)] = None
    after: Annotated[After | None, about(_AFTER)] = None
    keep_newest: Annotated[KeepNewest | None, about(_KEEP_NEWEST)] = None
    owners: Annotated[Owners, about(_OWNERS)] = "Respect"
    capacity: Annotated[Capacity | None, about(_CAPACITY)] = None
    suspend: Annotated[bool, about(_SUSPEND)] = False
    deletion_propagation_policy: PropagationPolicy = None


class NamespacedRetentionSpec(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, forbid_unknown_fields=True
):
    """What stays how long after its use, in the policy's own namespace."""

    RULES: ClassVar = (_SOMETHING,)

    match: Annotated[Filters | None, about(_MATCH, _NO_NAMESPACES)] = None
    exclude: Annotated[Filters | None, about(_EXCLUDE, _NO_NAMESPACES)] = None
    after: Annotated[After | None, about(_AFTER)] = None
    keep_newest: Annotated[KeepNewest | None, about(_KEEP_NEWEST)] = None
    owners: Annotated[Owners, about(_OWNERS)] = "Respect"
    capacity: Annotated[Capacity | None, about(_CAPACITY)] = None
    suspend: Annotated[bool, about(_SUSPEND)] = False
    deletion_propagation_policy: PropagationPolicy = None


class RetentionStatus(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What the policy is about at present, and what came of it."""

    conditions: Conditions = ()
    observed_generation: Annotated[
        _Count | None, about("The generation of the policy that this status is about.")
    ] = None
    matched: Annotated[_Count | None, about("How many objects it is about.")] = None
    waiting: Annotated[
        _Count | None, about("How many of those are not needed any more, and wait for their time.")
    ] = None
    held_by_owners: Annotated[_Count | None, about("How many stay because an owner lives.")] = None
    held: Annotated[_Count | None, about("How many stay though their time is over, whatever holds them.")] = (
        None
    )
    deleted: Annotated[_Count | None, about("How many went since this generation of it was written.")] = None
    overridden: Annotated[
        _Count | None,
        about("How many of those that it matches go by a label or a policy that is more specific."),
    ] = None
    next_time: Annotated[_Time | None, about("When the next object is due.")] = None


class RetentionShape(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Objects of its namespace go a while after they finished, or after nothing uses them, and when there are too many."""

    spec: NamespacedRetentionSpec
    status: RetentionStatus | None = None


class ClusterRetentionShape(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Objects go a while after they finished, or after nothing uses them, and when there are too many of them."""

    spec: RetentionSpec
    status: RetentionStatus | None = None


_COLUMNS: Final = (
    READY_CONDITION,
    Column(
        name="Matched", path=".status.matched", type="integer", description="How many objects it is about."
    ),
    Column(
        name="Waiting",
        path=".status.waiting",
        type="integer",
        description="How many are not needed any more, and wait for their time.",
    ),
    Column(
        name="Deleted",
        path=".status.deleted",
        type="integer",
        description="How many went since it was written so.",
    ),
    Column(name="Next", path=".status.nextTime", description="When the next object is due."),
    Column(
        name="Suspended",
        path=".spec.suspend",
        type="boolean",
        description="Whether nothing goes by it.",
        priority=1,
    ),
    AGE,
)

RETENTION_POLICY: Final = Definition(
    group=names.SKOUPA_GROUP,
    kind=names.RETENTION_POLICY_KIND,
    plural="retentionpolicies",
    namespaced=True,
    short_names=("retpol",),
    categories=("skoupa",),
    versions=(Version(name="v1alpha1", shape=RetentionShape, columns=_COLUMNS),),
)
CLUSTER_RETENTION_POLICY: Final = Definition(
    group=names.SKOUPA_GROUP,
    kind=names.CLUSTER_RETENTION_POLICY_KIND,
    plural="clusterretentionpolicies",
    namespaced=False,
    short_names=("cretpol",),
    categories=("skoupa",),
    versions=(Version(name="v1alpha1", shape=ClusterRetentionShape, columns=_COLUMNS),),
)
RETENTION_POLICIES: Final = resource(RETENTION_POLICY)
CLUSTER_RETENTION_POLICIES: Final = resource(CLUSTER_RETENTION_POLICY)
