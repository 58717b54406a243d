"""Admission: what others refuse or remark before a write happens."""

from __future__ import annotations

from skoupa.kube.resources import CONFIG_MAPS
from tests.contract.arena import Arena, Gate
from tests.contract.expecting import refused
from tests.contract.registry import rule
from tests.contract.sabotage import skip, swap, wrap

LABEL = "contract.skoupa.dev/gate"


@rule(broken_by=swap("state.admission.Admission.ask", lambda _, __, *, obj, **___: obj))
async def admission_can_refuse_a_creation(arena: Arena) -> None:
    """A creation that admission refuses leaves nothing, and the refusal carries the reason."""
    message = "gates are closed"
    gate = Gate(resource=CONFIG_MAPS, operation="CREATE", label=LABEL, message=message, refuses=True)
    await arena.set_gate(gate)
    said = await refused(arena.config_map("no", labels={LABEL: "yes"}), code=422, reason="Invalid")
    assert message in said.message
    assert not await arena.exists(CONFIG_MAPS, "no")
    await arena.config_map("yes")


@rule(broken_by=skip("writing.deletion._ask"))
async def admission_can_refuse_a_deletion(arena: Arena) -> None:
    """Admission is asked for each object that a delete or a delete of a collection would remove."""
    message = "it has to stay"
    gate = Gate(resource=CONFIG_MAPS, operation="DELETE", label=LABEL, message=message, refuses=True)
    made = await arena.config_map("stays", labels={LABEL: "yes"})
    await arena.set_gate(gate)
    call = arena.client.delete(
        CONFIG_MAPS, "stays", uid=made["metadata"]["uid"], propagation="Background", namespace=arena.namespace
    )
    said = await refused(call, code=422, reason="Invalid")
    assert message in said.message
    path = CONFIG_MAPS.path(namespace=arena.namespace)
    answer = await arena.ask("DELETE", path, query={"labelSelector": f"{LABEL}=yes"})
    assert answer.status == 422
    assert await arena.exists(CONFIG_MAPS, "stays")


@rule(
    broken_by=wrap(
        "state.admission.Admission.ask",
        lambda ask: lambda self, what, **how: ask(self, what, **how | {"warnings": []}),
    )
)
async def admission_can_warn(arena: Arena) -> None:
    """A warning of admission comes as a header of an answer that is a success otherwise."""
    message = "mind the gap"
    gate = Gate(resource=CONFIG_MAPS, operation="CREATE", label=LABEL, message=message, refuses=False)
    await arena.set_gate(gate)
    path = CONFIG_MAPS.path(namespace=arena.namespace)
    body = {"metadata": {"name": "one", "labels": {LABEL: "yes"}}}
    answer = await arena.ask("POST", path, body=body)
    assert answer.status == 201
    warning = answer.headers.get("warning", "")
    assert warning.startswith("299 - ")
    assert message in warning
