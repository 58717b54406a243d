"""`skoupa migrate`: every TTL label and policy as Kyverno reads it and as Skoupa does, what differs and why, and the way over and back.

Changes nothing and calls nobody outside of the cluster. What can't be read is told and changes the exit code; it never looks like
"nothing differs".
"""

from __future__ import annotations

import sys
import time
from typing import Final

import msgspec
import typer

from skoupa.cli import exits
from skoupa.cli.installed import settings_for
from skoupa.cli.looking.dry_runs import new_pool
from skoupa.cli.migrating.choosing import Choosing
from skoupa.cli.migrating.documents import Migration, document
from skoupa.cli.migrating.kyverno import MANAGED_LABEL, Kyverno, look
from skoupa.cli.migrating.labels import Labelled, compare_labels, many_overdue
from skoupa.cli.migrating.policies import Compared, Comparing, read_written
from skoupa.cli.migrating.steps import Needs, back, over
from skoupa.cli.migrating.telling import text
from skoupa.cli.options import Connecting, TextForm
from skoupa.cli.terminal import output
from skoupa.cli.terminal.saying import progress, say
from skoupa.cli.terminal.tables import screen_of
from skoupa.cli.terminal.times import zone_of
from skoupa.cli.worlds import World, in_cluster, in_files
from skoupa.controller.survey import Gap, Survey
from skoupa.errors import UsageError
from skoupa.expr.typed_times import read_time
from skoupa.install.kinds import DEFAULT_KINDS
from skoupa.model.differences import Difference, difference
from skoupa.policy.kyverno_filters import KyvernoFilter
from skoupa.settings import Settings

_ODD: Final = frozenset({"odd-value", "before-1970"})
_REFUSED: Final = "no permission"
_NO_POLICIES: Final = "the feature policies is switched off in the settings: Skoupa would run none of them"


def run(
    *,
    connecting: Connecting,
    sources: tuple[str, ...],
    now: str | None,
    everything: bool,
    matches: bool,
    tz: str | None,
    config: str | None,
    form: TextForm,
    no_color: bool,
    detailed_exitcode: bool,
) -> None:
    zone = zone_of(tz)
    if now is not None and not sources:
        raise UsageError("--now needs --from", advice="a cluster has its own clock")

    async def work(world: World) -> Migration:
        known = await settings_for(world, config)
        settings = known.settings
        if not settings.features.ttl:
            raise UsageError(
                "the feature ttl is switched off in the settings", advice="set features.ttl: true"
            )
        if known.doubt:
            say(known.doubt)
        place = connecting.namespace or ""
        return await migration(world, settings=settings, namespace=place, matches=matches)

    if sources:
        moment = read_time(now, option="--now", now=time.time(), zone=zone) if now is not None else None
        found = in_files(work, sources=sources, now=moment, namespace=connecting.namespace or "")
    else:
        found = in_cluster(work, connecting=connecting)
    if form in {"json", "yaml"}:
        output.write(msgspec.to_builtins(document(found)), form)
    else:
        screen = screen_of(no_color=no_color)
        sys.stdout.write(text(found, zone=zone, screen=screen, everything=everything))
    _leave(found, detailed_exitcode=detailed_exitcode)


