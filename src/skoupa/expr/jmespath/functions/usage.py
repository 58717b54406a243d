"""Who uses the object that is judged, and whether it has finished (`expr/usage_functions`); asked of the Context.

What nobody knows is an Unanswered: neither `||` nor the default of a context entry makes an answer of it.
"""

from __future__ import annotations

from typing import Any, Final

from skoupa.errors import SkoupaError, Unanswered
from skoupa.expr.jmespath.functions.signature import Function, Items, Members, Truth, declare
from skoupa.expr.jmespath.running import Run
from skoupa.expr.usage_functions import BEHIND_SERVICE, FINISHED, UNMOUNTED, UNUSED, USED_BY, uid_of


def _unused(run: Run, object_: Members) -> Truth:
    return bool(_asked(run, UNUSED, object_))


def _unmounted(run: Run, object_: Members) -> Truth:
    return bool(_asked(run, UNMOUNTED, object_))


def _behind_service(run: Run, object_: Members) -> Truth:
    return bool(_asked(run, BEHIND_SERVICE, object_))


def _finished(run: Run, object_: Members) -> Truth:
    return bool(_asked(run, FINISHED, object_))


def _used_by(run: Run, object_: Members) -> Items:
    found = _asked(run, USED_BY, object_)
    assert isinstance(found, list)
    run.make_elements(len(found))
    run.make(sum(map(len, found)))
    return found


def _asked(run: Run, function: str, found: dict[str, Any]) -> bool | list[str]:
    ask = run.context.usage or _nobody
    try:
        return ask(function, uid_of(found))
    except ValueError as error:
        raise Unanswered(f"{function}: {error}", expression=run.expression) from error
    except SkoupaError as error:
        raise Unanswered(
            f"{function}: {error.message}", expression=run.expression, advice=error.advice
        ) from error


def _nobody(function: str, uid: str) -> bool:  # noqa: ARG001 - as whoever knows is asked
    raise ValueError(
        "who uses what is not known here; write it in a condition, or in a variable of the context"
    )


FUNCTIONS: Final[tuple[Function, ...]] = (
    declare(_unused, UNUSED),
    declare(_unmounted, UNMOUNTED),
    declare(_behind_service, BEHIND_SERVICE),
    declare(_finished, FINISHED),
    declare(_used_by, USED_BY),
)
