"""Options that several commands share, named as kubectl names them."""

from __future__ import annotations

from typing import Annotated

import msgspec
import typer

Kubeconfig = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="Kubeconfig to use instead of $KUBECONFIG or ~/.kube/config."),
]
Context = Annotated[str | None, typer.Option(metavar="NAME", help="Context in the kubeconfig.")]
Namespace = Annotated[
    str | None, typer.Option("-n", "--namespace", help="Namespace; the context's one if not given.")
]
AllNamespaces = Annotated[bool, typer.Option("-A", "--all-namespaces", help="All namespaces.")]


class Connecting(msgspec.Struct, frozen=True, kw_only=True):
    """What the command line says about the server to talk to; the rest is in the kubeconfig."""

    kubeconfig: str | None = None
    context: str | None = None
    namespace: str | None = None
