"""What CEL expressions ask, answered under the same confinement as everything else that the policy asks.

A question about the API server becomes a path and goes the way of all paths; whether a kind is in namespaces, and that a name is
one name, is seen to here, because a path could not tell any more. A policy of a namespace sees only kinds that are in namespaces.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Final
from urllib.parse import urlencode

import msgspec

from skoupa.errors import BadReply, NotFound, SkoupaError, UsageError
from skoupa.expr.cel.messages import (
    FindResource,
    GetResource,
    GlobalContext,
    HttpCall,
    ImageMetadata,
    ListResources,
    PostResource,
    Question,
    Usage,
)
from skoupa.kube.kinds import Discovery
from skoupa.kube.resources import Resource
from skoupa.kube.selectors import label_key_faults, label_value_faults
from skoupa.runs.calls.answers import Answer, Known, passes
from skoupa.runs.calls.kinds import by_kind, by_plural
from skoupa.runs.calls.protocol import ServiceCall
from skoupa.runs.calls.services import accepted
from skoupa.runs.untold import trouble

# Method, path, body, and where it is a list, what it is a list of.
AskServer = Callable[[str, str, bytes | None, Resource | None], Awaitable[Answer]]
AskService = Callable[[ServiceCall, str, bytes | None, Mapping[str, str]], Awaitable[Answer]]
AskShared = Callable[[str, str], Awaitable[Known]]

_ASK_WHETHER: Final = "whether it is there resource.List(…).items.exists(…) tells"
# Kept by their words; a policy that fails for each object in another way is told more briefly after so many.
_MOST_TROUBLES: Final = 1_000
_FUNCTIONS: Final[Mapping[type, str]] = {
    GetResource: "resource.Get",
    ListResources: "resource.List",
    PostResource: "resource.Post",
    FindResource: "resource.toGVR",
    HttpCall: "http",
    GlobalContext: "globalContext.Get",
    ImageMetadata: "image.GetMetadata",
    Usage: "who uses it",
}


class PolicyBroker:
    """The three ways out are the policy's own; `namespace` is empty for a policy of the whole cluster."""

    def __init__(
        self,
        *,
        namespace: str,
        discovery: Discovery,
        server: AskServer,
        service: AskService,
        shared: AskShared,
    ) -> None:
        self._namespace = namespace
        self._discovery = discovery
        self._server = server
        self._service = service
        self._shared = shared
        self.troubles: dict[str, str] = {}
        self.unanswered = False

    async def answer(self, question: Question) -> bytes:
        try:
            return await self._answer(question)
        except SkoupaError as error:
            self.unanswered = self.unanswered or passes(error)
            if len(self.troubles) < _MOST_TROUBLES:
                self.troubles[str(error)] = f"{_FUNCTIONS[type(question)]}: {trouble(error)}"
            raise

    async def _answer(self, question: Question) -> bytes:
        match question:
            case GetResource():
                return await self._get(question)
            case ListResources():
                return await self._list(question)
            case PostResource():
                resource, subresource = self._resource(question.api_version, question.resource)
                path = self._path(resource, question.namespace, name="", subresource=subresource)
                return (await self._server("POST", path, bytes(question.body), None)).body
            case FindResource():
                found = by_kind(self._discovery, api_version=question.api_version, kind=question.kind)
                return msgspec.json.encode(found.plural)
            case HttpCall():
                return await self._call(question)
            case GlobalContext():
                return (await self._shared(question.name, question.projection)).body
            case Usage():
                raise UsageError(
                    f"{question.function} is about the object that is judged, and no other",
                    advice=f"write {question.function}(object)",
                )
            case ImageMetadata():
                raise UsageError(
                    "what a registry says of an image can't be asked",
                    advice="use image() and the images that objects name",
                )

    async def _get(self, question: GetResource) -> bytes:
        resource, subresource = self._resource(question.api_version, question.resource)
        if not question.name or "/" in question.name:
            raise UsageError(f"{question.name!r} is no name of an object", advice="write the name of one")
        if resource.namespaced and not (question.namespace or self._namespace):
            raise UsageError(
                f"{resource.qualified} are in namespaces: it is not known in which to look",
                advice="write the namespace before the name",
            )
        path = self._path(resource, question.namespace, name=question.name, subresource=subresource)
        try:
            return (await self._server("GET", path, None, None)).body
        except NotFound as missing:
            # As in Kyverno: what a policy makes of an object says nothing of one that is not there.
            missing.advice = _ASK_WHETHER
            raise

    async def _list(self, question: ListResources) -> bytes:
        resource, subresource = self._resource(question.api_version, question.resource)
        if subresource:
            raise UsageError(f"{question.resource} can't be listed", advice="leave the subresource out")
        path = self._path(resource, question.namespace, name="", subresource="")
        if question.labels:
            path = f"{path}?{urlencode({'labelSelector': _selector(question.labels)})}"
        return (await self._server("GET", path, None, resource)).body

    async def _call(self, question: HttpCall) -> bytes:
        call = ServiceCall(url=question.url, ca_bundle=question.ca_bundle)
        body = bytes(question.body) if question.method == "POST" else None
        answer = await self._service(call, question.method, body, question.headers)
        try:
            said = answer.value()
        except BadReply:
            # A page of some gateway is no answer, and looks like one in which nothing stands. So it is in Kyverno.
            accepted(answer)
            raise
        return msgspec.json.encode({"statusCode": answer.status, "body": said})

    def _resource(self, api_version: str, text: str) -> tuple[Resource, str]:
        plural, slash, subresource = text.partition("/")
        resource = by_plural(self._discovery, api_version=api_version, plural=plural)
        if self._namespace and not resource.namespaced:
            raise UsageError(
                f"{resource.qualified} are in no namespace, and a policy of a namespace sees only what is in it",
                advice="use a policy of the whole cluster",
            )
        if slash and subresource not in resource.subresources:
            raise UsageError(
                f"{resource.qualified} have no subresource {subresource!r}", advice="leave it out"
            )
        return resource, subresource

    def _path(self, resource: Resource, namespace: str, *, name: str, subresource: str) -> str:
        place = namespace or self._namespace
        if self._namespace and place != self._namespace:
            raise UsageError(
                f"{place} is not {self._namespace}, the namespace of the policy",
                advice="leave the namespace out",
            )
        if place and not resource.namespaced:
            raise UsageError(f"{resource.qualified} are in no namespace", advice="write '' for the namespace")
        return resource.path(namespace=place, name=name, subresource=subresource)


def _selector(labels: Mapping[str, str]) -> str:
    """Only what is a label: anything else could be read as another selector."""
    for key, value in labels.items():
        if label_key_faults(key) or label_value_faults(value):
            raise UsageError(
                f"{key!r}: {value!r} is no label", advice="write the label and its value as objects have them"
            )
    return ",".join(f"{key}={value}" for key, value in labels.items())


def identified(answer: Answer, resource: Resource) -> Answer:
    """The list with apiVersion and kind in each item, which servers leave out and policies look at."""
    found = answer.value()
    if not isinstance(found, dict) or not isinstance(found.get("items"), list):
        return answer
    identity = {"apiVersion": resource.api_version, "kind": resource.kind}
    items = [{**identity, **item} if isinstance(item, dict) else item for item in found["items"]]
    return Answer(msgspec.json.encode({**found, "items": items}), where=answer.where, status=answer.status)
