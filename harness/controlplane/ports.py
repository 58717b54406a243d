"""Ports on loopback that stay ours while the process that listens on them comes and goes.

A port is held by a bound socket that never listens. The server joins it through SO_REUSEPORT (each program has
a flag for that), so nobody can take the port between choosing and listening, nor while the server is down:
clients then get "connection refused", as they should.
"""

from __future__ import annotations

import socket

HOST = "127.0.0.1"


class Port:
    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        self._socket.bind((HOST, 0))
        self.number: int = self._socket.getsockname()[1]

    @property
    def url(self) -> str:
        return f"https://{HOST}:{self.number}"

    def release(self) -> None:
        self._socket.close()
