"""The commands about tenants, as they are declared: `tenant plan`, `delete`, `status`, `leaks`.

Annotations are values here, not text (no `__future__`): Typer would evaluate each of them twice, which `--help` shows.
"""

from typing import Annotated, Literal

import typer

from skoupa.cli.dispatch import dispatch
from skoupa.cli.options import As, Config, Connecting, Context, DryRun, Kubeconfig, Ledger, NoColor, Yes

tenant_app = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="What belongs to tenants, and goes with them."
)

Name = Annotated[str, typer.Argument(metavar="NAME", help="The name of the Tenant, which is its id.")]
Form = Annotated[
    Literal["table", "json", "yaml", "name"], typer.Option("-o", "--output", help="How to show it.")
]


@tenant_app.command()
def plan(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="The name of the Tenant, which is its id.")
    ] = None,
    *,
    selector: Annotated[
        str | None,
        typer.Option(
            "-l",
            "--selector",
            metavar="LABELSELECTOR",
            help="In place of a name: of a tenant to whom belongs what has these labels.",
        ),
    ] = None,
    output: Form = "table",
    no_color: NoColor = False,
    config: Config = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    as_user: As = None,
) -> None:
    """Shows what would go with a Tenant, with the proof that it belongs to it, and what stays although its name looks so.

    Also where there is no such Tenant (any more), and of a label that could be the rule of one. Deletes nothing. The exit code is 5 where
    the id is refused, 4 where a kind could not be read.

    Example: skoupa tenant plan 111111

    Example: skoupa tenant plan --selector team=blue
    """
    connecting = Connecting(kubeconfig, context, None, as_user)
    dispatch(
        "tenants.plan",
        connecting=connecting,
        name=name,
        selector=selector,
        form=output,
        no_color=no_color,
        config=config,
    )


@tenant_app.command()
def delete(
    name: Name,
    *,
    wait: Annotated[
        bool, typer.Option("--wait", help="Until it is gone, with what is left on the way.")
    ] = False,
    timeout: Annotated[
        str, typer.Option(metavar="DURATION", help="With --wait: for so long; then the exit code is 3.")
    ] = "10m",
    force_finalizers: Annotated[
        bool,
        typer.Option(
            "--force-finalizers",
            help="Of one that is being deleted already: take finalizers of others off what hangs on them, after showing each.",
        ),
    ] = False,
    stuck_for: Annotated[
        str,
        typer.Option(
            metavar="DURATION",
            help="With --force-finalizers: only of what is on its way out for so long.",
        ),
    ] = "10m",
    yes: Yes = False,
    dry_run: DryRun = False,
    config: Config = None,
    ledger: Ledger = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    as_user: As = None,
) -> None:
    """Deletes a Tenant after showing what goes with it, and confirms that where tenants.guard asks for it.

    A running controller does the rest. Where none looks after the Tenant it is refused (5): everything would be left behind.

    With --force-finalizers nothing is deleted: finalizers that nobody takes off any more are, one by one, each written to the ledger
    before. Whatever they kept elsewhere is left there. The exit code is 4 where one stays on, 5 where it is refused.

    Example: skoupa tenant delete 111111 --wait --timeout 30m

    Example: skoupa tenant delete 111111 --force-finalizers --stuck-for 1h
    """
    connecting = Connecting(kubeconfig, context, None, as_user)
    dispatch(
        "tenants.delete",
        connecting=connecting,
        name=name,
        wait=wait,
        timeout=timeout,
        force_finalizers=force_finalizers,
        stuck_for=stuck_for,
        yes=yes,
        dry_run=dry_run,
        config=config,
        ledger=ledger,
    )


@tenant_app.command()
def status(
    name: Name,
    *,
    output: Annotated[
        Literal["text", "json", "yaml"], typer.Option("-o", "--output", help="How to show it.")
    ] = "text",
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    as_user: As = None,
) -> None:
    """Shows how far the deletion of a Tenant is: what is left of each kind, what blocks, what stays.

    Example: skoupa tenant status 111111
    """
    connecting = Connecting(kubeconfig, context, None, as_user)
    dispatch("tenants.status", connecting=connecting, name=name, form=output)


@tenant_app.command()
def leaks(
    *,
    output: Form = "table",
    no_color: NoColor = False,
    config: Config = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    as_user: As = None,
) -> None:
    """Lists objects that look like those of a tenant that does not exist (any more). Deletes nothing.

    A tenant is taken to have been where a Namespace or a role is called as only KubeZoo calls them, a name begins with six digits, or a
    label that the settings name says so. The exit code is 4 where there are any.

    Example: skoupa tenant leaks
    """
    connecting = Connecting(kubeconfig, context, None, as_user)
    dispatch("tenants.leaks", connecting=connecting, form=output, no_color=no_color, config=config)
