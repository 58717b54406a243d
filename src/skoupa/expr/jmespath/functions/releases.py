"""Kyverno's functions on what is released: versions (`semver_compare`) and names of images (`image_normalize`).

Difference, on purpose: a version that is none is an error. Kyverno takes it for 0.0.0, which is older than everything,
and a policy that deletes what is old would delete what it can't read.
"""

from __future__ import annotations

from typing import Annotated, Final

from skoupa.expr import images
from skoupa.expr.jmespath.functions.signature import Checked, Function, Text, Truth, declare
from skoupa.expr.jmespath.jsontypes import Type
from skoupa.expr.jmespath.running import Run
from skoupa.expr.versions import Range, Version

VersionRange = Annotated[str, Type.STRING, Checked(Range.parse)]


def semver_compare(_: Run, version: Text, range_: VersionRange) -> Truth:
    return Range.parse(range_).has(Version.parse(version))


def image_normalize(_: Run, image: Text) -> Text:
    return images.normalized(image)


FUNCTIONS: Final[tuple[Function, ...]] = (
    declare(semver_compare, cost=150),
    declare(image_normalize, cost=20),
)
