"""What a row says of the tables of what is never garbage (`usage/never_rows.py`, `usage/never_found.py`)."""

from __future__ import annotations

import msgspec


class Never(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """All that is given has to hold. Names may have `*` in them; of a label or annotation the value may be left open."""

    because: str
    kinds: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    namespaces: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    # A key, or a key and its value: `owner=helm`.
    labels: tuple[str, ...] = ()
    annotations: tuple[str, ...] = ()
    finalizers: tuple[str, ...] = ()
