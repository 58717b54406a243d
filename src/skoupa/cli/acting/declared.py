"""The commands that change something, as they are declared: `keep`, `extend`, `refresh`, `sweep`.

Annotations are values here, not text (no `__future__`): Typer would evaluate each of them twice, which `--help` shows.
"""

from typing import Annotated

import typer

from skoupa.cli.dispatch import dispatch
from skoupa.cli.options import (
    AllNamespaces,
    As,
    Config,
    Connecting,
    Context,
    DryRun,
    Kinds,
    Kubeconfig,
    Ledger,
    Namespace,
    NoColor,
    Objects,
    SweepOutput,
    TextForm,
    TextOutput,
    TimeZone,
    Yes,
    each_kind,
)


def keep(
    targets: Objects,
    *,
    until: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help="Only until then: 2026-09-30 (its midnight, UTC), 7d, 'friday 17:00'."
        ),
    ] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Keep it no longer.")] = False,
    namespace: Namespace = None,
    dry_run: DryRun = False,
    tz: TimeZone = None,
    output: TextOutput = "text",
    config: Config = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    as_user: As = None,
) -> None:
    """Keeps objects, for good or until a time.

    Writes the label skoupa.dev/keep. What would take a kept object along, such as its Namespace, stays too.

    Example: skoupa keep deployment/web pvc/data -n shop --until 2026-09-30
    """
    common = _common(targets, dry_run=dry_run, tz=tz, form=output, config=config)
    connecting = Connecting(kubeconfig, context, namespace, as_user)
    dispatch("acting.keep", connecting=connecting, common=common, until=until, remove=remove)


def extend(
    targets: Objects,
    *,
    by: Annotated[str, typer.Option(metavar="DURATION", help="How much longer: 7d, 12h.")],
    namespace: Namespace = None,
    dry_run: DryRun = False,
    tz: TimeZone = None,
    output: TextOutput = "text",
    config: Config = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    as_user: As = None,
) -> None:
    """Lets objects stay longer than they would.

    Counted from the moment at which they would go, or from now where that is past. Writes skoupa.dev/keep with the new
    time; the ttl stays as it was written. Never shortens.

    Example: skoupa extend deployment/web -n shop --by 7d
    """
    common = _common(targets, dry_run=dry_run, tz=tz, form=output, config=config)
    connecting = Connecting(kubeconfig, context, namespace, as_user)
    dispatch("acting.extend", connecting=connecting, common=common, by=by)


def refresh(
    targets: Objects,
    *,
    namespace: Namespace = None,
    dry_run: DryRun = False,
    tz: TimeZone = None,
    output: TextOutput = "text",
    config: Config = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    as_user: As = None,
) -> None:
    """Lets the ttl of objects count anew from now.

    Writes the annotation skoupa.dev/refreshed-at.

    Example: skoupa refresh deployment/preview-42 -n shop
    """
    common = _common(targets, dry_run=dry_run, tz=tz, form=output, config=config)
    connecting = Connecting(kubeconfig, context, namespace, as_user)
    dispatch("acting.refresh", connecting=connecting, common=common)


def sweep(
    kinds: Kinds = None,
    *,
    namespace: Namespace = None,
    all_namespaces: AllNamespaces = False,
    yes: Yes = False,
    dry_run: DryRun = False,
    tz: TimeZone = None,
    output: SweepOutput = "table",
    no_color: NoColor = False,
    config: Config = None,
    ledger: Ledger = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    as_user: As = None,
) -> None:
    """Shows what is due now, asks, and deletes it.

    Done once, with your own rights. The same guards as the controller's: what is kept, protected or would take something kept along stays, and over a
    ceiling (brakes in the settings) nothing goes. The settings are those of the installation in the cluster unless --config names others. Besides rights on the
    objects it needs the right to read these and to list and watch Brakes: the ClusterRole skoupa-sweep. What could not be deleted is listed, and the exit code is then 4. Ctrl-C finishes what is under way
    and starts nothing new.

    Example: skoupa sweep pods jobs -n ci --yes
    """
    connecting = Connecting(kubeconfig, context, namespace, as_user)
    dispatch(
        "acting.sweep",
        connecting=connecting,
        kinds=each_kind(kinds),
        all_namespaces=all_namespaces,
        yes=yes,
        dry_run=dry_run,
        tz=tz,
        form=output,
        no_color=no_color,
        config=config,
        ledger=ledger,
    )


def _common(
    targets: list[str], *, dry_run: bool, tz: str | None, form: TextForm, config: str | None
) -> dict[str, object]:
    return {"targets": tuple(targets), "dry_run": dry_run, "tz": tz, "form": form, "config": config}
