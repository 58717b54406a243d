"""The commands that change nothing, as they are declared: `plan`, `explain` (also `why`), `completion`.

Annotations are values here, not text (no `__future__`): Typer would evaluate each of them twice, which `--help` shows.
"""

from typing import Annotated, Final, Literal

import typer

from skoupa.cli.dispatch import dispatch
from skoupa.cli.options import (
    AllNamespaces,
    As,
    Config,
    Connecting,
    Context,
    Kinds,
    Kubeconfig,
    Namespace,
    NoColor,
    Objects,
    TableForm,
    TextOutput,
    TimeZone,
    each_kind,
)
from skoupa.cli.remembering.declared import (
    Cluster,
    Home,
    KeyEnv,
    KeyFile,
    LedgerPlace,
    TokenFile,
    asking,
    ledger_place,
)

# The marker \b keeps the lines below it as they are.
PLAN_HELP: Final = """Shows what will go, when and why.

Also what goes along with it, and what holds it. Looks into one namespace unless -A is given. What is overdue belongs to --within and --by. What may not be read is named
on standard error, and the exit code is then 4.

Policies of the cluster that run within the window are asked what they match now. With -f it is policies of files instead,
as if they ran now, in all places that they mean; -n is where those would be applied that name no namespace. One that would
not run makes the exit code 2. Nothing is changed, and nothing outside of the cluster is asked without --allow-calls.

Retention policies are told with what they are about: what is due, what goes in time and what holds the others. With -f as if they
were applied now.

\b
Examples:
  everything that goes in the next 6 hours
    skoupa plan -A --within 6h
  all Deployments that go by 5pm today
    skoupa plan deployments -A --by 17:00
  what goes in the namespace foo until Friday 5pm
    skoupa plan -n foo --by "friday 17:00"
  everything that was made with a ttl of over 7 days
    skoupa plan -A --ttl '>7d'
  everything that goes in May of this year
    skoupa plan -A --during may
  in CI: refuse manifests of which more than 50 would go within a month
    skoupa plan --from manifests/ --within 30d --fail-over 50
  what a policy would delete if it ran now, before it is applied
    skoupa plan -f policy.yaml
  what a retention policy would take if it were applied now
    skoupa plan -f retention.yaml
  in CI: refuse policies that would delete more than 50 objects of a snapshot
    skoupa plan -f policies/ --from snapshot.yaml --fail-over 50
"""


def plan(
    kinds: Kinds = None,
    *,
    namespace: Namespace = None,
    all_namespaces: AllNamespaces = False,
    within: Annotated[
        str | None, typer.Option(metavar="DURATION", help="Due from now on for so long: 6h, 7d.")
    ] = None,
    by: Annotated[
        str | None, typer.Option(metavar="TIME", help="Due by then: 17:00, 'friday 17:00', 2026-09-30.")
    ] = None,
    between: Annotated[
        str | None, typer.Option(metavar="A..B", help="Due between two times: 'now..friday 17:00'.")
    ] = None,
    during: Annotated[
        str | None, typer.Option(metavar="PERIOD", help="Due during may, 2026-05, 'next week', today.")
    ] = None,
    ttl: Annotated[
        str | None,
        typer.Option(metavar="COMPARISON", help="Made with such a ttl: '>7d', '<=1h', '1h..7d'."),
    ] = None,
    tz: TimeZone = None,
    sources: Annotated[
        list[str] | None,
        typer.Option(
            "--from",
            metavar="FILE|DIR",
            help="Manifests or a snapshot instead of a cluster; - is standard input.",
        ),
    ] = None,
    files: Annotated[
        list[str] | None,
        typer.Option(
            "-f",
            "--filename",
            metavar="FILE|DIR|-",
            help="Policies, as YAML or JSON: what they would delete if they ran now; repeatable.",
        ),
    ] = None,
    allow_calls: Annotated[
        bool,
        typer.Option("--allow-calls", help="Let policies call services outside, as far as the settings do."),
    ] = False,
    now: Annotated[
        str | None, typer.Option(metavar="TIME", help="With --from: the time it is there.")
    ] = None,
    fail_over: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="Exit with 5 when more than so many would go.")
    ] = None,
    detailed_exitcode: Annotated[
        bool, typer.Option("--detailed-exitcode", help="Exit with 10 when something would go.")
    ] = False,
    output: Annotated[
        TableForm,
        typer.Option(
            "-o",
            "--output",
            help="How to show it; name: KIND/NAME, with -A KIND/NAMESPACE/NAME, as explain and keep take it.",
        ),
    ] = "table",
    no_color: NoColor = False,
    config: Config = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    as_user: As = None,
) -> None:
    """Shows what will go, when, why, what it takes along and what holds it."""
    question = {
        "kinds": each_kind(kinds),
        "all_namespaces": all_namespaces,
        "within": within,
        "by": by,
        "between": between,
        "during": during,
        "ttl": ttl,
        "tz": tz,
        "sources": tuple(sources or ()),
        "files": tuple(files or ()),
        "allow_calls": allow_calls,
        "now": now,
        "fail_over": fail_over,
        "detailed_exitcode": detailed_exitcode,
    }
    connecting = Connecting(kubeconfig, context, namespace, as_user)
    dispatch(
        "looking.plan",
        connecting=connecting,
        question=question,
        config=config,
        form=output,
        no_color=no_color,
    )


def explain(
    targets: Objects,
    *,
    namespace: Namespace = None,
    users: Annotated[
        bool,
        typer.Option("--users", help="Also who uses, owns or tracks it: reads every kind that could."),
    ] = False,
    tz: TimeZone = None,
    output: TextOutput = "text",
    config: Config = None,
    ledger: LedgerPlace = None,
    cluster: Cluster = None,
    key_file: KeyFile = None,
    key_env: KeyEnv = None,
    home: Home = None,
    token_file: TokenFile = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    as_user: As = None,
) -> None:
    """Says when an object goes, why, and what holds it.

    Names what could take it along too: its owners, its Namespace. Also for objects without any label: then it says that nothing wants them to go. Takes several, also as plan -o name prints them. Of one that is gone it tells from the history whether Skoupa deleted it.

    Policies of the cluster are asked about the object: which of them take it and when, and why others do not. No service outside is called for that. Where retention is about it, by label or policy, also who needs it, and who needs those.

    Example: skoupa explain pod/web -n shop
    """
    connecting = Connecting(kubeconfig, context, namespace, as_user)
    dispatch(
        "looking.explain",
        connecting=connecting,
        targets=tuple(targets),
        users=users,
        tz=tz,
        form=output,
        config=config,
        ledger=ledger_place(ledger, cluster, key_file, key_env) | asking(home, token_file),
    )


def completion(
    shell: Annotated[
        Literal["bash", "zsh", "fish"], typer.Argument(help="Your shell.", metavar="bash|zsh|fish")
    ],
) -> None:
    """Prints the script that completes commands and options.

    Example: skoupa completion bash > /etc/bash_completion.d/skoupa
    """
    dispatch("running.completion", shell=shell)
