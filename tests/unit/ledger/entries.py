"""Entries and changes for tests of the ledger."""

from __future__ import annotations

import itertools
from typing import Any

import msgspec

from skoupa.ledger.rows import Body, Entry, Result
from skoupa.ledger.store import Change, Finish, Intent, Note, Resolution, Told
from skoupa.model.reasons import reason
from skoupa.model.verdicts import Claim, Hold

_numbers = itertools.count(1)
CLUSTER = "east"
CLAIM = Claim(
    mechanism="ttl",
    rule="cleanup.kyverno.io/ttl=1h",
    due=900.0,
    reason=reason("ttl-expired", key="cleanup.kyverno.io/ttl", value="1h", since="2026-01-01T00:00:00Z"),
)
HOLD = Hold(reason=reason("kept", value="true"), until=2000.0)


def entry(uid: str = "", **fields: Any) -> Entry:
    number = next(_numbers)
    plain = Entry(
        id=f"{number:015}",
        cluster=CLUSTER,
        at=1000.0,
        api_version="apps/v1",
        kind="Deployment",
        resource="deployments.apps",
        namespace="shop",
        name="web",
        uid=uid or f"uid-{number}",
        labels=(("app", "web"), ("team", "größe")),
        mechanism="ttl",
        rule=CLAIM.rule,
        author="ann",
        due=900.0,
        claims=(CLAIM,),
        holds=(HOLD,),
        propagation="Foreground",
        weight=3,
        epoch=1,
    )
    return msgspec.structs.replace(plain, **fields)


def intent(uid: str = "", *, bodies: tuple[Body, ...] = (), **fields: Any) -> Intent:
    return Intent(entry=entry(uid, **fields), bodies=bodies)


def note(uid: str, outcome: Result = "braked", **fields: Any) -> Note:
    return Note(entry=entry(uid, outcome=outcome, **fields))


def finish(uid: str, outcome: Result = "deleted", *, epoch: int = 1, error: str = "") -> Finish:
    return Finish(uid=uid, epoch=epoch, outcome=outcome, at=1001.0, error=error)


def resolution(uid: str, outcome: Result = "still-there", *, seen: int = 1, epoch: int = 2) -> Resolution:
    return Resolution(uid=uid, seen=seen, epoch=epoch, outcome=outcome, at=1002.0)


def told(uid: str) -> Change:
    return Told(uid=uid)
