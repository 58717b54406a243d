"""What would go again with its Tenant, which is being deleted, does not come back: no label keeps anything from that.

Whose it would be is told by the names and labels with which it is to be created, by the rule that the controller has. What hangs on
others in the cluster (who uses it, the claim that a volume gets) is not looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from skoupa.cli.restoring.obstacles import Obstacle, kind_of
from skoupa.cli.restoring.pieces import Piece
from skoupa.cli.worlds import World
from skoupa.errors import SkoupaError
from skoupa.kinds.tenant import TENANTS
from skoupa.kube.client import Client
from skoupa.kube.kinds import Discovery
from skoupa.kube.lists import everything
from skoupa.kube.objects import METADATA
from skoupa.kube.resources import NAMESPACES
from skoupa.ledger.trash.ordering import NAMESPACES as NAMESPACES_KEPT
from skoupa.settings import Settings
from skoupa.tenants.ownership import NOBODY, Belongs, Candidate, Ownership, is_shared

if TYPE_CHECKING:
    from skoupa.cli.tenants.standing import TenantsKnown


async def refuse_what_tenants_take(world: World, discovery: Discovery, pieces: Iterable[Piece]) -> list[str]:
    """Before they are checked, so that what lives in one that is refused is no surprise; what is not known is in the answer."""
    coming = [one for one in pieces if one.possible and not is_shared(_labels(one))]
    if not coming or not any(one.qualified == TENANTS.qualified for one in discovery.preferred()):
        return []
    # What it takes to ask is needed only where there is somebody to ask about.
    from skoupa.cli.tenants.standing import tenants_known  # noqa: PLC0415

    doubts: list[str] = []

    def untold(error: SkoupaError) -> None:
        # Most who bring back what was in a namespace may not know of Tenants, and need not.
        if not all(one.kept.namespaced for one in coming):
            doubts.append(
                f"whether a Tenant that is being deleted would take it again is not known: {error.brief}"
            )

    known = await tenants_known(world.client, discovery, await _settings(world), untold=untold)
    if known is None or not any(map(known.takes, known.tenants.values())):
        return doubts
    await _learn_namespaces(known.ownership, world.client, coming)
    for piece in coming:
        name = _whose(piece, known, discovery)
        if name:
            piece.meets(Obstacle(what="refused", text=_why(name, piece)))
    return doubts


async def _settings(world: World) -> Settings:
    """Also where those of the installation can't be had: what was deleted by mistake has to come back then too."""
    from skoupa.cli.installed import Installed, settings_for  # noqa: PLC0415 - as above
    from skoupa.cli.tenants.standing import settings_of_tenants  # noqa: PLC0415

    try:
        return settings_of_tenants(await settings_for(world, None))
    except SkoupaError:
        return settings_of_tenants(Installed(settings=Settings(), known=False))


async def _learn_namespaces(ownership: Ownership, client: Client, coming: Sequence[Piece]) -> None:
    """Those that are there, and then those that come back; of others their names tell."""
    try:
        there = (await everything(client, NAMESPACES, METADATA)).items
    except SkoupaError:
        there = []
    for one in there:
        owners = tuple(owner.uid for owner in one.metadata.owner_references or ())
        labels = one.metadata.labels or {}
        ownership.learn(Candidate(resource=NAMESPACES, name=one.metadata.name, labels=labels, owners=owners))
    for piece in coming:
        if piece.kept.resource == NAMESPACES_KEPT:
            ownership.learn(Candidate(resource=NAMESPACES, name=piece.kept.name, labels=_labels(piece)))


def _whose(piece: Piece, known: TenantsKnown, discovery: Discovery) -> str:
    """The Tenant that would take it; empty: none."""
    if piece.kept.namespaced:
        whose = known.ownership.in_namespace(piece.namespace)
        name = next(iter(whose)) if len(whose) == 1 else NOBODY
    else:
        kind = kind_of(piece.kept, discovery)
        if isinstance(kind, Obstacle):
            # What defines it comes back before, and is asked about by itself.
            return ""
        found = known.ownership.of(Candidate(resource=kind, name=piece.kept.name, labels=_labels(piece)))
        name = found.tenant if isinstance(found, Belongs) else NOBODY
    return name if name and known.takes(known.tenants[name]) else ""


def _why(name: str, piece: Piece) -> str:
    instead = ", or --into another namespace" if piece.kept.namespaced else ""
    return (
        f"the Tenant {name} is being deleted and would take it again, whatever label keeps it; "
        f"bring it back when that is over{instead}"
    )


def _labels(piece: Piece) -> dict[str, str]:
    found: dict[str, str] = piece.manifest["metadata"].get("labels") or {}
    return found
