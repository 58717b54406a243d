"""Short words for the tables of this folder; what they make is what `usage/rules.py` describes."""

from __future__ import annotations

from collections.abc import Iterable

from skoupa.usage.rules import (
    OWN_NAMESPACE,
    Embedded,
    Form,
    KindRules,
    Means,
    Part,
    Reference,
    Shape,
)

Parts = Iterable[Part]


def spread(path: str) -> list[str]:
    """`a.(b|c).d` as the two paths that it stands for. A `{}` is not touched: it means the values of a map."""
    before, opened, rest = path.partition("(")
    if not opened:
        return [path]
    inside, _, after = rest.partition(")")
    return [f"{before}{choice}{end}" for choice in inside.split("|") for end in spread(after)]


def to(
    kind: str,
    *paths: str,
    namespace_at: str = "",
    namespace: str = OWN_NAMESPACE,
    form: Form = Form.NAME,
    means: Means = Means.USES,
) -> tuple[Part, ...]:
    """Names of objects of one kind, at the end of each path."""
    return tuple(
        Reference(at=at, to=kind, namespace_at=namespace_at, namespace=namespace, form=form, means=means)
        for path in paths
        for at in spread(path)
    )


def secrets(*paths: str, means: Means = Means.USES, namespace: str = OWN_NAMESPACE) -> tuple[Part, ...]:
    return to("Secret", *paths, means=means, namespace=namespace)


def config_maps(*paths: str) -> tuple[Part, ...]:
    return to("ConfigMap", *paths)


def accounts(*paths: str) -> tuple[Part, ...]:
    return to("ServiceAccount", *paths)


def said(
    *paths: str,
    otherwise: str = "",
    group_at: str = "",
    version_at: str = "",
    namespace_at: str = "",
    means: Means = Means.USES,
) -> tuple[Part, ...]:
    """Objects with a `name` that say their `kind` themselves; `otherwise` where they leave it out."""
    return tuple(
        Reference(
            at=at,
            name="name",
            to=otherwise,
            kind_at="kind",
            group_at=group_at,
            version_at=version_at,
            namespace_at=namespace_at,
            means=means,
        )
        for path in paths
        for at in spread(path)
    )


def inside(shape: Shape, *paths: str) -> tuple[Part, ...]:
    return tuple(Embedded(at=at, shape=shape) for path in paths for at in spread(path))


def shape(name: str, *parts: Parts) -> Shape:
    return Shape(name=name, parts=tuple(part for some in parts for part in some))


def of(
    kind: str, *parts: Parts, cluster: bool = False, walked: tuple[str, ...] = ("spec", "status")
) -> KindRules:
    """Whatever else is under `spec` and `status` is walked unless a table says otherwise: definitions grow, tables age."""
    flat = tuple(part for some in parts for part in some)
    return KindRules(kind=kind, parts=flat, cluster=cluster, walked=walked)
