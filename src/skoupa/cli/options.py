"""Options that several commands share, named as kubectl names them.

Imported by every start of the program, also by `--help`: nothing heavy may be imported here.
"""

from __future__ import annotations

from typing import Annotated, Literal, NamedTuple

import typer

Kubeconfig = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="Kubeconfig to use instead of $KUBECONFIG or ~/.kube/config."),
]
Context = Annotated[str | None, typer.Option(metavar="NAME", help="Context in the kubeconfig.")]
As = Annotated[
    str | None,
    typer.Option(
        "--as",
        metavar="USER",
        help="Ask as this user, such as the controller's system:serviceaccount:skoupa:skoupa.",
    ),
]
Namespace = Annotated[
    str | None, typer.Option("-n", "--namespace", help="Namespace; the context's one if not given.")
]
AllNamespaces = Annotated[bool, typer.Option("-A", "--all-namespaces", help="All namespaces.")]
Kinds = Annotated[
    list[str] | None,
    typer.Argument(metavar="KIND...", help="Kinds (pods, deploy, widgets.shop.example); none: all."),
]


def each_kind(given: list[str] | None) -> tuple[str, ...]:
    """`pods,services` means both, as it does to kubectl."""
    return tuple(kind for text in given or () for kind in text.split(",") if kind)


Objects = Annotated[
    list[str],
    typer.Argument(metavar="KIND/NAME...", help="Objects: pod/web, or with their namespace pod/shop/web."),
]
Config = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="The controller's settings: protect, compat and the like; those of the installation in the cluster if not given.",
    ),
]
Ledger = Annotated[
    str | None,
    typer.Option(
        metavar="PATH|DSN|none", help="Where it is written down what went: a file, postgresql://…, or none."
    ),
]
TimeZone = Annotated[
    str | None,
    typer.Option("--tz", metavar="ZONE", help="Time zone, such as Europe/Athens; yours if not given."),
]
NoColor = Annotated[bool, typer.Option("--no-color", help="No colours on a terminal either.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and do nothing.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask; needed without a terminal.")]
TableForm = Literal["table", "wide", "json", "yaml", "name"]
TextForm = Literal["text", "json", "yaml"]
SweepForm = Literal["table", "json", "yaml"]
SweepOutput = Annotated[SweepForm, typer.Option("-o", "--output", help="How to show it.")]
TextOutput = Annotated[TextForm, typer.Option("-o", "--output", help="How to show it.")]


# A tuple and no Struct: msgspec alone would be a tenth of the time that `--help` takes.
class Connecting(NamedTuple):
    """What the command line says about the server to talk to; the rest is in the kubeconfig."""

    kubeconfig: str | None = None
    context: str | None = None
    namespace: str | None = None
    as_user: str | None = None
