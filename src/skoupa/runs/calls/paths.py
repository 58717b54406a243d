"""A path of the API server as a policy writes it, read the way the server reads it, and sent as it was read.

Every policy is kept from paths by which the server would reach out to something else (proxy, exec), that never end (watch), or
that make something: a policy asks, so all it may POST are reviews. One of a namespace is kept in it besides. A path into a namespace
that can't be there is refused too: of such a one the server says that nothing lies in it, which is no knowledge.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final
from urllib.parse import parse_qsl, quote, unquote

import msgspec

from skoupa.errors import UsageError
from skoupa.policy.asked_kinds import AskedKind
from skoupa.policy.confinement import confined

_ELSEWHERE: Final = frozenset({"proxy", "exec", "attach", "portforward"})
_REVIEWS: Final = {
    "authorization.k8s.io": frozenset(
        {
            "localsubjectaccessreviews",
            "selfsubjectaccessreviews",
            "selfsubjectrulesreviews",
            "subjectaccessreviews",
        }
    ),
    "authentication.k8s.io": frozenset({"selfsubjectreviews", "tokenreviews"}),
}
_ENDLESS: Final = frozenset({"watch", "follow"})
_FALSE: Final = frozenset({"0", "false"})
_NAMESPACE: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_FORM: Final = "write it as `kubectl get --raw` takes it: /api/v1/namespaces/NAMESPACE/pods"


class Path(msgspec.Struct, frozen=True, kw_only=True):
    """`path` is encoded; `shown` is without the query."""

    path: str
    query: tuple[tuple[str, str], ...]
    shown: str


def read_path(text: str, *, method: str, namespace: str = "") -> Path:
    """Raises `UsageError` for what that method, or a policy of that namespace, may not ask for."""
    if method not in {"GET", "POST"}:
        raise UsageError(f"policies ask by GET and POST only, not by {method}", advice="write GET or POST")
    written, _, query = text.partition("?")
    written = written.removesuffix("/")
    shown = written if len(written) <= 200 else f"{written[:197]}..."
    steps = _steps(written)
    if steps is None or "#" in text or not query.isprintable():
        raise UsageError(f"{shown!r} is no path of the API server", advice=_FORM)
    path = "/" + "/".join(quote(step, safe="") for step in steps)
    # What was written and what is sent must both stay: either alone could mislead.
    if namespace and not (confined(written, namespace) and confined(path, namespace)):
        raise UsageError(
            f"{shown} leads out of {namespace}, the namespace of the policy",
            advice=f"ask for /api/v1/namespaces/{namespace}/… or /apis/GROUP/VERSION/namespaces/{namespace}/…",
        )
    pairs = tuple(parse_qsl(query, keep_blank_values=True))
    check_namespace(_inside(steps))
    _check_reach(steps, pairs, shown=shown)
    if method == "POST" and not _is_review(steps):
        raise UsageError(
            f"POST {shown} would make something, and a policy that deletes makes nothing",
            advice="only reviews may be posted, such as subjectaccessreviews of authorization.k8s.io",
        )
    return Path(path=path, query=pairs, shown=shown)


def check_namespace(name: str) -> None:
    """Raises `UsageError` where it is the name of none, such as one that a variable should have filled in."""
    if name and not _NAMESPACE.fullmatch(name):
        shown = name if len(name) <= 80 else f"{name[:77]}..."
        raise UsageError(
            f"{shown!r} can't be the name of a namespace, so that nothing is ever found in it",
            advice="write the name of one: small letters, digits and -",
        )


def about_secrets(place: Path) -> bool:
    """Whether it answers with Secrets."""
    group, _, rest = served_at(place) or ("", "", [])
    if rest[:1] == ["namespaces"]:
        rest = rest[2:]
    return not group and rest[:1] == ["secrets"]


def served_at(place: Path) -> tuple[str, str, list[str]] | None:
    """Group and version, and the steps behind them; None: it leads to no kind."""
    return _served([unquote(step) for step in place.path.removeprefix("/").split("/")])


def kind_asked(place: Path) -> AskedKind | None:
    """The kind that it is about; None: it is about none."""
    served = served_at(place)
    if served is None:
        return None
    group, version, rest = served
    inside = rest[:1] == ["namespaces"] and len(rest) > 2
    rest = rest[2:] if inside else rest
    return AskedKind(group, version, rest[0], inside, len(rest) > 1) if rest else None


def _steps(written: str) -> list[str] | None:
    """The steps of a path as the server sees them; None where it could be read in more than one way."""
    if not written.startswith("/") or "\\" in written or not written.isprintable() or " " in written:
        return None
    read = unquote(written)
    if unquote(read) != read or "\\" in read or not read.isprintable() or "\ufffd" in read:
        return None
    steps = read.removeprefix("/").split("/")
    return None if any(step in {"", ".", ".."} for step in steps) else steps


def _check_reach(steps: Sequence[str], query: Sequence[tuple[str, str]], *, shown: str) -> None:
    _, rest = _within_group(steps)
    inner = rest[2:] if rest[:1] == ["namespaces"] and len(rest) > 3 else rest
    if "proxy" in rest[:1] or any(step in _ELSEWHERE for step in (*inner[2:3], *rest[2:3])):
        raise UsageError(
            f"{shown} leads through the API server to something else",
            advice="call the service itself, by a host of policies.allowedHosts",
        )
    endless = any(key in _ENDLESS and value.lower() not in _FALSE for key, value in query)
    if endless or rest[:1] == ["watch"]:
        raise UsageError(f"{shown} is asked for without an end", advice="leave out watch and follow")


def _is_review(steps: Sequence[str]) -> bool:
    group, rest = _within_group(steps)
    if rest[:1] == ["namespaces"]:
        rest = rest[2:]
    return len(rest) == 1 and rest[0] in _REVIEWS.get(group, ())


def _inside(steps: Sequence[str]) -> str:
    """The namespace in which something is asked for."""
    _, rest = _within_group(steps)
    return rest[1] if rest[:1] == ["namespaces"] and len(rest) > 2 else ""


def _within_group(steps: Sequence[str]) -> tuple[str, list[str]]:
    group, _, rest = _served(steps) or ("", "", [])
    return group, rest


def _served(steps: Sequence[str]) -> tuple[str, str, list[str]] | None:
    match list(steps):
        case ["api", version, *rest]:
            return "", version, rest
        case ["apis", group, version, *rest]:
            return group, version, rest
        case _:
            return None
