"""A request, understood: which kind, which object, which verb, and how the answer should look.

Paths are taken apart as the server's request info does, before anything is known about the kind: an unknown group is
a plain 404 page, an unknown kind in a known group a Status. The verb of a call is the RBAC verb.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import unquote

import msgspec
import yaml

from skoupa.kube.transport import Request
from skoupa.sim.server.encoding import PARTIAL
from skoupa.sim.state import kinds
from skoupa.sim.state.access import Ask, User
from skoupa.sim.state.catalogue import Catalogue, Served
from skoupa.sim.state.refusals import (
    Cause,
    Refusal,
    bad_request,
    method_not_allowed,
    no_such_path,
    not_acceptable,
    options_invalid,
    unsupported_media_type,
)
from skoupa.sim.writing.validation import check_types

MEDIA = ("application/json", "application/yaml", "application/vnd.kubernetes.protobuf")
_DECODERS: Mapping[str, Callable[[bytes], Any]] = {
    "application/json": msgspec.json.decode,
    "application/yaml": yaml.safe_load,
}
_LONGEST_MANAGER = 128
_ON_ONE_SIDE = frozenset({"create", "update", "patch"})
_SUBRESOURCES_OF_NAMESPACE = frozenset({"status", "finalize"})


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """What a path names."""

    group: str
    version: str
    plural: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""


class Call(msgspec.Struct, frozen=True, kw_only=True):
    verb: str
    served: Served
    namespace: str
    name: str
    subresource: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes
    partial: bool
    user: User

    @property
    def manager(self) -> str:
        """The field manager: as asked for, else the first part of the User-Agent."""
        asked = self.query.get("fieldManager")
        return asked or self.headers.get("user-agent", "").partition("/")[0] or "unknown"

    @property
    def dry_run(self) -> bool:
        asked = self.query.get("dryRun")
        if asked not in {None, "", "All"}:
            kind = f"{self.verb.capitalize()}Options" if self.verb in _ON_ONE_SIDE else "DeleteOptions"
            said = f'Unsupported value: ["{asked}"]: supported values: "All"'
            raise options_invalid(
                kind,
                Cause(reason="FieldValueNotSupported", message=said, field="dryRun"),
            )
        return asked == "All"

    def number(self, name: str) -> int | None:
        text = self.query.get(name)
        if not text:
            return None
        try:
            return int(text)
        except ValueError:
            raise bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax') from None

    def flag(self, name: str) -> bool:
        return self.query.get(name) in {"1", "true", "True"}


def place_of(path: str) -> Place | None:
    """None if the path is not one of an API kind (discovery, health and everything unknown)."""
    parts = [unquote(part) for part in path.strip("/").split("/")]
    if parts[0] == "api" and len(parts) > 2:
        group, version, rest = "", parts[1], parts[2:]
    elif parts[0] == "apis" and len(parts) > 3:
        group, version, rest = parts[1], parts[2], parts[3:]
    else:
        return None
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 1:
        namespace = rest[1]
        if len(rest) > 2 and rest[2] not in _SUBRESOURCES_OF_NAMESPACE:
            rest = rest[2:]
    return Place(
        group=group,
        version=version,
        plural=rest[0],
        namespace=namespace,
        name=rest[1] if len(rest) > 1 else "",
        subresource="/".join(rest[2:]),
    )


def verb_of(request: Request, place: Place, query: Mapping[str, str]) -> str:
    match request.method:
        case "GET" if place.name:
            return "get"
        case "GET":
            return "watch" if query.get("watch") in {"1", "true", "True"} else "list"
        case "POST":
            return "create"
        case "PUT":
            return "update"
        case "PATCH":
            return "patch"
        case _:
            return "delete" if place.name else "deletecollection"


def _name_asked_for(place: Place, query: Mapping[str, str]) -> str:
    """A list or watch of one name is judged as a request for that name."""
    named = re.findall(r"(?:^|,)metadata\.name==?([^,]+)", query.get("fieldSelector", ""))
    return place.name or (named[0] if len(named) == 1 else "")


def ask_of(place: Place, verb: str, query: Mapping[str, str]) -> Ask:
    return Ask(
        verb=verb,
        group=place.group,
        plural=place.plural,
        subresource=place.subresource,
        namespace=place.namespace,
        name=_name_asked_for(place, query),
    )


def understand(
    request: Request, *, place: Place, verb: str, catalogue: Catalogue, user: User, query: Mapping[str, str]
) -> Call:
    served = catalogue.find(group=place.group, version=place.version, plural=place.plural)
    if served is None:
        raise _unknown(place, catalogue)
    resource = served.resource
    if place.subresource and place.subresource not in resource.subresources:
        raise no_such_path()
    if place.subresource and place.subresource not in kinds.SUPPORTED_SUBRESOURCES:
        raise unsupported_subresource(place.subresource)
    allowed = kinds.SUBRESOURCE_VERBS.get(place.subresource, ("get", "update", "patch"))
    if place.subresource and verb not in allowed:
        raise method_not_allowed()
    if not place.subresource and verb not in resource.verbs:
        raise method_not_allowed()
    if not place.subresource and bool(place.name) is (verb == "create") and verb in _ON_ONE_SIDE:
        raise method_not_allowed()
    if place.namespace and not resource.namespaced and place.plural != "namespaces":
        raise page_not_found() if served.custom else no_such_path()
    everywhere = resource.namespaced and not place.namespace
    if everywhere and verb not in {"list", "watch"}:
        raise page_not_found() if served.custom else method_not_allowed()
    headers = {name.lower(): value for name, value in request.headers}
    check_write_options(verb, query, headers)
    return Call(
        verb=verb,
        served=served,
        namespace=place.namespace if resource.namespaced else "",
        name=place.name,
        subresource=place.subresource,
        query=query,
        headers=headers,
        body=request.body,
        partial=_partial(headers.get("accept", ""), verb=verb),
        user=user,
    )


def check_write_options(verb: str, query: Mapping[str, str], headers: Mapping[str, str]) -> None:
    """Raises the 422 of options that a create, update or patch can't have."""
    if verb not in _ON_ONE_SIDE:
        return
    causes: list[Cause] = []
    if "force" in query and "apply-patch" not in headers.get("content-type", ""):
        said = "Forbidden: may not be specified for non-apply patch"
        causes.append(Cause(reason="FieldValueForbidden", message=said, field="force"))
    if len(query.get("fieldManager", "")) > _LONGEST_MANAGER:
        said = f"Too long: may not be more than {_LONGEST_MANAGER} bytes"
        causes.append(Cause(reason="FieldValueTooLong", message=said, field="fieldManager"))
    strictness = query.get("fieldValidation", "")
    if strictness not in {"", "Ignore", "Strict", "Warn"}:
        said = f'Unsupported value: "{strictness}": supported values: "", "Ignore", "Strict", "Warn"'
        causes.append(Cause(reason="FieldValueNotSupported", message=said, field="fieldValidation"))
    if causes:
        raise options_invalid(f"{verb.capitalize()}Options", *causes)


