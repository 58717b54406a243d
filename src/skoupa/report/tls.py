"""A certificate that exists in memory only, for a listener: the ssl module reads files, and the pod's disk is read-only."""

from __future__ import annotations

import os
import ssl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_NAME: Final = "skoupa-certificate"


def server_context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


def load(context: ssl.SSLContext, pem: bytes) -> None:
    """Certificate and key; connections that begin from now on are served with it."""
    with _as_file(pem) as path:
        context.load_cert_chain(path)


@contextmanager
def _as_file(content: bytes) -> Iterator[str]:
    if hasattr(os, "memfd_create"):
        number = os.memfd_create(_NAME)
        try:
            os.write(number, content)
            yield f"/proc/self/fd/{number}"
        finally:
            os.close(number)
        return
    with tempfile.NamedTemporaryFile() as file:
        file.write(content)
        file.flush()
        yield file.name
