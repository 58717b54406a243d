"""What parent and child say to each other, and what an expression's functions ask the parent for.

Every message is one msgspec value in a frame of its own (see `framing`). Bodies of objects and answers travel as the
bytes that the server sent: the parent never decodes them, the child decodes only the fields that expressions look at.
"""

from __future__ import annotations

from typing import Final

import msgspec


class GetResource(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """resource.Get: the answer is the object, or null where there is none. `resource` may end in a subresource."""

    api_version: str
    resource: str
    namespace: str
    name: str


class ListResources(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """resource.List: the answer is the whole list object; an empty namespace means all of them."""

    api_version: str
    resource: str
    namespace: str
    labels: dict[str, str] = {}


class PostResource(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """resource.Post: the answer is what the server made of it."""

    api_version: str
    resource: str
    namespace: str
    body: msgspec.Raw


class FindResource(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """resource.toGVR: the answer is the plural name of a kind, as a JSON string."""

    api_version: str
    kind: str


class HttpCall(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """http.Get and http.Post: the answer is {"statusCode": int, "body": any}."""

    method: str
    url: str
    headers: dict[str, str] = {}
    body: msgspec.Raw = msgspec.Raw(b"null")
    ca_bundle: str = ""


class GlobalContext(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """globalContext.Get: the answer is the entry's value, or that of one of its projections.

    Where there is no such entry, or it has no value, there is an error and never null: nothing is matched by an absence.
    """

    name: str
    projection: str = ""


class ImageMetadata(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """image.GetMetadata: the answer is what the registry says about the image."""

    image: str


class Usage(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """skoupa_unused and the like: the answer is true or false, or a list of texts. `uid` is that of the object that is judged."""

    function: str
    uid: str


_METADATA: Final = frozenset({"apiVersion", "kind", "metadata"})

Question = (
    GetResource
    | ListResources
    | PostResource
    | FindResource
    | HttpCall
    | GlobalContext
    | ImageMetadata
    | Usage
)


class Named(msgspec.Struct, frozen=True):
    """An expression as it stands in a policy."""

    name: str
    expression: str


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """The expressions of one policy. `namespace` is that of a namespaced policy, and confines what it may ask for.

    `told` are variables whose values come with each Result, whatever the conditions say.
    """

    conditions: tuple[Named, ...] = ()
    variables: tuple[Named, ...] = ()
    namespace: str = ""
    told: tuple[str, ...] = ()


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """What is wrong with one expression: `where` is "conditions[0]", line and column count from 1 (0: not known)."""

    where: str
    expression: str
    reason: str
    advice: str = ""
    line: int = 0
    column: int = 0

    @property
    def what(self) -> str:
        """Without what to write instead."""
        place = f" at line {self.line}, column {self.column}" if self.line else ""
        return f"{self.where}{place}: {self.reason}"

    def __str__(self) -> str:
        return f"{self.what}: {self.advice}" if self.advice else self.what


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What compiling found out. `fields` are the top-level fields of `object` that are looked at; None: all of it.

    `namespace_fields` are those of `namespaceObject`, `asks` the functions that look outside (resource.Get…).
    """

    problems: tuple[Problem, ...] = ()
    fields: tuple[str, ...] | None = ()
    namespace_fields: tuple[str, ...] | None = ()
    asks: tuple[str, ...] = ()

    @property
    def looks_at_namespace(self) -> bool:
        return self.namespace_fields != ()

    @property
    def needs_only_metadata(self) -> bool:
        """Also of Namespaces, which are their own namespaceObject."""
        looked_at = (self.fields, self.namespace_fields)
        return all(fields is not None and _METADATA.issuperset(fields) for fields in looked_at)


class Circumstances(msgspec.Struct, frozen=True, kw_only=True):
    """What holds for a whole batch. `api_version` and `kind` are those of every object, whatever the page says."""

    now: float
    seed: str = ""
    api_version: str = ""
    kind: str = ""
    # Namespace objects by name, as JSON: only needed where Report.looks_at_namespace.
    namespaces: dict[str, msgspec.Raw] = {}


class Compile(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    source: Source


class Judge(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The page follows in a frame of its own. `start` skips what is judged already; `skip` what killed a child.

    After so many `seconds` what is left is for another turn.
    """

    source: Source
    circumstances: Circumstances
    seconds: float
    start: int = 0
    skip: tuple[int, ...] = ()


class Answer(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """What came of a question: an error in words, else JSON in the frame that follows."""

    error: str = ""


class Ready(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The first word of a child: what comes now is work, not starting."""


class Compiled(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    report: Report


class Asked(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    question: Question


class Told(msgspec.Struct, frozen=True):
    """What a variable is: true, false, a text, or a time as a text of RFC 3339; anything else is an `error`, in words."""

    value: bool | str | None = None
    error: str = ""


class Result(msgspec.Struct, frozen=True):
    """One object: whether its conditions hold; where `error` is set nothing is known, and the object stays.

    `told` are the values that the Source wants told, in its order.
    """

    matched: bool
    error: str = ""
    told: tuple[Told, ...] = ()


class Judged(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Results of the objects from `start` on, in the order of the page."""

    start: int
    results: tuple[Result, ...]


class Finished(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The end of a turn: how many objects were judged in it, its CPU seconds, and the child's peak memory in bytes."""

    objects: int
    cpu: float
    peak: int
    error: str = ""
    # Its time was up, or it grew too large on the way: there is more to judge.
    left: bool = False


ToChild = Compile | Judge | Answer
FromChild = Ready | Compiled | Asked | Judged | Finished
