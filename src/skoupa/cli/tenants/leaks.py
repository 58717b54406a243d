"""`skoupa tenant leaks`: what looks like objects of a tenant that does not exist (any more).

Nothing says for certain that there was one: an id is taken from what only KubeZoo calls so (ID-kube-system, ID-cluster-admin, its
label on Namespaces), from six digits in front of a name, or from the labels that the settings name, and then everything that would belong to
that id is listed. It is a report; `skoupa tenant plan ID` tells more.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec
import typer

from skoupa.cli import exits
from skoupa.cli.installed import settings_for
from skoupa.cli.options import Connecting
from skoupa.cli.tenants.document import LeaksDocument, ToldKept, told
from skoupa.cli.tenants.plan import tell_gaps
from skoupa.cli.tenants.register import tenants_of
from skoupa.cli.terminal import output
from skoupa.cli.terminal.saying import say
from skoupa.cli.terminal.tables import Line, render, screen_of
from skoupa.cli.worlds import World, in_cluster
from skoupa.errors import SkoupaError
from skoupa.kube.client import Client
from skoupa.kube.discovery import discover
from skoupa.kube.lists import everything
from skoupa.kube.objects import METADATA, View
from skoupa.kube.resources import Resource
from skoupa.settings import Settings, TenantSettings
from skoupa.tenants.census import Belonging, Kept
from skoupa.tenants.ids import Ids, refusal
from skoupa.tenants.ownership import KUBEZOO_LABEL, id_in_name, is_namespace, named_group
from skoupa.tenants.reading import countable, take_census
from skoupa.tenants.tenant import Tenant
from skoupa.tenants.volumes import VIEWS, Data, stands_for

TITLES: Final = ("TENANT", "OBJECT", "WHY")
# What KubeZoo makes for each tenant, by kind.
_MADE: Final[Mapping[tuple[str, str], tuple[str, ...]]] = {
    ("", "Namespace"): ("kube-system", "kube-public", "kube-node-lease"),
    ("rbac.authorization.k8s.io", "ClusterRole"): ("cluster-admin",),
}
# Its ids are numbers of six digits as a rule; a word in front of a name says nothing.
_DIGITS: Final = re.compile(r"[0-9]{6}")


class Leaks(msgspec.Struct, frozen=True, kw_only=True):
    """`disputed` look so too, and something speaks against it: with no Tenant would they go."""

    found: dict[str, tuple[Belonging, ...]]
    disputed: dict[str, tuple[Kept, ...]]
    gaps: tuple[str, ...]


def run(*, connecting: Connecting, form: str, no_color: bool, config: str | None) -> None:
    async def work(world: World) -> Leaks:
        known = await settings_for(world, config)
        if known.doubt:
            say(known.doubt)
        return await leaks_of(world.client, known.settings)

    leaks = in_cluster(work, connecting=connecting)
    odd = [(name, one) for name, found in sorted(leaks.disputed.items()) for one in found]
    everything_of_it = [(name, one) for name, found in sorted(leaks.found.items()) for one in found]
    if form == "name":
        output.write_lines(f"{one.resource.qualified}/{one.metadata.name}" for _, one in everything_of_it)
    elif form != "table":
        told_of = {name: tuple(map(told, found)) for name, found in sorted(leaks.found.items())}
        told_odd = {
            name: tuple(ToldKept(object=one.called, why=one.why) for one in found)
            for name, found in sorted(leaks.disputed.items())
        }
        told_all = LeaksDocument(tenants=told_of, disputed=told_odd, gaps=leaks.gaps)
        output.write(msgspec.to_builtins(told_all), form)
    elif not everything_of_it and not odd:
        sys.stdout.write("Nothing looks like the rest of a tenant.\n")
    else:
        lines = [Line(cells=(name, one.called, one.proof)) for name, one in everything_of_it]
        lines += [Line(cells=(name, one.called, one.why)) for name, one in odd]
        sys.stdout.write(render(TITLES, lines, screen=screen_of(no_color=no_color), texts=1))
    tell_gaps(leaks.gaps)
    if everything_of_it or odd or leaks.gaps:
        raise typer.Exit(exits.LEFTOVERS)


async def leaks_of(client: Client, settings: Settings) -> Leaks:
    living = await tenants_of(client)
    ids, gaps = await _ids(client, settings.tenants)
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
    disputed = {name: tuple(odd) for name in meant if (odd := census.disputed_with(name))}
    return Leaks(found=found, disputed=disputed, gaps=tuple(dict.fromkeys((*gaps, *census.missing()))))


async def _ids(client: Client, settings: TenantSettings) -> tuple[set[str], list[str]]:
    """Of all kinds in no namespace: what is left of a tenant may be a single volume."""
    ids: set[str] = set()
    gaps: list[str] = []
    for resource in countable(await discover(client), settings.ignore_kinds):
        view: View[Any] = VIEWS.get((resource.group, resource.kind), METADATA)
        try:
            listed = await everything(client, resource, view)
        except SkoupaError as error:
            gaps.append(f"{resource.qualified} ({error.brief})")
            continue
        for one in listed.items:
            ids.update(_meant(resource, one, settings))
    return ids, gaps


def _meant(resource: Resource, found: Any, settings: TenantSettings) -> Iterator[str]:
    name, labels, separator = found.metadata.name, found.metadata.labels or {}, settings.separator
    # One in a key may be of whatever the object is below, which no Tenant need ever have been.
    convention = settings.namespace_label if is_namespace(resource) else settings.object_label
    yield from filter(None, (labels.get(convention), labels.get(settings.label)))
    for rest in _MADE.get((resource.group, resource.kind), ()):
        if name.endswith(f"{separator}{rest}"):
            yield name.removesuffix(f"{separator}{rest}")
    if made_for := id_in_name(resource, name):
        yield made_for
    label = labels.get(KUBEZOO_LABEL)
    if label and name.startswith(f"{label}{separator}"):
        yield label
    claim = stands_for(found) if isinstance(found, Data) else None
    group = named_group(resource, name)
    for text in (name if group is None else group, resource.group, claim.namespace if claim else ""):
        first = text.partition(separator)[0]
        if separator in text and _DIGITS.fullmatch(first):
            yield first
