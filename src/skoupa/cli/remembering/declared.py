"""The commands that look back, as they are declared: `history`, `restore`, `trash`.

Annotations are values here, not text (no `__future__`): Typer would evaluate each of them twice, which `--help` shows.
"""

from typing import Annotated, Literal

import typer

from skoupa.cli.dispatch import dispatch
from skoupa.cli.options import (
    AllNamespaces,
    As,
    Connecting,
    Context,
    DryRun,
    Kubeconfig,
    Namespace,
    NoColor,
    SweepOutput,
    TableForm,
    TimeZone,
    Yes,
)

LedgerPlace = Annotated[
    str | None,
    typer.Option(
        "--ledger",
        metavar="PATH|DSN",
        help="The ledger: a file, or postgresql://… [the running controller is asked].",
    ),
]
Cluster = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Whose rows, where the ledger has those of several clusters."),
]
KeyFile = Annotated[
    str | None, typer.Option(metavar="FILE", help="Keys of the trash, where it is encrypted; one a line.")
]
KeyEnv = Annotated[
    str | None, typer.Option(metavar="VARIABLE", help="Environment variable with the keys of the trash.")
]
Home = Annotated[
    str | None,
    typer.Option(
        "--skoupa-namespace", metavar="NAME", help="Where the controller that is asked lives [skoupa]."
    ),
]
TokenFile = Annotated[
    str | None,
    typer.Option(
        metavar="FILE", help="Token to show to the controller, for those whose kubeconfig has none."
    ),
]
Since = Annotated[
    str | None, typer.Option(metavar="TIME", help="From then on: 7d (ago), 'friday 17:00', 2026-09-30.")
]
Until = Annotated[str | None, typer.Option(metavar="TIME", help="Before then.")]
ByPolicy = Annotated[
    str | None,
    typer.Option(metavar="RULE", help="What this policy or label (KEY=VALUE, or KEY for all values) let go."),
]
InRun = Annotated[str | None, typer.Option("--run", metavar="ID", help="What went in this run of a policy.")]
Outcomes = Annotated[
    list[str] | None,
    typer.Option(
        "--outcome", metavar="WORD", help="What became of it: deleted, failed, braked, …; repeatable."
    ),
]


