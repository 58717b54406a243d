"""One entry of a policy's context: what it looks at, and how its value is had.

The default of a call is for what does not exist, never for what could not be asked: in Kyverno a server that does not answer turns a
default like [] into "nothing uses it", and the object goes. That of a variable is for a path that leads nowhere. What is taken
of an answer by `jmesPath` is worked out on that answer; variables within it see what the entry sees, and one without a value is an
error beside any default.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Protocol

import msgspec

from skoupa.errors import ExpressionError, NotFound, TooCostly, Unanswered, Unresolved
from skoupa.expr import jmespath
from skoupa.expr.usage_functions import USAGE_FUNCTIONS
from skoupa.kinds.policies.context import ApiCall, ContextEntry, GlobalReference, Variable
from skoupa.policy import variables
from skoupa.policy.variables import Template
from skoupa.runs.calls.protocol import Calls, ServiceCall

Roots = Mapping[str, Any]
Paths = frozenset[tuple[str, ...]]

_ANSWER: Final = "(answer)"
_RANDOM: Final = "random"
_USAGE: Final = frozenset(USAGE_FUNCTIONS)


class Looking(Protocol):
    """A part of an entry that looks at the roots: text with variables, or a path."""

    @property
    def paths(self) -> Paths: ...

    @property
    def random(self) -> bool: ...

    @property
    def usage(self) -> frozenset[str]:
        """Which of Skoupa's own functions it may call."""
        ...


class Source(Protocol):
    """Where a value comes from; a SkoupaError says why it can't be had."""

    @property
    def parts(self) -> tuple[Looking, ...]: ...

    async def value(self, roots: Roots, context: jmespath.Context, calls: Calls) -> Any: ...


class Entry:
    """`paths` are what it looks at from the roots on; `random`: whether it throws dice; `usage`: whom it asks who uses the object."""

    def __init__(self, written: ContextEntry) -> None:
        self.name = written.name
        self._source = _source(written)
        parts = self._source.parts
        self.paths: Paths = frozenset(path for part in parts for path in part.paths)
        self.random = any(part.random for part in parts)
        self.usage = frozenset(function for part in parts for function in part.usage)

    async def value(self, roots: Roots, context: jmespath.Context, calls: Calls) -> Any:
        return await self._source.value(roots, context, calls)


class Filled:
    """A value with variables in it."""

    def __init__(self, written: Any) -> None:
        self._template = Template(written)
        self.paths: Paths = frozenset(path for path in self._template.paths if path[:1] != (_ANSWER,))
        self.random = any(
            variable.expression is None or _RANDOM in variable.expression.functions
            for variable in self._template.variables
        )
        self.usage = frozenset(
            function for variable in self._template.variables for function in _called(variable)
        )
        # Most values have no variables; those are filled in once.
        self._fixed = not self._template.variables
        self._value = self._template.fill({}, jmespath.Context(now=0)) if self._fixed else None

    def fill(self, roots: Roots, context: jmespath.Context) -> Any:
        return self._value if self._fixed else self._template.fill(roots, context)


class Path:
    """`jmesPath`: what to take of the roots or, with `answer`, of an answer. Without a text all of it."""

    def __init__(self, text: str | None, *, answer: bool) -> None:
        self._text = text or "@"
        self._answer = answer
        self._plain: jmespath.Expression | None = None
        self._filled: Filled | None = None
        self._inserted: variables.Inserted | None = None
        if "{{" not in self._text:
            self._plain = jmespath.compile(self._text)
        else:
            # So variables in it fill places and never become syntax.
            before = f'"{_ANSWER}" | ' if answer else ""
            self._filled = Filled(f"{{{{ {before}{self._text} }}}}")
            self._inserted = variables.Inserted(self._text)

    @property
    def paths(self) -> Paths:
        if self._filled is not None:
            return self._filled.paths
        return self._plain.paths if self._plain is not None and not self._answer else frozenset()

    @property
    def random(self) -> bool:
        if self._filled is not None:
            return self._filled.random
        return self._plain is not None and _RANDOM in self._plain.functions

    @property
    def usage(self) -> frozenset[str]:
        if self._filled is not None:
            return self._filled.usage
        return self._plain.functions & _USAGE if self._plain is not None else frozenset()

    def check(self, roots: Roots, context: jmespath.Context) -> None:
        """Raises where a variable in it has no value: that is not the same as a path that leads nowhere."""
        if self._inserted is not None:
            self._inserted.check(roots, context)

    def of(self, value: Any, roots: Roots, context: jmespath.Context) -> Any:
        """`value` is the answer; where none is looked at, nothing."""
        if self._plain is not None:
            return self._plain.search(value if self._answer else roots, context)
        found = self._filled.fill({**roots, _ANSWER: value}, context) if self._filled is not None else None
        if found is None:
            raise Unresolved("it leads nowhere", expression=self._text)
        return found


