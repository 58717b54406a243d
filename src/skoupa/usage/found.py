"""What reading one object has found: the names and selectors by which it points at others.

These are values between the tables and the graph. A `Target` need not exist; a kind of which only part is known (a
reference without a group) is resolved by whoever knows which kinds the server has.
"""

from __future__ import annotations

import msgspec

from skoupa.usage.rules import Means


class Target(msgspec.Struct, frozen=True, gc=False):
    """One object by kind, namespace and name; `kind` is `Secret` or `apps/Deployment`, never with a version.

    `namespace` is empty for what lives in none. A `name` may hold `#` for any ordinal, and `*` for anything.
    Where less is known: `*` as kind is every kind, `*/Issuer` a kind of that name in whichever group, and `*` as namespace is
    any of them or none. Whoever wrote a reference without saying where may mean a kind without namespaces; such a reference is given
    twice, once with the namespace and once without.
    """

    kind: str
    namespace: str
    name: str


class Use(msgspec.Struct, frozen=True, gc=False):
    """`at` is the path of the rule, for people: `spec.template.spec.volumes[].secret.secretName`."""

    target: Target
    at: str
    means: Means = Means.USES


class Choice(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """Everything of `kind` ("*" for any) that the labels fit, in `namespace` ("" where the kind has none, "*" for all).

    `selector` is a label selector as `kube/selectors.py` reads it, and `namespaces` one over the labels of Namespaces.
    """

    kind: str
    namespace: str
    selector: str
    namespaces: str = ""
    at: str = ""
    means: Means = Means.USES


class Found(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """`doubts` are sentences about what could not be understood: while there is one, the object may point at anything."""

    uses: tuple[Use, ...] = ()
    choices: tuple[Choice, ...] = ()
    doubts: tuple[str, ...] = ()
