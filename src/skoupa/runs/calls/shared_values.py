"""The value of a GlobalContextEntry, fetched: a list of objects, or the answer of a call.

The value of `kubernetesResource` is the list of the objects themselves, each with its apiVersion and kind; that of `apiCall` is
the answer. Entries belong to the whole cluster and so does what they may ask for. Nobody fills variables in: an entry that has one
asks for what is never there, and that nothing was found would be taken for knowledge. Nothing is kept here.
"""

from __future__ import annotations

from contextlib import aclosing
from typing import Any, Final

import msgspec

from skoupa.errors import ApiError, BadReply, SkoupaError, TimedOut, UsageError
from skoupa.kinds.policies.global_context import ExternalCall, GlobalContextSpec, KubernetesResource
from skoupa.kube.backoff import Backoff
from skoupa.kube.client import Client
from skoupa.kube.kinds import Discovery
from skoupa.kube.lists import Scope, pages
from skoupa.kube.objects import View
from skoupa.runs.calls.answers import Answer, decoded
from skoupa.runs.calls.kinds import by_plural
from skoupa.runs.calls.paths import check_namespace, read_path
from skoupa.runs.calls.protocol import ServiceCall, outside_refused
from skoupa.runs.calls.server import Server
from skoupa.runs.calls.services import Services, accepted
from skoupa.runs.calls.single import ask_for

# An entry may ask for many more; while a run waits for it, more help nobody.
_MOST_RETRIES: Final = 5
_VARIABLE: Final = "{{"
_RAW: Final[View[msgspec.Raw]] = View(type=msgspec.Raw)


class Fetcher:
    """`services` is None where nothing outside the cluster may be asked."""

    def __init__(self, client: Client, server: Server, *, services: Services | None, most_bytes: int) -> None:
        self._client = client
        self._server = server
        self._services = services
        self._most_bytes = most_bytes

    async def fetch(self, spec: GlobalContextSpec, *, discovery: Discovery) -> Any:
        if spec.kubernetes_resource is not None:
            return await self._objects(spec.kubernetes_resource, discovery)
        if spec.api_call is not None:
            return await self._patiently(spec.api_call, discovery)
        raise UsageError("it has neither kubernetesResource nor apiCall", advice="write exactly one of them")

    async def _objects(self, wanted: KubernetesResource, discovery: Discovery) -> list[Any]:
        check_namespace(wanted.namespace or "")
        api_version = f"{wanted.group}/{wanted.version}" if wanted.group else wanted.version
        resource = by_plural(discovery, api_version=api_version, plural=wanted.resource)
        if wanted.namespace and not resource.namespaced:
            raise UsageError(
                f"{resource.qualified} are in no namespace", advice="leave kubernetesResource.namespace out"
            )
        identity = {"apiVersion": resource.api_version, "kind": resource.kind}
        found: list[Any] = []
        size = 0
        listing = pages(self._client, resource, _RAW, scope=Scope(namespace=wanted.namespace or ""))
        async with aclosing(listing) as whole:
            async for page in whole:
                if page.first:
                    found, size = [], 0
                if page.undecodable:
                    raise BadReply(f"an object among {resource.qualified} can't be read")
                for raw in page.items:
                    size += len(bytes(raw))
                    if size > self._most_bytes:
                        raise BadReply(
                            f"{resource.qualified} have more than {self._most_bytes:,} bytes",
                            advice="list one namespace, or raise policies.globalContextMaxBytes",
                        )
                    found.append({**identity, **decoded(bytes(raw), where=resource.qualified)})
        return found

    async def _patiently(self, call: ExternalCall, discovery: Discovery) -> Any:
        check_variables(call)
        backoff = Backoff(self._client.clock, first=0.2, cap=1.0)
        left = min(call.retry_limit, _MOST_RETRIES)
        while True:
            try:
                return (await self._answer(call, discovery)).value()
            except SkoupaError as error:
                if left <= 0 or not _may_help(error):
                    raise
            left -= 1
            await self._client.clock.sleep(backoff.next())

    async def _answer(self, call: ExternalCall, discovery: Discovery) -> Answer:
        body = None
        if call.method == "POST":
            body = msgspec.json.encode({datum.key: datum.value for datum in call.data})
        if call.service is None:
            place = read_path(call.url_path or "", method=call.method)
            if call.method == "GET":
                return await ask_for(self._server, place, discovery=discovery)
            return await self._server.ask(place, method=call.method, body=body)
        if self._services is None:
            raise outside_refused("a service")
        answer = await self._services.ask(
            ServiceCall(url=call.service.url, ca_bundle=call.service.ca_bundle or ""),
            method=call.method,
            body=body,
            headers={header.key: header.value for header in call.service.headers},
        )
        return accepted(answer)


def check_variables(call: ExternalCall) -> None:
    """Raises `UsageError` where somebody wrote one."""
    if _VARIABLE.encode() in msgspec.json.encode(call):
        raise UsageError(
            "a variable stands in it, and nobody fills it in: all policies share one value",
            advice="write it without {{ }}, or use an apiCall in the context of the policy",
        )


def _may_help(error: SkoupaError) -> bool:
    """Whether asking again at once may help."""
    if isinstance(error, ApiError):
        return error.repeatable
    return not isinstance(error, UsageError | TimedOut)
