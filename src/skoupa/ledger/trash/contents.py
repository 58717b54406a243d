"""What is in one body of the trash: a manifest, who it was, and what of it was not kept.

A Secret's values are kept only where bodies are encrypted. Without a key nothing that may carry them is kept either,
values that it had before among them: tools write whole objects into annotations, so of a Secret only short ones stay
that are neither such a copy nor have one of its values in them.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from skoupa.kube.resources import Resource
from skoupa.ledger.trash.manifests import Manifest, stripped

SECRETS: Final = "secrets"
# So begins what is said of nearly every deletion of an owner: that somebody made something in those seconds is unlikely.
YOUNG: Final = "what was made in the last "
_VALUES: Final = ("data", "stringData")
# Names, dates and switches are shorter; a copy of an object is not.
_LONGEST_ANNOTATION: Final = 256
# kubectl's last-applied-configuration and those of other tools: the values in them may be older than the Secret's.
_COPY: Final = "applied"
# Go's encoder writes these in JSON as numbers.
_IN_GO: Final = {ord(char): f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"}


class NotKept(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Something that went along, or may have, and is not kept: `what`, or anything of the kind `resource`.

    Its name and kind are for those who may read that kind in `namespace`; one without a kind names nobody.
    """

    what: str = ""
    why: str
    resource: str = ""
    namespace: str = ""


class Kept(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """One object. `resource` is its kind as kubectl shows it, `uid` the one that it had.

    `manifest` is None where it could not be kept, and `missing` says why. `withheld` are the keys of a Secret whose
    values were not kept, `left_out` its annotations likewise. `gaps` say what else went that is not kept, as sentences
    where whoever is shown this may know them all. `unseen` is how many objects went along that they may not see.
    """

    api_version: str
    kind: str
    resource: str
    namespaced: bool
    name: str
    namespace: str = ""
    uid: str
    manifest: Manifest | None = None
    missing: str = ""
    withheld: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    gaps: tuple[NotKept | str, ...] = msgspec.field(default=(), name="unknown")
    unseen: int = 0

    @property
    def part(self) -> str:
        """What it is called beside what it went with."""
        return "/".join(text for text in (self.resource, self.namespace, self.name) if text)

    @property
    def unknown(self) -> tuple[str, ...]:
        return sentences(self.gaps)


_encoder: Final = msgspec.json.Encoder()
_decoder: Final = msgspec.json.Decoder(Kept)


def sentences(gaps: Iterable[NotKept | str]) -> tuple[str, ...]:
    """Kinds that could not be read for the same reason are named together."""
    kinds: dict[str, set[str]] = {}
    others: list[str] = []
    for gap in gaps:
        if isinstance(gap, str):
            others.append(gap)
        elif gap.what:
            others.append(f"{gap.what}: {gap.why}")
        else:
            kinds.setdefault(gap.why, set()).add(gap.resource)
    together = (f"{', '.join(sorted(which))} that may go along: {why}" for why, which in kinds.items())
    return (*others, *together)


def packed(kept: Kept) -> bytes:
    return _encoder.encode(kept)


def unpacked(data: bytes) -> Kept:
    return _decoder.decode(data)


def kept_of(found: Mapping[str, Any], resource: Resource, *, with_values: bool) -> Kept:
    """From an object as the server sent it."""
    manifest = stripped(found, resource)
    withheld: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    if resource.qualified == SECRETS and not with_values:
        manifest, withheld, left_out = _without_values(manifest)
    metadata = found["metadata"]
    return Kept(
        api_version=resource.api_version,
        kind=resource.kind,
        resource=resource.qualified,
        namespaced=resource.namespaced,
        name=str(metadata["name"]),
        namespace=str(metadata.get("namespace", "")),
        uid=str(metadata.get("uid", "")),
        manifest=manifest,
        withheld=withheld,
        left_out=left_out,
    )


def _without_values(manifest: Manifest) -> tuple[Manifest, tuple[str, ...], tuple[str, ...]]:
    values: dict[str, str] = {}
    for field in _VALUES:
        values |= {str(key): str(value) for key, value in (manifest.get(field) or {}).items()}
    spellings = {spelt for value in values.values() for spelt in _spellings(value) if spelt}
    metadata = dict(manifest["metadata"])
    annotations: dict[str, str] = metadata.pop("annotations", None) or {}
    harmless = {
        key: value
        for key, value in annotations.items()
        if not _is_copy(key, value) and not any(spelt in value for spelt in spellings)
    }
    if harmless:
        metadata["annotations"] = harmless
    found = {key: value for key, value in manifest.items() if key not in _VALUES}
    left_out = tuple(sorted(annotations.keys() - harmless.keys()))
    return {**found, "metadata": metadata}, tuple(sorted(values)), left_out


def _is_copy(key: str, value: str) -> bool:
    """Whether it is, or may be, a whole object."""
    if len(value) > _LONGEST_ANNOTATION or _COPY in key.rpartition("/")[2].lower():
        return True
    return value.lstrip()[:1] in {"{", "["}


def _spellings(value: str) -> tuple[str, ...]:
    """As the server writes it, as it was meant, and as that stands in JSON."""
    try:
        plain = base64.b64decode(value, validate=True).decode()
    except (binascii.Error, ValueError):
        return (value,)
    quoted = json.dumps(plain, ensure_ascii=False)[1:-1]
    return (value, value.rstrip("="), plain, plain.strip(), quoted, quoted.translate(_IN_GO))
