"""The state of a run, and what constructs may do with it; it knows no construct by name.

Its whole content is one JSON value. `Machine` feeds it; the files of the constructs change it.
"""

from __future__ import annotations

import json
from collections import deque
from typing import TYPE_CHECKING, Any, Protocol, cast

from whorl.errors import StoreError
from whorl.interpreter.commands import Cancel, Command, SetTimer
from whorl.interpreter.evaluation import FrameScope
from whorl.interpreter.events import Event
from whorl.interpreter.frames import children_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from whorl.interpreter.frames import (
        BlockFrame,
        ForEachFrame,
        Frame,
        FrameFields,
        LoopFrame,
        Outcome,
        RunState,
        TaskFrame,
        Waiting,
    )
    from whorl.interpreter.plan import Plan
    from whorl.ir import Node
    from whorl.language import Json

FORMAT = 1
ENDED = frozenset({"succeeded", "failed", "cancelled"})
# What is waited for, and the kinds of events that can tell of it.
TOLD_BY = {"task": ("task",), "timer": ("timer",), "alarm": ("timer",), "gate": ("gate",)}


class Behaviour(Protocol):
    """What a construct's module has to offer."""

    def enter(self, machine: State, key: str) -> None:
        """The frame's turn has come."""

    def child_left(self, machine: State, key: str, child: str, outcome: Outcome) -> None:
        """A frame right below has ended."""

    def receive(self, machine: State, key: str, event: Event) -> None:
        """An event that the frame waits for has come."""

    def ask_again(self, machine: State, key: str, address: str) -> None:
        """After a restart: wants again what was wanted at an address and not yet sent."""

    def revive(self, machine: State, key: str) -> None:
        """A person resumes a failed run: tries again what failed in here."""


class State:
    """What a run is at a moment."""

    def __init__(
        self,
        plan: Plan,
        behaviours: Mapping[str, Behaviour],
        abandon: Callable[[State, str], None],
        state: RunState | None = None,
    ) -> None:
        self._behaviours = behaviours
        self._abandon = abandon
        self.plan = plan
        self.state: RunState = state if state is not None else _new_state()
        if self.state["format"] != FORMAT:
            raise StoreError(f"this run was stored by a newer version ({self.state['format']})")
        self.frames = self.state["frames"]
        # The same frames for those who know what kind they ask for.
        self.block_frames = cast("dict[str, BlockFrame]", self.frames)
        self.foreach_frames = cast("dict[str, ForEachFrame]", self.frames)
        self.loop_frames = cast("dict[str, LoopFrame]", self.frames)
        self.task_frames = cast("dict[str, TaskFrame]", self.frames)
        self.pending: dict[str, Waiting] = self.state["pending"]
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
        self._open = dict.fromkeys(TOLD_BY, 0)
        for entry in self.pending.values():
            self._open[entry["what"]] += 1
        if state is not None:
            _upgrade(cast("dict[str, dict[str, Any]]", self.frames))

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
        while (around := scopes[scope]["up"]) is not None:
            scope = around
        return scopes[scope]["values"]

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
        place = {"kind": kind, "parent": parent, "scope": scope, "loop": loop}
        self.frames[key] = cast("Frame", place | fields)
        return key

    def behaviour(self, frame: Frame) -> Behaviour:
        """What the construct of a frame does."""
        return self._behaviours[frame["kind"]]

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
                self.behaviour(self.frames[key]).ask_again(self, key, address)

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
        self.behaviour(frame).revive(self, key)

    def command(self, command: Command) -> None:
        """Wants something done."""
        self._commands.append(command)

    def expect(self, address: str, key: str, what: str, **fields: Json) -> None:
        """Waits for an event at an address: a task, a timer, a gate, or an alarm (a time limit)."""
        self.pending[address] = cast("Waiting", {"frame": key, "what": what, **fields})
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
            self._abandon(self, doomed_key)
            if frame.get("waits"):
                for address in list(frame["waits"]):
                    self.forget(address)
            for scope in (frame.get("own_scope"), frame.get("inner")):
                if scope:
                    self.drop_scope(scope)
        for doomed_key in doomed:
            del self.frames[doomed_key]

    def drop_body(self, frame: FrameFields) -> None:
        """Takes the frame's body away, where there is one."""
        if body := frame.get("body"):
            self.drop(body)
            frame["body"] = None

    def _next(self) -> str:
        self.state["next"] += 1
        return str(self.state["next"])

    def _count_task(self, key: str, step: int) -> None:
        """Each loop knows how many tasks are waited for in it."""
        loop = self.frames[key]["loop"]
        while loop is not None:
            around = self.loop_frames[loop]
            around["open"] = around.get("open", 0) + step
            loop = around["loop"]


def _upgrade(frames: dict[str, dict[str, Any]]) -> None:
    """Brings frames of older snapshots to their present form; plateaus begin to count anew."""
    for frame in frames.values():
        if isinstance(frame.get("waits"), list):
            frame["waits"] = dict.fromkeys(frame["waits"], 1)
        if isinstance(frame.get("stale"), int):
            del frame["stale"]


def _new_state() -> RunState:
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
