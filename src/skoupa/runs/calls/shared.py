"""GlobalContextEntries: values that many policies share, fetched when one of them asks and kept as long as they count.

Nobody watches: a list of objects counts for two seconds, so that policies that are due together share it, and not at all for who
asks before a delete; the answer of a call counts for its refreshInterval. What nobody uses costs nothing. A value that could not be
fetched, or not again in time, is an error for who asks and never an older or an empty one; the failure itself is kept for a
moment, so that many policies do not all wait for the same silence.
"""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import msgspec

from skoupa.errors import KindUnreadable, NotFound, SkoupaError, UsageError
from skoupa.expr import jmespath
from skoupa.expr.golang import go_duration
from skoupa.kinds.policies.global_context import GLOBAL_CONTEXT_ENTRY, GlobalContextSpec
from skoupa.kinds.reading import read
from skoupa.kube.client import Client
from skoupa.kube.kinds import Discovery
from skoupa.kube.objects import WHOLE
from skoupa.kube.resources import Resource
from skoupa.policy.confinement import confined
from skoupa.runs.calls.paths import about_secrets, read_path
from skoupa.runs.calls.shared_values import Fetcher

LIST_SECONDS: Final = 2.0
FAILURE_SECONDS: Final = 10.0
_NANOSECONDS: Final = 1e9
_MOST_DOTS: Final = 5
_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?", re.ASCII)


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    # Changes with every change of what is asked for.
    edition: tuple[str, int]
    spec: GlobalContextSpec
    kind: Resource
    status: Mapping[str, Any] = {}

    @property
    def seconds(self) -> float:
        if self.spec.api_call is None:
            return LIST_SECONDS
        interval = go_duration(self.spec.api_call.refresh_interval)
        if not isinstance(interval, int) or interval <= 0:
            raise UsageError(
                f"GlobalContextEntry {self.name}: refreshInterval is no duration", advice="write it like 10m"
            )
        return interval / _NANOSECONDS

    @property
    def about_secrets(self) -> bool:
        listed, call = self.spec.kubernetes_resource, self.spec.api_call
        if listed is not None:
            return not listed.group and listed.resource == "secrets"
        if call is None or call.service is not None:
            return False
        try:
            return about_secrets(read_path(call.url_path or "", method=call.method))
        except UsageError:
            # It is never asked; who fetches it says why, so that its status does too.
            return False

    def is_within(self, namespace: str) -> bool:
        """Whether all that it can tell is in that namespace."""
        if self.spec.kubernetes_resource is not None:
            return self.spec.kubernetes_resource.namespace == namespace
        call = self.spec.api_call
        return call is not None and call.service is None and confined(call.url_path or "", namespace)


class Refresh(msgspec.Struct, frozen=True, kw_only=True):
    """An entry was asked for; `error` says why there is no value, and is empty where there is one."""

    kind: Resource
    name: str
    uid: str
    generation: int
    status: Mapping[str, Any]
    at: float
    error: str = ""


class _Kept(msgspec.Struct, frozen=True):
    edition: tuple[str, int]
    begun: float
    until: float
    value: Any

    def counts(self, entry: Entry, *, now: float, since: float) -> bool:
        # An answer of a call is as old as whoever wrote its interval allows; that there is none keeps everything.
        listed = entry.spec.api_call is None and not isinstance(self.value, SkoupaError)
        return self.edition == entry.edition and now < self.until and not (listed and self.begun < since)


