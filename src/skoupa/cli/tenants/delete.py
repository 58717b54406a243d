"""`skoupa tenant delete`: shows what goes, asks, confirms and deletes the Tenant; a running controller does the rest.

With --force-finalizers it deletes nothing: what one that is being deleted waits for is done elsewhere (`forcing`).
"""

from __future__ import annotations

import sys
from typing import Any

import msgspec
import typer

from skoupa import names
from skoupa.alive.waiting import patiently
from skoupa.cli import exits
from skoupa.cli.installed import settings_for
from skoupa.cli.options import Connecting
from skoupa.cli.tenants.forcing import force
from skoupa.cli.tenants.plan import show, summary, tell_gaps
from skoupa.cli.tenants.register import TenantPlan, named, plan_of, tenant_there
from skoupa.cli.tenants.status import lines
from skoupa.cli.terminal.confirming import confirm
from skoupa.cli.terminal.saying import progress, say
from skoupa.cli.worlds import World, in_cluster
from skoupa.errors import Conflict, NotFound, SkoupaError, TimedOut, UsageError
from skoupa.expr.durations import parse_duration
from skoupa.kinds.tenant import TENANTS
from skoupa.kube.client import Client
from skoupa.kube.objects import WHOLE
from skoupa.settings import Settings
from skoupa.sweep.failures import is_sure
from skoupa.tenants.tenant import Tenant, read_tenant

_LOOK_SECONDS = 1.0
_SILENT_SECONDS = 60.0


class _Looked(msgspec.Struct, frozen=True):
    """`nobody`: why, by the settings, no controller will do the rest; empty: one may."""

    plan: TenantPlan
    nobody: str


def run(
    *,
    connecting: Connecting,
    name: str,
    wait: bool,
    timeout: str,
    force_finalizers: bool,
    stuck_for: str,
    yes: bool,
    dry_run: bool,
    config: str | None,
    ledger: str | None,
) -> None:
    named(name)
    longest, shortest = _seconds(timeout, "--timeout"), _seconds(stuck_for, "--stuck-for")
    if force_finalizers:
        if wait:
            raise UsageError(
                "--force-finalizers takes finalizers off and waits for nothing",
                advice=f"afterwards look with skoupa tenant status {name}",
            )
        force(
            connecting=connecting,
            name=name,
            shortest=shortest,
            yes=yes,
            dry_run=dry_run,
            config=config,
            ledger=ledger,
        )
        return

    async def look(world: World) -> _Looked:
        known = await settings_for(world, config)
        if known.doubt:
            say(known.doubt)
        await tenant_there(world.client, name)
        plan = await plan_of(world.client, name, known.settings)
        return _Looked(plan, _nobody(known.settings) if known.known else "")

    async def look_again(world: World) -> TenantPlan:
        return await plan_of(world.client, name, (await settings_for(world, config)).settings)

    looked = in_cluster(look, connecting=connecting)
    plan = looked.plan
    show(plan, no_color=True)
    sys.stdout.flush()
    tell_gaps(plan.gaps)
    _refuse(plan)
    if looked.nobody:
        say(looked.nobody)
    if dry_run:
        sys.stdout.write("Nothing was deleted: this is a dry run.\n")
        return
    if not yes:
        confirm(
            f"Delete the Tenant {name}, and with it all of this?", done="deleted", command="tenant delete"
        )
    in_cluster(lambda world: _delete(world, plan.tenant), connecting=connecting)
    say(f"the Tenant {name} is deleted; {summary(plan)}")
    if wait:
        in_cluster(lambda world: _wait(world, plan.tenant, longest), connecting=connecting)
        _tell_after(name, in_cluster(look_again, connecting=connecting))


def _seconds(text: str, option: str) -> int:
    found = parse_duration(text)
    if not isinstance(found, int):
        raise UsageError(f"{option} {text!r} is no duration", advice=found.instead)
    return found


def _nobody(settings: Settings) -> str:
    """A controller may have other settings than the file: so it is said, and nobody is refused for it."""
    waits = "nothing of this goes, and the Tenant waits for it"
    if settings.mode != "enforce":
        return f"the settings say mode: observe: unless a controller runs with --enforce {waits}"
    return "" if settings.features.tenants else f"the settings have features.tenants off: {waits}"


