"""Objects for tests of this room: rows with a name, and the kinds they are of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import NAMESPACE_URL, uuid5

from skoupa.facts.rows import Owner, Row, pack_uid
from skoupa.kube.resources import Resource


def resource(kind: str, *, namespaced: bool = True) -> Resource:
    group, _, name = kind.rpartition("/")
    return Resource(
        group=group,
        version="v1",
        plural=f"{name.lower()}s",
        kind=name,
        namespaced=namespaced,
        verbs=("list",),
    )


def uid_of(kind: str, namespace: str, name: str, life: int = 0) -> str:
    return str(uuid5(NAMESPACE_URL, f"{kind}/{namespace}/{name}/{life}"))


def row(
    kind: str,
    name: str,
    *,
    namespace: str = "shop",
    version: int = 1,
    life: int = 0,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    owners: Sequence[Row] = (),
    created: int = 0,
) -> Row:
    """`life` tells objects of one name apart that came after each other."""
    return Row(
        resource=resource(kind, namespaced=bool(namespace)),
        namespace=namespace,
        name=name,
        uid=pack_uid(uid_of(kind, namespace, name, life)),
        version=version,
        created=created,
        deleted_at=0,
        labels=tuple(sorted((labels or {}).items())),
        annotations=tuple(sorted((annotations or {}).items())),
        owners=tuple(
            Owner(
                one.resource.api_version, one.resource.kind, one.name, one.uid, controller=True, blocks=False
            )
            for one in owners
        ),
    )
