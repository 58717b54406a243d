"""The settings of notices: routes, which of them is the default, how often, how long.

A route is an entry of a list with a name, as a container is in a Pod: names stay visible where files are merged, and
the list has one default, none. What is secret is never written in the settings, which are a ConfigMap: it is named
(`env` or `file`) and read when the process starts.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

from skoupa.settings.sections import Duration, Section, about

What = Literal["braked", "failed", "stuck", "notice", "held", "deleted", "would-delete"]

# In the order in which they are told: what somebody has to do something about comes first.
EVENTS: Final[dict[What, str]] = {
    "braked": "stopped by a brake",
    "failed": "could not be deleted",
    "stuck": "deleted but still there",
    "notice": "will be deleted",
    "held": "due but held",
    "deleted": "deleted",
    "would-delete": "would have been deleted",
}

# What a template may name, with its meaning; docs/notices.md has the same table.
TEMPLATE_FIELDS: Final[dict[str, str]] = {
    "text": "the whole message as plain text, several lines",
    "summary": "its first line: the cluster and how many of what",
    "cluster": "`clusterName` of the settings",
    "route": "name of the route",
    "namespaces": "the namespaces that it is about, with commas",
    "total": "how many objects it is about, a number",
    "first": "time of the first thing that it tells, RFC 3339 in UTC",
    "last": "time of the last",
    "id": "the same for every try of this message",
}


class From(Section, frozen=True, kw_only=True):
    """Where a secret is: a variable of the environment, or a file such as a mounted Secret."""

    env: str = ""
    file: str = ""


class HeaderSettings(Section, frozen=True, kw_only=True):
    name: str
    value: str = ""
    value_from: From | None = None

    def __repr__(self) -> str:
        return f"HeaderSettings(name={self.name!r})"


class RouteSettings(Section, frozen=True, kw_only=True):
    """`url` and the values of headers are not shown: people write secrets into them all the same."""

    name: str
    type: Literal["slack", "webhook"]
    url: str = ""
    url_from: From | None = None
    headers: tuple[HeaderSettings, ...] = ()
    template: str | None = None
    secret_from: From | None = None
    events: tuple[What, ...] = ("braked", "failed", "stuck", "notice", "deleted")

    def __repr__(self) -> str:
        return f"RouteSettings(name={self.name!r}, type={self.type!r})"


class NoticeSettings(Section, frozen=True, kw_only=True):
    routes: Annotated[
        tuple[RouteSettings, ...],
        about(
            "Where notices go: Slack and webhooks, each with a name; see docs/notices.md. In the file only."
        ),
    ] = ()
    default: Annotated[
        str,
        about("Route of what has no annotation `skoupa.dev/notify`; empty: such things are told to nobody."),
    ] = ""
    every: Annotated[Duration, about("How long things are gathered for one message to a route.")] = "60s"
    timeout: Annotated[Duration, about("How long a route may take to answer.")] = "10s"
