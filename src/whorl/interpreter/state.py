"""The state of a run, and what constructs may do with it; it knows no construct by name."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, cast

from whorl.errors import StoreError
from whorl.interpreter.evaluation import FrameScope
from whorl.interpreter.events import Cancel, Command, Event, SetTimer
from whorl.interpreter.frames import children_of, error_at, failed, out_of_time
from whorl.language import Meter

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence

    from whorl.interpreter import frames
    from whorl.interpreter.frames import End, Error, Frame, FrameFields, Outcome, RunState, Values
    from whorl.interpreter.plan import BlockPlan, Plan
    from whorl.ir import Loop, Node, Task
    from whorl.language import Json


FORMAT = 1
ENDED = frozenset({"succeeded", "failed", "cancelled"})


def _new_state() -> RunState:
    tables = "frames scopes pending sessions limits usage reserved abandoned memory unanswered"
    state: Any = {"format": FORMAT, "status": "new", "run": "", "at": 0.0, "seed": "", "root": ""}
    state |= {"next": 0, "notes": 0, "warned": [], "iterations": None, "result": None}
    return state | {name: {} for name in tables.split()}  # type: ignore[no-any-return]


ENDLESS = 2**62
# What is waited for, and the kinds of events that can end the wait.
ENDED_BY = {"task": ("task",), "timer": ("timer",), "alarm": ("timer",), "gate": ("gate",)}
ENDED_BY["program"] = ("program",)


class OutOfTurn(Exception):
    """A node's values are not complete at the end of a slice; the next slice continues them."""


class Behaviour:
    """What a construct does with its frames."""

    # Whether a frame stays after its end, so that a loop in it can be reopened and what failed in
    # it can be tried again.
    stays = False

    def enter(self, machine: State, key: str) -> None:
        """Starts the frame when its turn comes. An expression that fails here fails the frame."""
        raise NotImplementedError

    def child_left(self, machine: State, key: str, child: str, outcome: Outcome) -> None:
        """Handles the end of a frame right below."""

    def receive(self, machine: State, key: str, event: Event) -> None:
        """Handles an event that the frame waits for."""

    def ask_again(self, machine: State, key: str, address: str) -> None:
        """Requests again, after a restart, what was requested at an address and not yet sent."""

    def revive(self, machine: State, key: str) -> None:
        """Retries what failed in the frame, or all of it, when a person resumes a failed run."""
        if body := machine.frames[key].get("body"):
            machine.revive(body)
        else:
            machine.enter(key)

    def go_on(self, machine: State, key: str, nodes: list[str]) -> None:
        """Continues what a slice has left over."""

    def reopen(self, machine: State, key: str, child: str) -> None:
        """Reopens the frame because a frame right below continues after it had ended."""

    def abandon(self, machine: State, key: str) -> None:
        """Cleans up before the frame is removed, in any state."""

    def fail(self, machine: State, key: str, error: Error) -> None:
        machine.finish(key, failed(error))

    def time_out(self, machine: State, key: str) -> None:
        """Ends the frame when the time of its node is over, and cancels what runs in it."""
        frame = machine.frames[key]
        machine.drop_children(frame)
        machine.forget_if_pending(*frame.get("waits", ()))
        frame["out_of_time"] = True
        machine.finish(key, failed(out_of_time(frame), status="timed_out"))


class Observer:
    """Watches while a journal is folded, and changes nothing; a live run has no observer."""

    def taking(self, machine: State, event: Event) -> None:
        """Notes that an event is about to be taken in."""

    def begun(self, machine: State, key: str) -> None:
        """Notes that a frame was made."""

    def left(self, machine: State, key: str, outcome: Outcome) -> None:
        """Notes that a frame has ended; it may continue if a person reopens it."""

    def dropped(self, machine: State, key: str) -> None:
        """Notes that a frame is removed, in any state."""

    def computing(self, machine: State, frame: frames.BlockFrame, node: Node) -> None:
        """Notes that a node of a block is about to be computed, without a frame."""

    def recorded(
        self, machine: State, frame: frames.BlockFrame, name: str, end: End, value: Json
    ) -> None:
        """Notes that a node of a block has ended or is skipped; a frame has `left` before."""

    def closed(self, machine: State, key: str, note: Values) -> None:
        """Notes that an iteration of a loop has ended; the note says how."""


