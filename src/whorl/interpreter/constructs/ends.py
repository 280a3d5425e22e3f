"""How the nodes of a block end, what is kept of that, and what it makes of the block.

A block's status is that of its last nodes; a last node that was skipped because of another one
stands for that other one. So a failure that a later node deals with is no failure of the block.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whorl.interpreter import outcomes
from whorl.interpreter.events import attempted, join

if TYPE_CHECKING:
    from whorl.interpreter.frames import BlockFrame, End, Outcome
    from whorl.interpreter.plan import BlockPlan
    from whorl.interpreter.state import State
    from whorl.ir import After, Node
    from whorl.language import Json


# How a node ended is kept by its name. Most nodes just succeed.
SUCCEEDED: End = {"status": "succeeded"}
SKIPPED_BY_CONDITION: End = {"status": "skipped", "cause": "condition"}
SKIPPED_BY_ORDER: End = {"status": "skipped", "cause": "order"}
SKIPPED_BY_HALT: End = {"status": "skipped", "cause": "halt"}


def is_lost(end: End) -> bool:
    return end["status"] in ("failed", "timed_out", "cancelled") and not end.get("tolerated")


def satisfies(end: End, after: After) -> bool:
    """Whether a node that has ended is what another one waits for."""
    status = end["status"]
    if "passed" in after.statuses and (
        status == "succeeded" or end.get("cause") == "condition" or end.get("tolerated")
    ):
        return True
    return status in after.statuses


def end_of(
    machine: State, frame: BlockFrame, node: Node, outcome: Outcome, attempt: int = 1
) -> End:
    if outcome["status"] == "succeeded" and attempt == 1:
        return SUCCEEDED
    end: End = {"status": outcome["status"]}
    if attempt > 1:
        end["attempt"] = attempt
    if outcomes.is_failure(outcome):
        end["error"] = outcome["error"]
        if node.on_failure == "continue" and outcome["status"] != "cancelled":
            end["tolerated"] = True
            address = attempted(join(frame["address"], node.name), attempt)
            if "noted" not in outcome:
                machine.note("node.finished", address, {"status": "failed", "error": end["error"]})
            message = f"{end['error']['message']}; the run went on without it"
            machine.warn(address, "R100", message, facts=outcomes.error_facts(end["error"]))
    return end


def record(
    machine: State, frame: BlockFrame, name: str, end: End, value: Json = None, **facts: Json
) -> None:
    """Keeps how a node ended and what it gave; the facts are for records of it."""
    frame["ends"][name] = end
    frame["left"] -= 1
    if end is not SUCCEEDED and is_lost(end):
        frame["lost"] = True
    if end["status"] != "skipped":
        machine.state["scopes"][frame["scope"]]["values"][name] = value
    if machine.observer is not None:
        machine.observer.recorded(machine, frame, name, end, value)
    if machine.plan.recorders:
        plan = machine.plan.blocks[frame["block"]]
        recorder = machine.plan.recorder(plan.key + name)
        if recorder is not None:
            table: Any = machine.scope_at(frame["scope"]).lookup(recorder.table)
            facts = {"started": machine.now, "inputs": None, "taken": None} | facts
            facts |= {"now": machine.now, "value": value}
            recorder.node_ended(table, plan.nodes[name], end, frame["ends"], **facts)


def outcome_of(frame: BlockFrame, plan: BlockPlan) -> Outcome:
    ends = frame["ends"]
    if all(end["status"] == "succeeded" for end in ends.values()):
        return outcomes.succeeded()
    leaves = [name for name, followers in plan.followers.items() if not followers]
    seen: set[str] = set()
    blamed: set[str] = set()
    for name in leaves:
        if name in seen:
            continue
        seen.add(name)
        end = ends[name]
        if end["status"] == "skipped" and end["cause"] != "condition":
            leaves.extend(after.node for after in plan.nodes[name].after)
        elif is_lost(end):
            blamed.add(name)
    if not blamed:
        return outcomes.succeeded()
    first = next(name for name in plan.nodes if name in blamed)
    status = "failed" if ends[first]["status"] == "cancelled" else ends[first]["status"]
    return outcomes.failed(ends[first]["error"], status=status)
