"""Who uses the object that is judged, and whether it has finished (`expr/usage_functions`); asked of the parent."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from skoupa.expr.cel.library.declaring import Function, function
from skoupa.expr.cel.library.world import World
from skoupa.expr.cel.messages import Usage
from skoupa.expr.usage_functions import USAGE_FUNCTIONS, USED_BY, uid_of


def _asked(name: str, world: World, found: Any) -> Any:
    return world.ask(Usage(function=name, uid=uid_of(found)))


def _declared(name: str) -> Function:
    gives = "list<string>" if name == USED_BY else "bool"
    return function(name, partial(_asked, name), f"dyn -> {gives}", looks_outside=True)


FUNCTIONS: Final = tuple(map(_declared, USAGE_FUNCTIONS))
