"""ValidatingAdmissionPolicies for the TTL label, as manifests: the API server checks it, and nothing of ours can be down.

Three policies, each there only where a setting asks for it. `skoupa-ttl-label` speaks about values that will not do what
their writer wants; it warns, and its failurePolicy is Ignore, because an error in a policy (one with Fail refuses even
where its binding only warns) must never block a write for the sake of a warning. With `ttl.refuse` it denies.
`skoupa-ttl-limits` and `skoupa-ttl-delete-right` deny. What denies has failurePolicy Fail: a guard that can't look is
no open door. All look only at writes that add or change the label, and at status writes too: through those the
labels of Pods and Namespaces can be changed. Limits are read from a ConfigMap at each request.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from skoupa import names
from skoupa.admission.advice import WHAT_TO_WRITE, advising
from skoupa.admission.cel import literal, matches, sentence
from skoupa.admission.grammar import KYVERNO, TIME
from skoupa.admission.readings import (
    LABEL_CHANGED,
    Variable,
    epoch,
    is_duration,
    label_time,
    reading,
    seconds,
    variable,
)
from skoupa.errors import UsageError
from skoupa.model.reasons import REASONS
from skoupa.settings import TtlSettings

Manifest = dict[str, Any]

LABEL_POLICY: Final = "skoupa-ttl-label"
LIMITS_POLICY: Final = "skoupa-ttl-limits"
DELETE_RIGHT_POLICY: Final = "skoupa-ttl-delete-right"
LIMITS_CONFIG_MAP: Final = "skoupa-ttl-limits"

_GROUP_VERSION: Final = "admissionregistration.k8s.io/v1"
_PART_OF: Final = {"app.kubernetes.io/part-of": names.COMPONENT}
# A TTL label on these is ignored by the engine, so there is nothing to check.
_OWN_GROUPS: Final = [names.SKOUPA_GROUP, names.KYVERNO_GROUP, names.KYVERNO_POLICIES_GROUP]
_VALUE: Final = "variables.value"
_KEY: Final = literal(names.TTL_LABEL)
_DAY: Final = 86_400


def ttl_admission(
    settings: TtlSettings, *, namespace: str, kyverno_readings: bool = False, had_limits: bool = False
) -> list[Manifest]:
    """Everything to apply, in order. `namespace` is where the ConfigMap of the limits lives.

    `kyverno_readings` (the setting `compat.kyvernoTtl`) lets through what only Kyverno's reading understands; where a
    limit is set that is refused, because its length is not worked out here. `had_limits` says that the policy of the
    limits is in the cluster already: it then stays, with an empty ConfigMap, where no limit is set any more. An API
    server that lost the last binding with a ConfigMap does not read ConfigMaps anew for a later one until it is
    restarted (kubernetes/kubernetes#130887), so that limits could not be set a second time.
    """
    manifests = [
        *_policy(
            LABEL_POLICY,
            variables=[*reading(), *advising()],
            validations=_label_validations(kyverno_readings=kyverno_readings),
            denies=settings.refuse,
        )
    ]
    limits = _limits(settings)
    if limits or had_limits:
        manifests.append(_config_map(limits, namespace=namespace))
        manifests += _policy(
            LIMITS_POLICY,
            variables=[*reading(), *_limit_variables()],
            validations=_limit_validations(namespace=namespace, kyverno_readings=kyverno_readings),
            denies=True,
            parameters=namespace,
        )
    if settings.require_delete_right:
        variables = [variable("name", "object.metadata.?name.orValue('')")]
        validations = [_delete_right_validation()]
        manifests += _policy(DELETE_RIGHT_POLICY, variables=variables, validations=validations, denies=True)
    return manifests


def _policy(
    name: str,
    *,
    variables: list[Variable],
    validations: list[Manifest],
    denies: bool,
    parameters: str = "",
) -> Iterator[Manifest]:
    spec: Manifest = {
        "failurePolicy": "Fail" if denies else "Ignore",
        "matchConstraints": {
            "objectSelector": {"matchExpressions": [{"key": names.TTL_LABEL, "operator": "Exists"}]},
            "resourceRules": [_rule(["*"])],
            "excludeResourceRules": [_rule(_OWN_GROUPS)],
        },
        "matchConditions": [{"name": "label-added-or-changed", "expression": LABEL_CHANGED}],
        "variables": variables,
        "validations": validations,
    }
    binding: Manifest = {"policyName": name, "validationActions": ["Deny" if denies else "Warn"]}
    if parameters:
        spec["paramKind"] = {"apiVersion": "v1", "kind": "ConfigMap"}
        binding["paramRef"] = {
            "name": LIMITS_CONFIG_MAP,
            "namespace": parameters,
            "parameterNotFoundAction": "Deny",
        }
    for kind, body in (("ValidatingAdmissionPolicy", spec), ("ValidatingAdmissionPolicyBinding", binding)):
        metadata = {"name": name, "labels": dict(_PART_OF)}
        yield {"apiVersion": _GROUP_VERSION, "kind": kind, "metadata": metadata, "spec": body}


def _rule(groups: list[str]) -> Manifest:
    return {
        "apiGroups": list(groups),
        "apiVersions": ["*"],
        "operations": ["CREATE", "UPDATE"],
        "resources": ["*", "*/status"],
    }


def _validation(*, unless: str, message: str, fallback: str, reason: str = "Invalid") -> Manifest:
    """Speaks where `unless` is false. The server says `fallback` should the message itself fail."""
    return {"expression": unless, "messageExpression": message, "message": fallback, "reason": reason}


def _label_validations(*, kyverno_readings: bool) -> list[Manifest]:
    """At most one of them speaks about one value: the first refusal is all that a user is shown."""
    understood = "variables.understood"
    if kyverno_readings:
        understood += f" || {matches(_VALUE, KYVERNO)}"
    due = "string(timestamp(variables.due))"
    past = "variables.due < variables.now || (variables.isTime && variables.due == variables.now)"
    from_now = label_time("variables.now + variables.seconds")
    gone = literal("that time is over, so the object goes at once; to keep it for a while write a later time")
    over = (
        f"'it counts from ' + string(timestamp(variables.since)) + ' and was over at ' + {due} + ', "
        f"so the object goes at once; to let it go ' + {_VALUE} + ' from now write ' + {from_now}"
    )
    length = "(variables.isTime ? variables.due - variables.now : variables.seconds)"
    short = f"({length} == 0 ? 'the object goes at once' : 'the object goes within a minute')"
    return [
        _validation(
            unless=understood,
            message=_told("ttl-invalid", what="variables.what", instead="variables.instead"),
            fallback=f"{names.TTL_LABEL} is not understood and deletes nothing: {WHAT_TO_WRITE}",
        ),
        _validation(
            unless=f"!variables.understood || !({past})",
            message=_told("ttl-short", what=f"variables.isTime ? {gone} : {over}"),
            fallback=f"{names.TTL_LABEL} names a time that is over: the object goes at once",
        ),
        _validation(
            unless=f"!variables.understood || {past} || {length} >= 60",
            message=_told("ttl-short", what=f"{short} + '; the shortest time meant for this label is 1m'"),
            fallback=f"{names.TTL_LABEL} is shorter than a minute",
        ),
    ]


def _told(code: str, **facts: str) -> str:
    """A reason in the words in which the engine tells it."""
    return sentence(REASONS[code].text, key=_KEY, value=_VALUE, **facts)


def _limits(settings: TtlSettings) -> dict[str, str]:
    given = {"minimum": settings.minimum, "maximum": settings.maximum, "notAfter": settings.not_after}
    limits = {key: text for key, text in given.items() if text is not None}
    last = limits.get("notAfter")
    if last is not None and not re.fullmatch(TIME, last.replace(":", "")):
        raise UsageError(
            f"ttl.notAfter: {last!r} is no date", advice="write one such as 2026-12-31 or 2026-12-31T180000Z"
        )
    return limits


def _config_map(limits: dict[str, str], *, namespace: str) -> Manifest:
    about = {
        f"{names.SKOUPA_GROUP}/about": (
            "Limits of the label cleanup.kyverno.io/ttl: minimum and maximum (durations), notAfter (a date). "
            "A change counts at once; a key that is left out sets no limit."
        )
    }
    metadata = {
        "name": LIMITS_CONFIG_MAP,
        "namespace": namespace,
        "labels": dict(_PART_OF),
        "annotations": about,
    }
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": limits}


def _limit_variables() -> list[Variable]:
    """-1 stands for a limit that is not set, -2 for one that is not understood."""

    def text(key: str) -> str:
        return f"params.?data[?'{key}'].orValue('')"

    def limit(name: str, *, valid: str, number: str) -> Variable:
        return variable(name, f"variables.{name}Text == '' ? -1 : ({valid} ? {number} : -2)")

    last = "variables.notAfterText"
    variables = []
    for name in ("minimum", "maximum"):
        said = f"variables.{name}Text"
        variables.append(variable(f"{name}Text", text(name)))
        variables.append(limit(name, valid=_short(is_duration(said), said), number=seconds(said)))
    variables.append(variable("notAfterText", f"{text('notAfter')}.replace(':', '')"))
    # A bare date allows all of that day.
    whole_day = f"(size({last}) == 10 ? {_DAY - 1} : 0)"
    variables.append(
        limit("notAfter", valid=_short(matches(last, TIME), last), number=f"{epoch(last)} + {whole_day}")
    )
    lifetime = "variables.isTime ? variables.due - variables.created : variables.seconds"
    return [*variables, variable("lifetime", lifetime)]


def _short(condition: str, text: str) -> str:
    """Matching a text as long as a ConfigMap may hold would cost more than a request may."""
    return f"(size({text}) <= {len('2026-12-31T180000Z') * 4} && {condition})"


def _limit_validations(*, namespace: str, kyverno_readings: bool) -> list[Manifest]:
    where = f"ConfigMap {namespace}/{LIMITS_CONFIG_MAP}"
    validations = [
        _unreadable(name, where=where, instead=instead)
        for name, instead in (
            ("minimum", "a duration such as 1h"),
            ("maximum", "a duration such as 90d"),
            ("notAfter", "a date such as 2026-12-31"),
        )
    ]
    if kyverno_readings:
        unlimited = "variables.minimum < 0 && variables.maximum < 0 && variables.notAfter < 0"
        unless = f"variables.understood || !{matches(_VALUE, KYVERNO)} || ({unlimited})"
        text = f"{{key}}={{value}} can't be held against the limits ({where}): {WHAT_TO_WRITE}"
        validations.append(
            _validation(
                unless=unless,
                message=sentence(text, key=_KEY, value=_VALUE),
                fallback=f"{names.TTL_LABEL} can't be held against the limits",
            )
        )
    for name, unless, verdict in (
        ("minimum", "variables.lifetime >= variables.minimum", "is shorter than {limit}, the shortest time"),
        ("maximum", "variables.lifetime <= variables.maximum", "is longer than {limit}, the longest time"),
        (
            "notAfter",
            "variables.due <= variables.notAfter",
            "ends at {due}, and {limit} is the last day or time",
        ),
    ):
        text = f"{{key}}={{value}} {verdict} that is allowed here ({where}, {name})"
        facts = {"key": _KEY, "value": _VALUE, "limit": f"variables.{name}Text"}
        message = sentence(text, **facts, due="string(timestamp(variables.due))")
        fallback = f"{names.TTL_LABEL} is outside the limits of the {where}, {name}"
        unset = f"!variables.understood || variables.{name} < 0"
        validations.append(_validation(unless=f"{unset} || {unless}", message=message, fallback=fallback))
    return validations


def _unreadable(name: str, *, where: str, instead: str) -> Manifest:
    """A misspelt limit refuses every label: it must not silently be no limit."""
    told = (
        f"the {where} says {name}={{limit}}, which is not understood: an administrator has to write {instead}"
    )
    limit = f"variables.{name}Text"
    return _validation(
        unless=f"variables.{name} > -2",
        # The text may be as long as a ConfigMap, and a message has its limit.
        message=sentence(told, limit=f"size({limit}) <= 80 ? {limit} : {limit}.substring(0, 80)"),
        fallback=f"the {where} has a limit that is not understood: {name}",
    )


def _delete_right_validation() -> Manifest:
    """A Namespace lies within itself to an authorizer."""
    resource = "request.resource.resource"
    group = "request.resource.group"
    namespace = (
        f"({group} == '' && {resource} == 'namespaces' ? variables.name : request.?namespace.orValue(''))"
    )
    check = f"authorizer.group({group}).resource({resource}).namespace({namespace}).name(variables.name)"
    told = (
        "{user} may not delete {resource} {name} and so may not set {key} on it: "
        "leave the label out, or ask for the right to delete"
    )
    facts = {
        "resource": resource,
        "name": "variables.name",
        "key": _KEY,
        "user": "request.userInfo.?username.orValue('')",
    }
    return _validation(
        unless=f"{check}.check('delete').allowed()",
        message=sentence(told, **facts),
        fallback=f"who sets {names.TTL_LABEL} must be allowed to delete the object",
        reason="Forbidden",
    )
