"""What a field or an object looks like: whether it is shaped like a reference, and to what.

This is the judgement of the generic walk over custom kinds that no table knows (`usage/walking.py`). It goes by names, as people
go by them who read a manifest: `adminSecretName`, `configMapRef`, `{name, key}`. A wrong guess keeps an object that could
go, a missed one loses an object that is needed; so whatever might be meant counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Final

import msgspec

from skoupa.usage.rules import Means
from skoupa.usage.scopes import IN_A_NAMESPACE, WITHOUT_NAMESPACE, in_full

ANY_KIND: Final = "*"


class Look(msgspec.Struct, frozen=True, gc=False):
    """The kinds that a field seems to name."""

    kinds: tuple[str, ...]
    means: Means = Means.USES


# By the words that the name of a field ends in, the longer ones first. A bare noun is enough: `secrets: [a, b]`.
_NOUNS: Final = (
    (("persistentvolumeclaim", "volumeclaim", "claim", "pvc"), "PersistentVolumeClaim"),
    (("secret", "credential", "credentials"), "Secret"),
    (("configmap",), "ConfigMap"),
    (("serviceaccount",), "ServiceAccount"),
    (("storageclass",), "storage.k8s.io/StorageClass"),
    (("priorityclass",), "scheduling.k8s.io/PriorityClass"),
    (("runtimeclass",), "node.k8s.io/RuntimeClass"),
    (("ingressclass",), "networking.k8s.io/IngressClass"),
    (("persistentvolume",), "PersistentVolume"),
    (("namespace",), "Namespace"),
    (("service",), "Service"),
)
# `ServiceAccount`, also as `serviceAccountName`, `serviceAccountRef`, `serviceAccountNames`, `serviceAccountKeySelector`.
# A `secretKey` by itself is mostly the name of a key, and `secretObjects` are objects.
_ENDINGS: Final = r"((key|object|local)*(name|ref|reference|selector))?e?s?"
_NAMED: Final = tuple((re.compile(f"(?:{'|'.join(nouns)}){_ENDINGS}$"), kind) for nouns, kind in _NOUNS)
_ENDING: Final = re.compile(r"(Key|Object|Local)*[-_]?(Name|Ref|Reference|Selector)?(e?s)?$", re.IGNORECASE)
_WORDS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+")
# Nouns of which the kind has a longer name: a claim is one of volumes, mostly.
_SHORT: Final = ("claim", "credential", "credentials", "pvc")
_MOST_LONGER: Final = 2
_REFERENCE: Final = re.compile(r"(?:refs?|references?)$")
_NAME: Final = re.compile(r"[^.](?:names?)$")
_UNSPELLED: Final = re.compile(r"[-_]")
# `exchangeRefs` and `XRef` are written with a capital; `href` and `pref` are none, `ref` and `secretref` are.
_NOT_REFERENCES: Final = frozenset(
    {
        "href",
        "pref",
        "hrefs",
        "prefs",
        "hostname",
        "hostnames",
        "dnsname",
        "dnsnames",
        "commonname",
        "username",
        "displayname",
        "filename",
        "keyname",
        "fieldname",
        "containername",
        "portname",
        "servername",
        "headername",
    }
)

# What an object may have beside `name` and still be nothing but a reference.
OF_A_REFERENCE: Final = frozenset(
    {
        "name", "namespace", "kind", "group", "apiGroup", "apiVersion", "version", "resource", "uid", "resourceVersion",
        "fieldPath", "key", "optional", "port", "sectionName", "weight", "items", "defaultMode", "property", "scope",
    }
)  # fmt: skip
# Fields that hold what belongs to something else, though they have more to say than its name.
_HOLDERS: Final = frozenset(
    (
        "backend",
        "class",
        "cluster",
        "destination",
        "gateway",
        "instance",
        "owner",
        "parent",
        "provider",
        "source",
        "store",
        "target",
    )
)
# Kinds that some references write down as their `type`.
_TYPES: Final = frozenset(("ConfigMap", "Secret", "Service", "ServiceAccount", "PersistentVolumeClaim"))
_CORE: Final = frozenset(("", "core"))
_BY_KEY: Final = Look(("Secret", "ConfigMap"))
_WITH_NAMESPACE: Final = Look((ANY_KIND,))
_JUST_A_NAME: Final = Look((ANY_KIND,), Means.MENTIONS)


@lru_cache(maxsize=65536)
def look_of_field(field: str) -> Look | None:
    """What the values of a field of this name seem to name; None: nothing."""
    word = _UNSPELLED.sub("", field).lower()
    if word in _NOT_REFERENCES:
        return None
    for pattern, kind in _NAMED:
        if pattern.search(word):
            return Look((kind, *_longer_kinds(field, kind)))
    if _REFERENCE.search(word):
        return Look((ANY_KIND,))
    return Look((ANY_KIND,), Means.MENTIONS) if _NAME.search(word) else None


def _longer_kinds(field: str, kind: str) -> Iterator[str]:
    """`externalSecretRef` may mean a Secret, and an ExternalSecret as well: kinds of which the name of the field reminds."""
    words = _WORDS.findall(_ENDING.sub("", field))
    noun = kind.rpartition("/")[2].lower()
    name = ""
    longer = 0
    for word in reversed(words):
        name = f"{word[0].upper()}{word[1:]}{name}"
        if len(name) > len(noun) or (name.lower().endswith(_SHORT) and name.lower() not in (*_SHORT, noun)):
            yield f"{ANY_KIND}/{name}"
            longer += 1
            if longer == _MOST_LONGER:
                return


def look_of_object(value: Mapping[str, object], field: str = "") -> Look | None:
    """What an object with a name seems to be by its fields, whatever else it has; `field` is what holds it."""
    if "key" in value:
        return _BY_KEY
    if "namespace" in value:
        return _WITH_NAMESPACE
    if not value.keys() <= OF_A_REFERENCE and field.lower() not in _HOLDERS:
        return None
    return _WITH_NAMESPACE if value.keys() & {"resource", "group", "apiGroup"} else _JUST_A_NAME


def places(kind: str, namespace: str) -> Iterator[str]:
    """The namespaces in which something of this kind may be meant by who speaks from `namespace` ("" for cluster-wide)."""
    if kind in WITHOUT_NAMESPACE:
        yield ""
        return
    yield namespace or "*"
    if kind not in IN_A_NAMESPACE:
        yield ""


def kind_of(value: Mapping[str, object]) -> str:
    """The kind that an object says: `apps/Deployment`, and `*/Deployment` where it says no group; "" where it says none."""
    kind = value.get("kind")
    type_ = value.get("type")
    if kind is None and isinstance(type_, str) and in_full(type_) in _TYPES:
        kind = type_
    if not isinstance(kind, str):
        return ""
    kind = kind.removeprefix("core/").removeprefix("v1/")
    if not kind or "/" in kind:
        return ""
    version = value.get("apiVersion")
    if isinstance(version, str) and version:
        # `v1` is the core group; many a reference has only a group for an apiVersion.
        bare = version.lstrip("/")
        group = bare.rpartition("/")[0] or ("" if re.fullmatch(r"v[0-9].*", bare) else bare)
        return f"{group}/{kind}" if group not in _CORE else in_full(kind)
    for field in ("apiGroup", "group"):
        group_said = value.get(field)
        if isinstance(group_said, str) and group_said:
            return f"{group_said}/{kind}" if group_said not in _CORE else in_full(kind)
    kind = in_full(kind)
    return kind if kind in IN_A_NAMESPACE or kind in WITHOUT_NAMESPACE else f"*/{kind}"
