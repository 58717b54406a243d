"""values.schema.json: what may be written in the values of the chart; the part about settings comes from the settings themselves.

It refuses what `skoupa install` refuses because of its key, its type or its spelling. Where a template has better words, the
schema stays silent: it is asked first.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from skoupa.admission import grammar
from skoupa.settings import DURATION, Settings, every_setting

Schema = dict[str, Any]

_DURATION: Final = f"^(?:{grammar.DURATION})$"
_NAMESPACE: Final = "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$"
_SUBDOMAIN: Final = r"^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$"
_IN_TEMPLATES: Final = "mode"
# What Helm gives to every chart that is part of another.
_HANDED_DOWN: Final = "global"
# Empty in values.yaml, where missing means the same: who upgrades with `--reuse-values` has none of the values that came since.
_MAY_BE_MISSING: Final = frozenset(
    {
        *(
            _HANDED_DOWN,
            "tag",
            "digest",
            "pullPolicy",
            "imagePullSecrets",
            "nodeSelector",
            "tolerations",
            "affinity",
        ),
        *("priorityClassName", "podAnnotations", "extraEnv", "extraVolumes", "extraVolumeMounts"),
    }
)


def _text(about: str, **more: Any) -> Schema:
    return {"description": about, "type": "string", **more}


def _object(about: str, properties: Schema) -> Schema:
    return {
        "description": about,
        "type": "object",
        "additionalProperties": False,
        "required": _needed(properties),
        "properties": properties,
    }


def _needed(properties: Schema) -> list[str]:
    """All but what may be null or missing: a template would stumble over the others where somebody took one away."""
    return [
        key
        for key, one in properties.items()
        if key not in _MAY_BE_MISSING and "null" not in one.get("type", "")
    ]


def _secret(about: str) -> Schema:
    name = _text("Name of a Secret in the namespace of the release.", pattern=_SUBDOMAIN)
    return _object(about, {"name": name, "key": _text("Its key.", minLength=1)})


def _as_is(about: str, kind: str) -> Schema:
    """What Kubernetes itself looks at."""
    return {"description": about, "type": kind}


_OWN: Final[Schema] = {
    "image": _object(
        "Image of the controller.",
        {
            "repository": _text("Without tag and digest.", minLength=1),
            "tag": _text("Empty: the version of the chart's app."),
            "digest": _text("Wins over the tag.", pattern="^(sha256:[0-9a-f]{64})?$"),
            "pullPolicy": {"enum": ["", "Always", "IfNotPresent", "Never"]},
        },
    ),
    "imagePullSecrets": _as_is("Secrets for the registry of the image.", "array"),
    "replicas": {
        "description": "One acts, the others stand by; while observing each tells everything.",
        "type": ["integer", "null"],
        "minimum": 1,
    },
    "deletableKinds": {
        "description": "Kinds that may be deleted; `default` stands for the shipped list, `*` for all.",
        "type": "array",
        "minItems": 1,
        "items": {"type": "string", "minLength": 1},
    },
    "policyKinds": {
        "description": "Which definitions of kinds of policies, and of Tenant, are brought.",
        "enum": ["missing", "all", "none"],
    },
    "secrets": _object(
        "Secrets that you make; none of them is made or shown by the chart.",
        {
            "ledger": _secret("Has the address of PostgreSQL with the password."),
            "trash": _secret("Has the keys of the trash."),
        },
    ),
    "volume": _object(
        "Of the ledger in SQLite.",
        {
            "size": {"description": "How much is asked for.", "type": ["string", "integer"]},
            "storageClassName": {
                "description": "null: the default of the cluster.",
                "type": ["string", "null"],
            },
        },
    ),
    "resources": _as_is("Of the container.", "object"),
    "nodeSelector": _as_is("Of the Pod.", "object"),
    "tolerations": _as_is("Of the Pod.", "array"),
    "affinity": _as_is("Of the Pod.", "object"),
    "priorityClassName": _as_is("Of the Pod.", "string"),
    "podAnnotations": {
        "description": "Beside Skoupa's own.",
        "type": "object",
        "additionalProperties": {"type": "string"},
    },
    "extraEnv": _as_is("Variables for secrets of notices.", "array")
    | {"items": {"type": "object", "required": ["name"]}},
    "extraVolumes": _as_is("Of the Pod.", "array") | {"items": {"type": "object", "required": ["name"]}},
    "extraVolumeMounts": _as_is("Of the container.", "array"),
    _HANDED_DOWN: _as_is("Not used.", "object"),
}


def values_schema() -> str:
    settings = msgspec.json.schema(Settings)
    defined = settings["$defs"]
    _refine(defined)
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$comment": "Written by `python -m harness.chart`; do not edit.",
        "title": "Values of the chart of Skoupa",
        "type": "object",
        "additionalProperties": False,
        "required": [*_needed(_OWN), "settings"],
        "properties": {**_OWN, "settings": {"$ref": "#/$defs/Settings"}},
        "$defs": defined,
    }
    return msgspec.json.format(msgspec.json.encode(schema)).decode() + "\n"


def _refine(defined: Schema) -> None:
    top = defined["Settings"]["properties"]
    # As in a file.
    top |= {"apiVersion": {"type": "string"}, "kind": {"type": "string"}}
    top[_IN_TEMPLATES] = {"description": top[_IN_TEMPLATES]["description"]}
    top["namespaces"]["items"]["pattern"] = _NAMESPACE
    _at(defined, "lease.name")["pattern"] = _SUBDOMAIN
    for setting in every_setting():
        if _is_duration(setting.type):
            found = _at(defined, setting.key)
            for part in found.get("anyOf", [found]):
                if part["type"] == "string":
                    part |= {"pattern": _DURATION, "minLength": 1}


def _at(defined: Schema, key: str) -> Schema:
    *sections, last = key.split(".")
    place = defined["Settings"]["properties"]
    for section in sections:
        place = defined[place[section]["$ref"].rpartition("/")[2]]["properties"]
    found: Schema = place[last]
    return found


def _is_duration(hint: Any) -> bool:
    parts = [hint]
    while parts:
        part = parts.pop()
        if part is DURATION:
            return True
        parts += [*getattr(part, "__metadata__", ()), *getattr(part, "__args__", ())]
        parts += [part.__origin__] if hasattr(part, "__metadata__") else []
    return False
