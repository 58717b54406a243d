"""What one object is in the group that it decides with: free or not, when it was used last, and whose it is.

Of what has finished its end is the last use, whenever somebody first looked: who starts anew, or only looks, has to sort the same way.
"""

from __future__ import annotations

from skoupa.controller.knowledge import Knowledge
from skoupa.facts.rows import Row
from skoupa.judge.grouping import Member
from skoupa.judge.retention import NAME, Evidence
from skoupa.judge.retention_rules import FRESH_SECONDS, Wish
from skoupa.model.reasons import reason
from skoupa.model.verdicts import Claim
from skoupa.usage.finishing import Ends, Finish
from skoupa.usage.needs import Needed, Unknown, Unneeded


def member_of(
    row: Row, evidence: Evidence, *, knowledge: Knowledge, wish: Wish | None, now: float
) -> Member | None:
    """None: it is not known yet whether somebody needs it. `wish` is what policies say of it."""
    needs, finish = evidence.needs(row), evidence.finish(row)
    if needs is None or isinstance(needs, Unknown):
        return None
    ended = finish if isinstance(finish, Finish) else None
    at_work = evidence.ends(row) is Ends.BY_RULE and (ended is None or bool(ended.held_by))
    at = ended.at if ended is not None else None
    protected = bool(knowledge.protection.reasons(row, now))
    free = isinstance(needs, Unneeded) and not protected and not at_work
    since = at.timestamp() if at is not None else evidence.since(row, now)
    return Member(
        uid=row.uid,
        namespace=row.namespace,
        name=row.name,
        since=float(row.created) if since is None else since,
        free=free,
        # Asked only where it decides something.
        held=free
        and wish is not None
        and (_is_fresh(row, evidence, now) or knowledge.is_kept_from(_supposed(wish, now), row, now)),
        owner=row.owners[0].uid if row.owners else "",
        created=float(row.created),
        exact=at is not None,
        at_work=evidence.ends(row) is Ends.BY_RULE and ended is None,
        never=isinstance(needs, Needed) and any(one.how == "never" for one in needs.needs),
    )


def _is_fresh(row: Row, evidence: Evidence, now: float) -> bool:
    """What has ended waits for nobody."""
    return evidence.ends(row) is not Ends.BY_RULE and now - row.created < FRESH_SECONDS


def _supposed(wish: Wish, now: float) -> Claim:
    """As if it were one too many."""
    told = reason("over-capacity", rule=wish.rule, limit=0, place="in all")
    return Claim(mechanism=NAME, rule=wish.rule, due=now, reason=told, propagation=wish.propagation)
