"""Kyverno's functions that look outside: resource, http, globalContext and image.GetMetadata, in both spellings.

They only phrase a question and shape the answer; whether it may be asked at all is for whoever serves it. A policy
in a namespace has forms without a namespace, and a cluster-wide one forms with it: which ones an expression may use
is decided by the checker, so here every form is answered.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from skoupa.expr.cel.library.declaring import TYPES, Function, function, method
from skoupa.expr.cel.library.documents import doubled
from skoupa.expr.cel.library.tagged import TAG, holds_tagged, tagged, untagged
from skoupa.expr.cel.library.world import World
from skoupa.expr.cel.messages import (
    FindResource,
    GetResource,
    GlobalContext,
    HttpCall,
    ImageMetadata,
    ListResources,
    PostResource,
)

GVR: Final = TYPES["GVR"]
HTTP: Final = TYPES["HttpClient"]
_MAP: Final = "map<string, dyn>"


def _located(arguments: tuple[Any, ...]) -> tuple[str, str, tuple[Any, ...]]:
    """An apiVersion and a resource, given as two strings or as a GVR, and what follows."""
    if isinstance(arguments[0], dict) and TAG in arguments[0]:
        api_version, resource = untagged(GVR, arguments[0])
        return api_version, resource, arguments[1:]
    return arguments[0], arguments[1], arguments[2:]


def _get(world: World, *arguments: Any) -> Any:
    api_version, resource, rest = _located(arguments)
    namespace, name = rest if len(rest) == 2 else (world.namespace, rest[0])
    return world.ask(GetResource(api_version=api_version, resource=resource, namespace=namespace, name=name))


def _list(world: World, *arguments: Any) -> Any:
    api_version, resource, rest = _located(arguments)
    namespace, labels = world.namespace, {}
    for argument in rest:
        if isinstance(argument, str):
            namespace = argument
        else:
            labels = _strings(argument, "labels")
    return world.ask(
        ListResources(api_version=api_version, resource=resource, namespace=namespace, labels=labels)
    )


def _post(world: World, api_version: str, resource: str, *rest: Any) -> Any:
    namespace, body = rest if len(rest) == 2 else (world.namespace, rest[0])
    return world.ask(
        PostResource(api_version=api_version, resource=resource, namespace=namespace, body=_raw(body))
    )


def _gvr(world: World, api_version: str, kind: str) -> dict[str, Any]:
    return tagged(GVR, [api_version, world.ask(FindResource(api_version=api_version, kind=kind))])


def _http_get(world: World, *arguments: Any) -> Any:
    ca_bundle, (url, *headers) = _client(arguments)
    return _shaped(
        world.ask(HttpCall(method="GET", url=url, headers=_strings(*headers, "headers"), ca_bundle=ca_bundle))
    )


def _http_post(world: World, *arguments: Any) -> Any:
    ca_bundle, (url, body, *headers) = _client(arguments)
    return _shaped(
        world.ask(
            HttpCall(
                method="POST",
                url=url,
                headers=_strings(*headers, "headers"),
                body=_raw(body),
                ca_bundle=ca_bundle,
            )
        )
    )


def _client(arguments: tuple[Any, ...]) -> tuple[str, tuple[Any, ...]]:
    if isinstance(arguments[0], dict):
        return untagged(HTTP, arguments[0]), arguments[1:]
    return "", arguments


def _shaped(answer: Any) -> dict[str, Any]:
    """As Kyverno: the status goes into the body where that is a map, and numbers of a body are doubles."""
    body = doubled(answer["body"])
    if isinstance(body, dict):
        return {**body, "statusCode": answer["statusCode"]}
    return {"body": body, "statusCode": answer["statusCode"]}


def _strings(*values: Any) -> dict[str, str]:
    """The last value is what to call it where it is wrong."""
    found = values[0] if len(values) == 2 else {}
    if not all(isinstance(part, str) for pair in found.items() for part in pair):
        raise ValueError(f"{values[-1]} have to be a map of strings to strings")
    return dict(found)


def _raw(body: Any) -> msgspec.Raw:
    if holds_tagged(body):
        raise ValueError("a quantity, address, version or image can't be sent: send its text")
    try:
        return msgspec.Raw(msgspec.json.encode(body))
    except TypeError as error:
        raise ValueError(f"this can't be sent as JSON: {error}") from error


def _spelled(*names: str) -> tuple[str, ...]:
    return tuple(spelling for name in names for spelling in (name, name[0].lower() + name[1:]))


def _everywhere(prefix: str, name: str, answer: Any, *signatures: str) -> tuple[Function, ...]:
    return tuple(
        function(f"{prefix}.{spelling}", answer, *signatures, looks_outside=True)
        for spelling in _spelled(name)
    )


def _of_client(name: str, answer: Any, *signatures: str) -> tuple[Function, ...]:
    return tuple(
        method(
            spelling, answer, *(f"HttpClient, {signature}" for signature in signatures), looks_outside=True
        )
        for spelling in _spelled(name)
    )


_GETS: Final = ("string -> dyn", "string, map<string, string> -> dyn")
_POSTS: Final = ("string, dyn -> dyn", "string, dyn, map<string, string> -> dyn")
_GVRS: Final = _everywhere("resource", "ToGVR", _gvr, "string, string -> GVR")

# Fields of an answer are looked at without a type: hence dyn.
OF_NAMESPACED_POLICIES: Final = (
    *_everywhere("resource", "Get", _get, "string, string, string -> dyn", "GVR, string -> dyn"),
    *_everywhere(
        "resource",
        "List",
        _list,
        "string, string -> dyn",
        "string, string, map<string, string> -> dyn",
        "GVR -> dyn",
        "GVR, map<string, string> -> dyn",
    ),
    *_everywhere("resource", "Post", _post, f"string, string, {_MAP} -> dyn"),
)
OF_CLUSTER_POLICIES: Final = (
    *_everywhere(
        "resource", "Get", _get, "string, string, string, string -> dyn", "GVR, string, string -> dyn"
    ),
    *_everywhere(
        "resource",
        "List",
        _list,
        "string, string, string -> dyn",
        "string, string, string, map<string, string> -> dyn",
        "GVR, string -> dyn",
        "GVR, string, map<string, string> -> dyn",
    ),
    *_everywhere(
        "resource", "Post", _post, f"string, string, {_MAP} -> dyn", f"string, string, string, {_MAP} -> dyn"
    ),
)
FUNCTIONS: Final = (
    *_GVRS,
    *_everywhere("http", "Get", _http_get, *_GETS),
    *_everywhere("http", "Post", _http_post, *_POSTS),
    *_of_client("Get", _http_get, *_GETS),
    *_of_client("Post", _http_post, *_POSTS),
    *(
        function(f"http.{name}", lambda ca_bundle: tagged(HTTP, ca_bundle), "string -> HttpClient")
        for name in _spelled("Client")
    ),
    *_everywhere(
        "globalContext",
        "Get",
        lambda world, name, projection="": world.ask(GlobalContext(name=name, projection=projection)),
        "string -> dyn",
        "string, string -> dyn",
    ),
    *_everywhere(
        "image", "GetMetadata", lambda world, image: world.ask(ImageMetadata(image=image)), "string -> dyn"
    ),
)
