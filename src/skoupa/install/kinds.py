"""Which kinds the controller may delete: the shipped list, and what an operator names instead.

Deleting is granted kind by kind. The shipped list has what runs and what is cheap to make again. It leaves out whatever
holds data or credentials, or takes much along: Namespace, PersistentVolumeClaim, PersistentVolume, Secret,
ServiceAccount, definitions, roles, and every custom kind. Those must be named; until then they are held, and shown.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import msgspec

from skoupa.errors import UnknownKind, UsageError
from skoupa.kube.kinds import Discovery

# In a list of kinds: the shipped ones, so that others can be added to them.
SHIPPED: Final = "default"
ALL: Final = "*"
_PLURAL_DOT_GROUP: Final = re.compile(r"([a-z0-9-]+)\.([a-z0-9.-]+)")


class DeletableKind(msgspec.Struct, frozen=True, kw_only=True, order=True):
    """As a rule of a role names it; `*` stands for all."""

    group: str = ""
    plural: str
    namespaced: bool = True

    @property
    def qualified(self) -> str:
        return f"{self.plural}.{self.group}" if self.group not in {"", ALL} else self.plural


DEFAULT_KINDS: Final = (
    DeletableKind(plural="configmaps"),
    DeletableKind(plural="pods"),
    DeletableKind(plural="services"),
    DeletableKind(group="apps", plural="daemonsets"),
    DeletableKind(group="apps", plural="deployments"),
    DeletableKind(group="apps", plural="replicasets"),
    DeletableKind(group="apps", plural="statefulsets"),
    DeletableKind(group="autoscaling", plural="horizontalpodautoscalers"),
    DeletableKind(group="batch", plural="cronjobs"),
    DeletableKind(group="batch", plural="jobs"),
    DeletableKind(group="networking.k8s.io", plural="ingresses"),
    DeletableKind(group="policy", plural="poddisruptionbudgets"),
)


def parse_kinds(names: Sequence[str], *, known: Discovery) -> tuple[DeletableKind, ...]:
    """What people wrote; a custom kind that is not known yet is taken as PLURAL.GROUP."""
    kinds: set[DeletableKind] = set()
    for name in names:
        if name == ALL:
            return (DeletableKind(group=ALL, plural=ALL),)
        kinds.update(DEFAULT_KINDS if name == SHIPPED else (_parse(name, known),))
    if not kinds:
        raise UsageError("no kind is named", advice=f"write --kinds {SHIPPED},namespaces or leave it out")
    return tuple(sorted(kinds))


def _parse(name: str, known: Discovery) -> DeletableKind:
    try:
        found = known.resolve(name)
    except UnknownKind as error:
        custom = _PLURAL_DOT_GROUP.fullmatch(name)
        if custom is None:
            raise UsageError(
                f'"{name}" is no built-in kind', advice=f"{error.advice}; a custom kind is PLURAL.GROUP"
            ) from error
        return DeletableKind(group=custom[2], plural=custom[1])
    return DeletableKind(group=found.group, plural=found.plural, namespaced=found.namespaced)
