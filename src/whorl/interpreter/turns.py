"""Turns: a task that wants tools before it answers goes on when it has their results.

A reply with `calls` is not the end of a task. Each call becomes a task of its own at `node/:tool1`,
`node/:tool2`, ...; then the task is performed again at `node/:turn2`, its input `turns` longer by
what it `said` and by the results. So every call of a model and of a tool is journaled by itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whorl.interpreter.address import inner
from whorl.interpreter.frames import discard
from whorl.interpreter.outcomes import error, failed, is_failure
from whorl.interpreter.plan import TOOL_KINDS, tool_key

if TYPE_CHECKING:
    from whorl.interpreter.events import Event
    from whorl.interpreter.frames import Outcome, TaskFrame
    from whorl.interpreter.state import State
    from whorl.ir import Task
    from whorl.language import Json

TURNS_MAX = 10
# A tool that is no longer what the model was told about ends the task; what else goes wrong with a
# tool, a model may find its way around.
_CHANGED = "P122"
_TOO_MANY = "P124"


def wanted(node: Task, event: Event) -> list[dict[str, Json]]:
    """The tools that a reply wants before it is an answer."""
    calls = event.body.get("calls")
    if node.kind != "ask" or not isinstance(calls, list):
        return []
    return [call for call in calls if isinstance(call, dict)]


def begin(machine: State, key: str, calls: list[dict[str, Json]], said: Json) -> bool:
    """Starts the tools that a reply wants; true when nothing is to be waited for."""
    frame = machine.task_frames[key]
    turns = frame.setdefault("turns", {"root": frame["address"], "number": 1, "tools": 0})
    if turns["number"] >= _limit(frame):
        machine.finish(key, failed(_too_many(frame)))
        return False
    frame["said"] = said
    frame["results"] = [{"role": "tool", "id": call.get("id")} for call in calls]
    frame["children"] = {}
    for index, call in enumerate(calls):
        if call.get("kind") in TOOL_KINDS:
            _start(machine, key, index, call)
        else:
            frame["results"][index]["error"] = call.get("error") or "there is no such tool"
    return _all_in(machine, key)


def collect(machine: State, key: str, child: str, outcome: Outcome) -> bool:
    """A tool has ended; true when it was the last one."""
    frame = machine.task_frames[key]
    index = next(at for at, found in frame["children"].items() if found == child)
    del frame["children"][index]
    result = frame["results"][int(index)]
    if not is_failure(outcome):
        result["value"] = outcome["value"]
    elif _is_final(outcome):
        for other in list(frame["children"].values()):
            machine.drop(other)
        frame["children"] = {}
        machine.finish(key, failed(outcome["error"], status=outcome["status"]))
        return False
    else:
        result["error"] = outcome["error"].get("cause", outcome["error"])["message"]
    return _all_in(machine, key)


def _start(machine: State, key: str, index: int, call: dict[str, Json]) -> None:
    frame = machine.task_frames[key]
    frame["turns"]["tools"] += 1
    address = inner(frame["turns"]["root"], f"tool{frame['turns']['tools']}")
    child = machine.new_frame(
        "task",
        parent=key,
        scope=frame["scope"],
        node=tool_key(frame["node"], str(call["kind"])),
        name=str(call.get("name") or call["kind"]),
        base=address,
        address=address,
        attempt=1,
        extra=call.get("inputs") or {},
    )
    frame["children"][str(index)] = child
    machine.enter(child)


def _all_in(machine: State, key: str) -> bool:
    """When all results are there: makes the frame ready for its next turn."""
    frame = machine.task_frames[key]
    if frame["children"]:
        return False
    frame["turns"]["number"] += 1
    discard(frame, "repair", "repairs", "retries")
    before: Any = frame["inputs"].get("turns") or []
    frame["inputs"] = frame["inputs"] | {
        "turns": [*before, frame.pop("said"), *frame.pop("results")]
    }
    frame["base"] = inner(frame["turns"]["root"], f"turn{frame['turns']['number']}")
    # Attempts of a node are counted through, those of a turn begin anew.
    frame["attempts_before"] = frame["attempt"] - 1
    return True


def _limit(frame: TaskFrame) -> int:
    told: Any = frame["inputs"].get("max_turns")
    is_count = isinstance(told, int) and not isinstance(told, bool) and told > 0
    return int(told) if is_count else TURNS_MAX


def _is_final(outcome: Outcome) -> bool:
    fault = outcome["error"]
    code = str(fault.get("cause", fault).get("code", ""))
    return code == _CHANGED or code.startswith("R") or outcome["status"] == "cancelled"


def _too_many(frame: TaskFrame) -> dict[str, Any]:
    name, count = frame.get("name") or frame["address"], _limit(frame)
    message = f"it still wanted tools in turn {count}, its last one; raise max_turns"
    cause: Json = {"code": _TOO_MANY, "message": message}
    return error("R100", f"{name!r} failed: {message}", frame["address"], cause=cause)
