"""All that is needed to read objects of one kind, made from its rules once.

What comes from a server has been decoded into its metadata and, for each field at the top that is read, the bytes of it.
These are decoded by the types of `typed.py`; only what does not fit goes through `loose.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

from skoupa.kube.objects import METADATA, Metadata, View
from skoupa.usage.applying import loose
from skoupa.usage.applying.findings import NOTHING, Findings
from skoupa.usage.applying.layout import Anchored, Layout, Marked, Sort, Want
from skoupa.usage.applying.tree import Node, tree
from skoupa.usage.applying.typed import Walk, attribute, type_of, walk_of
from skoupa.usage.found import Found
from skoupa.usage.known import Known, known_to
from skoupa.usage.paths import fields, parsed
from skoupa.usage.rules import KindRules
from skoupa.usage.walking import walk_fields

_NOT_THERE: Final = msgspec.Raw(b"")
_UNREADABLE: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
# Beside the numbers of places, which begin with one.
_SPENT: Final = (0, "", "spent")
_ALL_KNOWN: Final = (0, "", "all known")


class _Top(msgspec.Struct, frozen=True):
    """A field at the top of an object."""

    field: str
    attribute: str
    node: Node
    decoder: msgspec.json.Decoder[Any]
    walk: Walk


class OneKind:
    def __init__(self, kind: str, layout: Layout, rules: KindRules | None) -> None:
        self.layout = layout
        anchored = [*_about_itself(rules), *layout.anchored]
        self._tops = tuple(_top(field, node) for field, node in tree(anchored).fields.items())
        self._walked = rules.walked if rules is not None else ()
        self._known: Known | None = known_to(rules) if rules is not None and rules.walked else None
        self._exact: dict[tuple[bool, str], tuple[Marked, ...]] = {}
        for one in layout.marked:
            if not one.prefix:
                self._exact[one.label, one.key] = (*self._exact.get((one.label, one.key), ()), one)
        self._prefixed = tuple(one for one in layout.marked if one.prefix)
        self.view = _view(kind, dict.fromkeys((*(top.field for top in self._tops), *self._walked)))

    def read(self, decoded: Any) -> Found:
        metadata: Metadata = decoded.metadata
        findings = Findings(name=metadata.name, namespace=metadata.namespace)
        for top in self._tops:
            raw = getattr(decoded, top.attribute)
            if not raw:
                continue
            try:
                value = top.decoder.decode(raw)
            except _UNREADABLE:
                _read_again(top, bytes(raw), findings)
            else:
                if value is not None:
                    top.walk(value, findings)
        if _SPENT in findings.uses:
            return NOTHING
        self._read_metadata(metadata.labels, metadata.annotations, findings)
        if self._walked and _ALL_KNOWN not in findings.uses:
            self._walk({field: getattr(decoded, attribute(field)) for field in self._walked}, findings)
        return findings.found()

    def read_manifest(self, manifest: Mapping[str, Any]) -> Found:
        metadata = manifest.get("metadata")
        metadata = metadata if isinstance(metadata, Mapping) else {}
        findings = Findings(name=_text(metadata, "name"), namespace=_text(metadata, "namespace"))
        for top in self._tops:
            loose.walk(top.node, manifest.get(top.field), findings)
        if _SPENT in findings.uses:
            return NOTHING
        labels, annotations = (_texts(metadata, field, findings) for field in ("labels", "annotations"))
        self._read_metadata(labels, annotations, findings)
        if self._walked and _ALL_KNOWN not in findings.uses:
            walked = {field: manifest.get(field) for field in self._walked}
            findings.add(walk_fields(walked, namespace=findings.namespace, known=self._known))
        return findings.found()

    def _read_metadata(
        self, labels: Mapping[str, str] | None, annotations: Mapping[str, str] | None, findings: Findings
    ) -> None:
        for emit in self.layout.named:
            emit(None, findings)
        if not self._exact and not self._prefixed:
            return
        for is_label, marks in ((True, labels), (False, annotations)):
            for key, value in (marks or {}).items():
                for rule in self._exact.get((is_label, key), ()):
                    rule.emit(value, findings)
                for rule in self._prefixed:
                    if rule.label == is_label and key.startswith(rule.prefix):
                        rule.emit(value, findings)

    def _walk(self, raws: Mapping[str, msgspec.Raw], findings: Findings) -> None:
        walked = {}
        for field, raw in raws.items():
            try:
                walked[field] = msgspec.json.decode(raw) if raw else None
            except _UNREADABLE:
                findings.doubt(f"{field} is nothing that anybody could read")
        findings.add(walk_fields(walked, namespace=findings.namespace, known=self._known))


def _about_itself(rules: KindRules | None) -> Iterator[Anchored]:
    """Rules that point at nothing, but say how the object is to be read."""
    if rules is not None and rules.spent_at:
        spent = frozenset(rules.spent)

        def note_spent(value: Any, findings: Findings) -> None:
            if value in spent:
                findings.uses[_SPENT] = ()

        yield Anchored(at=parsed(rules.spent_at), wants=(Want(()),), emit=note_spent)
    if rules is not None and rules.walked_unless:

        def note_known(_: Any, findings: Findings) -> None:
            findings.uses[_ALL_KNOWN] = ()

        *above, last = fields(rules.walked_unless)
        yield Anchored(at=tuple(above), wants=(Want((last,), Sort.PRESENT),), emit=note_known)


def _top(field: str, node: Node) -> _Top:
    decoder = msgspec.json.Decoder(type_of(node) | None)
    return _Top(field, attribute(field), node, decoder, walk_of(node))


def _view(kind: str, read: Iterable[str]) -> View[Any]:
    listed = [
        (attribute(field), msgspec.Raw, msgspec.field(default=_NOT_THERE, name=field)) for field in read
    ]
    if not listed:
        return METADATA
    name = "Listed_" + kind.rpartition("/")[2]
    return View(type=msgspec.defstruct(name, [("metadata", Metadata), *listed], frozen=True, gc=False))


def _read_again(top: _Top, raw: bytes, findings: Findings) -> None:
    try:
        value = msgspec.json.decode(raw)
    except _UNREADABLE:
        findings.doubt(f"{top.field} is nothing that anybody could read")
    else:
        loose.walk(top.node, value, findings)


def _text(metadata: Mapping[str, Any], field: str) -> str:
    value = metadata.get(field)
    return value if isinstance(value, str) else ""


def _texts(metadata: Mapping[str, Any], field: str, findings: Findings) -> dict[str, str]:
    value = metadata.get(field) or {}
    if not isinstance(value, Mapping):
        findings.doubt(f"metadata.{field} is not a map of texts")
        return {}
    texts = {key: text for key, text in value.items() if isinstance(key, str) and isinstance(text, str)}
    if len(texts) < len(value):
        findings.doubt(f"metadata.{field} has something else than texts in it")
    return texts
