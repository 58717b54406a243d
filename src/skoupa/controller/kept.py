"""The kept objects and whom they hang on.

Owners of a kept object usually carry no label, so no feed sees them: their chain is read upwards, one object at a time,
when a kept object appears. Until that is done, or where it can't be, the chain counts as unknown and holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from skoupa import names
from skoupa.errors import ApiError, Forbidden, NotFound, SkoupaError
from skoupa.facts.rows import Owner, Row, Uid, pack_uid
from skoupa.facts.store import Delta
from skoupa.judge.cascade import Ancestry, Kept
from skoupa.kube.client import Client
from skoupa.kube.kinds import Discovery
from skoupa.kube.objects import METADATA, Metadata

_LONGEST_CHAIN: Final = 32
_NOT_READ_YET: Final = Ancestry(unknown="not read yet")
_NO_OWNERS: Final = Ancestry()


class KeptIndex:
    def __init__(self) -> None:
        self._rows: dict[Uid, Row] = {}
        self._ancestry: dict[Uid, Ancestry] = {}
        self._waiting: dict[Uid, None] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Kept]:
        for uid, row in self._rows.items():
            ancestry = self._ancestry.get(uid, _NOT_READ_YET) if row.owners else _NO_OWNERS
            yield Kept(row=row, ancestry=ancestry)

    def learn(self, deltas: Iterable[Delta]) -> bool:
        """Whether anything about kept objects changed, so that others have to be judged anew."""
        changed = False
        for delta in deltas:
            before, after = delta.before, delta.after
            was = before is not None and before.label(names.KEEP_LABEL) is not None
            if after is not None and after.label(names.KEEP_LABEL) is not None:
                changed = changed or before is None or before.labels != after.labels
                self._rows[after.uid] = after
                if after.owners and (before is None or before.owners != after.owners or not was):
                    self._ancestry.pop(after.uid, None)
                    self._waiting[after.uid] = None
                    changed = True
            elif was:
                assert before is not None
                self._rows.pop(before.uid, None)
                self._ancestry.pop(before.uid, None)
                self._waiting.pop(before.uid, None)
                changed = True
        return changed

    async def read_chains(self, client: Client, discovery: Discovery) -> bool:
        """Reads the chains that are not known yet; whether any was read. What failed is tried at the next call."""
        waiting = [uid for uid in self._waiting if uid in self._rows]
        for uid in waiting:
            row = self._rows.get(uid)
            if row is None:
                continue
            ancestry = await _climb(row, client, discovery)
            self._ancestry[uid] = ancestry
            if not ancestry.unknown:
                self._waiting.pop(uid, None)
        return bool(waiting)

    @property
    def unread(self) -> int:
        return len(self._waiting)


async def _climb(row: Row, client: Client, discovery: Discovery) -> Ancestry:
    owners: set[Uid] = set()
    kinds: set[str] = set()
    unknown = ""
    ahead: list[Owner] = list(row.owners)
    while ahead and len(owners) < _LONGEST_CHAIN:
        owner = ahead.pop()
        if owner.uid in owners:
            continue
        owners.add(owner.uid)
        try:
            found = await _owner(owner, row.namespace, client, discovery, kinds)
        except SkoupaError as error:
            unknown = error.status.message if isinstance(error, ApiError) else error.message
            continue
        for reference in (found.owner_references or ()) if found else ():
            above = Owner(
                api_version=reference.api_version,
                kind=reference.kind,
                name=reference.name,
                uid=pack_uid(reference.uid),
                controller=bool(reference.controller),
                blocks=bool(reference.block_owner_deletion),
            )
            ahead.append(above)
    return Ancestry(owners=frozenset(owners), kinds=frozenset(kinds), unknown=unknown)


async def _owner(
    owner: Owner, namespace: str, client: Client, discovery: Discovery, kinds: set[str]
) -> Metadata | None:
    """The owner's metadata; None when it is gone, or is of a kind that is not served: nothing can take it along."""
    group, _, version = owner.api_version.rpartition("/")
    resource = discovery.find(group, owner.kind, version) or discovery.find(group, owner.kind)
    if resource is None:
        gap = discovery.unreadable(group)
        if gap is not None:
            raise SkoupaError(f"the kinds of {gap.where} can't be read ({gap.why})")
        return None
    kinds.add(resource.qualified)
    where = namespace if resource.namespaced else ""
    try:
        try:
            found = await client.get(resource, owner.name, namespace=where, view=METADATA)
        except Forbidden:
            found = await client.find(resource, owner.name, namespace=where, view=METADATA)
    except NotFound:
        return None
    return found.metadata if pack_uid(found.metadata.uid) == owner.uid else None
