"""What may be written on Alive: a finalizer is its participant's, an entry is whose it names, and a deletion only gets more careful.

Who holds `signal` may write the entries of others, and confirm; nobody but a participant itself, or Skoupa where it was told to force,
takes a finalizer off. Lists are compared place by place, with the shift that one removal makes: an expression may cost only so much, and a
thousand participants that join one by one cost less than two that are compared with all others. Many changed at once are refused, and so
is a list with more places than are compared: what lies behind them could go without anybody seeing it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from skoupa import names
from skoupa.admission.cel import literal, sentence
from skoupa.admission.policies import Manifest, Writes, policy
from skoupa.admission.readings import Variable, seconds, variable
from skoupa.kinds.alive import MOST_PARTICIPANTS
from skoupa.kinds.definition import Definition

# Those of Kubernetes itself, and who handles them: with accounts of their own for controllers, or with one for all.
_OF_KUBERNETES: Final = (names.FOREGROUND_FINALIZER, names.ORPHAN_FINALIZER)
_COLLECTORS: Final = (
    "system:kube-controller-manager",
    "system:serviceaccount:kube-system:generic-garbage-collector",
)
_CONFIRMATION: Final = f"metadata.?annotations[?{literal(names.CONFIRM_DELETION_ANNOTATION)}].orValue('')"
_OWN: Final = literal(names.ALIVE_FINALIZER)
# One for each participant, Skoupa's own, and those of Kubernetes; the list of finalizers itself has no limit to the server.
_MOST_FINALIZERS: Final = MOST_PARTICIPANTS + 1 + len(_OF_KUBERNETES)
_USER: Final = "variables.user"
_GOING: Final = "variables.going"
_ONLY_MORE_CAREFUL: Final = "the deletion has begun, and from then on it can only be made more careful"


def changes(name: str, definition: Definition, *, home: str, namespace: str) -> Iterator[Manifest]:
    force = f"system:serviceaccount:{home}:{names.COMPONENT}"
    writes = Writes(
        name="written",
        condition="request.operation in ['CREATE', 'UPDATE']",
        resources=(definition.plural,),
        groups=(definition.group,),
    )
    return policy(
        name,
        writes=writes,
        variables=[*_known(definition, namespace, force), *_lists()],
        validations=[*_confirming(definition), *_belonging(definition, force), *_caring()],
        denies=True,
    )


def may_signal(definition: Definition, namespace: str) -> Variable:
    where = f".namespace({literal(namespace)})" if namespace else ""
    asked = f"authorizer.group({literal(definition.group)}).resource({literal(definition.plural)}){where}"
    return variable(
        "maySignal",
        f"{asked}.name({literal(names.ALIVE_NAME)}).check({literal(names.SIGNAL_VERB)}).allowed()",
    )


def _known(definition: Definition, namespace: str, force: str) -> Iterator[Variable]:
    yield variable("user", "request.userInfo.?username.orValue('')")
    yield may_signal(definition, namespace)
    yield variable("going", "oldObject != null && has(oldObject.metadata.deletionTimestamp)")
    yield variable("skoupa", f"{_USER} == {literal(force)}")
    yield variable(
        "forces",
        f"variables.skoupa && {_GOING} && oldObject.spec.?onTimeout.orValue('Fail') == 'ForceFinalizers'",
    )
    yield variable("confirms", f"object.{_CONFIRMATION}")
    yield variable("confirmed", f"oldObject == null ? '' : oldObject.{_CONFIRMATION}")


def _lists() -> Iterator[Variable]:
    yield variable("places", f"[{', '.join(map(str, range(_MOST_FINALIZERS)))}]")
    for name, path in (("finalizers", "metadata.?finalizers"), ("entries", "?spec.?participants")):
        now, was = f"variables.{name}Now", f"variables.{name}Was"
        yield variable(f"{name}Now", f"object.{path}.orValue([])")
        yield variable(f"{name}Was", f"oldObject == null ? [] : oldObject.{path}.orValue([])")
        yield variable(f"{name}Others", f"{now} == {was} ? [] : {_others(now, was)}")
        yield variable(f"{name}Gone", f"{now} == {was} ? [] : {_others(was, now)}")
    yield variable("added", "variables.finalizersOthers.filter(f, !(f in variables.finalizersWas))")
    yield variable("removed", "variables.finalizersGone.filter(f, !(f in variables.finalizersNow))")
    yield variable("written", "variables.entriesOthers.filter(e, !(e in variables.entriesWas))")
    yield variable(
        "leaving",
        "variables.entriesGone.filter(e, !variables.entriesNow.exists(n, n.finalizer == e.finalizer))",
    )
    yield variable(
        "taken",
        f"variables.written.filter(e, e.identity != {_USER} || (e.finalizer in variables.finalizersWas && "
        f"!variables.entriesWas.exists(w, w.finalizer == e.finalizer)) || "
        f"variables.entriesWas.exists(w, w.finalizer == e.finalizer && w.identity != {_USER}))",
    )
    yield variable("foreign", f"variables.removed.filter(f, !({_may_remove()}))")
    # Without the right to signal, which would cost more than a message may.
    theirs = f"variables.entriesNow.exists(e, e.finalizer == f && e.identity == {_USER})"
    yield variable("nobodys", f"variables.added.filter(f, f != {_OWN} && !{theirs})")


def _others(now: str, was: str) -> str:
    """Those of `now` that are neither at their place in `was` nor where one shorter or longer list has them."""
    shift = f"(size({was}) - size({now}))"
    here = f"(i < size({was}) && {now}[i] == {was}[i])"
    shifted = f"(i + {shift} >= 0 && {now}[i] == {was}[i + {shift}])"
    return f"variables.places.filter(i, i < size({now}) && !{here} && !{shifted}).map(i, {now}[i])"


def _may_remove() -> str:
    kubernetes = f"(f in {_texts(_OF_KUBERNETES)} && {_USER} in {_texts(_COLLECTORS)})"
    theirs = f"variables.entriesWas.exists(e, e.finalizer == f && e.identity == {_USER})"
    return f"f == {_OWN} || variables.forces || {kubernetes} || {theirs}"


def _texts(texts: tuple[str, ...]) -> str:
    return f"[{', '.join(map(literal, texts))}]"


def _confirming(definition: Definition) -> Iterator[Manifest]:
    news = "variables.confirms == '' || variables.confirms == variables.confirmed"
    uid = "oldObject == null ? 'that it will have' : oldObject.metadata.uid"
    yield {
        "expression": f"{news} || (oldObject != null && variables.confirms == oldObject.metadata.uid)",
        "messageExpression": sentence(
            f"{names.CONFIRM_DELETION_ANNOTATION}={{value}} confirms another Alive: write its own uid, {{uid}}, or leave it out",
            value="variables.confirms",
            uid=uid,
        ),
        "message": f"{names.CONFIRM_DELETION_ANNOTATION} confirms another Alive: write its own uid, or leave it out",
        "reason": "Invalid",
    }
    yield _said(
        f"{news} || variables.maySignal",
        f"{{user}} may not confirm that this cluster is about to die: ask for the verb {names.SIGNAL_VERB} on {definition.name}",
        "who confirms the deletion needs a right of its own",
        user=_USER,
    )


def _belonging(definition: Definition, force: str) -> Iterator[Manifest]:
    yield _said(
        " && ".join(f"size(variables.finalizers{when}) <= {_MOST_FINALIZERS}" for when in ("Now", "Was")),
        f"Alive takes {_MOST_FINALIZERS} finalizers and no more, and {{count}} are too many: nobody could tell which of them are missing",
        f"Alive takes {_MOST_FINALIZERS} finalizers and no more: nobody could tell which of them are missing",
        count="string(size(variables.finalizersNow))",
    )
    yield _said(
        f"!({_OWN} in variables.removed) || variables.skoupa || variables.maySignal",
        f"{{user}} may not remove the finalizer {names.ALIVE_FINALIZER}: {force} does when everybody is done, or who has the verb "
        f"{names.SIGNAL_VERB} on {definition.name}",
        f"the finalizer {names.ALIVE_FINALIZER} is removed by Skoupa when everybody is done, or by who has the verb {names.SIGNAL_VERB} on "
        f"{definition.name}",
        user=_USER,
    )
    yield _said(
        "size(variables.foreign) == 0",
        "{user} may not remove the finalizer {finalizer}: only the identity that its entry in spec.participants names may, and "
        f"{force} once the deletion was asked for and where spec.onTimeout is ForceFinalizers",
        "a finalizer is removed by the identity that its entry in spec.participants names, and by nobody else",
        user=_USER,
        finalizer="size(variables.foreign) == 0 ? '' : variables.foreign[0]",
    )
    yield _said(
        "size(variables.nobodys) == 0 || (variables.maySignal && "
        "variables.nobodys.all(f, variables.entriesNow.exists(e, e.finalizer == f)))",
        "the finalizer {finalizer} has no entry in spec.participants with the identity {user}, so nobody could remove it: write the "
        "entry along with it",
        "a finalizer needs an entry in spec.participants with the identity of who joins: write the entry along with it",
        user=_USER,
        finalizer="size(variables.nobodys) == 0 ? '' : variables.nobodys[0]",
    )
    yield _said(
        "size(variables.taken) == 0 || variables.maySignal",
        "{user} may not write the entry of {finalizer}: an entry is written by the identity that it names, before or along with its "
        f"finalizer, or by who has the verb {names.SIGNAL_VERB} on {definition.name}",
        "an entry in spec.participants is written by the identity that it names, before or along with its finalizer",
        user=_USER,
        finalizer="size(variables.taken) == 0 ? '' : variables.taken[0].finalizer",
    )
    yield _said(
        f"variables.written.all(e, e.finalizer != {_OWN})",
        f"{names.ALIVE_FINALIZER} is Skoupa's own finalizer and has no entry: choose another name",
        f"{names.ALIVE_FINALIZER} is Skoupa's own finalizer and has no entry: choose another name",
    )
    yield _said(
        f"variables.leaving.all(e, e.identity == {_USER} || variables.maySignal)",
        "{user} may not remove an entry of others from spec.participants",
        "an entry in spec.participants is removed by the identity that it names",
        user=_USER,
    )
    yield _said(
        "variables.leaving.all(e, !(e.finalizer in variables.finalizersNow))",
        "an entry goes together with its finalizer: without the entry nobody could remove that any more",
        "an entry goes together with its finalizer: without the entry nobody could remove that any more",
    )


def _caring() -> Iterator[Manifest]:
    def rank(which: str, field: str, order: tuple[str, ...]) -> str:
        return f"{_texts(order)}.indexOf({which}.spec.?{field}.orValue('Fail'))"

    def spec(which: str, field: str) -> str:
        return f"{which}.spec.?{field}"

    def length(which: str, field: str) -> str:
        return f"({spec(which, field)}.hasValue() ? {seconds(f'{which}.spec.{field}')} : 0)"

    new, old = "object", "oldObject"
    timeouts = ("ForceFinalizers", "Proceed", "Fail")
    reaches = ("Proceed", "Fail")
    policy_of = "{}.?spec.?deletionPolicy.orValue('Signal')".format
    careful = {
        "deletionPolicy can't change, since everybody has been told": f"{policy_of(new)} == {policy_of(old)}",
        "timeout can only become longer": f"{length(new, 'timeout')} >= {length(old, 'timeout')}",
        "progressTimeout can only become longer, or be left out": (
            f"!{spec(new, 'progressTimeout')}.hasValue() || ({spec(old, 'progressTimeout')}.hasValue() && "
            f"{length(new, 'progressTimeout')} >= {length(old, 'progressTimeout')})"
        ),
        "onTimeout can only go from ForceFinalizers to Proceed, and to Fail": (
            f"{rank(new, 'onTimeout', timeouts)} >= {rank(old, 'onTimeout', timeouts)}"
        ),
        "forceAfter can only become longer": (
            f"{spec(new, 'onTimeout')}.orValue('Fail') != 'ForceFinalizers' || "
            f"{length(new, 'forceAfter')} >= {length(old, 'forceAfter')}"
        ),
        "onUnreachable can only become Fail": (
            f"{rank(new, 'onUnreachable', reaches)} >= {rank(old, 'onUnreachable', reaches)}"
        ),
        "blockCreation can only be switched on": (
            f"{spec(new, 'blockCreation')}.orValue(false) || !{spec(old, 'blockCreation')}.orValue(false)"
        ),
        "preserve can only become more": (
            f"{spec(old, 'preserve')}.orValue([]).all(p, p in {spec(new, 'preserve')}.orValue([]))"
        ),
        "nobody can join or change an entry any more": "size(variables.written) == 0",
    }
    for told, expression in careful.items():
        yield _said(
            f"!{_GOING} || ({expression})", f"{_ONLY_MORE_CAREFUL}: {told}", f"{_ONLY_MORE_CAREFUL}: {told}"
        )


def _said(expression: str, told: str, fallback: str, **facts: str) -> Manifest:
    return {
        "expression": expression,
        "messageExpression": sentence(told, **facts),
        "message": fallback,
        "reason": "Forbidden",
    }
