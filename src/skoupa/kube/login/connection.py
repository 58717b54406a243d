"""How to reach one API server, and as whom: the value that reading a configuration ends in.

`kubeconfig` and `incluster` make it, `credentials` and `http` use it. Files are named here and not read, because what is
in them changes while a process runs (tokens and certificates rotate). Every part knows its `Origin`, so that an error
found later still names the file and the field to repair. Secrets are `Secret`s: no repr shows one.
"""

from __future__ import annotations

from typing import Any, Literal
from urllib.parse import urlsplit

import msgspec

from skoupa.errors import KubeconfigError
from skoupa.kube.login.secret import Secret

InteractiveMode = Literal["Never", "IfAvailable", "Always"]


class Origin(msgspec.Struct, frozen=True):
    """Where a value was written: a file (or "in-cluster", or "" for the command line) and a field in it."""

    file: str = ""
    field: str = ""

    def at(self, *fields: str) -> Origin:
        return Origin(self.file, ".".join(part for part in (self.field, *fields) if part))

    def error(self, message: str, *, advice: str = "") -> KubeconfigError:
        return KubeconfigError(message, file=self.file, field=self.field, advice=advice)


class Pem(msgspec.Struct, frozen=True, kw_only=True):
    """Certificates or a key: in a file, or as text that goes before the file; neither is "not given"."""

    path: str = ""
    text: Secret = Secret()
    origin: Origin = Origin()

    @property
    def given(self) -> bool:
        return bool(self.path or self.text)


class TlsSettings(msgspec.Struct, frozen=True, kw_only=True):
    """`insecure` and a `ca` exclude each other; without either the roots of the system are trusted."""

    ca: Pem = Pem()
    insecure: bool = False
    certificate: Pem = Pem()
    key: Pem = Pem()


class Impersonation(msgspec.Struct, frozen=True, kw_only=True):
    user: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()


class NoAuth(msgspec.Struct, frozen=True):
    """No header: anonymous, or a client certificate in `TlsSettings`."""


class TokenAuth(msgspec.Struct, frozen=True, kw_only=True):
    token: Secret


class TokenFileAuth(msgspec.Struct, frozen=True, kw_only=True):
    """A token that is replaced on disk; `fallback` is used until the file could be read once."""

    path: str
    fallback: Secret = Secret()
    origin: Origin = Origin()


class BasicAuth(msgspec.Struct, frozen=True, kw_only=True):
    username: str
    password: Secret


class ExecAuth(msgspec.Struct, frozen=True, kw_only=True):
    """A credential plugin. Arguments are Secrets because client secrets are commonly passed as one."""

    command: str
    args: tuple[Secret, ...] = ()
    env: tuple[tuple[str, Secret], ...] = ()
    api_version: str
    interactive_mode: InteractiveMode = "IfAvailable"
    install_hint: str = ""
    provide_cluster_info: bool = False
    cluster_config: Any = None
    cluster_proxy_url: Secret = Secret()
    origin: Origin = Origin()


AuthSettings = NoAuth | TokenAuth | TokenFileAuth | BasicAuth | ExecAuth


class Connection(msgspec.Struct, frozen=True, kw_only=True):
    """`server` has no trailing slash and may have a path; `proxy_url` has no user and password in it.

    `proxy_authorization` is the value of the Proxy-Authorization header. `withheld` says that there are credentials
    which are not used because `server` is plain http: client-go sends none without TLS, not even to loopback.
    """

    server: str
    namespace: str = "default"
    context: str = ""
    source: str = ""
    proxy_url: str = ""
    proxy_authorization: Secret = Secret()
    tls_server_name: str = ""
    disable_compression: bool = False
    tls: TlsSettings = TlsSettings()
    impersonate: Impersonation | None = None
    auth: AuthSettings = NoAuth()
    withheld: bool = False

    @property
    def secure(self) -> bool:
        return self.server.startswith("https://")


def server_url(text: str, *, origin: Origin) -> str:
    """The address of an API server, checked; user names in it are refused, because addresses are shown in messages."""
    advice = "write it like https://HOST:PORT"
    if not text:
        raise origin.error("there is no server", advice=advice)
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise origin.error("the server is not a URL", advice=advice) from None
    if parts.username is not None or parts.password is not None:
        raise origin.error(
            "the server's URL has a user name in it",
            advice="put credentials under users and leave only the address here",
        )
    usable = parts.scheme in {"http", "https"} and parts.hostname and port != 0
    if not usable or " " in text or not text.isprintable():
        raise origin.error(f"the server {text!r} is not an http or https URL", advice=advice)
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"


def header_text(text: str, *, what: str, origin: Origin) -> str:
    """A text that an HTTP header can carry; line breaks would end the header. The text is not quoted: it may be a token."""
    if not text.isprintable():
        raise origin.error(
            f"the {what} has a line break or a control character in it", advice="write it on one line"
        )
    return text
