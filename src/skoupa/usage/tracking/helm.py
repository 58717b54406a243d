"""Helm: what a release deployed is in its record, a Secret (or ConfigMap) with the label `owner=helm`.

This is the only data of a Secret that Skoupa ever decodes, and of it only the names of the objects are kept. A record is packed twice;
how much it unpacks to is bounded. Of the states a release can be in, only those count that have objects in the cluster
now: older ones (`superseded`) would be made anew by a rollback.
"""

from __future__ import annotations

import base64
import binascii
import zlib
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from skoupa.kube.objects import Metadata
from skoupa.usage.found import Found, Target, Use
from skoupa.usage.tracking.documents import Unreadable, named_in
from skoupa.usage.tracking.values import Mark, Tracks, text, tracked

RELEASE_TYPE: Final = "helm.sh/release.v1"
# What to list, and in which kinds: records of releases that may have objects in the cluster.
RECORDS: Final = "owner=helm,status notin (superseded,uninstalled)"
RECORD_KINDS: Final = ("Secret", "ConfigMap")
_GONE: Final = frozenset({"superseded", "uninstalled"})
# A Secret has at most 1 MiB, and text packs ten to one.
MOST_UNPACKED: Final = 32 * 1024 * 1024
_NAME: Final = "meta.helm.sh/release-name"
_NAMESPACE: Final = "meta.helm.sh/release-namespace"
_GZIP: Final = 16 + zlib.MAX_WBITS
_HOOK: Final = "helm.sh/hook"
_MANAGED_BY: Final = "app.kubernetes.io/managed-by"
# Helm writes on hooks neither the name nor the namespace of their release.
ANY_RELEASE: Final = Target("helm.sh/Release", "*", "*")
# As a kind that was not read: `usage.ignoreKinds` waives it as `*.helm.sh`.
ANY_RELEASES: Final = "helm.sh/*"


class _Hook(msgspec.Struct, frozen=True, gc=False):
    manifest: str = ""


class _Release(msgspec.Struct, frozen=True, gc=False):
    """Of the record of a release: where it is, and the manifests, whose names alone are kept."""

    name: str = ""
    namespace: str = ""
    manifest: str = ""
    hooks: list[_Hook] | None = None


_DECODER: Final = msgspec.json.Decoder(_Release)


def is_record(kind: str, metadata: Metadata, type_: str) -> bool:
    """Whether this is one whose data may be read."""
    if (metadata.labels or {}).get("owner") != "helm":
        return False
    return kind == "ConfigMap" or (kind == "Secret" and type_ == RELEASE_TYPE)


def tracks(kind: str, record: Mapping[str, Any]) -> Tracks:
    """For a manifest of which `is_record` holds."""
    labels = record.get("metadata", {}).get("labels") or {}
    if labels.get("status") in _GONE:
        return Tracks()
    packed = text(record, "data", "release")
    if kind == "Secret" and record.get("type") != RELEASE_TYPE:
        raise ValueError("only the records of Helm may be decoded")
    try:
        release = _DECODER.decode(_unpacked(packed, twice=kind == "Secret"))
        uses = tuple(_uses(release, text(record, "metadata", "namespace")))
    except (Unreadable, binascii.Error, zlib.error, msgspec.DecodeError, UnicodeDecodeError) as fault:
        return Tracks(untold=f"its record can't be read ({type(fault).__name__})")
    return Tracks(found=Found(uses=uses))


def _unpacked(packed: str, *, twice: bool) -> bytes:
    data = base64.b64decode(packed, validate=False)
    if twice:
        data = base64.b64decode(data, validate=False)
    if not data.startswith(b"\x1f\x8b"):
        # Helm of old did not pack it.
        return data
    unpacking = zlib.decompressobj(_GZIP)
    plain = unpacking.decompress(data, MOST_UNPACKED)
    if unpacking.unconsumed_tail or not unpacking.eof:
        raise Unreadable(f"it has more than {MOST_UNPACKED} bytes, or less than it says")
    return plain


def _uses(release: _Release, namespace: str) -> Iterator[Use]:
    home = release.namespace or namespace
    for part, where in (
        (release.manifest, "the manifest of the release"),
        *((hook.manifest, "a hook of the release") for hook in release.hooks or ()),
    ):
        for one in named_in(part):
            yield from tracked(one.kind, one.namespace or home, one.name, at=where)


def marks(metadata: Metadata) -> Iterator[Mark]:
    annotations = metadata.annotations or {}
    if name := annotations.get(_NAME):
        namespace = annotations.get(_NAMESPACE) or metadata.namespace or "*"
        yield Mark(by=record_of(namespace, name), at=f"annotation {_NAME}")
    elif _HOOK in annotations:
        yield Mark(by=ANY_RELEASE, at=f"annotation {_HOOK}", hint=True)
    elif (metadata.labels or {}).get(_MANAGED_BY) == "Helm":
        yield Mark(by=ANY_RELEASE, at=f"label {_MANAGED_BY}", hint=True)


def record_of(namespace: str, name: str) -> Target:
    """The records of a release, of which there is one for each revision."""
    return Target("Secret", namespace, f"sh.helm.release.v1.{name}.v#")
