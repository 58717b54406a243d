r"""Variables: `{{ expression }}` in any text of a policy, keys included, filled in for one object at a time.

A text that is nothing but a variable becomes the value, with its type; within a text a value is written as JSON, a
string as it is. Variables nest (`{{ labels.{{ name }} }}`), `\{{` is two braces, and `$( )` is left alone.
What a variable brings is never read again: in Kyverno it is, so that whoever writes an annotation can put an expression
into somebody else's policy. A variable without a value is an ExpressionError, which is about this one object.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import msgspec

from skoupa.errors import BadExpression, ExpressionError, TooCostly
from skoupa.expr import jmespath
from skoupa.expr.jmespath.expression import compile_slotted
from skoupa.expr.jmespath.running import Run
from skoupa.expr.jmespath.slots import with_marks
from skoupa.expr.jmespath.values import text_of
from skoupa.policy.variable_names import REQUEST, ROOTS, check_name

DEEPEST_NESTING: Final = 10
DEEPEST_VALUE: Final = 100
_EVERYTHING: Final = frozenset({()})

_Fill = Callable[[Mapping[str, Any], Run], Any]


class Variable(msgspec.Struct, frozen=True):
    """`expression` is None where the text is known only once the variables within it are."""

    text: str
    expression: jmespath.Expression | None


class Template:
    """A value with variables in it, read once and filled in often."""

    def __init__(self, value: Any) -> None:
        found: list[Variable] = []
        self._fill = _filler(value, found, depth=0)
        self.variables: tuple[Variable, ...] = tuple(found)

    @property
    def paths(self) -> frozenset[tuple[str, ...]]:
        """What the variables look at; the empty path is everything."""
        if any(variable.expression is None for variable in self.variables):
            return _EVERYTHING
        known = (variable.expression.paths for variable in self.variables if variable.expression is not None)
        return frozenset().union(*known)

    @property
    def asks_for_images(self) -> bool:
        """Whether `images` has to be worked out, which takes the body of the object."""
        return any(not path or path[0] == "images" for path in self.paths)

    def parts(self, root: str) -> frozenset[str] | None:
        """Which fields of `root` the variables look at; None: they may look at all of them."""
        found: set[str] = {"spec"} if root == "target" and self.asks_for_images else set()
        for variable in self.variables:
            parts = variable.expression.parts(root) if variable.expression is not None else None
            if parts is None:
                return None
            found |= parts
        return frozenset(found)

    def check(self, names: Iterable[str] = (), *, later: Iterable[str] = ()) -> None:
        """Raises BadExpression for what is never there; `names` are those of the policy's context, `later` those not yet known."""
        known = {*ROOTS, *filter(None, names)}
        for variable in self.variables:
            for path in variable.expression.paths if variable.expression is not None else ():
                check_name(path, known, variable.text, later=frozenset(later))

    def fill(self, roots: Mapping[str, Any], context: jmespath.Context) -> Any:
        shown = self.variables[0].text if len(self.variables) == 1 else "{{ … }}"
        run = Run(shown, context)
        try:
            return self._fill(roots, run)
        except RecursionError as error:
            raise TooCostly("a value is nested too deeply to be written out", expression=shown) from error
        finally:
            run.end()


class Inserted:
    """The variables in a text that is an expression itself: each must have a value, whatever comes of the expression."""

    def __init__(self, text: str) -> None:
        self._text = text
        parts, _ = _Scanner(text, []).parts(0, nesting=0)
        self._fills = [part for part in parts if not isinstance(part, str)]

    def check(self, roots: Mapping[str, Any], context: jmespath.Context) -> None:
        """Raises an ExpressionError where one has none."""
        run = Run(self._text, context)
        try:
            for fill in self._fills:
                fill(roots, run)
        finally:
            run.end()


def substitute(value: Any, roots: Mapping[str, Any], context: jmespath.Context) -> Any:
    """A value that is filled in only once."""
    return Template(value).fill(roots, context)


def variables_of(value: Any) -> tuple[Variable, ...]:
    return Template(value).variables