class State:
    """One JSON value, the plan that its keys lead into, and the work to do."""

    def __init__(
        self, plan: Plan, behaviours: Mapping[str, Behaviour], state: RunState | None = None
    ) -> None:
        self.state: RunState = state if state is not None else _new_state()
        self.use(plan)
        if self.state["format"] != FORMAT:
            raise StoreError(f"this run was stored by a newer version ({self.state['format']})")
        self.frames = self.state["frames"]
        # The same frames for those who know what kind they ask for.
        self.block_frames = cast("dict[str, frames.BlockFrame]", self.frames)
        self.foreach_frames = cast("dict[str, frames.ForEachFrame]", self.frames)
        self.loop_frames = cast("dict[str, frames.LoopFrame]", self.frames)
        self.plain_frames = cast("dict[str, frames.PlainFrame]", self.frames)
        self.program_frames = cast("dict[str, frames.ProgramFrame]", self.frames)
        self.task_frames = cast("dict[str, frames.TaskFrame]", self.frames)
        self.pending: dict[str, frames.Waiting] = self.state["pending"]
        self.meter = Meter()
        self._behaviours = behaviours
        self._commands: list[Command] = []
        self._notes: list[Event] = []
        # Work to do: a frame is entered, ends with an outcome, or continues with these nodes.
        self._agenda: deque[tuple[str, Outcome | list[str] | None]] = deque()
        # How many steps were done since the last event, and where the present slice ends.
        self.steps = 0
        self.steps_end = self.fuel_end = ENDLESS
        self._unfinished: dict[str, Generator[None, None, list[Json]]] = {}
        # No part of the state.
        self.observer: Observer | None = None
        # Whether it is fed stars in the place of secrets.
        self.is_blind = False
        self._unaskable: list[str] = []
        # Iterations at whose beginning it stops in the midst of an event, until it is forked there.
        self.stops: frozenset[str] = frozenset()
        self.stopped_at = ""
        # How often the code of a program has to begin again.
        self.restarts = 0
        # How much is waited for, by what it is.
        self.open = dict.fromkeys(ENDED_BY, 0)
        for entry in self.pending.values():
            self.open[entry["what"]] += 1

    def use(self, plan: Plan) -> None:
        """Uses a plan; a run of a program has its own, with what the code has requested."""
        if plan.has_program:
            started: Any = {"given": 0, "taken": 0, "answers": [], "grown": {}}
            program = self.state.setdefault("program", started)
            plan = plan.with_requested(program["grown"])
        self.plan = plan

    @property
    def status(self) -> str:
        """Returns running, waiting, paused, or how the run ended."""
        return self.state["status"]

    @property
    def done(self) -> bool:
        return self.state["status"] in ENDED

    @property
    def now(self) -> float:
        return self.state["at"]

    def node(self, frame: FrameFields) -> Any:
        """Returns the node that a frame runs; its type is that of the frame's kind."""
        return self.plan.nodes[frame["node"]]

    def loop(self, key: str) -> Loop:
        return self.plan.loops[self.frames[key]["node"]]

    def block(self, key: str) -> tuple[frames.BlockFrame, BlockPlan]:
        frame = self.block_frames[key]
        return frame, self.plan.blocks[frame["block"]]

    def task(self, key: str) -> tuple[frames.TaskFrame, Task]:
        frame = self.task_frames[key]
        return frame, self.plan.tasks[frame["node"]]

    def scope(self, frame: Frame) -> FrameScope:
        return FrameScope(self.state, frame["scope"], self.meter, frame)

    def scope_at(self, scope: str) -> FrameScope:
        return FrameScope(self.state, scope, self.meter)

    def new_scope(self, values: Values, up: str | None, hidden: Sequence[str] = ()) -> str:
        """Makes a scope inside another one (None: it sees nothing else).

        Names that are `hidden` are undefined in the scope: they are not looked up around it.
        """
        key = self._next()
        self.state["scopes"][key] = {"values": values, "up": up}
        if hidden:
            self.state["scopes"][key]["hidden"] = list(hidden)
        return key

    def values_at(self, scope: str) -> Values:
        return self.state["scopes"][scope]["values"]

    def root_values(self, scope: str) -> Values:
        """Returns the values of the outermost scope around a scope: inputs and variables."""
        scopes = self.state["scopes"]
        while (around := scopes[scope]["up"]) is not None:
            scope = around
        return scopes[scope]["values"]

    def drop_scope(self, scope: str | None) -> None:
        if scope:
            self.state["scopes"].pop(scope, None)

    def _next(self) -> str:
        self.state["next"] += 1
        return str(self.state["next"])

    def new_frame(self, kind: str, *, parent: str | None, scope: str, **fields: Json) -> str:
        """Makes a frame; it is entered when its turn comes."""
        key = self._next()
        loop = None
        if parent is not None:
            above = self.frames[parent]
            loop = parent if above["kind"] == "loop" else above["loop"]
        frame: Any = {"kind": kind, "parent": parent, "scope": scope, "loop": loop, **fields}
        self.frames[key] = frame
        if self.observer is not None:
            self.observer.begun(self, key)
        return key

    def behaviour(self, frame: Frame) -> Behaviour:
        return self._behaviours[frame["kind"]]

    def enter(self, key: str) -> None:
        """Puts a frame on the agenda."""
        self._agenda.append((key, None))

    def finish(self, key: str, outcome: Outcome) -> None:
        """Puts the end of a frame on the agenda."""
        self._agenda.append((key, outcome))

    def go_on_with(self, key: str, nodes: list[str]) -> None:
        """Continues a block with its next nodes before any other work."""
        self._agenda.appendleft((key, nodes))

    def go_on_later(self, key: str) -> None:
        """Continues a frame after all other work that is on the agenda now."""
        self._agenda.append((key, []))

    @property
    def has_work(self) -> bool:
        return bool(self._agenda)

    def may_go_on(self) -> bool:
        """Counts a step of several in one turn; returns false if it was the last of the slice.

        The last step of a turn is counted when the turn is over.
        """
        if self.steps + 1 >= self.steps_end or self.meter.fuel >= self.fuel_end:
            return False
        self.steps += 1
        return True

    def collect(
        self, place: str, begin: Callable[[], Generator[None, None, list[Json]]]
    ) -> list[Json]:
        """Collects values that are computed item by item; raises OutOfTurn if the slice is over."""
        work = self._unfinished.pop(place, None) or begin()
        try:
            while True:
                next(work)
                if not self.may_go_on():
                    self._unfinished[place] = work
                    raise OutOfTurn
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]

    def fail(
        self, key: str, code: str, message: str, *, status: str = "failed", **more: Json
    ) -> None:
        error = error_at(self.frames[key]["address"], code, message, **more)
        self.finish(key, failed(error, status=status))

    def ask_again(self) -> None:
        """Requests again every task that was requested and not sent."""
        for address, entry in list(self.pending.items()):
            if entry["what"] == "task" and "sent" not in entry:
                key = entry["frame"]
                self.behaviour(self.frames[key]).ask_again(self, key, address)

    def pause(self, by: str) -> None:
        """Pauses the run: no more work is handed out until a person resumes it."""
        self.state |= {"status": "paused", "paused_by": by, "paused_at": self.now}

    def revive(self, key: str) -> None:
        frame = self.frames[key]
        frame.pop("ended", None)
        self.behaviour(frame).revive(self, key)

    def command(self, command: Command) -> None:
        self._commands.append(command)

    def expect(self, address: str, key: str, what: str, **fields: Json) -> None:
        """Waits for an event at an address: a task, a timer, a gate, or an alarm (a time limit)."""
        entry: frames.Waiting = {"frame": key, "what": what, **fields}  # type: ignore[typeddict-item]
        self.pending[address] = entry
        self.frames[key].setdefault("waits", {})[address] = 1
        self.open[what] += 1
        if what == "task":
            self._count_task(key, 1)
        if "due" in entry:
            self.command(SetTimer(address, entry["due"], "date" in entry))

    def set_alarm(self, address: str, key: str, seconds: float | None) -> None:
        """Sets the alarm of a time limit, if there is one and its clock does not run yet."""
        if seconds is not None and address not in self.pending:
            self.expect(address, key, "alarm", due=self.now + seconds)

    def ask_person(self, address: str, key: str, reason: str, message: str, **facts: Json) -> None:
        self.expect(address, key, "gate")
        self.note("gate.waiting", address, {"reason": reason, "message": message, **facts})

    def settle(self, address: str) -> None:
        """Stops waiting for an event that has come."""
        entry = self.pending.pop(address)
        self.open[entry["what"]] -= 1
        if entry["what"] == "task":
            self._count_task(entry["frame"], -1)
        del self.frames[entry["frame"]]["waits"][address]

    def forget(self, address: str) -> None:
        """Stops waiting for an event that is no longer wanted."""
        entry = self.pending[address]
        self.settle(address)
        if entry["what"] != "gate":
            self.command(Cancel(address))

    def forget_if_pending(self, *addresses: str) -> None:
        for address in addresses:
            if address in self.pending:
                self.forget(address)

    def note(self, kind: str, address: str, body: Values | None = None) -> None:
        self.state["notes"] += 1
        if address in self.stops and kind == "iteration.started":
            self.stopped_at = address
        self._notes.append(Event(kind, address, self.state["at"], body or {}))

    def warn(
        self, address: str, code: str, message: str, *, once: str = "", facts: Values | None = None
    ) -> None:
        """Adds a warning for people; the same warning is added once."""
        warned = self.state["warned"]
        key = once or f"{code} {address.partition('[')[0]} {message}{facts or ''}"
        if key not in warned and len(warned) < 1_000:
            warned.append(key)
            body: Values = {"code": code, "message": message}
            self.note("warning", address, body | {"facts": facts} if facts else body)

    def warn_of(self, address: str, warning: Json) -> None:
        """Adds the warning of a node's `warns`: a router's text, or an object with a code."""
        if isinstance(warning, str):
            self.warn(address, "R113", warning)
        elif isinstance(warning, dict):
            self.warn(address, str(warning["code"]), str(warning["message"]))

    def drop(self, key: str) -> None:
        """Removes a frame and everything below it, and cancels what runs there."""
        if self._unfinished:
            self._unfinished.clear()
        frames, doomed = self.frames, [key]
        for doomed_key in doomed:
            doomed += children_of(frames[doomed_key])
        # What calls inside are charged with belongs to what is said of the loops around them.
        for doomed_key in reversed(doomed):
            frame = frames[doomed_key]
            self._behaviours[frame["kind"]].abandon(self, doomed_key)
            if self.observer is not None:
                self.observer.dropped(self, doomed_key)
            if frame.get("waits"):
                self.forget_if_pending(*frame["waits"])
            if "own_scope" in frame:
                self.drop_scope(frame["own_scope"])
            if "inner" in frame:
                self.drop_scope(frame["inner"])
        for doomed_key in doomed:
            del frames[doomed_key]

    def drop_children(self, frame: FrameFields) -> None:
        for child in children_of(frame):
            self.drop(child)
        frame.update({"children": {}, "body": None})

    def drop_body(self, frame: FrameFields) -> None:
        if body := frame.get("body"):
            self.drop(body)
            frame["body"] = None

    def _count_task(self, key: str, step: int) -> None:
        """Counts, for each loop, the tasks that it waits for."""
        loop = self.frames[key]["loop"]
        while loop is not None:
            around = self.loop_frames[loop]
            around["open"] = around.get("open", 0) + step
            loop = around["loop"]
