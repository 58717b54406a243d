"""Kyverno's image library: names of images taken apart as go-containerregistry does, which CEL policies are used to.

It differs from the reading that JMESPath expressions get (`skoupa.expr.images`): Docker Hub is `index.docker.io`, its
official images are under `library/`, and a digest makes the tag disappear.
"""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec

from skoupa.expr.cel.library.declaring import TYPES, function, method
from skoupa.expr.cel.library.tagged import tagged, untagged
from skoupa.expr.readings import quoted

IMAGE: Final = TYPES["Image"]
DOCKER_HUB: Final = "index.docker.io"

_REGISTRY: Final = re.compile(r"(?:[A-Za-z0-9_.-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]+)?")
_REPOSITORY: Final = re.compile(r"[a-z0-9_./-]{2,255}")
_TAG: Final = re.compile(r"[A-Za-z0-9_.-]{1,128}")
_DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}")


class Reference(msgspec.Struct, frozen=True, array_like=True):
    registry: str
    repository: str
    tag: str = ""
    digest: str = ""


def parse(text: str) -> Reference:
    """A ValueError says what to write."""
    base, at, digest = text.partition("@")
    if at and not _DIGEST.fullmatch(digest):
        raise _refusal(text)
    before, colon, last = base.rpartition(":")
    # A colon before a slash is that of a port.
    tagged_base = bool(colon) and "/" not in last
    tag = last if tagged_base else ""
    if not at and not _TAG.fullmatch(tag or "latest"):
        raise _refusal(text)
    if at and tag and not _TAG.fullmatch(tag):
        raise _refusal(text)
    registry, repository = _located(before if tagged_base else base)
    if not _REGISTRY.fullmatch(registry) or not _REPOSITORY.fullmatch(repository):
        raise _refusal(text)
    if at:
        return Reference(registry, repository, digest=digest)
    return Reference(registry, repository, tag=tag or "latest")


def _located(name: str) -> tuple[str, str]:
    """The first part is a registry when it has a dot or a colon, and only then."""
    first, slash, rest = name.partition("/")
    registry, repository = (first, rest) if slash and ("." in first or ":" in first) else (DOCKER_HUB, name)
    if registry in {"docker.io", DOCKER_HUB}:
        return DOCKER_HUB, repository if "/" in repository else f"library/{repository}"
    return registry, repository


def _refusal(text: str) -> ValueError:
    return ValueError(
        f"{quoted(text)} is no name of an image: write it like nginx:1.27, registry.example/team/web or web@sha256:<64 digits>"
    )


def is_image(text: str) -> bool:
    try:
        parse(text)
    except ValueError:
        return False
    return True


def _image(text: str) -> dict[str, Any]:
    return tagged(IMAGE, list(msgspec.structs.astuple(parse(text))))


def _reference(value: object) -> Reference:
    return Reference(*untagged(IMAGE, value))


def _identifier(value: object) -> str:
    reference = _reference(value)
    return reference.digest or reference.tag


FUNCTIONS: Final = (
    function("image", _image, "string -> Image"),
    function("parseImageReference", _image, "string -> Image"),
    function("isImage", is_image, "string -> bool"),
    method("containsDigest", lambda value: bool(_reference(value).digest), "Image -> bool"),
    method("registry", lambda value: _reference(value).registry, "Image -> string"),
    method("repository", lambda value: _reference(value).repository, "Image -> string"),
    method("identifier", _identifier, "Image -> string"),
    method("tag", lambda value: _reference(value).tag, "Image -> string"),
    method("digest", lambda value: _reference(value).digest, "Image -> string"),
)
