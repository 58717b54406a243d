"""What a reading of everything in no namespace found: what belongs to whom, what stays, and what could not be read.

Nobody may take what could not be read, or was not told by discovery, for "there is nothing". A census that was `narrowed` to a label has
found what it has found, and never tells that there is no more.
"""

from __future__ import annotations

import msgspec

from skoupa.kinds.tenant import Volume
from skoupa.kube.kinds import Discovery, Gap
from skoupa.kube.objects import Metadata
from skoupa.kube.resources import Resource
from skoupa.tenants.ownership import Ownership, is_shared
from skoupa.tenants.tenant import Tenant
from skoupa.tenants.uses import Kind


class Belonging(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """`volume`: data that stays where it is when the object goes; `reclaimed`: data that its driver takes away once its claim is gone.

    `failure` is what is said of why the driver can't. `claimed_in` is the Namespace of the claim that it is for, `claim` its uid.
    """

    resource: Resource
    metadata: Metadata
    tenant: str
    proof: str
    lasting: bool
    volume: Volume | None = None
    reclaimed: Volume | None = None
    failure: str = ""
    claimed_in: str = ""
    claim: str = ""

    @property
    def uid(self) -> str:
        return self.metadata.uid

    @property
    def is_leaving(self) -> bool:
        return self.metadata.deletion_timestamp is not None

    @property
    def is_shared(self) -> bool:
        return is_shared(self.metadata.labels)

    @property
    def called(self) -> str:
        return f"{self.resource.kind} {self.metadata.name}"


class Kept(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """One that stays although something says that it is of one of `tenants`."""

    called: str
    tenants: tuple[str, ...]
    why: str


# By what is used, of which kind and how it is called: who uses it, one of each tenant, and one that is no tenant's (empty).
Uses = dict[tuple[Kind, str], dict[str, str]]


class Census(msgspec.Struct, frozen=True, kw_only=True):
    """`unread` says by kind why it could not be read; `objects` is how many were looked at.

    `uses` says of kinds that were asked whom they name, by the kind that names; one that is not in it was not asked.
    `owned` are by tenant, and by uid, all objects that have the Tenant itself among their owners, whosever they are.
    """

    tenants: dict[str, Tenant]
    ownership: Ownership
    discovery: Discovery
    belongings: dict[str, tuple[Belonging, ...]]
    disputed: tuple[Kept, ...] = ()
    owned: dict[str, dict[str, str]] = {}
    unread: dict[str, str] = {}
    gaps: tuple[Gap, ...] = ()
    objects: int = 0
    uses: dict[Kind, Uses] = {}
    narrowed: bool = False

    def of(self, tenant: str) -> tuple[Belonging, ...]:
        return self.belongings.get(tenant, ())

    def disputed_with(self, tenant: str) -> list[Kept]:
        return [one for one in self.disputed if tenant in one.tenants]

    def foreign_gaps(self, tenant: str) -> list[Gap]:
        """Those that its own APIServices do not explain: what it brought must not keep itself from going."""
        return [gap for gap in self.gaps if not self.ownership.is_own_group(tenant, gap.group)]

    def missing(self) -> list[str]:
        """In words: what has to be known before it may be said that nothing is left."""
        gaps = [f"the group {gap.where} ({gap.why})" for gap in self.gaps]
        return [*gaps, *(f"{kind} ({why})" for kind, why in sorted(self.unread.items()))]
