"""YAML that every reader reads alike: texts that some take for numbers, or for yes and no, stand in quotes, also as keys."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, TextIO

import msgspec
import yaml

if TYPE_CHECKING:
    from yaml import SafeDumper
else:
    SafeDumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)

# As the readers of Kubernetes see it, which know more words and numbers than Python's.
_AMBIGUOUS: Final = re.compile(r"[-+.0-9].*|y|n|yes|no|on|off|true|false|null|~|", re.IGNORECASE | re.DOTALL)


class _Dumper(SafeDumper):
    """Its own class: what is registered on it is nobody else's."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - anchors help no reader of a manifest
        return True


def _text(dumper: _Dumper, text: str) -> yaml.Node:
    style = '"' if _AMBIGUOUS.fullmatch(text) else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)


def written(body: Mapping[str, Any]) -> str:
    """One object, each of its texts on one line."""
    tree = msgspec.to_builtins(body)
    return str(yaml.dump(tree, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=10**6))


def write(tree: Any, stream: TextIO) -> None:
    """Plain data, as it goes on."""
    yaml.dump(tree, stream, Dumper=_Dumper, sort_keys=False, allow_unicode=True)