class SharedContext:
    """For the life of a process. `everywhere`: policies of a namespace may read every entry.

    `on_refresh` hears of every time that an entry was asked for.
    """

    def __init__(self, client: Client, fetcher: Fetcher, *, everywhere: bool) -> None:
        self._client = client
        self._fetcher = fetcher
        self._everywhere = everywhere
        self.on_refresh: Callable[[Refresh], None] = lambda _: None
        self._kept: dict[str, _Kept] = {}
        self._locks: dict[str, asyncio.Lock] = {}

    async def value(
        self,
        name: str,
        projection: str,
        *,
        namespace: str,
        discovery: Discovery,
        since: float = -math.inf,
        on_secrets: Callable[[], None] = lambda: None,
    ) -> Any:
        """`namespace` is that of the policy that asks; the value is shared, for reading only.

        `since`, by the clock that is never set: a list that was read before it does not count.
        `on_secrets` hears of an entry about Secrets before it is read, and may refuse it.
        """
        entry, projection = await self._named(name, projection, discovery)
        name = entry.name
        if namespace and not self._everywhere and not entry.is_within(namespace):
            raise beyond_namespace(name, namespace)
        if entry.about_secrets:
            on_secrets()
        path = _projected(entry, projection)
        value = await self._current(entry, discovery, since=since)
        if path is None:
            return value
        return jmespath.compile(path).search(value, jmespath.Context(now=self._client.clock.now()))

    async def _named(self, name: str, projection: str, discovery: Discovery) -> tuple[Entry, str]:
        """The entry of that name; else the one before a dot, with what is behind the dot as its projection."""
        other: tuple[Entry, str] | None = None
        for known, wanted in spellings(name, projection):
            try:
                entry = await self._entry(known, discovery)
            except NotFound:
                self._kept.pop(known, None)
                continue
            if known == name or any(one.name == wanted for one in entry.spec.projections):
                return entry, wanted
            # Told with the projections that it has, should no other spelling fit.
            other = other or (entry, wanted)
        if other is None:
            raise UsageError(f"there is no GlobalContextEntry {name}", advice="make it, or check the name")
        return other

    async def _entry(self, name: str, discovery: Discovery) -> Entry:
        kind = discovery.find(GLOBAL_CONTEXT_ENTRY.group, GLOBAL_CONTEXT_ENTRY.kind)
        if kind is None:
            gap = discovery.unreadable(GLOBAL_CONTEXT_ENTRY.group)
            if gap is not None:
                raise KindUnreadable(f"the kinds of {gap.where} could not be read ({gap.why})")
            raise UsageError(
                "this cluster has no GlobalContextEntries", advice="install their CustomResourceDefinition"
            )
        if not _NAME.fullmatch(name):
            raise UsageError(f"{name!r} is no name of a GlobalContextEntry", advice="check the name")
        # By a list on its name: the right to list is all that there is.
        found = await self._client.find(kind, name, view=WHOLE)
        metadata = found.get("metadata") or {}
        spec = read(found.get("spec"), GlobalContextSpec, where=f"GlobalContextEntry {name}: spec")
        edition = (str(metadata.get("uid")), int(metadata.get("generation") or 0))
        return Entry(name=name, edition=edition, spec=spec, kind=kind, status=found.get("status") or {})

    async def _current(self, entry: Entry, discovery: Discovery, *, since: float) -> Any:
        # Who waits here while it is fetched for another gets that, if they asked before: many that ask at once cost two lists.
        async with self._locks.setdefault(entry.name, asyncio.Lock()):
            kept = self._kept.get(entry.name)
            clock = self._client.clock
            if kept is None or not kept.counts(entry, now=clock.monotonic(), since=since):
                # Its age counts from before it was fetched.
                begun = clock.monotonic()
                try:
                    value = await self._fetcher.fetch(entry.spec, discovery=discovery)
                    until = begun + entry.seconds
                except SkoupaError as error:
                    value, until = error, clock.monotonic() + FAILURE_SECONDS
                self._forget()
                self._tell(entry, value)
                kept = _Kept(entry.edition, begun, until, value)
                self._kept[entry.name] = kept
        if isinstance(kept.value, SkoupaError):
            raise _not_ready(entry, kept.value) from kept.value
        return kept.value

    def _tell(self, entry: Entry, value: Any) -> None:
        uid, generation = entry.edition
        self.on_refresh(
            Refresh(
                kind=entry.kind,
                name=entry.name,
                uid=uid,
                generation=generation,
                status=entry.status,
                at=self._client.clock.now(),
                error=str(value) if isinstance(value, SkoupaError) else "",
            )
        )

    def _forget(self) -> None:
        """What counts no more takes room for nothing."""
        now = self._client.clock.monotonic()
        for name in [name for name, kept in self._kept.items() if now >= kept.until]:
            del self._kept[name]


def beyond_namespace(name: str, namespace: str) -> UsageError:
    return UsageError(
        f"GlobalContextEntry {name} tells more than what is in {namespace}, the namespace of the policy",
        advice="use a policy of the whole cluster, or let the operator set "
        "policies.allowGlobalContextInNamespacedPolicies",
    )


def spellings(name: str, projection: str) -> Iterator[tuple[str, str]]:
    """What may be meant, the longest name of an entry first."""
    yield name, projection
    parts = [] if projection else name.split(".")
    for cut in range(len(parts) - 1, max(0, len(parts) - 1 - _MOST_DOTS), -1):
        if all(parts[:cut]):
            yield ".".join(parts[:cut]), ".".join(parts[cut:])


def _not_ready(entry: Entry, why: SkoupaError) -> UsageError:
    return UsageError(f"GlobalContextEntry {entry.name} is not ready: {why.message}", advice=why.advice)


def _projected(entry: Entry, projection: str) -> str | None:
    """The expression of a projection; the entry's own name is another way to say all of it."""
    if projection in {"", entry.name}:
        return None
    for known in entry.spec.projections:
        if known.name == projection:
            return known.jmes_path
    names = ", ".join(known.name for known in entry.spec.projections[:10])
    raise UsageError(
        f"GlobalContextEntry {entry.name} has no projection {projection}",
        advice=f"there are {names}" if names else "it has none: ask for all of it",
    )
