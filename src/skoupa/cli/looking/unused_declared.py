"""`skoupa unused`, as it is declared. Annotations are values here, as in `declared`."""

from typing import Annotated, Final, Literal

import typer

from skoupa.cli.dispatch import dispatch
from skoupa.cli.options import (
    AllNamespaces,
    As,
    Config,
    Connecting,
    Context,
    Kubeconfig,
    Namespace,
    NoColor,
    TableForm,
    each_kind,
)

# The marker \b keeps the lines below it as they are.
UNUSED_HELP: Final = """Shows what nothing needs: a report, nothing is changed.

ConfigMaps, Secrets, claims, ServiceAccounts, roles and others that nothing uses; bindings, budgets, autoscalers and Ingresses
that are about nothing; Services with nothing behind them; volumes without a claim; stale Leases, empty Namespaces, definitions
without objects. Pods that no Service selects only where pods are named. No label is needed. Old ReplicaSets, suspended
CronJobs and workloads with no replicas use what their templates name.

An object that something may need which could not be read is not called unused: it is counted as not judged, what was not read
is named on standard error, and the exit code is then 4. CONFIDENCE is proved, or walked where custom kinds exist that no table
describes and that were searched for whatever looks like a reference. Of Secrets only the records of Helm releases are decoded, for names.

\b
Examples:
  everything that nothing needs in all namespaces
    skoupa unused -A
  ConfigMaps and Secrets of one namespace that are older than a month
    skoupa unused configmaps,secrets -n shop --older-than 30d
  volumes and claims, with their sizes
    skoupa unused pv,pvc -A -o wide
  in CI: refuse manifests that leave something unused
    skoupa unused --from manifests/ --fail-over 0
"""


def unused(
    kinds: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="KIND...", help="Kinds (configmaps, secrets, pvc); none: all that others use."
        ),
    ] = None,
    *,
    namespace: Namespace = None,
    all_namespaces: AllNamespaces = False,
    selector: Annotated[
        str | None,
        typer.Option(
            "-l", "--selector", metavar="LABELS", help="Only objects with such labels: app=web,!tier."
        ),
    ] = None,
    older_than: Annotated[
        str | None, typer.Option(metavar="DURATION", help="Only objects made longer ago than that: 30d.")
    ] = None,
    group_by: Annotated[
        Literal["namespace", "kind"] | None, typer.Option(help="A table for each of them.")
    ] = None,
    keys: Annotated[
        bool,
        typer.Option(
            "--keys",
            help="Also keys that nothing reads of ConfigMaps and Secrets that are used; Secrets are then listed whole.",
        ),
    ] = False,
    sources: Annotated[
        list[str] | None,
        typer.Option(
            "--from",
            metavar="FILE|DIR",
            help="Manifests or a snapshot instead of a cluster; - is standard input.",
        ),
    ] = None,
    now: Annotated[
        str | None, typer.Option(metavar="TIME", help="With --from: the time it is there.")
    ] = None,
    fail_over: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="Exit with 5 when there are more than so many.")
    ] = None,
    detailed_exitcode: Annotated[
        bool, typer.Option("--detailed-exitcode", help="Exit with 10 when there is something.")
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
    """Shows what nothing needs, why, and how certain that is."""
    question = {
        "kinds": each_kind(kinds),
        "all_namespaces": all_namespaces,
        "selector": selector,
        "older_than": older_than,
        "group_by": group_by,
        "keys": keys,
        "sources": tuple(sources or ()),
        "now": now,
        "fail_over": fail_over,
        "detailed_exitcode": detailed_exitcode,
    }
    dispatch(
        "looking.unused",
        connecting=Connecting(kubeconfig, context, namespace, as_user),
        question=question,
        config=config,
        form=output,
        no_color=no_color,
    )
