"""Exploring loops: they go on to a number of iterations, and return what their rule would have.

Where the rule would have ended the loop, what it would have returned is kept; at the end it is put
back, so that exploring costs more and changes no result. A break, an iteration that halts the loop
and the budget of the run end an exploring loop as they end any other. One that is asked to go on
later may fail with the run where a call got no whole answer: then that call can be tried again. So
may one of a run that was asked to try `again` what a budget cuts; and where such a run goes on with
a loop that failed within its rule, or lacked money there, what was put aside is taken up: the loop
goes on exploring. How far a loop went is kept beside its result: asked to explore once more, it
goes on from there.
"""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any

from whorl.interpreter.frames import discard, is_cut, is_outside

if TYPE_CHECKING:
    from whorl.interpreter.frames import Amounts, Error, Exploring, LoopFrame, Values
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
# How loops end that another iteration could follow.
_WHOLE = ("condition_met", "max_iterations")


def begin(machine: State, key: str) -> None:
    """Sets a loop up that the run was asked to explore; one inside another loop is left alone."""
    frame = machine.loop_frames[key]
    most = machine.state.get("explore", {}).get(frame["name"])
    if most is not None and frame["loop"] is None:
        frame["explore"] = {"most": int(most), "extra": {}}
        if frame["name"] in machine.state.get("again", ()):
            frame["explore"]["again"] = "cut"


def obstacle(frame: LoopFrame, body: Values) -> str:
    """Why a loop cannot go on without a change of its result, if it is asked to; or nothing."""
    place = repr(frame["address"])
    if not body.get("explore") or (has_ended(frame) and "ended" in frame):
        return ""
    if frame.get("reason") not in _WHOLE or "ended" not in frame:
        return f"loop {place} did not reach the end of its rule"
    if "explored" in frame and "explored_to" not in frame:
        return f"loop {place} was explored as far as it goes"
    return "" if frame["loop"] is None else f"loop {place} is inside another loop"


def go_on(machine: State, key: str, body: Any) -> None:
    """A loop that its rule has ended is to have more iterations: what it returned is kept.

    One that goes on otherwise is not what was explored any more.
    """
    frame = machine.loop_frames[key]
    reached = frame.pop("explored_to", None)
    if body.get("explore") and not has_ended(frame):
        explore: Exploring = {"most": 0, "extra": {}}
        frame["explore"] = explore
        if body.get("again"):
            explore["again"] = True
        keep_end(machine, key, str(frame["reason"]), str(body.get("by") or ""))
        if reached is not None:
            _go_back_to(machine, frame, reached)
        explore["most"] = frame["count"] + int(body.get("iterations") or 0)


def _go_back_to(machine: State, frame: LoopFrame, reached: dict[str, Values]) -> None:
    """Gives an explored loop what its last iteration had left; its rule was checked then."""
    _take(frame, reached["fields"])
    machine.root_values(frame["scope"]).update(reached["variables"])
    frame.pop("explored", None)
    frame["checked"] = True


def has_ended(frame: LoopFrame) -> bool:
    """Whether the rule of an exploring loop has ended it, and it goes on all the same."""
    return "own" in frame.get("explore", {})


def is_unanswered(frame: LoopFrame, error: Error) -> bool:
    """Whether what failed says nothing about the loop, which was asked to try it again then."""
    again = frame.get("explore", {}).get("again")
    if again == "cut":
        return has_ended(frame) and is_cut(error)
    return bool(again) and (is_cut(error) or is_outside(error))


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
    own = _reached(machine, frame)
    fields = own["fields"] | {"usage": {**own_usage(frame)}}
    variables = own["variables"]
    explore["own"] = {"reason": reason, "by": by, "fields": fields, "variables": variables}


def _reached(machine: State, frame: LoopFrame) -> dict[str, Values]:
    """What the iterations so far have left."""
    values: dict[str, Any] = {name: frame.get(name) for name in _RESULT if name in frame}
    fields = {n: deepcopy(v) if n in _CHANGING else v for n, v in values.items()}
    variables = {name: deepcopy(value) for name, value in _variables(machine, frame).items()}
    return {"fields": fields, "variables": variables}


def _take(frame: LoopFrame, values: Values) -> None:
    """Gives a loop another result, in place of the one that it has."""
    discard(frame, *_RESULT)
    frame.update(values)  # type: ignore[typeddict-item]


def put_back(machine: State, key: str, reason: str, by: str) -> tuple[str, str]:
    """An exploring loop ends: gives it what its rule had left it with, and that end."""
    frame = machine.loop_frames[key]
    explore = frame.pop("explore", None)
    if explore is None:
        return reason, by
    frame["explored"] = frame["count"]
    is_whole = frame["count"] >= explore["most"] and reason in _WHOLE and by != "break"
    if is_whole and "own" in explore:
        frame["explored_to"] = _reached(machine, frame)
    frame["usage"] = own_usage(frame, explore["extra"])
    if "own" not in explore:
        if "again" in machine.state and reason in _OPEN:
            frame["aside"] = explore
            explore["extra"] = {}
        return reason, by
    own = explore["own"]
    machine.drop_body(frame)
    discard(frame, "suspended", "out_of_budget")
    _take(frame, own["fields"])
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
