"""What the conditions of a loop saw after each iteration, folded from the journal of a run.

An atom is a simple condition without its threshold. An observer of the machine evaluates the atoms
of all given rules in the live scope of each iteration, as the engine itself does.
"""

from __future__ import annotations

import re
from collections import defaultdict
from contextlib import contextmanager
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from whorl.interpreter.constructs.loops import exploring
from whorl.interpreter.constructs.loops.judging import COMPARED_MAX, observe, similarity
from whorl.interpreter.constructs.loops.loop_results import facts_of as loop_facts
from whorl.interpreter.evaluation import value_of
from whorl.interpreter.events import amount_in, charged
from whorl.interpreter.frames import is_cut, is_outside
from whorl.interpreter.state import Observer
from whorl.ir import AllOf, AnyOf, BranchTaken, Judge, Plateau, Score, Stable, When
from whorl.ir.expressions import conditions_in
from whorl.language import LanguageError
from whorl.lazily import dataclass
from whorl.runtimes.journal.folding import Replay, as_far_as_open
from whorl.wings.experiments.trials import BY_EXPERIMENT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from whorl.interpreter.evaluation import FrameScope
    from whorl.interpreter.events import Event
    from whorl.interpreter.frames import Outcome, Values
    from whorl.interpreter.plan import Plan
    from whorl.interpreter.state import State
    from whorl.ir import Condition
    from whorl.ir.nodes import Fact
    from whorl.language import Json
    from whorl.runtimes.journal.journal import Journal, RunId
    from whorl.runtimes.journal.keys import Seals

# The carried values, computed before a rule is checked ahead of an iteration: a fault, or missing.
HANDED_OVER = "carry"
# An atom that could not be evaluated: a rule that reads it would have failed there.
FAULT = "?"
USAGE = ("calls", "input_tokens", "output_tokens", "cost_usd")
# The facts about a loop that do not depend on its rule.
FREE = frozenset({"number", "index", "previous"})
# The name of the scope that a rule sees if it is checked before an iteration.
_AHEAD = "ahead"
_STEERED = {"run.continued": "continued", "run.accepted": "accepted", "run.forked": "forked"}
_ENDS = ("task.finished", "task.failed", "task.in_doubt")
_NUMBER = re.compile(r"\[([0-9]+)\]")
_JUDGE = re.compile(r"(?:#[0-9]+)?/:judge([0-9]*)(?:#[0-9]+)?")
_FIRST_JUDGE = re.compile(r"(.*)/:judge[0-9]*(?:#[0-9]+)?")

# The address of a loop and the number of an iteration; 0 is before the first one.
CallKey: TypeAlias = tuple[str, int]


@dataclass(slots=True)
class RecordedCall:
    """A call in the order of the journal: its usage, and the judge that it asked."""

    judge: str = ""
    usage: dict[str, float] = field(default_factory=dict)
    verdict: str = ""
    is_in_doubt: bool = False


@dataclass(slots=True)
class IterationFacts:
    """The facts of one iteration. `is_judged`: it succeeded, and its rule was checked.

    If a rule is checked before iterations, its atoms are from ahead of the next one.
    """

    number: int
    status: str
    by: str = ""
    is_judged: bool = False
    is_approved: bool = False
    atoms: dict[str, Any] = field(default_factory=dict)
    calls: list[RecordedCall] = field(default_factory=list)
    # Whether a call waited until others had left it enough of a budget.
    has_waited: bool = False


@dataclass(slots=True)
class LoopFacts:
    """A loop of a run: its iterations, how it ended, and the usage of the rest of the run."""

    run: str
    address: str
    iterations: list[IterationFacts] = field(default_factory=list)
    # What a rule sees if it is checked before the first iteration.
    ahead: IterationFacts | None = None
    exit_reason: str = ""
    stopped_by: str = ""
    returned: int | None = None
    made: int = 0
    usage: dict[str, float] = field(default_factory=dict)
    outside: dict[str, float] = field(default_factory=dict)
    steered: str = ""
    results: dict[int, dict[str, Json]] = field(default_factory=dict)

    def body_usd(self, count: int) -> float:
        """Returns the cost of the steps of so many iterations, without judges."""
        calls = (call for row in self.iterations[:count] for call in row.calls)
        return sum(call.usage.get("cost_usd", 0.0) for call in calls if not call.judge)

    def judge_usd(self, judge: Judge, count: int) -> float:
        """Returns the cost of the needed votes of a judge in so many iterations."""
        atom, usd = atom_of(judge), 0.0
        for row in self.iterations[:count]:
            _, took, _ = count_votes(votes_in(row.calls, atom), judge.votes)
            calls = [call for call in row.calls if call.judge == atom][:took]
            usd += sum(call.usage.get("cost_usd", 0.0) for call in calls)
        return usd


