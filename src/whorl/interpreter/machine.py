"""The machine: IR and events in, commands and notes out; its whole state is one JSON value.

It takes events in journal order and reads no clock: every event brings its own time. A run is
therefore a fold over its journal, and resuming, replaying and simulating are the same code.
"""

from __future__ import annotations

import json
from collections import deque
from typing import TYPE_CHECKING, Any

from whorl.errors import StoreError
from whorl.interpreter import budget, requests
from whorl.interpreter.constructs import block, nodes, program, run, task
from whorl.interpreter.constructs.loops import loop, loop_limits
from whorl.interpreter.evaluation import OverlayScope, value_of
from whorl.interpreter.events import FED_KINDS, Cancel, Command, Event, Perform, Send, SetTimer
from whorl.interpreter.frames import error_at, failed, is_failure, language_failure
from whorl.interpreter.state import ENDED_BY, ENDLESS, State
from whorl.ir import Task
from whorl.language import LanguageError
from whorl.language.chunked_json import read_pieces, write_pieces

if TYPE_CHECKING:
    from whorl.interpreter.frames import Frame, Outcome, RunState, Values
    from whorl.interpreter.plan import Plan
    from whorl.interpreter.state import Behaviour

_ENCODE = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode
# A run that computes this long between two events is in an endless computation.
STEPS_MAX = 500_000

# Requests that read the run at rest: they do not come during work.
AT_REST = frozenset({"run.continued", "run.accepted", "run.forked"})

# What each kind of frame does.
BEHAVIOURS: dict[str, Behaviour] = {
    "block": block.BlockBehaviour(),
    "branch": nodes.BranchBehaviour(),
    "group": nodes.GroupBehaviour(),
    "call": run.CallBehaviour(),
    "run": run.RunBehaviour(),
    "foreach": nodes.ForEachBehaviour(),
    "loop": loop.LoopBehaviour(),
    "task": task.TaskBehaviour(),
    "wait": nodes.WaitBehaviour(),
    "gate": nodes.GateBehaviour(),
    "signal": nodes.SignalBehaviour(),
    "program": program.ProgramBehaviour(),
}


