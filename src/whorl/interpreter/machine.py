"""The machine: IR and events in, commands and notes out; its whole state is one JSON value.

It is fed in journal order only and asks nobody for the time: every event brings its own. A run is
therefore a fold over its journal, and resuming, replaying and simulating are the same code.
"""

from __future__ import annotations

import json
from collections import deque
from typing import TYPE_CHECKING, Any

from whorl.errors import StoreError
from whorl.interpreter import admission, behaviours, budget, control, loop_result, run
from whorl.interpreter.commands import Cancel, Command, Perform, SetTimer
from whorl.interpreter.evaluation import FrameScope
from whorl.interpreter.events import FED_KINDS, Event
from whorl.interpreter.frames import Frame, Outcome, children_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whorl.interpreter.plan import Plan
    from whorl.ir import Node
    from whorl.language import Json

FORMAT = 1
# A run that computes this long between two events waits for nothing: it would go on for ever.
STEPS_MAX = 500_000
ENDED = frozenset({"succeeded", "failed", "cancelled"})
# What is waited for, and the kinds of events that can tell of it.
_TOLD_BY = {"task": ("task",), "timer": ("timer",), "alarm": ("timer",), "gate": ("gate",)}


class Machine:
    """One run of a workflow."""

    def __init__(self, plan: Plan, state: dict[str, Any] | None = None) -> None:
        self.plan = plan
        self.state: dict[str, Any] = state if state is not None else _new_state()
        if self.state["format"] != FORMAT:
            raise StoreError(f"this run was stored by a newer version ({self.state['format']})")
        self.frames: dict[str, Frame] = self.state["frames"]
        self.pending: dict[str, Any] = self.state["pending"]
        self._commands: list[Command] = []
        self._notes: list[Event] = []
        self._agenda: deque[tuple[str, Outcome | None]] = deque()
        # Iterations whose results a time traveller wants to see, and what was found; no state.
        self.wanted: frozenset[str] = frozenset()
        self.found: dict[str, dict[str, Json]] = {}
        self._unaskable: list[str] = []
        # Iterations at whose beginning it stops in the midst of an event, until it is forked there.
        self.stops: frozenset[str] = frozenset()
        self.stopped_at = ""
        self._open = dict.fromkeys(_TOLD_BY, 0)
        for entry in self.pending.values():
            self._open[entry["what"]] += 1
        if state is not None:
            _upgrade(self.frames)
            self.recover()

    @classmethod
    def restore(cls, plan: Plan, snapshot: str) -> Machine:
        """The machine as it was when the snapshot was taken; `poll` asks again for what is open."""
        return cls(plan, json.loads(snapshot))

    def snapshot(self) -> str:
        """The whole state, as JSON text."""
        return json.dumps(self.state, separators=(",", ":"), ensure_ascii=False)

    @property
    def status(self) -> str:
        """running, waiting, paused, or how the run ended."""
        return str(self.state["status"])

    @property
    def done(self) -> bool:
        """Whether the run has ended."""
        return self.state["status"] in ENDED

    def in_flight(self) -> list[str]:
        """The addresses of calls that are in doubt after a crash: sent, and not answered.

        Or not sent, as far as is known, and impossible to ask for again: that must be told, too.
        """
        sent = [address for address, entry in self.pending.items() if "sent" in entry]
        return sent + self._unaskable

    def held_for(self, address: str) -> dict[str, Json]:
        """What is reserved for a call that was sent and not answered."""
        entry = self.pending.get(address)
        held: dict[str, Json] = self.frames[entry["frame"]].get("reserve", {}) if entry else {}
        return held

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
            control.receive(self, event)
        else:
            if event.kind == "gate.decided":
                self._end_overdue(event)
            self._deliver(event)
        self._advance()
        if "queue" in state or "starved" in state or "over" in state:
            admission.review(self)
            self._advance()
        if not self.stopped_at:
            run.settle_status(self)

    def poll(self) -> list[Command]:
        """What is wanted done, once; while the run is paused no new work is handed out.

        A task that was wanted twice since the last call, or is no longer wanted, is not repeated.
        """
        if not self._commands:
            return []
        commands, self._commands = self._commands, []
        if len(commands) == 1 and isinstance(commands[0], Perform):
            return commands if self._may_be_performed(commands[0].address) else []
        performs = {c.address: c for c in commands if isinstance(c, Perform)}
        return [
            command
            for command in commands
            if not isinstance(command, Perform)
            or (performs[command.address] is command and self._may_be_performed(command.address))
        ]

    def recover(self) -> None:
        """After a replay: forgets what was wanted on the way, and wants again what is open."""
        self._commands = []
        self.ask_again()
        # A recovery is no event, so nothing may end of it; while paused, nothing is asked for.
        failed = [self.frames[key]["address"] for key, _ in self._agenda]
        self._unaskable = failed if self.status != "paused" else []
        self._agenda.clear()
        self._set_timers_again()

    def take_notes(self) -> list[Event]:
        """What there is to say about the events fed since the last call."""
        notes, self._notes = self._notes, []
        return notes

    # What the constructs use.

    @property
    def open_tasks(self) -> int:
        """How many tasks are waited for."""
        return self._open["task"]

    @property
    def now(self) -> float:
        """The time of the newest event."""
        return float(self.state["at"])

    def node(self, frame: Frame) -> Node:
        """The node that a frame runs."""
        return self.plan.nodes[frame["node"]]

    def scope(self, frame: Frame) -> FrameScope:
        """The names that a frame sees."""
        return FrameScope(self.state, frame["scope"], frame)

    def scope_at(self, scope: str) -> FrameScope:
        """The names that are seen in a scope."""
        return FrameScope(self.state, scope)

    def new_scope(self, values: dict[str, Json], up: str | None, hidden: Sequence[str] = ()) -> str:
        """Makes a scope inside another one (None: it sees nothing else).

        Names that are `hidden` are not looked up around it: here they are not defined yet.
        """
        key = self._next()
        self.state["scopes"][key] = {"values": values, "up": up}
        if hidden:
            self.state["scopes"][key]["hidden"] = list(hidden)
        return key

    def root_values(self, scope: str) -> dict[str, Json]:
        """The values of the outermost scope around a scope: inputs and variables."""
        scopes = self.state["scopes"]
        while scopes[scope]["up"] is not None:
            scope = scopes[scope]["up"]
        values: dict[str, Json] = scopes[scope]["values"]
        return values

    def drop_scope(self, scope: str) -> None:
        """Forgets a scope."""
        self.state["scopes"].pop(scope, None)

    def new_frame(self, kind: str, *, parent: str | None, scope: str, **fields: Json) -> str:
        """Makes a frame; it is entered when its turn comes."""
        key = self._next()
        loop = None
        if parent is not None:
            above = self.frames[parent]
            loop = parent if above["kind"] == "loop" else above["loop"]
        self.frames[key] = {
            "kind": kind,
            "parent": parent,
            "scope": scope,
            "loop": loop,
            **fields,
        }
        return key

    def enter(self, key: str) -> None:
        """Puts a frame on the agenda."""
        self._agenda.append((key, None))

    def finish(self, key: str, outcome: Outcome) -> None:
        """Puts the end of a frame on the agenda."""
        self._agenda.append((key, outcome))

    def ask_again(self) -> None:
        """Wants again every task that was wanted and not sent."""
        for address, entry in list(self.pending.items()):
            if entry["what"] == "task" and "sent" not in entry:
                key = entry["frame"]
                behaviours.of(self.frames[key]).ask_again(self, key, address)

    def only_people_can_move_it(self) -> bool:
        """Whether the run waits for a person and for nothing else."""
        waits = self._open
        return waits["gate"] > 0 and not waits["task"] and not waits["timer"]

    def clear_agenda(self) -> None:
        """Forgets what was to be done next."""
        self._agenda.clear()

    def revive(self, key: str) -> None:
        """Tries again what failed in a frame that had ended."""
        frame = self.frames[key]
        frame.pop("ended", None)
        behaviours.of(frame).revive(self, key)

    def command(self, command: Command) -> None:
        """Wants something done."""
        self._commands.append(command)

    def expect(self, address: str, key: str, what: str, **fields: Json) -> None:
        """Waits for an event at an address: a task, a timer, a gate, or an alarm (a time limit)."""
        self.pending[address] = {"frame": key, "what": what, **fields}
        self.frames[key].setdefault("waits", {})[address] = 1
        self._open[what] += 1
        if what == "task":
            self._count_task(key, 1)
        if "due" in fields:
            self.command(SetTimer(address, fields["due"]))  # type: ignore[arg-type]

    def settle(self, address: str) -> None:
        """Stops waiting for an event that came."""
        entry = self.pending.pop(address)
        self._open[entry["what"]] -= 1
        if entry["what"] == "task":
            self._count_task(entry["frame"], -1)
        del self.frames[entry["frame"]]["waits"][address]

    def forget(self, address: str) -> None:
        """Stops waiting for an event that is no longer wanted."""
        entry = self.pending[address]
        self.settle(address)
        if entry["what"] != "gate":
            self.command(Cancel(address))

    def note(self, kind: str, address: str, body: dict[str, Json] | None = None) -> None:
        """Says something about the run."""
        self.state["notes"] += 1
        if address in self.stops and kind == "iteration.started":
            self.stopped_at = address
        self._notes.append(Event(kind, address, self.state["at"], body or {}))

    def warn(self, address: str, code: str, message: str, *, once: str = "") -> None:
        """Says something that a person should know; the same warning is said once."""
        said: list[str] = self.state["warned"]
        key = once or f"{code} {address.partition('[')[0]} {message}"
        if key not in said and len(said) < 1_000:
            said.append(key)
            self.note("warning", address, {"code": code, "message": message})

    def drop(self, key: str) -> None:
        """Takes a frame and everything below it away, and cancels what is under way there."""
        doomed = [key]
        for doomed_key in doomed:
            frame = self.frames[doomed_key]
            doomed.extend(children_of(frame))
            if frame["kind"] == "loop" and "reason" not in frame:
                loop_result.abandon_loop(self, doomed_key)
            if "reserve" in frame:
                budget.abandon(self, frame)
            if frame.get("waits"):
                for address in list(frame["waits"]):
                    self.forget(address)
            for scope in ("own_scope", "inner"):
                if scope in frame:
                    self.drop_scope(frame[scope])
        for doomed_key in doomed:
            del self.frames[doomed_key]

    def _next(self) -> str:
        self.state["next"] += 1
        return str(self.state["next"])

    def _count_task(self, key: str, step: int) -> None:
        """Each loop knows how many tasks are waited for in it."""
        loop = self.frames[key]["loop"]
        while loop is not None:
            around = self.frames[loop]
            around["open"] = around.get("open", 0) + step
            loop = around["loop"]

    def _may_be_performed(self, address: str) -> bool:
        entry = self.pending.get(address)
        return entry is not None and "sent" not in entry and self.state["status"] != "paused"

    def _deliver(self, event: Event) -> None:
        if event.kind == "gate.decided" and control.is_repeated(self, event):
            return
        entry = self.pending.get(event.address)
        if entry is None or event.kind.partition(".")[0] not in _TOLD_BY[entry["what"]]:
            run.account_for_late(self, event)
            return
        if entry["what"] == "alarm" and event.address.endswith("/:timeout"):
            behaviours.time_out(self, entry["frame"], event.address)
        else:
            behaviours.of(self.frames[entry["frame"]]).receive(self, entry["frame"], event)

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
                run.stop_endless(self, STEPS_MAX)
                return
            key, outcome = agenda.popleft()
            frame = frames.get(key)
            if frame is None:
                continue
            if outcome is None:
                behaviours.of(frame).enter(self, key)
            else:
                behaviours.leave(self, key, outcome)

    def _set_timers_again(self) -> None:
        for address, entry in self.pending.items():
            if "due" in entry:
                self.command(SetTimer(address, entry["due"]))


def _upgrade(frames: dict[str, Frame]) -> None:
    """Brings frames of older snapshots to their present form; plateaus begin to count anew."""
    for frame in frames.values():
        if isinstance(frame.get("waits"), list):
            frame["waits"] = dict.fromkeys(frame["waits"], 1)
        if isinstance(frame.get("stale"), int):
            del frame["stale"]


def _new_state() -> dict[str, Any]:
    return {
        "format": FORMAT,
        "status": "new",
        "run": "",
        "at": 0.0,
        "seed": "",
        "next": 0,
        "notes": 0,
        "frames": {},
        "scopes": {},
        "pending": {},
        "root": "",
        "warned": [],
        "sessions": {},
        "limits": {},
        "usage": {},
        "reserved": {},
        "abandoned": {},
        "iterations": None,
        "memory": {},
        "unanswered": {},
        "result": None,
    }
