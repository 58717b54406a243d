"""Alive: deleting it tells everything in the cluster that the cluster is about to die (seed 001).

Whoever owns something outside of the cluster takes part: with a finalizer, an entry that says who may remove it, and a Lease for
signs of life. Who may confirm, delete and change it is said by `admission.alive`; what a time-out means by `skoupa.alive`.
There are two definitions of one shape: cluster-wide, and in a namespace as the seed has it. What Skoupa tells on it is in `alive_status`.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, ClassVar, Final, Literal

import msgspec

from skoupa import names
from skoupa.kinds.alive_status import AliveStatus
from skoupa.kinds.definition import AGE, Column, Definition, Version, resource
from skoupa.kinds.schema import FORM, Rule, about
from skoupa.kube.resources import Resource

DeletionPolicy = Literal["Signal", "Preserve"]
OnTimeout = Literal["Fail", "Proceed", "ForceFinalizers"]
OnUnreachable = Literal["Fail", "Proceed"]

# The admission policies that guard it, each with a binding of the same name.
DELETION_GUARD: Final = "skoupa-alive-deletion"
CHANGES_GUARD: Final = "skoupa-alive-changes"
DEFINITION_GUARD: Final = "skoupa-alive-definition"
STANDSTILL: Final = "skoupa-alive-standstill"
GUARDS: Final = (DELETION_GUARD, CHANGES_GUARD, DEFINITION_GUARD, STANDSTILL)

MOST_PARTICIPANTS: Final = 1000
MOST_PRESERVED: Final = 200
SHIPPED_TIMEOUT: Final = "30m"

_Duration = Annotated[
    str,
    msgspec.Meta(
        max_length=32,
        pattern="^([1-9][0-9]{0,8}w)?([1-9][0-9]{0,8}d)?([1-9][0-9]{0,8}h)?([1-9][0-9]{0,8}m)?([1-9][0-9]{0,8}s)?$",
        min_length=2,
        extra={FORM: "write a duration such as 30m, 1h30m or 1d: whole numbers, the largest unit first"},
    ),
]
_Finalizer = Annotated[
    str,
    msgspec.Meta(
        min_length=3,
        max_length=317,
        pattern="^[a-z0-9]([-a-z0-9.]*[a-z0-9])?/[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$",
        extra={FORM: "write a domain of yours, a slash and a name: dns.example.com/external-cleanup"},
    ),
]
_Identity = Annotated[str, msgspec.Meta(min_length=1, max_length=512)]
_Name = Annotated[str, msgspec.Meta(min_length=1, max_length=253, pattern="^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$")]
_Text = Annotated[str, msgspec.Meta(max_length=1024)]
_Short = Annotated[str, msgspec.Meta(min_length=1, max_length=317)]
_Time = Annotated[datetime, msgspec.Meta(tz=True)]
_Names = Annotated[tuple[_Short, ...], msgspec.Meta(max_length=500)]
_Labels = dict[str, str]

_NAME_RULE: Final = Rule(
    f"self.metadata.name == '{names.ALIVE_NAME}'",
    f"there is one Alive, and it is called {names.ALIVE_NAME}",
)


class LeaseName(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, forbid_unknown_fields=True
):
    """Where the signs of life are."""

    namespace: Annotated[_Name, about("The namespace of the Lease.")]
    name: Annotated[_Name, about("Its name.")]


class Entry(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, forbid_unknown_fields=True
):
    """One who has something to clean up before the cluster goes."""

    finalizer: Annotated[
        _Finalizer,
        about(
            "Its finalizer on this object: a domain of its own, a slash and a name, as dns.example.com/cleanup."
        ),
    ]
    identity: Annotated[
        _Identity,
        about(
            "Who may remove that finalizer and change this entry, as the server calls it: "
            "system:serviceaccount:NAMESPACE:NAME. Nobody else may, whatever their rights."
        ),
    ]
    lease: Annotated[
        LeaseName | None,
        about(
            "The Lease that it renews as a sign of life, and on which it says how far it is. Without it nobody can tell "
            "a participant that works from one that is dead."
        ),
    ] = None
    title: Annotated[_Text | None, about("What it cleans up, for people: DNS records of example.com.")] = None


class Preserved(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, forbid_unknown_fields=True
):
    """What is to outlive the cluster: whatever fits all that is written here."""

    RULES: ClassVar = (
        Rule(
            "has(self.names) || has(self.matchLabels) || has(self.tags) || has(self.ids)",
            "say what is preserved: names, matchLabels, tags or ids; a kind alone would be all of them, so write names: ['*']",
        ),
    )

    kind: Annotated[
        _Short | None,
        about(
            "Kind of the object in the cluster that it was made for: Service, PersistentVolumeClaim, * for all."
        ),
    ] = None
    namespace: Annotated[_Short | None, about("Namespace of that object; * and ? are wildcards.")] = None
    names: Annotated[_Names, about("Names of such objects; * and ? are wildcards.")] = ()
    match_labels: Annotated[_Labels, about("Labels that such an object has, all of them.")] = {}
    tags: Annotated[_Labels, about("Tags of the thing outside of the cluster, all of them.")] = {}
    ids: Annotated[_Names, about("Ids of things outside of the cluster: vol-0abc, an ARN.")] = ()
    reason: Annotated[_Text | None, about("Why, for who finds it afterwards.")] = None
    until: Annotated[_Time | None, about("Until when (RFC 3339). Without it: for good.")] = None


class AliveSpec(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, forbid_unknown_fields=True
):
    """Who takes part, how long is waited for them, and what is done then."""

    RULES: ClassVar = (
        Rule(
            "!has(self.forceAfter) || self.onTimeout == 'ForceFinalizers'",
            "forceAfter counts only with onTimeout: ForceFinalizers: leave it out, or write that",
        ),
    )

    deletion_policy: Annotated[
        DeletionPolicy,
        about(
            "What it means to who takes part that this cluster goes: Signal (they are told, and clean up), Preserve (nobody is told "
            "and all that they own outlives the cluster: the server refuses to delete this object)."
        ),
    ] = "Signal"
    timeout: Annotated[
        _Duration, about("How long participants have, from the moment of the deletion on.")
    ] = SHIPPED_TIMEOUT
    progress_timeout: Annotated[
        _Duration | None,
        about(
            "How long there may be no progress at all before it is a time-out too. Without it: until timeout."
        ),
    ] = None
    on_timeout: Annotated[
        OnTimeout,
        about(
            "What a time-out means to who waits: Fail (stop, leave everything), Proceed (go on with what remains), "
            "ForceFinalizers (after forceAfter Skoupa removes what finalizers are left)."
        ),
    ] = "Fail"
    force_after: Annotated[
        _Duration | None, about("How long after the time-out finalizers are forced. Without it: at once.")
    ] = None
    on_unreachable: Annotated[
        OnUnreachable,
        about("What it means to who waits that the API server does not answer any more: Fail or Proceed."),
    ] = "Fail"
    block_creation: Annotated[
        bool,
        about(
            "Once the deletion was asked for nobody may create Services of type LoadBalancer, PersistentVolumeClaims and "
            "Ingresses, so that nothing puts back what is being cleaned up."
        ),
    ] = False
    participants: Annotated[
        Annotated[tuple[Entry, ...], msgspec.Meta(max_length=MOST_PARTICIPANTS)],
        about("Who has something to clean up, each with its finalizer.", keys=("finalizer",)),
    ] = ()
    preserve: Annotated[
        Annotated[tuple[Preserved, ...], msgspec.Meta(max_length=MOST_PRESERVED)],
        about(
            "What participants leave as it is when the cluster goes, beside what carries the annotation "
            f"{names.PRESERVE_ANNOTATION}."
        ),
    ] = ()


class AliveShape(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """As long as it is there the cluster lives. Deleting it tells all participants to clean up what they own elsewhere.

    It deletes nothing else, and is guarded: see `skoupa alive delete`.
    """

    RULES: ClassVar = (_NAME_RULE,)

    spec: Annotated[AliveSpec, about("Who takes part, how long is waited, and what is done then.")] = (
        AliveSpec()
    )
    status: AliveStatus | None = None


def _definition(group: str, *, namespaced: bool) -> Definition:
    columns = (
        Column(name="Phase", path=".status.phase", description="How far the cluster is on its way."),
        Column(
            name="Waiting",
            path=".status.waiting",
            type="integer",
            description="Participants with something left.",
        ),
        Column(
            name="Remaining", path=".status.remaining", type="integer", description="Things that are left."
        ),
        Column(
            name="Protected",
            path='.status.conditions[?(@.type=="Protected")].status',
            description="Whether the server guards it.",
        ),
        Column(
            name="Deadline",
            path=".status.deadline",
            type="date",
            priority=1,
            description="When it times out.",
        ),
        AGE,
    )
    return Definition(
        group=group,
        kind=names.ALIVE_KIND,
        plural="alives",
        namespaced=namespaced,
        short_names=() if namespaced else ("alive",),
        categories=("skoupa",),
        versions=(Version(name="v1alpha1", shape=AliveShape, columns=columns),),
    )


ALIVE: Final = _definition(names.SKOUPA_GROUP, namespaced=False)
ALIVES: Final = resource(ALIVE)
NAMESPACED_ALIVE: Final = _definition(names.NAMESPACED_ALIVE_GROUP, namespaced=True)
NAMESPACED_ALIVES: Final = resource(NAMESPACED_ALIVE)


class Form(msgspec.Struct, frozen=True, kw_only=True):
    """Which of the two forms is meant: the one Alive of the cluster, or that in a namespace."""

    resource: Resource
    namespace: str = ""


CLUSTER_WIDE: Final = Form(resource=ALIVES)


def form_in(namespace: str) -> Form:
    """Empty: that of the whole cluster."""
    return Form(resource=NAMESPACED_ALIVES, namespace=namespace) if namespace else CLUSTER_WIDE


def manifest(spec: AliveSpec | None = None) -> dict[str, Any]:
    """The object to create."""
    return {
        "apiVersion": ALIVES.api_version,
        "kind": ALIVES.kind,
        "metadata": {
            "name": names.ALIVE_NAME,
            "labels": {names.PART_OF_LABEL: names.COMPONENT},
            "finalizers": [names.ALIVE_FINALIZER],
        },
        "spec": msgspec.to_builtins(spec or AliveSpec()),
    }
