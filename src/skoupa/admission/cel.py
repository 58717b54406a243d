"""Writing CEL: literals, sentences, and choices, from Python values.

Every function takes and gives expressions as text. Nothing is evaluated here: the API server does that. Only what
Kubernetes 1.30 knows is written, the first version whose ValidatingAdmissionPolicies are stable.
"""

from __future__ import annotations

import string
from collections.abc import Sequence


def literal(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def sentence(template: str, **parts: str) -> str:
    """A text with places, as `str.format` has them, where each place is filled by an expression of type string."""
    pieces: list[str] = []
    for text, place, _, _ in string.Formatter().parse(template):
        if text:
            pieces.append(literal(text))
        if place:
            pieces.append(f"({parts[place]})")
    return " + ".join(pieces) or literal("")


def choose(cases: Sequence[tuple[str, str]], *, otherwise: str) -> str:
    """The value beside the first condition that holds."""
    expression = f"({otherwise})"
    for condition, value in reversed(cases):
        expression = f"(({condition}) ? ({value}) : {expression})"
    return expression


def matches(text: str, pattern: str) -> str:
    """Whether all of the text has the form; CEL itself is content with a part of it."""
    return f"{text}.matches({literal(f'^(?:{pattern})$')})"


def replaced(text: str, replacements: Sequence[tuple[str, str]]) -> str:
    """The text after each replacement in turn."""
    return text + "".join(f".replace({literal(old)}, {literal(new)})" for old, new in replacements)
