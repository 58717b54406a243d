"""Kyverno's random library: a string that a regular expression matches, from the chance that the World hands in."""

from __future__ import annotations

from typing import Final

from skoupa.errors import TooCostly
from skoupa.expr.cel.library.declaring import function
from skoupa.expr.cel.library.world import World
from skoupa.expr.jmespath.functions import chance
from skoupa.expr.jmespath.running import Context, Run

_DEFAULT: Final = "[0-9a-z]{8}"


def random(world: World, pattern: str = _DEFAULT) -> str:
    run = Run(f"random({pattern!r})", Context(now=world.now.timestamp(), chance=world.chance))
    try:
        return chance.random(run, pattern)
    except TooCostly as error:
        raise ValueError(str(error)) from error


FUNCTIONS: Final = tuple(
    function(name, random, "-> string", "string -> string", worldly=True)
    for name in ("random", "random.random")
)
