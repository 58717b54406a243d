"""How a run went that stopped in the middle, for its policy became another: how far it came, and why the rest stays. Pure.

A policy that is suspended or changed has chosen nothing from then on. What its run found is told as it was by then, so that nobody
takes what is still there for what never matched.
"""

from __future__ import annotations

import msgspec

from skoupa.runs.book import Entry
from skoupa.runs.run import Findings
from skoupa.runs.standing import Standing
from skoupa.runs.status import Went


class Stopped(msgspec.Struct, frozen=True, kw_only=True):
    """How the run stood by then, how many it had deleted, and what its policy became."""

    stands: Standing
    deleted: int
    became: str


def became(entry: Entry) -> str:
    if entry.policy is None:
        return "the policy is not understood any more"
    if entry.policy.options.suspended:
        return "the policy was suspended meanwhile"
    return "the policy was changed meanwhile: its next run chooses anew"


def concluded(went: Went, stopped: Stopped, *, deleted: int, generation: int) -> Went:
    """`deleted` counts what was on its way when it stopped, too. Nothing is tried again, so nothing fails any more.

    What could not be evaluated says nothing of what the policy is now.
    """
    stands = stopped.stands
    rest = max(0, stands.waiting + stands.failing - (deleted - stopped.deleted))
    counts = Standing(held=stands.held + rest).counts(went.findings or Findings(), deleted=deleted)
    words = f"{rest} {'stays' if rest == 1 else 'stay'}, for {stopped.became}" if rest else ""
    return msgspec.structs.replace(
        went, counts=counts, broken=False, cause="", stopped=words, generation=generation
    )