@dataclass(slots=True)
class Subject:
    """A recorded run: its facts, and the grade of each iteration.

    `failed_grade` is that of a run that fails with its loop; None: it has no grade, or an unknown
    one. If it is not `is_priced`, its cost is unknown, since one of its models has no price.
    """

    facts: LoopFacts
    grades: dict[int, float]
    case: str = ""
    group: str = ""
    solved: frozenset[int] = frozenset()
    failed_grade: float | None = None
    is_priced: bool = True


def atom_of(condition: Condition) -> str:
    """Returns what a simple condition reads, without the threshold; equal reads have one text."""
    match condition:
        case When():
            return f"when {condition.test!r}"
        case Score():
            return f"score {condition.source!r} {condition.pattern!r}"
        case Stable():
            return f"stable {condition.subject!r}"
        case BranchTaken():
            return f"branch {condition.node!r}"
        case Judge():
            return f"judge {replace(condition, votes=1)!r}"
        case Plateau():
            return "plateau"
    raise AssertionError("a condition of several parts has no atom")


def atoms_in(conditions: Iterable[Condition | None]) -> dict[str, Condition]:
    """Returns all atoms of rules, each with a condition that reads it."""
    leaves = (part for condition in conditions for part in conditions_in(condition))
    return {atom_of(leaf): leaf for leaf in leaves if not isinstance(leaf, AnyOf | AllOf | Plateau)}


def votes_in(calls: Iterable[RecordedCall], judge: str) -> list[tuple[str, int]]:
    """Returns the votes of a judge in order, each with its number of calls.

    An unclear answer is requested once more.
    """
    votes: list[tuple[str, int]] = []
    took = 0
    for call in calls:
        if call.judge != judge:
            continue
        took += 1
        if not call.verdict:
            # The call has failed, so its vote is unknown.
            break
        is_known = call.verdict in ("met", "not_met", "inconclusive")
        if is_known or took > 1:
            votes.append((call.verdict if is_known else "ambiguous", took))
            took = 0
    return votes


def count_votes(votes: list[tuple[str, int]], wanted: int) -> tuple[bool | None, int, bool]:
    """Returns the majority of so many votes, the calls for it, and whether the votes decide."""
    yes = no = calls = 0
    for number, (vote, took) in enumerate(votes, 1):
        calls += took
        yes += vote == "met"
        no += vote == "not_met"
        if vote == "inconclusive":
            return None, calls, True
        if yes * 2 > wanted:
            return True, calls, True
        if no * 2 >= wanted or number >= wanted:
            return (False if no else None), calls, True
    return None, calls, False


