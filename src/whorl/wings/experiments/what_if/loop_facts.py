"""What the conditions of a loop saw after each iteration, folded from the journal of a run.

An atom is a simple condition without its threshold. An observer of the machine evaluates the atoms
of all rules in question in the live scope of each iteration, as the engine itself does.
"""

from __future__ import annotations

import re
from collections import defaultdict
from contextlib import contextmanager
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from whorl.interpreter.constructs.loops import exploring
from whorl.interpreter.constructs.loops.judging import compared_max, observe, similarity
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
    from whorl.interpreter.state import State
    from whorl.ir import Condition
    from whorl.ir.nodes import Fact
    from whorl.language import Json
    from whorl.runtimes.journal.journal import Journal, RunId
    from whorl.runtimes.journal.keys import Seals

# What must be computed before a rule is checked ahead of an iteration; a fault, or nothing.
HANDED_OVER = "carry"
# An atom that could not be evaluated: a rule that reads it would have failed there.
FAULT = "?"
USAGE = ("calls", "input_tokens", "output_tokens", "cost_usd")
# The facts about a loop that do not follow from its rule.
FREE = frozenset({"number", "index", "previous"})
# The rule of a loop is checked before an iteration: under this name is the scope that it sees.
_AHEAD = "ahead"
_STEERED = {"run.continued": "continued", "run.accepted": "accepted", "run.forked": "forked"}
_ENDS = ("task.finished", "task.failed", "task.in_doubt")
_NUMBER = re.compile(r"\[([0-9]+)\]")
_JUDGE = re.compile(r"(?:#[0-9]+)?/:judge([0-9]*)(?:#[0-9]+)?")
_FIRST_JUDGE = re.compile(r"(.*)/:judge[0-9]*(?:#[0-9]+)?")

# The address of a loop and the number of an iteration; 0 is before the first one.
Place: TypeAlias = tuple[str, int]


@dataclass(slots=True)
class Call:
    """A call in the order of the journal: what it used, and which judge it asked."""

    judge: str = ""
    usage: dict[str, float] = field(default_factory=dict)
    verdict: str = ""
    is_in_doubt: bool = False


@dataclass(slots=True)
class IterationFacts:
    """What is known of one iteration; `is_judged`: it went through, and its rule was checked.

    A rule that is checked before iterations has atoms from ahead of the next one.
    """

    number: int
    status: str
    by: str = ""
    is_judged: bool = False
    is_approved: bool = False
    atoms: dict[str, Any] = field(default_factory=dict)
    calls: list[Call] = field(default_factory=list)
    # Whether a call waited until others had left it enough of a budget.
    has_waited: bool = False


@dataclass(slots=True)
class LoopFacts:
    """A loop of a run: its iterations, how it ended, and what the rest of the run used."""

    run: str
    address: str
    iterations: list[IterationFacts] = field(default_factory=list)
    # What a rule sees that is checked before the first iteration.
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
        """What the steps of so many iterations have cost, without judges."""
        calls = (call for row in self.iterations[:count] for call in row.calls)
        return sum(call.usage.get("cost_usd", 0.0) for call in calls if not call.judge)

    def judge_usd(self, judge: Judge, count: int) -> float:
        """What as many votes as a judge takes have cost in so many iterations."""
        atom, usd = atom_of(judge), 0.0
        for row in self.iterations[:count]:
            _, took, _ = count_votes(votes_in(row.calls, atom), judge.votes)
            calls = [call for call in row.calls if call.judge == atom][:took]
            usd += sum(call.usage.get("cost_usd", 0.0) for call in calls)
        return usd


@dataclass(slots=True)
class Subject:
    """A recorded run: its facts, and the grade of each iteration.

    `failed_grade` is that of a run that fails with its loop; None: it has none, or is not known.
    What a run cost that is not `is_priced` nobody knows: a model of it has no price.
    """

    facts: LoopFacts
    grades: dict[int, float]
    case: str = ""
    group: str = ""
    solved: frozenset[int] = frozenset()
    failed_grade: float | None = None
    is_priced: bool = True


def atom_of(condition: Condition) -> str:
    """What a simple condition reads, without the threshold; alike where it reads the same."""
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
    raise AssertionError("what is made of several conditions has no atom of its own")


def atoms_in(conditions: Iterable[Condition | None]) -> dict[str, Condition]:
    """All atoms of rules, each with a condition that reads it."""
    leaves = (part for condition in conditions for part in conditions_in(condition))
    return {atom_of(leaf): leaf for leaf in leaves if not isinstance(leaf, AnyOf | AllOf | Plateau)}


