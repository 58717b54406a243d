"""Every right that the controller needs, in one table: from the mechanisms' Interests, and its own housekeeping.

Reading is broad and deleting is narrow. The rights on a kind of others are list, watch and delete: no get, no update,
nothing that changes an object; Brakes are Skoupa's own, of policies one annotation is written (`install.policies`), and with
`features.retention` one on what may go, with `tenants.label` a label on what belongs to a tenant, and of Tenants finalizers. What RBAC can't say: `list` on Secrets would show their values to whoever holds the token,
though Skoupa asks for metadata only, and for the whole of what it is about to delete. The roles of `skoupa install` and `docs/rights.md` are written from this table.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Literal

import msgspec

from skoupa import names
from skoupa.install.kinds import ALL, DeletableKind
from skoupa.judge.mechanism import Interest
from skoupa.kinds.brake import BRAKES
from skoupa.kube.resources import (
    API_SERVICES,
    CONFIG_MAPS,
    CUSTOM_RESOURCE_DEFINITIONS,
    EVENTS,
    LEASES,
    NAMESPACES,
)
from skoupa.kube.reviews import SUBJECT_ACCESS_REVIEWS, TOKEN_REVIEWS

RoleName = Literal[
    "skoupa-read",
    "skoupa-report",
    "skoupa-delete",
    "skoupa-delete-tenants",
    "skoupa-label-tenants",
    "skoupa-ask",
    "skoupa",
]
READ: Final[RoleName] = "skoupa-read"
REPORT: Final[RoleName] = "skoupa-report"
DELETE: Final[RoleName] = "skoupa-delete"
# Joins the one before; by itself, so that an operator may take it away or narrow it.
DELETE_TENANTS: Final[RoleName] = "skoupa-delete-tenants"
# The same, of a label that a setting asks for.
LABEL_TENANTS: Final[RoleName] = "skoupa-label-tenants"
# Of others, not of objects: no Role can grant it.
ASK: Final[RoleName] = "skoupa-ask"
# The only role that counts in Skoupa's own namespace and nowhere else.
HOME: Final[RoleName] = "skoupa"
# The verbs on what goes, with what each is for.
_GOING: Final = {
    "delete": "lets go what is due",
    "patch": f"since when nothing needs it is written on it ({names.UNNEEDED_SINCE_ANNOTATION})",
}


class Right(msgspec.Struct, frozen=True, kw_only=True):
    """`names` narrows to objects of those names; `namespaced` says whether a Role can grant it at all."""

    role: RoleName
    verbs: tuple[str, ...]
    group: str = ""
    resources: tuple[str, ...]
    names: tuple[str, ...] = ()
    namespaced: bool = True
    why: str

    def rule(self) -> dict[str, list[str]]:
        """As a role has it."""
        rule = {"apiGroups": [self.group], "resources": list(self.resources), "verbs": list(self.verbs)}
        return {**rule, "resourceNames": list(self.names)} if self.names else rule


def rights(
    interests: Iterable[Interest], *, kinds: Sequence[DeletableKind], lease: str, asks: bool = True
) -> tuple[Right, ...]:
    """`kinds` are those that may go, as far as some mechanism lets them go at all; `asks`: what others may do matters."""
    interests = tuple(interests)
    return (
        *_reading(interests),
        Right(
            role=READ,
            group=CUSTOM_RESOURCE_DEFINITIONS.group,
            resources=(CUSTOM_RESOURCE_DEFINITIONS.plural,),
            verbs=("list", "watch"),
            namespaced=False,
            why="new kinds are noticed at once; without it every five minutes",
        ),
        Right(
            role=READ,
            group=API_SERVICES.group,
            resources=(API_SERVICES.plural,),
            verbs=("list", "watch"),
            namespaced=False,
            why="kinds of other API servers are noticed at once; without it every five minutes",
        ),
        Right(
            role=REPORT,
            group=EVENTS.group,
            resources=(EVENTS.plural,),
            verbs=("create",),
            why="Events about notices, deletions and labels that are not understood",
        ),
        Right(
            role=READ,
            group=LEASES.group,
            resources=(LEASES.plural,),
            names=(names.KYVERNO_CLEANUP_LEASE,),
            verbs=("list",),
            namespaced=False,
            why="a living Kyverno cleanup controller is noticed",
        ),
        *_braking(),
        *_deleting(interests, kinds),
        *(_asking() if asks else ()),
        *_housekeeping(lease),
    )


def own_namespace(namespace: str) -> Right:
    """A Role can't grant to list Namespaces, but it can grant to get the one that it lies in."""
    why = "its keep label counts for all that is in it; history there is shown to those with rights in it since it was made"
    return Right(role=READ, resources=(NAMESPACES.plural,), names=(namespace,), verbs=("get",), why=why)


