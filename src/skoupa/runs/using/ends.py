"""Whether objects have ended, for one run of a policy: by what profiles teach of their kind, else by what is shipped.

What a profile says takes the place of what is shipped, so that nothing is answered before the profiles were read; what they leave in doubt
has no answer. Expressions are asked for many objects at a time, and before anybody waits for an answer.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

import msgspec

from skoupa.errors import SkoupaError, UsageUnknown
from skoupa.expr.cel.accounts import Account
from skoupa.expr.cel.messages import Circumstances, Result
from skoupa.expr.cel.pool import Pool
from skoupa.kube.kinds import Discovery
from skoupa.kube.objects import Metadata
from skoupa.kube.resources import Resource
from skoupa.policy.retention.ends import Ending
from skoupa.policy.retention.teaching import PROFILES, Taught
from skoupa.runs.opinions import Item
from skoupa.runs.secret_values import SECRETS
from skoupa.runs.using.lessons import Lessons, Passing
from skoupa.usage.finishing import Doubt, Ends, Finish
from skoupa.usage.graph import kind_name
from skoupa.usage.leftovers.answers import finished, has_ended

# Far below what a child may have.
_BATCH_BYTES: Final = 4 * 2**20
_GRANT: Final = f"grant list on {PROFILES}, or name it in usage.ignoreKinds where you have no profiles"
_UNREADABLE: Final = Doubt("it can't be read")
_BODY: Final = msgspec.json.Decoder(dict[str, Any])

Answer = Finish | Doubt | None


class AskedEnds:
    """`since` is how old what profiles teach may be, by the monotonic clock; `quoting`: values of objects may be told."""

    def __init__(self, lessons: Lessons, *, discovery: Discovery, since: float, quoting: bool) -> None:
        self._quoting = quoting
        self._lessons = lessons
        self._discovery = discovery
        self._since = since
        # By kind: how a profile says that it ends, why nobody can tell, or None where what is shipped counts.
        self._ways: dict[str, Ending | UsageUnknown | None] = {}
        self._account = Account()
        # What a profile said of objects, in the state that it was asked about.
        self._known: dict[tuple[str, str], Answer] = {}

    async def read(self, resource: Resource, items: Collection[Item]) -> None:
        """Before `answer` is asked of these."""
        kind = kind_name(resource)
        if kind not in self._ways:
            taught = await self._lessons.heard(self._discovery, since=self._since)
            self._ways[kind] = self._way(taught, resource)
        way = self._ways[kind]
        if isinstance(way, Ending):
            await self._ask(way, resource, [one for one in items if _state(one.metadata) not in self._known])

    def answer(self, resource: Resource, metadata: Metadata, body: msgspec.Raw) -> bool:
        """Raises a UsageUnknown."""
        kind = kind_name(resource)
        way = self._ways.get(kind, _UNASKED)
        quoting = self._quoting and resource.qualified != SECRETS
        if isinstance(way, UsageUnknown):
            raise way
        if way is None:
            found = finished(resource, body, quoting=quoting)
        elif (state := _state(metadata)) not in self._known:
            raise _UNASKED
        else:
            found = has_ended(self._known[state], ends=Ends.BY_RULE, quoting=quoting)
        if isinstance(found, str):
            raise _unknown(found)
        return found

    def done(self) -> None:
        self._known.clear()

    def _way(self, taught: Taught, resource: Resource) -> Ending | UsageUnknown | None:
        kind = kind_name(resource)
        if doubt := taught.end_doubt(kind):
            advice = _GRANT if taught.unread and not taught.may_come else ""
            return _unknown(doubt.why, passing=taught.may_come, advice=advice)
        ending = self._lessons.ending(taught, kind)
        preferred = self._discovery.find(resource.group, resource.kind)
        if ending is None or preferred is None or preferred.version == resource.version:
            return ending
        # In another version its fields may be others.
        what = f"its profile is about {preferred.api_version}, and the policy about {resource.api_version}"
        return _unknown(what, advice=f"match it as {preferred.api_version}")

    async def _ask(self, ending: Ending, resource: Resource, items: Collection[Item]) -> None:
        asked: list[tuple[str, str]] = []
        bodies: list[Mapping[str, Any]] = []
        for item in items:
            try:
                bodies.append(_BODY.decode(item.raw))
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                self._known[_state(item.metadata)] = _UNREADABLE
            else:
                asked.append(_state(item.metadata))
        now = self._lessons.clock.now()
        answers = await evaluated(
            self._lessons.pool, ending, resource, bodies, now=now, account=self._account
        )
        self._known.update(zip(asked, answers, strict=True))


def _unknown(why: str, *, passing: bool = False, advice: str = "") -> UsageUnknown:
    return (Passing if passing else UsageUnknown)(f"whether it has ended can't be told: {why}", advice=advice)


def _state(metadata: Metadata) -> tuple[str, str]:
    return metadata.uid, metadata.resource_version


_UNASKED: Final = _unknown("nobody has asked what profiles say of it")


async def evaluated(
    pool: Pool,
    ending: Ending,
    resource: Resource,
    objects: Sequence[Mapping[str, Any]],
    *,
    now: float,
    account: Account | None = None,
) -> list[Answer]:
    """An answer for each of some objects of one kind. `account` is that of a whole run."""
    found: list[Answer] = []
    batch: list[bytes] = []
    size = 0

    async def judge() -> None:
        circumstances = Circumstances(now=now, api_version=resource.api_version, kind=resource.kind)
        try:
            page = b'{"items":[' + b",".join(batch) + b"]}"
            results = await pool.judge(ending.source, page, circumstances=circumstances, account=account)
        except SkoupaError as error:
            results = [Result(False, str(error))] * len(batch)
        first = len(found)
        for one, result in zip(objects[first : first + len(batch)], results, strict=True):
            found.append(ending.finish(result, ending.beside(one)))

    for one in objects:
        raw = msgspec.json.encode(one)
        if batch and size + len(raw) > _BATCH_BYTES:
            await judge()
            batch, size = [], 0
        batch.append(raw)
        size += len(raw)
    if batch:
        await judge()
    return found
