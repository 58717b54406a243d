"""An object without what is the server's: what creating it again takes, and what two states of it are compared by.

Stripping twice is stripping once, and it never changes what it was given. What is empty only because something was
taken out of it goes as well; what was written empty stays (`emptyDir: {}`). A status is the server's only where the
kind has one as a subresource: elsewhere it is a field like any other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from skoupa.kube.resources import Resource
from skoupa.ledger.trash.server_fields import (
    ADDRESSES,
    MADE_AGAIN,
    MADE_BY_OWNER,
    MADE_WITH_NAMESPACE,
    RULES,
    Elements,
    Path,
    Rule,
)

Manifest = dict[str, Any]
_GONE: Final = object()


def stripped(manifest: Mapping[str, Any], resource: Resource) -> Manifest:
    """Lists leave out what each of their items is, so apiVersion and kind are written from the kind."""
    found: Manifest = {**manifest, "apiVersion": resource.api_version, "kind": resource.kind}
    if "status" in resource.subresources or not resource.group:
        found.pop("status", None)
    return _apply(RULES, found, resource.qualified)


def without_addresses(manifest: Manifest, kind: str) -> Manifest:
    """The same manifest where it has none; then there is no use in trying again without them."""
    return _apply(ADDRESSES, manifest, kind)


def comes_back(manifest: Mapping[str, Any], kind: str) -> bool:
    """Whether a controller makes it again by itself, together with its owner or its Namespace."""
    metadata = manifest.get("metadata") or {}
    if kind in MADE_AGAIN or (kind, metadata.get("name")) in MADE_WITH_NAMESPACE:
        return True
    made = any(
        owner.get("controller") and (owner.get("kind"), manifest.get("kind")) in MADE_BY_OWNER
        for owner in metadata.get("ownerReferences") or ()
    )
    # A ReplicaSet without Pods is an earlier revision, which nobody makes again.
    return made and not (kind == "replicasets.apps" and (manifest.get("spec") or {}).get("replicas") == 0)


def _apply(rules: Iterable[Rule], manifest: Manifest, kind: str) -> Manifest:
    name = str((manifest.get("metadata") or {}).get("name", ""))
    for rule in rules:
        if rule.kind not in {"", kind} or not _is_for(rule, manifest):
            continue
        for path in rule.paths:
            manifest = _whole(_without(manifest, path), manifest)
        for elements in rule.elements:
            manifest = _whole(_without_elements(manifest, elements, elements.path, name), manifest)
    return manifest


def _whole(found: Any, before: Manifest) -> Manifest:
    return before if found is _GONE else dict(found)


def _is_for(rule: Rule, manifest: Manifest) -> bool:
    if rule.unless is not None and _at(manifest, rule.unless[0]) == rule.unless[1]:
        return False
    return rule.only is None or _at(manifest, rule.only[0]) == rule.only[1]


def _at(node: Any, path: Path) -> Any:
    for key in path:
        if not isinstance(node, dict):
            return None
        node = node.get(key)
    return node


def _without(node: Any, path: Path) -> Any:
    """A copy along the path; the node itself where there is nothing to take out, `_GONE` where nothing is left of it."""
    key, rest = path[0], path[1:]
    if key == "*":
        if not isinstance(node, list):
            return node
        left = [_without(element, rest) for element in node]
        if all(new is old for new, old in zip(left, node, strict=True)):
            return node
        # Elements keep their places, also when nothing is left in them.
        return [{} if element is _GONE else element for element in left]
    if not isinstance(node, dict) or key not in node:
        return node
    below = _without(node[key], rest) if rest else _GONE
    return _with(node, key, below)


def _without_elements(node: Any, elements: Elements, path: Path, name: str) -> Any:
    if not path:
        if not isinstance(node, list):
            return node
        prefix = elements.prefix.format(name=name)
        left = [one for one in node if not _begins(one, elements.key, prefix)]
        return node if len(left) == len(node) else left or _GONE
    key, rest = path[0], path[1:]
    if key == "*":
        if not isinstance(node, list):
            return node
        changed = [_without_elements(one, elements, rest, name) for one in node]
        if all(new is old for new, old in zip(changed, node, strict=True)):
            return node
        return [{} if one is _GONE else one for one in changed]
    if not isinstance(node, dict) or key not in node:
        return node
    return _with(node, key, _without_elements(node[key], elements, rest, name))


def _begins(element: Any, key: str, prefix: str) -> bool:
    if not key:
        return bool(element == prefix)
    return isinstance(element, dict) and str(element.get(key, "")).startswith(prefix)


def _with(node: dict[str, Any], key: str, below: Any) -> Any:
    if below is _GONE:
        left = {name: value for name, value in node.items() if name != key}
        return left or _GONE
    return node if below is node[key] else {**node, key: below}
