"""All functions together: what every policy has, and what depends on whether it lives in a namespace."""

from __future__ import annotations

from typing import Final

from skoupa.expr.cel.library import (
    addresses,
    certificates,
    chance,
    conversions,
    documents,
    formats,
    formatting,
    images,
    lists,
    numbers,
    outside,
    quantities,
    texts,
    times,
    urls,
    usage,
    versions,
)
from skoupa.expr.cel.library.declaring import Function, function, method

EVERYWHERE: Final[tuple[Function, ...]] = tuple(
    declared
    for topic in (
        addresses,
        certificates,
        chance,
        documents,
        formats,
        images,
        lists,
        numbers,
        outside,
        quantities,
        texts,
        times,
        urls,
        usage,
        versions,
    )
    for declared in topic.FUNCTIONS
)
# Not for expressions. `variables.name` is rewritten to a call, so that a variable is worked out only when it is reached;
# and what the engine has to be told the type of (it takes no time from Python otherwise) has a form per type.
VARIABLE: Final = "skoupa_variable"
TYPED: Final = ("timestamp", "duration", "uint", "list<timestamp>", "list<duration>")


def typed(name: str, type_name: str) -> str:
    return f"{name}_{type_name}"


HIDDEN: Final = (
    function(VARIABLE, lambda world, name: world.variable(name), "string -> dyn", worldly=True),
    *(
        function(
            typed(VARIABLE, kind), lambda world, name: world.variable(name), f"string -> {kind}", worldly=True
        )
        for kind in TYPED
    ),
    *(
        method(typed(name, kind), answer, f"list<{kind}> -> {kind}")
        for kind, forms in lists.TYPED.items()
        for name, answer in forms.items()
    ),
    *conversions.HIDDEN,
    *formatting.HIDDEN,
    *texts.HIDDEN,
)


def declared_for(*, namespaced: bool) -> tuple[Function, ...]:
    """What an expression of such a policy is checked against."""
    return EVERYWHERE + (outside.OF_NAMESPACED_POLICIES if namespaced else outside.OF_CLUSTER_POLICIES)


ANSWERED: Final = EVERYWHERE + outside.OF_NAMESPACED_POLICIES + outside.OF_CLUSTER_POLICIES + HIDDEN
OPTIONAL: Final = frozenset(declared.name for declared in ANSWERED if declared.optional)
LOOKING_OUTSIDE: Final = {
    declared.name: f"http.{declared.name}" if declared.method else declared.name
    for declared in ANSWERED
    if declared.looks_outside
}
NAMES: Final = frozenset(declared.name for declared in EVERYWHERE + outside.OF_CLUSTER_POLICIES)
