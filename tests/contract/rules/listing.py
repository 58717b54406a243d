"""Lists: their order, their pages, and the moment that they show."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from skoupa.kube.lists import Scope, count, everything, pages
from skoupa.kube.objects import METADATA, WHOLE
from skoupa.kube.resources import CONFIG_MAPS, Resource
from skoupa.sim.server.encoding import document
from tests.contract.arena import Arena, Object
from tests.contract.expecting import causes_of, document_of, refused, status_of
from tests.contract.kinds import SECRETS, secret
from tests.contract.registry import rule
from tests.contract.sabotage import always, but, edit, misspeak, skip, swap, wrap


def names_of(listed: Object) -> list[str]:
    return [item["metadata"]["name"] for item in listed["items"]]


async def made(arena: Arena, resource: Resource, names: Iterable[str], **more: Any) -> None:
    for name in names:
        await arena.create(resource, {"metadata": {"name": name, **more}})


def saying_kinds_always(served: Any, rows: Any, *, partial: bool = False) -> list[bytes]:
    return [document(served, row, partial=partial) for row in rows]


def scanning_no_further_than_the_limit(matching: Any) -> Any:
    def short(*what: Any, first: int, last: int, limit: int, **how: Any) -> Any:
        end = min(last, first + limit) if limit else last
        return matching(*what, first=first, last=end, limit=limit, **how)

    return short


@rule(broken_by=edit("server.lists._page", lambda page: but(page, rows=page.rows[::-1])))
async def a_list_is_in_the_order_of_names(arena: Arena) -> None:
    """A list of a namespace is sorted by name, whatever the order of creation."""
    await made(arena, SECRETS, ["b", "a-b", "a", "c", "a0"])
    assert names_of(await arena.listed(SECRETS)) == ["a", "a-b", "a0", "b", "c"]


@rule(broken_by=swap("server.encoding.items", saying_kinds_always))
async def items_of_custom_kinds_alone_say_their_kind(arena: Arena) -> None:
    """A list of a built-in kind says the kind once, at the top; in that of a custom kind each item says it too."""
    await arena.create(SECRETS, secret("one"))
    listed = await arena.listed(SECRETS)
    assert (listed["kind"], listed["apiVersion"]) == ("SecretList", "v1")
    assert listed["metadata"]["resourceVersion"].isdigit()
    (item,) = listed["items"]
    assert not {"kind", "apiVersion"} & set(item)
    custom = await arena.custom_kind()
    await made(arena, custom, ["one"])
    listed = await arena.listed(custom)
    assert (listed["kind"], listed["apiVersion"]) == (f"{custom.kind}List", custom.api_version)
    assert [(each["kind"], each["apiVersion"]) for each in listed["items"]] == [
        (custom.kind, custom.api_version)
    ]


@rule(broken_by=wrap("server.encoding.items", lambda items: lambda served, rows, **_: items(served, rows)))
async def a_list_of_metadata_has_nothing_else(arena: Arena) -> None:
    """A list of PartialObjectMetadata has the metadata of each object and nothing else of it."""
    made = await arena.create(SECRETS, secret("one"))
    listed = await arena.listed(SECRETS, accept=METADATA.accept(many=True))
    assert (listed["kind"], listed["apiVersion"]) == ("PartialObjectMetadataList", "meta.k8s.io/v1")
    (item,) = listed["items"]
    assert item["metadata"] == made["metadata"]
    assert set(item) - {"kind", "apiVersion"} == {"metadata"}


@rule(broken_by=edit("server.encoding.listing", lambda body: body.replace(b'"items":null', b'"items":[]')))
async def an_empty_list_of_metadata_has_null_for_items(arena: Arena) -> None:
    """An empty list has `items: []`, but a list of metadata `items: null`, and the client reads both as empty."""
    assert (await arena.listed(SECRETS))["items"] == []
    assert (await arena.listed(SECRETS, accept=METADATA.accept(many=True)))["items"] is None
    scope = Scope(namespace=arena.namespace)
    assert (await everything(arena.client, SECRETS, METADATA, scope=scope)).items == []
    assert (await everything(arena.client, SECRETS, WHOLE, scope=scope)).items == []


@rule(broken_by=edit("server.lists._page", lambda page: but(page, rows=page.rows[::-1])))
async def a_list_of_all_namespaces_goes_by_namespace_and_name(arena: Arena) -> None:
    """A list without a namespace has the objects of all, sorted by namespace and then by name."""
    other = await arena.new_namespace()
    mark = arena.unique("m")
    for namespace in (other, arena.namespace):
        for name in ("z", "a"):
            body = {"metadata": {"name": name, "labels": {"mark": mark}}}
            await arena.create(CONFIG_MAPS, body, namespace=namespace)
    listed = await arena.listed(CONFIG_MAPS, namespace="", labelSelector=f"mark={mark}")
    places = [(item["metadata"]["namespace"], item["metadata"]["name"]) for item in listed["items"]]
    assert places == sorted((namespace, name) for namespace in (arena.namespace, other) for name in "az")


@rule(
    broken_by=wrap("server.lists._encode", lambda encode: lambda version, start: encode(version, start[:-1]))
)
async def pages_together_are_the_list(arena: Arena) -> None:
    """Pages follow each other without gaps or repetitions and all say the same resourceVersion."""
    await made(arena, SECRETS, (f"s{number}" for number in range(7)))
    seen: list[str] = []
    versions: set[str] = set()
    token = ""
    sizes = []
    while True:
        query = {"continue": token} if token else {}
        page = await arena.listed(SECRETS, limit="3", **query)
        seen += names_of(page)
        sizes.append(len(page["items"]))
        versions.add(page["metadata"]["resourceVersion"])
        token = page["metadata"].get("continue", "")
        if not token:
            break
    assert seen == [f"s{number}" for number in range(7)]
    assert sizes == [3, 3, 1]
    assert len(versions) == 1


@rule(broken_by=swap("state.storage.Shelf.at", lambda shelf, _: (shelf.keys, shelf.rows)))
async def later_pages_show_the_moment_of_the_first(arena: Arena) -> None:
    """What is made, changed or deleted after the first page does not show on the others."""
    await made(arena, SECRETS, ["a", "b", "c"])
    page = await arena.listed(SECRETS, limit="1")
    b = await arena.get(SECRETS, "b")
    await arena.client.delete(
        SECRETS, "b", namespace=arena.namespace, uid=b["metadata"]["uid"], propagation="Background"
    )
    await made(arena, SECRETS, ["b1"])
    await arena.client.merge_patch(
        SECRETS, "c", {"metadata": {"labels": {"new": "yes"}}}, namespace=arena.namespace
    )
    token = page["metadata"]["continue"]
    rest = await arena.listed(SECRETS, limit="10", **{"continue": token})
    assert names_of(rest) == ["b", "c"]
    assert "labels" not in rest["items"][1]["metadata"]
    assert rest["metadata"]["resourceVersion"] == page["metadata"]["resourceVersion"]
    assert names_of(await arena.listed(SECRETS)) == ["a", "b1", "c"]


@rule(broken_by=edit("server.lists._page", lambda page: but(page, remaining=2)))
async def the_rest_is_counted_without_selectors_only(arena: Arena) -> None:
    """remainingItemCount comes with a page of an unselected list, and not with a selected or complete one."""
    await made(arena, SECRETS, ["a", "b", "c"], labels={"x": "y"})
    page = await arena.listed(SECRETS, limit="1")
    assert page["metadata"]["remainingItemCount"] == 2
    assert await count(arena.client, SECRETS, namespace=arena.namespace) == 3
    last = await arena.listed(SECRETS, limit="5", **{"continue": page["metadata"]["continue"]})
    assert not {"remainingItemCount", "continue"} & set(last["metadata"])
    for selector in ({"labelSelector": "x=y"}, {"fieldSelector": "metadata.name!=b"}):
        page = await arena.listed(SECRETS, limit="1", **selector)
        assert page["metadata"]["continue"]
        assert "remainingItemCount" not in page["metadata"]


@rule(broken_by=wrap("server.lists._matching", scanning_no_further_than_the_limit))
async def a_page_of_selected_objects_is_filled(arena: Arena) -> None:
    """The limit counts objects that match; those between them take no room on a page."""
    for number in range(8):
        await made(arena, SECRETS, [f"s{number}"], labels={"odd": str(number % 2)})
    page = await arena.listed(SECRETS, limit="3", labelSelector="odd=1")
    assert names_of(page) == ["s1", "s3", "s5"]
    rest = await arena.listed(
        SECRETS, limit="3", labelSelector="odd=1", **{"continue": page["metadata"]["continue"]}
    )
    assert names_of(rest) == ["s7"]
    assert "continue" not in rest["metadata"]


@rule(broken_by=always("server.lists._remembered", True))
async def pages_expire(arena: Arena) -> None:
    """A continue token whose moment was forgotten is a 410 that offers another, inconsistent one."""
    custom = await arena.custom_kind()
    await made(arena, custom, ["a", "b", "c"])
    page = await arena.listed(custom, limit="1")
    await made(arena, custom, ["b1"])
    await arena.forget_the_past(custom)
    query = {"limit": "1", "continue": page["metadata"]["continue"]}
    answer = await arena.ask("GET", custom.path(namespace=arena.namespace), query=query)
    said = status_of(answer, code=410, reason="Expired")
    assert said.message.startswith("The provided continue parameter is too old")
    offered = document_of(answer)["metadata"]["continue"]
    rest = await arena.listed(custom, limit="10", **{"continue": offered})
    assert names_of(rest) == ["b", "b1", "c"]


@rule(broken_by=always("server.lists._remembered", True))
async def a_list_that_expires_half_way_starts_anew(arena: Arena) -> None:
    """Read by the client, a list whose pages expire begins again and ends complete, at one moment."""
    custom = await arena.custom_kind()
    await made(arena, custom, ["a", "b", "c"])
    scope = Scope(namespace=arena.namespace)
    firsts: list[bool] = []
    kept: list[str] = []
    versions: set[str] = set()
    async for page in pages(arena.client, custom, METADATA, scope=scope, page_size=1):
        firsts.append(page.first)
        if page.first:
            kept.clear()
            versions.clear()
        kept += [item.metadata.name for item in page.items]
        versions.add(page.resource_version)
        if len(firsts) == 2:
            await made(arena, custom, ["a1"])
            await arena.forget_the_past(custom)
    assert firsts == [True, False, True, False, False, False]
    assert kept == ["a", "a1", "b", "c"]
    assert len(versions) == 1


@rule(broken_by=swap("server.lists._version", lambda plane, _, **__: plane.store.revision))
async def an_exact_moment_can_be_listed(arena: Arena) -> None:
    """resourceVersionMatch=Exact shows the list as it was at that resourceVersion."""
    await made(arena, SECRETS, ["a"])
    then = (await arena.listed(SECRETS))["metadata"]["resourceVersion"]
    await made(arena, SECRETS, ["b"])
    listed = await arena.listed(SECRETS, resourceVersion=then, resourceVersionMatch="Exact")
    assert names_of(listed) == ["a"]
    assert listed["metadata"]["resourceVersion"] == then


@rule(broken_by=always("server.lists._remembered", True))
async def a_forgotten_moment_can_not_be_listed(arena: Arena) -> None:
    """An exact resourceVersion that the server has forgotten is a 410."""
    custom = await arena.custom_kind()
    await made(arena, custom, ["a"])
    then = (await arena.listed(custom))["metadata"]["resourceVersion"]
    await made(arena, custom, ["b"])
    await arena.forget_the_past(custom)
    await refused(
        arena.listed(custom, resourceVersion=then, resourceVersionMatch="Exact"), code=410, reason="Expired"
    )


@rule(broken_by=edit("server.lists._page", lambda page: but(page, version=1)))
async def a_list_not_older_than_a_moment_has_what_happened_before(arena: Arena) -> None:
    """resourceVersion N without a match shows a state that is not older than N; 0 is content with any."""
    await made(arena, SECRETS, ["a"])
    written = (await arena.get(SECRETS, "a"))["metadata"]["resourceVersion"]
    listed = await arena.listed(SECRETS, resourceVersion=written)
    assert names_of(listed) == ["a"]
    assert int(listed["metadata"]["resourceVersion"]) >= int(written)
    listed = await arena.listed(SECRETS, resourceVersion="0")
    assert set(names_of(listed)) <= {"a"}


@rule(broken_by=misspeak("server.lists.too_large_version"))
async def the_future_can_not_be_listed(arena: Arena) -> None:
    """A resourceVersion that the server has not reached is a timeout that says so."""
    now = int((await arena.listed(SECRETS))["metadata"]["resourceVersion"])
    said = await refused(
        arena.listed(SECRETS, resourceVersion=str(now + 1_000_000)), code=504, reason="Timeout"
    )
    assert said.message.startswith("Timeout: Too large resource version: ")
    assert causes_of(said)[0]["reason"] == "ResourceVersionTooLarge"


@rule(broken_by=skip("server.lists._check_options"))
async def list_options_must_fit_together(arena: Arena) -> None:
    """A match without a version, a page with a version, and a token that is none are refused."""
    await made(arena, SECRETS, ["a", "b"])
    token = (await arena.listed(SECRETS, limit="1"))["metadata"]["continue"]
    await refused(arena.listed(SECRETS, resourceVersionMatch="Exact"), code=422, reason="Invalid")
    await refused(
        arena.listed(SECRETS, resourceVersion="0", resourceVersionMatch="Exact"), code=422, reason="Invalid"
    )
    await refused(
        arena.listed(SECRETS, resourceVersion="5", resourceVersionMatch="Nonsense"),
        code=422,
        reason="Invalid",
    )
    await refused(
        arena.listed(SECRETS, resourceVersion="5", limit="1", **{"continue": token}),
        code=400,
        reason="BadRequest",
    )
    await refused(arena.listed(SECRETS, limit="1", **{"continue": "nonsense"}), code=400, reason="BadRequest")
    await refused(arena.listed(SECRETS, resourceVersion="nonsense"), code=400, reason="BadRequest")


@rule(broken_by=edit("server.lists._page", lambda page: but(page, rows=page.rows[:1])))
async def a_list_of_any_moment_comes_in_one_piece(arena: Arena) -> None:
    """With resourceVersion 0 the limit is not kept, and neither is one below zero."""
    await made(arena, SECRETS, ["a", "b", "c"])
    newest = (await arena.listed(SECRETS))["metadata"]["resourceVersion"]
    # By then the cache that answers has seen all three.
    await arena.listed(SECRETS, resourceVersion=newest)
    for query in ({"resourceVersion": "0", "limit": "1"}, {"limit": "-1"}):
        listed = await arena.listed(SECRETS, **query)
        assert names_of(listed) == ["a", "b", "c"]
        assert not {"continue", "remainingItemCount"} & set(listed["metadata"])
