"""The connection of a Pod to its own API server, from what the kubelet puts into every container.

Two environment variables give the address, a mounted folder the token, the authority and the namespace. Token and
authority are named as files, because the kubelet replaces them while the Pod runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from skoupa.kube.login.connection import Connection, Origin, Pem, TlsSettings, TokenFileAuth, server_url

FOLDER = Path("/var/run/secrets/kubernetes.io/serviceaccount")
SOURCE = "in-cluster"


def announced(environ: Mapping[str, str]) -> bool:
    """Whether this process seems to run in a Pod; `load` then says what is missing, if anything is."""
    return bool(environ.get("KUBERNETES_SERVICE_HOST") and environ.get("KUBERNETES_SERVICE_PORT"))


def load(environ: Mapping[str, str], *, folder: Path | None = None) -> Connection:
    folder = FOLDER if folder is None else folder
    origin = Origin(SOURCE)
    token = folder / "token"
    if not token.is_file():
        raise origin.at("token").error(
            f"there is no {token}",
            advice="give the Pod a service account and set automountServiceAccountToken: true, or pass --kubeconfig",
        )
    host, port = environ["KUBERNETES_SERVICE_HOST"], environ["KUBERNETES_SERVICE_PORT"]
    bracketed = f"[{host}]" if ":" in host and not host.startswith("[") else host
    return Connection(
        server=server_url(f"https://{bracketed}:{port}", origin=origin.at("KUBERNETES_SERVICE_HOST")),
        namespace=_namespace(environ, folder=folder),
        source=SOURCE,
        tls=TlsSettings(ca=Pem(path=str(folder / "ca.crt"), origin=origin.at("ca.crt"))),
        auth=TokenFileAuth(path=str(token), origin=origin.at("token")),
    )


def _namespace(environ: Mapping[str, str], *, folder: Path) -> str:
    # POD_NAMESPACE first, as client-go does: the downward API is how a Pod without a mounted folder knows.
    if environ.get("POD_NAMESPACE"):
        return environ["POD_NAMESPACE"]
    try:
        return (folder / "namespace").read_text(encoding="utf-8").strip() or "default"
    except (OSError, UnicodeDecodeError):
        return "default"
