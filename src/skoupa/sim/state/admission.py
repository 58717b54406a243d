"""Admission hooks: callables that see every create, update and delete before it happens.

A hook stands for what admission webhooks and policies do on a real server: it lets a request pass (None), refuses it,
changes the object or adds a warning. Hooks run in the order of their registration, each seeing the object as the one
before left it; they are asked for dry runs and for the cluster's own controllers too, as real ones are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

import msgspec

from skoupa.kube.resources import Resource
from skoupa.sim.state.access import User
from skoupa.sim.state.refusals import Refusal

Operation = Literal["CREATE", "UPDATE", "DELETE"]


class Refuse(msgspec.Struct, frozen=True):
    """The request fails; 403 unless another code is given."""

    message: str
    code: int = 403


class Mutate(msgspec.Struct, frozen=True):
    """The request goes on with this object; ignored for DELETE."""

    obj: Mapping[str, Any]


class Warn(msgspec.Struct, frozen=True):
    """The request goes on, and its answer carries this warning."""

    text: str


Ruling = Refuse | Mutate | Warn | None
Hook = Callable[[Operation, Resource, Mapping[str, Any] | None, Mapping[str, Any] | None, User], Ruling]

_REASONS = {400: "BadRequest", 403: "Forbidden", 404: "NotFound", 409: "Conflict", 422: "Invalid"}


class Admission:
    def __init__(self) -> None:
        self._hooks: dict[str, Hook] = {}

    def __bool__(self) -> bool:
        return bool(self._hooks)

    def add(self, name: str, hook: Hook) -> None:
        self._hooks[name] = hook

    def remove(self, name: str) -> None:
        self._hooks.pop(name, None)

    def ask(
        self,
        operation: Operation,
        *,
        resource: Resource,
        obj: dict[str, Any] | None,
        old: dict[str, Any] | None,
        user: User,
        warnings: list[str],
    ) -> dict[str, Any] | None:
        """The object to go on with; raises the Refusal of the first hook that refuses."""
        for name, hook in self._hooks.items():
            ruling = hook(operation, resource, obj, old, user)
            if isinstance(ruling, Refuse):
                raise Refusal(
                    code=ruling.code,
                    reason=_REASONS.get(ruling.code, ""),
                    message=f'admission webhook "{name}" denied the request: {ruling.message}',
                )
            if isinstance(ruling, Mutate) and obj is not None:
                obj = dict(ruling.obj)
            elif isinstance(ruling, Warn):
                warnings.append(ruling.text)
        return obj
