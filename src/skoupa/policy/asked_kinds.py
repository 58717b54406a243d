"""Kinds that a path of the API server asks for in a way in which the server does not have them, and surely means.

The server says 404 of `/apis/batch/v1beta1/cronjobs` where it has CronJobs in v1, as it does of an object that is not there. Whoever takes
that for "there are none" takes what somebody uses for unused. A kind that the server has by no name may be wanted only where it is installed:
of that nothing is said.
"""

from __future__ import annotations

from typing import Final

import msgspec

from skoupa.kube.kinds import Discovery
from skoupa.kube.resources import BUILT_IN_GROUPS, Resource

# What was in it went to several others, and nothing is left.
_DISSOLVED: Final = "extensions"


class AskedKind(msgspec.Struct, frozen=True):
    """As a path names it; whether a namespace stands in the path, and whether a name does."""

    group: str
    version: str
    plural: str
    inside: bool
    named: bool

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}".strip("/")


def surely_meant(asked: AskedKind, discovery: Discovery) -> Resource | None:
    """The kind as the server has it: in another version, by its plural, or elsewhere. None: the path is right, or the kind not known at all."""
    rows = [row for row in discovery.resources if row.group == asked.group]
    exact = next((row for row in rows if (row.version, row.plural) == (asked.version, asked.plural)), None)
    if exact is not None:
        return exact if _misplaced(asked, exact) else None
    if asked.group == _DISSOLVED:
        rows = [row for row in discovery.resources if row.group in BUILT_IN_GROUPS]
    return _called(asked.plural, rows)


def _misplaced(asked: AskedKind, row: Resource) -> bool:
    """In a namespace, where it lies in none; or one by its name, and nobody says in which."""
    return asked.named and not asked.inside if row.namespaced else asked.inside


def _called(text: str, rows: list[Resource]) -> Resource | None:
    """By its plural before all else: `services` is no other name of anything."""
    same = next((row for row in rows if row.plural == text), None)
    aliases = (row for row in rows if text in {row.singular, row.kind.lower(), *row.short_names})
    return same or next(aliases, None)
