"""Exploring loops: they go on to a number of iterations, and return what their rule would have.

Where the rule would have ended the loop, what it would have returned is kept; at the end it is put
back, so that exploring costs more and changes no result. A break, an iteration that halts the loop
and the budget of the run end an exploring loop as they end any other. Of a run that was asked to
try `again` what a budget cuts, it may fail with the run, so that this call can be tried again; and
where such a run goes on with a loop that failed within its rule, or lacked money there, what was
put aside is taken up: the loop goes on exploring.
"""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any

from whorl.interpreter.frames import discard, is_cut

if TYPE_CHECKING:
    from whorl.interpreter.frames import Amounts, Error, LoopFrame, Values
    from whorl.interpreter.state import State

# What the result of a loop is made from.
_RESULT = (
    *("count", "last", "previous", "first", "best", "all", "collected", "score", "outside"),
    *("failed", "failures", "fault", "failure", "usage"),
)
# A loop that ended like this within its rule can go on.
_OPEN = ("failed", "budget")
# Of these the values are changed where they stand.
_CHANGING = frozenset({"all", "collected", "failed", "usage"})


def begin(machine: State, key: str) -> None:
    """Sets a loop up that the run was asked to explore; one inside another loop is left alone."""
    frame = machine.loop_frames[key]
    most = machine.state.get("explore", {}).get(frame["name"])
    if most is not None and frame["loop"] is None:
        frame["explore"] = {"most": int(most), "extra": {}}
        if frame["name"] in machine.state.get("again", ()):
            frame["explore"]["again"] = True


def has_ended(frame: LoopFrame) -> bool:
    """Whether the rule of an exploring loop has ended it, and it goes on all the same."""
    return "own" in frame.get("explore", {})


def is_unanswered(frame: LoopFrame, error: Error) -> bool:
    """Whether a budget cut an answer behind the rule of a loop, which is asked for again then."""
    return "again" in frame.get("explore", {}) and has_ended(frame) and is_cut(error)


def went_past(frame: LoopFrame) -> bool:
    """Whether a loop has ended, and has explored iterations behind those of its rule."""
    return "explored" in frame and frame["explored"] > frame["count"]


def goes_past(frame: LoopFrame) -> bool:
    """Whether a loop is to have more iterations, whatever its own limit of them is."""
    return "explore" in frame and frame["count"] < frame["explore"]["most"]


def is_done(frame: LoopFrame) -> bool:
    return has_ended(frame) and frame["count"] >= frame["explore"]["most"]


def keep_end(machine: State, key: str, reason: str, by: str = "") -> None:
    """The rule ends the loop now: keeps what it would return."""
    frame = machine.loop_frames[key]
    explore = frame["explore"]
    if "own" in explore:
        return
    values: dict[str, Any] = {name: frame.get(name) for name in _RESULT if name in frame}
    fields = {n: deepcopy(v) if n in _CHANGING else v for n, v in values.items()}
    fields["usage"] = own_usage(frame)
    variables = {name: deepcopy(value) for name, value in _variables(machine, frame).items()}
    explore["own"] = {"reason": reason, "by": by, "fields": fields, "variables": variables}


def put_back(machine: State, key: str, reason: str, by: str) -> tuple[str, str]:
    """An exploring loop ends: gives it what its rule had left it with, and that end."""
    frame = machine.loop_frames[key]
    explore = frame.pop("explore", None)
    if explore is None:
        return reason, by
    frame["explored"] = frame["count"]
    frame["usage"] = own_usage(frame, explore["extra"])
    if "own" not in explore:
        if "again" in machine.state and reason in _OPEN:
            frame["aside"] = explore
            explore["extra"] = {}
        return reason, by
    own = explore["own"]
    machine.drop_body(frame)
    discard(frame, "suspended", "out_of_budget")
    discard(frame, *_RESULT)
    frame.update(own["fields"])  # type: ignore[typeddict-item]
    machine.root_values(frame["scope"]).update(own["variables"])
    return own["reason"], own["by"]


def take_up(frame: LoopFrame) -> None:
    """A loop goes on that ended within its rule: it explores as it was to."""
    if "aside" in frame:
        frame["explore"] = frame.pop("aside")
        frame.pop("explored", None)


def own_usage(frame: LoopFrame, extra: Amounts | None = None) -> Amounts:
    """What the loop has used without what it asked judges beside its rule."""
    extra = frame["explore"]["extra"] if extra is None else extra
    left = {name: used - extra.get(name, 0) for name, used in frame["usage"].items()}
    return {name: round(amount, 12) for name, amount in left.items() if amount > 1e-12}


def count_extra(frame: LoopFrame) -> None:
    """Judges were asked beside the rule: what that used is not the rule's."""
    before, extra = frame.pop("rest_from"), frame["explore"]["extra"]
    for name, used in frame["usage"].items():
        extra[name] = extra.get(name, 0) + used - before.get(name, 0)


def _variables(machine: State, frame: LoopFrame) -> Values:
    """The variables of the workflow around a loop, and what a dialect records of its steps."""
    owner = machine.plan.owners[frame["node"]]
    names = [name for name, _ in owner.variables]
    if recorder := machine.plan.recorder(frame["node"]):
        names += [recorder.table, recorder.variables]
    values = machine.root_values(frame["scope"])
    return {name: values[name] for name in names if name in values}
