"""What the state of a run holds, by key: frames of each kind, their nodes, the names they see."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

from whorl.errors import StoreError
from whorl.interpreter.evaluation import FrameScope
from whorl.language import Meter
from whorl.language.chunked_json import write_pieces

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whorl.interpreter import frames
    from whorl.interpreter.frames import Frame, FrameFields, RunState, Values
    from whorl.interpreter.plan import BlockPlan, Plan
    from whorl.ir import Loop, Task

FORMAT = 1
_ENCODE = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode
ENDED = frozenset({"succeeded", "failed", "cancelled"})


class Contents:
    """One JSON value, and the plan that its keys lead into."""

    def __init__(self, plan: Plan, state: RunState | None = None) -> None:
        self.plan = plan
        self.state: RunState = state if state is not None else _new_state()
        if self.state["format"] != FORMAT:
            raise StoreError(f"this run was stored by a newer version ({self.state['format']})")
        self.frames = self.state["frames"]
        # The same frames for those who know what kind they ask for.
        self.block_frames = cast("dict[str, frames.BlockFrame]", self.frames)
        self.foreach_frames = cast("dict[str, frames.ForEachFrame]", self.frames)
        self.loop_frames = cast("dict[str, frames.LoopFrame]", self.frames)
        self.plain_frames = cast("dict[str, frames.PlainFrame]", self.frames)
        self.task_frames = cast("dict[str, frames.TaskFrame]", self.frames)
        self.pending: dict[str, frames.Waiting] = self.state["pending"]
        for frame in self.frames.values():
            # Older snapshots have a list of what is waited for.
            if isinstance(frame.get("waits"), list):
                frame["waits"] = dict.fromkeys(frame["waits"], 1)
        self.meter = Meter(self.state.get("behaviour", 1))

    def snapshot(self, *, in_pieces: bool = False) -> str:
        """The state as a text; one call for all of a large one would hold up other threads."""
        return "".join(write_pieces(self.state, _ENCODE)) if in_pieces else _ENCODE(self.state)

    @property
    def status(self) -> str:
        """running, waiting, paused, or how the run ended."""
        return self.state["status"]

    @property
    def done(self) -> bool:
        return self.state["status"] in ENDED

    @property
    def now(self) -> float:
        return self.state["at"]

    def node(self, frame: FrameFields) -> Any:
        """The node that a frame runs; its type is that of the frame's kind."""
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

        Names that are `hidden` are not looked up around it: in it they are not defined yet.
        """
        key = self._next()
        self.state["scopes"][key] = {"values": values, "up": up}
        if hidden:
            self.state["scopes"][key]["hidden"] = list(hidden)
        return key

    def values_at(self, scope: str) -> Values:
        return self.state["scopes"][scope]["values"]

    def root_values(self, scope: str) -> Values:
        """The values of the outermost scope around a scope: inputs and variables."""
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


def _new_state() -> RunState:
    tables = "frames scopes pending sessions limits usage reserved abandoned memory unanswered"
    state: Any = {"format": FORMAT, "status": "new", "run": "", "at": 0.0, "seed": "", "root": ""}
    state |= {"next": 0, "notes": 0, "warned": [], "iterations": None, "result": None}
    return state | {name: {} for name in tables.split()}  # type: ignore[no-any-return]
