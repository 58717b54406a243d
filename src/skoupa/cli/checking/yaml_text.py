"""Manifests as YAML that every reader reads alike: texts that some take for numbers or for yes and no stand in quotes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec
import yaml

# As the readers of Kubernetes see it, which know more words and numbers than Python's.
_AMBIGUOUS: Final = re.compile(r"[-+.0-9].*|y|n|yes|no|on|off|true|false|null|~|", re.IGNORECASE | re.DOTALL)


class _Dumper(yaml.SafeDumper):
    """Its own class: what is registered on it is nobody else's."""


def _text(dumper: _Dumper, text: str) -> yaml.Node:
    style = '"' if _AMBIGUOUS.fullmatch(text) else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)


def written(body: Mapping[str, Any]) -> str:
    tree = msgspec.to_builtins(body)
    return str(yaml.dump(tree, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=10**6))
