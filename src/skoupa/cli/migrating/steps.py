"""The way from Kyverno to Skoupa and back, as commands in an order in which never both delete.

Over: Skoupa observes, then Kyverno stops, then Skoupa acts. Back: Skoupa stops, then Kyverno starts. Pure: names and numbers are those
that were found in the cluster, and the chart's own where nothing could be found.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal

import msgspec

from skoupa import names
from skoupa.cli.migrating.kyverno import MANAGED_LABEL, Controller, Kyverno
from skoupa.controller.kyverno.beside import BRAKE_NAME
from skoupa.install.kinds import SHIPPED
from skoupa.names import COMPONENT

HOME: Final = "kyverno"
_SETTINGS: Final = "skoupa.yaml"
_KINDS: Final = "--kinds"
_SELECTOR: Final = "app.kubernetes.io/component=cleanup-controller"
_GITOPS: Final = "where Helm or GitOps manages Kyverno, set cleanupController.enabled: false there, or it is scaled up again"


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """What is done and why; without a command it is done by hand."""

    what: str
    command: str = ""


class Needs(msgspec.Struct, frozen=True, kw_only=True):
    """What was found: labels that only Kyverno reads, what it protects, and how many objects it would take at once on its return.

    `kinds` are to go and are not among those that an installation may delete by itself.
    """

    odd_values: int = 0
    protects_its_own: bool = False
    taken_on_return: int = 0
    kinds: tuple[str, ...] = ()


def over(kyverno: Kyverno, needs: Needs) -> Iterator[Step]:
    if needs.odd_values:
        yield Step(
            what=f"of {needs.odd_values} labels only Kyverno understands the value: write them as told above, or put "
            f"compat: {{kyvernoTtl: true}} into {_SETTINGS}"
        )
    if needs.protects_its_own:
        yield Step(
            what=f"Kyverno leaves alone what it made: put protect: {{selectors: [{MANAGED_LABEL}]}} into {_SETTINGS}"
        )
    if needs.kinds:
        yield Step(
            what=f"an installation may not delete {', '.join(needs.kinds)} by itself, for they hold data or take much along: the commands "
            f"below name them; leave out of {_KINDS} what is to stay"
        )
    yield Step(
        what="Skoupa observes beside Kyverno: it reports, and changes nothing",
        command=_install("observe", needs),
    )
    yield Step(what="see what will go, when and why", command="skoupa plan -A")
    if kyverno.state != "absent":
        yield from _stopping(kyverno)
    yield Step(
        what="Skoupa acts from now on",
        command=_install("enforce", needs),
    )
    if kyverno.state != "absent":
        yield Step(
            what=f"the Lease of Kyverno looks alive for a minute after its end: if `skoupa brakes` shows {BRAKE_NAME}, "
            "release it",
            command=f"skoupa brakes release {BRAKE_NAME}",
        )


def back(kyverno: Kyverno, needs: Needs) -> Iterator[Step]:
    yield Step(
        what="Skoupa stops deleting within a second",
        command='skoupa pause all --reason "back to Kyverno"',
    )
    yield Step(
        what="and only observes from now on, also after a restart",
        command=_install("observe", needs),
    )
    if needs.taken_on_return:
        yield Step(
            what=f"Kyverno knows none of our holds and goes by its own reading: of the objects above {needs.taken_on_return} go as soon as it "
            "starts; "
            f"take the label {names.TTL_LABEL} off those that are to stay"
        )
    for one in _controllers(kyverno):
        yield Step(
            what="Kyverno acts again; it makes its webhooks anew, and runs at once each policy whose tick it missed",
            command=f"kubectl scale deployment {one.name} -n {one.namespace} --replicas={one.replicas or 1}",
        )
    yield Step(
        what=f"see what is left of {COMPONENT.capitalize()}, and how to remove it",
        command="skoupa uninstall --check",
    )


def _install(mode: Literal["observe", "enforce"], needs: Needs) -> str:
    config = f" --config {_SETTINGS}" if needs.odd_values or needs.protects_its_own else ""
    kinds = f" {_KINDS} {','.join((SHIPPED, *needs.kinds))}" if needs.kinds else ""
    return f"skoupa install --mode {mode}{kinds}{config} | kubectl apply -f -"


def _stopping(kyverno: Kyverno) -> Iterator[Step]:
    for one in _controllers(kyverno):
        yield Step(
            what=f"Kyverno's cleanup controller stops; its other controllers go on ({_GITOPS})",
            command=f"kubectl scale deployment {one.name} -n {one.namespace} --replicas=0",
        )
        yield Step(
            what="wait until it is gone",
            command=f"kubectl wait pods -n {one.namespace} -l {_SELECTOR} --for=delete --timeout=2m",
        )
    if kyverno.webhooks:
        closed = [one.name for one in kyverno.webhooks if one.fails]
        why = f"; {', '.join(closed)} would refuse every change of a policy" if closed else ""
        yield Step(
            what=f"its webhooks lead nowhere now{why}",
            command=f"kubectl delete validatingwebhookconfiguration {' '.join(one.name for one in kyverno.webhooks)}",
        )


def _controllers(kyverno: Kyverno) -> list[Controller]:
    """Those that were found, else where its Lease is, else as the chart has it."""
    if kyverno.controllers:
        return list(kyverno.controllers)
    if kyverno.state == "absent":
        return []
    homes = kyverno.leases or (HOME,)
    return [Controller(namespace=home, name=names.KYVERNO_CLEANUP_LEASE, replicas=1) for home in homes]
