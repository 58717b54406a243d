"""One AdmissionReview, answered: a policy that could never run is refused with what to write, all else is let in.

What its writer should know comes as warnings: doubts about what is matched, rights that Skoupa lacks, rights that the
writer lacks. Where that can't be found out the policy is let in with a word about it: a policy that does wrong is told
of again when it is read. Only with `policies.requireDeleteRight` is a lacking right of the writer, or one that could not be
asked for, a refusal. A write that changes nothing that counts is not looked at.

A policy may be there already with what would be refused today, and run: what was wrong before is told and refuses no change that
leaves its spec alone. A write that suspends a policy is never refused for what is wrong with it: nothing stops a policy sooner.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import Any, Final

import msgspec

from skoupa import names
from skoupa.admission.policy_right import RESTRAINTS
from skoupa.errors import SkoupaError
from skoupa.kube.kinds import Discovery
from skoupa.kube.reviews import Caller
from skoupa.policy.options import as_written
from skoupa.policy.policies import Clauses, Policy
from skoupa.policy.problems import Problem
from skoupa.policy.reading import SHORTEST_INTERVAL, Reading, read_policy
from skoupa.runs.calls.written import call_cautions, confinement_problems
from skoupa.settings import Settings, seconds
from skoupa.webhook.rights import May, known, lacking, named, unknown

# The server cuts warnings that are longer, all of them together at 4096.
_LONGEST_WARNING: Final = 256
_MOST_WARNINGS: Final = 12

Check = Callable[[Clauses], Awaitable[Iterable[Problem]]]
Look = Callable[[Policy], Awaitable[Iterable[Problem]]]


async def _nothing(_: Policy) -> Iterable[Problem]:
    return ()


class _User(msgspec.Struct):
    username: str = ""
    uid: str = ""
    groups: tuple[str, ...] | None = None
    extra: dict[str, tuple[str, ...]] | None = None


class _Asked(msgspec.Struct, rename="camel"):
    uid: str
    operation: str = ""
    namespace: str = ""
    object: dict[str, Any] | None = None
    old_object: dict[str, Any] | None = None
    user_info: _User = msgspec.field(default_factory=_User)


class _Review(msgspec.Struct):
    request: _Asked


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """`refusal` is empty where the policy is let in."""

    refusal: str = ""
    warnings: tuple[str, ...] = ()


class Reviewer:
    """`check` tells what is wrong with expressions; `may` asks for a caller's rights, and for our own without one.

    `look` tells what else is worth knowing of a policy that is let in.
    """

    def __init__(
        self,
        *,
        settings: Settings,
        discovery: Callable[[], Awaitable[Discovery]],
        check: Check,
        may: May,
        look: Look = _nothing,
    ) -> None:
        self._settings = settings
        self._discovery = discovery
        self._check = check
        self._may = may
        self._look = look

    async def answer(self, body: bytes) -> bytes:
        """Raises msgspec.DecodeError for what is no AdmissionReview."""
        asked = msgspec.json.decode(body, type=_Review).request
        decision = await self._decide(asked)
        response: dict[str, Any] = {"uid": asked.uid, "allowed": not decision.refusal}
        if decision.refusal:
            response["status"] = {"code": 422, "reason": "Invalid", "message": decision.refusal}
        if decision.warnings:
            response["warnings"] = list(decision.warnings)
        review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}
        return msgspec.json.encode(review)

    async def _decide(self, asked: _Asked) -> Decision:
        obj = asked.object
        if obj is None or _is_going(obj) or (asked.old_object is not None and _same(obj, asked.old_object)):
            return Decision()
        discovery, doubts = await self._known()
        reading = self._read(obj, asked, discovery)
        compiled = [] if reading.policy is None else list(await self._check(reading.policy.clauses))
        problems = [*reading.problems, *compiled]
        if not problems:
            return await self._let_in(reading, discovery, asked, doubts)
        refused = self._refused(problems, asked, discovery, of_spec=compiled)
        if refused:
            return Decision(refusal=_joined(refused))
        doubts += map(str, problems)
        # Who has a shorter interval than the settings want runs all the same, spaced.
        reading = self._read(obj, asked, discovery, minimum=SHORTEST_INTERVAL)
        if reading.policy is not None:
            return await self._let_in(reading, discovery, asked, doubts)
        if self._settings.policies.require_delete_right and _does_more(asked):
            return Decision(refusal=_joined(problems))
        return Decision(warnings=tuple(_cut(doubts)))

    def _read(
        self, obj: dict[str, Any], asked: _Asked, discovery: Discovery | None, *, minimum: int | None = None
    ) -> Reading:
        shortest = int(seconds(self._settings.policies.minimum_interval)) if minimum is None else minimum
        return read_policy(
            obj,
            discovery=discovery,
            minimum_seconds=shortest,
            default_namespace=asked.namespace or "default",
        )

    def _refused(
        self,
        problems: list[Problem],
        asked: _Asked,
        discovery: Discovery | None,
        *,
        of_spec: list[Problem],
    ) -> list[Problem]:
        """Those for which the write is refused; what was wrong before it is not its fault."""
        obj, old = asked.object or {}, asked.old_object
        if old is None:
            return problems
        if _suspended(obj):
            return []
        if obj.get("spec") != old.get("spec"):
            return problems
        known = [*self._read(old, asked, discovery).problems, *of_spec]
        return [problem for problem in problems if problem not in known]

    async def _known(self) -> tuple[Discovery | None, list[str]]:
        try:
            return await self._discovery(), []
        except SkoupaError as error:
            return None, [f"which kinds there are could not be asked: {error.message}"]

    async def _let_in(
        self, reading: Reading, discovery: Discovery | None, asked: _Asked, doubts: list[str]
    ) -> Decision:
        policy = reading.policy
        assert policy is not None
        cautions = (*reading.warnings, *self._unanswered(policy.clauses), *await self._look(policy))
        warnings = [*doubts, *map(str, cautions)]
        strict = self._settings.policies.require_delete_right and _does_more(asked)
        of_kinds = list(known(policy, discovery)) if discovery is not None else []
        if strict:
            of_kinds += unknown(policy, discovery)
        try:
            if discovery is not None:
                ours = await lacking(self._may, None, known(policy, discovery, verbs=("list", "delete")))
                if ours:
                    warnings.append(f"Skoupa may not {named(ours)}: those stay until a role of it says so")
            theirs = await lacking(self._may, _caller(asked.user_info), of_kinds)
        except SkoupaError as error:
            what = f"rights could not be asked for: {error.message}"
            if strict:
                return Decision(refusal=f"{what}; who writes a policy must be allowed to delete: try again")
            return Decision(warnings=tuple(_cut([*warnings, what])))
        if theirs:
            what = f"you may not {named(theirs)}, and this policy would for you"
            if strict:
                advice = "ask for that right, or let somebody write it who has it"
                return Decision(refusal="; ".join([*doubts, f"{what}: {advice}"]))
            warnings.append(what)
        return Decision(warnings=tuple(_cut(warnings)))

    def _unanswered(self, clauses: Clauses) -> Iterator[Problem]:
        """What the settings refuse a run. Where that is the API server's to refuse, nobody gets here."""
        yield from confinement_problems(clauses, self._settings.policies)
        yield from call_cautions(clauses, self._settings.policies)


