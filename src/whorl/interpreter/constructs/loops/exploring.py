"""Exploring loops: they run a number of iterations, and return what their rule would have.

If the rule would have ended the loop, its result at that point is kept. It is put back at the end,
so that exploring costs more but does not change results. A break, an iteration that halts the loop
and the budget of the run end an exploring loop as any other. A loop that failed or lacked money
within its rule explores again when the run continues it.
"""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any

from whorl.interpreter.frames import discard

if TYPE_CHECKING:
    from whorl.interpreter.frames import Amounts, LoopFrame
    from whorl.interpreter.state import State

# What the result of a loop is made from.
_RESULT = (
    *("count", "last", "previous", "first", "best", "all", "collected", "score", "outside"),
    *("failed", "failures", "fault", "failure", "usage"),
)
# A loop that ended like this within its rule can go on.
_OPEN = ("failed", "budget")
# These values are changed in place.
_CHANGING = frozenset({"all", "collected", "failed", "usage"})


def begin(machine: State, key: str) -> None:
    """Sets up a loop that the run was asked to explore; a loop inside another one is left alone."""
    frame = machine.loop_frames[key]
    most = machine.state.get("explore", {}).get(frame["name"])
    if most is not None and frame["loop"] is None:
        frame["explore"] = {"most": int(most), "extra": {}}


def has_ended(frame: LoopFrame) -> bool:
    """Checks whether the rule of an exploring loop has ended it while it keeps running."""
    return "own" in frame.get("explore", {})


def went_past(frame: LoopFrame) -> bool:
    """Checks whether a loop has ended and has explored iterations past those of its rule."""
    return "explored" in frame and frame["explored"] > frame["count"]


def is_done(frame: LoopFrame) -> bool:
    return has_ended(frame) and frame["count"] >= frame["explore"]["most"]


def keep_end(machine: State, key: str, reason: str, by: str = "") -> None:
    """Keeps what the loop would return, because its rule ends it now."""
    frame = machine.loop_frames[key]
    explore = frame["explore"]
    if "own" in explore:
        return
    values: dict[str, Any] = {name: frame.get(name) for name in _RESULT if name in frame}
    fields = {n: deepcopy(v) if n in _CHANGING else v for n, v in values.items()}
    fields["usage"] = own_usage(frame)
    # The variables of the workflow around the loop, and a dialect's records of its steps.
    names = [name for name, _ in machine.plan.owners[frame["node"]].variables]
    if recorder := machine.plan.recorder(frame["node"]):
        names += [recorder.table, recorder.variables]
    around = machine.root_values(frame["scope"])
    variables = {name: deepcopy(around[name]) for name in names if name in around}
    explore["own"] = {"reason": reason, "by": by, "fields": fields, "variables": variables}


def put_back(machine: State, key: str, reason: str, by: str) -> tuple[str, str]:
    """Ends an exploring loop: restores the values and the exit that its rule had left it with."""
    frame = machine.loop_frames[key]
    explore = frame.pop("explore", None)
    if explore is None:
        return reason, by
    frame["explored"] = frame["count"]
    frame["usage"] = own_usage(frame, explore["extra"])
    if "own" not in explore:
        if reason in _OPEN:
            frame["aside"] = explore
            explore["extra"] = {}
        return reason, by
    own = explore["own"]
    machine.drop_body(frame)
    discard(frame, "suspended", "out_of_budget")
    discard(frame, *_RESULT)
    frame.update(own["fields"])
    machine.root_values(frame["scope"]).update(own["variables"])
    return own["reason"], own["by"]


def take_up(frame: LoopFrame) -> None:
    """Makes a loop explore again that ended within its rule and is now continued."""
    if "aside" in frame:
        frame["explore"] = frame.pop("aside")
        frame.pop("explored", None)


def own_usage(frame: LoopFrame, extra: Amounts | None = None) -> Amounts:
    """Returns the usage of the loop without that of judges asked beside its rule."""
    extra = frame["explore"]["extra"] if extra is None else extra
    left = {name: used - extra.get(name, 0) for name, used in frame["usage"].items()}
    return {name: round(amount, 12) for name, amount in left.items() if amount > 1e-12}
