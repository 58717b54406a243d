"""The parts of one manifest, each read by itself, and what was wrong with them: so that all problems are told at once.

Without what only follows: a place that could not be read says nothing of what is missing beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from skoupa.errors import UsageError
from skoupa.kinds.reading import Partly, read_field_partly, unknown_fields
from skoupa.policy.problems import Problem

_MISSING: Final = " is missing"


class Sections:
    """`shape` is the Struct of the spec. Where metadata or spec are none at all, `problems` says so from the start."""

    def __init__(self, obj: Mapping[str, Any], shape: type[msgspec.Struct]) -> None:
        self.problems: list[Problem] = []
        self._shape = shape
        # Places that could not be read, and the fields that are written there.
        self._wrong: dict[str, frozenset[str]] = {}
        self.metadata = self._mapping(obj, "metadata")
        self.spec = self._mapping(obj, "spec")

    @property
    def whole(self) -> bool:
        """Whether nothing was wrong so far."""
        return not self.problems and not self._wrong

    @property
    def uid(self) -> str:
        return str(self.metadata.get("uid") or "")

    @property
    def generation(self) -> int:
        found = self.metadata.get("generation")
        return found if isinstance(found, int) else 0

    def name(self) -> str:
        found = self.metadata.get("name")
        if isinstance(found, str) and found:
            return found
        if found is None or found == "":
            self.say("metadata.name", "it is missing", "write a name")
        else:
            self.say("metadata.name", f"{found!r} is not a text", f'write it in quotes: "{found}"')
        return ""

    def unknown_fields(self) -> None:
        """A problem for each field of the spec that nobody knows."""
        for error in unknown_fields(self.spec, self._shape, where="spec"):
            self._add(error)

    def field(self, name: str, *, required: bool = False) -> Any:
        """The part as its Struct, without what can't be read of it, which is then a problem; None where nothing is left."""
        value = self.spec.get(name)
        if value is None:
            if required:
                self.say(f"spec.{name}", "it is missing", f"write {name}")
            return None
        return self.note(read_field_partly(value, self._shape, name, where=f"spec.{name}"))

    def note(self, partly: Partly) -> Any:
        for error in partly.errors:
            self._add(error)
        self._wrong |= partly.wrong
        return partly.value

    def is_whole(self, *fields: str) -> bool:
        return not any(place.startswith(f"spec.{field}") for place in self._wrong for field in fields)

    def also(self, found: Iterable[Problem]) -> None:
        """Without what only follows from a place that could not be read: mending that mends it too."""
        self.problems += (problem for problem in found if not self._follows(problem.path))

    def say(self, path: str, what: str, instead: str) -> None:
        self.problems.append(Problem(path=path, what=what, instead=instead))

    def _follows(self, path: str) -> bool:
        around, _, field = path.rpartition(".")
        if around in self._wrong and field.partition("[")[0] not in self._wrong[around]:
            return True
        return any(place == path or place.startswith((f"{path}.", f"{path}[")) for place in self._wrong)

    def _mapping(self, obj: Mapping[str, Any], field: str) -> Mapping[str, Any]:
        found = obj.get(field)
        if isinstance(found, Mapping):
            return found
        what = "it is missing" if found is None else "it is no object with fields"
        self.say(field, what, f"write {field} with its fields")
        return {}

    def _add(self, error: UsageError) -> None:
        path, colon, what = error.message.partition(": ")
        if not colon and path.endswith(_MISSING):
            path, what = path.removesuffix(_MISSING), f"it{_MISSING}"
        self.say(path, what, error.advice)
