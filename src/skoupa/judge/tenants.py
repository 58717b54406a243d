"""A tenant was deleted, and what belonged to it goes (seed 002).

Who looks after tenants says which objects those are, each with the proof of it; here that is only looked up. What is so by the name of
an object lasts; what something else in it says counts for the state that was read alone. One that is labelled as shared is not
claimed. A `skoupa.dev/keep` does not hold against this: who deletes a tenant ends what it kept.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final

import msgspec

from skoupa import names
from skoupa.facts.rows import Row, Uid
from skoupa.judge.mechanism import NO_ANSWER, Answer, Interest
from skoupa.model.reasons import reason
from skoupa.model.verdicts import Claim

NAME: Final = "tenants"


class Doomed(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """One object of a deleted tenant; `version` is the state in which the proof was seen, None: it lasts."""

    proof: str
    version: int | str | None = None


class Deleted(msgspec.Struct, frozen=True, kw_only=True):
    """One tenant of which something may go now; `uid` is that of its Tenant, by whose deletion it goes from `due` on."""

    name: str
    uid: str
    due: float
    objects: Mapping[Uid, Doomed] = {}

    @property
    def rule(self) -> str:
        return f"{names.TENANT_KIND}/{self.name}"


class TenantMechanism:
    name = NAME

    def __init__(self) -> None:
        self._deleted: dict[str, Deleted] = {}
        self._of: dict[Uid, str] = {}

    def interests(self) -> Iterable[Interest]:
        """None: who looks after tenants reads for itself what it needs."""
        return ()

    def due(self, row: Row, now: float) -> float | None:  # noqa: ARG002 - it goes by no time of its own
        found = self._found(row)
        return found[0].due if found is not None else None

    def answer(self, row: Row, now: float) -> Answer:  # noqa: ARG002 - the same
        found = self._found(row)
        if found is None:
            return NO_ANSWER
        deleted, doomed = found
        claim = Claim(
            mechanism=NAME,
            rule=deleted.rule,
            due=deleted.due,
            reason=reason("tenant-gone", tenant=deleted.name, proof=doomed.proof),
            # What hangs on it and is not the tenant's must not go along; what is goes by a Claim of its own.
            propagation="Orphan",
        )
        return Answer((claim,))

    def _found(self, row: Row) -> tuple[Deleted, Doomed] | None:
        name = self._of.get(row.uid)
        if name is None:
            return None
        deleted = self._deleted[name]
        doomed = deleted.objects[row.uid]
        if row.deleted_at:
            return deleted, doomed
        if doomed.version not in {None, row.version} or is_shared(row):
            return None
        return deleted, doomed

    def put(self, deleted: Deleted) -> list[Uid]:
        """In the place of what was said of it before; what is not claimed any more."""
        left = [uid for uid in self.drop(deleted.name) if uid not in deleted.objects]
        self._deleted[deleted.name] = deleted
        self._of |= dict.fromkeys(deleted.objects, deleted.name)
        return left

    def drop(self, name: str) -> list[Uid]:
        """Nothing goes with this tenant any more."""
        before = self._deleted.pop(name, None)
        if before is None:
            return []
        for uid in before.objects:
            if self._of.get(uid) == name:
                del self._of[uid]
        return list(before.objects)

    def of(self, rule: str) -> Deleted | None:
        return next((one for one in self._deleted.values() if one.rule == rule), None)

    def claimed(self, name: str) -> Collection[Uid]:
        deleted = self._deleted.get(name)
        return tuple(deleted.objects) if deleted is not None else ()

    def __contains__(self, uid: Uid) -> bool:
        return uid in self._of


def is_shared(row: Row) -> bool:
    value = row.label(names.SHARED_LABEL)
    return value is not None and value != "false"
