"""Ways to break the embedded cluster in one place, for the proof that a rule notices.

Targets are named below `skoupa.sim` where they are used: a function that a module imported by name is replaced in
that module. Everything is put back after the test.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from skoupa.sim.state.refusals import Refusal

Sabotage = Callable[[pytest.MonkeyPatch], None]


def swap(target: str, replacement: Any) -> Sabotage:
    """Puts something else in the place of the target."""

    def apply(patch: pytest.MonkeyPatch) -> None:
        patch.setattr(f"skoupa.sim.{target}", replacement)

    return apply


def wrap(target: str, around: Callable[[Any], Any]) -> Sabotage:
    """Puts what `around` makes of the target in its place."""

    def apply(patch: pytest.MonkeyPatch) -> None:
        patch.setattr(f"skoupa.sim.{target}", around(pkgutil.resolve_name(f"skoupa.sim.{target}")))

    return apply


def edit(target: str, change: Callable[[Any], Any]) -> Sabotage:
    """The target's results are changed on their way out."""
    return wrap(target, lambda original: lambda *args, **kwargs: change(original(*args, **kwargs)))


def always(target: str, result: Any) -> Sabotage:
    """The target gives one answer to everything."""
    return swap(target, lambda *_, **__: result)


def skip(target: str) -> Sabotage:
    """The target does nothing."""
    return always(target, None)


def misspeak(target: str) -> Sabotage:
    """The target, which makes a refusal, makes one that no server would."""
    return swap(target, lambda *_, **__: Refusal(code=451, reason="Sabotage", message="sabotage"))


def refuse(target: str) -> Sabotage:
    """The target refuses whatever it is asked."""

    def refusing(*_: Any, **__: Any) -> Any:
        raise Refusal(code=451, reason="Sabotage", message="sabotage")

    return swap(target, refusing)


def but(struct: Any, **fields: Any) -> Any:
    """A frozen Struct with other fields."""
    return msgspec.structs.replace(struct, **fields)
