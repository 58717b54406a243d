"""Policies for the API server for `policies.requireDeleteRight`: who writes a policy must be allowed to delete what it means.

They hold while no Skoupa runs. An expression knows the built-in kinds by name and nothing else: whatever is no such kind
(wildcards, custom kinds of a CleanupPolicy, more kinds than may be asked about in one request) asks for delete on every kind,
of its group where that is written; so does a retention policy that names no kinds. Asked are those who create a policy, change its
spec, or take off what restrains it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from skoupa import names
from skoupa.admission.built_in import plurals
from skoupa.admission.cel import literal, matches, sentence
from skoupa.admission.policies import Manifest, Writes, policy
from skoupa.admission.readings import Variable, variable

CLEANUP_RIGHT: Final = "skoupa-cleanuppolicy-delete-right"
DELETING_RIGHT: Final = "skoupa-deletingpolicy-delete-right"
RETENTION_RIGHT: Final = "skoupa-retentionpolicy-delete-right"

# A request may cost what 28 questions to an authorizer cost.
MOST_KINDS: Final = 20
# Those that are written, some perhaps twice; each is compared with all others.
_MOST_WRITTEN: Final = 100

RESTRAINTS: Final = (
    names.SUSPEND_ANNOTATION,
    names.OBSERVE_ANNOTATION,
    names.SERVICE_ACCOUNT_ANNOTATION,
    names.MAX_DELETIONS_ANNOTATION,
)
_DOES_MORE: Final = "does-more"
_EVERY: Final = "*/*"
_WRITTEN: Final = "variables.written"
_VERSION: Final = "v[0-9]+(?:(?:alpha|beta)[0-9]+)?"
_WITH_GROUP: Final = f"[a-z0-9.-]*/(?:{_VERSION}|[*])[/.][A-Za-z0-9*?]+"
_WHERE: Final = "(variables.here == '' ? ' in all namespaces' : ' in ' + variables.here)"


def delete_right(*, denies: bool) -> Iterator[Manifest]:
    """Policies and bindings; where they do not deny they only warn."""
    cleanup = Writes(
        name=_DOES_MORE,
        condition=_does_more(),
        resources=("cleanuppolicies", "clustercleanuppolicies"),
        groups=(names.KYVERNO_GROUP,),
    )
    deleting = Writes(
        name=_DOES_MORE,
        condition=_does_more(),
        resources=("deletingpolicies", "namespaceddeletingpolicies"),
        groups=(names.KYVERNO_POLICIES_GROUP,),
    )
    yield from _asking(CLEANUP_RIGHT, cleanup, _of_cleanup(), denies=denies)
    yield from _asking(DELETING_RIGHT, deleting, _of_deleting(), denies=denies)


def retention_right(*, denies: bool) -> Iterator[Manifest]:
    """The same for retention policies. One whose spec suspends it lets nothing go, so it may be written, and made so, by anybody."""
    awake = "!object.spec.?suspend.orValue(false)"
    writes = Writes(
        name=_DOES_MORE,
        condition=f"{awake} && ({_does_more()})",
        resources=("retentionpolicies", "clusterretentionpolicies"),
        groups=(names.SKOUPA_GROUP,),
    )
    yield from _asking(RETENTION_RIGHT, writes, _of_retention(), denies=denies)


def _asking(name: str, writes: Writes, written: list[Variable], *, denies: bool) -> Iterator[Manifest]:
    return policy(
        name,
        writes=writes,
        variables=[variable("here", "request.?namespace.orValue('')"), *written, *_questions()],
        validations=list(_validations()),
        denies=denies,
        by_settings=True,
    )


def _does_more() -> str:
    """Whoever may write a policy may stop it."""
    changed = []
    for key in RESTRAINTS:
        before, now = (f"{one}.metadata.?annotations[?{literal(key)}]" for one in ("oldObject", "object"))
        changed.append(f"({before}.hasValue() && {before} != {now})")
    suspended = f"object.metadata.?annotations[?{literal(names.SUSPEND_ANNOTATION)}].orValue('') == 'true'"
    loosened = f"(!({suspended}) && ({' || '.join(changed)}))"
    return f"oldObject == null || object.spec != oldObject.spec || {loosened}"


def _of_cleanup() -> list[Variable]:
    """`written`: what is asked about, as GROUP/PLURAL."""
    filters = " + ".join(f"object.spec.?match.?{mode}.orValue([])" for mode in ("any", "all"))
    known = ", ".join(f"{literal(written)}: {literal(found)}" for written, found in plurals())
    last = "k.substring([k.lastIndexOf('/'), k.lastIndexOf('.')].max() + 1)"
    group = "k.substring(0, k.indexOf('/'))"
    grouped = f"variables.known[?({group} + '/' + {last})].orValue({group} + '/*')"
    # `v1.Job` is as good as `v1/Job`.
    plain = f"variables.known[?k.replace('.', '/')].orValue({literal(_EVERY)})"
    kinds = f"({filters}).map(f, f.?resources.?kinds.orValue([]).join(' ')).join(' ')"
    return [
        variable("known", f"{{{known}}}"),
        variable("kinds", f"{kinds}.split(' ').filter(k, k != '')"),
        variable("few", f"size(variables.kinds) <= {_MOST_WRITTEN} ? variables.kinds : ['*']"),
        variable("written", f"variables.few.map(k, {matches('k', _WITH_GROUP)} ? {grouped} : {plain})"),
    ]


def _of_retention() -> list[Variable]:
    """As of a CleanupPolicy; where a filter names no kinds, which would be none there, all are meant."""
    unnamed = "size(f.?resources.?kinds.orValue([])) == 0"
    of_any, of_all = (f"object.spec.?match.?{mode}.orValue([])" for mode in ("any", "all"))
    everything = f"size({of_any}) == 0 ? {of_all}.all(f, {unnamed}) : {of_any}.exists(f, {unnamed})"
    *before, written = _of_cleanup()
    found = f"variables.everything ? [{literal(_EVERY)}] : {written['expression']}"
    return [*before, variable("everything", everything), variable("written", found)]


def _of_deleting() -> list[Variable]:
    rules = "object.spec.?matchConstraints.?resourceRules.orValue([])"
    plural = "r.?resources.orValue([]).map(p, g + '/' + p.split('/')[0])"
    kinds = f"r.?apiGroups.orValue([]).map(g, {plural}.join(' ')).join(' ')"
    return [
        variable("kinds", f"{rules}.map(r, {kinds}).join(' ').split(' ').filter(k, k != '')"),
        variable(
            "written",
            f"size(variables.kinds) <= {_MOST_WRITTEN} ? variables.kinds : [{literal(_EVERY)}]",
        ),
    ]


def _questions() -> list[Variable]:
    """`asked`: each once, and where they are too many, everything."""
    places = f"[{', '.join(map(str, range(_MOST_WRITTEN)))}]"
    first = f"i < size({_WRITTEN}) && {_WRITTEN}.indexOf({_WRITTEN}[i]) == i"
    return [
        variable("each", f"{places}.filter(i, {first}).map(i, {_WRITTEN}[i])"),
        variable("asked", f"size(variables.each) <= {MOST_KINDS} ? variables.each : [{literal(_EVERY)}]"),
        variable("mayAll", _may(literal("*"), literal("*"))),
    ]


def _may(group: str, plural: str) -> str:
    return f"authorizer.group({group}).resource({plural}).namespace(variables.here).check('delete').allowed()"


def _validations() -> Iterator[Manifest]:
    """One for each place in the list: a single expression may ask no more than twice."""
    for index in range(MOST_KINDS):
        one = f"variables.asked[{index}]"
        group, plural = f"{one}.split('/')[0]", f"{one}.split('/')[1]"
        beyond = f"size(variables.asked) <= {index}"
        named = f"{plural} + ({group} == '' ? '' : '.' + {group})"
        every = (
            f"'every kind' + ({group} == '*' ? '' : ' of ' + ({group} == '' ? 'the core group' : {group}))"
        )
        why = literal(" (asked for wildcards, custom kinds by their Kind, and many kinds at once)")
        told = sentence(
            "{user} may not delete {what}{where}, and this policy would for them: ask for that right, or let somebody "
            "write it who has it",
            user="request.userInfo.?username.orValue('')",
            what=f"{plural} == '*' ? {every} + {why} : {named}",
            where=_WHERE,
        )
        yield {
            "expression": f"{beyond} || variables.mayAll || {_may(group, plural)}",
            "messageExpression": f"{beyond} ? '' : ({told})",
            "message": "who writes a policy must be allowed to delete what it means",
            "reason": "Forbidden",
        }
