"""Says in the log who leads: when this replica begins, when it does no more, and who does then.

What is known of the others is what the Lease said when it was last read. A replica that could not renew it knows of
nobody yet: that is said, and who it is as soon as it is read.
"""

from __future__ import annotations

from typing import Final

from skoupa.kube.leases import Election
from skoupa.report.log import Log

LOOK_SECONDS: Final = 1.0


async def tell_leads(election: Election, log: Log) -> None:
    """Never returns."""
    while True:
        await election.until_leading()
        log("leading", identity=election.identity)
        await election.until_lost()
        known = _another(election)
        log("not leading any more", level="warning", leads=known or _nobody_known(election))
        if not known and (found := await _until_known(election)):
            log("another replica leads", holder=found)


def _another(election: Election) -> str:
    return election.holder if election.holder != election.identity else ""


def _nobody_known(election: Election) -> str:
    if not election.holder:
        return "nobody: the lease is free"
    why = f" ({election.last_error.message})" if election.last_error is not None else ""
    return f"nobody that is known here: the lease was not renewed in time{why}"


async def _until_known(election: Election) -> str:
    """Who leads instead; empty: this one again."""
    while not election.leading:
        if found := _another(election):
            return found
        try:
            async with election.clock.timeout(LOOK_SECONDS):
                await election.until_leading()
        except TimeoutError:
            continue
    return ""
