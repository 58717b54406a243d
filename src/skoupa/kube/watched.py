"""What a watch tells its reader, as values; `skoupa.kube.watch` has the contract of their order."""

from __future__ import annotations

from typing import Generic, TypeVar

import msgspec

from skoupa.errors import SkoupaError
from skoupa.kube.decoding import Undecodable
from skoupa.kube.lines import Change

T = TypeVar("T")


class Begun(msgspec.Struct, frozen=True):
    """A list begins: objects up to `Synced` replace all that was known."""


class Listed(msgspec.Struct, Generic[T], frozen=True):
    objects: list[T]
    undecodable: tuple[Undecodable, ...] = ()


class Synced(msgspec.Struct, frozen=True):
    resource_version: str


class Changed(msgspec.Struct, Generic[T], frozen=True):
    """Changes in the server's order; objects that could not be read are told beside them."""

    changes: list[Change[T]]
    undecodable: tuple[Undecodable, ...] = ()


class Progressed(msgspec.Struct, frozen=True):
    """A bookmark: nothing changed up to this resourceVersion."""

    resource_version: str


class Reread(msgspec.Struct, Generic[T], frozen=True):
    """After `Interrupted`: some of the objects as they are now. The feed is behind until the next event."""

    objects: list[T]
    undecodable: tuple[Undecodable, ...] = ()


class Resumed(msgspec.Struct, frozen=True):
    """After `Interrupted`: the connection stands again and brought nothing, so what is known is true again."""


class Interrupted(msgspec.Struct, frozen=True):
    """The feed is behind because of `error`; the next try is in `wait` seconds."""

    error: SkoupaError
    wait: float


WatchEvent = Begun | Listed[T] | Synced | Changed[T] | Progressed | Reread[T] | Resumed | Interrupted
