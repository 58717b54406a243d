"""A webhook that the API server asks before a ConfigMap of one namespace is deleted: it refuses, hangs, or lets it go.

It answers for that namespace alone, and is in effect from entering to leaving: a configuration is cluster-wide, and a
server takes a moment to learn of it and to forget it.
"""

from __future__ import annotations

import asyncio
import base64
import secrets
import ssl
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import msgspec
from aiohttp import web

from harness.controlplane.certificates import Authority
from skoupa.errors import ApiError
from skoupa.kube.resources import CONFIG_MAPS, Resource
from tests.cluster.controller.objects import People
from tests.cluster.reaching import eventually

WEBHOOKS: Final = Resource(
    group="admissionregistration.k8s.io",
    version="v1",
    plural="validatingwebhookconfigurations",
    kind="ValidatingWebhookConfiguration",
    namespaced=False,
)
_HOST: Final = "127.0.0.1"
_PROBE: Final = "probe"
_PROBED: Final = "asked in vain"


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """A delete that the server asked about: when, and when it was answered, by the monotonic clock."""

    name: str
    allowed: bool
    came: float
    answered: float


class Doorman:
    """By name: `refuses` has the code and the words, `hangs` who gets no answer while it is in there."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.refuses: dict[str, tuple[int, str]] = {}
        self.hangs: dict[str, asyncio.Event] = {}
        self.asked: list[Asked] = []
        # Names of which a delete has come, answered or not.
        self.arrived: list[str] = []

    def refuse(self, name: str, words: str, *, code: int = 403) -> None:
        self.refuses[name] = (code, words)

    def hang(self, name: str) -> None:
        self.hangs[name] = asyncio.Event()

    def let_go(self, name: str) -> None:
        """Whoever hangs is answered, too."""
        self.refuses.pop(name, None)
        self.answer(name)

    def answer(self, name: str) -> None:
        waiting = self.hangs.pop(name, None)
        if waiting is not None:
            waiting.set()

    def asked_about(self, name: str) -> list[Asked]:
        return [asked for asked in self.asked if asked.name == name]

    async def review(self, request: web.Request) -> web.Response:
        asked = (await request.json())["request"]
        name = asked["name"]
        came = time.monotonic()
        self.arrived.append(name)
        waiting = self.hangs.get(name)
        if waiting is not None:
            await waiting.wait()
        answer: dict[str, Any] = {"uid": asked["uid"], "allowed": name not in self.refuses}
        if name in self.refuses:
            code, words = self.refuses[name]
            answer["status"] = {"code": code, "message": words}
        self.asked.append(Asked(name=name, allowed=answer["allowed"], came=came, answered=time.monotonic()))
        return web.json_response(
            {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": answer}
        )

    def configuration(self, namespace: str, *, port: int, ca: bytes, seconds: int) -> dict[str, Any]:
        hook = {
            "name": self.name,
            "clientConfig": {
                "url": f"https://{_HOST}:{port}/",
                "caBundle": base64.b64encode(ca).decode(),
            },
            "rules": [
                {
                    "apiGroups": [""],
                    "apiVersions": ["v1"],
                    "operations": ["DELETE"],
                    "resources": ["configmaps"],
                }
            ],
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
            "timeoutSeconds": seconds,
            "failurePolicy": "Fail",
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        }
        return {"metadata": {"name": self.name}, "webhooks": [hook]}


@asynccontextmanager
async def doorman(people: People, directory: Path, *, seconds: int = 10) -> AsyncIterator[Doorman]:
    """`seconds` is how long the API server waits for its answer."""
    found = Doorman(f"{secrets.token_hex(4)}.doorman.example")
    authority = Authority(directory, "doorman-authority")
    pair = authority.server("doorman", hosts=[_HOST])
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(pair.certificate, pair.key)
    application = web.Application()
    application.router.add_post("/", found.review)
    runner = web.AppRunner(application, shutdown_timeout=1.0)
    await runner.setup()
    try:
        await web.TCPSite(runner, _HOST, 0, ssl_context=context).start()
        body = found.configuration(
            people.namespace,
            port=runner.addresses[0][1],
            ca=authority.pair.certificate.read_bytes(),
            seconds=seconds,
        )
        probe = await people.make(_PROBE)
        made = await people.client.create(WEBHOOKS, body)
        try:
            found.refuse(_PROBE, _PROBED)
            await eventually(lambda: _refused(people, probe), what="the webhook to be asked")
            yield found
        finally:
            for name in list(found.hangs):
                found.answer(name)
            await people.remove(made, resource=WEBHOOKS)

            async def forgotten() -> bool:
                return not await _refused(people, probe)

            await eventually(forgotten, what="the webhook not to be asked any more")
    finally:
        await runner.cleanup()


async def _refused(people: People, probe: dict[str, Any]) -> bool:
    try:
        await people.client.delete(
            CONFIG_MAPS,
            _PROBE,
            namespace=people.namespace,
            uid=probe["metadata"]["uid"],
            propagation="Background",
            dry_run=True,
        )
    except ApiError as error:
        if _PROBED not in error.message:
            raise
        return True
    return False