class _Valued:
    """`variable`: a value that stands in the policy, or is worked out from what is known."""

    def __init__(self, written: Variable) -> None:
        self._value = None if written.value is None else Filled(written.value)
        self._path = None
        if written.value is not None or written.jmes_path:
            self._path = Path(written.jmes_path, answer=written.value is not None)
        self._default = Filled(written.default)
        self._has_default = written.default is not None

    @property
    def parts(self) -> tuple[Looking, ...]:
        return tuple(part for part in (self._value, self._path, self._default) if part is not None)

    async def value(self, roots: Roots, context: jmespath.Context, calls: Calls) -> Any:  # noqa: ARG002 - asks nobody
        # A value or a path that can't be filled in is an error even beside a default, as in Kyverno.
        value = None if self._value is None else self._value.fill(roots, context)
        if self._path is not None:
            self._path.check(roots, context)
        try:
            value = None if self._path is None else self._path.of(value, roots, context)
        except (TooCostly, Unanswered):
            raise
        except ExpressionError:
            if not self._has_default:
                raise
            value = None
        if value is None:
            value = self._default.fill(roots, context)
        if value is None:
            raise Unresolved(
                "it is null", expression="variable", advice="write a default, or jmesPath with … || ''"
            )
        return value


class _Asked:
    """`apiCall`: the answer of the API server, or of a service."""

    def __init__(self, written: ApiCall) -> None:
        self._method = written.method
        service = written.service
        self._outside = service is not None
        where = written.url_path if service is None else [service.url, service.ca_bundle or ""]
        self._where = Filled(where)
        self._headers = Filled([] if service is None else [[one.key, one.value] for one in service.headers])
        self._data = Filled([[one.key, one.value] for one in written.data])
        self._path = Path(written.jmes_path, answer=True)
        self._default = Filled(written.default)
        self._has_default = written.default is not None

    @property
    def parts(self) -> tuple[Looking, ...]:
        return (self._where, self._headers, self._data, self._path, self._default)

    async def value(self, roots: Roots, context: jmespath.Context, calls: Calls) -> Any:
        # Filled in before the default counts: without a question there is no answer that could be missing.
        where = self._where.fill(roots, context)
        data = self._data.fill(roots, context)
        headers = self._headers.fill(roots, context)
        self._path.check(roots, context)
        body = _body(data) if self._method == "POST" else None
        try:
            if self._outside:
                call = ServiceCall(url=_text(where[0], "url"), ca_bundle=_text(where[1], "caBundle"))
                sent = {_text(key, "headers"): _text(value, "headers") for key, value in headers}
                answer = await calls.service(call, method=self._method, body=body, headers=sent)
            else:
                answer = await calls.api(self._method, _text(where, "urlPath"), body)
        except NotFound:
            if not self._has_default:
                raise
            return self._default.fill(roots, context)
        # An answer of another shape than was thought of is not an absence, as in Kyverno.
        return self._path.of(answer, roots, context)


class _Shared:
    """`globalReference`: what a GlobalContextEntry holds; after a dot, one of its projections.

    Names have dots of their own, so who knows the entries finds out which dot that is.
    """

    def __init__(self, written: GlobalReference) -> None:
        self._name = Filled(written.name)
        self._path = Path(written.jmes_path, answer=True)

    @property
    def parts(self) -> tuple[Looking, ...]:
        return (self._name, self._path)

    async def value(self, roots: Roots, context: jmespath.Context, calls: Calls) -> Any:
        name = _text(self._name.fill(roots, context), "globalReference")
        return self._path.of(await calls.shared(name), roots, context)


def _called(variable: variables.Variable) -> frozenset[str]:
    """Of what is put together only for an object: whatever stands in it."""
    if variable.expression is not None:
        return variable.expression.functions & _USAGE
    return frozenset(function for function in _USAGE if function in variable.text)


def _source(written: ContextEntry) -> Source:
    if written.api_call is not None:
        return _Asked(written.api_call)
    if written.global_reference is not None:
        return _Shared(written.global_reference)
    return _Valued(written.variable or Variable())


def _body(data: list[list[Any]]) -> bytes:
    return msgspec.json.encode({_text(key, "data"): value for key, value in data})


def _text(value: Any, field: str) -> str:
    if not isinstance(value, str):
        raise ExpressionError("it must become a string", expression=field, advice="use to_string(…)")
    return value
