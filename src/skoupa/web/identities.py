"""Who asks: the bearer of a token, as the API server knows them.

A token is asked about once in half a minute at most and is then known by its hash only. One that is not taken is not
remembered: it may be valid in a moment, and there is nothing to gain from trying.
"""

from __future__ import annotations

import asyncio
import hashlib
from typing import Final

from skoupa.kube.client import Client
from skoupa.kube.login.secret import Secret
from skoupa.kube.reviews import Caller, whose
from skoupa.web.refusing import Refused
from skoupa.web.remembering import Answers
from skoupa.web.shapes import BEARER

_FRESH_SECONDS: Final = 30.0
_MOST: Final = 1000
_AT_A_TIME: Final = 4
_NOTHING_SENT: Final = (
    "no token came with this: the command line sends the kubeconfig's; who has a client certificate instead gives "
    "--token-file with a ServiceAccount's token (kubectl create token NAME -n NAMESPACE), or --ledger"
)
_NOT_TAKEN: Final = "the API server does not take this token: log in again, or make a new one"


class Identities:
    def __init__(self, client: Client) -> None:
        self._client = client
        self._known = Answers[bytes, Caller](client.clock, seconds=_FRESH_SECONDS, most=_MOST)
        self._turns = asyncio.Semaphore(_AT_A_TIME)

    async def caller(self, header: str) -> Caller:
        """`header` as it came; empty where there was none."""
        token = Secret(header.removeprefix(BEARER).strip()) if header.startswith(BEARER) else Secret()
        if not token:
            raise Refused(401, "NoToken", _NOTHING_SENT)
        if not token.reveal().isascii():
            # No header should have taken it, and no review can carry it.
            raise Refused(401, "Unauthorized", _NOT_TAKEN)
        key = hashlib.sha256(token.reveal().encode()).digest()
        known = self._known.get(key)
        if known is not None:
            return known
        async with self._turns:
            found = await whose(self._client, token)
        if found is None:
            raise Refused(401, "Unauthorized", _NOT_TAKEN)
        self._known.put(key, found)
        return found
