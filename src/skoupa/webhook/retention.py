"""Retention policies and profiles of kinds, reviewed as cleanup policies are: what can't be meant is refused, all else is let in.

A write that leaves a retention policy suspended is refused neither for what is wrong with it nor for rights, since nothing goes by it until
another write. One that leaves its spec alone is looked at where it changes an annotation that holds policies back. A profile lets nothing
go by itself, so nobody is asked for rights.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Final

from skoupa import names
from skoupa.admission.policy_right import RESTRAINTS
from skoupa.kube.kinds import Discovery
from skoupa.policy.problems import Problem
from skoupa.policy.retention.cautions import takes_unnamed
from skoupa.policy.retention.policies import Retention
from skoupa.policy.retention.profiles import Profile, read_profile
from skoupa.policy.retention.reading import KINDS, read_retention
from skoupa.settings import Settings
from skoupa.webhook.review import Asked, Decision, joined, looked_at, warned
from skoupa.webhook.rights import May, Wanted, decided, everything, known, unknown

RETENTION_KINDS: Final = frozenset({*KINDS, names.KIND_PROFILE_KIND})
_VERBS: Final = ("list", "watch", "patch", "delete")
_OFF: Final = "features.retention is off here, so that this does nothing until it is switched on"
_TEACHES: Final = (
    "features.retention is off here, so that no label and no retention policy goes by this; "
    "skoupa_finished and skoupa_unused in policies do, and so does `skoupa unused`"
)

Known = Callable[[], Awaitable[tuple[Discovery | None, list[str]]]]
ProfileCheck = Callable[[Profile], Awaitable[Iterable[Problem]]]


class RetentionReviewer:
    """`known` gives the kinds that there are, and doubts where they could not be asked."""

    def __init__(self, *, settings: Settings, known: Known, check_profile: ProfileCheck, may: May) -> None:
        self._settings = settings
        self._known = known
        self._check_profile = check_profile
        self._may = may

    async def decide(self, asked: Asked) -> Decision:
        """Of an object of RETENTION_KINDS."""
        if asked.object is None or (
            asked.keeps_spec and _restrained(asked.object) == _restrained(asked.old_object)
        ):
            return Decision()
        discovery, doubts = await self._known()
        if not self._settings.features.retention:
            profile = asked.object.get("kind") == names.KIND_PROFILE_KIND
            doubts = [_TEACHES if profile else _OFF, *doubts]
        if asked.object.get("kind") == names.KIND_PROFILE_KIND:
            return await self._of_profile(asked, discovery, doubts)
        return await self._of_policy(asked, discovery, doubts)

    async def _of_profile(self, asked: Asked, discovery: Discovery | None, doubts: list[str]) -> Decision:
        reading = read_profile(asked.object or {}, discovery=discovery)
        problems = list(reading.problems)
        if reading.profile is not None:
            problems += await looked_at(self._check_profile(reading.profile), doubts)
        return (
            Decision(refusal=joined(problems)) if problems else warned([*doubts, *map(str, reading.warnings)])
        )

    async def _of_policy(self, asked: Asked, discovery: Discovery | None, doubts: list[str]) -> Decision:
        namespace = asked.namespace or "default"
        reading = read_retention(asked.object or {}, discovery=discovery, default_namespace=namespace)
        policy = reading.policy
        if policy is None:
            if asked.old_object is not None and _suspended(asked):
                return warned([*doubts, *map(str, reading.problems)])
            return Decision(refusal=joined(reading.problems))
        strict = self._settings.policies.require_delete_right and not policy.suspended
        return await decided(
            self._may,
            asked,
            ours=_named(policy, discovery, _VERBS),
            theirs=_meant(policy, discovery, strict=strict),
            strict=strict,
            doubts=doubts,
            warnings=list(map(str, reading.warnings)),
        )


def _suspended(asked: Asked) -> bool:
    spec = (asked.object or {}).get("spec")
    said = _restrained(asked.object).get(names.SUSPEND_ANNOTATION) == "true"
    return said or (isinstance(spec, dict) and spec.get("suspend") is True)


def _restrained(obj: dict[str, Any] | None) -> dict[str, Any]:
    """What of its annotations holds a policy back."""
    found = ((obj or {}).get("metadata") or {}).get("annotations")
    annotations = found if isinstance(found, dict) else {}
    return {key: annotations[key] for key in RESTRAINTS if key in annotations}


def _named(policy: Retention, discovery: Discovery | None, verbs: Iterable[str]) -> list[Wanted]:
    """What it takes of kinds that it does not name depends on rules, and of those that may not go it is told there."""
    if discovery is None or policy.subject is None:
        return []
    return list(known(policy.subject, discovery, verbs=verbs))


def _meant(policy: Retention, discovery: Discovery | None, *, strict: bool) -> list[Wanted]:
    if takes_unnamed(policy):
        return [everything(policy.namespace)]
    found = _named(policy, discovery, ("delete",))
    if strict and policy.subject is not None:
        found += unknown(policy.subject, discovery)
    return found
