"""Where an installed controller keeps its ledger: a volume of its own for SQLite, or somebody's PostgreSQL.

A SQLite file has one writer: then there is one replica, and a new pod waits for the old one to end. With PostgreSQL, or
without a ledger, there may be several. A password never goes into the ConfigMap: it comes from a Secret. So do the keys
of the trash.
"""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

import msgspec

from skoupa.errors import UsageError
from skoupa.install.labelling import Manifest, manifest
from skoupa.ledger.dsn import is_usual
from skoupa.ledger.opening import is_shared
from skoupa.settings import Settings

DIRECTORY: Final = "/var/lib/skoupa"
CONFIG_DIRECTORY: Final = "/etc/skoupa"
CLAIM: Final = "skoupa-ledger"
SECRET: Final = "skoupa-ledger"  # noqa: S105 - the name of a Secret
SECRET_KEY: Final = "dsn"  # noqa: S105 - the name of a key
TRASH_SECRET: Final = "skoupa-trash"  # noqa: S105 - the name of a Secret
TRASH_KEY: Final = "keys"
# Besides /etc and /var, in which Skoupa's own are.
_OF_THE_SYSTEM: Final = frozenset(
    {
        *("/bin", "/dev", "/home", "/lib", "/lib64", "/opt", "/proc"),
        *("/root", "/run", "/sbin", "/sys", "/tmp", "/usr"),  # noqa: S108 - a place to stay away from
    }
)
_SHIPPED: Final = Settings().ledger.dsn
# The server's defaults, written out: no conflict then when somebody else applies this too.
_ROLLING: Final = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}}


def placed(settings: Settings) -> Settings:
    """The settings with the ledger on the volume, where they say nothing else."""
    ledger = settings.ledger
    if is_shared(ledger.dsn) and _may_have_password(ledger.dsn):
        raise UsageError(
            "ledger.dsn has a password, and the settings become a ConfigMap that many can read",
            advice=f"leave the password out here and create it as a Secret: kubectl create secret generic {SECRET} "
            f"-n {settings.lease.namespace} --from-literal={SECRET_KEY}=postgresql://USER:PASSWORD@HOST/DATABASE",
        )
    if ledger.dsn != _SHIPPED:
        return settings
    place = msgspec.structs.replace(ledger, dsn=f"{DIRECTORY}/ledger.db")
    return msgspec.structs.replace(settings, ledger=place)


def _may_have_password(dsn: str) -> bool:
    """As one of its options too; in an address that does not look as usual it can be anywhere."""
    if not is_usual(dsn):
        return True
    parts = urlsplit(dsn)
    options = parse_qsl(parts.query, keep_blank_values=True)
    return parts.password is not None or any("password" in name.lower() for name, _ in options)


def replicas_of(settings: Settings, asked: int | None) -> int:
    """How many may run; more than one on a SQLite file is refused.

    Observers do not agree on one of them, which would write a Lease: each tells everything, so there is one unless asked.
    """
    if not on_volume(settings):
        return asked or (2 if settings.mode == "enforce" else 1)
    if asked is not None and asked > 1:
        raise UsageError(
            f"{asked} replicas can't share a ledger in SQLite",
            advice="leave --replicas out, or set ledger.dsn to postgresql://… (or to none: no history, no trash)",
        )
    return 1


def on_volume(settings: Settings) -> bool:
    return settings.ledger.dsn != "none" and not is_shared(settings.ledger.dsn)


def claims(settings: Settings, *, namespace: str) -> list[Manifest]:
    if not on_volume(settings):
        return []
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "4Gi"}}}
    return [manifest("v1", "PersistentVolumeClaim", CLAIM, namespace=namespace, spec=spec)]


def equip(settings: Settings, pod: dict[str, Any]) -> None:
    """Gives the pod its volume, or the address of its database."""
    container = pod["containers"][0]
    if on_volume(settings):
        pod["securityContext"]["fsGroup"] = pod["securityContext"]["runAsGroup"]
        pod["volumes"].append({"name": "ledger", "persistentVolumeClaim": {"claimName": CLAIM}})
        container["volumeMounts"].append({"name": "ledger", "mountPath": DIRECTORY})
    elif is_shared(settings.ledger.dsn):
        key = {"name": SECRET, "key": SECRET_KEY, "optional": True}
        container["env"].append({"name": "SKOUPA_LEDGER_DSN", "valueFrom": {"secretKeyRef": key}})
    _give_keys(settings, pod, container)


def _give_keys(settings: Settings, pod: dict[str, Any], container: dict[str, Any]) -> None:
    """Without the Secret the pod does not start: it must not delete what it was to keep encrypted."""
    trash = settings.trash
    if trash.key_env:
        key = {"name": TRASH_SECRET, "key": TRASH_KEY}
        container["env"].append({"name": trash.key_env, "valueFrom": {"secretKeyRef": key}})
    elif trash.key_file:
        place = PurePosixPath(trash.key_file)
        if not _is_own_directory(place.parent):
            raise UsageError(
                f"trash.keyFile {trash.key_file} can't be a file of its own in a pod",
                advice="write trash.keyFile: /etc/skoupa-trash/keys",
            )
        items = [{"key": TRASH_KEY, "path": place.name}]
        secret = {"secretName": TRASH_SECRET, "items": items}
        pod["volumes"].append({"name": "trash-keys", "secret": secret})
        mount = {"name": "trash-keys", "mountPath": str(place.parent), "readOnly": True}
        container["volumeMounts"].append(mount)


def _is_own_directory(directory: PurePosixPath) -> bool:
    """A mount hides what was there: the system of the image, the settings, the ledger."""
    if not directory.is_absolute() or len(directory.parts) < 2 or ".." in directory.parts:
        return False
    taken = [PurePosixPath(CONFIG_DIRECTORY), PurePosixPath(DIRECTORY)]
    if any(directory.is_relative_to(one) or one.is_relative_to(directory) for one in taken):
        return False
    return str(directory) not in _OF_THE_SYSTEM


def strategy(settings: Settings) -> dict[str, Any]:
    return {"type": "Recreate"} if on_volume(settings) else _ROLLING
