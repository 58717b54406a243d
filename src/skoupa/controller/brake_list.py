"""Brakes as who shows or changes them reads them, and the errors that say what to do."""

from __future__ import annotations

from typing import Any, Final

from skoupa.errors import Forbidden, NotFound, SkoupaError, UsageError
from skoupa.kinds.brake import BRAKES
from skoupa.kube.client import Client
from skoupa.kube.lists import everything
from skoupa.kube.objects import WHOLE

_NO_KIND: Final = "this cluster has no kind brakes.skoupa.dev"


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
