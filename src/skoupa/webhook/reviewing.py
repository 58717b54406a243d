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
from typing import Any

import msgspec

from skoupa import names
from skoupa.admission.policy_right import RESTRAINTS
from skoupa.errors import SkoupaError
from skoupa.kube.kinds import Discovery
from skoupa.policy.options import as_labels, as_written
from skoupa.policy.policies import Clauses, Policy
from skoupa.policy.problems import Problem
from skoupa.policy.reading import SHORTEST_INTERVAL, Reading, read_policy
from skoupa.policy.retention.profiles import Profile
from skoupa.runs.book import account_problem
from skoupa.runs.calls.written import call_cautions, confinement_problems
from skoupa.settings import Settings, seconds
from skoupa.webhook.retention import RETENTION_KINDS, ProfileCheck, RetentionReviewer
from skoupa.webhook.review import Asked, Decision, Review, joined, looked_at, reply, warned
from skoupa.webhook.rights import May, decided, known, unknown

Check = Callable[[Clauses], Awaitable[Iterable[Problem]]]
Look = Callable[[Policy], Awaitable[Iterable[Problem]]]


async def _nothing(_: Policy | Profile) -> Iterable[Problem]:
    return ()


class Reviewer:
    """`check` and `check_profile` tell what is wrong with expressions; `may` asks for a caller's rights, and for our own without one.

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
        check_profile: ProfileCheck = _nothing,
    ) -> None:
        self._settings = settings
        self._discovery = discovery
        self._check = check
        self._may = may
        self._look = look
        self._retention = RetentionReviewer(
            settings=settings, known=self._known, check_profile=check_profile, may=may
        )

    async def answer(self, body: bytes) -> bytes:
        """Raises msgspec.DecodeError for what is no AdmissionReview."""
        asked = msgspec.json.decode(body, type=Review).request
        return reply(asked, await self._decide(asked))

    async def _decide(self, asked: Asked) -> Decision:
        obj = asked.object
        if obj is None or asked.is_going:
            return Decision()
        if obj.get("kind") in RETENTION_KINDS:
            return await self._retention.decide(asked)
        # Registered is one webhook for all policies; those that nobody runs here are their writer's own affair.
        if not self._settings.features.policies:
            return Decision()
        if asked.old_object is not None and _same(obj, asked.old_object):
            return Decision()
        discovery, doubts = await self._known()
        reading = self._read(obj, asked, discovery)
        compiled: list[Problem] = []
        if reading.policy is not None:
            compiled = await looked_at(self._check(reading.policy.clauses), doubts)
        problems = [*self._problems(reading), *compiled]
        if not problems:
            return await self._let_in(reading, discovery, asked, doubts)
        refused = self._refused(problems, asked, discovery, of_spec=compiled)
        if refused:
            return Decision(refusal=joined(refused))
        doubts += map(str, problems)
        # Who has a shorter interval than the settings want runs all the same, spaced.
        reading = self._read(obj, asked, discovery, minimum=SHORTEST_INTERVAL)
        if reading.policy is not None:
            return await self._let_in(reading, discovery, asked, doubts)
        if self._settings.policies.require_delete_right and _does_more(asked):
            return Decision(refusal=joined(problems))
        return warned(doubts)

    def _read(
        self, obj: dict[str, Any], asked: Asked, discovery: Discovery | None, *, minimum: int | None = None
    ) -> Reading:
        shortest = int(seconds(self._settings.policies.minimum_interval)) if minimum is None else minimum
        return read_policy(
            obj,
            discovery=discovery,
            minimum_seconds=shortest,
            default_namespace=asked.namespace or "default",
        )

    def _problems(self, reading: Reading) -> list[Problem]:
        """With what the settings want of it."""
        needs = self._settings.policies.require_service_account
        lacking = account_problem(reading.policy) if needs else None
        return [*reading.problems, *([lacking] if lacking is not None else ())]

    def _refused(
        self,
        problems: list[Problem],
        asked: Asked,
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
        known = [*self._problems(self._read(old, asked, discovery)), *of_spec]
        return [problem for problem in problems if problem not in known]

    async def _known(self) -> tuple[Discovery | None, list[str]]:
        try:
            return await self._discovery(), []
        except SkoupaError as error:
            return None, [f"which kinds there are could not be asked: {error.message}"]

    async def _let_in(
        self, reading: Reading, discovery: Discovery | None, asked: Asked, doubts: list[str]
    ) -> Decision:
        policy = reading.policy
        assert policy is not None
        cautions = (*reading.warnings, *self._unanswered(policy.clauses), *await self._look(policy))
        strict = self._settings.policies.require_delete_right and _does_more(asked)
        subject, verbs = policy.subject, ("list", "delete")
        theirs = list(known(subject, discovery)) if discovery is not None else []
        if strict:
            theirs += unknown(subject, discovery)
        return await decided(
            self._may,
            asked,
            ours=known(subject, discovery, verbs=verbs) if discovery is not None else (),
            theirs=theirs,
            strict=strict,
            doubts=doubts,
            warnings=list(map(str, cautions)),
        )

    def _unanswered(self, clauses: Clauses) -> Iterator[Problem]:
        """What the settings refuse a run. Where that is the API server's to refuse, nobody gets here."""
        yield from confinement_problems(clauses, self._settings.policies)
        yield from call_cautions(clauses, self._settings.policies)


def _same(obj: dict[str, Any], old: dict[str, Any]) -> bool:
    """Nothing that a policy is read from has changed."""
    meta, before = obj.get("metadata") or {}, old.get("metadata") or {}
    written, was = as_written(meta.get("annotations")), as_written(before.get("annotations"))
    mislaid = as_labels(meta.get("labels")) != as_labels(before.get("labels"))
    return obj.get("spec") == old.get("spec") and written == was and not mislaid


def _does_more(asked: Asked) -> bool:
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
