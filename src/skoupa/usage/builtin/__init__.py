"""How the kinds of Kubernetes itself point at each other.

Complete by test (`tests/cluster/test_references.py`): whatever the schemas of a running server have in the shape of a
reference is here, or excepted there with a reason; and every path here leads somewhere.
"""

from __future__ import annotations

from typing import Final

from skoupa.usage.builtin import (
    access,
    devices,
    extending,
    governing,
    habits,
    networking,
    storage,
    workloads,
)
from skoupa.usage.rules import Annotated, KindRules

RULES: Final[tuple[KindRules, ...]] = (
    *workloads.RULES,
    *storage.RULES,
    *networking.RULES,
    *access.RULES,
    *extending.RULES,
    *governing.RULES,
    *devices.RULES,
)
ANNOTATED: Final[tuple[Annotated, ...]] = (
    *storage.ANNOTATED,
    *networking.ANNOTATED,
    *access.ANNOTATED,
    *habits.ANNOTATED,
)
