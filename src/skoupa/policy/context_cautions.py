"""What the context of a CleanupPolicy may not mean: names that are taken, and paths to which no kind answers.

The server says 404 of a misspelt plural as it does of an object that is not there, so that beside a `default` that stands in every
time, and a condition like "nobody uses it" holds of everything; where it is certain which kind was meant a run takes it for an error
(`asked_kinds`). Nothing is said of a path where a variable is the kind, nor
of a group that could not be read: it may be there.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from typing import Final

from skoupa.expr.readings import quoted
from skoupa.kinds.policies.context import ApiCall
from skoupa.kube.kinds import Discovery
from skoupa.kube.resources import Resource
from skoupa.policy.asked_kinds import AskedKind, surely_meant
from skoupa.policy.policies import Clauses
from skoupa.policy.problems import Problem
from skoupa.policy.variable_names import ROOTS

_VARIABLE: Final = re.compile(r"\{\{.*?\}\}")
_FILLED: Final = "\0"
_LIST: Final = "`kubectl api-resources` lists the kinds"
# Of a Namespace itself, not of a kind in it.
_OF_NAMESPACES: Final = frozenset({"status", "finalize"})


def context_cautions(clauses: Clauses, discovery: Discovery | None) -> Iterator[Problem]:
    for index, entry in enumerate(clauses.context):
        path = f"spec.context[{index}]"
        if entry.name in ROOTS:
            what = f"{entry.name} is what the run itself brings, so that nobody ever sees this entry"
            yield Problem(path=f"{path}.name", what=what, instead="give it another name")
        call = entry.api_call
        if call is not None and call.service is None and call.method == "GET" and discovery is not None:
            yield from _nobody_answers(call, f"{path}.apiCall.urlPath", discovery)


def _nobody_answers(call: ApiCall, path: str, discovery: Discovery) -> Iterator[Problem]:
    asked = _asked(call.url_path or "")
    if asked is None or discovery.unreadable(asked.group) is not None:
        return
    meant = surely_meant(asked, discovery)
    stands_in = call.default is not None and meant is None
    comes_of_it = "its default stands in every time" if stands_in else "everything stays"
    rows = [
        row
        for row in discovery.resources
        if (row.group, row.version, row.plural) == (asked.group, asked.version, asked.plural)
    ]
    if not rows:
        what = f"the server has no {quoted(asked.plural)} of {asked.api_version}, so that {comes_of_it}"
        yield Problem(path=path, what=what, instead=_nearest(asked, discovery))
    elif not any(row.namespaced for row in rows) and asked.inside:
        what = f"{asked.plural} lie in no namespace, so that {comes_of_it}"
        yield Problem(path=path, what=what, instead=f"write {rows[0].path()}/NAME")
    elif all(row.namespaced for row in rows) and asked.named and not asked.inside:
        what = f"{asked.plural} lie in namespaces, and none stands here, so that {comes_of_it}"
        yield Problem(path=path, what=what, instead=f"write {rows[0].path(namespace='NAMESPACE')}/NAME")


def _asked(url_path: str) -> AskedKind | None:
    """Which kind it asks for, as far as that stands there; None where it does not, or where it is about no kind."""
    written = _VARIABLE.sub(_FILLED, url_path.partition("?")[0]).removesuffix("/")
    if "{{" in written or "}}" in written or "%" in written:
        return None
    match written.split("/"):
        case ["", "api", version, *rest]:
            group = ""
        case ["", "apis", group, version, *rest]:
            pass
        case _:
            return None
    match rest:
        case ["namespaces", _, plural, *names] if plural not in _OF_NAMESPACES or names:
            inside = True
        case [plural, *names]:
            inside = False
        case _:
            return None
    if any(not step or _FILLED in step for step in (version, plural, *([group] if group else []))):
        return None
    return AskedKind(group, version, plural, inside, bool(names))


def _nearest(asked: AskedKind, discovery: Discovery) -> str:
    def shown(row: Resource) -> str:
        return row.path(namespace="NAMESPACE" if row.namespaced and asked.inside else "")

    meant = surely_meant(asked, discovery)
    same = meant or next((row for row in discovery.resources if row.plural == asked.plural), None)
    if same is not None:
        return f"write {shown(same)}"
    known: dict[str, Resource] = {}
    for row in sorted(discovery.resources, key=lambda row: row.group != asked.group):
        for alias in (row.plural, row.singular, row.kind.lower(), *row.short_names):
            known.setdefault(alias, row)
    near = difflib.get_close_matches(asked.plural.lower(), known, n=1)
    return f"did you mean {shown(known[near[0]])}?" if near else _LIST
