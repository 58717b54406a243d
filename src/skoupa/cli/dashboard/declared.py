"""`dashboard`, as it is declared.

Annotations are values here, not text (no `__future__`): Typer would evaluate each of them twice, which `--help` shows.
"""

from typing import Annotated, Final, Literal

import typer

from skoupa.cli.dispatch import dispatch
from skoupa.cli.options import As, Config, Connecting, Context, Kubeconfig
from skoupa.cli.remembering.declared import Cluster, Home, LedgerPlace, TokenFile

# The marker \b keeps the lines below it as they are.
DASHBOARD_HELP: Final = """Shows in a browser what will go and why, what holds it, and what went.

Serves pages on this machine alone and prints their address, whose end is a secret: who does not have it sees nothing. Reads the
cluster with your own rights, again and again while a page is open, and changes nothing: pages show the command to type. All
namespaces are looked into unless -n is given. The history is the running controller's, or that of --ledger. Ctrl-C ends it.

\b
Examples:
  the cluster of the current context
    skoupa dashboard
  one namespace, on a port of its own
    skoupa dashboard -n shop --port 8642
  a snapshot instead of a cluster
    skoupa dashboard --from shop.yaml
"""


def dashboard(
    *,
    namespace: Annotated[
        str | None, typer.Option("-n", "--namespace", help="Only this namespace [all of them].")
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0: any that is free.")] = 0,
    address: Annotated[
        str, typer.Option(metavar="HOST", help="Address to listen on, for who knows what that opens.")
    ] = "127.0.0.1",
    sources: Annotated[
        list[str] | None,
        typer.Option("--from", metavar="FILE|DIR", help="Manifests or a snapshot instead of a cluster."),
    ] = None,
    now: Annotated[
        str | None, typer.Option(metavar="TIME", help="With --from: the time it is there.")
    ] = None,
    output: Annotated[
        Literal["text", "json"], typer.Option("-o", "--output", help="How to print the address.")
    ] = "text",
    config: Config = None,
    ledger: LedgerPlace = None,
    cluster: Cluster = None,
    home: Home = None,
    token_file: TokenFile = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    as_user: As = None,
) -> None:
    """Shows in a browser what will go and why, what holds it, and what went."""
    dispatch(
        "dashboard.command",
        connecting=Connecting(kubeconfig, context, namespace, as_user),
        listening={"host": address, "port": port, "form": output},
        sources=tuple(sources or ()),
        now=now,
        config=config,
        ledger={"ledger": ledger, "cluster": cluster, "home": home, "token_file": token_file},
    )
