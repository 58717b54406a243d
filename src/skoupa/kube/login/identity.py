"""Who a user of a kubeconfig is: header or plugin, client certificate, impersonation.

Of several ways to prove an identity, one is used: token file, token, user name and password, client certificate, plugin;
a token is sent beside a certificate, as kubectl does. The command line (`Overrides`) goes before the file.
Relative paths are relative to the folder of the file that has them. Files are not read and plugins not started here.
"""

from __future__ import annotations

import os
from base64 import b64decode
from collections.abc import Mapping
from typing import get_args

import msgspec

from skoupa.kube.login.configfile import Cluster, Exec, User
from skoupa.kube.login.connection import (
    AuthSettings,
    BasicAuth,
    ExecAuth,
    Impersonation,
    InteractiveMode,
    NoAuth,
    Origin,
    Pem,
    TokenAuth,
    TokenFileAuth,
    header_text,
)
from skoupa.kube.login.secret import Secret

EXEC_GROUP = "client.authentication.k8s.io"
EXEC_VERSIONS = (f"{EXEC_GROUP}/v1", f"{EXEC_GROUP}/v1beta1")
_CLUSTER_EXTENSION = f"{EXEC_GROUP}/exec"


class Overrides(msgspec.Struct, frozen=True, kw_only=True):
    """What the command line says; empty is "not said". Paths are relative to the working directory."""

    context: str = ""
    cluster: str = ""
    user: str = ""
    namespace: str = ""
    server: str = ""
    tls_server_name: str = ""
    certificate_authority: str = ""
    insecure_skip_tls_verify: bool = False
    client_certificate: str = ""
    client_key: str = ""
    token: Secret = Secret()
    as_user: str = ""
    as_uid: str = ""
    as_groups: tuple[str, ...] = ()
    as_user_extra: Mapping[str, tuple[str, ...]] = {}


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    auth: AuthSettings = NoAuth()
    certificate: Pem = Pem()
    key: Pem = Pem()
    impersonate: Impersonation | None = None

    @property
    def secret(self) -> bool:
        return not isinstance(self.auth, NoAuth) or self.certificate.given


def identify(user: User, *, cluster: Cluster, overrides: Overrides, origin: Origin) -> Identity:
    if user.auth_provider is not None:
        raise origin.at("auth-provider").error(
            f"the auth-provider {user.auth_provider.name!r} is not supported",
            advice="replace it by exec with a credential plugin (gke-gcloud-auth-plugin, kubelogin); "
            "kubectl dropped the cloud providers in 1.26",
        )
    certificate = pem(
        user.client_certificate, user.client_certificate_data, origin=origin, name="client-certificate"
    )
    key = pem(user.client_key, user.client_key_data, origin=origin, name="client-key")
    if overrides.client_certificate:
        certificate = Pem(path=overrides.client_certificate, origin=Origin(field="--client-certificate"))
    if overrides.client_key:
        key = Pem(path=overrides.client_key, origin=Origin(field="--client-key"))
    if certificate.given and not key.given:
        raise origin.at("client-key").error(
            "there is a client certificate without its key", advice="add client-key or client-key-data"
        )
    plugin = _plugin(user.exec, cluster=cluster, origin=origin.at("exec")) if user.exec is not None else None
    return Identity(
        auth=_auth(user, plugin=plugin, certificate=certificate, overrides=overrides, origin=origin),
        certificate=certificate,
        key=key if certificate.given else Pem(),
        impersonate=_impersonation(user, overrides=overrides, origin=origin),
    )


def _auth(
    user: User, *, plugin: ExecAuth | None, certificate: Pem, overrides: Overrides, origin: Origin
) -> AuthSettings:
    if overrides.token:
        header_text(overrides.token.reveal(), what="token", origin=Origin(field="--token"))
        return TokenAuth(token=overrides.token)
    basic = bool(user.username or user.password)
    if basic and (user.token or user.token_file):
        raise origin.error(
            "there is a token and also a user name with a password", advice="leave one of the two"
        )
    header_text(user.token.reveal(), what="token", origin=origin.at("token"))
    if user.token_file:
        path = beside(user.token_file, origin=origin)
        return TokenFileAuth(path=path, fallback=user.token, origin=origin.at("tokenFile"))
    if user.token:
        return TokenAuth(token=user.token)
    if basic:
        if ":" in user.username:
            raise origin.at("username").error(
                "a user name can't have a colon in it", advice="use a token instead"
            )
        return BasicAuth(username=user.username, password=user.password)
    return NoAuth() if certificate.given or plugin is None else plugin


