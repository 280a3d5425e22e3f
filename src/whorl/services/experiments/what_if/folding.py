"""Folds the facts about loops from the journal of a run, with an observer of the machine.

It evaluates what all rules in question read in the live scope of each iteration, with the functions
that the engine itself uses.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from whorl.interpreter.constructs.judging import observe, similarity
from whorl.interpreter.constructs.loop_results import facts_of as loop_facts
from whorl.interpreter.evaluation import value_of
from whorl.interpreter.events import amount_in, charged
from whorl.interpreter.plan import judge_key
from whorl.interpreter.state import Observer
from whorl.ir import Block, Loop, Stable
from whorl.ir.expressions import Names, inner_values
from whorl.language import LanguageError
from whorl.runtimes.journal.folding import Replay, as_far_as_open
from whorl.services.experiments.what_if.facts import (
    FAULT,
    HIDDEN,
    USAGE,
    Call,
    IterationFacts,
    LoopFacts,
    atom_of,
)

if TYPE_CHECKING:
    from whorl.interpreter.events import Event
    from whorl.interpreter.frames import Values
    from whorl.interpreter.state import State
    from whorl.ir import Condition
    from whorl.ir.loop_rules import Fact
    from whorl.language import Json
    from whorl.runtimes.journal.journal import Journal, RunId
    from whorl.runtimes.journal.keys import Seals

# The facts about a loop that do not follow from its rule.
FREE = frozenset({"number", "index", "previous"})
_NUMBER = re.compile(r"\[([0-9]+)\]")
_JUDGE = re.compile(r"(?:#[0-9]+)?/:judge([0-9]*)(?:#[0-9]+)?")
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
        self._judges: dict[str, list[str]] = {}
        self._calls: dict[tuple[str, int], list[Call]] = {}
        self._open: dict[str, dict[str, Any]] = {}
        self._overlaps: set[tuple[str, int]] = set()
        self._texts: dict[tuple[str, str], str | None] = {}
        self._attempts: dict[tuple[str, int], int] = {}
        self._outside: dict[str, float] = {}
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
        self._judges[frame["address"]] = judges

    def _begin_iteration(self, machine: State, key: str) -> None:
        """An iteration begins: the facts about the loop that it does not have."""
        frame = machine.frames[key]
        if frame["kind"] != "loop" or frame["address"] not in self._loops:
            return
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
        if not body.get("explore"):
            self._steered = self._steered or _STEERED.get(event.kind, "")
        if event.kind == "task.started":
            for place in self._places(event.address):
                if any(place in self._places(other) for other in self._open):
                    self._overlaps.add(place)
            self._open[event.address] = body
        elif event.kind in ("task.finished", "task.failed", "task.in_doubt"):
            started = self._open.get(event.address, {})
            usage = {name: amount_in((body.get("usage") or {}).get(name)) for name in USAGE}
            if event.kind == "task.in_doubt":
                usage = {name: charged(body.get("reserve") or {})[name] for name in USAGE}
            else:
                self._open.pop(event.address, None)
            self._count(event.address, started, usage, body.get("value"))

    def _places(self, address: str) -> list[tuple[str, int]]:
        """The iterations that something happens in, of the loops in question."""
        found = ((address[: at.start()], int(at[1])) for at in _NUMBER.finditer(address))
        return [place for place in found if place[0] in self._loops]

    def _count(
        self, address: str, started: dict[str, Any], usage: dict[str, float], value: Json
    ) -> None:
        places = self._places(address)
        reserve = {n: amount_in(v) for n, v in (started.get("reserve") or {}).items()}
        for place in places:
            rest = address[len(f"{place[0]}[{place[1]}]") :]
            asked = _JUDGE.fullmatch(rest)
            judge = self._judges[place[0]][int(asked[1] or 1) - 1] if asked else ""
            verdict = str(value.get("verdict")) if judge and isinstance(value, dict) else ""
            call = Call(judge, reserve, usage, bool(started.get("cap")), verdict)
            self._calls.setdefault(place, []).append(call)
        if not places:
            _add(self._outside, usage)

    def closed(self, machine: State, key: str, note: Values) -> None:
        frame = machine.loop_frames[key]
        facts = self._loops.get(frame["address"])
        if facts is None:
            return
        number, place = frame["count"], (frame["address"], frame["count"])
        row = IterationFacts(number, str(note["status"]), str(note.get("by") or ""))
        # One that was put aside before its verdict would have been judged, too.
        row.is_judged = "met" in note or frame["phase"] == "judging"
        row.is_approved = bool(note.get("approved"))
        row.seconds = amount_in(note.get("seconds"))
        row.score = frame.get("score") if row.status == "succeeded" else None
        row.attempts = self._attempts[place] = self._attempts.get(place, 0) + 1
        row.calls = self._calls.setdefault(place, [])
        row.has_overlap = place in self._overlaps
        if row.status == "succeeded":
            row.atoms = {atom: self._atom(machine, key, atom, row) for atom in self._atoms}
            if self.keeps_results:
                facts.results[number] = frame["previous"]
                facts.asked[number] = self._asked(machine, key)
        if facts.iterations and facts.iterations[-1].number == number:
            facts.iterations.pop()
        facts.iterations.append(row)

    def _asked(self, machine: State, key: str) -> dict[str, Json]:
        """What the judges of the loop are asked, or would be; not where nobody is shown it."""
        frame, asked = machine.loop_frames[key], {}
        for index, atom in enumerate(self._judges[frame["address"]]):
            task = machine.plan.tasks[judge_key(frame["node"], index)]
            with suppress(LanguageError):
                if not task.secure:
                    asked[atom] = value_of(task.inputs, machine.scope_at(frame["inner"]))
        return asked

    def _atom(self, machine: State, key: str, atom: str, row: IterationFacts) -> Json:
        condition, address = self._atoms[atom], machine.loop_frames[key]["address"]
        if self._names and self._hidden(machine.loop(key), condition):
            return HIDDEN
        try:
            value = observe(machine, key, condition, self._more.get(address, {}))
        except LanguageError:
            # A jump may have left out what it reads.
            value = FAULT if row.is_judged else None
        if not isinstance(condition, Stable) or value == FAULT:
            return value
        return self._likeness((address, atom), value)

    def _likeness(self, place: tuple[str, str], text: Json) -> Json:
        """How much a text is like the one before; -1: there was none before."""
        earlier = self._texts.get(place)
        self._texts[place] = text if isinstance(text, str) else None
        if not isinstance(text, str):
            return None
        return -1.0 if earlier is None else similarity(earlier, text)

    def read(self, event: Event) -> None:
        """A note of the journal, which the machine does not take in."""
        facts = self._loops.get(event.address)
        body: dict[str, Any] = event.body
        if event.kind == "loop.finished" and facts is not None:
            facts.exit_reason, facts.stopped_by = body["exit_reason"], body["stopped_by"] or ""
            facts.returned, facts.made = body["returned_iteration"], body["iterations"]
            facts.usage = {name: amount_in(body["usage"].get(name)) for name in USAGE}

    def ended(self) -> list[LoopFacts]:
        for facts in self._loops.values():
            facts.steered, facts.outside = self._steered, dict(self._outside)
        return list(self._loops.values())


def _add(total: dict[str, float], usage: dict[str, float]) -> None:
    for name, amount in usage.items():
        total[name] = total.get(name, 0) + amount
