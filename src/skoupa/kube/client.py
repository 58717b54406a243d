"""The verbs for single objects: get, create, replace, patch, apply, delete.

Lists, watches and discovery have modules of their own and use `Client.ask`. A delete always says which object it
means (uid), usually which state of it was judged (resourceVersion), and what becomes of its dependents: the server's
defaults differ by kind (a Job orphans its Pods) and are never relied on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal, TypeVar
from urllib.parse import urlsplit

import msgspec

from skoupa import __version__, names
from skoupa.clock import Clock
from skoupa.errors import ApiError, BadReply, NotFound, Status, api_error
from skoupa.kube.decoding import decode, decode_list, excerpt
from skoupa.kube.deleted import Deleted, DeleteReply
from skoupa.kube.objects import METADATA, Partial, View
from skoupa.kube.resources import Resource
from skoupa.kube.transport import Request, Response, Transport

T = TypeVar("T")
Propagation = Literal["Background", "Foreground", "Orphan"]
Body = Mapping[str, Any]

# A webhook may take 30 s, and there may be several; the server itself gives up after 60 s.
DELETE_TIMEOUT_SECONDS: Final = 65.0


class Client:
    def __init__(self, transport: Transport, clock: Clock, *, user_agent: str = "") -> None:
        self.transport = transport
        self.clock = clock
        self.user_agent = user_agent or f"{names.COMPONENT}/{__version__}"
        # None until a server has shown whether it can stream lists; all watches of one client share the answer.
        self.streams_lists: bool | None = None

    async def ask(self, request: Request, *, doing: str) -> Response:
        """Sends a request and raises what the server refused as an `ApiError`."""
        response = await self.transport.send(request)
        if response.status >= 400:
            error = refusal(response.status, response.headers, response.body, doing=doing)
            error.after_silence = response.after_silence
            raise error
        if response.status >= 300:
            # Only the host: the rest of such an address is often a token.
            where = urlsplit(response.headers.get("location", "")).netloc or "nowhere"
            raise BadReply(
                f"{doing}: the server sends us on to {where} ({response.status}), which no API server does",
                advice="check the address in the kubeconfig, and whether a login page stands before the server",
            )
        return response

    def headers(self, *pairs: tuple[str, str], rule: str = "") -> tuple[tuple[str, str], ...]:
        """`rule` names mechanism and rule behind a write, so that the server's audit log tells why."""
        agent = f"{self.user_agent} ({rule})" if rule else self.user_agent
        return (("User-Agent", agent), *pairs)

    async def get(self, resource: Resource, name: str, *, view: View[T], namespace: str = "") -> T:
        doing = f"get {describe(resource, name, namespace)}"
        request = Request(
            path=resource.path(namespace=namespace, name=name),
            headers=self.headers(("Accept", view.accept(many=False))),
            kind=resource.qualified,
            repeatable=True,
        )
        response = await self.ask(request, doing=doing)
        return decode(response.body, view.type, doing=doing)  # type: ignore[no-any-return]

    async def find(self, resource: Resource, name: str, *, view: View[T], namespace: str = "") -> T:
        """As `get`, for those who may list but not get: a list with a field selector on the name."""
        doing = f"find {describe(resource, name, namespace)}"
        request = Request(
            path=resource.path(namespace=namespace),
            query=(("fieldSelector", f"metadata.name={name}"),),
            headers=self.headers(("Accept", view.accept(many=True))),
            verb="list",
            kind=resource.qualified,
            repeatable=True,
        )
        response = await self.ask(request, doing=doing)
        _, items, bad = decode_list(response.body, view, doing=doing)
        if bad:
            raise BadReply(f"{doing}: the object can't be read ({bad[0].why})")
        if not items:
            status = Status(code=404, reason="NotFound", message=f'{resource.qualified} "{name}" not found')
            raise NotFound(f"{doing}: not found", status=status)
        return items[0]

    async def create(
        self,
        resource: Resource,
        body: Body,
        *,
        namespace: str = "",
        subresource: str = "",
        name: str = "",
        dry_run: bool = False,
        rule: str = "",
    ) -> dict[str, Any]:
        named = name or str((body.get("metadata") or {}).get("name", ""))
        doing = f"create {describe(resource, named, namespace)}"
        request = Request(
            method="POST",
            path=resource.path(namespace=namespace, name=name, subresource=subresource),
            query=_write_query(dry_run=dry_run),
            headers=self.headers(("Accept", "application/json"), _JSON, rule=rule),
            body=msgspec.json.encode(body),
            verb="create",
            kind=resource.qualified,
        )
        response = await self.ask(request, doing=doing)
        return decode(response.body, dict[str, Any], doing=doing)  # type: ignore[no-any-return]

    async def replace(
        self,
        resource: Resource,
        body: Body,
        *,
        namespace: str = "",
        subresource: str = "",
        dry_run: bool = False,
        rule: str = "",
    ) -> dict[str, Any]:
        """PUT. The body's resourceVersion, where it has one, is a precondition."""
        name = str(body["metadata"]["name"])
        doing = f"replace {describe(resource, name, namespace)}"
        request = Request(
            method="PUT",
            path=resource.path(namespace=namespace, name=name, subresource=subresource),
            query=_write_query(dry_run=dry_run),
            headers=self.headers(("Accept", "application/json"), _JSON, rule=rule),
            body=msgspec.json.encode(body),
            verb="update",
            kind=resource.qualified,
        )
        response = await self.ask(request, doing=doing)
        return decode(response.body, dict[str, Any], doing=doing)  # type: ignore[no-any-return]

    async def merge_patch(self, resource: Resource, name: str, patch: Body, **where: Any) -> dict[str, Any]:
        """JSON merge patch. A metadata.resourceVersion in it is a precondition."""
        media_type = "application/merge-patch+json"
        return await self._patch(resource, name, patch, media_type=media_type, **where)

    async def json_patch(
        self, resource: Resource, name: str, operations: Sequence[Body], **where: Any
    ) -> dict[str, Any]:
        """JSON patch; its `test` operations are preconditions. `still_wanted` as in `delete`."""
        media_type = "application/json-patch+json"
        return await self._patch(resource, name, operations, media_type=media_type, **where)

    async def apply(
        self,
        resource: Resource,
        body: Body,
        *,
        manager: str = names.COMPONENT,
        force: bool = False,
        **where: Any,
    ) -> dict[str, Any]:
        """Server-side apply: creates or changes the fields in `body` and owns them as `manager`."""
        query = (("force", "true" if force else "false"),)
        media_type = "application/apply-patch+yaml"
        name = str(body["metadata"]["name"])
        return await self._patch(
            resource, name, body, media_type=media_type, query=query, manager=manager, **where
        )

    async def _patch(
        self,
        resource: Resource,
        name: str,
        patch: Body | Sequence[Body],
        *,
        media_type: str,
        namespace: str = "",
        subresource: str = "",
        query: tuple[tuple[str, str], ...] = (),
        manager: str = names.COMPONENT,
        dry_run: bool = False,
        rule: str = "",
        still_wanted: Callable[[], bool] | None = None,
    ) -> dict[str, Any]:
        doing = f"patch {describe(resource, name, namespace)}"
        request = Request(
            method="PATCH",
            path=resource.path(namespace=namespace, name=name, subresource=subresource),
            query=(*query, *_write_query(dry_run=dry_run, manager=manager)),
            headers=self.headers(("Accept", "application/json"), ("Content-Type", media_type), rule=rule),
            body=msgspec.json.encode(patch),
            verb="patch",
            kind=resource.qualified,
            still_wanted=still_wanted,
        )
        response = await self.ask(request, doing=doing)
        return decode(response.body, dict[str, Any], doing=doing)  # type: ignore[no-any-return]

    async def delete(
        self,
        resource: Resource,
        name: str,
        *,
        uid: str,
        propagation: Propagation,
        namespace: str = "",
        resource_version: str = "",
        dry_run: bool = False,
        rule: str = "",
        still_wanted: Callable[[], bool] | None = None,
    ) -> Deleted:
        """Deletes the object with this uid, and with a resourceVersion only in that very state.

        The uid makes it safe to repeat: a second try can't hit a new object of the same name. `still_wanted` is asked
        right before it is sent; where it says no, `Withdrawn` is raised.
        """
        preconditions = {"uid": uid}
        if resource_version:
            preconditions["resourceVersion"] = resource_version
        options: dict[str, Any] = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "preconditions": preconditions,
            "propagationPolicy": propagation,
        }
        if dry_run:
            options["dryRun"] = ["All"]
        doing = f"delete {describe(resource, name, namespace)}"
        request = Request(
            method="DELETE",
            path=resource.path(namespace=namespace, name=name),
            headers=self.headers(("Accept", METADATA.accept(many=False)), _JSON, rule=rule),
            body=msgspec.json.encode(options),
            timeout=DELETE_TIMEOUT_SECONDS,
            verb="delete",
            kind=resource.qualified,
            repeatable=True,
            still_wanted=still_wanted,
        )
        try:
            response = await self.ask(request, doing=doing)
        except NotFound as error:
            if error.after_silence:
                return Deleted(gone=True, answered=False)
            raise
        found = decode(response.body, DeleteReply, doing=doing)
        if found.gone:
            return Deleted(gone=True)
        return Deleted(gone=False, remaining=decode(response.body, Partial, doing=doing))


_JSON = ("Content-Type", "application/json")


def _write_query(*, dry_run: bool, manager: str = names.COMPONENT) -> tuple[tuple[str, str], ...]:
    owner = ("fieldManager", manager)
    return (owner, ("dryRun", "All")) if dry_run else (owner,)


def describe(resource: Resource, name: str = "", namespace: str = "") -> str:
    what = f"{resource.qualified}/{name}" if name else resource.qualified
    return f"{what} in {namespace}" if namespace else what


def refusal(status: int, headers: Mapping[str, str], body: bytes, *, doing: str) -> ApiError:
    """The error behind an answer of 400 and above; proxies on the way answer without a Status."""
    try:
        said = msgspec.json.decode(body, type=Status)
    except (msgspec.DecodeError, UnicodeDecodeError):
        said = Status(message=f"{excerpt(body)} (no Kubernetes Status)" if body else "empty answer")
    if said.code != status:
        said = msgspec.structs.replace(said, code=status)
    return api_error(said, doing=doing, retry_after=retry_after(headers))


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds of a Retry-After header; its date form is not used by API servers and ignored."""
    text = headers.get("retry-after", "")
    return float(text) if text.isdecimal() else None
