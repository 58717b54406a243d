"""Kyverno's CEL libraries: rows are examples and tests of Kyverno's own (its SDK and its documentation)."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from skoupa.expr.cel.library import documents
from skoupa.expr.cel.library.documents import compress, decompress
from skoupa.expr.cel.messages import (
    FindResource,
    GetResource,
    GlobalContext,
    HttpCall,
    ImageMetadata,
    ListResources,
    PostResource,
    Question,
)
from tests.unit.expr.cel.asking import ask, compiled

pytestmark = pytest.mark.unit

DIGEST = "sha256:6aefddb645ee6963afd681b1845c661d0ea4c3b20ab9db86d9e753b203d385f2"
SERVER = "registry.example.io/kube-apiserver-arm64"

PURE = [
    # The vectors of RFC 1321 and FIPS 180.
    'hash.md5("abc") == "900150983cd24fb0d6963f7d28e17f72"',
    'md5("abc") == "900150983cd24fb0d6963f7d28e17f72"',
    'hash.sha1("abc") == "a9993e364706816aba3e25717850c26c9cd0d89d"',
    'sha1("abc") == "a9993e364706816aba3e25717850c26c9cd0d89d"',
    'hash.sha256("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"',
    'sha256("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"',
    'gzip.decompress(base64.decode("H4sIADP4umkAA8uuLEstyssHAOgPnDMHAAAA")) == "kyverno"',
    "math.round(10.125, 2) == 10.13",
    "math.round(10.125, 0) == 10.0",
    "math.round(12345.6789, -2) == 12300.0",
    "json.marshal({'key': 'value'}) == '{\"key\":\"value\"}'",
    "json.marshal([1, 2, 3]) == '[1,2,3]'",
    "json.marshal('hello') == '\"hello\"'",
    "json.marshal(42) == '42'",
    "json.marshal(3.14) == '3.14'",
    "json.marshal(true) == 'true'",
    "json.marshal({}) == '{}' && json.marshal([]) == '[]'",
    "json.marshal({'outer': {'inner': 'value'}}) == '{\"outer\":{\"inner\":\"value\"}}'",
    'json.marshal(json.unmarshal("{\\"a\\":\\"b\\"}")) == \'{"a":"b"}\'',
    'json.unmarshal(\'{"foo":"bar"}\') == {"foo": "bar"}',
    'yaml.parse("foo: bar\\nlist: [a, b]").list[1] == "b"',
    'time.truncate(timestamp("2025-01-02T03:45:27Z"), duration("1h")) == timestamp("2025-01-02T03:00:00Z")',
    'time.now() > timestamp("2025-01-02T15:30:00Z")',
    'gzip.decompress(gzip.compress("kyverno")) == "kyverno"',
    'time.toCron(timestamp("2025-01-02T15:30:00Z")) == "30 15 2 1 4"',
    'random().matches("^[0-9a-z]{8}$") && random.random().matches("^[0-9a-z]{8}$")',
    'random.random("[A-Z0-9]{8}-[A-Z0-9]{4}").matches("^[A-Z0-9]{8}-[A-Z0-9]{4}$")',
    'transform.listObjToMap([{"name": "a"}, {"name": "b"}], [{"v": 1}, {"v": 2}], "name", "v") == {"a": 1, "b": 2}',
    'listObjToMap([{"name": "a"}], [{"v": "x"}], "name", "v") == {"a": "x"}',
    f'isImage("{SERVER}:latest")',
    f'!isImage("{SERVER}:@")',
    f'!parseImageReference("{SERVER}").containsDigest()',
    f'!parseImageReference("{SERVER}:latest").containsDigest()',
    f'parseImageReference("{SERVER}@{DIGEST}").containsDigest()',
    f'parseImageReference("{SERVER}:latest@{DIGEST}").containsDigest()',
    f'parseImageReference("{SERVER}").registry() == "registry.example.io"',
    f'image("{SERVER}").registry().matches("(registry.example.io|example.org)")',
    f'parseImageReference("{SERVER}").repository() == "kube-apiserver-arm64"',
    f'parseImageReference("{SERVER}:testtag").identifier() == "testtag"',
    f'parseImageReference("{SERVER}").identifier() == "latest"',
    f'parseImageReference("{SERVER}@{DIGEST}").identifier() == "{DIGEST}"',
    f'parseImageReference("{SERVER}:latest@{DIGEST}").identifier() == "{DIGEST}"',
    f'parseImageReference("{SERVER}:testtag").tag() == "testtag"',
    f'parseImageReference("{SERVER}").tag() == "latest"',
    f'parseImageReference("{SERVER}@{DIGEST}").tag() == ""',
    f'parseImageReference("{SERVER}").digest() == ""',
    f'parseImageReference("{SERVER}:latest@{DIGEST}").digest() == "{DIGEST}"',
    'image("nginx").registry() == "index.docker.io" && image("nginx").repository() == "library/nginx"',
]


@pytest.mark.parametrize("expression", PURE)
def test_an_example_of_kyverno_holds(expression: str) -> None:
    result = ask(expression)
    assert result.matched, result.error


def test_an_image_that_is_none_is_an_error() -> None:
    assert "is no name of an image" in ask(f'image("{SERVER}:@").tag() == ""').error


CERTIFICATE = """-----BEGIN CERTIFICATE-----
MIIC7TCCAdWgAwIBAgIBADANBgkqhkiG9w0BAQsFADAYMRYwFAYDVQQDDA0qLmt5
dmVybm8uc3ZjMB4XDTIyMTAxMDExNDYzMloXDTIzMTAxMDEyNDYzMlowGDEWMBQG
A1UEAwwNKi5reXZlcm5vLnN2YzCCASIwDQYJKoZIhvcNAQEBBQADggEPADCCAQoC
ggEBAOKF+2P0Ufp855hpdsGD4lYkd6oU7HZAOWm1XskAMwrdsqWwTNNAinyHRoPQ
IbNbGDQ+r6Cggc2mlxHJ90PnC2weHj5otaD17Z+ARZpJZ4HMWkEfFt8sxwo9vuQJ
RWihqNwFheowjswoSB1DHnPufrZHfztkMoRx278ZfHaIMdlSTg50ektkNDoHA3OJ
sxxw54X3HR1iq6SZwN8xNT0TI6B6BbfAYWMNmKCiZ2iV6kW//XnTEqGd2WcmhuP0
SjwO4tCJbj9oV6+Bj/uhFr7J4foErMaodYDBtQs/ul2tcAwSBHfnC2KcLbiZTZsC
0Rs0WPJ4YwF/cOsD7Z/RmLs4FHsCAwEAAaNCMEAwDgYDVR0PAQH/BAQDAgKkMA8G
A1UdEwEB/wQFMAMBAf8wHQYDVR0OBBYEFJaK+3Wfnf7rVkYBzMCLSaV56NMqMA0G
CSqGSIb3DQEBCwUAA4IBAQDY7F6b+t9BX7098JyGk6zeT39MoLdSv+8IaKXn+m8G
yOKn3CZkruko57ycvPd4taC0gggtmUYynFhwPMQr+boNrrK9rat8Jw3yPPsBq/8D
/s6tvwxSNXBfPUI5OvNIB/hA5XpJpdHQaCkYm+FWkcJsolkkbSOfVjUjImW26JHB
nnPPtR4Y7dx0SVoPS19IC0T5RmdvgqlXj4XbhTnX3QOujVHn8u+wQ8po7EngHDQs
+onfkp8ipe0QpEJL1ZdW2LhyDXGKrZ2y8UPZ9wYNzxHWaj1Thu4B9YFdsPUwWqSx
n9e+FygpoktlD8YgT7jwgiVKX7Koz++zyvMIdhvRrtgS
-----END CERTIFICATE-----"""


def test_a_certificate_has_the_fields_that_kyverno_shows() -> None:
    result = ask(
        "variables.c.IsCA && variables.c.BasicConstraintsValid && !variables.c.MaxPathLenZero",
        "variables.c.KeyUsage == 37.0 && variables.c.SerialNumber == 0.0 && variables.c.PublicKeyAlgorithm == 1.0",
        "variables.c.MaxPathLen == -1.0 && variables.c.PublicKey.E == 65537.0",
        'variables.c.NotBefore == "2022-10-10T11:46:32Z" && variables.c.NotAfter == "2023-10-10T12:46:32Z"',
        'variables.c.Issuer.CommonName == "*.kyverno.svc" && variables.c.Issuer.SerialNumber == ""',
        "variables.c.Extensions.size() == 3 && variables.c.Extensions[0].Critical",
        variables={"c": "x509.decode(object.data.cert)"},
        data={"object": {"data": {"cert": CERTIFICATE}}},
    )
    assert result.matched, result.error


def test_what_is_no_certificate_is_an_error_in_words() -> None:
    assert "PEM" in ask('x509.decode("not a valid PEM").IsCA').error


def test_what_is_packed_can_be_unpacked() -> None:
    assert decompress(compress("kyverno")) == "kyverno"


def test_unpacking_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "_LARGEST", 1000)
    with pytest.raises(ValueError, match="more than 1,000"):
        decompress(compress("a" * 1001))


@pytest.mark.parametrize(
    "expression",
    [
        r"""json.unmarshal('"a\\u0000b"') == 'a'""",
        r"""json.unmarshal('"\\ud800"') == 'a'""",
        r"""yaml.parse('x: "a\\0b"').x == 'a'""",
        r"""'a\u0000b'.find('.*') == 'a'""",
        r"""'a\u0000b'.findAll('.+') == ['a']""",
    ],
)
def test_texts_that_the_engine_would_cut_are_errors(expression: str) -> None:
    assert "NUL" in ask(expression).error


def test_documents_are_bounded() -> None:
    nine = [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9)]
    laughs = "\n".join(["a0: &a0 [1, 2, 3, 4, 5, 6, 7, 8, 9]", *nine])
    found = ask("yaml.parse(object.x).a0[0] == 1.0", data={"object": {"x": laughs}})
    assert "at most 500,000 values" in found.error
    deep = "[" * 5000 + "]" * 5000
    assert ask("json.unmarshal(object.x) == null", data={"object": {"x": deep}}).error
    assert ask("yaml.parse(object.x) == null", data={"object": {"x": "&a [*a]"}}).error


NGINX = {"metadata": {"name": "nginx"}, "spec": {"replicas": 3}}
LIST = {"items": [NGINX]}


def resource(**parts: Any) -> dict[str, Any]:
    return {"api_version": "apps/v1", "resource": "deployments", **parts}


ASKED: list[tuple[str, Question, Any]] = [
    (
        'resource.Get("apps/v1", "deployments", "default", "nginx").spec.replicas == 3',
        GetResource(**resource(namespace="default", name="nginx")),
        NGINX,
    ),
    (
        'resource.get("apps/v1", "deployments", "default", "nginx") == null',
        GetResource(**resource(namespace="default", name="nginx")),
        None,
    ),
    (
        'resource.List("apps/v1", "deployments", "default").items.size() == 1',
        ListResources(**resource(namespace="default")),
        LIST,
    ),
    (
        'resource.list("apps/v1", "deployments", "default", {"app": "nginx"}).items[0].metadata.name == "nginx"',
        ListResources(**resource(namespace="default", labels={"app": "nginx"})),
        LIST,
    ),
    (
        'resource.Post("apps/v1", "deployments", "default", {"metadata": {"name": "x"}}).spec.replicas == 3',
        PostResource(**resource(namespace="default", body=msgspec.Raw(b'{"metadata":{"name":"x"}}'))),
        NGINX,
    ),
    (
        'resource.post("apps/v1", "deployments", {"a": 1}).spec.replicas == 3',
        PostResource(**resource(namespace="", body=msgspec.Raw(b'{"a":1}'))),
        NGINX,
    ),
    (
        'http.Get("https://x/y").metadata == "m"',
        HttpCall(method="GET", url="https://x/y"),
        {"statusCode": 200, "body": {"metadata": "m"}},
    ),
    (
        'http.get("https://x/y", {"Authorization": "Bearer token"}).statusCode == 404',
        HttpCall(method="GET", url="https://x/y", headers={"Authorization": "Bearer token"}),
        {"statusCode": 404, "body": {"error": "not found"}},
    ),
    (
        'http.Post("https://x", {"key": dyn("value"), "foo": dyn(2)}).body == null',
        HttpCall(method="POST", url="https://x", body=msgspec.Raw(b'{"key":"value","foo":2}')),
        {"statusCode": 200, "body": None},
    ),
    (
        'http.post("https://x", {"a": 1}, {"b": "c"}).id == "123"',
        HttpCall(method="POST", url="https://x", body=msgspec.Raw(b'{"a":1}'), headers={"b": "c"}),
        {"statusCode": 201, "body": {"id": "123"}},
    ),
    (
        'http.get("https://x/array").body[1].item == 2.0',
        HttpCall(method="GET", url="https://x/array"),
        {"statusCode": 200, "body": [{"item": 1}, {"item": 2}]},
    ),
    (
        'http.Client("pem").Get("https://x").statusCode == 200',
        HttpCall(method="GET", url="https://x", ca_bundle="pem"),
        {"statusCode": 200, "body": {}},
    ),
    (
        'http.client("pem").post("https://x", 1, {"a": "b"}).statusCode == 200',
        HttpCall(method="POST", url="https://x", ca_bundle="pem", body=msgspec.Raw(b"1"), headers={"a": "b"}),
        {"statusCode": 200, "body": {}},
    ),
    ('globalContext.Get("gctx", "")[0] == "a"', GlobalContext(name="gctx"), ["a"]),
    ('globalContext.get("gctx") == null', GlobalContext(name="gctx"), None),
    (
        'globalContext.Get("gctx", "names") == ["a"]',
        GlobalContext(name="gctx", projection="names"),
        ["a"],
    ),
    ('image.GetMetadata("nginx").config == 1', ImageMetadata(image="nginx"), {"config": 1}),
    ('image.getMetadata("nginx").config == 1', ImageMetadata(image="nginx"), {"config": 1}),
]
IN_A_NAMESPACE: list[tuple[str, Question, Any]] = [
    (
        'resource.Get("apps/v1", "deployments", "nginx").spec.replicas == 3',
        GetResource(**resource(namespace="shop", name="nginx")),
        NGINX,
    ),
    (
        'resource.List("apps/v1", "deployments").items.size() == 1',
        ListResources(**resource(namespace="shop")),
        LIST,
    ),
    (
        'resource.list("apps/v1", "deployments", {"a": "b"}).items.size() == 1',
        ListResources(**resource(namespace="shop", labels={"a": "b"})),
        LIST,
    ),
    (
        'resource.Post("apps/v1", "deployments", {"a": 1}).spec.replicas == 3',
        PostResource(**resource(namespace="shop", body=msgspec.Raw(b'{"a":1}'))),
        NGINX,
    ),
]


@pytest.mark.parametrize(
    ("expression", "question", "answer", "namespace"),
    [(*row, "") for row in ASKED] + [(*row, "shop") for row in IN_A_NAMESPACE],
)
def test_a_function_that_looks_outside_asks_for_exactly_this(
    expression: str, question: Question, answer: Any, namespace: str
) -> None:
    asked: list[bytes] = []

    def answered(found: Question) -> Any:
        asked.append(
            json.dumps(msgspec.to_builtins(json.loads(msgspec.json.encode(found))), sort_keys=True).encode()
        )
        return answer

    result = ask(expression, answer=answered, namespace=namespace)
    assert result.matched, result.error
    assert asked == [json.dumps(json.loads(msgspec.json.encode(question)), sort_keys=True).encode()]


@pytest.mark.parametrize("spelling", ["resource.ToGVR(", "resource.toGVR("])
def test_a_gvr_stands_for_version_and_resource(spelling: str) -> None:
    def answered(question: Question) -> Any:
        if isinstance(question, FindResource):
            assert question == FindResource(api_version="apps/v1", kind="Deployment")
            return "deployments"
        assert question == GetResource(**resource(namespace="default", name="nginx"))
        return NGINX

    result = ask(
        f'resource.Get({spelling}"apps/v1", "Deployment"), "default", "nginx").spec.replicas == 3',
        answer=answered,
    )
    assert result.matched, result.error


@pytest.mark.parametrize(
    "expression",
    [
        'resource.Get("v1", "pods", "other", "name") == null',
        'resource.List("v1", "pods", "other") == null',
        'resource.Post("v1", "pods", "other", {"a": 1}) == null',
    ],
)
def test_a_policy_in_a_namespace_can_not_name_another_one(expression: str) -> None:
    assert compiled(expression, namespace="shop").problems
    assert not compiled(expression).problems
