"""What a request carries to prove who it is from: headers and an SSL context, kept fresh for as long as a process runs.

`headers` is asked before every request and is cheap: it looks at the disk once a second at most and runs a plugin only
when its answer runs out. Files that are being replaced never break a running process: until the new ones are whole, the
old ones are used. What can't be used at the start is an error that says what to repair.
"""

from __future__ import annotations

import os
import ssl
from collections.abc import Mapping
from urllib.parse import quote

import msgspec

from skoupa.clock import Clock
from skoupa.errors import KubeconfigError
from skoupa.kube.login import execplugin, tls
from skoupa.kube.login.authorization import Fixed, Grant, Plugin, Source, TokenFile
from skoupa.kube.login.connection import Connection, ExecAuth, Impersonation, TlsSettings, TokenFileAuth
from skoupa.kube.login.stamps import Stamps

# Requests that were under way when credentials changed are refused for a while after; for those a retry makes sense.
_CHANGE_ECHOES = 10.0


class Credentials:
    """`generation` counts the SSL contexts that were replaced by another; connections made with an older one are stale."""

    def __init__(
        self,
        connection: Connection,
        *,
        clock: Clock,
        environ: Mapping[str, str] = os.environ,
        exec_timeout: float | None = None,
    ) -> None:
        self.generation = 0
        self._connection = connection
        self._clock = clock
        self._source = _source(connection, clock=clock, environ=environ, exec_timeout=exec_timeout)
        self._impersonation = impersonation_headers(connection.impersonate)
        self._grant: Grant | None = None
        self._changed_at = float("-inf")
        settings = connection.tls
        self._files = Stamps(
            [pem.path for pem in (settings.ca, settings.certificate, settings.key)], clock=clock
        )
        self._context: ssl.SSLContext | None = None

    async def headers(self) -> tuple[tuple[str, str], ...]:
        """Authorization and Impersonate-* of the next request; Impersonate-Group may be there several times."""
        self._take(await self._source.current())
        self._reload_files(at_once=False)
        return self._headers()

    async def refused(self) -> bool:
        """To be called upon a 401; says whether the same request may fare better with `headers` as they are now."""
        before, generation = self._grant, self.generation
        if self._clock.monotonic() - self._changed_at < _CHANGE_ECHOES:
            return True
        self._take(await self._source.renew())
        self._reload_files(at_once=True)
        return self._grant != before or self.generation != generation

    def ssl_context(self) -> ssl.SSLContext | None:
        """None for plain http. Ask after `headers`: a plugin may hand out the client certificate."""
        if self._context is None:
            self._build_context(self._settings(self._grant))
        return self._context

    def _headers(self) -> tuple[tuple[str, str], ...]:
        authorization = self._grant.authorization if self._grant is not None else None
        own = (("Authorization", authorization.reveal()),) if authorization else ()
        return own + self._impersonation

    def _take(self, grant: Grant) -> None:
        before = self._grant
        if grant == before:
            return
        if grant.certificate.given or (before is not None and before.certificate.given):
            self._build_context(self._settings(grant))
        self._grant = grant
        if before is not None:
            self._changed_at = self._clock.monotonic()

    def _reload_files(self, *, at_once: bool) -> None:
        if self._context is None or not self._files.changed(at_once=at_once):
            return
        try:
            self._build_context(self._settings(self._grant))
        except KubeconfigError:
            # Half of a pair is there, or a file is being written. It stays "changed", so the next look tries again.
            return
        self._changed_at = self._clock.monotonic()

    def _build_context(self, settings: TlsSettings) -> None:
        if not self._connection.secure:
            return
        self._files.changed(at_once=True)
        context = tls.context(settings, now=self._clock.now())
        self._files.accept()
        self.generation += self._context is not None
        self._context = context

    def _settings(self, grant: Grant | None) -> TlsSettings:
        if grant is None or not grant.certificate.given:
            return self._connection.tls
        return msgspec.structs.replace(self._connection.tls, certificate=grant.certificate, key=grant.key)


def _source(
    connection: Connection, *, clock: Clock, environ: Mapping[str, str], exec_timeout: float | None
) -> Source:
    auth = connection.auth
    if isinstance(auth, TokenFileAuth):
        return TokenFile(auth, clock=clock)
    if isinstance(auth, ExecAuth):
        plugin = auth

        async def run() -> execplugin.Answer:
            answer = await execplugin.run(
                plugin, connection=connection, clock=clock, environ=environ, patience=exec_timeout
            )
            if answer.certificate.given:
                # Tried here, so that a certificate that can't be used counts as a failure of the plugin.
                tls.context(TlsSettings(certificate=answer.certificate, key=answer.key), now=clock.now())
            return answer

        return Plugin(run, clock=clock)
    return Fixed(auth)


def impersonation_headers(impersonation: Impersonation | None) -> tuple[tuple[str, str], ...]:
    if impersonation is None:
        return ()
    headers = [("Impersonate-User", impersonation.user)]
    if impersonation.uid:
        headers.append(("Impersonate-Uid", impersonation.uid))
    headers += [("Impersonate-Group", group) for group in impersonation.groups]
    for key, values in impersonation.extra:
        # What a header name can't have is percent-encoded, and the API server decodes it.
        name = "Impersonate-Extra-" + quote(key, safe="!#$&'*+^`|")
        headers += [(name, value) for value in values]
    return tuple(headers)
