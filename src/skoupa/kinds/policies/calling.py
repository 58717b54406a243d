"""A call to an API, as context entries and GlobalContextEntries make it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from skoupa.kinds.schema import about

_Url = Annotated[str, msgspec.Meta(min_length=1)]

Method = Literal["GET", "POST"]


class Datum(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, forbid_unknown_fields=True
):
    """One field of what a POST sends."""

    key: Annotated[str, about("Its name.")]
    value: Annotated[Any, about("Its value, whatever it is.")]


class Header(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, forbid_unknown_fields=True
):
    """One HTTP header."""

    key: Annotated[str, about("Its name.")]
    value: Annotated[str, about("Its value.")]


class Service(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, forbid_unknown_fields=True
):
    """A service outside the API server that answers in JSON."""

    url: Annotated[_Url, about("Where it is: https://NAME.NAMESPACE/PATH.")]
    ca_bundle: Annotated[
        str | None, about("PEM certificates by which it is recognised; without them those of the system.")
    ] = None
    headers: Annotated[tuple[Header, ...], about("Headers to send along.")] = ()