def votes_in(calls: Iterable[Call], judge: str) -> list[tuple[str, int]]:
    """The votes of a judge in order, each with the calls that it took.

    An answer that is unclear is asked for once more.
    """
    votes: list[tuple[str, int]] = []
    took = 0
    for call in calls:
        if call.judge != judge:
            continue
        took += 1
        if not call.verdict:
            # It has failed, and what it would have said nobody knows.
            break
        is_known = call.verdict in ("met", "not_met", "inconclusive")
        if is_known or took > 1:
            votes.append((call.verdict if is_known else "ambiguous", took))
            took = 0
    return votes


def count_votes(votes: list[tuple[str, int]], wanted: int) -> tuple[bool | None, int, bool]:
    """What a majority of so many votes says, the calls that took, and whether they decide."""
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
        """What a rule sees that is checked before the first iteration."""
        frame = machine.loop_frames[key]
        facts = self._loops.get(frame["address"])
        is_first = frame["count"] <= 1 and "last" not in frame and not frame.get("failures")
        is_open = facts is not None and facts.ahead is None and is_first
        if facts is not None and is_open and machine.loop(key).check == "before":
            facts.ahead = row = IterationFacts(0, "succeeded")
            row.atoms = self._ahead(machine, key, row)
            row.calls = self._log.of[frame["address"], 0]

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
            # What is put aside while its rule is checked ahead has ended before.
            return
        number, place = frame["count"], (frame["address"], frame["count"])
        row = IterationFacts(number, str(note["status"]), str(note.get("by") or ""))
        error: Any = note.get("error") or {}
        # No rule has this budget or this bad luck: nobody knows what it would have given.
        if is_cut(error):
            row.status = "cut"
        elif exploring.has_ended(frame) and is_outside(error):
            row.status = "unanswered"
        # One that was put aside before its verdict would have been judged, too.
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
            self._log.refused.add(event.address)
        elif event.kind == "loop.finished":
            self._ends[event.address] = event.body

    def ended(self) -> list[LoopFacts]:
        for address, facts in self._loops.items():
            # A loop that nothing outside keeps waiting has ended before the fold has begun it.
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


class _CallLog:
    """Counts calls while a journal is read; `outside` is what those used that are in no loop."""

    def __init__(self) -> None:
        # The judges of the loops in question, by their atoms.
        self.judges: dict[str, list[str]] = {}
        self.of: defaultdict[Place, list[Call]] = defaultdict(list)
        self.waits: set[Place] = set()
        self.outside = dict.fromkeys(USAGE, 0.0)
        # Calls that did not fit into a budget, so that they are not on their way.
        self.refused: set[str] = set()
        self._open: dict[str, dict[str, Any]] = {}
        self._cancelled: dict[tuple[Place, str], Call] = {}

    def wait(self, addresses: Iterable[str]) -> None:
        """Time passes while these calls wait for their budget."""
        for address in addresses:
            self.waits.update(self._places(address))

    def take(self, event: Event) -> None:
        """Takes the beginning or the end of a call in; all other events are none."""
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

    def _places(self, address: str) -> list[Place]:
        """The iterations that something happens in, of the loops in question."""
        found = ((address[: at.start()], int(at[1])) for at in _NUMBER.finditer(address))
        first = _FIRST_JUDGE.fullmatch(address)
        before = [(first[1], 0)] if first is not None else []
        return [place for place in (*found, *before) if place[0] in self.judges]

    def _judge(self, place: Place, address: str) -> str:
        """Which judge of a loop a call asks; or none."""
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
            call = Call(self._judge(place, address), usage)
            call.is_in_doubt = event.kind == "task.in_doubt"
            if call.judge and isinstance(value, dict):
                call.verdict = str(value.get("verdict"))
            self.of[place].append(call)
        for name, amount in usage.items() if not places else ():
            self.outside[name] += amount

    def close(self, place: Place) -> None:
        """An iteration ends: calls that are cancelled with it count as reserved.

        A reply that comes all the same tells what they used.
        """
        for address, started in self._open.items():
            is_known = (place, address) in self._cancelled or address in self.refused
            if place in self._places(address) and not (is_known or self._judge(place, address)):
                call = Call(usage=_reserved(started), is_in_doubt=True)
                self._cancelled[place, address] = call
                self.of[place].append(call)


def _reserved(body: dict[str, Any]) -> dict[str, float]:
    """What a call counts with whose use nobody knows."""
    reserve = charged(body.get("reserve") or {})
    return {name: reserve[name] for name in USAGE}
