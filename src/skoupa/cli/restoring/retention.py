"""Retention policies and the label `skoupa.dev/ttl-after` that would take an object again, if it came back as it is to be created.

What comes back is as new: its times begin anew, so only a time of zero, or a limit that what comes back breaks by itself, takes it
at once. A time that lies ahead is said. What hangs on others in the cluster (who uses it, which are the newest, whether a
limit is full) can't be told of what is not there: that is said, and never guessed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from skoupa import names
from skoupa.cli.looking.retention_known import applied
from skoupa.cli.restoring.pieces import Piece
from skoupa.controller.retaining.matched import Matched
from skoupa.controller.retaining.policy_book import Entry
from skoupa.expr.durations import render_duration
from skoupa.expr.readings import Problem
from skoupa.expr.ttl_after import parse_ttl_after
from skoupa.kube.client import Client
from skoupa.kube.kinds import Discovery
from skoupa.kube.objects import Metadata
from skoupa.kube.resources import Resource
from skoupa.policy.retention.policies import Retention
from skoupa.policy.retention.precedence import Terms, terms
from skoupa.runs.using.profiles import profiles_of
from skoupa.usage.finishing import Ends
from skoupa.usage.graph import kind_name

_MOMENTS: Final = ("finished", "succeeded", "failed", "unused", "created")
_ON_FINISH: Final = frozenset({"finished", "succeeded", "failed"})
_UNKNOWN: Final = "whether {} would take {} again at once is not known: {}"


class Retaken(msgspec.Struct, kw_only=True):
    """`by` are those that would take something at once, with the first of it; `said` what is to come, and what is not known."""

    by: dict[str, str] = msgspec.field(default_factory=dict)
    said: dict[str, str] = msgspec.field(default_factory=dict)

    def takes(self, rule: str, what: str) -> None:
        self.by.setdefault(rule, what)

    def doubts(self, rule: str, what: str, why: str) -> None:
        self.said.setdefault(rule, _UNKNOWN.format(rule, what, why))


class _Met(msgspec.Struct, frozen=True, kw_only=True):
    """One that some policy counts for, with the times that do."""

    piece: Piece
    terms: Terms
    after: Mapping[str, int]

    @property
    def called(self) -> str:
        return _called(self.piece)


def labelled(pieces: Sequence[Piece]) -> Retaken:
    """By what is written on them; needs nothing of the cluster."""
    found = Retaken()
    for piece in pieces:
        value = _label(piece)
        times = _times(value)
        rule = f"{names.TTL_AFTER_LABEL}={value}"
        if times.get("unused") == 0:
            found.takes(rule, _called(piece))
        elif _may_have_ended(piece, times):
            found.doubts(rule, _called(piece), "it may count as finished as soon as it is there")
    return found


async def by_policies(
    client: Client,
    discovery: Discovery,
    pieces: Mapping[Resource, Sequence[Piece]],
    *,
    places: Collection[str],
    labels: Mapping[str, Mapping[str, str]] | None,
) -> Retaken:
    found, entries = Retaken(), dict[str, Entry]()
    for place in places:
        known = await applied(client, discovery, namespaces=(), namespace=place)
        entries |= {one.called: one for one in known.entries}
        for kind, why in known.unread.items():
            found.said[kind] = f"whether a {kind} would take it again is not known: {why}"
    if not entries:
        return found
    taught, _ = await profiles_of(client, discovery)
    rules = Matched(ends=taught.ends)
    met: defaultdict[str, list[_Met]] = defaultdict(list)
    for resource, some in pieces.items():
        for piece in some:
            counting = terms(
                _about(piece, resource, entries.values(), rules=rules, labels=labels, found=found)
            )
            if counting is None or counting.suspended:
                continue
            # A label on the object replaces the times of policies.
            times = _times(_label(piece)) or {str(moment): lasts for moment, lasts in counting.after.items()}
            if taught.ends(kind_name(resource)) is Ends.NEVER:
                times = {moment: lasts for moment, lasts in times.items() if moment not in _ON_FINISH}
            met[counting.rule].append(_Met(piece=piece, terms=counting, after=times))
    for some_met in met.values():
        _judge(some_met, found)
    return found


def _about(
    piece: Piece,
    resource: Resource,
    entries: Collection[Entry],
    *,
    rules: Matched,
    labels: Mapping[str, Mapping[str, str]] | None,
    found: Retaken,
) -> Iterator[Retention]:
    written = piece.manifest["metadata"]
    metadata = Metadata(
        name=piece.kept.name,
        namespace=piece.namespace,
        labels=written.get("labels") or {},
        annotations=written.get("annotations") or {},
    )
    of_namespace = labels.get(piece.namespace) if labels is not None else None
    for entry in entries:
        policy = entry.policy
        if policy is None:
            if entry.namespace in {"", piece.namespace}:
                found.doubts(entry.called, _called(piece), "it is not understood")
        elif (
            entry.namespace in {"", piece.namespace}
            and policy.is_about(
                resource, metadata, has_rules=rules.has_rules(resource), namespace_labels=of_namespace
            ).matches
        ):
            yield policy


def _judge(met: Sequence[_Met], found: Retaken) -> None:
    """What one rule would do with these together, once they are there."""
    first = met[0]
    rule = first.terms.rule
    for policy in first.terms.by:
        limit = policy.limit
        if limit is None:
            continue
        if limit.at_most and len(met) > limit.at_most:
            found.takes(policy.called, first.called)
        else:
            most = f"{limit.at_most} stay" if limit.at_most else f"as many stay as {limit.quota} allows"
            why = f"no more than {most}, and which these are is decided when it is there"
            found.doubts(policy.called, first.called, why)
    at_once = [one for one in met if _goes_at_once(one)]
    newest = max((one.newest.count for one in first.terms.by if one.newest is not None), default=0)
    owned = [
        one
        for one in at_once
        if one.terms.owners_hold and one.piece.manifest["metadata"].get("ownerReferences")
    ]
    if len(at_once) > max(newest, len(owned)):
        found.takes(rule, at_once[0].called)
    elif at_once and newest:
        why = f"the newest {newest} stay, and which these are is decided when it is there"
        found.doubts(rule, at_once[0].called, why)
    elif at_once:
        found.doubts(rule, at_once[0].called, "a living owner holds it")
    for one in met:
        if one not in at_once and _may_have_ended(one.piece, one.after):
            found.doubts(rule, one.called, "it may count as finished as soon as it is there")
        elif one not in at_once and one.after:
            times = ", ".join(f"{moment} {render_duration(lasts)}" for moment, lasts in one.after.items())
            found.said.setdefault(rule, f"{rule} is about {one.called}, whose time begins anew: {times}")


def _goes_at_once(met: _Met) -> bool:
    """Of a policy without any time the newest stay, and what it limits; the rest goes as soon as nothing needs it."""
    if met.after:
        return any(met.after.get(moment) == 0 for moment in ("unused", "created"))
    return any(one.newest is not None for one in met.terms.by)


def _may_have_ended(piece: Piece, times: Mapping[str, int]) -> bool:
    """Most kinds lose their status on the way back; of those that keep it nobody knows when it ended."""
    return bool(_ON_FINISH & times.keys()) and bool(piece.manifest.get("status"))


def _label(piece: Piece) -> str:
    found = (piece.manifest["metadata"].get("labels") or {}).get(names.TTL_AFTER_LABEL)
    return str(found or "")


def _times(value: str) -> dict[str, int]:
    after = parse_ttl_after(value) if value else None
    if after is None or isinstance(after, Problem):
        return {}
    times = {moment: getattr(after, moment) for moment in _MOMENTS}
    return {moment: lasts for moment, lasts in times.items() if lasts is not None}


def _called(piece: Piece) -> str:
    return f"{piece.kept.kind} {piece.kept.name}"
