"""One HTTPS request at a time with a client certificate: enough to see whether a server is ready.

It is for the harness itself; tests and benchmarks bring the client that they are about.
"""

from __future__ import annotations

import http.client
import json
import ssl
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import msgspec

from harness.controlplane.certificates import Pair

_POLL_SECONDS = 0.05


class Answer(msgspec.Struct, frozen=True):
    status: int
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


class Probe:
    def __init__(self, url: str, *, authority: Pair, client: Pair | None) -> None:
        self._host = urlsplit(url).netloc
        self._context = ssl.create_default_context(cafile=authority.certificate)
        if client is not None:
            self._context.load_cert_chain(client.certificate, client.key)

    def ask(self, method: str, path: str, body: Any = None, *, timeout: float = 30.0) -> Answer:
        connection = http.client.HTTPSConnection(self._host, context=self._context, timeout=timeout)
        try:
            connection.request(
                method,
                path,
                body=None if body is None else json.dumps(body),
                headers={"Content-Type": "application/json", "User-Agent": "skoupa-harness"},
            )
            response = connection.getresponse()
            return Answer(response.status, response.read())
        finally:
            connection.close()

    def wait(
        self, path: str, *, seconds: float, alive: Callable[[], None], missed: Callable[[str], Exception]
    ) -> None:
        """Returns once `path` answers 200. `alive` raises when waiting is in vain; `missed` makes the error."""
        deadline = time.monotonic() + seconds
        while True:
            alive()
            try:
                answer = self.ask("GET", path, timeout=5.0)
                if answer.status == 200:
                    return
                last = f"{answer.status} {answer.body[:300].decode(errors='replace')}"
            except (OSError, http.client.HTTPException) as error:
                last = f"{type(error).__name__}: {error}"
            if time.monotonic() > deadline:
                raise missed(last)
            time.sleep(_POLL_SECONDS)
