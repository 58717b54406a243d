"""`skoupa check`: policies read, compiled and compared with a cluster, before anybody applies them.

Changes nothing and asks nothing outside of the cluster. What is only worth knowing (cautions, missing permissions) leaves the exit
code alone; a policy that would not run makes it 2.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import Final

import msgspec
import typer

from skoupa import names
from skoupa import settings as configuration
from skoupa.cli.checking.company import Companion, read_company
from skoupa.cli.checking.company_cautions import with_cautions
from skoupa.cli.checking.findings import CheckDocument, Finding, next_runs, told, told_companion
from skoupa.cli.checking.reading import Read, judged, read_all
from skoupa.cli.checking.retention import Retained, found_out, read_retained, with_answers
from skoupa.cli.checking.rights import Right, asked, needed
from skoupa.cli.checking.sources import Sources, read_sources
from skoupa.cli.installed import Installed, settings_before
from skoupa.cli.options import Connecting, TextForm
from skoupa.cli.terminal import output
from skoupa.cli.terminal.saying import say
from skoupa.cli.terminal.tables import Line, Screen, printable, render, screen_of
from skoupa.cli.terminal.times import full_time
from skoupa.cli.worlds import World, in_cluster, in_files
from skoupa.errors import KubeconfigError, Unreachable, UsageError
from skoupa.expr.schedule_words import in_words
from skoupa.kube.access import Access
from skoupa.kube.client import Client
from skoupa.kube.discovery import discover
from skoupa.kube.kinds import Discovery
from skoupa.kube.timestamps import whole_seconds
from skoupa.policy.expansion import expand
from skoupa.runs.accounts import account_cautions

INVALID: Final = UsageError.exit_code
_TITLES: Final = ("KIND", "WHERE", "LIST", "DELETE")
_WITHOUT: Final = {
    names.RETENTION_POLICY_KIND: "nothing would go by it",
    names.CLUSTER_RETENTION_POLICY_KIND: "nothing would go by it",
    names.KIND_PROFILE_KIND: "it would teach nothing",
}
_WORDS: Final = {True: "yes", False: "no", None: "-"}


class _Looked(msgspec.Struct, frozen=True):
    """The time, what was found out of policies and of what concerns retention, and the kinds, where somebody looked."""

    now: float
    findings: list[Finding]
    retaining: list[Finding]
    discovery: Discovery | None = None


def run(
    *,
    connecting: Connecting,
    files: tuple[str, ...],
    sources: tuple[str, ...],
    offline: bool,
    config: str | None,
    form: TextForm,
    no_color: bool,
) -> None:
    if offline and sources:
        raise UsageError("--offline and --from can't stand together", advice="leave out one of them")
    found = read_sources(files)
    known = _settings(config, connecting=connecting, alone=offline or bool(sources))
    many = read_all(found, known.settings.policies)
    besides = read_company(found.company)
    retained = read_retained(found.retention)
    looked = _look(many, retained, connecting=connecting, sources=sources, offline=offline)
    now, findings, retaining = looked.now, looked.findings, looked.retaining
    besides = [
        with_cautions(one, now=now, settings=known.settings.policies, discovery=looked.discovery)
        for one in besides
    ]
    everything = [*findings, *retaining]
    if form in {"json", "yaml"}:
        document = CheckDocument(
            now=whole_seconds(now),
            policies=tuple(told(finding, now) for finding in everything),
            besides=tuple(map(told_companion, besides)),
            warnings=(known.doubt,) if known.doubt else (),
        )
        output.write(msgspec.to_builtins(document), form)
    else:
        screen = screen_of(no_color=no_color)
        shown = [_shown(finding, now, screen) for finding in everything]
        sys.stdout.write("\n".join([*shown, *(_shown_beside(one, screen) for one in besides)]))
    if known.doubt:
        say(known.doubt)
    _tell(found, everything, connecting)
    if retaining and known.known and not known.settings.features.retention:
        say(
            "features.retention is off in the settings: nothing goes by retention policies until it is switched on"
        )
    wrong = sum(not one.valid for one in besides)
    if wrong:
        say(f"{wrong} of {len(besides)} that stand beside policies would not count as they are meant")
    if wrong or not all(finding.valid for finding in everything):
        raise typer.Exit(INVALID)


def _settings(config: str | None, *, connecting: Connecting, alone: bool) -> Installed:
    """`alone`: without asking the cluster for them."""
    if alone:
        return Installed(settings=configuration.load(config), known=config is not None)
    try:
        return settings_before(config, connecting=connecting)
    except (KubeconfigError, Unreachable) as error:
        raise _or_offline(error) from None


def _or_offline(error: KubeconfigError | Unreachable) -> KubeconfigError | Unreachable:
    error.advice = "; ".join(part for part in (error.advice, "--offline checks without a cluster") if part)
    return error


def _look(
    many: Sequence[Read],
    retained: Sequence[Retained],
    *,
    connecting: Connecting,
    sources: tuple[str, ...],
    offline: bool,
) -> _Looked:
    async def work(world: World) -> _Looked:
        discovery = await discover(world.client)
        access = None if world.given is not None else Access(world.client, clock=world.client.clock)
        namespace = connecting.namespace or world.namespace or "default"
        findings = [
            await _finding(each, world.client, discovery=discovery, access=access, namespace=namespace)
            for each in many
        ]
        retaining = [found_out(each, discovery=discovery, namespace=namespace) for each in retained]
        if access is not None:
            retaining = [await with_answers(one, access) for one in retaining]
        return _Looked(world.now(), findings, retaining, discovery)

    if offline:
        namespace = connecting.namespace or "default"
        findings = [judged(each, namespace=namespace)[0] for each in many]
        return _Looked(time.time(), findings, [found_out(each, namespace=namespace) for each in retained])
    if sources:
        place = connecting.namespace or ""
        return in_files(work, sources=sources, now=time.time(), namespace=place)
    try:
        return in_cluster(work, connecting=connecting)
    except (KubeconfigError, Unreachable) as error:
        raise _or_offline(error) from None


async def _finding(
    each: Read, client: Client, *, discovery: Discovery, access: Access | None, namespace: str
) -> Finding:
    finding, policy = judged(each, namespace=namespace, discovery=discovery)
    if policy is None:
        return finding
    resources = expand(policy.subject, discovery).resources
    rights: list[Right] = needed(policy.subject, resources)
    cautions = list(finding.cautions)
    if access is not None:
        rights = await asked(rights, access)
        cautions += await account_cautions(client, policy, resources)
    return msgspec.structs.replace(finding, rights=tuple(rights), cautions=tuple(cautions))


def _shown(finding: Finding, now: float, screen: Screen) -> str:
    manifest = finding.manifest
    called = "/".join(part for part in (finding.namespace, finding.name) if part)
    verdict = (
        screen.paint("valid", "green")
        if finding.valid
        else screen.paint(f"invalid: {_WITHOUT.get(manifest.kind, 'it would not run')}", "red")
    )
    lines = [
        f"{manifest.kind} {printable(called)} ({manifest.file}, document {manifest.document}): {verdict}"
    ]
    lines += (f"  problem: {printable(str(problem))}" for problem in finding.problems)
    lines += (screen.paint(f"  caution: {printable(str(caution))}", "yellow") for caution in finding.cautions)
    lines += (f"  {printable(sentence)}" for sentence in finding.means)
    if finding.schedule is not None:
        schedule = finding.schedule
        lines.append(f"  runs {in_words(schedule)}")
        lines += (f"    {full_time(moment, schedule.zone)}" for moment in next_runs(schedule, now))
    lines += (f"  asks, when it runs: {printable(ask)}" for ask in finding.asks)
    if finding.rights is None:
        if finding.valid and not finding.kindless:
            lines.append("  which kinds there are was not looked up")
    elif not finding.rights:
        lines.append("  it means no kind that is there")
    else:
        marks = any(right.marks for right in finding.rights)
        titles = (*_TITLES, "PATCH") if marks else _TITLES
        table = render(titles, [_line(right) for right in finding.rights], screen=screen)
        lines += (f"  {line}" for line in table.splitlines())
    return "".join(f"{line}\n" for line in lines)


def _shown_beside(one: Companion, screen: Screen) -> str:
    manifest = one.manifest
    called = "/".join(part for part in (one.namespace, one.name) if part)
    verdict = screen.paint("valid", "green") if one.valid else screen.paint("invalid", "red")
    lines = [
        f"{manifest.kind} {printable(called)} ({manifest.file}, document {manifest.document}): {verdict}",
        *(f"  problem: {printable(str(problem))}" for problem in one.problems),
        *(screen.paint(f"  caution: {printable(str(caution))}", "yellow") for caution in one.cautions),
    ]
    return "".join(f"{line}\n" for line in lines)


def _line(right: Right) -> Line:
    where = right.namespace or ("all namespaces" if right.resource.namespaced else "the cluster")
    answers = [right.may_list, right.may_delete, *([right.may_patch] if right.marks else [])]
    cells = (right.resource.qualified, where, *(_WORDS[answer] for answer in answers))
    return Line(cells=cells, paint="red" if right.missing else "")


def _tell(found: Sources, findings: Sequence[Finding], connecting: Connecting) -> None:
    if found.remark:
        say(found.remark)
    rights = [right for finding in findings for right in finding.rights or ()]
    missing = sum(bool(right.missing) for right in rights)
    if missing:
        who = f"{connecting.as_user} may" if connecting.as_user else "you may"
        other = "" if connecting.as_user else "; the controller may have other rights: --as asks with those"
        verbs = "list, delete and patch" if any(right.marks for right in rights) else "list and delete"
        say(f"{who} not {verbs} {missing} of {len(rights)} kinds that are meant{other}")
    invalid = sum(not finding.valid for finding in findings)
    if invalid:
        say(f"{invalid} of {len(findings)} policies would not run")
