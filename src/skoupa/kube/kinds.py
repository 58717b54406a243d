"""The kinds of a server, and how people name them.

`pods`, `Pod`, `po`, `deployment.apps`, `deployments.v1.apps`, `apps/v1/Deployment` all resolve, in any case, as kubectl
resolves them: the core group first, then the server's own order; the preferred version first. A name that is not found
while some group could not be read is not called unknown: it may live there.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator

import msgspec

from skoupa.errors import KindUnreadable, UnknownKind
from skoupa.kube.resources import Resource


class Gap(msgspec.Struct, frozen=True, kw_only=True):
    """A group (or one version of it) whose kinds the server could not tell."""

    group: str
    version: str
    why: str

    @property
    def where(self) -> str:
        return f"{self.group}/{self.version}".strip("/") or "core"


class Discovery(msgspec.Struct, frozen=True, kw_only=True):
    """All kinds in all versions, in the server's order of preference, and the gaps."""

    resources: tuple[Resource, ...]
    gaps: tuple[Gap, ...] = ()

    def preferred(self) -> Iterator[Resource]:
        """Each kind once, in the version that the server prefers."""
        seen: set[tuple[str, str]] = set()
        for resource in self.resources:
            key = (resource.group, resource.plural)
            if key not in seen:
                seen.add(key)
                yield resource

    def find(self, group: str, kind: str, version: str = "") -> Resource | None:
        """By exact group and kind, as an owner reference names it; None is "not served", gaps aside."""
        for resource in self.resources:
            if resource.group == group and resource.kind == kind and version in {"", resource.version}:
                return resource
        return None

    def unreadable(self, group: str) -> Gap | None:
        return next((gap for gap in self.gaps if gap.group == group), None)

    def resolve(self, text: str) -> Resource:
        """The kind that a person means; raises `UnknownKind` with near names, or `KindUnreadable`."""
        wanted = text.strip().lower()
        found = next((row for row in self._candidates(wanted)), None)
        if found is not None:
            return found
        if self.gaps:
            places = ", ".join(sorted({gap.where for gap in self.gaps}))
            raise KindUnreadable(
                f'"{text}" is not among the kinds that could be read, and the kinds of {places} could not',
                advice=f"mend the API service first ({self.gaps[0].why})",
            )
        raise UnknownKind(f'the server has no kind "{text}"', advice=self._suggestion(wanted))

    def _candidates(self, wanted: str) -> Iterator[Resource]:
        rows = sorted(self.resources, key=lambda row: row.group != "")
        if "/" in wanted:
            yield from (row for row in rows if wanted in _slashed(row))
            return
        yield from (row for row in rows if wanted in _names(row))
        yield from (row for row in rows if wanted in row.short_names)
        name, _, rest = wanted.partition(".")
        if rest:
            yield from (
                row
                for row in rows
                if name in _names(row) | {*row.short_names}
                and rest in {row.group, f"{row.version}.{row.group}", row.version if not row.group else None}
            )

    def _suggestion(self, wanted: str) -> str:
        known = {row.plural for row in self.resources} | {row.kind.lower() for row in self.resources}
        near = difflib.get_close_matches(wanted.rpartition("/")[2].partition(".")[0], sorted(known), n=3)
        return f"did you mean {', '.join(near)}?" if near else "`kubectl api-resources` lists the kinds"


def _names(row: Resource) -> set[str]:
    return {row.plural, row.singular, row.kind.lower()} - {""}


def _slashed(row: Resource) -> set[str]:
    kind, plural = row.kind.lower(), row.plural
    root = row.api_version.lower()
    return {f"{root}/{kind}", f"{root}/{plural}", f"{row.group}/{kind}", f"{row.group}/{plural}"}