def _plugin(settings: Exec, *, cluster: Cluster, origin: Origin) -> ExecAuth:
    if not settings.command:
        raise origin.at("command").error(
            "there is no command", advice="name the program of the credential plugin"
        )
    _check_version(settings.api_version, origin=origin.at("apiVersion"))
    for index, variable in enumerate(settings.env):
        if not variable.name or "=" in variable.name or "\0" in variable.name + variable.value.reveal():
            raise origin.at(f"env[{index}]").error(
                "that can't be an environment variable", advice="give it a name without = and a value"
            )
    if any("\0" in text for text in (settings.command, *(arg.reveal() for arg in settings.args))):
        raise origin.at("args").error("there is a zero byte in the command line", advice="remove it")
    return ExecAuth(
        # A bare name is looked up on PATH; a path is relative to the file.
        command=beside(settings.command, origin=origin) if os.sep in settings.command else settings.command,
        args=settings.args,
        env=tuple((variable.name, variable.value) for variable in settings.env),
        api_version=settings.api_version,
        interactive_mode=_interactive_mode(settings, origin=origin.at("interactiveMode")),
        install_hint=settings.install_hint,
        provide_cluster_info=settings.provide_cluster_info,
        cluster_config=next(
            (entry.extension for entry in cluster.extensions if entry.name == _CLUSTER_EXTENSION), None
        ),
        cluster_proxy_url=cluster.proxy_url,
        origin=origin,
    )


def _check_version(version: str, *, origin: Origin) -> None:
    if version in EXEC_VERSIONS:
        return
    if version == f"{EXEC_GROUP}/v1alpha1":
        raise origin.error(
            "v1alpha1 of the plugin protocol is gone since Kubernetes 1.24",
            advice=f"update the plugin and write {EXEC_VERSIONS[1]} or {EXEC_VERSIONS[0]}",
        )
    said = f"{version!r} is not a version of the plugin protocol" if version else "there is no apiVersion"
    raise origin.error(
        said, advice=f"write {EXEC_VERSIONS[0]} or {EXEC_VERSIONS[1]}, as the plugin's manual says"
    )


def _interactive_mode(settings: Exec, *, origin: Origin) -> InteractiveMode:
    if not settings.interactive_mode and settings.api_version == EXEC_VERSIONS[1]:
        return "IfAvailable"
    for mode in get_args(InteractiveMode):
        if settings.interactive_mode == mode:
            return mode  # type: ignore[no-any-return]  # get_args is untyped; these are the modes
    raise origin.error(
        f"{settings.interactive_mode!r} is not an interactiveMode"
        if settings.interactive_mode
        else "it is missing",
        advice=f"write one of {', '.join(get_args(InteractiveMode))}",
    )


def _impersonation(user: User, *, overrides: Overrides, origin: Origin) -> Impersonation | None:
    name = overrides.as_user or user.as_user
    uid = overrides.as_uid or user.as_uid
    groups = overrides.as_groups or user.as_groups
    extra = {**user.as_user_extra, **overrides.as_user_extra}
    if not name:
        if uid or groups or extra:
            raise origin.at("as").error(
                "a uid, groups or extra fields are to be impersonated, but no user",
                advice="name the user too (as, --as)",
            )
        return None
    for text in (name, uid, *groups, *(value for values in extra.values() for value in values)):
        header_text(text, what="impersonation", origin=origin.at("as"))
    return Impersonation(user=name, uid=uid, groups=groups, extra=tuple(sorted(extra.items())))


def pem(path: str, data: Secret, *, origin: Origin, name: str) -> Pem:
    """The certificate or key that `name` or `name`-data gives; data wins."""
    if not data:
        return Pem(path=beside(path, origin=origin), origin=origin.at(name)) if path else Pem()
    origin = origin.at(f"{name}-data")
    try:
        decoded = b64decode("".join(data.reveal().split()), validate=True)
    except ValueError:
        raise origin.error(
            "it is not base64", advice=f"encode the PEM file with base64, or name the file as {name}"
        ) from None
    return Pem(text=Secret(decoded.decode(errors="replace")), origin=origin)


def beside(path: str, *, origin: Origin) -> str:
    """`path` as seen from the folder of the file that names it."""
    return os.path.join(os.path.dirname(os.path.abspath(origin.file)), path)  # noqa: PTH100, PTH118, PTH120 - text paths
