"""All functions that an expression may call: JMESPath's own, Kyverno's and Skoupa's, by name.

Each topic is a module with a table of its own; this puts them together. A function is plain Python with a typed
signature, from which arity and types are checked when an expression is compiled (`signature`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from skoupa.expr.jmespath.functions import (
    addresses,
    arithmetic,
    certificates,
    chance,
    containers,
    encoding,
    patterns,
    releases,
    standard,
    strings,
    times,
    usage,
)
from skoupa.expr.jmespath.functions.signature import Function

FUNCTIONS: Final[Mapping[str, Function]] = {
    function.name: function
    for topic in (
        standard,
        strings,
        patterns,
        encoding,
        arithmetic,
        containers,
        releases,
        times,
        certificates,
        chance,
        addresses,
        usage,
    )
    for function in topic.FUNCTIONS
}
