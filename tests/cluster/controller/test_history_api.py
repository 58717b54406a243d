"""History, restore, purge and explain through the running controller, with the rights of whoever asks."""

from __future__ import annotations

import base64
import ssl
from pathlib import Path

import aiohttp
import msgspec
import pytest

from harness.controlplane import ControlPlane
from harness.postgres import PostgresServer
from skoupa.errors import NotFound
from skoupa.kube.client import Client
from skoupa.kube.objects import WHOLE
from skoupa.kube.resources import CONFIG_MAPS, NAMESPACES, Resource
from skoupa.ledger.trash.sealing import Key
from tests.cluster import commands
from tests.cluster.controller.asking import Street, served
from tests.cluster.controller.objects import SECRETS, People
from tests.cluster.controller.running import Skoupa, Yard

pytestmark = pytest.mark.cluster

DONE, USAGE, LEFTOVERS, DENIED = 0, 2, 4, 6
DEPLOYMENTS = Resource(group="apps", version="v1", plural="deployments", kind="Deployment", namespaced=True)
NO_PODS = {
    "replicas": 0,
    "selector": {"matchLabels": {"app": "x"}},
    "template": {
        "metadata": {"labels": {"app": "x"}},
        "spec": {"containers": [{"name": "main", "image": "example/main:1"}]},
    },
}
VALUE = base64.b64encode(b"a-value-that-only-some-may-read").decode()


@pytest.fixture
def street(boss: Client, plane: ControlPlane, home: str, tmp_path: Path) -> Street:
    return Street(boss, plane, home=home, directory=tmp_path)


async def other_people(boss: Client, name: str) -> People:
    await boss.create(NAMESPACES, {"metadata": {"name": name}})
    return People(boss, name)


def log_of(yard: Yard) -> bytes:
    logs = b"".join(path.read_bytes() for path in yard.ledger.parent.glob("*.log"))
    assert b"history is served" in logs, "the logs were not found"
    return logs


async def ids(where: Street, namespace: str) -> dict[str, str]:
    """By name, as one sees them who may see everything."""
    boss = next(person for person in where.people if person.name.endswith(":boss"))
    return {item["name"]: item["id"] for item in await boss.items("history", "-n", namespace)}


async def everything_for_boss(street: Street) -> None:
    person = await street.person("boss")
    await person.may("get list create delete", "*", group="*")


async def test_who_may_read_the_kind_sees_restores_and_purges_through_the_controller(
    people: People, yard: Yard, street: Street
) -> None:
    process = await served(yard, street.admin)
    await people.make("web", "1s", body={"data": {"a": "1"}})
    await people.make("db", "1s")
    await people.gone("web")
    await people.gone("db")
    anna = await street.person("anna")
    await anna.may("get list create delete", "configmaps", namespace=people.namespace)

    items = await anna.items("history", "-n", people.namespace)
    assert {item["name"] for item in items} == {"web", "db"}
    entry_id = next(item["id"] for item in items if item["name"] == "web")
    shown = await anna.skoupa("history", "show", entry_id)
    assert f"ConfigMap {people.namespace}/web" in shown.out
    assert f"skoupa restore {entry_id}" in shown.out

    said = await anna.skoupa("restore", entry_id, "--yes")
    assert (said.code, said.err) == (DONE, "")
    back = await street.admin.get(CONFIG_MAPS, "web", namespace=people.namespace, view=WHOLE)
    assert back["data"] == {"a": "1"}
    (item,) = await anna.items("history", "cm/web", "-n", people.namespace)
    assert item["restoredAs"] == back["metadata"]["uid"]
    await process.says("noted what came back", by=anna.name)

    other = next(item["id"] for item in items if item["name"] == "db")
    said = await anna.skoupa("trash", "purge", other, "--yes")
    assert (said.code, said.err) == (DONE, "")
    assert "1 of 1 purged." in said.out
    (item,) = await anna.items("history", "cm/db", "-n", people.namespace)
    assert item["trash"]["state"] == "purged"
    await process.says("purged from the trash", by=anna.name, id=other)

    gone = await anna.skoupa("explain", "cm/db", "-n", people.namespace)
    assert gone.code == DONE, gone.err
    assert gone.out.startswith(f"ConfigMap {people.namespace}/db\n  Deleted ")
    never = await anna.skoupa("explain", "cm/nosuch", "-n", people.namespace)
    assert never.code == USAGE
    assert "it went not by Skoupa" in never.sentence
    process.end()
    assert anna.token.encode() not in log_of(yard)


