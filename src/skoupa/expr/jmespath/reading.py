"""Text to syntax tree: the grammar is the `jmespath` package's, the bounds and the words about mistakes are ours.

A text is read twice: once as tokens, to bound its size and depth and to refuse what the package only tolerates
(a literal in backticks that is no JSON; Kyverno refuses it too), then by the package's parser. What comes out is small
enough that walking it recursively is safe.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from typing import Any, ClassVar, Final, cast

from jmespath.exceptions import EmptyExpressionError, JMESPathError, LexerError, ParseError
from jmespath.lexer import Lexer
from jmespath.parser import Parser

from skoupa.errors import BadExpression

LONGEST: Final = 20_000
MOST_TOKENS: Final = 2_000
DEEPEST: Final = 60

_OPENING: Final = frozenset({"lparen", "lbracket", "lbrace", "filter"})
_CLOSING: Final = frozenset({"rparen", "rbracket", "rbrace"})
# Each of these can hold all that follows it, or all that went before.
_HOLDING: Final = frozenset(
    {"not", "expref", "star", "flatten", "or", "and", "pipe", "eq", "ne", "lt", "lte", "gt", "gte"}
)

# As characters, and as escapes in JSON, also in pairs: the character that they stand for can be written instead.
_HALVES: Final = re.compile("[\ud800-\udfff]|\\\\u[dD][89a-fA-F]")
_QUOTED: Final = re.compile(r"""'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|`((?:\\.|[^`\\])*)`""", re.DOTALL)

Node = dict[str, Any]


def syntax_tree(text: str) -> Node:
    """The tree of an expression; a BadExpression says where it stops making sense and what to write."""
    if not text.strip():
        raise BadExpression(
            "there is no expression", expression=text, advice="write one like target.metadata.name"
        )
    if _HALVES.search(text):
        raise BadExpression(
            "it has half a character in it (a lone surrogate)",
            expression=text,
            advice="write the character itself, not as \\ud…",
        )
    if len(text) > LONGEST:
        raise BadExpression(f"it has {len(text):,} characters; at most {LONGEST:,} are read", expression=text)
    try:
        _check_literals(text)
        _check_tokens(text)
        tree = cast("Node", _Parser().parse(text).parsed)
    except EmptyExpressionError as error:
        raise BadExpression("there is no expression", expression=text) from error
    except LexerError as error:
        raise BadExpression(_where(text, error.lexer_position, error.message), expression=text) from error
    except ParseError as error:
        raise BadExpression(_unexpected(text, error), expression=text) from error
    except (JMESPathError, ValueError, RecursionError, IndexError) as error:
        raise BadExpression(f"this is no JMESPath: {error}", expression=text) from error
    return tree


class _Parser(Parser):
    """Puts one thing right: a slice after an index (`a[0][1:].b`) is a projection like any other slice."""

    _CACHE: ClassVar[dict[str, Any]] = {}
    # Expressions are remembered, not trees.
    _MAX_SIZE: ClassVar[int] = 1

    def _token_led_lbracket(self, left: Node) -> Any:
        ahead: Callable[[int], str] = self._lookahead  # type: ignore[attr-defined]  # the stubs have public names only
        is_slice = ahead(0) == "colon" or (ahead(0) == "number" and ahead(1) == "colon")
        if left["type"] != "index_expression" or not is_slice:
            return super()._token_led_lbracket(left)  # type: ignore[misc]  # the same
        part = self._parse_index_expression()  # type: ignore[attr-defined]  # the same
        return self._project_if_slice(left, part)  # type: ignore[attr-defined]  # the same


def _check_literals(text: str) -> None:
    for quoted in _QUOTED.finditer(text):
        literal = quoted[1]
        if literal is None:
            continue
        try:
            json.loads(
                literal.replace("\\`", "`"),
                parse_constant=_no_constant,
                parse_float=_finite,
                parse_int=_within_range,
            )
        except (ValueError, RecursionError) as error:
            shown = literal.strip()[:40]
            raise BadExpression(
                _where(text, quoted.start(), f"`{shown}` is no JSON"),
                expression=text,
                advice=f"write a text as '{shown}' and a number as `1`",
            ) from error


def _check_tokens(text: str) -> None:
    depth, outer = 0, []
    for count, token in enumerate(Lexer().tokenize(text)):
        kind = token["type"]
        if kind in _OPENING:
            outer.append(depth)
            depth += 1
        elif kind in _CLOSING:
            # What follows `]` may stand inside a projection.
            depth = (outer.pop() if outer else 0) + (kind == "rbracket")
        elif kind == "comma":
            depth = outer[-1] + 1 if outer else 0
        elif kind in _HOLDING:
            depth += 1
        if depth > DEEPEST:
            raise ValueError(
                f"it is nested more than {DEEPEST} deep; write several context variables instead"
            )
        if count > MOST_TOKENS:
            raise ValueError(
                f"it has more than {MOST_TOKENS:,} parts; write several context variables instead"
            )


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError("too large")
    return value


def _within_range(text: str) -> int:
    if len(text) > 300:
        raise ValueError("too large")
    return int(text)


def _no_constant(_: str) -> float:
    raise ValueError("no JSON")


def _unexpected(text: str, error: ParseError) -> str:
    if error.lex_position is None or error.lex_position >= len(text):
        return "it ends too early: a name, a value or a closing bracket is missing at the end"
    # The value of a literal can be anything, and long.
    found = f"{error.token_value!r}"
    return _where(text, error.lex_position, f"{found if len(found) <= 40 else 'this'} is not expected")


def _where(text: str, position: int | None, what: str | None) -> str:
    return f"{what or 'this is no JMESPath'} (at character {(position or 0) + 1} of {len(text)})"
