"""What Alive needs in a cluster beside its definition, which is always brought, and its guard (`admission.alive`): rights.

Skoupa makes it, tells how far it is, and takes finalizers off it; it never deletes it, and may not ask for the deletion either.
Where the feature is off its own finalizer is taken off, and that needs a right too.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from skoupa import names
from skoupa.install.rights import READ, REPORT, Right
from skoupa.kinds.alive import ALIVES, GUARDS
from skoupa.kube.resources import LEASES
from skoupa.settings import Settings

_ADMISSION: Final = "admissionregistration.k8s.io"


def alive_rights(settings: Settings) -> Iterator[Right]:
    if settings.namespaces:
        return
    group, name = ALIVES.group, (names.ALIVE_NAME,)
    if not settings.features.alive:
        if settings.mode == "enforce":
            yield Right(
                role=REPORT,
                group=group,
                resources=(ALIVES.plural,),
                names=name,
                verbs=("get", "patch"),
                namespaced=False,
                why="the finalizer of features.alive is taken off",
            )
        return
    for role, resources, verbs, named, why in (
        (READ, ALIVES.plural, ("get", "list", "watch"), (), "whether the cluster is about to die is read"),
        (
            REPORT,
            ALIVES.plural,
            ("create",),
            (),
            "it is made where there is none, and once more where it vanished",
        ),
        (
            REPORT,
            ALIVES.plural,
            ("patch",),
            name,
            "its own finalizer is put on it and taken off, and those of others where spec.onTimeout is ForceFinalizers",
        ),
        (REPORT, f"{ALIVES.plural}/status", ("patch",), name, "how far everybody is is told in its status"),
    ):
        yield Right(
            role=role,
            group=group,
            resources=(resources,),
            names=named,
            verbs=verbs,
            namespaced=False,
            why=why,
        )
    yield Right(
        role=READ,
        group=LEASES.group,
        resources=(LEASES.plural,),
        verbs=("list",),
        namespaced=False,
        why="the signs of life of those who take part in Alive are read",
    )
    yield Right(
        role=READ,
        group=_ADMISSION,
        resources=("validatingadmissionpolicies", "validatingadmissionpolicybindings"),
        names=GUARDS,
        verbs=("get",),
        namespaced=False,
        why="whether Alive is guarded is told on it",
    )
