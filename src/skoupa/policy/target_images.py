"""`images`: the images of the containers of one object, taken apart, for the variables of a policy.

Only for the kinds that have a Pod or make Pods; other objects have no images, which is not an error until a policy asks for
one. As in Kyverno a container without an image is passed over, and an image whose name is none is an error for the
object. They are worked out from the body of the object: whoever asks for them needs more than metadata.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from skoupa.errors import ExpressionError
from skoupa.expr import images

_POD: Final = ("spec",)
_TEMPLATE: Final = ("spec", "template", "spec")
_PLACES: Final[Mapping[str, tuple[str, ...]]] = {
    "Pod": _POD,
    **dict.fromkeys(
        ("DaemonSet", "Deployment", "Job", "ReplicaSet", "ReplicationController", "StatefulSet"), _TEMPLATE
    ),
    "CronJob": ("spec", "jobTemplate", "spec", "template", "spec"),
}
_CONTAINERS: Final = ("initContainers", "containers", "ephemeralContainers")


def images_of(target: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """By sort of container, then by its name: `images.containers.web.registry`."""
    place = _PLACES.get(target.get("kind", ""))
    pod = _at(target, place) if place else None
    if place is None or pod is None:
        return {}
    secrets = [secret["name"] for secret in _listed(pod, "imagePullSecrets") if "name" in secret]
    found: dict[str, dict[str, Any]] = {}
    for sort in _CONTAINERS:
        named = {
            container["name"]: {
                **_said(container["image"]),
                "jsonPointer": "/" + "/".join((*place, sort, str(position), "image")),
                "imagePullSecrets": secrets,
            }
            for position, container in enumerate(_listed(pod, sort))
            if str(container.get("image") or "").strip() and "name" in container
        }
        if named:
            found[sort] = named
    return found


def _at(target: Mapping[str, Any], place: tuple[str, ...]) -> Mapping[str, Any] | None:
    found: Any = target
    for key in place:
        found = found.get(key) if isinstance(found, dict) else None
    return found if isinstance(found, dict) else None


def _listed(pod: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    listed = pod.get(key)
    return [item for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []


def _said(text: Any) -> dict[str, str]:
    try:
        image = images.parse(str(text))
    except ValueError as error:
        raise ExpressionError(str(error), expression="images") from error
    parts = {
        "registry": image.registry,
        "name": image.name,
        "path": image.path,
        "tag": image.tag,
        "digest": image.digest,
        "reference": image.reference,
        "referenceWithTag": image.reference_with_tag,
    }
    return {key: part for key, part in parts.items() if part}