class Machine(State):
    def __init__(self, plan: Plan, state: RunState | None = None) -> None:
        super().__init__(plan, BEHAVIOURS, state)
        work = self.state.pop("work", {})
        self._agenda.extend((key, what) for key, what in work.get("agenda", ()))
        # Whether events have led to more than has been done so far.
        self.is_busy, self._is_reviewed = bool(work), work.get("is_reviewed", False)
        self.steps, self._pops = work.get("steps", 0), work.get("pops", 0)
        if state is not None:
            self.recover()

    @classmethod
    def restore(cls, plan: Plan, snapshot: str) -> Machine:
        """Restores the machine of a snapshot; `poll` requests again what is open."""
        return cls(plan, read_pieces(snapshot, json.JSONDecoder()))

    def snapshot(self, *, in_pieces: bool = False) -> str:
        """Returns the state as text, in pieces if asked: one large call blocks other threads."""
        state: Any = self.state
        if self.is_busy:
            work = {"agenda": list(self._agenda), "steps": self.steps, "pops": self._pops}
            state = state | {"work": work | {"is_reviewed": self._is_reviewed}}
        return "".join(write_pieces(state, _ENCODE)) if in_pieces else _ENCODE(state)

    @property
    def is_whole(self) -> bool:
        """Checks whether a snapshot holds the whole state: nothing is half computed."""
        return not self._unfinished

    def in_flight(self) -> list[str]:
        """Returns the addresses of calls that are in doubt after a crash: sent, and not answered.

        It also returns calls that were probably not sent but cannot be requested again.
        """
        sent = [address for address, entry in self.pending.items() if "sent" in entry]
        return sent + self._unaskable

    def is_sent(self, address: str) -> bool:
        """Checks whether a call may have been sent: the journal has the events that lead to it."""
        return "sent" in self.pending.get(address, ())

    def held_for(self, address: str) -> Values:
        entry = self.pending.get(address)
        frame = self.task_frames.get(entry["frame"]) if entry else None
        return dict(frame.get("reserve", {})) if frame else {}

    def feed(self, event: Event) -> None:
        """Takes one event in and advances as far as possible."""
        if self.take(event):
            self.advance()

    def place_of(self, event: Event) -> int:
        """Returns the step at which an event came during work, or ENDLESS if the work was done."""
        step = event.body.get("step")
        return step if isinstance(step, int) and event.kind not in AT_REST else ENDLESS

    def is_before(self, event: Event) -> bool:
        """Checks whether there is work to do before an event is taken in."""
        return self.is_busy and self.steps < self.place_of(event)

    def take(self, event: Event) -> bool:
        """Takes one event in at the step where it came: during work, or after all of it.

        `advance` does the work that follows. Returns false if the machine has stopped before.
        """
        if event.kind not in FED_KINDS:
            raise StoreError(f"an event of kind {event.kind!r} cannot be fed", code="R901")
        if self.is_busy:
            self.advance(to=self.place_of(event))
            self._make_room(event)
        if not self.is_busy:
            self._pops = 0
        if self.stopped_at and event.kind != "run.forked":
            return False
        if self.observer is not None:
            self.observer.taking(self, event)
        self.steps, self.is_busy, self._is_reviewed = 0, True, False
        state = self.state
        state["at"] = max(state["at"], event.at)
        if state["status"] == "waiting":
            # Every event moves the run; if it then waits for another person, it says so again.
            state["status"] = "running"
        if event.kind.startswith("run."):
            requests.receive(self, event)
        else:
            if event.kind == "gate.decided":
                self._end_overdue(event)
            self._deliver(event)
        return True

    def advance(self, *, steps: int = ENDLESS, fuel: int = ENDLESS, to: int = ENDLESS) -> None:
        """Does the work that events have caused: for a slice, up to step `to`, or to the end.

        The end of a slice does not change what is done, nor its order.
        """
        if not self.is_busy:
            return
        end = self.steps + steps
        self.steps_end = end if end < to else to
        self.fuel_end = self.meter.fuel + fuel
        self._run_agenda()
        if self._agenda and not self.stopped_at:
            return
        state = self.state
        if not self._is_reviewed:
            self._is_reviewed = True
            if "queue" in state or "out_of_budget" in state or "over" in state:
                self._pops = 0
                budget.review(self)
                loop_limits.end_out_of_budget(self)
                self._run_agenda()
                if self._agenda and not self.stopped_at:
                    return
        self.is_busy = False
        if self.stopped_at or state["status"] not in ("running", "waiting"):
            return
        # It waits if only a person can move it.
        waits = self.open
        is_waiting = waits["gate"] > 0 and not waits["task"] and not waits["timer"]
        if is_waiting and "program" in state:
            # The code may still have to do something with what it was given.
            code = state["program"]
            is_waiting = code["given"] == code["taken"] and "restart" not in code
        if is_waiting and state["status"] == "running":
            # The process that serves the store resumes the run when a time limit is over.
            due = min((e["due"] for e in self.pending.values() if "due" in e), default=None)
            self.note("run.waiting", "", None if due is None else {"due": due})
        state["status"] = "waiting" if is_waiting else "running"

    def poll(self) -> list[Command]:
        """Returns the commands to carry out, each once; a paused run hands out no new work.

        A task that was requested twice since the last call, or is no longer wanted, is not
        repeated. One that a budget held back until now comes with its `Send`: a process that took
        the run over has not seen the task and could not send it.
        """
        if not self._commands:
            return []
        commands, self._commands = self._commands, []
        last = {c.address: c for c in commands if type(c) is Perform} if len(commands) > 1 else {}
        sends = {c.address for c in commands if type(c) is Send} if last else ()
        is_paused, pending, wanted = self.state["status"] == "paused", self.pending, []
        for command in commands:
            if type(command) is Perform:
                entry = pending.get(command.address)
                if entry is None or (
                    command.address not in sends if "sent" in entry else is_paused
                ):
                    continue
                if last and last[command.address] is not command:
                    continue
            wanted.append(command)
        return wanted

    def recover(self) -> None:
        """Forgets, after a replay, earlier requests, and requests again what is open."""
        self._commands = []
        agenda, self._agenda = self._agenda, deque()
        self.ask_again()
        # A recovery is not an event, so it may end nothing; while paused, nothing is requested.
        failed = [self.frames[key]["address"] for key, _ in self._agenda]
        self._unaskable = failed if self.status != "paused" else []
        self._agenda = agenda
        for address, entry in self.pending.items():
            if "due" in entry:
                self.command(SetTimer(address, entry["due"], "date" in entry))

    def take_notes(self) -> list[Event]:
        """Returns the notes about the events fed since the last call."""
        notes, self._notes = self._notes, []
        return notes

    def _deliver(self, event: Event) -> None:
        if event.kind == "gate.decided" and requests.is_repeated(self, event):
            return
        entry = self.pending.get(event.address)
        if entry is None or event.kind.partition(".")[0] not in ENDED_BY[entry["what"]]:
            usage = event.body.get("usage")
            if event.kind in ("task.finished", "task.failed") and isinstance(usage, dict):
                # The run no longer waits for it, but it was paid for.
                budget.add_late_usage(self, event.address, usage)
            return
        behaviour = self._behaviours[self.frames[entry["frame"]]["kind"]]
        if entry["what"] != "alarm":
            behaviour.receive(self, entry["frame"], event)
        elif self.status == "paused" and not self.state["reserved"].get("sent"):
            # Nothing is running, so no time limit runs: it is set again when the run is resumed.
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
        """Ends what was already out of time when a person decided."""
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
                self.steps_end = self.fuel_end = ENDLESS
                self._run_agenda()
        if was_open and decision.address not in self.pending:
            self.warn(decision.address, "W900", "the decision came after its time was over")

    def _run_agenda(self) -> None:
        """Does the work on the agenda, until the slice is over; most of the time is spent here."""
        agenda, frames, meter, pops = self._agenda, self.frames, self.meter, self._pops
        steps_end, fuel_end = self.steps_end, self.fuel_end
        while agenda and self.steps < steps_end and meter.fuel < fuel_end and not self.stopped_at:
            if pops >= STEPS_MAX and not isinstance(agenda[0][1], list):
                agenda.clear()
                most = f"{STEPS_MAX:,} steps without waiting for anything, the most that is allowed"
                facts: Values = {"steps": STEPS_MAX}
                error = error_at("", "R105", f"the run took {most}", facts=facts)
                run.end_now(self, failed(error))
                # The work of the end itself is done after it.
                pops = 0
                break
            key, what = agenda.popleft()
            frame = frames.get(key)
            if what is None:
                pops += 1
                if frame is not None:
                    behaviour = self._behaviours[frame["kind"]]
                    try:
                        behaviour.enter(self, key)
                    except LanguageError as fault:
                        node = self.node(frame) if "node" in frame else None
                        error = language_failure(fault, frame["address"], node)
                        behaviour.fail(self, key, error)
            elif isinstance(what, list):
                if frame is not None:
                    self._behaviours[frame["kind"]].go_on(self, key, what)
            else:
                pops += 1
                if frame is not None:
                    self._leave(key, frame, what)
            self.steps += 1
        self._pops = pops

    def _make_room(self, event: Event) -> None:
        """Does the work that is due before an event for the frame that the event goes to."""
        while not self.stopped_at:
            entry = self.pending.get(event.address)
            is_own = entry is None or event.kind.startswith("run.")
            key = self.state["root"] if is_own else entry["frame"]  # type: ignore[index]
            if all(key != waiting for waiting, _ in self._agenda):
                return
            self.steps_end, self.fuel_end = self.steps + 1, ENDLESS
            self._run_agenda()

    def _leave(self, key: str, frame: Frame, outcome: Outcome) -> None:
        """Ends a frame: shapes its value, stops its alarm and informs the frame above."""
        behaviour = self._behaviours[frame["kind"]]
        if "node" in frame:
            outcome = self._shaped(frame, outcome)
            if "alarm" in frame:
                self.forget_if_pending(frame["alarm"])
        if behaviour.stays:
            frame["ended"] = outcome["status"]
        if self.observer is not None:
            self.observer.left(self, key, outcome)
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
        warns = node.warns if isinstance(node, Task) else None
        if node.shape is None and warns is None:
            return outcome
        if is_failure(outcome) and outcome.get("value") is None:
            return outcome
        names: Values = {"it": outcome.get("value"), "$usage": outcome.get("usage")}
        if frame["kind"] == "loop":
            names["past"] = frame.get("past", [])
        scope = OverlayScope(names, self.scope(frame))
        try:
            value = names["it"] if node.shape is None else value_of(node.shape, scope)
            warning = None if warns is None else value_of(warns, scope)
        except LanguageError as fault:
            return failed(language_failure(fault, frame["address"], node))
        self.warn_of(frame["address"], warning)
        return outcome | {"value": value}
