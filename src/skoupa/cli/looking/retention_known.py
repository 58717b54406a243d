"""The retention policies that a plan or an explanation is about: those of the cluster, and those of files as if they were in it.

Read once. Nothing is asked about objects here. One of a file stands in the place of one of that name in the cluster.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any, Final

import msgspec

from skoupa import names
from skoupa.cli.checking.findings import Finding
from skoupa.controller.retaining.policy_book import WATCHED, Entry, entry_of
from skoupa.errors import ApiError, BadReply, Forbidden, SkoupaError, TimedOut, UsageError
from skoupa.kinds.definition import resource
from skoupa.kinds.retention.policy import CLUSTER_RETENTION_POLICY, RETENTION_POLICY
from skoupa.kube.client import Client
from skoupa.kube.kinds import Discovery
from skoupa.kube.lists import Scope, everything
from skoupa.kube.objects import WHOLE
from skoupa.kube.resources import Resource
from skoupa.policy.problems import Problem
from skoupa.policy.retention.profiles import read_profile
from skoupa.policy.retention.reading import RetentionReading, read_retention
from skoupa.runs.book import served
from skoupa.sim.content.manifests import Manifest

KINDS: Final = {
    names.RETENTION_POLICY_KIND: resource(RETENTION_POLICY),
    names.CLUSTER_RETENTION_POLICY_KIND: resource(CLUSTER_RETENTION_POLICY),
}
_REFUSED: Final = "no permission to list them"


class FromFile(msgspec.Struct, frozen=True, kw_only=True):
    entry: Entry
    file: str
    document: int


class WrittenRetention(msgspec.Struct, frozen=True, kw_only=True):
    """Retention policies in files, and what profiles there teach. `namespace` is where those that name none would go."""

    manifests: tuple[Manifest, ...] = ()
    teaching: tuple[Manifest, ...] = ()
    namespace: str = "default"

    def __bool__(self) -> bool:
        return bool(self.manifests)

    def places(self) -> set[str]:
        """The namespaces that they are about; an empty name is all of them."""
        return {reading.policy.namespace for _, reading in self._read() if reading.policy is not None}

    def wrong(self, discovery: Discovery | None) -> Iterator[Finding]:
        for manifest, reading in self._read(discovery):
            if reading.problems:
                yield Finding(manifest=manifest, problems=reading.problems, cautions=reading.warnings)
        for manifest in self.teaching:
            problems = read_profile(manifest.body, discovery=discovery).problems
            if problems:
                yield Finding(manifest=manifest, problems=problems)

    @property
    def profiles(self) -> tuple[dict[str, Any], ...]:
        """As if they had been applied."""
        return tuple(manifest.body for manifest in self.teaching)

    def check_names(self) -> None:
        called = [one.policy.called for _, one in self._read() if one.policy is not None]
        read = (read_profile(manifest.body).profile for manifest in self.teaching)
        called += [profile.called for profile in read if profile is not None]
        for one in called:
            if called.count(one) > 1:
                raise UsageError(
                    f"{one} stands more than once in these files",
                    advice="an object is what was applied last: leave out the others",
                )

    def entries(self, discovery: Discovery, *, namespaces: Sequence[str], now: float) -> list[FromFile]:
        """As if they were applied `now`. An installation that looks after some `namespaces` alone does not know those of others."""
        found = []
        for manifest, reading in self._read(discovery):
            policy = reading.policy
            if policy is None:
                continue
            uid = f"{manifest.file}#{manifest.document}"
            read = RetentionReading(
                policy=msgspec.structs.replace(policy, uid=uid), warnings=reading.warnings
            )
            if namespaces and policy.namespace not in namespaces:
                read = RetentionReading(policy=None, problems=(_elsewhere(namespaces),))
            entry = Entry(
                kind=KINDS[policy.kind],
                namespace=policy.namespace,
                name=policy.name,
                uid=uid,
                generation=1,
                reading=read,
                created=now,
            )
            found.append(FromFile(entry=entry, file=manifest.file, document=manifest.document))
        return found

    def unserved(self, discovery: Discovery) -> list[str]:
        """Kinds of these that the server does not know."""
        kinds = {manifest.kind for manifest in self.manifests}
        return sorted(one.kind for one in WATCHED if one.kind in kinds and served(one, discovery) is None)

    def _read(self, discovery: Discovery | None = None) -> Iterator[tuple[Manifest, RetentionReading]]:
        for manifest in self.manifests:
            reading = read_retention(manifest.body, discovery=discovery, default_namespace=self.namespace)
            yield manifest, reading


class Applied(msgspec.Struct, frozen=True, kw_only=True):
    """Those of the cluster. `unread` says for each kind of them that could not be read why."""

    entries: tuple[Entry, ...]
    unread: dict[str, str]

    @property
    def doubts(self) -> tuple[str, ...]:
        return tuple(
            f"policies that are not read, and so not shown: {kind} ({why})"
            for kind, why in self.unread.items()
        )

    def without(self, replaced: Sequence[Entry]) -> tuple[Entry, ...]:
        called = {one.called for one in replaced}
        return tuple(one for one in self.entries if one.called not in called)


async def applied(
    client: Client, discovery: Discovery, *, namespaces: Collection[str], namespace: str
) -> Applied:
    """Those that may count in `namespace` (empty: anywhere), as an installation for `namespaces` alone reads them."""
    entries: list[Entry] = []
    unread: dict[str, str] = {}
    for definition in WATCHED:
        kind = served(definition, discovery)
        if kind is None:
            continue
        for place in _places(kind, namespaces, namespace):
            try:
                found = await everything(client, kind, WHOLE, scope=Scope(namespace=place))
            except (ApiError, BadReply, TimedOut) as error:
                unread[kind.kind] = short(error)
            else:
                entries += (entry_of(kind, one, discovery) for one in found.items)
                for bad in found.undecodable:
                    unread[kind.kind] = bad.why
    return Applied(entries=tuple(sorted(entries, key=lambda one: one.called)), unread=unread)


def short(error: SkoupaError) -> str:
    return _REFUSED if isinstance(error, Forbidden) else error.brief


def _elsewhere(namespaces: Sequence[str]) -> Problem:
    what = f"the settings look after the namespaces {', '.join(namespaces)} alone, so nothing would go by it"
    return Problem(path="metadata.namespace", what=what, instead="write a RetentionPolicy in one of them")


def _places(kind: Resource, namespaces: Collection[str], namespace: str) -> Collection[str]:
    if not kind.namespaced:
        return () if namespaces else ("",)
    if namespace:
        return (namespace,) if not namespaces or namespace in namespaces else ()
    return namespaces or ("",)