def facts_of(
    journal: Journal,
    run: RunId,
    atoms: dict[str, Condition],
    *,
    loop: str = "",
    names: dict[str, Fact] | None = None,
    keep_results: bool = False,
    plan: Plan | None = None,
) -> list[LoopFacts]:
    """Returns the facts of the loops of an ended run, or of those of one name or path.

    `names` are the names that other rules have for the facts about the loop.
    """

    def look(seals: Seals | None) -> _Facts:
        replay = Replay(journal, run, plan, seals=seals)
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
        self._log = _CallLog()
        self._texts: dict[tuple[str, str], tuple[str | None, str | None]] = {}
        self._measured: dict[str, dict[str, Json]] = {}
        self._ends: dict[str, dict[str, Any]] = {}
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
        self._loops[frame["address"]] = LoopFacts(self._run, frame["address"])
        judges: list[str] = []
        for judge in machine.plan.rules[frame["node"]].judges.values():
            atom = atom_of(judge)
            judges.append(f"{atom} again {len(judges)}" if atom in judges else atom)
        self._log.judges[frame["address"]] = judges

    def left(self, machine: State, key: str, outcome: Outcome) -> None:
        frame = machine.frames[key]
        if frame["kind"] == "loop" and "limits" in frame:
            self._look_before(machine, key)

    def _look_before(self, machine: State, key: str) -> None:
        """Records what a rule sees that is checked before the first iteration."""
        frame = machine.loop_frames[key]
        facts = self._loops.get(frame["address"])
        is_first = frame["count"] <= 1 and "last" not in frame and not frame.get("failures")
        is_open = facts is not None and facts.ahead is None and is_first
        if facts is not None and is_open and machine.loop(key).check == "before":
            facts.ahead = row = IterationFacts(0, "succeeded")
            row.atoms = self._ahead(machine, key, row)
            row.calls = self._log.of[frame["address"], 0]

    def _begin_iteration(self, machine: State, key: str) -> None:
        """Records the facts about the loop that a new iteration does not have itself."""
        frame = machine.frames[key]
        if frame["kind"] != "loop" or frame["address"] not in self._loops:
            return
        self._look_before(machine, key)
        loop = machine.loop(key)
        more = tuple((n, fact) for n, fact in self._names.items() if fact in FREE)
        values = loop_facts(frame, replace(loop, facts=more), frame["count"])
        known = dict(loop.facts)
        self._more[frame["address"]] = {n: values[n] for n in values if n not in known}

    def taking(self, machine: State, event: Event) -> None:
        body: dict[str, Any] = event.body
        if body.get("by") != BY_EXPERIMENT:
            self._steered = self._steered or _STEERED.get(event.kind, "")
        if event.at > machine.now:
            self._log.wait(machine.state.get("queue", ()))
        self._log.take(event)

    def closed(self, machine: State, key: str, note: Values) -> None:
        frame = machine.loop_frames[key]
        facts = self._loops.get(frame["address"])
        if facts is None or frame.get("before"):
            # An iteration that is set aside while its rule is checked ahead has already ended.
            return
        number, place = frame["count"], (frame["address"], frame["count"])
        row = IterationFacts(number, str(note["status"]), str(note.get("by") or ""))
        error: Any = note.get("error") or {}
        # Other rules have other budgets and failures, so the result under them is unknown.
        if is_cut(error):
            row.status = "cut"
        elif exploring.has_ended(frame) and is_outside(error):
            row.status = "unanswered"
        # An iteration that was set aside before its verdict would also have been judged.
        row.is_judged = "met" in note or frame["phase"] == "judging"
        row.is_approved = bool(note.get("approved"))
        self._log.close(place)
        row.calls, row.has_waited = self._log.of[place], place in self._log.waits
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
        """Returns what a rule reads that is checked ahead of the iteration after one.

        Scores and texts are those of the last successful iteration.
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
        more = self._more.get(address, {}) if ahead is None else {}
        try:
            value = observe(machine, key, condition, more, ahead)
        except LanguageError:
            # A jump may have skipped the steps that it reads.
            value = FAULT if row.is_judged or ahead is not None else None
        if not isinstance(condition, Stable) or value == FAULT:
            return value
        if isinstance(value, str) and len(value) > COMPARED_MAX:
            value = None
        return self._likeness((address, atom), value, is_early=not row.is_judged)

    def _likeness(self, place: tuple[str, str], text: Json, *, is_early: bool) -> Json:
        """Returns how similar a text is to the one before; -1: there was no text before.

        As in the engine, an iteration that a jump ended has no text before it of its own.
        """
        before, last = self._texts.get(place, (None, None))
        earlier = before if is_early else last
        self._texts[place] = earlier, text if isinstance(text, str) else None
        if not isinstance(text, str):
            return None
        return -1.0 if earlier is None else similarity(earlier, text)

    def read(self, event: Event) -> None:
        """Reads the events of the journal that the machine does not use."""
        if event.kind == "budget.reached":
            self._log.refused.add(event.address)
        elif event.kind == "loop.finished":
            self._ends[event.address] = event.body

    def ended(self) -> list[LoopFacts]:
        for address, facts in self._loops.items():
            # A loop that never waits has ended before the fold has begun it.
            if (body := self._ends.get(address)) is not None:
                facts.exit_reason, facts.stopped_by = body["exit_reason"], body["stopped_by"] or ""
                facts.returned, facts.made = body["returned_iteration"], body["iterations"]
                facts.usage = {name: amount_in(body["usage"].get(name)) for name in USAGE}
            facts.steered, facts.outside = self._steered, dict(self._log.outside)
        return list(self._loops.values())


@contextmanager
def _scope_ahead(
    machine: State, key: str, count: int, names: dict[str, Fact]
) -> Iterator[FrameScope]:
    """Opens the scope in which a rule is checked after so many iterations, ahead of the next."""
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


class _CallLog:
    """Counts calls while a journal is read; `outside` is the usage of calls in no loop."""

    def __init__(self) -> None:
        # The judges of the given loops, by their atoms.
        self.judges: dict[str, list[str]] = {}
        self.of: defaultdict[CallKey, list[RecordedCall]] = defaultdict(list)
        self.waits: set[CallKey] = set()
        self.outside = dict.fromkeys(USAGE, 0.0)
        # Calls that did not fit into a budget, so that they were not sent.
        self.refused: set[str] = set()
        self._open: dict[str, dict[str, Any]] = {}
        self._cancelled: dict[tuple[CallKey, str], RecordedCall] = {}

    def wait(self, addresses: Iterable[str]) -> None:
        """Records that these calls wait for their budget while time passes."""
        for address in addresses:
            self.waits.update(self._places(address))

    def take(self, event: Event) -> None:
        """Reads the beginning or the end of a call; ignores all other events."""
        body: dict[str, Any] = event.body
        if event.kind == "task.started":
            self._open[event.address] = body
        elif event.kind in _ENDS:
            usage = {name: amount_in((body.get("usage") or {}).get(name)) for name in USAGE}
            if event.kind == "task.in_doubt":
                usage = _reserved(body)
            else:
                self._open.pop(event.address, None)
            self._count(event, usage)

    def _places(self, address: str) -> list[CallKey]:
        """Returns the iterations of the given loops that contain an address."""
        found = ((address[: at.start()], int(at[1])) for at in _NUMBER.finditer(address))
        first = _FIRST_JUDGE.fullmatch(address)
        before = [(first[1], 0)] if first is not None else []
        return [place for place in (*found, *before) if place[0] in self.judges]

    def _judge(self, place: CallKey, address: str) -> str:
        """Returns the judge of a loop that a call asks, or ""."""
        base = f"{place[0]}[{place[1]}]" if place[1] else place[0]
        asked = _JUDGE.fullmatch(address[len(base) :])
        return self.judges[place[0]][int(asked[1] or 1) - 1] if asked else ""

    def _count(self, event: Event, usage: dict[str, float]) -> None:
        address, value = event.address, event.body.get("value")
        places = self._places(address)
        for place in places:
            if (cancelled := self._cancelled.get((place, address))) is not None:
                cancelled.usage, cancelled.is_in_doubt = usage, False
                continue
            call = RecordedCall(self._judge(place, address), usage)
            call.is_in_doubt = event.kind == "task.in_doubt"
            if call.judge and isinstance(value, dict):
                call.verdict = str(value.get("verdict"))
            self.of[place].append(call)
        for name, amount in usage.items() if not places else ():
            self.outside[name] += amount

    def close(self, place: CallKey) -> None:
        """Ends an iteration: calls that are cancelled with it count with their reserve.

        If a reply still comes, it has the real usage.
        """
        for address, started in self._open.items():
            is_known = (place, address) in self._cancelled or address in self.refused
            if place in self._places(address) and not (is_known or self._judge(place, address)):
                call = RecordedCall(usage=_reserved(started), is_in_doubt=True)
                self._cancelled[place, address] = call
                self.of[place].append(call)


def _reserved(body: dict[str, Any]) -> dict[str, float]:
    """Returns the usage that a call of unknown use counts with."""
    reserve = charged(body.get("reserve") or {})
    return {name: reserve[name] for name in USAGE}
