"""From kubeconfig files, flags and environment to a `Connection`, with the precedence of kubectl.

`--kubeconfig`, else the files in KUBECONFIG merged, else ~/.kube/config, else the Pod's own cluster. Where kubectl guesses
(localhost:8080, an absent user, a KUBECONFIG of which no file exists), this is an error: a tool that deletes must not
end up in another cluster or as somebody else than was meant. Nothing here opens a connection or starts a plugin.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TypeVar

import msgspec

from skoupa.errors import KubeconfigError
from skoupa.kube.login import configfile, incluster, proxy
from skoupa.kube.login.configfile import Cluster, Context, Merged, User
from skoupa.kube.login.connection import (
    Connection,
    NoAuth,
    Origin,
    Pem,
    TlsSettings,
    server_url,
)
from skoupa.kube.login.identity import Overrides, identify, pem
from skoupa.kube.login.secret import Secret

__all__ = ["Connection", "load"]


def load(
    *,
    kubeconfig: str | None = None,
    context: str | None = None,
    cluster: str | None = None,
    user: str | None = None,
    namespace: str | None = None,
    server: str | None = None,
    tls_server_name: str | None = None,
    certificate_authority: str | None = None,
    insecure_skip_tls_verify: bool = False,
    client_certificate: str | None = None,
    client_key: str | None = None,
    token: str | None = None,
    as_user: str | None = None,
    as_uid: str | None = None,
    as_groups: Iterable[str] = (),
    as_user_extra: Mapping[str, Iterable[str]] | None = None,
    environ: Mapping[str, str] = os.environ,
) -> Connection:
    """The connection that kubectl would use with the same flags and environment; raises KubeconfigError."""
    overrides = Overrides(
        context=context or "",
        cluster=cluster or "",
        user=user or "",
        namespace=namespace or "",
        server=server or "",
        tls_server_name=tls_server_name or "",
        certificate_authority=certificate_authority or "",
        insecure_skip_tls_verify=insecure_skip_tls_verify,
        client_certificate=client_certificate or "",
        client_key=client_key or "",
        token=Secret(token or ""),
        as_user=as_user or "",
        as_uid=as_uid or "",
        as_groups=tuple(as_groups),
        as_user_extra={key: tuple(values) for key, values in (as_user_extra or {}).items()},
    )
    merged = _read(kubeconfig or "", overrides=overrides, environ=environ)
    if merged is None:
        connection = _in_cluster(overrides, environ=environ)
        way = proxy.choose(server=connection.server, proxy_url=Secret(), origin=Origin(), environ=environ)
        return msgspec.structs.replace(connection, proxy_url=way.url, proxy_authorization=way.authorization)
    return _connect(merged, overrides=overrides, environ=environ)


def _read(explicit: str, *, overrides: Overrides, environ: Mapping[str, str]) -> Merged | None:
    """What the files say; None when there are none and the Pod's own cluster is meant."""
    if explicit:
        merged = configfile.merge([explicit])
        if not merged.files:
            raise KubeconfigError(
                "there is no such file", file=explicit, advice="check the path after --kubeconfig"
            )
        if merged.empty and not overrides.server:
            raise KubeconfigError("it has no cluster in it", file=explicit, advice="name another file")
        return merged
    named = [path for path in dict.fromkeys(environ.get("KUBECONFIG", "").split(os.pathsep)) if path]
    merged = configfile.merge(named or _default_files(environ))
    if named and not merged.files and not overrides.server:
        raise KubeconfigError(
            f"KUBECONFIG names {' and '.join(named)}, and nothing is there",
            advice="correct KUBECONFIG; unset it to use ~/.kube/config or the cluster that this Pod runs in",
        )
    return merged if overrides.server or not merged.empty else None


def _default_files(environ: Mapping[str, str]) -> list[str]:
    home = environ.get("HOME") or environ.get("USERPROFILE")
    return [os.path.join(home, ".kube", "config")] if home else []  # noqa: PTH118 - a text path, like those in KUBECONFIG


def _in_cluster(overrides: Overrides, *, environ: Mapping[str, str]) -> Connection:
    if not incluster.announced(environ):
        raise KubeconfigError(
            "there is no kubeconfig, and this is not a Pod",
            advice="pass --kubeconfig FILE, set KUBECONFIG, or create ~/.kube/config",
        )
    if overrides.context or overrides.cluster or overrides.user:
        raise KubeconfigError(
            "a context, cluster or user is asked for, but there is no kubeconfig",
            advice="pass --kubeconfig FILE, or leave those flags out to use the cluster that this Pod runs in",
        )
    connection = incluster.load(environ)
    # In a Pod these flags alone change anything, as in client-go; identity flags work everywhere.
    identity = identify(User(), cluster=Cluster(), overrides=overrides, origin=Origin(incluster.SOURCE))
    tls = connection.tls
    if overrides.certificate_authority or overrides.insecure_skip_tls_verify:
        tls = _tls(Cluster(), overrides=overrides, origin=Origin(incluster.SOURCE))
    return msgspec.structs.replace(
        connection,
        namespace=overrides.namespace or connection.namespace,
        tls_server_name=overrides.tls_server_name,
        tls=msgspec.structs.replace(tls, certificate=identity.certificate, key=identity.key),
        auth=identity.auth if overrides.token else connection.auth,
        impersonate=identity.impersonate,
    )


