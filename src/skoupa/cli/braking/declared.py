"""The commands that stop deletions and let them go on, as they are declared: `pause`, `brakes`, `brakes release`.

Annotations are values here, not text (no `__future__`): Typer would evaluate each of them twice, which `--help` shows.
"""

from typing import Annotated, Final, Literal

import typer

from skoupa.cli.dispatch import dispatch
from skoupa.cli.options import As, Connecting, Context, Kubeconfig, NoColor, TextOutput, TimeZone, Yes

brakes_app = typer.Typer(invoke_without_command=True, rich_markup_mode=None)

# The marker \b keeps the lines below it as they are.
PAUSE_HELP: Final = """Stops deletions at once, all of them or some.

Creates a Brake with your own rights; a running controller obeys it within a second, and so do plan and sweep. Several scopes
narrow it down: ns/shop kind/pods are the Pods in shop. Without any it is everything. Pausing the same again makes it
hold longer, never shorter: who wants less releases it first.

\b
Scopes:
  all                  everything
  ns/NAME              what is in this namespace, and the Namespace itself
  kind/KIND            of this kind, as for kubectl: pods, deployments.apps
  policy/NAME          by the policy of this name; also policy/NAMESPACE/NAME
  mechanism/ttl        by a ttl label
  mechanism/policies   by a cleanup or deleting policy
  mechanism/retention  by skoupa.dev/ttl-after or a retention policy
  mechanism/tenants    by the deletion of a Tenant

\b
Examples:
  everything, until somebody releases it
    skoupa pause --reason "the storage is down"
  one namespace, for two hours
    skoupa pause ns/shop --for 2h
  all Pods that go by a ttl label, until Monday
    skoupa pause kind/pods mechanism/ttl --until "monday 08:00"
"""


def pause(
    scope: Annotated[
        list[str] | None,
        typer.Argument(metavar="SCOPE...", help="What stands still [all]."),
    ] = None,
    *,
    reason: Annotated[str | None, typer.Option(help="Why, for who wonders that nothing goes.")] = None,
    until: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Until then: 17:00, 'monday 08:00', 2026-09-30 [for good]."),
    ] = None,
    duration: Annotated[
        str | None, typer.Option("--for", metavar="DURATION", help="For so long: 2h, 3d [for good].")
    ] = None,
    force: Annotated[
        bool,
        typer.Option(
            "--force", help="Also where there is no such kind or policy: one that comes later is held."
        ),
    ] = False,
    tz: TimeZone = None,
    output: TextOutput = "text",
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    as_user: As = None,
) -> None:
    """Stops deletions at once, all of them or some."""
    dispatch(
        "braking.pause",
        connecting=Connecting(kubeconfig, context, None, as_user),
        words=tuple(scope or ()),
        reason=reason,
        until=until,
        duration=duration,
        tz=tz,
        force=force,
        form=output,
    )


@brakes_app.callback()
def brakes(
    called: typer.Context,
    *,
    output: Annotated[
        Literal["table", "json", "yaml", "name"], typer.Option("-o", "--output", help="How to show it.")
    ] = "table",
    tz: TimeZone = None,
    no_color: NoColor = False,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    as_user: As = None,
) -> None:
    """Shows what stands still, why, since when, and how much is held.

    Example: skoupa brakes
    """
    if called.invoked_subcommand is None:
        connecting = Connecting(kubeconfig, context, None, as_user)
        dispatch("braking.brakes", connecting=connecting, form=output, tz=tz, no_color=no_color)


@brakes_app.command()
def release(
    names: Annotated[
        list[str], typer.Argument(metavar="NAME...", help="Brakes, as `skoupa brakes` names them.")
    ],
    *,
    yes: Yes = False,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    as_user: As = None,
) -> None:
    """Releases Brakes: what they held is judged anew, and as much of it may go at once.

    Deletes them with your own rights and leaves word of who you are. The controller counts what a Brake held before it goes.

    Example: skoupa brakes release ceiling-namespace-shop-per-minute
    """
    connecting = Connecting(kubeconfig, context, None, as_user)
    dispatch("braking.release", connecting=connecting, names=tuple(names), yes=yes)
