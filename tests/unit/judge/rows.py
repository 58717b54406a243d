"""Rows for tests of judging, as short as what they say."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from skoupa import names
from skoupa.facts.rows import Owner, Row, Uid, pack_uid
from skoupa.kube.resources import CONFIG_MAPS, Resource

CREATED = 1_767_225_600


def uid_of(name: str) -> Uid:
    return pack_uid(str(uuid.uuid5(uuid.NAMESPACE_URL, name)))


def row(
    name: str = "web",
    ttl: str | None = None,
    *,
    keep: str | None = None,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    resource: Resource = CONFIG_MAPS,
    namespace: str = "shop",
    **facts: Any,
) -> Row:
    marks = dict(labels or {})
    if ttl is not None:
        marks[names.TTL_LABEL] = ttl
    if keep is not None:
        marks[names.KEEP_LABEL] = keep
    known: dict[str, Any] = {
        "resource": resource,
        "namespace": namespace if resource.namespaced else "",
        "name": name,
        "uid": uid_of(f"{resource.plural}/{namespace}/{name}"),
        "version": 1,
        "created": CREATED,
        "deleted_at": 0,
        "labels": tuple(sorted(marks.items())),
        "annotations": tuple(sorted((annotations or {}).items())),
        "owners": (),
    }
    return Row(**{**known, **facts})


def owner_of(parent: Row, *, controller: bool = True) -> Owner:
    return Owner(
        api_version=parent.resource.api_version,
        kind=parent.resource.kind,
        name=parent.name,
        uid=parent.uid,
        controller=controller,
        blocks=controller,
    )
