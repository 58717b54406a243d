"""The rules of one kind, laid out: shapes unfolded, each rule at the place of the object where it is read.

An `Anchored` rule stands at a place in the object, wants values that are to be found from there, and knows what to make of
them. How they are found is the matter of others: `typed.py` for what comes from a server, `usage/loose.py` for
anything else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from functools import partial
from typing import Any, Final

import msgspec

from skoupa.usage.applying.findings import Findings, Memory
from skoupa.usage.applying.naming import ANYTHING, configures
from skoupa.usage.applying.pointing import (
    Scopes,
    annotation_meaning,
    reference_meaning,
    wanted_beside,
)
from skoupa.usage.applying.selecting import labels_text, selector_text
from skoupa.usage.found import Choice, Target, Use
from skoupa.usage.paths import Path, fields, last_of_many, parsed, written
from skoupa.usage.rules import (
    ANY_NAMESPACE,
    Annotated,
    Embedded,
    Form,
    Implied,
    KindRules,
    Means,
    Part,
    Reference,
    Selection,
)

Emit = Callable[[Any, Findings], None]


class Sort(Enum):
    """What a value at a place has to be."""

    TEXT = "text"
    TEXTS = "a list of texts"
    LABELS = "a map of labels"
    SELECTOR = "a label selector"
    # Only whether it is there at all.
    PRESENT = "an object"


class Want(msgspec.Struct, frozen=True):
    """Something that is found from an anchor by these fields; by none it is the anchor itself."""

    path: tuple[str, ...]
    sort: Sort = Sort.TEXT


class Anchored(msgspec.Struct, frozen=True):
    """`emit` gets what `wants` found, as a tuple, or the value itself where only one is wanted; None for what is not there."""

    at: Path
    wants: tuple[Want, ...]
    emit: Emit
    # Whether it says something too where nothing that it wants is there.
    always: bool = False


class Marked(msgspec.Struct, frozen=True):
    """A rule about a label or an annotation of the object itself."""

    key: str
    label: bool
    emit: Emit

    @property
    def prefix(self) -> str:
        return self.key[:-1] if self.key.endswith("*") else ""


class Layout(msgspec.Struct, frozen=True):
    """All rules of one kind, by what has to be at hand to read them."""

    anchored: tuple[Anchored, ...]
    marked: tuple[Marked, ...]
    # Rules that need nothing but the name of the object.
    named: tuple[Emit, ...]


def unfolded(parts: Iterable[Part], at: str = "") -> Iterator[tuple[Path, Reference | Selection | Implied]]:
    """Each rule with the path from which its own paths count."""
    for part in parts:
        if isinstance(part, Embedded):
            yield from unfolded(part.shape.parts, written((*parsed(at), *parsed(part.at))))
        else:
            yield parsed(at), part


def targets(rules: KindRules) -> frozenset[str]:
    """The kinds that objects of this kind can keep by pointing at them, as far as that depends on their fields."""
    found = {ANYTHING} if rules.walked or rules.whole else set()
    for _, part in unfolded(rules.parts):
        if part.means is not Means.CONCERNS:
            dynamic = isinstance(part, Reference) and part.kind_at
            found.add(ANYTHING if dynamic else part.to)
    return frozenset(found)


def laid_out(
    rules: KindRules | None, annotated: Iterable[Annotated], *, scopes: Scopes, memory: Memory
) -> Layout:
    anchored: list[Anchored] = []
    marked: list[Marked] = []
    named: list[Emit] = []
    for base, part in unfolded(rules.parts if rules else ()):
        match part:
            case Reference():
                found = _reference(base, part, scopes=scopes, memory=memory)
                (marked if isinstance(found, Marked) else anchored).append(found)  # type: ignore[arg-type]
            case Selection():
                anchored.append(_selection(base, part, scopes=scopes))
            case Implied():
                implied = _implied(base, part, scopes=scopes, place=memory.place())
                (anchored if isinstance(implied, Anchored) else named).append(implied)  # type: ignore[arg-type]
    for one in annotated:
        at = written(("metadata", "labels" if one.label else "annotations", one.key))
        emit = memory.emitter(annotation_meaning(one, at=at, scopes=scopes))
        marked.append(Marked(key=one.key, label=one.label, emit=emit))
    return Layout(tuple(anchored), tuple(marked), tuple(named))


def _reference(base: Path, rule: Reference, *, scopes: Scopes, memory: Memory) -> Anchored | Marked:
    whole = (*base, *parsed(rule.at))
    listed = rule.name.endswith("[]")
    name: tuple[str, ...] = fields(rule.name.removesuffix("[]"))
    shown = written((*whole, *parsed(rule.name)))
    meaning = reference_meaning(rule, at=shown, scopes=scopes)
    told = rule.form is Form.ARGUMENT
    emit = memory.forgetful(meaning, worth=configures) if told else memory.emitter(meaning)
    beside = tuple(Want(fields(path)) for path in wanted_beside(rule))
    if not name and len(whole) > 1 and isinstance(last := whole[-1], str):
        # The name is a field of the object before it, where what else is wanted stands too.
        whole, name = whole[:-1], (last,)
    if len(whole) == 2 and whole[0] == "metadata" and whole[1] in ("annotations", "labels") and not beside:
        return Marked(key=name[0], label=whole[1] == "labels", emit=emit)
    if beside and not name:
        raise ValueError(
            f"{shown}: there is nothing beside what stands in a list, or at the top of an object"
        )
    if listed:
        return Anchored(
            at=whole, wants=(Want(name, Sort.TEXTS), *beside), emit=_each(emit, with_others=bool(beside))
        )
    return Anchored(at=whole, wants=(Want(name), *beside), emit=emit, always=bool(rule.otherwise))


def _each(emit: Emit, *, with_others: bool) -> Emit:
    """For a list of names, all of which have the same beside them."""

    def emit_each(values: Any, findings: Findings) -> None:
        names, *beside = values if with_others else (values,)
        for name in names or ():
            emit((name, *beside) if with_others else name, findings)

    return emit_each


def _selection(base: Path, rule: Selection, *, scopes: Scopes) -> Anchored:
    whole = (*base, *parsed(rule.at))
    shown = written(whole)
    sort = Sort.LABELS if rule.plain else Sort.SELECTOR
    choose = partial(_choose, rule=rule, at=shown, scopes=scopes)
    if not rule.namespaces_at and not rule.listed_at:
        return Anchored(at=whole, wants=(Want((), sort),), emit=lambda value, told: choose((value,), told))
    if not isinstance(whole[-1], str) or len(whole) == 1:
        raise ValueError(
            f"{shown}: there is nothing beside what stands in a list, or at the top of an object"
        )
    beside = ((rule.namespaces_at, Sort.SELECTOR), (rule.listed_at, Sort.TEXTS))
    wants = (Want(fields(path), kind) for path, kind in beside if path)
    return Anchored(at=whole[:-1], wants=(Want((whole[-1],), sort), *wants), emit=choose)


def _choose(values: tuple[Any, ...], findings: Findings, *, rule: Selection, at: str, scopes: Scopes) -> None:
    value, *beside = values
    labelled = beside.pop(0) if rule.namespaces_at else None
    listed = beside.pop(0) if rule.listed_at else None
    if (value is None and labelled is None) or (rule.plain and not value):
        return
    try:
        selector = labels_text(value) if rule.plain else selector_text(value) if value is not None else ""
        within = selector_text(labelled) if labelled is not None else ""
    except ValueError as fault:
        findings.doubt(f"{at}: {fault}")
        return
    where = [(name, "") for name in listed or () if name]
    if labelled is not None:
        where.append((ANY_NAMESPACE, within))
    for said, namespaces in where or [("", "")]:
        namespace = scopes.place(rule.to, said=said, fixed=rule.namespace, own=findings.namespace)
        findings.choices[at, rule.to, namespace, selector, namespaces] = Choice(
            kind=rule.to,
            namespace=namespace,
            selector=selector,
            namespaces=namespaces,
            at=at,
            means=rule.means,
        )


_HOLE: Final = re.compile(r"\{((?:[^{}]|\{@?\})+)\}")
_OWN_NAME: Final = "metadata.name"


def _implied(base: Path, rule: Implied, *, scopes: Scopes, place: int) -> Anchored | Emit:
    holes = [hole for hole in _HOLE.findall(rule.name) if hole != _OWN_NAME]
    paths = [(*base, *parsed(hole)) for hole in holes]
    only = [(*base, *parsed(rule.only_at))] if rule.only_at else []
    shown = written((only or paths or [(*base, *parsed(_OWN_NAME))])[0])
    pattern = _HOLE.sub(lambda hole: "{}" if hole[1] != _OWN_NAME else "{own}", rule.name)

    def imply(values: tuple[Any, ...], findings: Findings) -> None:
        if not all(values):
            return
        name = pattern.format(*values, own=findings.name)
        namespace = scopes.place(rule.to, said="", fixed=rule.namespace, own=findings.namespace)
        if rule.label:
            try:
                selector = labels_text({rule.label: name})
            except ValueError:
                # Then nothing can be labelled so.
                return
            findings.choices[shown, rule.to, namespace, selector, ""] = Choice(
                kind=rule.to, namespace=namespace, selector=selector, at=shown, means=rule.means
            )
        else:
            findings.uses[place, "", name] = (Use(Target(rule.to, namespace, name), shown, rule.means),)

    if not paths and not only:
        return lambda _, findings: imply((), findings)
    anchor = _anchor([*paths, *only], shown=shown)
    rests = [_rest(path, anchor) for path in paths]
    texts = len(paths)
    wants = (
        *(Want(rest) for rest in rests),
        *(Want(_rest(path, anchor), Sort.PRESENT) for path in only if _rest(path, anchor) not in rests),
    )

    def emit(values: Any, findings: Findings) -> None:
        if None not in values:
            imply(values[:texts], findings)

    if len(wants) == 1:
        return Anchored(at=anchor, wants=wants, emit=lambda value, findings: emit((value,), findings))
    return Anchored(at=anchor, wants=wants, emit=emit)


def _anchor(paths: list[Path], *, shown: str) -> Path:
    """The object that all these paths go through: the item of the list where they go through one, else as near as can be."""
    longest = max(paths, key=last_of_many)
    anchor = longest[: last_of_many(longest)]
    if not anchor:
        anchor = _common([path[:-1] for path in paths])
    if not anchor:
        anchor = longest[:1]
    if any(path[: len(anchor)] != anchor for path in paths):
        raise ValueError(f"{shown}: these paths do not go through the same item of the same list")
    return anchor


def _common(paths: list[Path]) -> Path:
    first = paths[0]
    for length in range(len(first), 0, -1):
        if all(path[:length] == first[:length] for path in paths):
            return first[:length]
    return ()


def _rest(path: Path, anchor: Path) -> tuple[str, ...]:
    return fields(written(path[len(anchor) :]))