def _refuse(plan: TenantPlan) -> None:
    tenant = plan.tenant
    if plan.refused:
        raise typer.Exit(exits.REFUSED)
    if not tenant.is_ours:
        say(
            f"nothing was deleted: the Tenant {tenant.name} has no finalizer of Skoupa, so no controller looks after it and all of this "
            "would be left behind. Run one with features.tenants and mode: enforce first"
        )
        raise typer.Exit(exits.REFUSED)


def _tell_after(name: str, plan: TenantPlan) -> None:
    """A Tenant goes alone as well: when its finalizers are taken off."""
    tell_gaps(plan.gaps)
    if plan.going:
        say(
            f"the Tenant {name} is gone, and {len(plan.going)} objects of it are still there: its finalizers were taken off before, or "
            f"they were made since; look with skoupa tenant plan {name}"
        )
    if plan.going or plan.gaps:
        raise typer.Exit(exits.LEFTOVERS)
    stay = f"; {len(plan.kept)} {'stays' if len(plan.kept) == 1 else 'stay'}" if plan.kept else ""
    sys.stdout.write(f"nothing of the Tenant {name} is left{stay}\n")


async def _delete(world: World, tenant: Tenant) -> None:
    """Confirmed first: what is deleted and not confirmed would wait for somebody where tenants.guard is on."""
    client = world.client
    confirmed = False
    try:
        await client.merge_patch(TENANTS, tenant.name, _confirmed(tenant, tenant.uid))
        confirmed = True
        if not tenant.is_leaving:
            await client.delete(
                TENANTS, tenant.name, uid=tenant.uid, propagation="Background", rule="tenant delete"
            )
    except (NotFound, Conflict) as error:
        raise UsageError(
            f"the Tenant {tenant.name} is not the one any more that was shown",
            advice="look again with skoupa tenant plan",
        ) from error
    except SkoupaError as error:
        # Else the next careless deletion by somebody else would be confirmed already.
        if not tenant.is_leaving and not tenant.is_confirmed and (confirmed or not is_sure(error)):
            await _take_back(client, tenant)
        raise


async def _take_back(client: Client, tenant: Tenant) -> None:
    """Also where no answer came: if it is deleted all the same it waits, and who does this again confirms it."""
    try:
        await client.merge_patch(TENANTS, tenant.name, _confirmed(tenant, None))
    except (NotFound, Conflict):
        return
    except SkoupaError as error:
        key = names.CONFIRM_DELETION_ANNOTATION
        say(
            f"the confirmation may still be on the Tenant {tenant.name} ({error.brief}): with tenants.guard whoever deletes it next need not "
            f"confirm; take it off with kubectl annotate tenant {tenant.name} {key}-"
        )


def _confirmed(tenant: Tenant, uid: str | None) -> dict[str, Any]:
    return {"metadata": {"uid": tenant.uid, "annotations": {names.CONFIRM_DELETION_ANNOTATION: uid}}}


async def _wait(world: World, tenant: Tenant, longest: int) -> None:
    clock = world.client.clock
    until = clock.monotonic() + longest
    found = tenant

    async def ask() -> dict[str, Any]:
        whole: dict[str, Any] = await world.client.get(TENANTS, tenant.name, view=WHOLE)
        return whole

    while clock.monotonic() < until:
        try:
            # A server that is just being replaced says nothing of the deletion.
            found = read_tenant(await patiently(world.client, ask, unreachable_after=_SILENT_SECONDS))
        except NotFound:
            progress("")
            return
        if found.uid != tenant.uid:
            progress("")
            return
        progress(found.said)
        await clock.sleep(_LOOK_SECONDS)
    progress("")
    sys.stdout.write("".join(f"{line}\n" for line in lines(found)))
    raise TimedOut(
        f"the Tenant {tenant.name} is not gone yet",
        advice=f"a controller goes on; look with skoupa tenant status {tenant.name}",
    )
