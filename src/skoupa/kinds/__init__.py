"""kinds/: the kinds that Skoupa brings along, each declared once as Structs.

`schema` and `definition` make CustomResourceDefinitions of them, `reading` turns an API object back into values with errors
that say what to write. `alive`, `brake` and `retention/` are our own, `policies/` are Kyverno's. What a kind does is decided elsewhere; here is
what it says.
"""

from __future__ import annotations

from typing import Any

from skoupa.kinds.alive import ALIVE
from skoupa.kinds.brake import BRAKE
from skoupa.kinds.definition import document
from skoupa.kinds.retention import DEFINITIONS


def definitions() -> list[dict[str, Any]]:
    """Every CustomResourceDefinition of our own, in the order of their names.

    An install brings all of them whatever is switched on: nobody else has them, so none is replaced, and a feature that is switched
    off and on again finds what people wrote.
    """
    return sorted(
        (document(each) for each in (ALIVE, BRAKE, *DEFINITIONS)),
        key=lambda found: str(found["metadata"]["name"]),
    )