def roots_of(
    target: Mapping[str, Any], *, images: Any = None, named: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """What the variables of a cleanup policy see of one object; `named` are the entries of its context."""
    metadata = target.get("metadata") or {}
    request = {part: metadata[part] for part in REQUEST if part in metadata}
    return {**(named or {}), "target": target, "request": request, "images": {} if images is None else images}


def _filler(value: Any, found: list[Variable], *, depth: int) -> _Fill:
    if depth > DEEPEST_VALUE:
        raise BadExpression(f"a value is nested more than {DEEPEST_VALUE} deep", expression="{{ … }}")
    if isinstance(value, str):
        return _text_filler(value, found)
    before = len(found)
    if isinstance(value, list):
        items = [_filler(item, found, depth=depth + 1) for item in value]
        if len(found) == before and not _escapes(value):
            return _constant(value)
        return lambda roots, run: [item(roots, run) for item in items]
    if isinstance(value, dict):
        members = [
            (key, _text_filler(key, found), _filler(item, found, depth=depth + 1))
            for key, item in value.items()
        ]
        if len(found) == before and not _escapes(value):
            return _constant(value)
        return lambda roots, run: {
            _key(key, name(roots, run)): member(roots, run) for key, name, member in members
        }
    return _constant(value)


def _constant(value: Any) -> _Fill:
    return lambda _roots, _run: value


def _escapes(value: Any) -> bool:
    """Whether there are escaped braces to be made plain."""
    if isinstance(value, str):
        return "\\{{" in value
    if isinstance(value, list):
        return any(map(_escapes, value))
    return isinstance(value, dict) and any(_escapes(key) or _escapes(item) for key, item in value.items())


def _key(written: str, filled: Any) -> str:
    if filled is None:
        return written
    if not isinstance(filled, str):
        raise ExpressionError("a key must become a string", expression=written, advice="use to_string(…)")
    return filled


def _text_filler(text: str, found: list[Variable]) -> _Fill:
    parts, _ = _Scanner(text, found).parts(0, nesting=0)
    if not parts:
        return _constant("")
    if len(parts) == 1:
        return parts[0] if callable(parts[0]) else _constant(parts[0])
    return _joined(parts)


def _joined(parts: list[str | _Fill]) -> _Fill:
    def fill(roots: Mapping[str, Any], run: Run) -> str:
        texts = [part if isinstance(part, str) else text_of(part(roots, run), run) for part in parts]
        run.make(sum(map(len, texts)))
        return "".join(texts)

    return fill


class _Scanner:
    """Finds the variables of one text: braces are counted, so that `{{ {a: b} }}` is one."""

    def __init__(self, text: str, found: list[Variable]) -> None:
        self._text = text
        self._found = found

    def parts(self, position: int, *, nesting: int) -> tuple[list[str | _Fill], int]:
        """Texts and variables up to the end of the text, or of the variable that this is the inside of."""
        text = self._text
        parts: list[str | _Fill] = []
        begin, braces = position, 0
        while position < len(text):
            if text.startswith("{{", position):
                escaped = text[position - 1 : position] == "\\" and position > begin
                before = text[begin : position - escaped]
                if before:
                    parts.append(before)
                if escaped:
                    begin, position = position, position + 2
                    continue
                variable, position = self._variable(position, nesting=nesting)
                parts.append(variable)
                begin = position
            elif nesting and text.startswith("}}", position) and not braces:
                break
            else:
                if nesting:
                    braces = max(0, braces + (text[position] == "{") - (text[position] == "}"))
                position += 1
        if text[begin:position]:
            parts.append(text[begin:position])
        return parts, position

    def _variable(self, start: int, *, nesting: int) -> tuple[_Fill, int]:
        if nesting >= DEEPEST_NESTING:
            raise BadExpression(
                f"variables are nested more than {DEEPEST_NESTING} deep", expression=self._text
            )
        parts, end = self.parts(start + 2, nesting=nesting + 1)
        if not self._text.startswith("}}", end):
            raise BadExpression(
                "{{ has no }}", expression=self._text[start:], advice="close it, or write \\{{ for two braces"
            )
        written = _trimmed(self._text[start + 2 : end])
        if not written:
            raise BadExpression(
                "there is nothing between the braces", expression="{{ }}", advice="write \\{{ for two braces"
            )
        return self._filled(parts, written), end + 2

    def _filled(self, parts: list[str | _Fill], written: str) -> _Fill:
        inner = [part for part in parts if not isinstance(part, str)]
        if not inner:
            plain = jmespath.compile(_trimmed("".join(part for part in parts if isinstance(part, str))))
            self._found.append(Variable(written, plain))
            return lambda roots, run: plain.search(roots, run.context, part=run)
        marked = with_marks([part if isinstance(part, str) else None for part in parts])
        if marked is None:
            self._found.append(Variable(written, None))
            text = _joined(parts)
            return lambda roots, run: _put_together(text(roots, run)).search(roots, run.context, part=run)
        slotted = compile_slotted(_trimmed(marked), written)
        self._found.append(Variable(written, slotted))
        return lambda roots, run: slotted.search(
            roots, run.context, [fill(roots, run) for fill in inner], part=run
        )


def _put_together(text: str) -> jmespath.Expression:
    """What other variables made of it is wrong for this object, not for all: no BadExpression."""
    try:
        return jmespath.compile(_trimmed(text))
    except BadExpression as error:
        raise ExpressionError(
            error.reason,
            expression=error.expression,
            advice='write variables within one in quotes: "{{ … }}"',
        ) from error


def _trimmed(written: str) -> str:
    """Kyverno's `{{-` (what it brings is not read again) is how all variables are here."""
    return written.strip().removeprefix("-").strip()