def history(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="KIND...|KIND/NAME...|show ID", help="Kinds, objects, or one decision in full."
        ),
    ] = None,
    *,
    namespace: Namespace = None,
    all_namespaces: AllNamespaces = False,
    since: Since = None,
    until: Until = None,
    by_policy: ByPolicy = None,
    in_run: InRun = None,
    outcome: Outcomes = None,
    limit: Annotated[int | None, typer.Option(min=0, help="The newest so many; 0: all [100].")] = None,
    tz: TimeZone = None,
    output: Annotated[
        TableForm,
        typer.Option("-o", "--output", help="How to show it; name: the ids, as restore takes them."),
    ] = "table",
    no_color: NoColor = False,
    ledger: LedgerPlace = None,
    cluster: Cluster = None,
    key_file: KeyFile = None,
    key_env: KeyEnv = None,
    home: Home = None,
    token_file: TokenFile = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Shows what Skoupa deleted or would have, when, why, and what became of it.

    The newest first. Looks into one namespace unless -A is given. Asks the running controller, which shows what you may
    read in the cluster; --ledger reads the ledger itself and asks nobody.

    Example: skoupa history deployments -A --since 7d
    """
    filters = _filters(
        words,
        since=since,
        until=until,
        by_policy=by_policy,
        run=in_run,
        outcomes=outcome,
        limit=limit,
        unless_given=100,
    )
    dispatch(
        "remembering.history",
        connecting=Connecting(kubeconfig, context, namespace, None),
        ledger=ledger_place(ledger, cluster, key_file, key_env) | asking(home, token_file),
        filters=filters,
        all_namespaces=all_namespaces,
        tz=tz,
        form=output,
        no_color=no_color,
    )


def restore(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="ID...|KIND...|KIND/NAME...",
            help="Decisions as history shows them, kinds or objects.",
        ),
    ] = None,
    *,
    namespace: Annotated[
        str | None,
        typer.Option("-n", "--namespace", help="With ids: where to restore to. Else: what was in it."),
    ] = None,
    all_namespaces: AllNamespaces = False,
    into: Annotated[
        str | None,
        typer.Option(metavar="NAMESPACE", help="Restore into this namespace instead, which has to be there."),
    ] = None,
    since: Since = None,
    until: Until = None,
    by_policy: ByPolicy = None,
    in_run: InRun = None,
    outcome: Outcomes = None,
    limit: Annotated[int | None, typer.Option(min=0, help="Only the newest so many; 0: all [0].")] = None,
    with_dependents: Annotated[
        bool, typer.Option("--with-dependents", help="Also what went along, as far as it is kept.")
    ] = False,
    keep_for: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Keep it so long (7d), with its labels as they were."),
    ] = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    tz: TimeZone = None,
    output: SweepOutput = "table",
    no_color: NoColor = False,
    ledger: LedgerPlace = None,
    cluster: Cluster = None,
    into_other_cluster: Annotated[
        bool,
        typer.Option(
            "--into-other-cluster",
            help="With --ledger: also where the objects were of another cluster than this one.",
        ),
    ] = False,
    key_file: KeyFile = None,
    key_env: KeyEnv = None,
    home: Home = None,
    token_file: TokenFile = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    as_user: As = None,
) -> None:
    """Brings deleted objects back from the trash.

    Done with your own rights. The server checks all of them first; nothing that is there is overwritten. The label by
    which an object went is taken off, or --keep-for holds it. What could not come back is listed, and the exit code is
    then 4; also where nothing is known of an object that is named.

    Example: skoupa restore deploy/web -n shop
    """
    filters = _filters(
        words,
        since=since,
        until=until,
        by_policy=by_policy,
        run=in_run,
        outcomes=outcome,
        limit=limit,
        unless_given=0,
    )
    wishes = {
        "with_dependents": with_dependents,
        "dry_run": dry_run,
        "into": into,
        "keep_for": keep_for,
        "into_other_cluster": into_other_cluster,
        "yes": yes,
    }
    dispatch(
        "restoring.restore",
        connecting=Connecting(kubeconfig, context, namespace, as_user),
        ledger=ledger_place(ledger, cluster, key_file, key_env) | asking(home, token_file),
        filters=filters,
        wishes=wishes,
        all_namespaces=all_namespaces,
        tz=tz,
        form=output,
        no_color=no_color,
    )


def trash(
    action: Annotated[
        Literal["purge"], typer.Argument(metavar="purge", help="Erase what is kept, for good.")
    ],
    ids: Annotated[list[str], typer.Argument(metavar="ID...", help="Decisions as history shows them.")],
    *,
    yes: Yes = False,
    ledger: LedgerPlace = None,
    cluster: Cluster = None,
    home: Home = None,
    token_file: TokenFile = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Erases what is kept of deleted objects.

    The rows of the history stay; restoring is not possible any more. The running controller lets those do it who may
    delete such objects in the cluster.

    Example: skoupa trash purge 1m7frqes02n2xkh
    """
    dispatch(
        "restoring.trash",
        connecting=Connecting(kubeconfig, context),
        action=action,
        ids=tuple(ids),
        ledger=ledger_place(ledger, cluster, None, None) | asking(home, token_file),
        yes=yes,
    )


def ledger_place(
    ledger: str | None, cluster: str | None, key_file: str | None, key_env: str | None
) -> dict[str, object]:
    return {"ledger": ledger, "cluster": cluster, "key_file": key_file, "key_env": key_env}


def asking(home: str | None, token_file: str | None) -> dict[str, object]:
    return {"home": home, "token_file": token_file}


def _filters(
    words: list[str] | None,
    *,
    since: str | None,
    until: str | None,
    by_policy: str | None,
    run: str | None,
    outcomes: list[str] | None,
    limit: int | None,
    unless_given: int,
) -> dict[str, object]:
    """`unless_given` is the limit where none is."""
    options = {
        "--since": since,
        "--until": until,
        "--by-policy": by_policy,
        "--run": run,
        "--outcome": outcomes or None,
        "--limit": limit,
    }
    return {
        "words": tuple(words or ()),
        "since": since,
        "until": until,
        "by_policy": by_policy,
        "run": run,
        "outcomes": tuple(outcomes) if outcomes else None,
        "limit": unless_given if limit is None else limit,
        "given": tuple(option for option, value in options.items() if value is not None),
    }
