"""The merge of server-side apply: what is applied goes over what is there, place by place.

Maps are merged, one-value places are replaced, and the items of keyed lists are merged by key: applied items keep the
order of the applied list, others stay where they were among them. Ownership is not looked at here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from skoupa.sim.applying.fieldsets import ABSENT, item_steps
from skoupa.sim.applying.patches import copied
from skoupa.sim.applying.structure import Path, Structure


def merged(live: Any, applied: Any, structure: Structure, path: Path = ()) -> Any:
    """A new value; neither side is changed."""
    if applied is ABSENT:
        return copied(live)
    if live is ABSENT:
        return copied(applied)
    if isinstance(live, Mapping) and live and (applied is None or isinstance(applied, Mapping)):
        if path and structure.whole(path):
            return copied(applied)
        over = applied or {}
        return {
            key: merged(live.get(key, ABSENT), over.get(key, ABSENT), structure, (*path, f"f:{key}"))
            for key in {**live, **over}
        }
    if isinstance(live, list) and live and (applied is None or isinstance(applied, list)):
        items = _merged_items(live, applied or [], structure, path)
        return copied(applied) if items is None else items
    return copied(applied)


def _merged_items(live: list[Any], applied: list[Any], structure: Structure, path: Path) -> list[Any] | None:
    old, new = item_steps(live, path, structure), item_steps(applied, path, structure)
    if old is None or new is None:
        return None
    here, over = dict(zip(old, live, strict=True)), dict(zip(new, applied, strict=True))
    # Several live items with one key can't be told apart: an applied one takes the place of all of them.
    repeated = {step for step in here if old.count(step) > 1}
    shared = [step for step in new if step in here]
    result = []
    done: set[str] = set()

    def take(step: str) -> None:
        done.add(step)
        if shared and shared[0] == step:
            shared.pop(0)
        base = ABSENT if step in repeated else here.get(step, ABSENT)
        result.append(merged(base, over[step], structure, (*path, step)))

    left, right = 0, 0
    while left < len(old) or right < len(new):
        step = old[left] if left < len(old) else None
        if step is not None and step not in over:
            result.append(copied(live[left]))
            left += 1
        elif step is not None and right < len(new) and step == new[right]:
            take(step)
            left += 1
            right += 1
        elif step is not None and (step in done or (right < len(new) and shared and shared[0] != step)):
            left += 1
        elif right < len(new):
            take(new[right])
            right += 1
        else:
            left += 1
    return result
