"""Whether a controller runs that can't be asked from here: outside of the cluster it has no Service, but it renews its Lease."""

from __future__ import annotations

from typing import Final

import msgspec

from skoupa.cli.worlds import World
from skoupa.errors import NotFound, SkoupaError
from skoupa.expr.instants import parse_rfc3339
from skoupa.kube.objects import View
from skoupa.kube.resources import LEASES
from skoupa.settings import Settings

# Its clock is another one, and a holder that hangs may come back.
_SLACK_SECONDS: Final = 30.0


class _Spec(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    renew_time: str | None = None


class _Lease(msgspec.Struct, frozen=True, kw_only=True):
    spec: _Spec = _Spec()


_LEASE: Final[View[_Lease]] = View(type=_Lease)


async def may_run(world: World, settings: Settings, *, home: str) -> str:
    """Why it can't be said that none runs there; empty: the Lease is nobody's, or was not renewed for long."""
    name = settings.lease.name
    try:
        spec = (await world.client.get(LEASES, name, namespace=home, view=_LEASE)).spec
    except NotFound:
        return ""
    except SkoupaError as error:
        return f"none in the namespace {home} can be asked, and who holds its Lease {name} can't be read ({error.brief})"
    renewed = parse_rfc3339(spec.renew_time or "")
    if not spec.holder_identity or not isinstance(renewed, int):
        return ""
    lasts = max(spec.lease_duration_seconds or 0, settings.lease.seconds) + _SLACK_SECONDS
    if world.now() - renewed > lasts:
        return ""
    return f"{spec.holder_identity} renews the Lease {name} in {home} and can't be asked from here"
