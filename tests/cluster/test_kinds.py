"""The real server takes our definitions, explains them, fills in, refuses and shows as they say."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

import msgspec
import pytest

from harness.controlplane import Access
from skoupa.errors import ApiError, Invalid, NotFound
from skoupa.kinds.brake import BRAKE, BrakeSpec, BrakeStatus, Schedule, Scope, manifest
from skoupa.kinds.brake_reading import read_brake, read_status
from skoupa.kinds.conditions import READY, Condition, updated
from skoupa.kinds.definition import Definition, Version, document, resource
from skoupa.kinds.schema import Rule, about
from skoupa.kube.client import Client
from skoupa.kube.objects import METADATA, WHOLE
from skoupa.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, Resource
from skoupa.kube.transport import Request
from tests.cluster.reaching import connected, eventually, exists

pytestmark = pytest.mark.cluster

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


class Block(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One block of conditions."""

    kinds: Annotated[tuple[str, ...], about("Kinds that are meant.")] = ()
    labels: Annotated[dict[str, str], about("Labels that must be there.")] = {}


class Match(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Which objects are meant."""

    any: Annotated[tuple[Block, ...], about("One of these must fit.")] = ()
    all: Annotated[tuple[Block, ...], about("All of these must fit.")] = ()


class WidgetSpec(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Everything that a schema can say."""

    match: Match
    port: Annotated[int | str, about("A number or a name.")] = 80
    mode: Annotated[Literal["slow", "fast"], about("How.")] = "slow"
    share: Annotated[Annotated[float, msgspec.Meta(gt=0, le=1)], about("How much of it.")] = 0.5
    unique: Annotated[frozenset[str], about("No name twice.")] = frozenset()
    free: Annotated[dict[str, Any], about("Whatever you like.")] = {}
    anything: Annotated[Any, about("Whatever you like, also a text.")] = None
    limits: Annotated[
        Annotated[dict[str, int], msgspec.Meta(max_length=5)],
        about("Limits by name.", Rule("self.all(name, self[name] > 0)", "a limit is more than nothing")),
    ] = {}


class Widget(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A kind for the test."""

    RULES = (Rule("self.metadata.name != 'forbidden'", "choose another name"),)

    spec: WidgetSpec


def named(definition: Definition) -> Definition:
    """Under a group of its own: the control plane is shared, and an install may come and go on it."""
    return msgspec.structs.replace(definition, group=f"kinds-{secrets.token_hex(4)}.skoupa.dev")


def installed(plane: Access, definition: Definition) -> Iterator[Resource]:
    def run(work: Callable[[Client], Awaitable[None]]) -> None:
        async def connect() -> None:
            async with connected(plane.kubeconfig) as client:
                await work(client)

        asyncio.run(connect())

    async def install(client: Client) -> None:
        await client.create(CUSTOM_RESOURCE_DEFINITIONS, document(definition))

        async def served() -> bool:
            conditions = await conditions_of(client, definition)
            return conditions.get("Established") == "True"

        await eventually(served, what="the definition is established")

    async def remove(client: Client) -> None:
        found = await client.get(CUSTOM_RESOURCE_DEFINITIONS, definition.name, view=METADATA)
        await client.delete(
            CUSTOM_RESOURCE_DEFINITIONS, definition.name, uid=found.metadata.uid, propagation="Background"
        )

    run(install)
    try:
        yield resource(definition)
    finally:
        run(remove)


async def conditions_of(client: Client, definition: Definition) -> dict[str, str]:
    found = await client.get(CUSTOM_RESOURCE_DEFINITIONS, definition.name, view=WHOLE)
    conditions = (found.get("status") or {}).get("conditions") or []
    return {condition["type"]: condition["status"] for condition in conditions}


@pytest.fixture(scope="module")
def brake_definition() -> Definition:
    return named(BRAKE)


@pytest.fixture(scope="module")
def brakes(control_plane: Access, brake_definition: Definition) -> Iterator[Resource]:
    yield from installed(control_plane, brake_definition)


@pytest.fixture(scope="module")
def widgets(control_plane: Access) -> Iterator[Resource]:
    versions = (
        Version(name="v1", shape=Widget),
        Version(name="v1beta1", shape=Widget, storage=False, deprecation="use v1"),
    )
    definition = Definition(group="", kind="Widget", plural="widgets", namespaced=False, versions=versions)
    yield from installed(control_plane, named(definition))


def body(kind: Resource, spec: Any) -> dict[str, Any]:
    name = f"one-{secrets.token_hex(4)}"
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": name}, "spec": spec}


async def created(client: Client, kind: Resource, spec: Any) -> dict[str, Any]:
    return await client.create(kind, body(kind, spec))


async def refusal(client: Client, kind: Resource, spec: Any) -> str:
    with pytest.raises(Invalid) as caught:
        await client.create(kind, body(kind, spec), dry_run=True)
    return caught.value.status.message


async def explained(client: Client, kind: Resource) -> dict[str, Any]:
    """The schema of the kind as `kubectl explain` reads it."""

    async def published() -> dict[str, Any] | None:
        path = f"/openapi/v3/apis/{kind.api_version}"
        try:
            answer = await client.ask(Request(path=path, headers=client.headers()), doing="explain")
        except NotFound:
            return None
        schemas = msgspec.json.decode(answer.body)["components"]["schemas"]
        return next((each for name, each in schemas.items() if name.endswith(f".{kind.kind}")), None)

    return await eventually(published, what="the schema is published") or {}


async def test_the_definition_is_structural_and_its_names_are_taken(
    admin: Client, brakes: Resource, brake_definition: Definition
) -> None:
    conditions = await conditions_of(admin, brake_definition)
    assert conditions["Established"] == conditions["NamesAccepted"] == "True"
    assert conditions.get("NonStructuralSchema", "False") == "False"


async def test_every_field_is_explained(admin: Client, brakes: Resource) -> None:
    schema = await explained(admin, brakes)
    assert schema["description"].startswith("While it is there and active")

    def undescribed(part: dict[str, Any], path: str) -> Iterator[str]:
        for name, below in (part.get("properties") or {}).items():
            if not below.get("description") and name != "metadata":
                yield f"{path}.{name}"
            if name != "metadata":
                yield from undescribed(below, f"{path}.{name}")
        if "items" in part:
            yield from undescribed(part["items"], f"{path}[]")

    assert list(undescribed(schema, "")) == []
    scope = schema["properties"]["spec"]["properties"]["scope"]["properties"]
    assert "kubectl" in scope["kind"]["description"]


@pytest.mark.parametrize(
    "spec",
    [
        {"scope": {"all": True}},
        {"scope": {"all": False, "kind": "pods"}},
        {"scope": {"namespace": "shop", "policy": "CleanupPolicy/shop/old", "kind": "apps/v1/Deployment"}},
        {
            "scope": {"mechanism": "ttl", "kind": "*.example.com"},
            "reason": "audit",
            "until": "2026-12-01T00:00:00Z",
        },
        {"scope": {"all": True}, "until": "2026-12-01T02:00:00.5+02:00"},
        {
            "scope": {"all": True},
            "schedule": {"from": "0 16 * * 5", "to": "@weekly", "timeZone": "Europe/Athens"},
        },
    ],
)
async def test_a_brake_that_makes_sense_is_taken_and_understood(
    admin: Client, brakes: Resource, spec: dict[str, Any]
) -> None:
    made = await created(admin, brakes, spec)
    assert made["spec"] == spec
    assert read_brake(made).problems == ()


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ({}, "spec.scope: Required value"),
        (
            {"scope": {}},
            "say what stands still: `all: true`, or at least one of namespace, policy, kind, mechanism",
        ),
        ({"scope": {"all": False}}, "say what stands still"),
        ({"scope": {"all": True, "namespace": "shop"}}, "`all: true` is the whole cluster"),
        ({"scope": {"all": "true"}}, "spec.scope.all in body must be of type boolean"),
        ({"scope": {"namespace": "Shop*"}}, "spec.scope.namespace in body should match"),
        (
            {"scope": {"mechanism": "tll"}},
            'supported values: "external", "policies", "retention", "tenants", "ttl"',
        ),
        ({"scope": {"kind": "two words"}}, "spec.scope.kind in body should match"),
        ({"scope": {"all": True}, "until": "tomorrow"}, "spec.until in body must be of type date-time"),
        ({"scope": {"all": True}, "schedule": {"from": "@daily"}}, "spec.schedule.to: Required value"),
        ({"scope": {"all": True}, "schedule": {"from": "0 16 * *", "to": "@daily"}}, "write five fields"),
        ({"scope": {"all": True}, "schedule": {"from": "@daily", "to": "0 0 0 1 1 *"}}, "write five fields"),
        (
            {"scope": {"all": True}, "schedule": {"from": "@daily", "to": "@daily"}},
            "from and to are the same",
        ),
    ],
)
async def test_a_brake_that_makes_no_sense_is_refused_with_what_to_write(
    admin: Client, brakes: Resource, spec: dict[str, Any], says: str
) -> None:
    assert says in await refusal(admin, brakes, spec)


@pytest.mark.parametrize(
    "spec",
    [
        {"scope": {}},
        {"scope": {"all": True, "kind": "pods"}},
        {"scope": {"namespace": "Shop"}},
        {"scope": {"mechanism": "tll"}},
        {"scope": {"all": True}, "until": "2026-12-01"},
        {"scope": {"all": True}, "schedule": {"from": "0 16 * *", "to": "@daily"}},
        {"scope": {"all": True}, "schedule": {"from": "@daily", "to": "@daily"}},
    ],
)
async def test_what_the_server_refuses_is_a_problem_to_the_reader_too(
    admin: Client, brakes: Resource, spec: dict[str, Any]
) -> None:
    assert await refusal(admin, brakes, spec)
    assert read_brake(body(brakes, spec)).problems


async def test_a_window_is_in_utc_unless_it_says_otherwise(admin: Client, brakes: Resource) -> None:
    made = await created(
        admin, brakes, {"scope": {"all": True}, "schedule": {"from": "@daily", "to": "@weekly"}}
    )
    assert made["spec"]["schedule"]["timeZone"] == "UTC"


async def test_the_table_shows_what_stands_still_and_why(admin: Client, brakes: Resource) -> None:
    spec = BrakeSpec(
        scope=Scope(namespace="shop", kind="pods"),
        reason="audit",
        until=datetime(2026, 12, 1, tzinfo=UTC),
        schedule=Schedule(begins="0 16 * * 5", ends="0 8 * * 1"),
    )
    made = await admin.create(brakes, {**manifest("shown", spec), "apiVersion": brakes.api_version})
    name = made["metadata"]["name"]
    ready = Condition(
        type=READY,
        status="True",
        reason="Holding",
        message="It holds.",
        last_transition_time=datetime(2026, 11, 1, tzinfo=UTC),
    )
    status = BrakeStatus(active=True, held=3, sample=("pods/shop/web",), conditions=updated((), ready))
    patch = {"status": msgspec.to_builtins(status)}
    kept = await admin.merge_patch(brakes, name, patch, subresource="status")
    assert read_status(kept) == status
    request = Request(path=brakes.path(name=name), headers=admin.headers(("Accept", TABLE)))
    table = msgspec.json.decode((await admin.ask(request, doing="show")).body)
    columns = [column["name"] for column in table["columnDefinitions"]]
    assert columns == ["Name", "Active", "Scope", "Held", "Reason", "Until", "Age"]
    cells = table["rows"][0]["cells"]
    assert cells[:2] == ["shown", True]
    assert cells[2] == '{"kind":"pods","namespace":"shop"}'
    assert cells[3:6] == [3, "audit", "2026-12-01T00:00:00Z"]


async def test_a_status_does_not_change_with_the_spec_nor_the_spec_with_the_status(
    admin: Client, brakes: Resource
) -> None:
    made = await created(admin, brakes, {"scope": {"all": True}})
    name = made["metadata"]["name"]
    both = {"spec": {"reason": "new"}, "status": {"held": 5}}
    plain = await admin.merge_patch(brakes, name, both)
    assert (plain["spec"].get("reason"), plain.get("status")) == ("new", None)
    status = await admin.merge_patch(
        brakes, name, {**both, "spec": {"reason": "newer"}}, subresource="status"
    )
    assert (status["spec"]["reason"], status["status"]["held"]) == ("new", 5)


async def test_everything_that_the_generator_can_say_is_structural_and_served_in_all_versions(
    admin: Client, widgets: Resource
) -> None:
    match = {"any": [{"kinds": ["Pod"], "labels": {"a": "b"}}], "all": [{"kinds": ["Job"]}]}
    spec = {"match": match, "port": "http", "free": {"a": [1]}, "anything": "x", "limits": {"a": 1}}
    made = await created(admin, widgets, spec)
    assert made["spec"] == {**spec, "mode": "slow", "share": 0.5}
    older = msgspec.structs.replace(widgets, version="v1beta1")
    assert await exists(admin, older, made["metadata"]["name"])
    found = await admin.get(CUSTOM_RESOURCE_DEFINITIONS, f"{widgets.plural}.{widgets.group}", view=WHOLE)
    assert not [
        each
        for each in found["status"]["conditions"]
        if each["type"] == "NonStructuralSchema" and each["status"] == "True"
    ]
    assert (await created(admin, widgets, {"match": {}, "port": 8080}))["spec"]["port"] == 8080


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ({"match": {}, "port": True}, "must be of type integer,string"),
        ({"match": {"any": [{"kinds": "Pod"}]}}, "spec.match.any[0].kinds in body must be of type array"),
        ({"match": {}, "share": 0}, "should be greater than 0"),
        ({"match": {}, "unique": ["a", "a"]}, "Duplicate value"),
        ({"match": {}, "limits": {"a": 0}}, "a limit is more than nothing"),
        ({"match": {}, "limits": {str(number): 1 for number in range(6)}}, "must have at most 5 items"),
    ],
)
async def test_limits_and_rules_of_the_generator_hold(
    admin: Client, widgets: Resource, spec: dict[str, Any], says: str
) -> None:
    assert says in await refusal(admin, widgets, spec)


async def test_a_rule_about_the_whole_object_sees_its_name(admin: Client, widgets: Resource) -> None:
    with pytest.raises(ApiError, match="choose another name"):
        await admin.create(widgets, {**body(widgets, {"match": {}}), "metadata": {"name": "forbidden"}})
