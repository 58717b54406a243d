"""What is to outlive the cluster (seed 001, story 3), and what has to stay along with it.

A thing outside of the cluster is preserved by its own tags, by the annotations of the object that it was made for, or by
`spec.preserve`: any of them is enough, and preserving wins over deleting. What can't be understood preserves too, and is told. What a
preserved thing needs (a load balancer its target groups and security groups) stays as well, and says because of which. An entry of
`spec.preserve` of which a part is not understood means whatever fits the rest of it. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

from skoupa import names
from skoupa.expr.instants import parse_rfc3339
from skoupa.expr.readings import At
from skoupa.expr.ttl import parse_ttl
from skoupa.expr.wildcards import matches
from skoupa.kinds.alive import Preserved
from skoupa.kinds.reading import read_partly

_FALSE: Final = "false"


class Thing(msgspec.Struct, frozen=True, kw_only=True):
    """Something outside of the cluster: its id and tags, the object that it was made for, and the ids of what it needs."""

    id: str
    kind: str = ""
    namespace: str = ""
    name: str = ""
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
    tags: Mapping[str, str] = {}
    needs: tuple[str, ...] = ()


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """`why` in words; `because_of` is the thing that needs it, `doubt` what could not be understood."""

    why: str
    because_of: str = ""
    doubt: str = ""


def preserved(
    things: Iterable[Thing], wanted: Iterable[Preserved | Mapping[str, Any]], *, now: float
) -> dict[str, Kept]:
    """By id: everything that stays, and why. Each with what it needs, however far away that is.

    `wanted` are the entries of `spec.preserve`, also as the server has them (`Deletion.preserve` of the SDK).
    """
    known = {thing.id: thing for thing in things}
    entries = [_entry(one) for one in wanted]
    kept = {one.id: why for one in known.values() if (why := _itself(one, entries, now)) is not None}
    ahead = list(kept)
    while ahead:
        needed_by = ahead.pop(0)
        thing = known.get(needed_by)
        for needed in thing.needs if thing is not None else ():
            if needed not in kept:
                kept[needed] = Kept(why=f"{needed_by} needs it, which is preserved", because_of=needed_by)
                ahead.append(needed)
    return kept


def fitting_nothing(things: Iterable[Thing], wanted: Iterable[Preserved]) -> list[int]:
    """The numbers of the entries that mean none of these things: perhaps misspelt. What is told by tags or ids can't be seen in a cluster."""
    known = list(things)
    return [
        number
        for number, one in enumerate(wanted)
        if not (one.tags or one.ids) and not any(_means(one, thing) for thing in known)
    ]


def understood(raw: object) -> tuple[Preserved, ...]:
    """`spec.preserve` as it is in the object, as far as it can be understood. What is no list means everything, if it is anything."""
    if isinstance(raw, list | tuple):
        return tuple(_entry(one).entry for one in raw)
    return () if raw is None else (_entry(raw).entry,)


class _Entry(msgspec.Struct, frozen=True):
    entry: Preserved
    doubt: str = ""


def _entry(one: object) -> _Entry:
    if isinstance(one, Preserved):
        return _Entry(one)
    partly = read_partly(one, Preserved, where="preserve")
    entry = partly.value if isinstance(partly.value, Preserved) else Preserved()
    return _Entry(entry, "; ".join(str(error) for error in partly.errors))


def marked(marks: Mapping[str, str], *, now: float, where: str) -> Kept | None:
    """By the annotations of an object, or by tags of the same names; `where` says which in words."""
    value = marks.get(names.PRESERVE_ANNOTATION)
    if value is not None and value.strip().lower() != _FALSE:
        doubt = "" if value == "true" else f'{names.PRESERVE_ANNOTATION}="{value}" is taken for true'
        return Kept(why=f"{where} has {names.PRESERVE_ANNOTATION}", doubt=doubt)
    until = marks.get(names.PRESERVE_UNTIL_ANNOTATION)
    if until is None:
        return None
    end = _time(until)
    if end is None:
        return Kept(
            why=f"{where} has {names.PRESERVE_UNTIL_ANNOTATION}",
            doubt=f'"{until}" is no time, so it counts for good: write 2026-09-30 or 2026-09-30T12:00:00Z',
        )
    return Kept(why=f"{where} has {names.PRESERVE_UNTIL_ANNOTATION}={until}") if now < end else None


def _itself(thing: Thing, wanted: list[_Entry], now: float) -> Kept | None:
    found = marked(thing.tags, now=now, where="it")
    if found is None:
        found = marked(thing.annotations, now=now, where=f"{thing.kind} {thing.namespace}/{thing.name}")
    if found is not None:
        return found
    for number, (one, doubt) in enumerate((each.entry, each.doubt) for each in wanted):
        if (one.until is None or now < one.until.timestamp()) and _means(one, thing):
            return Kept(why=one.reason or f"spec.preserve[{number}] of Alive", doubt=doubt)
    return None


def _means(one: Preserved, thing: Thing) -> bool:
    """Whether it fits all that is written."""
    return (
        (one.kind is None or any(_fits(one.kind.lower(), called) for called in _called(thing.kind.lower())))
        and (one.namespace is None or _fits(one.namespace, thing.namespace))
        and (not one.names or any(_fits(name, thing.name) for name in one.names))
        and (not one.ids or thing.id in one.ids)
        and one.match_labels.items() <= dict(thing.labels).items()
        and one.tags.items() <= dict(thing.tags).items()
    )


def _called(kind: str) -> Iterator[str]:
    """Also as kubectl calls many of them: services, ingresses."""
    yield kind
    yield f"{kind}es" if kind.endswith("s") else f"{kind}s"


def _time(text: str) -> float | None:
    found = parse_ttl(text)
    if isinstance(found, At):
        return float(found.epoch_seconds)
    moment = parse_rfc3339(text)
    return float(moment) if isinstance(moment, int) else None


def _fits(pattern: str, text: str) -> bool:
    try:
        return matches(pattern, text)
    except ValueError:
        # Too much work to tell: it stays.
        return True
