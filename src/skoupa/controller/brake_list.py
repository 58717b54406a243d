"""Brakes read once, for who looks at a cluster or acts in it for a moment, and the errors that say what to do."""

from __future__ import annotations

from typing import Any, Final

from skoupa import names
from skoupa.errors import ApiError, BadReply, Forbidden, NotFound, SkoupaError, TimedOut, UsageError
from skoupa.judge.brakes import NO_BRAKES, Pulled
from skoupa.kinds.brake import BRAKES
from skoupa.kinds.brake_reading import read_brake
from skoupa.kube.client import Client
from skoupa.kube.kinds import Discovery
from skoupa.kube.lists import everything
from skoupa.kube.objects import WHOLE

_NO_KIND: Final = "this cluster has no kind brakes.skoupa.dev"


async def pulled(client: Client, discovery: Discovery) -> Pulled:
    """Where the kind is not there, there are none; where it can't be read, everything is to be held."""
    kind = discovery.find(names.SKOUPA_GROUP, names.BRAKE_KIND)
    gap = discovery.unreadable(names.SKOUPA_GROUP)
    if kind is None:
        return Pulled(unknown=f"the kinds of {gap.where} can't be read ({gap.why})") if gap else NO_BRAKES
    try:
        found = await everything(client, kind, WHOLE)
    except Forbidden:
        return Pulled(unknown="no permission: list brakes.skoupa.dev")
    except (ApiError, BadReply, TimedOut) as error:
        return Pulled(unknown=error.status.message if isinstance(error, ApiError) else error.message)
    if found.undecodable:
        return Pulled(unknown=f"{len(found.undecodable)} of them can't be understood")
    return Pulled(brakes=tuple(map(read_brake, found.items)))


async def every_brake(client: Client) -> list[dict[str, Any]]:
    """Whole, by name."""
    try:
        found = await everything(client, BRAKES, WHOLE)
    except SkoupaError as error:
        raise explained(error, "list") from error
    return sorted(found.items, key=lambda one: str(one["metadata"]["name"]))


def explained(error: SkoupaError, verb: str, *, name: str = "") -> SkoupaError:
    """The same refusal with what to do about it."""
    if isinstance(error, NotFound) and name and error.status.details and error.status.details.get("name"):
        return UsageError(f"there is no Brake {name}", advice="`skoupa brakes` lists them")
    if isinstance(error, NotFound):
        return UsageError(_NO_KIND, advice="`skoupa install` brings it")
    if isinstance(error, Forbidden):
        advice = f"ask for the right to {verb} brakes.skoupa.dev"
        return Forbidden(error.message, status=error.status, advice=advice)
    return error
