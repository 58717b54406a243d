"""What policies have chosen, and the rows of it: the two change together, and whoever plans hears of it.

A choice stands until its policy runs again, changes or goes, or until the object is gone. It is about one state of an object: one
that changed is handed to who looks anew, and claims nothing until then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from skoupa.facts.rows import Row, Uid, pack_uid
from skoupa.facts.store import Delta, Store
from skoupa.judge.cascade import is_namespace
from skoupa.judge.policies import Chosen, PolicyMechanism
from skoupa.model.verdicts import Claim, Question
from skoupa.runs.evaluation import Found
from skoupa.runs.showing import Showing


class Choices:
    """`learn` plans what changed in the store; `on_outdated` hears which rule has to look at an object anew.

    `on_doubt` hears the same where a look that is under way began too early. `on_leaving` hears of those that are being deleted.
    """

    def __init__(
        self,
        mechanism: PolicyMechanism,
        *,
        store: Store,
        showing: Showing,
        learn: Callable[[Sequence[Delta]], None],
        on_outdated: Callable[[str, Uid], None],
        on_doubt: Callable[[str, Uid], None],
        on_leaving: Callable[[Uid], None],
    ) -> None:
        self.mechanism = mechanism
        self.showing = showing
        self._store = store
        self._learn = learn
        self._on_outdated = on_outdated
        self._on_doubt = on_doubt
        self._on_leaving = on_leaving

    def put(self, chosen: Chosen, rows: Sequence[Row], *, doubted: Iterable[Uid] = ()) -> None:
        """What a run chose, in the place of what the run before did; those that are `doubted` are asked about before they go."""
        left, rule = self.mechanism.put(chosen), chosen.run.rule
        for uid in doubted:
            self.mechanism.distrust(rule, uid)
            self._on_doubt(rule, uid)
        self._tell([*self.showing.show(rows), *self.showing.hide(left)])
        for row in rows:
            # A feed may know a newer state.
            self._heed(self._store.get(row.uid) or row)

    def rows(self, rule: str, claimed: Iterable[Found]) -> list[Row]:
        """Of what a run found; what somebody else deletes already is not ours to follow."""
        return [
            self.showing.row(found.resource, found.metadata)
            for found in claimed
            if found.metadata.deletion_timestamp is None
            or rule in self.mechanism.rules_of(pack_uid(found.metadata.uid))
        ]

    def drop(self, rule: str) -> None:
        """The policy is gone, or is not what it was."""
        self._tell(self.showing.hide(self.mechanism.drop(rule)))

    def leave(self, uid: Uid, rules: Iterable[str]) -> None:
        """These policies do not mean it any more."""
        if not self.mechanism.leave(uid, rules):
            self._tell(self.showing.hide((uid,)))

    def gone(self, uid: Uid) -> None:
        rules = self.mechanism.rules_of(uid)
        if rules:
            self.leave(uid, rules)

    def failed(self, row: Row, claim: Claim) -> None:  # noqa: ARG002 - whoever claimed it
        """It is tried again some time later, and much may be different by then."""
        for rule in self.mechanism.rules_of(row.uid):
            self.mechanism.distrust(rule, row.uid)

    def heed(self, row: Row, questions: Iterable[Question]) -> None:
        """A judgement of it needs an answer of these rules."""
        for question in questions:
            if question.now:
                self._on_outdated(question.rule, row.uid)
            else:
                self.mechanism.distrust(question.rule, row.uid)

    def show(self, rows: Iterable[Row]) -> None:
        """A newer state of what is chosen."""
        self._tell(self.showing.show(rows))

    def learn(self, deltas: Iterable[Delta]) -> None:
        """What changed in the store by whomever."""
        if not len(self.mechanism):
            return
        for delta in deltas:
            row = delta.after or delta.before
            if row is not None and is_namespace(row) and _other_labels(delta):
                self._outdate_all_in(row.name)
            if row is None or not self.mechanism.rules_of(row.uid):
                continue
            if delta.after is None:
                self.mechanism.leave(row.uid, self.mechanism.rules_of(row.uid))
            else:
                self._heed(delta.after)

    def _outdate_all_in(self, namespace: str) -> None:
        """What its Namespace is like may be why it was chosen."""
        for row in list(self._store.in_namespace(namespace)):
            for rule in self.mechanism.rules_of(row.uid):
                self.mechanism.distrust(rule, row.uid)
                self._on_doubt(rule, row.uid)

    def doubt(self, rule: str) -> None:
        """Whatever it chose has to be asked about again before it goes."""
        for uid in self.mechanism.doubt(rule):
            self._on_doubt(rule, uid)

    def _heed(self, row: Row) -> None:
        if row.deleted_at:
            self._on_leaving(row.uid)
            return
        for rule in self.mechanism.outdated(row):
            self._on_outdated(rule, row.uid)

    def _tell(self, deltas: list[Delta]) -> None:
        if deltas:
            self._learn(deltas)


def _other_labels(delta: Delta) -> bool:
    return delta.before is not None and delta.after is not None and delta.before.labels != delta.after.labels
