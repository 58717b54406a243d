"""What one policy says of one page of objects: match, exclude, Kyverno's resourceFilters, then its conditions.

Every object of a page gets exactly one Found, in order, and a failed evaluation never claims: what can't be read, worked out or asked
leaves the object where it is, with the reason. An Evaluation is one moment: context that does not look at the object is read at
most once. Whoever judges an object again later makes a new one. What a TTL or a Brake says is not asked here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from skoupa.clock import Clock
from skoupa.errors import BadReply, SkoupaError
from skoupa.expr.cel.pool import Pool
from skoupa.kube.decoding import undecodable
from skoupa.kube.objects import Metadata
from skoupa.kube.resources import Resource
from skoupa.model.reasons import Reason, reason
from skoupa.policy.exemptions import Exemption
from skoupa.policy.filters import Filters
from skoupa.policy.kyverno_filters import KyvernoFilters, left_alone
from skoupa.policy.match import Answer, answer
from skoupa.policy.policies import Policy
from skoupa.policy.reach import owner_that_goes
from skoupa.runs.calls.answers import passes
from skoupa.runs.calls.protocol import Calls
from skoupa.runs.comparing import Comparing
from skoupa.runs.effort import Pace
from skoupa.runs.expressions import Expressions, NamespaceReader
from skoupa.runs.opinions import Item, Judging, Opinion, Outcome, shown, unclear
from skoupa.runs.secret_values import SECRET_FIELDS, SECRETS, without_values
from skoupa.runs.turns import Turns

UNKNOWN_NAMESPACES: Final = (
    "the labels of namespaces could not be read, so nothing goes that namespaceSelector decides"
)

_NO_OBJECT: Final = "it is not what an API server sends"


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """One object of a page. `why` is told of what is unclear, and of what matches and is left for another reason.

    `wildcard`: only a wildcard makes it match (see `without_dependents`).
    """

    metadata: Metadata
    resource: Resource
    outcome: Outcome
    why: Reason | None = None
    wildcard: bool = False


class _Object(msgspec.Struct, frozen=True):
    metadata: Metadata


class _List(msgspec.Struct, frozen=True):
    items: list[msgspec.Raw] | None = None


_OBJECT: Final = msgspec.json.Decoder(_Object)
_LIST: Final = msgspec.json.Decoder(_List)


class Evaluation:
    """`namespaces` are labels by name, None where they could not be read; `namespace_object` reads a Namespace for CEL.

    Without the latter it is asked of `calls`. `at` is the moment that expressions take for the present; without it, the present. `pace` is
    that of others that run beside it.
    """

    def __init__(
        self,
        policy: Policy,
        *,
        pool: Pool,
        calls: Calls,
        clock: Clock,
        exemptions: Iterable[Exemption] = (),
        filters: KyvernoFilters | None = None,
        namespaces: Mapping[str, Mapping[str, str]] | None = None,
        namespace_object: NamespaceReader | None = None,
        at: float | None = None,
        pace: Pace | None = None,
    ) -> None:
        self._policy = policy
        self._pace = pace
        self._at = at
        self._pool = pool
        self._calls = calls
        self._clock = clock
        self._exemptions = tuple(exemptions)
        self._filters = filters or KyvernoFilters()
        self._namespaces = namespaces
        self._namespace_object = namespace_object
        self._namespace_unanswered = False
        self._begun: Judging | None = None

    @property
    def needs_bodies(self) -> bool:
        """False: metadata is enough for match and conditions. Known once begun."""
        return self._begun is None or self._begun.needs_bodies

    @property
    def unanswered(self) -> bool:
        """Whether something had no answer for a reason that passes: what it asked for, or what somebody interrupted."""
        interrupted = self._begun is not None and self._begun.interrupted
        return interrupted or self._namespace_unanswered or self._calls.unanswered

    @property
    def looked_around(self) -> bool:
        """Whether it was looked for who uses what, all over the cluster."""
        return self._calls.usage.looked

    @property
    def troubles(self) -> tuple[str, ...]:
        """What went wrong for the whole run so far, in words; the objects that it concerns are unclear."""
        known = self._namespaces is not None or not asks_for_labels(self._policy)
        found = self._begun.troubles if self._begun is not None else ()
        return found if known else (UNKNOWN_NAMESPACES, *found)

    async def begin(self) -> None:
        """Once; the moment that it takes place at is that of the whole run. An ExpressionError where an expression can't be meant.

        Context is not asked for yet: not before a condition looks at it.
        """
        if self._begun is None:
            await self._beginning()

    def expect(self, resources: Iterable[Resource]) -> None:
        """These kinds are going to be asked about, so that what is read of others is read once for all of them."""
        self._calls.usage.expect(resources)

    def done(self) -> None:
        """Nobody asks it any more: what was read of others, which may be much, is forgotten."""
        self._calls.usage.done()

    async def _beginning(self) -> Judging:
        judging = self._judging()
        await judging.begin()
        self._begun = judging
        return judging

    def _judging(self) -> Judging:
        now = self._clock.now() if self._at is None else self._at
        if isinstance(self._policy.subject.match, Filters):
            return Comparing(self._policy, calls=self._calls, clock=self._clock, now=now, pace=self._pace)
        return Expressions(
            self._policy,
            pool=self._pool,
            calls=self._calls,
            now=now,
            exemptions=self._exemptions,
            namespace_object=None if self._namespace_object is None else self._namespace,
        )

    async def _namespace(self, name: str) -> Any:
        assert self._namespace_object is not None
        try:
            return await self._namespace_object(name)
        except SkoupaError as error:
            self._namespace_unanswered = self._namespace_unanswered or passes(error)
            raise

    async def page(self, resource: Resource, raw: bytes | Sequence[bytes | msgspec.Raw]) -> list[Found]:
        """Of a list as the server sent it, or of objects one by one. A BadReply where the list is none."""
        found: list[Found | None] = []
        waiting: list[int] = []
        items: list[Item] = []
        wildcards: list[bool] = []
        turns = Turns(self._clock)
        for one in _items(raw) if isinstance(raw, bytes) else raw:
            await turns.pause()
            decided = self._matched(resource, one)
            if isinstance(decided, Found):
                found.append(decided)
                continue
            item, matched = decided
            waiting.append(len(found))
            items.append(item)
            wildcards.append(matched.wildcard)
            found.append(None)
        judging = self._begun or await self._beginning() if items else None
        opinions = await self._opinions(judging, resource, items) if judging is not None else []
        for index, item, wildcard, opinion in zip(waiting, items, wildcards, opinions, strict=True):
            found[index] = _found(item.metadata, resource, self._heeded(opinion), wildcard=wildcard)
        return [one for one in found if one is not None]

    async def _opinions(self, judging: Judging, resource: Resource, items: Sequence[Item]) -> list[Opinion]:
        if resource.qualified != SECRETS or self._calls.sees_secrets:
            return await judging.ask(resource, items)
        # What is deleted, or only counted, would tell the values to whoever writes the conditions.
        if judging.looks_into(SECRET_FIELDS):
            why = str(self._calls.secrets_refused())
            return [unclear(self._policy, resource, why=why, gist=why)] * len(items)
        return await judging.ask(resource, [without_values(item) for item in items])

    def _heeded(self, opinion: Opinion) -> Opinion:
        """What goes may be what Kyverno leaves alone, where that is not known."""
        if opinion.outcome != "claimed" or not (why := self._filters.missing):
            return opinion
        return Opinion("unclear", reason("kyverno-filters-unread", policy=self._policy.called, why=why))

    async def one(self, resource: Resource, raw: bytes | msgspec.Raw) -> Found:
        return (await self.page(resource, [raw]))[0]

    async def why_left(self, resource: Resource, raw: bytes | msgspec.Raw) -> str:
        """Why the policy does not take an object that `one` leaves without a reason: match, exclude or a condition."""
        decided = self._matched(resource, raw)
        if isinstance(decided, Found):
            return self._answer(resource, decided.metadata).why
        item, _ = decided
        judging = self._begun or await self._beginning()
        if resource.qualified == SECRETS and not self._calls.sees_secrets:
            item = without_values(item)
        return await judging.unmet(resource, item)

    def _answer(self, resource: Resource, metadata: Metadata) -> Answer:
        labels = self._namespaces.get(metadata.namespace) if self._namespaces is not None else None
        return answer(self._policy.subject, resource, metadata, namespace_labels=labels)

    def _matched(self, resource: Resource, raw: bytes | msgspec.Raw) -> Found | tuple[Item, Answer]:
        try:
            metadata = _OBJECT.decode(raw).metadata
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            return self._unread(resource, bytes(raw), str(error))
        matched = self._answer(resource, metadata)
        if not matched.matches:
            return Found(metadata=metadata, resource=resource, outcome="left")
        entry = left_alone(self._filters.filters, resource, metadata) if self._filters.filters else ""
        if entry:
            why = reason("kyverno-filter", filter=entry)
            return Found(metadata=metadata, resource=resource, outcome="left", why=why)
        return Item(metadata, msgspec.Raw(raw) if isinstance(raw, bytes) else raw), matched

    def _unread(self, resource: Resource, raw: bytes, error: str) -> Found:
        """With as much of its identity as there is: whether it matches is not known."""
        known = undecodable(raw, error)
        return Found(
            metadata=Metadata(name=known.name, namespace=known.namespace, uid=known.uid),
            resource=resource,
            outcome="unclear",
            why=reason(
                "object-unread", policy=self._policy.called, why=shown(resource, why=error, gist=_NO_OBJECT)
            ),
        )


def without_dependents(policy: Policy, found: Iterable[Found]) -> list[Found]:
    """All that a whole run found, with what goes along with its owner left to the collector.

    Only where a wildcard matched it: whoever names a kind gets all of it. Orphans do not go along.
    """
    known = list(found)
    if policy.propagation == "Orphan":
        return known
    going = {one.metadata.uid for one in known if one.outcome == "claimed" and one.metadata.uid}
    return [_or_with_owner(one, policy, going) for one in known]


def _or_with_owner(one: Found, policy: Policy, going: set[str]) -> Found:
    if one.outcome != "claimed" or not one.wildcard:
        return one
    owner = owner_that_goes(one.metadata, going)
    if not owner:
        return one
    why = reason("owner-goes", owner=owner, policy=policy.called)
    return msgspec.structs.replace(one, outcome="left", why=why)


def _found(metadata: Metadata, resource: Resource, opinion: Opinion, *, wildcard: bool) -> Found:
    return Found(
        metadata=metadata, resource=resource, outcome=opinion.outcome, why=opinion.why, wildcard=wildcard
    )


def _items(page: bytes) -> list[msgspec.Raw]:
    try:
        return _LIST.decode(page).items or []
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadReply(f"the list can't be read: {error}") from error


def asks_for_labels(policy: Policy) -> bool:
    """Whether labels of namespaces decide what it means."""
    subject = policy.subject
    if not isinstance(subject.match, Filters):
        return not subject.match.namespace_labels.empty
    blocks = (subject.match, subject.exclude) if subject.exclude is not None else (subject.match,)
    return any(one.namespace_labels is not None for block in blocks for one in block.filters)