async def test_others_see_what_they_may_read_and_how_much_is_hidden(
    people: People, yard: Yard, street: Street, boss: Client
) -> None:
    await served(yard, street.admin)
    lab = await other_people(boss, f"lab-{people.namespace}")
    for where, names in ((people, ("a", "b", "c")), (lab, ("d",))):
        for name in names:
            await where.make(name, "1s")
        for name in names:
            await where.gone(name)
    await everything_for_boss(street)
    ben = await street.person("ben")
    await ben.may("get", "configmaps", namespace=lab.namespace)
    said = await ben.skoupa("history", "-A", "-o", "json")
    assert said.code == DONE, said.err
    document = msgspec.json.decode(said.out)
    assert [item["name"] for item in document["items"]] == ["d"]
    assert document["hidden"] == 3
    assert said.sentence == (
        "3 rows are not shown: they are of kinds that you may not read there, or of an earlier namespace of that name"
    )

    # Of one object nobody learns by this whether it was there.
    for name in ("a", "nosuch"):
        said = await ben.skoupa("history", f"cm/{name}", "-n", people.namespace)
        assert said.code == DONE
        assert said.sentence == "what you may not read in the cluster is not found by its name either"
        assert said.out.startswith("Nothing")

    hidden = (await ids(street, people.namespace))["a"]
    for command in (("history", "show"), ("restore", "--yes"), ("trash", "purge", "--yes")):
        said = await ben.skoupa(*command, hidden)
        assert said.code == DENIED
        assert f"may not get configmaps in {people.namespace}" in said.sentence

    own = (await ids(street, lab.namespace))["d"]
    said = await ben.skoupa("trash", "purge", own, "--yes")
    assert said.code == DENIED
    assert f"may not delete configmaps in {lab.namespace}" in said.sentence
    said = await ben.skoupa("restore", own, "--yes")
    assert said.code == DENIED
    assert 'cannot create resource "configmaps"' in said.out


async def test_values_of_a_secret_are_for_those_who_may_read_secrets(
    people: People, yard: Yard, street: Street, tmp_path: Path
) -> None:
    keys = tmp_path / "keys"
    keys.write_text(base64.b64encode(Key(b"k" * 32).secret).decode())
    await served(yard, street.admin, trash__keyFile=str(keys))
    await people.make("password", "1s", resource=SECRETS, body={"data": {"value": VALUE}})
    await people.gone("password", resource=SECRETS)
    await everything_for_boss(street)
    entry_id = (await ids(street, people.namespace))["password"]

    carl = await street.person("carl")
    await carl.may("get list create delete", "configmaps", namespace=people.namespace)
    assert await carl.items("history", "-n", people.namespace) == []
    for args in (("history", "show", entry_id), ("restore", entry_id, "--dry-run")):
        said = await carl.skoupa(*args)
        assert said.code == DENIED
        assert f"may not get secrets in {people.namespace}" in said.sentence

    dora = await street.person("dora")
    await dora.may("get create", "secrets", namespace=people.namespace)
    said = await dora.skoupa("restore", entry_id, "--yes")
    assert (said.code, said.err) == (DONE, "")
    back = await street.admin.get(SECRETS, "password", namespace=people.namespace, view=WHOLE)
    assert back["data"] == {"value": VALUE}
    assert VALUE.encode() not in log_of(yard)


