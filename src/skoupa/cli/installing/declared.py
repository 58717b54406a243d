"""The commands `install` and `uninstall`, as they are declared.

Annotations are values here, not text (no `__future__`): Typer would evaluate each of them twice, which `--help` shows.
"""

from typing import Annotated, Literal

import typer

from skoupa.cli.dispatch import dispatch
from skoupa.cli.options import Connecting, Context, Kubeconfig

_Home = Annotated[
    str | None,
    typer.Option("-n", "--namespace", help="Where Skoupa itself lives [skoupa, or what the settings say]."),
]


def install(
    *,
    namespace: _Home = None,
    image: Annotated[
        str | None, typer.Option(help="Image of the controller [skoupa: and the version of this program].")
    ] = None,
    replicas: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="One acts, the others stand by [2; 1 while it observes, or where the ledger is a SQLite file on a volume].",
        ),
    ] = None,
    mode: Annotated[
        Literal["observe", "enforce"] | None,
        typer.Option(
            help="Judge and report only, or delete what is due [observe, or what the settings say]."
        ),
    ] = None,
    config: Annotated[
        str | None, typer.Option(metavar="FILE", help="Settings, as YAML; they go into a ConfigMap.")
    ] = None,
    namespaces: Annotated[
        str,
        typer.Option(
            metavar="A,B", help="Look only into these, with Roles instead of ClusterRoles [everywhere]."
        ),
    ] = "",
    kinds: Annotated[
        str,
        typer.Option(
            metavar="KIND,KIND",
            help="Kinds that may be deleted; `default` stands for the shipped list, `*` for all [default].",
        ),
    ] = "",
    policy_kinds: Annotated[
        bool,
        typer.Option(
            "--policy-kinds",
            help="Print the kinds of policies too; --apply brings those that nobody has brought by itself.",
        ),
    ] = False,
    output: Annotated[Literal["yaml", "json"], typer.Option("-o", "--output", help="How to print.")] = "yaml",
    apply: Annotated[
        bool, typer.Option("--apply", help="Apply it with your rights instead of printing it.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="With --apply: let the server check it and keep nothing.")
    ] = False,
    force_conflicts: Annotated[
        bool, typer.Option("--force-conflicts", help="With --apply: take over what others manage.")
    ] = False,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Prints the manifests that put the controller into a cluster, or applies them.

    Observes unless told to enforce. What is due but may not be deleted is held, and shown.

    Example: skoupa install --kinds default,namespaces | kubectl apply -f -
    """
    connecting = Connecting(kubeconfig=kubeconfig, context=context, namespace=namespace)
    dispatch(
        "installing.install",
        connecting=connecting,
        image=image,
        replicas=replicas,
        mode=mode,
        config=config,
        namespaces=namespaces,
        kinds=kinds,
        policy_kinds=policy_kinds,
        output=output,
        applying=apply,
        dry_run=dry_run,
        force=force_conflicts,
    )


def uninstall(
    *,
    check: Annotated[
        bool, typer.Option("--check", help="List what is there of Skoupa, and how to remove it.")
    ] = False,
    namespace: _Home = None,
    namespaces: Annotated[
        str, typer.Option(metavar="A,B", help="Look only into these, with rights in just these [everywhere].")
    ] = "",
    output: Annotated[
        Literal["table", "json"], typer.Option("-o", "--output", help="How to show it.")
    ] = "table",
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Shows what of Skoupa is in a cluster, what deleting each piece means, and the kubectl lines for it.

    Deletes nothing. The exit code is 4 while anything is left, or could not be looked for, and 0 when it is clean.

    Example: skoupa uninstall --check
    """
    connecting = Connecting(kubeconfig=kubeconfig, context=context, namespace=namespace)
    dispatch("installing.uninstall", connecting=connecting, check=check, namespaces=namespaces, output=output)
