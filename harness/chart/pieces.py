"""What of a set of manifests depends on which switches, found out by trying all of them.

A piece is one object: what is the same in all circumstances, in which of them it is there at all, and each part of it that differs
with the switches that it differs by. Nobody has to say which setting concerns which object, so nobody can forget one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any, Final, TypeVar

import msgspec

from skoupa.install.labelling import Manifest

Circumstance = frozenset[str]
Place = tuple[str, ...]
T = TypeVar("T", bool, bytes)

# The key of a circumstance in which none of the switches is on.
NONE: Final = "none"
_ALWAYS_THE_SAME: Final = ("apiVersion", "kind", "metadata")


def pieces(switches: Sequence[str], made: Callable[[Circumstance], Iterable[Manifest]]) -> list[Manifest]:
    """In the order in which the objects first come; the chart's `skoupa.pieces` puts them together again."""
    found: dict[tuple[str, ...], dict[Circumstance, Manifest]] = {}
    everything = [
        frozenset(name for name, on in zip(switches, chosen, strict=True) if on)
        for chosen in product((True, False), repeat=len(switches))
    ]
    for circumstance in everything:
        for body in made(circumstance):
            found.setdefault(_identity(body), {})[circumstance] = body
    return [_piece(bodies, everything, switches) for bodies in found.values()]


def _identity(body: Manifest) -> tuple[str, ...]:
    metadata = body["metadata"]
    return (body["apiVersion"], body["kind"], metadata.get("namespace", ""), metadata["name"])


def _piece(
    bodies: Mapping[Circumstance, Manifest], everything: Iterable[Circumstance], switches: Sequence[str]
) -> Manifest:
    piece: Manifest = {}
    there = {circumstance: circumstance in bodies for circumstance in everything}
    of = _concerning(there, switches)
    if of:
        cases = _by_case(there, of)
        piece["only"] = {"of": of, "when": sorted(case for case, is_there in cases.items() if is_there)}
    first = next(iter(bodies.values()))
    piece["object"] = {key: first[key] for key in _ALWAYS_THE_SAME}
    varying = []
    parts = {circumstance: dict(_parts(body)) for circumstance, body in bodies.items()}
    for place in dict.fromkeys(place for found in parts.values() for place in found):
        written = {
            circumstance: msgspec.json.encode(found[place]) if place in found else b""
            for circumstance, found in parts.items()
        }
        of = _concerning(written, switches)
        cases = {
            case: msgspec.json.decode(text) for case, text in sorted(_by_case(written, of).items()) if text
        }
        if of:
            varying.append({"at": list(place), "of": of, "is": cases})
        else:
            _put(piece["object"], place, cases[NONE])
    return {**piece, "varying": varying} if varying else piece


def _parts(body: Manifest) -> Iterator[tuple[Place, Any]]:
    """Each field of a spec by itself: of a long policy mostly a word differs."""
    for key, value in body.items():
        if key in _ALWAYS_THE_SAME:
            continue
        if key == "spec":
            yield from (((key, below), part) for below, part in value.items())
        else:
            yield (key,), value


def _put(body: Manifest, place: Place, value: Any) -> None:
    *above, last = place
    for key in above:
        body = body.setdefault(key, {})
    body[last] = value


def _concerning(values: Mapping[Circumstance, T], switches: Sequence[str]) -> list[str]:
    if len(set(values.values())) == 1:
        return []
    return [
        switch
        for switch in switches
        if any(
            values[one] != values[one | {switch}]
            for one in values
            if switch not in one and one | {switch} in values
        )
    ]


def _by_case(values: Mapping[Circumstance, T], of: Sequence[str]) -> dict[str, T]:
    cases: dict[str, T] = {}
    for circumstance, value in values.items():
        case = " ".join(switch for switch in of if switch in circumstance) or NONE
        if cases.setdefault(case, value) != value:
            raise ValueError(f"{', '.join(of) or 'nothing'} does not decide what is there: {case}")
    return cases