async def test_what_went_along_is_shown_kind_by_kind(
    people: People, yard: Yard, street: Street, boss: Client
) -> None:
    await served(yard, street.admin)
    owner = await people.make("owner", resource=DEPLOYMENTS, body={"spec": NO_PODS})
    reference = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "name": "owner",
        "uid": owner["metadata"]["uid"],
    }
    for resource in (CONFIG_MAPS, SECRETS):
        await people.make(f"part-{resource.plural}", resource=resource, ownerReferences=[reference])
    await people.label("owner", resource=DEPLOYMENTS, ttl="1s")
    await people.gone("owner", resource=DEPLOYMENTS)
    await everything_for_boss(street)
    entry_id = (await ids(street, people.namespace))["owner"]
    everything = await street.people[0].skoupa("history", "show", entry_id)
    assert f"went along: secrets/{people.namespace}/part-secrets" in everything.out
    emma = await street.person("emma")
    await emma.may("get", "configmaps", namespace=people.namespace)
    await emma.may("get", "deployments replicasets", group="apps", namespace=people.namespace)
    said = await emma.skoupa("history", "show", entry_id)
    assert said.code == DONE, said.err
    assert f"went along: configmaps/{people.namespace}/part-configmaps" in said.out
    assert "part-secrets" not in said.out
    assert "not known: 1 object that went along, of a kind that you may not read" in said.out


async def test_who_gets_the_name_of_a_namespace_that_went_gets_nothing_of_what_was_in_it(
    people: People, yard: Yard, street: Street, boss: Client, tmp_path: Path
) -> None:
    keys = tmp_path / "trash-keys"
    keys.write_text(Key(b"k" * 32).secret.hex())
    await served(yard, street.admin, trash__keyFile=str(keys))
    tenant = await other_people(boss, f"{people.namespace}-ten")
    await tenant.make("cred", resource=SECRETS, body={"data": {"value": VALUE}})
    await tenant.label(tenant.namespace, resource=NAMESPACES, ttl="1s")
    await tenant.gone(tenant.namespace, resource=NAMESPACES, seconds=60)
    await boss.create(NAMESPACES, {"metadata": {"name": tenant.namespace}})
    ben = await street.person("ben")
    await ben.may("get list create delete", "secrets namespaces", namespace=tenant.namespace)
    assert await ben.items("history", "-A") == []
    for flags in ((), ("--with-dependents",)):
        said = await ben.skoupa("restore", f"ns/{tenant.namespace}", *flags, "--yes")
        assert "nothing that went and fits" in said.err
    with pytest.raises(NotFound):
        await boss.get(SECRETS, "cred", namespace=tenant.namespace, view=WHOLE)

    await everything_for_boss(street)
    owner = next(person for person in street.people if person.name.endswith(":boss"))
    [row] = await owner.items("history", f"ns/{tenant.namespace}")
    purged = await ben.skoupa("trash", "purge", row["id"], "--yes")
    assert purged.code == DENIED
    assert "that takes the right in all namespaces" in purged.sentence
    back = await owner.skoupa("restore", "secret/cred", "-n", tenant.namespace, "--yes")
    assert back.code == DONE, back.err + back.out
    found = await boss.get(SECRETS, "cred", namespace=tenant.namespace, view=WHOLE)
    assert found["data"] == {"value": VALUE}


async def test_a_client_certificate_is_no_token_and_the_answer_says_what_is_one(
    people: People, yard: Yard, street: Street, plane: ControlPlane, tmp_path: Path
) -> None:
    process = await served(yard, street.admin)
    await people.make("web", "1s")
    await people.gone("web")
    args = ("history", "-n", people.namespace, "--skoupa-namespace", yard.home)
    said = await commands.skoupa(*args, kubeconfig=plane.kubeconfig)
    assert said.code == DENIED
    assert "no token came with this" in said.sentence
    assert "--token-file" in said.sentence
    assert "kubectl create token" in said.sentence

    missing = await commands.skoupa(
        "explain",
        "cm/web",
        "-n",
        people.namespace,
        "--skoupa-namespace",
        yard.home,
        kubeconfig=plane.kubeconfig,
    )
    assert missing.code == USAGE
    assert "whether it went by Skoupa is not known here" in missing.sentence

    fay = await street.person("fay", asks=False)
    await fay.may("get", "configmaps", namespace=people.namespace)
    token = tmp_path / "token"
    token.write_text(f"{fay.token}\n")
    said = await commands.skoupa(*args, "--token-file", token, "-o", "name", kubeconfig=plane.kubeconfig)
    assert (said.code, said.err) == (DONE, "")
    assert len(said.out.split()) == 1

    token.write_text("ey.not.a.token")
    said = await commands.skoupa(*args, "--token-file", token, kubeconfig=plane.kubeconfig)
    assert said.code == DENIED
    assert "does not take this token" in said.sentence
    process.end()
    assert fay.token.encode() not in log_of(yard)