def _connect(merged: Merged, *, overrides: Overrides, environ: Mapping[str, str]) -> Connection:
    name, context, context_origin = _context(merged, overrides=overrides)
    cluster, cluster_origin = _cluster(merged, context=context, overrides=overrides, origin=context_origin)
    user, user_origin = _user(merged, context=context, overrides=overrides, origin=context_origin)
    if overrides.server:
        address = server_url(overrides.server, origin=Origin(field="--server"))
    else:
        address = server_url(cluster.server, origin=cluster_origin.at("server"))
    identity = identify(user, cluster=cluster, overrides=overrides, origin=user_origin)
    secure = address.startswith("https://")
    tls = _tls(cluster, overrides=overrides, origin=cluster_origin)
    way = proxy.choose(server=address, proxy_url=cluster.proxy_url, origin=cluster_origin, environ=environ)
    # Another server has another name: a tls-server-name of the file does not apply to --server.
    server_name = overrides.tls_server_name or ("" if overrides.server else cluster.tls_server_name)
    return Connection(
        server=address,
        namespace=overrides.namespace or context.namespace or "default",
        context=name,
        source=cluster_origin.file or user_origin.file or "the command line",
        proxy_url=way.url,
        proxy_authorization=way.authorization,
        tls_server_name=server_name,
        disable_compression=cluster.disable_compression,
        tls=msgspec.structs.replace(tls, certificate=identity.certificate, key=identity.key)
        if secure
        else TlsSettings(),
        impersonate=identity.impersonate,
        auth=identity.auth if secure else NoAuth(),
        withheld=identity.secret and not secure,
    )


def _context(merged: Merged, *, overrides: Overrides) -> tuple[str, Context, Origin]:
    name = overrides.context or merged.current_context
    files = ", ".join(merged.files)
    if not name:
        if overrides.server or overrides.cluster:
            return "", Context(), Origin(files)
        raise KubeconfigError(
            "no context is chosen",
            file=files,
            field="current-context",
            advice=f"pass --context with one of: {_nearest('', merged.contexts)}"
            if merged.contexts
            else "add a context that names a cluster and a user",
        )
    where = (
        Origin(field="--context")
        if overrides.context
        else Origin(merged.current_context_file, "current-context")
    )
    context, origin = _pick(merged.contexts, name, noun="context", origin=where, files=files)
    return name, context, origin


def _cluster(
    merged: Merged, *, context: Context, overrides: Overrides, origin: Origin
) -> tuple[Cluster, Origin]:
    name = overrides.cluster or context.cluster
    if not name:
        if overrides.server:
            return Cluster(), Origin()
        raise origin.at("cluster").error("the context names no cluster", advice="add one, or pass --cluster")
    where = Origin(field="--cluster") if overrides.cluster else origin.at("cluster")
    return _pick(merged.clusters, name, noun="cluster", origin=where, files=", ".join(merged.files))


def _user(merged: Merged, *, context: Context, overrides: Overrides, origin: Origin) -> tuple[User, Origin]:
    name = overrides.user or context.user
    if not name:
        return User(), origin.at("user")
    where = Origin(field="--user") if overrides.user else origin.at("user")
    return _pick(merged.users, name, noun="user", origin=where, files=", ".join(merged.files))


_Entry = TypeVar("_Entry")


def _pick(
    known: Mapping[str, tuple[_Entry, Origin]], name: str, *, noun: str, origin: Origin, files: str
) -> tuple[_Entry, Origin]:
    if name in known:
        return known[name]
    place = f" in {files}" if files and not origin.file else ""
    raise origin.error(
        f"there is no {noun} {name!r}{place}",
        advice=f"known: {_nearest(name, known)}" if known else f"no {noun} is defined at all; add one",
    )


def _nearest(name: str, known: Iterable[str]) -> str:
    """Names with the most alike first; ten are enough to find the typo."""
    # Only an error pays for the import.
    from difflib import SequenceMatcher  # noqa: PLC0415 - see above

    ranked = sorted(
        known, key=lambda other: (-SequenceMatcher(None, name.lower(), other.lower()).ratio(), other)
    )
    return ", ".join(ranked[:10]) + (f" and {len(ranked) - 10} more" if len(ranked) > 10 else "")


def _tls(cluster: Cluster, *, overrides: Overrides, origin: Origin) -> TlsSettings:
    ca = pem(
        cluster.certificate_authority,
        cluster.certificate_authority_data,
        origin=origin,
        name="certificate-authority",
    )
    insecure = cluster.insecure_skip_tls_verify
    # Either flag replaces both settings of the file, or --insecure-skip-tls-verify could not be used with most files.
    if overrides.insecure_skip_tls_verify or overrides.certificate_authority:
        insecure = overrides.insecure_skip_tls_verify
        ca = Pem()
        if overrides.certificate_authority:
            ca = Pem(path=overrides.certificate_authority, origin=Origin(field="--certificate-authority"))
        origin = Origin()
    if insecure and ca.given:
        raise origin.at("insecure-skip-tls-verify").error(
            "it is set together with a certificate authority",
            advice="remove insecure-skip-tls-verify to check the server, or the authority to trust anyone",
        )
    return TlsSettings(ca=ca, insecure=insecure)
