"""The label that Skoupa writes on what belongs to a tenant (`tenants.label`): a cache by which the server selects, and never a proof.

Whoever has it is asked by the rule like anybody else, and whoever lost it is found where all is read. Some kinds never get it: roles and
their bindings, since the server lets nobody change one who does not have all rights that are in it; and what stands in the way of others
is too few to be selected, and has to be known first. Those are always read whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from skoupa.kinds.tenant import NEVER_LABELLED
from skoupa.kube.resources import Resource

_VALUE: Final = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
# A longer one might not pass what stands before a server.
_LONGEST_SELECTOR: Final = 4_000


def may_have_label(resource: Resource) -> bool:
    return resource.group not in NEVER_LABELLED


def can_be_written(tenant: str) -> bool:
    """Whether its name can be the value of a label: by other rules than names it may be longer."""
    return _VALUE.fullmatch(tenant) is not None


def without_label(key: str) -> str:
    return f"!{key}"


def labelled(key: str, tenants: Iterable[str]) -> str:
    """A selector of all that has the label of one of these; empty: there is none, and all has to be read."""
    names = sorted(tenants)
    if not key or not names or not all(map(can_be_written, names)):
        return ""
    found = f"{key} in ({','.join(names)})"
    return found if len(found) <= _LONGEST_SELECTOR else ""
