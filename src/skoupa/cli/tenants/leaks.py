"""`skoupa tenant leaks`: what looks like objects of a tenant that does not exist (any more).

Nothing says for certain that there was one: an id is taken from what only KubeZoo calls so (ID-kube-system, ID-cluster-admin, its
label on Namespaces), and then everything that would belong to that id is listed. It is a report; `skoupa tenant plan ID` tells more.
"""

from __future__ import annotations

import re
import sys
from typing import Final

import msgspec
import typer

from skoupa.cli import exits
from skoupa.cli.installed import settings_for
from skoupa.cli.options import Connecting
from skoupa.cli.tenants.document import LeaksDocument, told
from skoupa.cli.tenants.plan import tell_gaps
from skoupa.cli.tenants.register import tenants_of
from skoupa.cli.terminal import output
from skoupa.cli.terminal.saying import say
from skoupa.cli.terminal.tables import Line, render, screen_of
from skoupa.cli.worlds import World, in_cluster
from skoupa.errors import SkoupaError
from skoupa.kube.client import Client
from skoupa.kube.lists import everything
from skoupa.kube.objects import METADATA
from skoupa.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES, Resource
from skoupa.settings import Settings
from skoupa.tenants.census import Belonging, take_census
from skoupa.tenants.ids import Ids, refusal
from skoupa.tenants.ownership import KUBEZOO_LABEL
from skoupa.tenants.tenant import Tenant

TITLES: Final = ("TENANT", "OBJECT", "WHY")
_ROLES: Final = Resource(
    group="rbac.authorization.k8s.io",
    version="v1",
    plural="clusterroles",
    kind="ClusterRole",
    namespaced=False,
)
# What KubeZoo makes for each tenant, by kind.
_MADE: Final = (
    (NAMESPACES, ("kube-system", "kube-public", "kube-node-lease")),
    (_ROLES, ("cluster-admin",)),
)
# Its ids are numbers of six digits as a rule; a word in front of a name says nothing.
_DIGITS: Final = re.compile(r"[0-9]{6}")


class Leaks(msgspec.Struct, frozen=True, kw_only=True):
    found: dict[str, tuple[Belonging, ...]]
    gaps: tuple[str, ...]


def run(*, connecting: Connecting, form: str, no_color: bool, config: str | None) -> None:
    async def work(world: World) -> Leaks:
        known = await settings_for(world, config)
        if known.doubt:
            say(known.doubt)
        return await leaks_of(world.client, known.settings)

    leaks = in_cluster(work, connecting=connecting)
    everything_of_it = [(name, one) for name, found in sorted(leaks.found.items()) for one in found]
    if form == "name":
        output.write_lines(f"{one.resource.qualified}/{one.metadata.name}" for _, one in everything_of_it)
    elif form != "table":
        told_of = {name: tuple(map(told, found)) for name, found in sorted(leaks.found.items())}
        output.write(msgspec.to_builtins(LeaksDocument(tenants=told_of, gaps=leaks.gaps)), form)
    elif not everything_of_it:
        sys.stdout.write("Nothing looks like the rest of a tenant.\n")
    else:
        lines = [Line(cells=(name, one.called, one.proof)) for name, one in everything_of_it]
        sys.stdout.write(render(TITLES, lines, screen=screen_of(no_color=no_color), texts=1))
    tell_gaps(leaks.gaps)
    if everything_of_it or leaks.gaps:
        raise typer.Exit(exits.LEFTOVERS)


async def leaks_of(client: Client, settings: Settings) -> Leaks:
    living = await tenants_of(client)
    ids, gaps = await _ids(client, settings.tenants.separator)
    gone = [Tenant(name=one, uid="") for one in sorted(ids - {one.name for one in living})]
    everybody = [*living, *gone]
    ids_of_all = Ids(everybody)
    meant = [
        one.name
        for one in gone
        if not refusal(one, ids_of_all, settings=settings.tenants, protect=settings.protect)
    ]
    census = await take_census(client, everybody, settings=settings.tenants, wanted=meant)
    found = {name: census.of(name) for name in meant if census.of(name)}
    return Leaks(found=found, gaps=(*gaps, *census.missing()))


async def _ids(client: Client, separator: str) -> tuple[set[str], list[str]]:
    ids: set[str] = set()
    gaps: list[str] = []
    for resource, made in (*_MADE, (CUSTOM_RESOURCE_DEFINITIONS, ())):
        try:
            listed = await everything(client, resource, METADATA)
        except SkoupaError as error:
            gaps.append(f"{resource.qualified} ({error.brief})")
            continue
        for one in listed.items:
            name = one.metadata.name
            ids.update(
                name.removesuffix(f"{separator}{rest}")
                for rest in made
                if name.endswith(f"{separator}{rest}")
            )
            called = name.partition(".")[2] if resource == CUSTOM_RESOURCE_DEFINITIONS else name
            first = called.partition(separator)[0]
            if separator in called and _DIGITS.fullmatch(first):
                ids.add(first)
            label = (one.metadata.labels or {}).get(KUBEZOO_LABEL)
            if label and name.startswith(f"{label}{separator}"):
                ids.add(label)
    return ids, gaps