async def migration(world: World, *, settings: Settings, namespace: str, matches: bool) -> Migration:
    """`namespace` empty: the whole cluster. `matches`: also what policies match now, which costs what a run costs."""
    progress("looking for Kyverno")
    kyverno = await look(world)
    survey = Survey(
        world.client,
        settings,
        namespaces=(namespace,) if namespace else (),
        inside_only=bool(namespace),
        progress=progress,
    )
    await survey.read()
    now = world.now()
    labels = await compare_labels(world, survey, kyverno, now=now)
    written = await read_written(world.client, survey.knowledge.discovery, namespace=namespace)
    policies: list[Compared] = []
    async with new_pool() as pool:
        choosing = Choosing(
            world,
            settings=settings,
            survey=survey,
            pool=pool,
            exemptions=written.exemptions,
            filters=kyverno.filters,
            now=now,
            only=(namespace,) if namespace else (),
        )
        comparing = Comparing(
            settings,
            discovery=survey.knowledge.discovery,
            kyverno=kyverno,
            pool=pool,
            choosing=choosing if matches else None,
            clock=world.client.clock,
            now=now,
        )
        try:
            await choosing.learn()
            for number, obj in enumerate(written.policies, 1):
                progress(f"policy {number} of {len(written.policies)}")
                policies.append(await comparing.compare(obj))
        finally:
            await choosing.close()
    progress("")
    needs = _needs(labels, policies, kyverno, now)
    return Migration(
        now=now,
        kyverno=kyverno,
        overall=(*many_overdue(labels, now=now), *_of_kyverno(kyverno)),
        labels=tuple(labels),
        policies=tuple(sorted(policies, key=lambda one: (one.namespace, one.kind, one.name))),
        over=tuple(over(kyverno, needs)),
        back=tuple(back(kyverno, needs)),
        gaps=tuple(dict.fromkeys((*kyverno.gaps, *survey.gaps, *written.gaps, *_unmatched(policies)))),
        warnings=(
            *kyverno.remarks(),
            *survey.doubts,
            *choosing.doubts,
            *kyverno.filters.unread,
            *([_NO_POLICIES] if policies and not settings.features.policies else []),
        ),
    )


def _unmatched(policies: list[Compared]) -> list[Gap]:
    """Policies of which it is not known what they match."""
    return [
        Gap(
            what=f"what {'/'.join(filter(None, (one.kind, one.namespace, one.name)))} matches",
            why=one.matches.unknown,
        )
        for one in policies
        if one.matches is not None and one.matches.unread
    ]


def _of_kyverno(kyverno: Kyverno) -> list[Difference]:
    found: list[Difference] = []
    if kyverno.protects_its_own:
        found.append(difference("managed-by-kyverno", label=MANAGED_LABEL))
    filters = kyverno.filters.filters
    found += (
        difference("plain-filter", filter=one.text)
        for one in filters
        if not one.kind.subresource and not any(_is_twin(one, other) for other in filters)
    )
    return list(dict.fromkeys(found))


def _is_twin(one: KyvernoFilter, other: KyvernoFilter) -> bool:
    """The same with a subresource, which is how Kyverno finds it when policies run."""
    same = (one.namespace, one.name) == (other.namespace, other.name)
    return same and bool(other.kind.subresource) and other.kind.kind in {one.kind.kind, "*"}


def _needs(labels: list[Labelled], policies: list[Compared], kyverno: Kyverno, now: float) -> Needs:
    odd = sum(any(each.code in _ODD for each in one.differences) for one in labels)
    taken = sum(
        one.kyverno.due is not None
        and one.kyverno.due <= now
        and any(each.meaning.effect == "less" for each in one.differences)
        for one in labels
    )
    going = {one.row.resource.qualified for one in labels if _would_go(one)}
    going.update(*(one.matches.kinds for one in policies if one.matches is not None))
    return Needs(
        odd_values=odd,
        protects_its_own=kyverno.protects_its_own,
        taken_on_return=taken,
        kinds=tuple(sorted(going - {kind.qualified for kind in DEFAULT_KINDS})),
    )


def _would_go(one: Labelled) -> bool:
    """If it may be deleted."""
    holds = {hold.reason.code for hold in one.verdict.holds}
    return one.verdict.goes is not None or holds == {"no-permission"}


def _leave(found: Migration, *, detailed_exitcode: bool) -> None:
    by_reason: dict[str, list[str]] = {}
    for gap in found.gaps:
        # The server names kind and user in each refusal; what is missing is the same right.
        by_reason.setdefault(_REFUSED if "is forbidden" in gap.why else gap.why, []).append(gap.what)
    for why, what in by_reason.items():
        say(f"not read, so differences may be missing here: {', '.join(sorted(what))} ({why})")
    for warning in found.warnings:
        say(warning)
    if found.gaps:
        raise typer.Exit(exits.LEFTOVERS)
    if detailed_exitcode and found.differs:
        raise typer.Exit(exits.WORK)
