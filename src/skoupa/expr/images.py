"""Names of container images: `nginx`, `registry.example/team/web:1.4`, `app@sha256:...`, taken apart and written in full.

The grammar is that of the distribution project. As in Kyverno a name without a registry gets the default one, a name
with neither tag nor digest gets `latest`, `library/` is not added, and a first part with an underscore, which no host
name can have, is still shown as the registry. Whether an image exists is not looked at.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

from skoupa.expr.readings import quoted

DEFAULT_REGISTRY: Final = "docker.io"
EXAMPLES: Final = "nginx, registry.example/team/web:1.4 or web@sha256:<64 hexadecimal digits>"

_LONGEST: Final = 2000
_LONGEST_PATH: Final = 255
_HOST_PART: Final = r"[A-Za-z0-9]+(?:-+[A-Za-z0-9]+)*"
_HOST: Final = rf"(?:{_HOST_PART}(?:\.{_HOST_PART})*|\[[A-Fa-f0-9:]+\])(?::[0-9]+)?"
_PATH_PART: Final = r"[a-z0-9]+(?:(?:\.|__?|-+)[a-z0-9]+)*"
_REFERENCE: Final = re.compile(
    rf"(?:(?P<registry>{_HOST})/)?(?P<path>{_PATH_PART}(?:/{_PATH_PART})*)"
    r"(?::(?P<tag>[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}))?(?:@(?P<digest>[A-Za-z0-9_+.-]+:[A-Fa-f0-9]+))?"
)
_DIGEST: Final = re.compile(r"sha256:[a-f0-9]{64}|sha384:[a-f0-9]{96}|sha512:[a-f0-9]{128}")


class Image(msgspec.Struct, frozen=True, kw_only=True):
    """`path` is the repository within the registry, `name` its last part; `str` is the name in full."""

    registry: str
    path: str
    name: str
    tag: str = ""
    digest: str = ""

    @property
    def repository(self) -> str:
        """Registry and path, without tag and digest."""
        return f"{self.registry}/{self.path}" if self.registry else self.path

    @property
    def reference(self) -> str:
        """With the digest where there is one, else with the tag: the digest says more."""
        return f"{self.repository}@{self.digest}" if self.digest else f"{self.repository}:{self.tag}"

    @property
    def reference_with_tag(self) -> str:
        """What Kyverno calls referenceWithTag: the colon stays where there is only a digest."""
        return f"{self.repository}:{self.tag}"

    def __str__(self) -> str:
        return self.reference


def parse(text: str, *, default_registry: str = DEFAULT_REGISTRY) -> Image:
    """A ValueError says what to write."""
    full = text if _names_registry(text) else f"{default_registry}/{text}"
    match = _REFERENCE.fullmatch(full) if len(full) <= _LONGEST else None
    if match is None:
        lower = _REFERENCE.fullmatch(full.lower()) if len(full) <= _LONGEST else None
        reason = "capital letters are for tags only" if lower else f"write it like {EXAMPLES}"
        raise ValueError(f"{quoted(text)} is no name of an image: {reason}")
    registry, path, tag, digest = (part or "" for part in match.groups())
    if len(path) > _LONGEST_PATH:
        raise ValueError(
            f"{quoted(text)} is no name of an image: its path is longer than {_LONGEST_PATH} characters"
        )
    if digest and not _DIGEST.fullmatch(digest):
        raise ValueError(
            f"{quoted(text)} has a digest that is none: write sha256: and 64 digits of 0-9 and a-f"
        )
    name = path.rsplit("/", 1)[-1]
    if not registry and "_" in path.partition("/")[0] and "/" in path:
        registry, _, path = path.partition("/")
    return Image(
        registry=registry, path=path, name=name, tag=tag if tag or digest else "latest", digest=digest
    )


def normalized(text: str, *, default_registry: str = DEFAULT_REGISTRY) -> str:
    """The name in full, as Kyverno's image_normalize writes it."""
    return parse(text, default_registry=default_registry).reference


def _names_registry(text: str) -> bool:
    """What stands before the first slash is a registry when no path could be written like that."""
    first, slash, _ = text.partition("/")
    return bool(slash) and (
        any(mark in first for mark in ".:") or first == "localhost" or first.lower() != first
    )
