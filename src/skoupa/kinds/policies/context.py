"""`context` of a CleanupPolicy: values by name that its conditions use.

Kyverno's schema knows configMap and imageRegistry, and its webhook refuses them for cleanup; here the schema does both, so
that who writes one is told and does not find it gone.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Final, Literal

import msgspec

from skoupa.kinds.policies.calling import Datum, Method, Service
from skoupa.kinds.schema import Rule, about

MOST_ENTRIES: Final = 500
NO_CONFIG_MAP: Final = (
    "configMap can't be used here: write an apiCall with urlPath /api/v1/namespaces/NAMESPACE/configmaps/NAME"
)
NO_IMAGE_REGISTRY: Final = (
    "imageRegistry can't be used here: leave it out; `images` tells what the object names"
)
ONE_SOURCE: Final = "write exactly one of apiCall, variable and globalReference"
SOME_PLACE: Final = "write where to: urlPath for the API server, or service"

_Name = Annotated[str, msgspec.Meta(min_length=1)]
_SOURCES: Final = ("apiCall", "configMap", "globalReference", "imageRegistry", "variable")


class ApiCall(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, forbid_unknown_fields=True
):
    """The answer of the API server, or of a service."""

    RULES: ClassVar = (Rule("has(self.urlPath) || has(self.service)", SOME_PLACE),)

    url_path: Annotated[
        str | None,
        about("A path of the API server, as `kubectl get --raw` takes it: /api/v1/namespaces/shop/pods."),
    ] = None
    method: Annotated[Method, about("GET or POST.")] = "GET"
    data: Annotated[tuple[Datum, ...], about("What a POST sends, as fields of one JSON object.")] = ()
    service: Annotated[Service | None, about("Another service than the API server.")] = None
    jmes_path: Annotated[str | None, about("What to take of the answer; without it all of it.")] = None
    default: Annotated[
        Any, about("The value where what is asked for does not exist (404), and for nothing else.")
    ] = None


class Variable(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, forbid_unknown_fields=True
):
    """A value that stands in the policy, or is worked out from others."""

    value: Annotated[Any, about("The value, in which {{ }} may stand.")] = None
    jmes_path: Annotated[
        str | None, about("What to take of the value; without a value, of what is known already.")
    ] = None
    default: Annotated[Any, about("The value where jmesPath yields nothing.")] = None


class GlobalReference(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, forbid_unknown_fields=True
):
    """What a GlobalContextEntry holds."""

    name: Annotated[_Name, about("The name of the GlobalContextEntry.")]
    jmes_path: Annotated[str | None, about("What to take of it; without it all of it.")] = None


class ConfigMapReference(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, forbid_unknown_fields=True
):
    """A ConfigMap."""

    name: Annotated[str, about("Its name.")]
    namespace: Annotated[str | None, about("Its namespace.")] = None


class RegistryCredentials(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, forbid_unknown_fields=True
):
    """How to log in to a registry."""

    allow_insecure_registry: Annotated[bool | None, about("Whether the registry may be without TLS.")] = None
    providers: Annotated[
        tuple[Literal["default", "amazon", "azure", "google", "github"], ...],
        about("Clouds whose credentials are tried."),
    ] = ()
    secrets: Annotated[tuple[str, ...], about("Secrets with credentials.")] = ()


class ImageRegistry(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, forbid_unknown_fields=True
):
    """What a registry says of an image."""

    reference: Annotated[str, about("The image.")]
    jmes_path: Annotated[str | None, about("What to take of it.")] = None
    image_registry_credentials: Annotated[RegistryCredentials | None, about("How to log in.")] = None


class ContextEntry(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, forbid_unknown_fields=True
):
    """One value by name."""

    RULES: ClassVar = (
        Rule("!has(self.configMap)", NO_CONFIG_MAP),
        Rule("!has(self.imageRegistry)", NO_IMAGE_REGISTRY),
        Rule(" + ".join(f"(has(self.{source}) ? 1 : 0)" for source in _SOURCES) + " == 1", ONE_SOURCE),
    )

    name: Annotated[_Name, about("The name by which conditions use the value.")]
    api_call: Annotated[ApiCall | None, about("The answer of the API server, or of a service.")] = None
    variable: Annotated[Variable | None, about("A value that stands here, or is worked out from others.")] = (
        None
    )
    global_reference: Annotated[GlobalReference | None, about("What a GlobalContextEntry holds.")] = None
    config_map: Annotated[ConfigMapReference | None, about("Can't be used here: write an apiCall.")] = None
    image_registry: Annotated[ImageRegistry | None, about("Can't be used here.")] = None
