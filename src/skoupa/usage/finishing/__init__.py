"""Which objects have finished, how and when: rules as data, and reading by them."""

from __future__ import annotations

from functools import cache
from typing import Final

from skoupa.usage.finishing import batch, builtin, operators, workflows
from skoupa.usage.finishing.found import FIRST_SEEN, TEACHES, Doubt, Finish
from skoupa.usage.finishing.reading import Ends, Finishes
from skoupa.usage.finishing.rules import FinishRule, Outcome

RULES: Final[tuple[FinishRule, ...]] = (
    *builtin.RULES,
    *workflows.RULES,
    *batch.RULES,
    *operators.RULES,
)

__all__ = [
    "FIRST_SEEN",
    "RULES",
    "TEACHES",
    "Doubt",
    "Ends",
    "Finish",
    "FinishRule",
    "Finishes",
    "Outcome",
    "shipped",
]


@cache
def shipped() -> Finishes:
    """The table as it comes, with the fall-back for kinds that it does not know."""
    return Finishes(RULES)