def _caller(user: _User) -> Caller:
    extra = {key: tuple(values) for key, values in (user.extra or {}).items()}
    return Caller(
        username=user.username,
        uid=user.uid,
        groups=tuple(user.groups or ()),
        extra=tuple(sorted(extra.items())),
    )


def _is_going(obj: dict[str, Any]) -> bool:
    return bool((obj.get("metadata") or {}).get("deletionTimestamp"))


def _same(obj: dict[str, Any], old: dict[str, Any]) -> bool:
    """Nothing that a policy is read from has changed."""
    meta, before = obj.get("metadata") or {}, old.get("metadata") or {}
    written, was = as_written(meta.get("annotations")), as_written(before.get("annotations"))
    return obj.get("spec") == old.get("spec") and written == was


def _does_more(asked: _Asked) -> bool:
    """Whether the policy may do more than before: it is new, its spec has changed, or something restrains it less.

    Whoever may write a policy may stop it.
    """
    obj, old = asked.object or {}, asked.old_object
    if old is None or obj.get("spec") != old.get("spec"):
        return True
    now, before = _annotations(obj), _annotations(old)
    return not _suspended(obj) and any(key in before and before[key] != now.get(key) for key in RESTRAINTS)


def _suspended(obj: dict[str, Any]) -> bool:
    return bool(_annotations(obj).get(names.SUSPEND_ANNOTATION) == "true")


def _annotations(obj: dict[str, Any]) -> dict[str, Any]:
    return (obj.get("metadata") or {}).get("annotations") or {}


def _joined(problems: Iterable[Problem]) -> str:
    return "; ".join(map(str, problems))


def _cut(warnings: list[str]) -> Iterator[str]:
    for warning in warnings[:_MOST_WARNINGS]:
        yield warning if len(warning) <= _LONGEST_WARNING else f"{warning[: _LONGEST_WARNING - 1]}…"
