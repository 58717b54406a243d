"""What the ceilings are by the settings, and what one row of the ledger is to them."""

from __future__ import annotations

from skoupa.ledger.rows import Tally
from skoupa.settings import BrakeSettings
from skoupa.sweep.ceilings import HOUR, MINUTE, By, Ceiling, Going
from skoupa.sweep.gate import rule_of


def counted(tally: Tally) -> Going:
    """One row of the ledger, as the ceilings count it."""
    return Going(
        namespace=tally.namespace,
        rule=rule_of(tally.mechanism, tally.rule),
        weight=max(1, tally.weight),
        kind=tally.resource,
        mechanism=tally.mechanism,
        also=tuple(By(*one) for one in tally.beside),
    )


def ceilings_of(brakes: BrakeSettings) -> tuple[Ceiling, ...]:
    return (
        Ceiling(span="rule", seconds=MINUTE, most=brakes.rule_per_minute),
        Ceiling(span="rule", seconds=HOUR, most=brakes.rule_per_hour),
        Ceiling(span="namespace", seconds=MINUTE, most=brakes.namespace_per_minute),
        Ceiling(span="namespace", seconds=HOUR, most=brakes.namespace_per_hour),
        Ceiling(span="all", seconds=MINUTE, most=brakes.per_minute),
        Ceiling(span="all", seconds=HOUR, most=brakes.per_hour),
    )
