"""Questions about rights: the access reviews and rules reviews, answered from the same rules that guard the requests.

They are kinds that can only be created; nothing of them is kept.
"""

from __future__ import annotations

from typing import Any

import msgspec

from skoupa.kube.transport import Response
from skoupa.sim.server.calls import Call, decoded
from skoupa.sim.state.access import Ask, User
from skoupa.sim.state.plane import Plane
from skoupa.sim.state.refusals import Cause, Refusal, bad_request, invalid

Body = dict[str, Any]

_NON_RESOURCE = [{"verbs": ["get"], "nonResourceURLs": ["/api", "/api/*", "/apis", "/apis/*", "/version"]}]


def is_review(call: Call) -> bool:
    return call.served.resource.verbs == ("create",) and call.served.resource.group in {
        "authorization.k8s.io",
        "authentication.k8s.io",
    }


def respond(plane: Plane, call: Call) -> Response:
    obj = decoded(call)
    spec = obj.get("spec") or {}
    resource = call.served.resource
    match resource.kind:
        case "SelfSubjectAccessReview":
            status = _access(plane, call, call.user, spec)
        case "SubjectAccessReview" | "LocalSubjectAccessReview":
            status = _access(plane, call, User(spec.get("user", ""), tuple(spec.get("groups") or ())), spec)
        case "SelfSubjectRulesReview":
            status = _rules(plane, call.user, spec)
            spec = {}
        case "SelfSubjectReview":
            status = {"userInfo": {"username": call.user.name, "groups": list(call.user.groups)}}
        case _:
            status = _authentication(plane, spec)
    answer: Body = {
        "kind": resource.kind,
        "apiVersion": resource.api_version,
        "metadata": {},
        "spec": spec,
        "status": status,
    }
    return Response(
        status=201, headers={"content-type": "application/json"}, body=msgspec.json.encode(answer)
    )


def _authentication(plane: Plane, spec: Body) -> Body:
    token = spec.get("token")
    if not token:
        raise bad_request("token is required for TokenReview in authentication")
    user = plane.access.tokens.get(str(token))
    if user is None:
        return {"user": {}, "error": "invalid bearer token"}
    return {"authenticated": True, "user": {"username": user.name, "groups": list(user.groups)}}


def _access(plane: Plane, call: Call, user: User, spec: Body) -> Body:
    asked = spec.get("resourceAttributes")
    if not asked and not spec.get("nonResourceAttributes"):
        raise _unspecified(call)
    if not asked:
        return {"allowed": True}
    ask = Ask(
        verb=asked.get("verb", ""),
        group=asked.get("group", ""),
        plural=asked.get("resource", ""),
        subresource=asked.get("subresource", ""),
        namespace=asked.get("namespace", ""),
        name=asked.get("name", ""),
    )
    return {"allowed": plane.access.allowed(user, ask)}


def _unspecified(call: Call) -> Refusal:
    said = "Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified"
    nameless = msgspec.structs.replace(call.served.resource, kind="")
    return invalid(nameless, "", [Cause(field="spec.resourceAttributes", message=said)])


def _rules(plane: Plane, user: User, spec: Body) -> Body:
    namespace = spec.get("namespace")
    if not namespace:
        raise bad_request("no namespace on request")
    return {
        "resourceRules": plane.access.rules(user, namespace),
        "nonResourceRules": _NON_RESOURCE,
        "incomplete": False,
    }
