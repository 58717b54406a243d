"""metav1.DeleteOptions: what a deleter asks for, read from the body or the query of its request."""

from __future__ import annotations

from typing import Any

import msgspec
import yaml

from skoupa.sim.server.calls import MEDIA, Call
from skoupa.sim.state.refusals import Cause, Refusal, bad_request, options_invalid, unsupported_media_type
from skoupa.sim.writing.deletion import Options

_TYPES: dict[str, tuple[type, str]] = {
    "dryRun": (list, "[]string"),
    "gracePeriodSeconds": (int, "int64"),
    "orphanDependents": (bool, "bool"),
    "preconditions": (dict, "v1.Preconditions"),
    "propagationPolicy": (str, "v1.DeletionPropagation"),
}
_POLICIES = ("Foreground", "Background", "Orphan")


def options_of(call: Call) -> Options:
    """From the body if there is one, else from the query, as the server reads them."""
    if call.body:
        media = call.headers.get("content-type", "").partition(";")[0].strip()
        if media not in {"application/json", "application/yaml"}:
            raise unsupported_media_type(MEDIA)
        return _checked(_decoded(call.body), dry_run=call.dry_run)
    given: dict[str, Any] = {
        key: value for key, value in call.query.items() if key in {"propagationPolicy", "dryRun"}
    }
    grace = call.number("gracePeriodSeconds")
    if grace is not None:
        given["gracePeriodSeconds"] = grace
    if "orphanDependents" in call.query:
        given["orphanDependents"] = call.flag("orphanDependents")
    return _checked(given, dry_run=call.dry_run)


def options_in(eviction: bytes) -> Options:
    """Those that an Eviction carries."""
    try:
        body = msgspec.json.decode(eviction, type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise bad_request(f"couldn't get version/kind; json parse error: {error}") from error
    return _checked(body.get("deleteOptions") or {}, dry_run=False)


def _decoded(body: bytes) -> dict[str, Any]:
    try:
        given = yaml.safe_load(body) if not body.lstrip().startswith(b"{") else msgspec.json.decode(body)
    except (msgspec.DecodeError, yaml.YAMLError) as error:
        said = "couldn't get version/kind; json parse error: unexpected end of JSON input"
        raise bad_request(said) from error
    if not isinstance(given, dict):
        raise bad_request("couldn't get version/kind; json parse error: the body is not an object")
    if given.get("kind", "DeleteOptions") != "DeleteOptions":
        raise bad_request(
            f'no kind "{given["kind"]}" is registered for version "{given.get("apiVersion", "")}" in scheme '
            '"pkg/runtime/scheme.go:111"'
        )
    for field, (type_, wanted) in _TYPES.items():
        if given.get(field) is not None and not isinstance(given[field], type_):
            raise bad_request(
                f"json: cannot unmarshal into Go struct field DeleteOptions.{field} of type {wanted}"
            )
    return given


def _checked(given: dict[str, Any], *, dry_run: bool) -> Options:
    policy, orphan = given.get("propagationPolicy"), given.get("orphanDependents")
    if policy is not None and policy not in _POLICIES:
        said = f'Unsupported value: "{policy}": supported values: "Foreground", "Background", "Orphan", "nil"'
        raise _invalid(Cause(reason="FieldValueNotSupported", message=said, field="propagationPolicy"))
    if policy is not None and orphan is not None:
        said = f'Invalid value: "{policy}": orphanDependents and deletionPropagation cannot be both set'
        raise _invalid(Cause(message=said, field="propagationPolicy"))
    asked = given.get("dryRun")
    if asked not in (None, [], ["All"], "All", ""):
        shown = msgspec.json.encode(asked).decode()
        said = f'Unsupported value: {shown}: supported values: "All"'
        raise _invalid(Cause(reason="FieldValueNotSupported", message=said, field="dryRun"))
    preconditions = given.get("preconditions") or {}
    grace = given.get("gracePeriodSeconds")
    return Options(
        uid=preconditions.get("uid"),
        version=preconditions.get("resourceVersion"),
        policy=policy,
        orphan=orphan,
        grace=None if grace is None else (1 if grace < 0 else grace),
        dry_run=bool(asked) or dry_run,
    )


def _invalid(cause: Cause) -> Refusal:
    return options_invalid("DeleteOptions", cause)
