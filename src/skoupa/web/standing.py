"""What the running controller holds, as an answer to whoever asks about single objects.

Of an object is told who may `get` its kind in its namespace. A replica that stands by says so and tells nothing: what it
would find out itself is not what the one that leads has found.
"""

from __future__ import annotations

from collections.abc import Sequence

from skoupa.kube.reviews import Caller
from skoupa.report.opinions import Opinion, Opinions
from skoupa.web.permissions import NEVER, Permissions, Spot
from skoupa.web.shapes import Named, Standings

_TELLS = ("acts", "observes")


async def standings(
    opinions: Opinions, permissions: Permissions, caller: Caller, objects: Sequence[Named]
) -> Standings:
    acts = opinions.acts()
    if acts not in _TELLS:
        return Standings(acts=acts)
    found = [opinions.of(one.uid, resource=one.resource, namespace=one.namespace) for one in objects]
    since = await permissions.asked_by(caller).of("get", map(_spot, found))
    return Standings(acts=acts, items=tuple(one for one in found if since[_spot(one)] != NEVER))


def _spot(opinion: Opinion) -> Spot:
    return Spot(resource=opinion.resource, namespace=opinion.namespace)
