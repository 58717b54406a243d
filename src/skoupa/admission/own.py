"""Which objects are Skoupa's own, as the API server can tell: a TTL label is ignored there, and so is said.

What `judge.protection.own` calls so, in its words; Skoupa's own kinds are left out of every policy beforehand. Only what
warns may rest on it: whoever can write an object can make it look like one of these.
"""

from __future__ import annotations

from typing import Final

from skoupa import names
from skoupa.admission.cel import choose, literal
from skoupa.judge.protection import OWN_CRD_GROUPS

_NAME: Final = "object.metadata.?name.orValue('')"
_KIND: Final = "request.kind.kind"
_GROUPS: Final = "[" + ", ".join(literal(group) for group in sorted(OWN_CRD_GROUPS)) + "]"
_IS_DEFINITION: Final = (
    f"{_KIND} == 'CustomResourceDefinition' && {_NAME}.substring({_NAME}.indexOf('.') + 1) in {_GROUPS}"
)
_IS_PART: Final = (
    f"object.metadata.?labels[?{literal(names.PART_OF_LABEL)}].orValue('') == {literal(names.COMPONENT)} || "
    f"({_KIND} == 'ConfigMap' && {_NAME} == {literal(names.STATE_CONFIG_MAP)})"
)

IS_OWN: Final = f"(({_IS_DEFINITION}) || {_IS_PART})"
# In words; empty: it is none.
OWN: Final = choose(
    [
        (_IS_DEFINITION, f"'the definition of ' + {_NAME}"),
        (_IS_PART, f"'the ' + {_KIND} + ' ' + {_NAME}"),
    ],
    otherwise=literal(""),
)
