"""Label selectors as they stand in policies (metav1.LabelSelector)."""

from __future__ import annotations

from typing import Annotated, ClassVar, Final, Literal

import msgspec

from skoupa.kinds.schema import Rule, about

# Bounds the cost of the rules below, which the server works out before it takes a definition.
MOST_EXPRESSIONS: Final = 100

_Key = Annotated[str, msgspec.Meta(min_length=1, max_length=317)]


class Expression(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, forbid_unknown_fields=True
):
    """One demand on a label."""

    RULES: ClassVar = (
        Rule(
            "!(self.operator in ['In', 'NotIn']) || (has(self.values) && size(self.values) > 0)",
            "In and NotIn need values: write at least one",
        ),
        Rule(
            "!(self.operator in ['Exists', 'DoesNotExist']) || !has(self.values) || size(self.values) == 0",
            "Exists and DoesNotExist take no values: leave them out",
        ),
    )

    key: Annotated[_Key, about("The key of the label.")]
    operator: Annotated[
        Literal["In", "NotIn", "Exists", "DoesNotExist"],
        about("What is demanded of it: In, NotIn, Exists or DoesNotExist."),
    ]
    values: Annotated[
        tuple[str, ...], about("The values for In and NotIn; none for Exists and DoesNotExist.")
    ] = ()


_Expressions = Annotated[tuple[Expression, ...], msgspec.Meta(max_length=MOST_EXPRESSIONS)]


class Selector(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, forbid_unknown_fields=True
):
    """Demands on labels; all of them have to hold."""

    match_labels: Annotated[dict[str, str], about("Labels that must be there with just these values.")] = {}
    match_expressions: Annotated[_Expressions, about("Further demands on labels.")] = ()


class WildSelector(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, forbid_unknown_fields=True
):
    """Demands on labels, with wildcards; all of them have to hold."""

    match_labels: Annotated[
        dict[str, str],
        about(
            "Labels that must be there. In keys and values * stands for any characters and ? for one; "
            "each entry needs one label that fits it."
        ),
    ] = {}
    match_expressions: Annotated[_Expressions, about("Further demands on labels, without wildcards.")] = ()
