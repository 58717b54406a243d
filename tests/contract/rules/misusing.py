"""Requests that can't be meant."""

from __future__ import annotations

import msgspec

from skoupa.kube.resources import CONFIG_MAPS
from tests.contract.arena import Arena
from tests.contract.expecting import document, status_of
from tests.contract.registry import rule
from tests.contract.sabotage import misspeak, swap


@rule(broken_by=misspeak("server.calls._unrecognized"))
async def malformed_json_is_a_bad_request(arena: Arena) -> None:
    """A body that is no JSON object is a bad request, and so is none at all."""
    path = CONFIG_MAPS.path(namespace=arena.namespace)
    for body in (b"{", b"[1", b'{"metadata": "text"}', b'"x"', b"\x00", b'{"metadata":{"name":3}}'):
        answer = await arena.ask("POST", path, body=body)
        status_of(answer, code=400, reason="BadRequest")
    assert (await arena.listed(CONFIG_MAPS, fieldSelector="metadata.name=3"))["items"] == []


@rule(broken_by=misspeak("server.calls.unsupported_media_type"))
async def an_unknown_body_form_is_not_supported(arena: Arena) -> None:
    """A body of a media type that the server does not read is a 415."""
    path = CONFIG_MAPS.path(namespace=arena.namespace)
    answer = await arena.ask("POST", path, body=b"name=one", content_type="text/plain")
    said = status_of(answer, code=415, reason="UnsupportedMediaType")
    assert "application/json" in said.message


@rule(
    broken_by=swap(
        "server.calls._DECODERS", dict.fromkeys(("application/json", "application/yaml"), msgspec.json.decode)
    )
)
async def a_body_may_be_yaml(arena: Arena) -> None:
    """The server reads YAML as well as JSON."""
    body = f"metadata:\n  name: one\n  namespace: {arena.namespace}\ndata:\n  a: '1'\n".encode()
    path = CONFIG_MAPS.path(namespace=arena.namespace)
    made = document(await arena.ask("POST", path, body=body, content_type="application/yaml"))
    assert made["data"] == {"a": "1"}


@rule(broken_by=misspeak("server.calls.method_not_allowed"))
async def a_method_that_a_path_does_not_have_is_not_allowed(arena: Arena) -> None:
    """Posting to an object, or putting to a collection, is a 405."""
    await arena.config_map("one")
    many = CONFIG_MAPS.path(namespace=arena.namespace)
    for method, path in (("POST", f"{many}/one"), ("PUT", many), ("PATCH", many)):
        answer = await arena.ask(method, path, body={"metadata": {"name": "one"}})  # type: ignore[arg-type]
        said = status_of(answer, code=405, reason="MethodNotAllowed")
        assert said.message == "the server does not allow this method on the requested resource"


@rule(broken_by=misspeak("server.calls.method_not_allowed"))
async def a_namespaced_kind_is_not_created_without_a_namespace(arena: Arena) -> None:
    """A namespaced object can't be created at the path of all namespaces."""
    answer = await arena.ask("POST", CONFIG_MAPS.path(), body={"metadata": {"name": arena.unique()}})
    assert answer.status == 405


@rule(broken_by=swap("server.calls.Call.dry_run", False))
async def an_unknown_dry_run_is_refused(arena: Arena) -> None:
    """dryRun knows All and nothing else."""
    path = CONFIG_MAPS.path(namespace=arena.namespace)
    answer = await arena.ask("POST", path, query={"dryRun": "Some"}, body={"metadata": {"name": "one"}})
    status_of(answer, code=422, reason="Invalid")
    assert not await arena.exists(CONFIG_MAPS, "one")


@rule(broken_by=misspeak("server.calls.unsupported_media_type"))
async def a_write_without_a_body_is_not_supported(arena: Arena) -> None:
    """A creation without a body and its media type is a 415, and so is a delete with a body of an unknown one."""
    many = CONFIG_MAPS.path(namespace=arena.namespace)
    status_of(await arena.ask("POST", many), code=415, reason="UnsupportedMediaType")
    await arena.config_map("one")
    answer = await arena.ask("DELETE", f"{many}/one", body=b"please", content_type="text/plain")
    status_of(answer, code=415, reason="UnsupportedMediaType")
    assert await arena.exists(CONFIG_MAPS, "one")
