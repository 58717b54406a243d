"""The objects of `golden/`, each with what is read of it."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import yaml

GOLDEN = Path(__file__).parent / "golden"


class Case(msgspec.Struct, frozen=True, kw_only=True):
    case: str
    kind: str
    object: dict[str, Any]
    finish: dict[str, Any] | None = None
    doubt: str = ""


def cases(name: str) -> Iterator[Case]:
    for found in yaml.safe_load((GOLDEN / f"{name}.yaml").read_text(encoding="utf-8")):
        for kind in found.get("kinds", [found["object"]["kind"]]):
            manifest = copy.deepcopy(found["object"]) | {"kind": kind}
            group = manifest["apiVersion"].rpartition("/")[0]
            case = found["case"] + (f" ({kind})" if "kinds" in found else "")
            assert sum(key in found for key in ("finish", "doubt", "running")) == 1, case
            yield Case(
                case=case,
                kind=f"{group}/{kind}" if group else kind,
                object=manifest,
                finish=found.get("finish"),
                doubt=found.get("doubt", ""),
            )


TABLE = [case for name in ("builtin", "workflows", "batch", "operators") for case in cases(name)]
GENERIC = list(cases("generic"))
EVERY = [*TABLE, *GENERIC]
