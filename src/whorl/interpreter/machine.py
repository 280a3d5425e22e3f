"""The machine: IR and events in, commands and notes out; its whole state is one JSON value.

It is fed in journal order only and asks nobody for the time: every event brings its own. A run is
therefore a fold over its journal, and resuming, replaying and simulating are the same code.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from whorl.errors import StoreError
from whorl.interpreter import budget, requests
from whorl.interpreter.constructs import loop_limits, nodes, run
from whorl.interpreter.constructs.block import BlockBehaviour
from whorl.interpreter.constructs.loop import LoopBehaviour
from whorl.interpreter.constructs.task import TaskBehaviour
from whorl.interpreter.evaluation import OverlayScope, value_of
from whorl.interpreter.events import FED_KINDS, Cancel, Command, Event, Perform, SetTimer
from whorl.interpreter.frames import error_at, failed, is_failure, language_failure
from whorl.interpreter.state import ENDED_BY, State
from whorl.ir import Task
from whorl.language import LanguageError

if TYPE_CHECKING:
    from whorl.interpreter.frames import Frame, Outcome, RunState, Values
    from whorl.interpreter.plan import Plan
    from whorl.interpreter.state import Behaviour

# A run that computes this long between two events waits for nothing: it would go on for ever.
STEPS_MAX = 500_000

# What each kind of frame does.
BEHAVIOURS: dict[str, Behaviour] = {
    "block": BlockBehaviour(),
    "branch": nodes.BranchBehaviour(),
    "group": nodes.GroupBehaviour(),
    "call": run.CallBehaviour(),
    "run": run.RunBehaviour(),
    "foreach": nodes.ForEachBehaviour(),
    "loop": LoopBehaviour(),
    "task": TaskBehaviour(),
    "wait": nodes.WaitBehaviour(),
    "gate": nodes.GateBehaviour(),
    "signal": nodes.SignalBehaviour(),
}


class Machine(State):
    def __init__(self, plan: Plan, state: RunState | None = None) -> None:
        super().__init__(plan, BEHAVIOURS, state)
        if state is not None:
            self.recover()

    @classmethod
    def restore(cls, plan: Plan, snapshot: str) -> Machine:
        """The machine as it was when the snapshot was taken; `poll` asks again for what is open."""
        return cls(plan, json.loads(snapshot))

    def in_flight(self) -> list[str]:
        """The addresses of calls that are in doubt after a crash: sent, and not answered.

        Or not sent, as far as is known, and impossible to ask for again: that must be told, too.
        """
        sent = [address for address, entry in self.pending.items() if "sent" in entry]
        return sent + self._unaskable

    def held_for(self, address: str) -> Values:
        entry = self.pending.get(address)
        return dict(self.task_frames[entry["frame"]].get("reserve", {})) if entry else {}

    def feed(self, event: Event) -> None:
        """Takes one event in and advances as far as that leads."""
        if event.kind not in FED_KINDS:
            raise StoreError(f"an event of kind {event.kind!r} cannot be fed", code="R903")
        state = self.state
        state["at"] = max(state["at"], event.at)
        if state["status"] == "waiting":
            # Every event moves the run on; that it waits for somebody else now is said anew.
            state["status"] = "running"
        if event.kind.startswith("run."):
            requests.receive(self, event)
        else:
            if event.kind == "gate.decided":
                self._end_overdue(event)
            self._deliver(event)
        self._advance()
        if "queue" in state or "out_of_budget" in state or "over" in state:
            budget.review(self)
            loop_limits.end_out_of_budget(self)
            self._advance()
        if not self.stopped_at and state["status"] in ("running", "waiting"):
            self._settle_status()

    def poll(self) -> list[Command]:
        """What is wanted done, once; while the run is paused no new work is handed out.

        A task that was wanted twice since the last call, or is no longer wanted, is not repeated.
        """
        if not self._commands:
            return []
        commands, self._commands = self._commands, []
        last: dict[str, Command] = {}
        if len(commands) > 1:
            last = {c.address: c for c in commands if type(c) is Perform}
        is_paused, pending, wanted = self.state["status"] == "paused", self.pending, []
        for command in commands:
            if type(command) is Perform:
                entry = pending.get(command.address)
                if is_paused or entry is None or "sent" in entry:
                    continue
                if last and last[command.address] is not command:
                    continue
            wanted.append(command)
        return wanted

    def recover(self) -> None:
        """After a replay: forgets what was wanted on the way, and wants again what is open."""
        self._commands = []
        self.ask_again()
        # A recovery is no event, so nothing may end of it; while paused, nothing is asked for.
        failed = [self.frames[key]["address"] for key, _ in self._agenda]
        self._unaskable = failed if self.status != "paused" else []
        self._agenda.clear()
        for address, entry in self.pending.items():
            if "due" in entry:
                self.command(SetTimer(address, entry["due"], "date" in entry))

    def take_notes(self) -> list[Event]:
        """What there is to say about the events fed since the last call."""
        notes, self._notes = self._notes, []
        return notes

    def _deliver(self, event: Event) -> None:
        if event.kind == "gate.decided" and requests.is_repeated(self, event):
            return
        entry = self.pending.get(event.address)
        if entry is None or event.kind.partition(".")[0] not in ENDED_BY[entry["what"]]:
            usage = event.body.get("usage")
            if event.kind in ("task.finished", "task.failed") and isinstance(usage, dict):
                # Nobody waits for it any more, and it was paid for all the same.
                budget.add_late_usage(self, event.address, usage)
            return
        behaviour = self._behaviours[self.frames[entry["frame"]]["kind"]]
        if entry["what"] != "alarm":
            behaviour.receive(self, entry["frame"], event)
        elif self.status == "paused" and not self.state["reserved"].get("sent"):
            # Nothing is under way, so no time limit runs: it is set anew when the run goes on.
            return
        elif event.at < entry["due"]:
            # It was on its way when the clocks were moved on.
            self.command(SetTimer(event.address, entry["due"]))
        elif event.address.endswith("/:timeout"):
            self.settle(event.address)
            behaviour.time_out(self, entry["frame"])
        else:
            behaviour.receive(self, entry["frame"], event)

    def _end_overdue(self, decision: Event) -> None:
        """Ends what was out of time before a person decided, though nobody looked at the clock."""
        overdue = sorted(
            (entry["due"], address)
            for address, entry in self.pending.items()
            if entry["what"] == "alarm" and entry["due"] <= decision.at
        )
        was_open = decision.address in self.pending
        for due, address in overdue:
            if address in self.pending and not self.stopped_at:
                self.command(Cancel(address))
                self._deliver(Event("timer.fired", address, due))
                self._advance()
        if was_open and decision.address not in self.pending:
            self.warn(decision.address, "W900", "the decision came after its time was over")

    def _advance(self) -> None:
        steps = 0
        agenda, frames = self._agenda, self.frames
        while agenda and not self.stopped_at:
            steps += 1
            if steps > STEPS_MAX:
                agenda.clear()
                most = f"{STEPS_MAX:,} steps without waiting for anything, the most there may be"
                error = error_at("", "R105", f"the run took {most}", facts={"steps": STEPS_MAX})
                run.end_now(self, failed(error))
                return
            key, outcome = agenda.popleft()
            frame = frames.get(key)
            if frame is None:
                continue
            if outcome is not None:
                self._leave(key, frame, outcome)
                continue
            behaviour = self._behaviours[frame["kind"]]
            try:
                behaviour.enter(self, key)
            except LanguageError as fault:
                node = self.node(frame) if "node" in frame else None
                behaviour.fail(self, key, language_failure(fault, frame["address"], node))

    def _leave(self, key: str, frame: Frame, outcome: Outcome) -> None:
        """A frame has ended: shapes its value, stops its alarm and tells the frame above."""
        behaviour = self._behaviours[frame["kind"]]
        if "node" in frame:
            outcome = self._shaped(frame, outcome)
            if "alarm" in frame:
                self.forget_if_pending(frame["alarm"])
        if behaviour.stays:
            frame["ended"] = outcome["status"]
        parent = frame["parent"]
        if parent is None:
            behaviour.child_left(self, key, key, outcome)
            return
        above = self._behaviours[self.frames[parent]["kind"]]
        above.child_left(self, parent, key, outcome)
        if not behaviour.stays and key in self.frames:
            self.drop(key)

    def _shaped(self, frame: Frame, outcome: Outcome) -> Outcome:
        node = self.node(frame)
        if node.shape is None or (is_failure(outcome) and outcome.get("value") is None):
            return outcome
        names: Values = {"it": outcome.get("value"), "$usage": outcome.get("usage")}
        if frame["kind"] == "loop":
            names["past"] = frame.get("past", [])
        scope = OverlayScope(names, self.scope(frame))
        try:
            value = value_of(node.shape, scope)
            warning = isinstance(node, Task) and node.warns and value_of(node.warns, scope)
        except LanguageError as fault:
            return failed(language_failure(fault, frame["address"], node))
        if isinstance(warning, str):
            self.warn(frame["address"], "R113", warning)
        return outcome | {"value": value}

    def _settle_status(self) -> None:
        """A run that only a person can move is waiting; one that moves again is running."""
        waits = self.open
        is_waiting = waits["gate"] > 0 and not waits["task"] and not waits["timer"]
        if is_waiting and self.state["status"] == "running":
            # Whoever serves the store lets the run go on when a time limit is over.
            due = min((e["due"] for e in self.pending.values() if "due" in e), default=None)
            self.note("run.waiting", "", None if due is None else {"due": due})
        self.state["status"] = "waiting" if is_waiting else "running"
