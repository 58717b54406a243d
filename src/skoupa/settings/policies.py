"""The settings of cleanup policies: how they run, what they may ask beyond the objects that they match, and how much of it."""

from __future__ import annotations

from typing import Annotated

import msgspec

from skoupa.settings.sections import Duration, Section, about


class PolicySettings(Section, frozen=True, kw_only=True):
    minimum_interval: Annotated[
        Duration,
        about("The shortest time between two runs of one policy; a schedule that comes sooner is spaced."),
    ] = "1m"
    respect_ttl: Annotated[
        bool,
        about(
            "What has a TTL label (or `skoupa.dev/ttl-after`) whose time is still to come goes by no policy before."
        ),
    ] = True
    require_service_account: Annotated[
        bool,
        about(
            "A policy of a namespace runs only where `skoupa.dev/service-account` names an account of that namespace, and "
            "deletes what that account may delete."
        ),
    ] = False
    observe_new: Annotated[
        Duration | None,
        about("So long after a policy is new or its spec changed it only reports what it would delete."),
    ] = None
    notice_before: Annotated[
        Duration | None,
        about(
            "So long before a policy runs it is told of what it would delete, with how to keep it; `skoupa.dev/notice-before` on "
            "the policy says another time."
        ),
    ] = None
    require_delete_right: Annotated[
        bool,
        about(
            "A policy whose writer may not delete what it means is refused, by the API server itself, so also while no Skoupa "
            "runs; otherwise they are only warned."
        ),
    ] = False
    allowed_hosts: Annotated[
        tuple[str, ...],
        about(
            "Hosts that policies may call: `HOST`, `HOST:PORT`, `*.HOST`; without a port 443 is meant (80 for plain http). "
            "`*` is every host with a public address."
        ),
    ] = ()
    allowed_networks: Annotated[
        tuple[str, ...],
        about(
            "Networks that allowed hosts may be in although they are of the machine or the link itself (loopback, "
            "link-local, metadata services): `127.0.0.0/8`."
        ),
    ] = ()
    allow_plain_http: Annotated[bool, about("Policies may call allowed hosts by http too, unencrypted.")] = (
        False
    )
    allow_http_in_namespaced_policies: Annotated[
        bool,
        about("Policies of a namespace may call allowed hosts too, not only those of the whole cluster."),
    ] = False
    allow_global_context_in_namespaced_policies: Annotated[
        bool,
        about(
            "Policies of a namespace may read every GlobalContextEntry, not only those about their own namespace."
        ),
    ] = False
    allow_secrets_in_namespaced_policies: Annotated[
        bool,
        about(
            "Policies of a namespace may look at the values of Secrets in it, which whoever writes such a policy can then find "
            "out by what it deletes."
        ),
    ] = False
    call_timeout: Annotated[
        Duration, about("How long the API server or a service may take to answer a policy.")
    ] = "5s"
    max_answer_bytes: Annotated[
        int, msgspec.Meta(ge=1, description="The most bytes of one answer; a larger one is an error.")
    ] = 2_000_000
    max_calls_per_run: Annotated[
        int,
        msgspec.Meta(
            ge=1, description="The most calls of one run of a policy; the same call again does not count."
        ),
    ] = 10_000
    global_context_max_bytes: Annotated[
        int,
        msgspec.Meta(ge=1, description="The most bytes of all objects that one GlobalContextEntry lists."),
    ] = 33_554_432


class WebhookSettings(Section, frozen=True, kw_only=True):
    address: Annotated[
        str,
        about(
            "Where the API server asks about policies before it takes them, as HOST:PORT; empty or `none`: nowhere. "
            "`skoupa install` fills in 0.0.0.0:9443."
        ),
    ] = ""
    url: Annotated[
        str,
        about(
            "How the API server reaches it outside the cluster: `https://HOST:PORT/policies`; empty: by its Service."
        ),
    ] = ""
