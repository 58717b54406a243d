"""`skoupa tenant plan`: what would go with a Tenant, and with which proof; what stays; what could not be read.

With --selector the same of a tenant that there is not, whose rule is that label.
"""

from __future__ import annotations

import sys
from collections import Counter

import msgspec
import typer

from skoupa.cli import exits
from skoupa.cli.installed import settings_for
from skoupa.cli.options import Connecting
from skoupa.cli.tenants.document import document
from skoupa.cli.tenants.register import Going, TenantPlan, named, plan_of, plan_of_selected
from skoupa.cli.terminal import output
from skoupa.cli.terminal.saying import say
from skoupa.cli.terminal.tables import Line, printable, render, screen_of
from skoupa.cli.worlds import World, in_cluster
from skoupa.errors import UsageError
from skoupa.tenants.selected import rule_of

TITLES = ("STEP", "OBJECT", "INSIDE", "WHY")


def run(
    *,
    connecting: Connecting,
    name: str | None,
    selector: str | None,
    form: str,
    no_color: bool,
    config: str | None,
) -> None:
    if (name is None) == (selector is None):
        raise UsageError(
            "which tenant is meant is not clear",
            advice="give the name of a Tenant or --selector, and not both",
        )
    if selector is not None:
        rule_of(selector)
    else:
        named(name or "")

    async def work(world: World) -> TenantPlan:
        known = await settings_for(world, config)
        if known.doubt:
            say(known.doubt)
        if selector is not None:
            return await plan_of_selected(world.client, selector, known.settings)
        return await plan_of(world.client, name or "", known.settings)

    found = in_cluster(work, connecting=connecting)
    if form == "name":
        output.write_lines(
            f"{one.belonging.resource.qualified}/{one.belonging.metadata.name}" for one in found.going
        )
    elif form != "table":
        output.write(msgspec.to_builtins(document(found, selector=selector)), form)
    else:
        show(found, no_color=no_color, whom=f"a tenant with the labels {selector}" if selector else "")
    tell_gaps(found.gaps)
    if found.refused:
        raise typer.Exit(exits.REFUSED)
    if found.gaps:
        raise typer.Exit(exits.LEFTOVERS)


def show(found: TenantPlan, *, no_color: bool, whom: str = "") -> None:
    """`whom`: in words, one that there is not and that no name is asked for; empty: the Tenant of that name."""
    name = found.tenant.name
    if not found.there and not whom:
        say(f"there is no Tenant {name}: this is what would go with one")
    if found.refused:
        sys.stdout.write(printable(f"Nothing goes with the Tenant {name}: {found.refused}.") + "\n")
    elif not found.going:
        verb = "goes with" if found.kept else "belongs to"
        sys.stdout.write(printable(f"Nothing {verb} {whom or f'the Tenant {name}'}.") + "\n")
    else:
        screen = screen_of(no_color=no_color)
        sys.stdout.write(render(TITLES, [_line(one) for one in found.going], screen=screen, texts=1))
        sys.stdout.write(f"\n{summary(found)}\n{printable(_by_kind(found))}\n")
        if found.blocked:
            sys.stdout.write(printable(f"As things are, nothing of that goes: {found.blocked}.") + "\n")
    for title, lines in (
        ("Stays:", [f"{one.called}: {one.why}" for one in found.kept]),
        ("Stays, and names what is the tenant's:", list(found.grants)),
    ):
        if lines:
            sys.stdout.write(f"\n{title}\n" + "".join(f"  {printable(one)}\n" for one in lines))


def summary(found: TenantPlan) -> str:
    inside = sum(one.inside or 0 for one in found.going)
    number = len(found.going)
    parts = [f"{number} objects in no namespace go, and {inside} with them"]
    if number == 1:
        parts = [f"1 object in no namespace goes, and {inside} with it"]
    if found.labelled_keep:
        parts.append(
            f"{found.labelled_keep} of all these have a keep label, which does not hold against this"
        )
    if found.kept:
        parts.append("1 stays" if len(found.kept) == 1 else f"{len(found.kept)} stay")
    return "; ".join(parts) + "."


def _by_kind(found: TenantPlan) -> str:
    """In the order in which they go."""
    counted = Counter(one.belonging.resource.qualified for one in found.going)
    return f"Of each kind: {', '.join(f'{kind} {number}' for kind, number in counted.items())}."


def tell_gaps(gaps: tuple[str, ...]) -> None:
    for gap in gaps:
        say(f"not read: {gap}")


def _line(one: Going) -> Line:
    belonging = one.belonging
    below = []
    if belonging.volume is not None:
        below.append(f"its data stays where it is: {belonging.volume.handle}")
    elif belonging.reclaimed is not None:
        below.append("its driver takes its data away once its claim is gone, and then it")
    if belonging.is_leaving:
        below.append("it is being deleted already")
    return Line(
        cells=(
            str(one.step + 1),
            belonging.called,
            str(one.inside) if one.inside is not None else "",
            belonging.proof,
        ),
        below=tuple(below),
    )