async def test_whoever_can_reach_the_port_is_told_nothing_without_a_token(
    people: People, yard: Yard, street: Street
) -> None:
    process = await served(yard, street.admin)
    address = process.said("history is served")[0]["address"]
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    root = f"https://{address}/api/v1alpha1"
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=context)) as session:
        for method, path in (
            ("GET", "/history"),
            ("GET", "/history/000000000000000"),
            ("GET", "/bodies?id=000000000000000"),
            ("DELETE", "/bodies/000000000000000"),
            ("POST", "/restored"),
        ):
            for headers in ({}, {"Authorization": "Bearer x"}, {"Skoupa-Authorization": "Basic eDp5"}):
                async with session.request(method, root + path, headers=headers) as response:
                    assert response.status == 401, (method, path)
                    assert (await response.json())["reason"] == "NoToken"
        async with session.get(f"https://{address}/metrics") as response:
            assert response.status == 404


async def test_what_is_missing_on_the_way_is_said(
    people: People, yard: Yard, street: Street, boss: Client
) -> None:
    gina = await street.person("gina", asks=False)
    said = await gina.skoupa("history", "-A")
    assert said.code == DENIED
    assert "--role=skoupa-history" in said.sentence
    await gina.may("get", "services/proxy", namespace=yard.home)
    said = await gina.skoupa("history", "-A")
    assert said.code == DENIED
    assert f"there is no controller of Skoupa in the namespace {yard.home}" in said.sentence
    process = await served(yard, street.admin)
    process.end()
    said = await gina.skoupa("history", "-A")
    assert said.code == DENIED
    assert "does not answer the API server" in said.sentence
    both = await gina.skoupa("history", "-A", "--ledger", yard.ledger)
    assert both.code == USAGE
    assert "--skoupa-namespace is for asking the controller" in both.sentence


async def test_without_a_ledger_there_is_no_history_and_it_is_said(yard: Yard, street: Street) -> None:
    await served(yard, street.admin, ledger__dsn="none", trash__enabled="false")
    await everything_for_boss(street)
    said = await street.people[0].skoupa("history", "-A")
    assert said.code == DENIED
    assert "this controller keeps no history" in said.sentence


async def test_a_controller_that_may_not_ask_who_asks_shows_nothing_and_says_what_to_grant(
    people: People, yard: Yard, street: Street
) -> None:
    """As one that was installed for some namespaces, with Roles."""
    own = await street.person("controller", asks=False)
    await own.may("list watch", "*", group="*")
    await own.may("get create update patch", "configmaps leases", namespace=yard.home, group="*")
    process: Skoupa = await served(yard, street.admin, kubeconfig=own.kubeconfig)
    await everything_for_boss(street)
    said = await street.people[-1].skoupa("history", "-A")
    assert said.code == DENIED
    assert "system:auth-delegator" in said.sentence
    await process.says("degraded")


async def test_any_replica_answers_also_one_that_stands_by(
    people: People, yard: Yard, street: Street
) -> None:
    with PostgresServer() as server:
        leader = await yard.started(clusterName="test", ledger__dsn=server.dsn)
        await people.make("web", "1s", body={"data": {"a": "1"}})
        await people.gone("web")
        standing_by = await served(yard, street.admin, leads=False, ledger__dsn=server.dsn)
        await everything_for_boss(street)
        boss = street.people[0]
        (item,) = await boss.items("history", "-n", people.namespace)
        said = await boss.skoupa("restore", item["id"], "--yes")
        assert (said.code, said.err) == (DONE, "")
        (item,) = await boss.items("history", "-n", people.namespace)
        assert item["restoredAs"]
        said = await boss.skoupa("trash", "purge", item["id"], "--yes")
        assert (said.code, said.err) == (DONE, "")
        assert not standing_by.said("leading")
        # Before their database does.
        standing_by.end()
        leader.end()
