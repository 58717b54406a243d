"""`skoupa alive`, as it is declared.

Annotations are values here, not text (no `__future__`): Typer would evaluate each of them twice, which `--help` shows.
"""

from typing import Annotated, Final, Literal

import typer

from skoupa.cli.dispatch import dispatch
from skoupa.cli.options import As, Connecting, Context, Kubeconfig, TextOutput, Yes

alive_app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Tells everybody in the cluster that it is about to die, and waits until they have cleaned up.",
)

_Report = Annotated[
    str | None,
    typer.Option("--report", metavar="FILE", help="Write the report there too, as JSON, however it ends."),
]
_Timeout = Annotated[
    str | None,
    typer.Option(metavar="DURATION", help="How long participants have: 30m, 1h30m [as Alive says]."),
]
_OnTimeout = Annotated[
    Literal["Fail", "Proceed", "ForceFinalizers"] | None,
    typer.Option(
        help="What a time-out means: stop (3), go on with leftovers (4), have Skoupa force [as Alive says]."
    ),
]
_OnUnreachable = Annotated[
    Literal["Fail", "Proceed"] | None,
    typer.Option(
        help="What a server means that does not answer any more: stop (6), or go on (4) [as Alive says]."
    ),
]
_UnreachableAfter = Annotated[
    str, typer.Option(metavar="DURATION", help="How long it may be silent before that counts.")
]
_Place = Annotated[
    str | None,
    typer.Option(
        "-n",
        "--namespace",
        help="The Alive in this namespace instead of that of the whole cluster, where its kind was installed.",
    ),
]
# The marker \b keeps the lines below it as they are.
DELETE_HELP: Final = """Asks for the deletion of the cluster: everybody who takes part cleans up what they own elsewhere.

Confirms with the uid of the Alive that it read, and deletes that very one; both need the verb signal on alives.skoupa.dev. Deletes
nothing else. With --wait it ends when everybody is done: 0 done, 3 timed out, 4 finished with leftovers, 5 refused by the guard, 6
unreachable or denied. Where the deletion has begun already it only waits; where there is no Alive it says so and ends with 0.

\b
Example:
  skoupa alive delete --yes --wait --timeout 30m --report alive.json
"""


def _deleting(
    connecting: Connecting,
    *,
    yes: bool,
    form: Literal["text", "json", "yaml"],
    file: str | None,
    **wish: object,
) -> None:
    dispatch("alive.deleting", connecting=connecting, yes=yes, form=form, file=file, **wish)


@alive_app.command()
def status(
    *,
    namespace: _Place = None,
    output: TextOutput = "text",
    report: _Report = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    as_user: As = None,
) -> None:
    """Shows whether the cluster is about to die, how far everybody is, and what will be preserved.

    Example: skoupa alive status
    """
    connecting = Connecting(kubeconfig, context, None, as_user)
    dispatch("alive.looking", connecting=connecting, form=output, file=report, namespace=namespace)


@alive_app.command()
def confirm(
    *,
    yes: Yes = False,
    namespace: _Place = None,
    output: TextOutput = "text",
    report: _Report = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    as_user: As = None,
) -> None:
    """Confirms that the Alive that is there now may be deleted, and tells nobody yet.

    Example: skoupa alive confirm
    """
    connecting = Connecting(kubeconfig, context, None, as_user)
    _deleting(connecting, yes=yes, form=output, file=report, namespace=namespace)


@alive_app.command(help=DELETE_HELP)
def delete(
    *,
    yes: Yes = False,
    wait: Annotated[
        bool, typer.Option("--wait", help="End when everybody is done, or time is over.")
    ] = False,
    timeout: _Timeout = None,
    on_timeout: _OnTimeout = None,
    on_unreachable: _OnUnreachable = None,
    unreachable_after: _UnreachableAfter = "1m",
    namespace: _Place = None,
    output: TextOutput = "text",
    report: _Report = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    as_user: As = None,
) -> None:
    connecting = Connecting(kubeconfig, context, None, as_user)
    _deleting(
        connecting,
        yes=yes,
        form=output,
        file=report,
        delete=True,
        wait=wait,
        timeout=timeout,
        on_timeout=on_timeout,
        on_unreachable=on_unreachable,
        unreachable_after=unreachable_after,
        namespace=namespace,
    )


@alive_app.command()
def wait(
    *,
    timeout: _Timeout = None,
    on_timeout: _OnTimeout = None,
    on_unreachable: _OnUnreachable = None,
    unreachable_after: _UnreachableAfter = "1m",
    namespace: _Place = None,
    output: TextOutput = "text",
    report: _Report = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    as_user: As = None,
) -> None:
    """Waits for the end of a deletion that was asked for, by whomever; --timeout is then a limit of your own.

    Example: skoupa alive wait --timeout 30m
    """
    connecting = Connecting(kubeconfig, context, None, as_user)
    _deleting(
        connecting,
        yes=True,
        form=output,
        file=report,
        confirm=False,
        wait=True,
        timeout=timeout,
        on_timeout=on_timeout,
        on_unreachable=on_unreachable,
        unreachable_after=unreachable_after,
        namespace=namespace,
    )
