"""What the running controller holds, as an answer to whoever asks about single objects.

Of an object is told who may `get` its kind in its namespace. A replica that stands by says so and tells nothing: what it
would find out itself is not what the one that leads has found.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec

from skoupa.kube.reviews import Caller
from skoupa.report.opinions import Opinion, Opinions, Standing
from skoupa.web.mentions import Kinds, cut_standing
from skoupa.web.permissions import NEVER, Permissions, Rights, Spot
from skoupa.web.shapes import Named, Standings

_TELLS = ("acts", "observes")


async def standings(
    opinions: Opinions, permissions: Permissions, caller: Caller, objects: Sequence[Named], *, kinds: Kinds
) -> Standings:
    acts = opinions.acts()
    if acts not in _TELLS:
        return Standings(acts=acts)
    found = [opinions.of(one.uid, resource=one.resource, namespace=one.namespace) for one in objects]
    rights = permissions.asked_by(caller)
    since = await rights.of("get", map(_spot, found))
    shown = [one for one in found if since[_spot(one)] != NEVER]
    return Standings(acts=acts, items=tuple([await _cut(one, rights, kinds) for one in shown]))


async def _cut(opinion: Opinion, rights: Rights, kinds: Kinds) -> Opinion:
    """What else is named is named to who may read that."""

    async def reaches(spots: Collection[Spot]) -> Collection[Spot]:
        return [spot for spot, since in (await rights.of("get", spots)).items() if since != NEVER]

    stays = [
        Standing(
            code=one.code,
            text=await cut_standing(one.code, one.text, home=opinion.namespace, kinds=kinds, reaches=reaches),
        )
        for one in opinion.stays
    ]
    return msgspec.structs.replace(opinion, stays=tuple(stays))


def _spot(opinion: Opinion) -> Spot:
    return Spot(resource=opinion.resource, namespace=opinion.namespace)
