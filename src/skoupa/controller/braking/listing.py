"""Brakes as who shows or changes them reads them, and the errors that say what to do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from skoupa.errors import Forbidden, NotFound, SkoupaError, UsageError
from skoupa.kinds.brake import BRAKES
from skoupa.kinds.brake_reading import read_brake
from skoupa.kube.client import Client
from skoupa.kube.discovery import discover
from skoupa.kube.kinds import Discovery
from skoupa.kube.lists import everything
from skoupa.kube.objects import WHOLE

_NO_KIND: Final = "this cluster has no kind brakes.skoupa.dev"
# Without its options it would change an installation that has others.
INSTALL_AGAIN: Final = "`skoupa install | kubectl apply -f -` (with the options of your installation)"


async def every_brake(client: Client) -> list[dict[str, Any]]:
    """Whole, by name."""
    try:
        found = await everything(client, BRAKES, WHOLE)
    except SkoupaError as error:
        raise explained(error, "list") from error
    return sorted(found.items, key=lambda one: str(one["metadata"]["name"]))


async def named_kinds(client: Client, found: Iterable[Mapping[str, Any]]) -> Discovery:
    """Those of the server, where some Brake names one; none where it does not tell, which doubts nothing."""
    nothing = Discovery(resources=())
    if not any(read_brake(one).scope.kind is not None for one in found):
        return nothing
    try:
        return await discover(client)
    except SkoupaError:
        return nothing


def explained(error: SkoupaError, verb: str, *, name: str = "") -> SkoupaError:
    """The same refusal with what to do about it."""
    if isinstance(error, NotFound) and name and error.status.details and error.status.details.get("name"):
        return UsageError(f"there is no Brake {name}", advice="`skoupa brakes` lists them")
    if isinstance(error, NotFound):
        return UsageError(_NO_KIND, advice=f"{INSTALL_AGAIN} brings it")
    if isinstance(error, Forbidden):
        advice = f"ask for the right to {verb} brakes.skoupa.dev"
        return Forbidden(error.message, status=error.status, advice=advice)
    return error
