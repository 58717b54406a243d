"""docs/references.md: by which fields an object points at another, from the tables of `usage/`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from harness.reference.markdown import code, page, table
from skoupa.usage import builtin, custom
from skoupa.usage.paths import parsed, written
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
    Shape,
)
from skoupa.usage.silent import REPORTS

_INTRODUCTION: Final = """
By which fields objects point at others, as Skoupa reads it to know what is in use. For the kinds of Kubernetes itself the table is
compared with the schemas of a running server: a field in the shape of a reference that is not here fails the tests.

In a path `[]` is every item of a list, `{}` every value of a map and `{@}` every key of it. A kind that the reference says itself is
shown as the fields that say it. Names are looked for in the namespace of the object that has them, unless a field says another;
`*` is any. What is optional for Kubernetes (`optional: true`) is a use like any other. `null` is the same as nothing; a field that is of
another type than it should be makes the object one that **may point at anything**, until it is mended.

A Pod that has succeeded or failed uses nothing any more; whatever made it does. ReplicaSets without replicas, ControllerRevisions and
suspended CronJobs use what their templates name.
"""
_MEANINGS: Final = {
    Means.USES: "needs it",
    Means.PRODUCES: "would make it again; keeps it",
    Means.MANAGES: "scales, selects or tracks it; keeps it",
    Means.MENTIONS: "only names it; keeps it, and is shown apart",
    Means.CONCERNS: "is made for it and does not need it; does **not** keep it",
}
_MARKED: Final = "Annotations and labels by which controllers are told a name."
_WALKED: Final = """
Custom kinds. Where a field is walked, whatever below it is shaped like a reference counts too, since definitions are newer than
tables. Kinds that are not in the table are walked as a whole, but for reports: they name all that they are about and use nothing
({reports}).
"""

# Path, target and what it means.
Row = tuple[str, str, str]


def references_page() -> str:
    tables = (*builtin.RULES, *custom.RULES)
    shapes = _shapes(tables)
    means = [(one.value, text) for one, text in _MEANINGS.items()]
    inside = [(name, *row) for shape, name in shapes.items() for row in _rows(shape.parts, shapes)]
    return page(
        "References",
        _INTRODUCTION,
        table(("means", "who has the reference"), means),
        "## Kinds of Kubernetes",
        _kinds(builtin.RULES, shapes),
        "## What is inside of many",
        table(("in a", "path", "points at", "means"), inside),
        "## Annotations and labels",
        _MARKED,
        table(("on", "key", "points at", "means"), _marked((*builtin.ANNOTATED, *custom.ANNOTATED))),
        "## Custom kinds",
        _WALKED.format(reports=", ".join(map(code, sorted(REPORTS)))),
        _kinds(custom.RULES, shapes),
        source="skoupa.usage.builtin and skoupa.usage.custom",
    )


def _shapes(tables: Iterable[KindRules]) -> dict[Shape, str]:
    """Each shape, and what it is called; two with the same name are told apart by a number."""
    found: dict[Shape, str] = {}

    def gather(parts: Iterable[Part]) -> None:
        for part in parts:
            if isinstance(part, Embedded) and part.shape not in found:
                same = sum(shape.name == part.shape.name for shape in found)
                found[part.shape] = part.shape.name + (f" ({same + 1})" if same else "")
                gather(part.shape.parts)

    for one in tables:
        gather(one.parts)
    return dict(sorted(found.items(), key=lambda item: item[1]))


def _kinds(tables: Iterable[KindRules], shapes: Mapping[Shape, str]) -> str:
    rows = [
        (code(one.kind), *row)
        for one in sorted(tables, key=lambda one: one.kind)
        for row in (*_rows(one.parts, shapes), *_walked(one))
    ]
    return table(("kind", "path", "points at", "means"), rows)


def _walked(rules: KindRules) -> Iterator[Row]:
    for field in rules.walked:
        yield code(field), "walked", ""


def _rows(parts: Iterable[Part], shapes: Mapping[Shape, str]) -> Iterator[Row]:
    for part in parts:
        match part:
            case Embedded():
                yield code(part.at) if part.at else "itself", f"all that a “{shapes[part.shape]}” does", ""
            case Reference():
                path = written((*parsed(part.at), *parsed(part.name)))
                yield code(path) + _when(part), _target(part) + _form(part.form), part.means.value
            case Selection():
                yield code(part.at), f"every {code(part.to)} with these labels", part.means.value
            case Implied():
                named = f" where there is {code(part.only_at)}" if part.only_at else ""
                labelled = f"with the label {code(part.label)} " if part.label else ""
                target = f"{code(part.to)} {labelled}{code(part.name)}"
                yield f"by its name{named}", target, part.means.value


def _when(rule: Reference) -> str:
    if not rule.when_at:
        return ""
    return f" where {code(rule.when_at)} is {' or '.join(map(code, rule.when))}"


def _target(rule: Reference) -> str:
    target = code(rule.to) if rule.to else ""
    said = [code(path) for path in (rule.kind_at, rule.group_at, rule.version_at) if path]
    if said:
        target = f"what {', '.join(said)} say" + (f", else {target}" if target else "")
    if rule.otherwise:
        target += f", {code(rule.otherwise)} if empty"
    if rule.namespace_at:
        target += f", in {code(rule.namespace_at)}"
    elif rule.namespace == ANY_NAMESPACE:
        target += ", in any namespace"
    return target


def _form(form: Form) -> str:
    return "" if form is Form.NAME else f", written {code(form.value)}"


def _marked(rules: Iterable[Annotated]) -> Iterator[tuple[str, str, str, str]]:
    for one in rules:
        kinds = ", ".join(map(code, one.of)) or "any kind"
        sort = "label" if one.label else "annotation"
        yield kinds, f"{sort} {code(one.key)}", code(one.to) + _form(one.form), one.means.value
