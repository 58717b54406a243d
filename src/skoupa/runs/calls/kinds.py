"""Kinds as expressions and entries name them: apiVersion and plural, found among what the server has.

A kind of a group that could not be read is not called unknown: it may be there.
"""

from __future__ import annotations

from skoupa.errors import KindUnreadable, SkoupaError, UnknownKind, UsageError
from skoupa.kube.kinds import Discovery
from skoupa.kube.resources import Resource


def by_plural(discovery: Discovery, *, api_version: str, plural: str) -> Resource:
    group, version = split(api_version)
    for resource in discovery.resources:
        if (resource.group, resource.version, resource.plural) == (group, version, plural):
            return resource
    raise _missing(discovery, group=group, text=f"{api_version} {plural}")


def by_kind(discovery: Discovery, *, api_version: str, kind: str) -> Resource:
    group, version = split(api_version)
    found = discovery.find(group, kind, version)
    if found is None:
        raise _missing(discovery, group=group, text=f"{api_version} {kind}")
    return found


def split(api_version: str) -> tuple[str, str]:
    group, slash, version = api_version.rpartition("/")
    if not version or "/" in group or bool(slash) != bool(group):
        raise UsageError(f"{api_version!r} is no apiVersion", advice="write it like v1 or apps/v1")
    return group, version


def _missing(discovery: Discovery, *, group: str, text: str) -> SkoupaError:
    gap = discovery.unreadable(group)
    if gap is not None:
        return KindUnreadable(
            f"the kinds of {gap.where} could not be read ({gap.why}), so {text} is not known",
            advice="mend the API service first",
        )
    return UnknownKind(
        f"the server has no {text}", advice="write the plural in lower case, as in `kubectl api-resources`"
    )
