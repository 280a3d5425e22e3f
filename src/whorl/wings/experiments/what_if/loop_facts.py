"""Folds the facts about loops from the journal of a run, with an observer of the machine.

It evaluates what all rules in question read in the live scope of each iteration, with the functions
that the engine itself uses.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from whorl.interpreter.constructs.loops import exploring
from whorl.interpreter.constructs.loops.loop_results import facts_of as loop_facts
from whorl.interpreter.constructs.loops.rules import compared_max, observe, similarity
from whorl.interpreter.evaluation import value_of
from whorl.interpreter.events import amount_in
from whorl.interpreter.frames import is_cut, is_outside
from whorl.interpreter.state import Observer
from whorl.ir import Block, Loop, Score, Stable
from whorl.ir.expressions import Names, inner_values
from whorl.language import LanguageError
from whorl.runtimes.journal.folding import Replay, as_far_as_open
from whorl.wings.experiments.trials import BY_EXPERIMENT
from whorl.wings.experiments.what_if.calls import CallLog
from whorl.wings.experiments.what_if.facts import (
    FAULT,
    HANDED_OVER,
    HIDDEN,
    USAGE,
    IterationFacts,
    LoopFacts,
    atom_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.interpreter.evaluation import FrameScope
    from whorl.interpreter.events import Event
    from whorl.interpreter.frames import Outcome, Values
    from whorl.interpreter.state import State
    from whorl.ir import Condition
    from whorl.ir.nodes import Fact
    from whorl.language import Json
    from whorl.runtimes.journal.journal import Journal, RunId
    from whorl.runtimes.journal.keys import Seals

# The facts about a loop that do not follow from its rule.
FREE = frozenset({"number", "index", "previous"})
# The rule of a loop is checked before an iteration: under this name is the scope that it sees.
_AHEAD = "ahead"
_PAUSES = frozenset({"run.paused", "run.resumed", "run.continued"})
_STEERED = {"run.continued": "continued", "run.accepted": "accepted", "run.forked": "forked"}


def facts_of(
    journal: Journal,
    run: RunId,
    atoms: dict[str, Condition],
    *,
    loop: str = "",
    names: dict[str, Fact] | None = None,
    keep_results: bool = False,
) -> list[LoopFacts]:
    """The facts of the loops of a run that has ended, or of those of one name or path.

    `names` are what other rules call the facts about the loop that they read.
    """

    def look(seals: Seals | None) -> _Facts:
        replay = Replay(journal, run, seals=seals)
        observer = _Facts(str(run), atoms, loop, names or {})
        observer.keeps_results = keep_results
        replay.folded.machine.observer = observer
        for entry in journal.read(run):
            observer.read(entry.event)
            replay.take(entry)
            replay.folded.forget_journaled()
        replay.finish()
        return observer

    return as_far_as_open(journal, look).ended()


class _Facts(Observer):
    """Gathers facts while a journal is folded."""

    keeps_results = False

    def __init__(
        self, run: str, atoms: dict[str, Condition], loop: str, names: dict[str, Fact]
    ) -> None:
        self._run, self._atoms, self._loop = run, atoms, loop
        self._names = names
        self._more: dict[str, Values] = {}
        self._loops: dict[str, LoopFacts] = {}
        self._log = CallLog()
        self._texts: dict[tuple[str, str], tuple[str | None, str | None]] = {}
        self._measured: dict[str, dict[str, Json]] = {}
        self._has_paused = False
        self._ends: dict[str, dict[str, Any]] = {}
        self._attempts: dict[tuple[str, int], int] = {}
        self._steered = ""

    def begun(self, machine: State, key: str) -> None:
        frame = machine.frames[key]
        if frame["kind"] == "block" and frame["parent"] is not None:
            self._begin_iteration(machine, frame["parent"])
        if frame["kind"] != "loop":
            return
        path = frame["node"].partition(":")[2]
        if self._loop and self._loop not in (path, frame["name"]):
            return
        self._loops[frame["address"]] = LoopFacts(self._run, frame["address"], path)
        judges: list[str] = []
        for judge in machine.plan.rules[frame["node"]].judges.values():
            atom = atom_of(judge)
            judges.append(f"{atom} again {len(judges)}" if atom in judges else atom)
        self._log.add_loop(frame["address"], machine.now, judges)

    def left(self, machine: State, key: str, outcome: Outcome) -> None:
        frame = machine.frames[key]
        if frame["kind"] == "loop" and "limits" in frame:
            self._look_before(machine, key)

    def _look_before(self, machine: State, key: str) -> None:
        """What a rule sees that is checked before the first iteration."""
        frame = machine.loop_frames[key]
        facts = self._loops.get(frame["address"])
        is_first = frame["count"] <= 1 and "last" not in frame and not frame.get("failures")
        if facts is None or facts.ahead is not None or not is_first:
            return
        if machine.loop(key).check == "before":
            facts.ahead = row = IterationFacts(0, "succeeded")
            row.atoms = self._ahead(machine, key, row)
            row.calls = self._log.of((frame["address"], 0))

    def _begin_iteration(self, machine: State, key: str) -> None:
        """An iteration begins: the facts about the loop that it does not have."""
        frame = machine.frames[key]
        if frame["kind"] != "loop" or frame["address"] not in self._loops:
            return
        self._look_before(machine, key)
        loop = machine.loop(key)
        more = tuple((n, fact) for n, fact in self._names.items() if fact in FREE)
        values = loop_facts(frame, replace(loop, facts=more), frame["count"])
        known = dict(loop.facts)
        self._more[frame["address"]] = {n: values[n] for n in values if n not in known}

    def _hidden(self, loop: Loop, condition: Condition) -> bool:
        """Whether a condition reads a fact about the loop that its iterations did not have."""
        known = dict(loop.facts)
        missing = {n for n, fact in self._names.items() if fact not in FREE and n not in known}
        alone = Loop(name="", body=Block(()), until=condition)
        return bool(missing) and bool(missing & Names().in_values(inner_values(alone)))

    def taking(self, machine: State, event: Event) -> None:
        body: dict[str, Any] = event.body
        if body.get("by") != BY_EXPERIMENT:
            self._steered = self._steered or _STEERED.get(event.kind, "")
        self._has_paused |= event.kind in _PAUSES
        if event.at > machine.now:
            self._log.wait(machine.state.get("queue", ()))
        self._log.take(event, is_no_call=_is_asked_again(machine, event))

    def closed(self, machine: State, key: str, note: Values) -> None:
        frame = machine.loop_frames[key]
        facts = self._loops.get(frame["address"])
        if facts is None or frame.get("before"):
            # What is put aside while its rule is checked ahead has ended before.
            return
        number, place = frame["count"], (frame["address"], frame["count"])
        row = IterationFacts(number, str(note["status"]), str(note.get("by") or ""))
        error: Any = note.get("error") or {}
        if exploring.has_ended(frame):
            # No rule has this budget or this bad luck: nobody knows what it would have given.
            row.status = "cut" if is_cut(error) else row.status
            row.status = "unanswered" if is_outside(error) else row.status
        # One that was put aside before its verdict would have been judged, too.
        row.is_judged = "met" in note or frame["phase"] == "judging"
        row.is_approved = bool(note.get("approved"))
        began = self._log.began[frame["address"]]
        row.began, row.ended = frame["iteration"]["at"] - began, machine.now - began
        row.score = frame.get("score") if row.status == "succeeded" else None
        row.attempts = self._attempts[place] = self._attempts.get(place, 0) + 1
        self._log.close(place, machine.now)
        row.calls = self._log.of(place)
        row.ended = min([row.ended, *(call.began for call in row.calls if call.judge)])
        row.has_overlap, row.has_waited = place in self._log.overlaps, place in self._log.waits
        if machine.loop(key).check != "after":
            row.atoms = self._ahead(machine, key, row)
        elif row.status == "succeeded":
            row.atoms = {atom: self._atom(machine, key, atom, row) for atom in self._atoms}
        if row.status == "succeeded" and self.keeps_results:
            facts.results[number] = frame["previous"]
        if facts.iterations and facts.iterations[-1].number == number:
            facts.iterations.pop()
        facts.iterations.append(row)

    def _ahead(self, machine: State, key: str, row: IterationFacts) -> dict[str, Json]:
        """What a rule reads that is checked ahead of the iteration after one.

        Scores and texts are those of the last iteration that went through.
        """
        address = machine.loop_frames[key]["address"]
        measuring = [a for a, c in self._atoms.items() if isinstance(c, Score | Stable)]
        kept = self._measured.setdefault(
            address, {a: -1.0 if isinstance(self._atoms[a], Stable) else None for a in measuring}
        )
        if row.number and row.status == "succeeded":
            kept |= {atom: self._atom(machine, key, atom, row) for atom in measuring}
        atoms: dict[str, Json] = dict(kept)
        try:
            with _scope_ahead(machine, key, row.number, self._names) as scope:
                for atom in self._atoms.keys() - kept.keys():
                    atoms[atom] = self._atom(machine, key, atom, row, scope)
        except LanguageError:
            atoms[HANDED_OVER] = FAULT
        return atoms

    def _atom(
        self,
        machine: State,
        key: str,
        atom: str,
        row: IterationFacts,
        ahead: FrameScope | None = None,
    ) -> Json:
        condition, address = self._atoms[atom], machine.loop_frames[key]["address"]
        if self._names and self._hidden(machine.loop(key), condition):
            return HIDDEN
        more = self._more.get(address, {}) if ahead is None else {}
        try:
            value = observe(machine, key, condition, more, ahead)
        except LanguageError:
            # A jump may have left out what it reads.
            value = FAULT if row.is_judged or ahead is not None else None
        if not isinstance(condition, Stable) or value == FAULT:
            return value
        if isinstance(value, str) and len(value) > compared_max(condition):
            value = None
        return self._likeness((address, atom), value, is_early=not row.is_judged)

    def _likeness(self, place: tuple[str, str], text: Json, *, is_early: bool) -> Json:
        """How much a text is like the one before; -1: there was none before.

        As in the engine, an iteration that a jump ended has no text before it of its own.
        """
        before, last = self._texts.get(place, (None, None))
        earlier = before if is_early else last
        self._texts[place] = earlier, text if isinstance(text, str) else None
        if not isinstance(text, str):
            return None
        return -1.0 if earlier is None else similarity(earlier, text) or 0.0

    def read(self, event: Event) -> None:
        """A note of the journal, which the machine does not take in."""
        if event.kind == "budget.reached":
            self._log.refuse(event.address)
        elif event.kind == "loop.finished":
            self._ends[event.address] = event.body

    def ended(self) -> list[LoopFacts]:
        for address, facts in self._loops.items():
            # A loop that nothing outside keeps waiting has ended before the fold has begun it.
            if (body := self._ends.get(address)) is not None:
                _take_end(facts, body)
            facts.steered, facts.outside = self._steered, dict(self._log.outside)
            facts.has_paused = self._has_paused
        return list(self._loops.values())


def _is_asked_again(machine: State, event: Event) -> bool:
    """Whether a call beyond the rule of a loop was cut that is asked for again: no rule has it."""
    error: Any = event.body.get("error") if event.kind == "task.failed" else None
    place = event.address.partition("[")[0]
    return is_cut(error or {}) and any(
        frame["address"] == place and exploring.is_unanswered(frame, error)
        for frame in machine.loop_frames.values()
        if frame["kind"] == "loop"
    )


def _take_end(facts: LoopFacts, body: dict[str, Any]) -> None:
    facts.exit_reason, facts.stopped_by = body["exit_reason"], body["stopped_by"] or ""
    facts.returned, facts.made = body["returned_iteration"], body["iterations"]
    facts.usage = {name: amount_in(body["usage"].get(name)) for name in USAGE}


@contextmanager
def _scope_ahead(
    machine: State, key: str, count: int, names: dict[str, Fact]
) -> Iterator[FrameScope]:
    """The scope in which a rule is checked after so many iterations, ahead of the next one."""
    frame, loop = machine.loop_frames[key], machine.loop(key)
    carry = dict(frame["carry"])
    if frame.get("fresh") and frame.get("inner"):
        inner = machine.scope_at(frame["inner"])
        carry |= {c.name: value_of(c.later, inner) for c in loop.carry if c.later is not None}
    known = dict(loop.facts)
    more = tuple((n, fact) for n, fact in names.items() if n not in known and fact in FREE)
    whole = replace(loop, facts=(*loop.facts, *more))
    facts = loop_facts({**frame, "count": count}, whole, count + 1)
    values: Values = carry | frame.get("previous", {}) | facts
    all_names = [name for name, _ in whole.facts] + [each.name for each in loop.carry]
    hidden = [name for name in all_names if name not in values]
    scopes = machine.state["scopes"]
    scopes[_AHEAD] = {"values": values, "up": frame["scope"], "hidden": hidden}
    try:
        scope = machine.scope_at(_AHEAD)
        for name, value in loop.bind:
            values[name] = value_of(value, scope)
        yield scope
    finally:
        del scopes[_AHEAD]
