"""The commands about policies that are not applied yet, as they are declared: `check`, `convert`, `test`.

Annotations are values here, not text (no `__future__`): Typer would evaluate each of them twice, which `--help` shows.
"""

from typing import Annotated, Final

import typer

from skoupa.cli.dispatch import dispatch
from skoupa.cli.options import As, Config, Connecting, Context, Kubeconfig, Namespace, NoColor, TextOutput

_Files = Annotated[
    list[str],
    typer.Option("-f", "--filename", metavar="FILE|DIR|-", help="Policies, as YAML or JSON; repeatable."),
]

# The marker \b keeps the lines below it as they are.
CHECK_HELP: Final = """Says what is wrong with policies, when they run, and which permissions are missing.

Reads CleanupPolicy, ClusterCleanupPolicy, DeletingPolicy, NamespacedDeletingPolicy, RetentionPolicy,
ClusterRetentionPolicy and KindProfile. Nothing is applied, and nothing outside of the cluster is asked. The exit code is 2 when a policy would not run; cautions and missing permissions do not
change it.

\b
Examples:
  against the cluster of the kubeconfig
    skoupa check -f policies/
  with the rights of the controller
    skoupa check -f policy.yaml --as system:serviceaccount:skoupa:skoupa
  in CI, with the definitions that lie beside it
    skoupa check -f policies/ --from manifests/
  without any cluster
    skoupa check -f policy.yaml --offline
"""


def check(
    files: _Files,
    *,
    sources: Annotated[
        list[str] | None,
        typer.Option(
            "--from",
            metavar="FILE|DIR",
            help="Manifests or a snapshot instead of a cluster, for the kinds that there are.",
        ),
    ] = None,
    offline: Annotated[
        bool, typer.Option("--offline", help="Without a cluster: kinds and permissions are not looked up.")
    ] = False,
    namespace: Namespace = None,
    output: TextOutput = "text",
    no_color: NoColor = False,
    config: Config = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    as_user: As = None,
) -> None:
    """Says what is wrong with policies, when they run, and which permissions are missing."""
    dispatch(
        "checking.check",
        connecting=Connecting(kubeconfig, context, namespace, as_user),
        files=tuple(files),
        sources=tuple(sources or ()),
        offline=offline,
        config=config,
        form=output,
        no_color=no_color,
    )


def convert(
    files: _Files,
    *,
    sources: Annotated[
        list[str] | None,
        typer.Option(
            "--from", metavar="FILE|DIR", help="Definitions of the custom kinds that policies name."
        ),
    ] = None,
) -> None:
    """Writes policies in their newer form: CleanupPolicies as DeletingPolicies, with their conditions in CEL.

    A ClusterPolicy with cleanup rules becomes a ClusterCleanupPolicy for each rule. What can't be said in CEL, or not without a
    chance to claim more, is written as it was, with the reason in a comment. Nothing is applied, and no cluster is asked.

    Example: skoupa convert -f policy.yaml > deleting.yaml
    """
    dispatch("checking.convert", files=tuple(files), sources=tuple(sources or ()))


def try_out(
    folders: Annotated[
        list[str],
        typer.Argument(metavar="DIR...", help="Folders with skoupa-test.yaml or kyverno-test.yaml."),
    ],
    *,
    junit: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write the results there as JUnit XML.")
    ] = None,
    allow_calls: Annotated[
        bool,
        typer.Option("--allow-calls", help="Let policies call services outside, as far as the settings do."),
    ] = False,
    no_color: NoColor = False,
    config: Config = None,
) -> None:
    """Tries policies on objects in files, and compares what goes with what is expected.

    Reads Kyverno's test files for policies that delete as they are (pass: it goes), and a shorter form of ours. What policies
    ask the API server for is answered from the same files. The exit code is 1 when a test fails. No cluster is asked.

    Example: skoupa test policies/ --junit results.xml
    """
    dispatch(
        "checking.testing",
        folders=tuple(folders),
        junit_file=junit,
        allow_calls=allow_calls,
        no_color=no_color,
        config=config,
    )
