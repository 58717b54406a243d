"""Where the credentials of the webhook are kept: one Secret beside the Lease, which all replicas read and any may renew.

Whoever writes names the state that it read, so of two that renew at once one takes what the other made.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from typing import Any, Final

from skoupa import names
from skoupa.errors import AlreadyExists, Conflict, NotFound
from skoupa.install.policies import SECRET
from skoupa.kube.client import Client
from skoupa.kube.objects import WHOLE
from skoupa.kube.resources import Resource
from skoupa.webhook.certificates import Credentials, renewed

SECRETS: Final = Resource(group="", version="v1", plural="secrets", kind="Secret", namespaced=True)
_TRIES: Final = 5
_KEYS: Final = {
    "authorities": "ca.crt",
    "authority_key": "ca.key",
    "certificate": "tls.crt",
    "key": "tls.key",
}


async def kept_credentials(client: Client, *, namespace: str, hosts: Sequence[str]) -> Credentials:
    """What to serve with now; written down first where it had to be made."""
    for _ in range(_TRIES):
        try:
            return await _kept(client, namespace=namespace, hosts=hosts)
        except (AlreadyExists, Conflict, NotFound):
            continue
    return await _kept(client, namespace=namespace, hosts=hosts)


async def _kept(client: Client, *, namespace: str, hosts: Sequence[str]) -> Credentials:
    now = client.clock.now()
    try:
        found = await client.get(SECRETS, SECRET, namespace=namespace, view=WHOLE)
    except NotFound:
        made = renewed(None, hosts=hosts, now=now)
        await client.create(SECRETS, _body(made), namespace=namespace)
        return made
    known = _read(found.get("data") or {})
    wanted = renewed(known, hosts=hosts, now=now)
    if wanted != known:
        version = found["metadata"]["resourceVersion"]
        patch = {"metadata": {"resourceVersion": version}, "data": _data(wanted)}
        await client.merge_patch(SECRETS, SECRET, patch, namespace=namespace)
    return wanted


def _read(data: dict[str, Any]) -> Credentials | None:
    try:
        return Credentials(
            **{field: base64.b64decode(data[key], validate=True) for field, key in _KEYS.items()}
        )
    except (KeyError, TypeError, ValueError, binascii.Error):
        return None


def _data(credentials: Credentials) -> dict[str, str]:
    return {
        key: base64.b64encode(getattr(credentials, field)).decode("ascii") for field, key in _KEYS.items()
    }


def _body(credentials: Credentials) -> dict[str, Any]:
    labels = {names.PART_OF_LABEL: names.COMPONENT}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "kubernetes.io/tls",
        "metadata": {"name": SECRET, "labels": labels},
        "data": _data(credentials),
    }
