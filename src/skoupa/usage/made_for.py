"""What an operator made for a custom object, or finds by it, though nobody owns it: a label with the prefix of the operator says which.

`strimzi.io/cluster: orders` stands for a Kafka `orders` of the group `kafka.strimzi.io`: on the claims that it wants back when it grows
again, and on the Secret with an authority that people made for it. As long as that object lives, these are in use. Labels of deployers
are read elsewhere (`usage/tracking`). This asks nobody and keeps nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from skoupa import names
from skoupa.facts.rows import Row
from skoupa.usage.found import Target
from skoupa.usage.graph import Graph, User, kind_name
from skoupa.usage.rules import Means
from skoupa.usage.sight import Sight

# Of these kinds it counts: others are owned, or serve what has the label.
MADE: Final = frozenset({"ConfigMap", "PersistentVolumeClaim", "Secret"})
# The prefixes of labels that everybody writes onto everything: `app.kubernetes.io/instance`.
_OF_EVERYBODY: Final = (".kubernetes.io", ".k8s.io", ".helm.sh")
# Who deployed an object may have dropped it since.
_OF_DEPLOYERS: Final = frozenset(
    {
        "argocd.argoproj.io",
        "helm.toolkit.fluxcd.io",
        "kapp.k14s.io",
        "kustomize.toolkit.fluxcd.io",
        names.SKOUPA_GROUP,
    }
)


def makers(graph: Graph, row: Row, sight: Sight) -> Iterator[User]:
    """The custom objects that it was made for, among those that were read and can matter to it at all."""
    kind = kind_name(row.resource)
    if kind not in MADE:
        return
    for key, value in row.labels:
        for of_kind in _kinds_of(key, sight.read):
            for place in (row.namespace, ""):
                maker = graph.get(Target(of_kind, place, value))
                if maker is not None and sight.may_point(of_kind, kind):
                    yield User(maker, f"the label {key} of the {row.resource.kind}", Means.MENTIONS)


def names_meant(row: Row) -> Iterator[str]:
    """By what names custom objects may be called that it was made for."""
    if kind_name(row.resource) in MADE:
        for key, value in row.labels:
            if _may_be_an_operators(key):
                yield value


def is_made_for(row: Row, other: Row) -> bool:
    return other.namespace in (row.namespace, "") and any(
        value == other.name and _says_maker(key, other.resource.group) for key, value in row.labels
    )


def is_word_of(key: str, group: str) -> bool:
    """Whether a label is one of those who serve the group: its prefix is the group, or the one is a part of the other."""
    prefix, slash, _ = key.partition("/")
    said, served = f".{prefix}", f".{group}"
    if not slash or "." not in prefix or "." not in group or said.endswith(_OF_EVERYBODY):
        return False
    return served.endswith(said) or said.endswith(served)


@lru_cache(maxsize=4096)
def _kinds_of(key: str, kinds: frozenset[str]) -> tuple[str, ...]:
    if not _may_be_an_operators(key):
        return ()
    return tuple(sorted(kind for kind in kinds if is_word_of(key, kind.rpartition("/")[0])))


def _says_maker(key: str, group: str) -> bool:
    return _may_be_an_operators(key) and is_word_of(key, group)


def _may_be_an_operators(key: str) -> bool:
    prefix, slash, _ = key.partition("/")
    return (
        bool(slash)
        and "." in prefix
        and prefix not in _OF_DEPLOYERS
        and not f".{prefix}".endswith(_OF_EVERYBODY)
    )
