"""The command `migrate`, as it is declared.

Annotations are values here, not text (no `__future__`): Typer would evaluate each of them twice, which `--help` shows.
"""

from typing import Annotated, Final

import typer

from skoupa.cli.dispatch import dispatch
from skoupa.cli.options import As, Config, Connecting, Context, Kubeconfig, NoColor, TextOutput, TimeZone

# The marker \b keeps the lines below it as they are.
MIGRATE_HELP: Final = """Shows what differs between Kyverno's cleanup controller and Skoupa here, and how to switch over and back.

Every object with a TTL label and every policy is read as Kyverno reads it and as Skoupa does: when each would let it go, what differs and
why. The steps are commands in an order in which never both delete. Nothing is changed, and nobody outside of the cluster is called.
The exit code is 4 when something could not be read, which is told, and with --detailed-exitcode 10 when something differs.

\b
Examples:
  what differs in this cluster, and the steps
    skoupa migrate
  with the rights and the settings of the controller
    skoupa migrate --as system:serviceaccount:skoupa:skoupa --config skoupa.yaml
  from a snapshot, far from the cluster
    skoupa snapshot -A -o shop.yaml && skoupa migrate --from shop.yaml
  for a script
    skoupa migrate -o json --detailed-exitcode
"""


def migrate(
    *,
    sources: Annotated[
        list[str] | None,
        typer.Option("--from", metavar="FILE|DIR", help="A snapshot or manifests instead of a cluster."),
    ] = None,
    now: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="With --from: the time it is [when the snapshot was made, as its Leases tell].",
        ),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Show also what both read alike; JSON and YAML always do.")
    ] = False,
    no_matches: Annotated[
        bool,
        typer.Option(
            "--no-matches", help="Do not read what policies match: quicker, and no Brakes are foreseen."
        ),
    ] = False,
    detailed_exitcode: Annotated[
        bool, typer.Option("--detailed-exitcode", help="Exit with 10 when something differs.")
    ] = False,
    namespace: Annotated[
        str | None, typer.Option("-n", "--namespace", help="Only this namespace [the whole cluster].")
    ] = None,
    output: TextOutput = "text",
    no_color: NoColor = False,
    tz: TimeZone = None,
    config: Config = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    as_user: As = None,
) -> None:
    """Shows what differs between Kyverno's cleanup controller and Skoupa here, and how to switch over and back."""
    dispatch(
        "migrating.migrate",
        connecting=Connecting(kubeconfig, context, namespace, as_user),
        sources=tuple(sources or ()),
        now=now,
        everything=everything,
        matches=not no_matches,
        tz=tz,
        config=config,
        form=output,
        no_color=no_color,
        detailed_exitcode=detailed_exitcode,
    )
