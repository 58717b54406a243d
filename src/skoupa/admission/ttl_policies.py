"""The ValidatingAdmissionPolicies for the TTL label: the API server checks it, and nothing of ours can be down.

`skoupa-ttl-label` speaks about values that will not do what their writer wants: it warns, and with `ttl.refuse` it
denies. `skoupa-label-as-annotation`, `skoupa-keep-label` and `skoupa-refreshed-at` warn. `skoupa-ttl-limits`,
`skoupa-ttl-delete-right` and `skoupa-ttl-after-delete-right` deny, and are there only where a setting asks for them. By default
nothing here could refuse a write.
"""

from __future__ import annotations

from typing import Final

from skoupa import names
from skoupa.admission.advice import WHAT_TO_WRITE, advising
from skoupa.admission.cel import literal, matches, sentence
from skoupa.admission.delete_right import delete_right_policy, ttl_after_right_policy
from skoupa.admission.grammar import KYVERNO, RFC3339
from skoupa.admission.keeping import keep_policy
from skoupa.admission.limits import config_map, limit_validations, limit_variables, limits_of
from skoupa.admission.misplaced import misplaced_policy
from skoupa.admission.own import OWN
from skoupa.admission.policies import Manifest, policy, validation
from skoupa.admission.readings import LONGEST, label_time, reading, variable
from skoupa.admission.refreshing import refresh_policy
from skoupa.judge.protection import PROTECTED_NAMESPACES
from skoupa.model.reasons import REASONS
from skoupa.settings import TtlSettings

LABEL_POLICY: Final = "skoupa-ttl-label"
LIMITS_POLICY: Final = "skoupa-ttl-limits"

_VALUE: Final = "variables.value"
_KEY: Final = literal(names.TTL_LABEL)
_NAMESPACES: Final = f"[{', '.join(map(literal, sorted(PROTECTED_NAMESPACES)))}]"
# Nobody warns that something goes soon where it does not go at all.
_STAYS: Final = (
    f"object.metadata.?namespace.orValue('') in {_NAMESPACES}"
    f" || (object.apiVersion == 'v1' && object.kind == 'Namespace' && object.metadata.?name.orValue('') in {_NAMESPACES})"
    f" || object.metadata.?labels[?{literal(names.KEEP_LABEL)}].orValue('false') != 'false'"
)


def ttl_admission(
    settings: TtlSettings, *, namespace: str, kyverno_readings: bool = False, had_limits: bool = False
) -> list[Manifest]:
    """Everything to apply, in order. `namespace` is where the ConfigMap of the limits lives.

    `kyverno_readings` (the setting `compat.kyvernoTtl`) lets through what only Kyverno's reading understands; where a
    limit is set that is refused, because its length is not worked out here. `had_limits` says that the policy of the
    limits is in the cluster already: it then stays, with nothing in its ConfigMap, where no limit is set any more. An
    API server that lost the last binding with a ConfigMap does not read ConfigMaps anew for a later one until it is
    restarted (kubernetes/kubernetes#130887), so that limits could not be set a second time.
    """
    manifests = [
        *policy(
            LABEL_POLICY,
            variables=[variable("own", OWN), *reading(), *advising()],
            validations=_label_validations(kyverno_readings=kyverno_readings),
            denies=settings.refuse,
            by_settings=True,
        ),
        *misplaced_policy(),
        *keep_policy(),
        *refresh_policy(),
    ]
    set_limits = limits_of(settings)
    if set_limits or had_limits:
        manifests += limits_admission(set_limits, namespace=namespace, kyverno_readings=kyverno_readings)
    if settings.require_delete_right:
        manifests += [*delete_right_policy(), *ttl_after_right_policy()]
    return manifests


def limits_admission(limits: dict[str, str], *, namespace: str, kyverno_readings: bool) -> list[Manifest]:
    parameters = config_map(limits, namespace=namespace)
    return [
        parameters,
        *policy(
            LIMITS_POLICY,
            variables=[*reading(), *limit_variables()],
            validations=limit_validations(namespace=namespace, kyverno_readings=kyverno_readings),
            denies=True,
            parameters=parameters["metadata"],
        ),
    ]


def _label_validations(*, kyverno_readings: bool) -> list[Manifest]:
    """At most one of them speaks about one value: the first refusal is all that a user is shown."""
    own = "variables.own != ''"
    taken = f"{own} || variables.understood"
    if kyverno_readings:
        taken += f" || {matches(_VALUE, KYVERNO)}"
    due = "string(timestamp(variables.due))"
    past = "variables.due < variables.now || (variables.isTime && variables.due == variables.now)"
    # What a refresh that is not understood holds does not go, and another policy speaks of that.
    refreshed = "variables.refreshed"
    is_time = f"size({refreshed}) <= {LONGEST} && {matches(refreshed, RFC3339)}"
    unclear = f"{refreshed} != '' && !variables.isTime && !({is_time})"
    silent = f"{own} || !variables.understood || ({unclear}) || {_STAYS}"
    from_now = label_time("variables.now + variables.seconds")
    gone = literal("that time is over, so the object goes at once; to keep it for a while write a later time")
    over = (
        f"'it counts from ' + string(timestamp(variables.since)) + ' and was over at ' + {due} + ', "
        f"so the object goes at once' + (variables.seconds == 0 ? '' : '; to let it go ' + {_VALUE} + ' from now write ' + {from_now})"
    )
    length = "(variables.isTime ? variables.due - variables.now : variables.seconds)"
    short = f"({length} == 0 ? 'the object goes at once' : 'the object goes within a minute')"
    return [
        validation(
            unless="variables.own == ''",
            message=_told("ttl-on-own", what="variables.own"),
            fallback=f"{names.TTL_LABEL} is ignored on Skoupa's own objects",
        ),
        validation(
            unless=taken,
            message=_told("ttl-invalid", what="variables.what", instead="variables.instead"),
            fallback=f"{names.TTL_LABEL} is not understood and deletes nothing: {WHAT_TO_WRITE}",
        ),
        validation(
            unless=f"{silent} || !({past})",
            message=_told("ttl-short", what=f"variables.isTime ? {gone} : {over}"),
            fallback=f"{names.TTL_LABEL} names a time that is over: the object goes at once",
        ),
        validation(
            unless=f"{silent} || {past} || {length} >= 60",
            message=_told("ttl-short", what=f"{short} + '; the shortest time meant for this label is 1m'"),
            fallback=f"{names.TTL_LABEL} is shorter than a minute",
        ),
    ]


def _told(code: str, **facts: str) -> str:
    """A reason in the words in which the engine tells it."""
    return sentence(REASONS[code].text, key=_KEY, value=_VALUE, **facts)
