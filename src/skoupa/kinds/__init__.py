"""kinds/: the kinds that Skoupa brings along, each declared once as Structs.

`schema` and `definition` make CustomResourceDefinitions of them, `reading` turns an API object back into values with errors
that say what to write. `brake` is our own, `policies/` are Kyverno's. What a kind does is decided elsewhere; here is what it says.
"""

from __future__ import annotations

from typing import Any

from skoupa.kinds.brake import BRAKE
from skoupa.kinds.definition import document


def definitions() -> list[dict[str, Any]]:
    """Every CustomResourceDefinition that an install brings, in the order of their names."""
    return [document(BRAKE)]
