"""The commands of `skoupa`, each in a module of its own that is imported when it runs."""

from typing import Annotated, Literal

import typer

from skoupa.cli.acting.declared import extend, keep, refresh, sweep
from skoupa.cli.alive.declared import alive_app
from skoupa.cli.braking.declared import PAUSE_HELP, brakes_app, pause
from skoupa.cli.checking.declared import CHECK_HELP, check, convert, try_out
from skoupa.cli.dashboard.declared import DASHBOARD_HELP, dashboard
from skoupa.cli.dispatch import dispatch
from skoupa.cli.installing.declared import install, uninstall
from skoupa.cli.looking.declared import PLAN_HELP, completion, explain, plan
from skoupa.cli.looking.unused_declared import UNUSED_HELP, unused
from skoupa.cli.migrating.declared import MIGRATE_HELP, migrate
from skoupa.cli.options import AllNamespaces, Connecting, Context, Kubeconfig, Ledger, Namespace, each_kind
from skoupa.cli.remembering.declared import history, restore, trash
from skoupa.cli.tenants.declared import tenant_app

app = typer.Typer(
    name="skoupa",
    help="One garbage collector for everything that a Kubernetes cluster leaves behind.",
    epilog="Exit codes: 0 done, 1 unexpected, 2 usage, 3 timed out, 4 leftovers, 5 refused by a guard, "
    "6 unreachable or denied, 7 interrupted, 10 there is work or a difference (with --detailed-exitcode).",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _version(wanted: bool) -> None:  # noqa: FBT001 - Typer hands it over so
    if wanted:
        dispatch("running.version", connecting=Connecting(), client_only=True, output="text")
        raise typer.Exit


@app.callback()
def skoupa(
    *,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="The version of this program."),
    ] = False,
) -> None:
    pass


app.command(help=PLAN_HELP)(plan)
app.command()(explain)
app.command("why", hidden=True)(explain)
app.command(help=UNUSED_HELP)(unused)
app.command()(keep)
app.command()(extend)
app.command()(refresh)
app.command()(sweep)
app.command()(history)
app.command()(restore)
app.command()(trash)
app.command(help=PAUSE_HELP)(pause)
app.add_typer(brakes_app, name="brakes")
app.add_typer(alive_app, name="alive")
app.add_typer(tenant_app, name="tenant")
app.command(help=DASHBOARD_HELP)(dashboard)
app.command(help=CHECK_HELP)(check)
app.command()(convert)
app.command("test")(try_out)
app.command(help=MIGRATE_HELP)(migrate)
app.command()(completion)
app.command()(install)
app.command()(uninstall)


@app.command()
def version(
    *,
    client: Annotated[bool, typer.Option("--client", help="Only this program, no server.")] = False,
    output: Annotated[Literal["text", "json"], typer.Option("-o", "--output")] = "text",
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Shows the versions of Skoupa and of the API server.

    Example: skoupa version --context staging
    """
    connecting = Connecting(kubeconfig=kubeconfig, context=context)
    dispatch("running.version", connecting=connecting, client_only=client, output=output)


@app.command()
def snapshot(
    kinds: Annotated[
        list[str] | None,
        typer.Argument(help="Kinds to read (pods, deploy, certificates.cert-manager.io); none: all."),
    ] = None,
    *,
    namespace: Namespace = None,
    all_namespaces: AllNamespaces = False,
    output: Annotated[
        str, typer.Option("-o", "--output", metavar="FILE", help="Where to write; - is standard output.")
    ] = "-",
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Writes the objects of a cluster as one YAML List, without the values of Secrets.

    Everything else is in it, also ConfigMaps and the environment of containers as Pods have it written: a FILE is made
    readable for you alone. What may not be read is named on standard error, and the exit code is then 4.

    Example: skoupa snapshot -A -o shop.yaml && skoupa demo --from shop.yaml
    """
    connecting = Connecting(kubeconfig=kubeconfig, context=context, namespace=namespace)
    dispatch(
        "looking.snapshot",
        connecting=connecting,
        kinds=each_kind(kinds),
        all_namespaces=all_namespaces,
        output=output,
    )


@app.command()
def run(
    *,
    enforce: Annotated[
        bool,
        typer.Option("--enforce", help="Delete what is due; without it Skoupa only observes and reports."),
    ] = False,
    ledger: Ledger = None,
    accept_backlog: Annotated[
        bool,
        typer.Option(
            "--accept-backlog",
            help="With --enforce: let go what was overdue before Skoupa first looked, and other backlogs that are held. Counts "
            "once: an enforcing start without it makes it count anew.",
        ),
    ] = False,
    config: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Settings, as YAML [those of the installation in the cluster]."),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="KEY=VALUE", help="One setting, such as ttl.noticeBefore=1h; repeatable."
        ),
    ] = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Runs the controller: watches the cluster and lets go what is due.

    Observes unless told to enforce. Runs in a cluster, or outside of one with a kubeconfig.

    Example: skoupa run --enforce --set rate.deletionsPerSecond=20
    """
    connecting = Connecting(kubeconfig=kubeconfig, context=context)
    dispatch(
        "running.run",
        connecting=connecting,
        config=config,
        enforce=enforce,
        accept_backlog=accept_backlog,
        ledger=ledger,
        assignments=tuple(settings or ()),
    )


@app.command()
def demo(
    *,
    source: Annotated[
        str | None,
        typer.Option(
            "--from", metavar="FILE|DIR", help="Manifests or a snapshot instead of the built-in mess."
        ),
    ] = None,
    hours: Annotated[
        float | None,
        typer.Option(min=0.1, help="Stop after so many hours of the cluster's time [24 without a terminal]."),
    ] = None,
    speed: Annotated[
        float, typer.Option(min=1, help="Seconds of the cluster's time in one second of yours.")
    ] = 600,
    seed: Annotated[int, typer.Option(help="Another seed, another mess.")] = 0,
) -> None:
    """Runs a messy little cluster in memory, with time moving fast, and shows what changes in it.

    Needs no cluster. Goes on until Ctrl-C on a terminal; elsewhere it ends with a summary.

    Example: skoupa demo --speed 3600
    """
    dispatch("demo", source=source, hours=hours, speed=speed, seed=seed)
