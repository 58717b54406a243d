"""Brakes that stopped a run of a rule, as questions: which run each asks about, and for how many objects an answer is.

Both are written on the Brake itself, so an answer is for what could be read there, whichever process hears of it. What is another
edition of the rule, or more objects, is asked about anew. One that ends by itself is answered already: from then on it says
the same, and stands for no other run. What is not known was not approved.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from skoupa import names
from skoupa.controller.braking.feed import Found
from skoupa.errors import Conflict, NotFound
from skoupa.kinds.brake import BrakeStatus, stopped_run
from skoupa.kinds.brake_effect import active
from skoupa.kinds.brake_reading import Brake, read_status
from skoupa.kube.client import Client
from skoupa.kube.resources import Resource
from skoupa.sweep.tripping import Tripped
from skoupa.sweep.weighing import stops_a_run


class RunBrakes:
    """`feed` are the Brakes that are in the cluster."""

    def __init__(self, feed: Iterable[Found]) -> None:
        self._feed = feed
        # By name: the run that each stopped last, as far as that was here.
        self._asked: dict[str, Tripped] = {}

    def ask(self, tripped: Tripped) -> bool:
        """A run of its rule is stopped by the Brake of this name; whether that is news."""
        if not tripped.edition or self._asked.get(tripped.name) == tripped:
            return False
        self._asked[tripped.name] = tripped
        return True

    def forget(self) -> None:
        """Another replica leads, and knows better what each stops."""
        self._asked.clear()

    def answers_another(self, brake: Brake, tripped: Tripped, now: float) -> bool:
        """Whether it holds, but its end would let go something else than this run, or less."""
        if not tripped.edition or not ends_by_itself(brake) or not active(brake, now):
            return False
        found = next((one for one in self._feed if one["metadata"].get("name") == brake.name), None)
        return (
            found is None
            or brake.edition != tripped.edition
            or tripped.objects > approved(brake, read_status(found))
        )

    async def renew(self, client: Client, kind: Resource, found: Found, brake: Brake) -> str:
        """Where it speaks of an earlier run than it stopped last it is told anew; what tripped it, empty: that is said already.

        Not once it has an end: that was given to what it says.
        """
        asked = self._asked.get(brake.name)
        if asked is None or not stops_a_run(brake) or ends_by_itself(brake):
            return ""
        told = read_status(found).tripped_by
        if (brake.edition, brake.asked) == (asked.edition, asked.objects) and told in {None, asked.by}:
            return ""
        metadata = {"resourceVersion": found["metadata"]["resourceVersion"], **stopping(asked)}
        patch: dict[str, Any] = {"metadata": metadata}
        if brake.reason == told:
            # Nobody wrote another.
            patch["spec"] = {"reason": asked.by}
        try:
            await client.merge_patch(kind, brake.name, patch)
        except (Conflict, NotFound):
            # Somebody changed it a moment ago, perhaps to give it an end: it is looked at again.
            return ""
        return asked.by


def stopping(tripped: Tripped) -> dict[str, Any]:
    """For the metadata of the Brake that is pulled so."""
    if not tripped.edition:
        return {}
    return {"annotations": {names.STOPPED_RUN_ANNOTATION: stopped_run(tripped.edition, tripped.objects)}}


def lasts(brake: Brake, tripped: Tripped, now: float) -> bool:
    """Whether it holds, and for as long as is wanted; an end that somebody gave it stays where no other is wanted."""
    wanted = tripped.spec.until
    longer = wanted is not None and brake.until is not None and brake.until < wanted.timestamp()
    return active(brake, now) and not longer


def ends_by_itself(brake: Brake) -> bool:
    return brake.until is not None or brake.window is not None


def approved(brake: Brake, status: BrakeStatus) -> int:
    """How many objects of a run an answer is for: as many as it is said to hold, and before that as were asked about."""
    return status.held if status.held is not None else brake.asked


def told_of_run(brake: Brake, before: BrakeStatus, held: int, *, first: bool) -> int:
    """How many a Brake is to say it holds; `first`: this process says it for the first time.

    One that has an end says for how many that was given. What one holds is judged object by object, so at first it is what is
    known of it.
    """
    if not stops_a_run(brake):
        return held
    if ends_by_itself(brake) and before.active is not False:
        return approved(brake, before)
    return max(held, approved(brake, before)) if first and before.active is not False else held