def home_namespace(home: str) -> Right:
    """Where it may list none, the Namespace that it lives in stands for the cluster in a ledger of many."""
    why = "its uid tells clusters of one clusterName apart"
    return Right(role=HOME, resources=(NAMESPACES.plural,), names=(home,), verbs=("get",), why=why)


def _reading(interests: Sequence[Interest]) -> Iterator[Right]:
    for interest in interests:
        verbs = tuple(verb for verb in interest.verbs if verb not in _GOING)
        why = f"objects with the label {interest.labels}" if interest.labels else "all objects"
        for group, resources in _by_group(interest.kinds or (ALL,)):
            yield Right(role=READ, group=group, resources=resources, verbs=verbs, why=why)


def _deleting(interests: Sequence[Interest], kinds: Sequence[DeletableKind]) -> Iterator[Right]:
    """What may go may also be marked beforehand, where something goes by such a mark; nothing else is patched."""
    wanted = {
        verb: {kind for one in interests if verb in one.verbs for kind in one.kinds or (ALL,)}
        for verb in _GOING
    }
    for kind in kinds:
        verbs = tuple(
            verb for verb, of in wanted.items() if of and (kind.plural == ALL or of & {ALL, kind.qualified})
        )
        if verbs:
            yield Right(
                role=DELETE,
                group=kind.group,
                resources=(kind.plural,),
                verbs=verbs,
                namespaced=kind.namespaced,
                why=", and ".join(_GOING[verb] for verb in verbs),
            )


def _braking() -> Iterator[Right]:
    """Brakes are in no namespace, so no Role can grant them."""
    for role, resources, verbs, why in (
        (READ, (BRAKES.plural,), ("list", "watch"), "what a Brake covers is held"),
        (REPORT, (BRAKES.plural,), ("create", "update", "patch"), "a ceiling that is full pulls a Brake"),
        (
            REPORT,
            (f"{BRAKES.plural}/status",),
            ("update", "patch"),
            "what a Brake holds is told in its status",
        ),
        (
            REPORT,
            (f"{BRAKES.plural}/finalizers",),
            ("update",),
            "what it held is counted before a Brake goes",
        ),
    ):
        yield Right(
            role=role, group=BRAKES.group, resources=resources, verbs=verbs, namespaced=False, why=why
        )


def _asking() -> Iterator[Right]:
    """Neither is kept by the server; in a namespaced installation the operator may grant them by system:auth-delegator."""
    for review, why in (
        (TOKEN_REVIEWS, "who asks for history is who their token says"),
        (
            SUBJECT_ACCESS_REVIEWS,
            "history is shown to those who may read such objects; who writes a policy hears what they may not delete",
        ),
    ):
        yield Right(
            role=ASK,
            group=review.group,
            resources=(review.plural,),
            verbs=("create",),
            namespaced=False,
            why=why,
        )


def _housekeeping(lease: str) -> Iterator[Right]:
    """RBAC can't narrow a creation to one name, so each has two lines."""
    why = "replicas agree on who acts"
    group, resources = LEASES.group, (LEASES.plural,)
    yield Right(role=HOME, group=group, resources=resources, names=(lease,), verbs=("get", "update"), why=why)
    yield Right(role=HOME, group=group, resources=resources, verbs=("create",), why=why)
    why = "what must survive a restart is written down"
    state, resources = (names.STATE_CONFIG_MAP,), (CONFIG_MAPS.plural,)
    yield Right(role=HOME, resources=resources, names=state, verbs=("get", "patch"), why=why)
    yield Right(role=HOME, resources=resources, verbs=("create",), why=why)


def _by_group(kinds: Sequence[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Group and plurals of kinds written as `jobs.batch`."""
    groups: dict[str, list[str]] = {}
    for kind in kinds:
        plural, _, group = kind.partition(".")
        groups.setdefault(ALL if plural == ALL else group, []).append(plural)
    return ((group, tuple(plurals)) for group, plurals in groups.items())