def _unknown(place: Place, catalogue: Catalogue) -> Refusal:
    known = any(group == place.group for group in catalogue.groups())
    return no_such_path() if known else page_not_found()


def page_not_found() -> Refusal:
    """Raised with an empty reason: the answer is the plain page of Go's HTTP server, not a Status."""
    return Refusal(code=404, reason="", message="404 page not found\n")


def unsupported_subresource(name: str) -> Refusal:
    """What needs a node, a scheduler or an issuer of tokens does not exist here."""
    return Refusal(
        code=501, reason="NotImplemented", message=f"the embedded cluster has no {name}", details={}
    )


def _partial(accept: str, *, verb: str) -> bool:
    """Whether metadata only was asked for; the first form that can be served counts."""
    if not accept:
        return False
    wanted = "PartialObjectMetadataList" if verb in {"list", "deletecollection"} else PARTIAL.kind
    refused = ""
    for choice in accept.split(","):
        media, *parameters = (part.strip() for part in choice.split(";"))
        given = dict(parameter.partition("=")[::2] for parameter in parameters)
        if media not in {"application/json", "application/*", "*/*"}:
            continue
        form = given.get("as", "")
        if not form:
            return False
        if given.get("g") == PARTIAL.group and given.get("v") in {"v1", "v1beta1"}:
            if form == wanted:
                return True
            refused = form
    if refused:
        said = f"you requested {refused}, but the requested object is " + (
            "a list" if wanted.endswith("List") else "not a list"
        )
        raise Refusal(code=406, reason="NotAcceptable", message=said)
    raise not_acceptable(MEDIA)


def decoded(call: Call) -> dict[str, Any]:
    """The object in the body of a create or an update, with metadata of the right types."""
    resource = call.served.resource
    media = call.headers.get("content-type", "").partition(";")[0].strip()
    if media not in {"application/json", "application/yaml"}:
        raise unsupported_media_type(MEDIA)
    try:
        obj = _DECODERS[media](call.body)
    except yaml.YAMLError as error:
        raise _unrecognized(call, str(error)) from error
    except msgspec.DecodeError as error:
        why = "unexpected end of JSON input" if "truncated" in str(error) else str(error)
        seen = call.body.decode(errors="replace") or "<empty>"
        raise _unrecognized(call, f"{why} ({seen})") from error
    if not isinstance(obj, dict):
        raise _unrecognized(call, f"cannot unmarshal into an object ({call.body.hex()})")
    kind, api_version = obj.get("kind"), obj.get("apiVersion")
    if call.served.custom and not (kind and api_version):
        missing = "apiVersion" if kind else "Kind"
        seen = call.body.decode(errors="replace")
        raise bad_request(
            f"the object provided is unrecognized (must be of type {resource.kind}): Object '{missing}' is missing in "
            f"'{seen}' ({seen})"
        )
    if (kind or resource.kind) != resource.kind or (
        api_version or resource.api_version
    ) != resource.api_version:
        version = str(api_version or "").rpartition("/")[2]
        raise bad_request(
            f'{kind} in version "{version}" cannot be handled as a {resource.kind}: no kind "{kind}" is registered '
            f'for version "{api_version}" in scheme "pkg/runtime/scheme.go:111"'
        )
    check_types(resource, obj)
    return obj


def _unrecognized(call: Call, why: str) -> Refusal:
    kind = call.served.resource.kind
    return bad_request(
        f"the object provided is unrecognized (must be of type {kind}): couldn't get version/kind; json parse "
        f"error: {why}"
    )
