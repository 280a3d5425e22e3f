"""Blocks: each node runs once the nodes that it waits for have ended; the others run in parallel.

Nodes that need no frame are skipped, or only compute. How nodes end says how the block ends.
"""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING, Any

from whorl.interpreter import frames
from whorl.interpreter.constructs.task import may_help, pause
from whorl.interpreter.evaluation import OverlayScope, changed, value_of, values_over
from whorl.interpreter.events import attempted, inner, join
from whorl.interpreter.frames import discard, is_failure
from whorl.interpreter.state import Behaviour, OutOfTurn
from whorl.ir import Assign, Call, Compute, Task
from whorl.language import LanguageError, truth

if TYPE_CHECKING:
    from whorl.interpreter.events import Event
    from whorl.interpreter.frames import BlockFrame, End, Outcome, Values
    from whorl.interpreter.plan import BlockPlan
    from whorl.interpreter.state import State
    from whorl.ir import After, Node
    from whorl.language import Json


@cache
def kind_of(node: str) -> str:
    return "signal" if node in ("Stop", "Break", "Continue") else node.lower()


def new_block(machine: State, block: str, *, parent: str, scope: str, address: str) -> str:
    """Makes the frame of a block; a closed block's caller gives it a scope of its own."""
    left = len(machine.plan.blocks[block].nodes)
    fields: Values = {"block": block, "children": {}, "ends": {}, "left": left}
    key = machine.new_frame("block", parent=parent, scope=scope, address=address, **fields)
    machine.enter(key)
    return key


def results(machine: State, key: str) -> Values:
    """Returns the results of a block by node name, also of open blocks inside; null if missing."""
    frame, plan = machine.block(key)
    values = machine.values_at(frame["scope"])
    if machine.plan.has_program and (given := results_of_code(machine, frame)) is not None:
        return given
    return {name: values.get(name) for name in plan.exports}


def results_of_code(machine: State, frame: BlockFrame) -> Values | None:
    """Returns what the code of an iteration, item or part gave: the values of steps, and its own.

    Returns None for a block of ordinary nodes.
    """
    keys = frame["children"]
    if len(keys) != 1 or machine.frames[key := next(iter(keys.values()))]["kind"] != "program":
        return None
    name = next(iter(keys))
    given: Any = machine.values_at(frame["scope"]).get(name)
    found = dict(machine.program_frames[key].get("values", {}))
    if isinstance(given, dict) and "value" in given:
        found[name if "value" in found else "value"] = given["value"]
    return found


class BlockBehaviour(Behaviour):
    stays = True

    def enter(self, machine: State, key: str) -> None:
        """Starts the nodes that do not wait for another node."""
        _, plan = machine.block(key)
        _consider(machine, key, plan, list(plan.starts))

    def go_on(self, machine: State, key: str, nodes: list[str]) -> None:
        """Continues where the last slice ended."""
        _consider(machine, key, machine.block(key)[1], nodes)

    def child_left(self, machine: State, key: str, child: str, outcome: Outcome) -> None:
        frame, plan = machine.block(key)
        left = machine.plain_frames[child]
        name, attempt = left["name"], left["attempt"]
        if is_failure(outcome) and _retries(machine, key, name, attempt, outcome):
            return
        if not machine.behaviour(left).stays:
            del frame["children"][name]
        if "retries" in frame:
            frame["retries"].pop(name, None)
        _count_running(frame, -1)
        end = end_of(machine, frame, plan.nodes[name], outcome, attempt)
        facts: Values = {}
        if machine.plan.recorders:
            facts = {"started": left["at"], "inputs": left["echo"], "taken": left.get("branch")}
        record(machine, frame, name, end, outcome.get("value"), **facts)
        _consider(machine, key, plan, list(plan.followers[name]))

    def receive(self, machine: State, key: str, event: Event) -> None:
        """Retries a node after the wait before another attempt."""
        name = machine.pending[event.address]["name"]
        machine.settle(event.address)
        _consider(machine, key, machine.block(key)[1], [name])

    def revive(self, machine: State, key: str) -> None:
        """Retries the nodes that failed, and then the nodes that wait for them."""
        frame, plan = machine.block(key)
        lost = [name for name, end in frame["ends"].items() if is_lost(end)]
        for name in lost:
            reset_followers(machine, key, name)
        again: list[str] = []
        for name in lost:
            if name not in frame["ends"]:
                continue
            end = frame["ends"].pop(name)
            frame["left"] += 1
            again.append(name)
            child = frame["children"].get(name)
            if child is not None and machine.frames[child].get("out_of_time"):
                machine.drop(frame["children"].pop(name))
                _forget_results(machine.values_at(frame["scope"]), plan, name)
            if name not in frame["children"]:
                frame.setdefault("attempts", {})[name] = end.get("attempt", 1)
        for name in [name for name, end in frame["ends"].items() if end.get("cause") == "halt"]:
            del frame["ends"][name]
            frame["left"] += 1
            again.append(name)
        frame["idle"] = {name: 1 for name in again if name in frame["children"]}
        _look_anew(frame)
        _consider(machine, key, plan, again)

    def reopen(self, machine: State, key: str, child: str) -> None:
        frame, plan = machine.block(key)
        name = machine.frames[child]["name"]
        frame.get("idle", {}).pop(name, None)
        reset_followers(machine, key, name)
        if frame["ends"].pop(name, None) is not None:
            frame["left"] += 1
            arm(machine, plan.nodes[name], child)
        _look_anew(frame)


def reset_followers(machine: State, key: str, name: str) -> None:
    """Makes all nodes that wait for a node run again, as a new attempt."""
    frame, plan = machine.block(key)
    values = machine.values_at(frame["scope"])
    followers = plan.downstream(name)
    if "queue" in frame:
        frame["queue"] = [waiting for waiting in frame["queue"] if waiting not in followers]
    for follower in followers:
        end = frame["ends"].pop(follower, None)
        child = frame["children"].pop(follower, None)
        if child is not None:
            frame.setdefault("attempts", {})[follower] = machine.frames[child].get("attempt", 1)
            machine.drop(child)
        if end is not None:
            frame["left"] += 1
            if end["status"] != "skipped":
                frame.setdefault("attempts", {})[follower] = end.get("attempt", 1)
        _forget_results(values, plan, follower)
        for marks in (frame.get("retries", {}), frame.get("idle", {})):
            marks.pop(follower, None)
        machine.forget_if_pending(inner(join(frame["address"], follower), "retry"))


def _forget_results(values: Values, plan: BlockPlan, name: str) -> None:
    """Removes the result of a node that is retried, also those of open blocks in it."""
    for given in plan.given[name]:
        values.pop(given, None)


def refit(machine: State, key: str) -> None:
    """Fits the block to another version: its new nodes run, unless their time is over."""
    frame, plan = machine.block(key)
    is_over = "ended" in frame or frame["left"] == 0
    frame["ends"] = {name: end for name, end in frame["ends"].items() if name in plan.nodes}
    frame["left"] = len(plan.nodes) - len(frame["ends"])
    waiting = (machine.pending[address].get("name") for address in frame.get("waits", ()))
    begun = {*frame["ends"], *frame["children"], *waiting}
    new = [name for name in plan.nodes if name not in begun]
    for name in new:
        if is_over or not begun.isdisjoint(plan.downstream(name)):
            record(machine, frame, name, SKIPPED_BY_CONDITION)
    _look_anew(frame)
    frame.pop("queue", None)
    if not is_over:
        _consider(machine, key, plan, new)


def _consider(machine: State, key: str, plan: BlockPlan, names: list[str]) -> None:
    """Starts or skips the nodes that may be ready; follows up the nodes that end at once.

    Nodes that wait for a place come first; they are checked only if there is one.
    """
    frame = machine.block_frames[key]
    _halt_if_lost(machine, frame, plan)
    while frame.get("queue") and not _is_full(frame, plan):
        _let_in(machine, key, plan, frame["queue"].pop(0), names)
    for index, name in enumerate(names):
        if index and not machine.may_go_on():
            machine.go_on_with(key, names[index:])
            return
        try:
            _let_in(machine, key, plan, name, names)
        except OutOfTurn:
            machine.go_on_with(key, names[index:])
            return
    if frame["left"] == 0:
        machine.finish(key, outcome_of(frame, plan))


def _let_in(machine: State, key: str, plan: BlockPlan, name: str, more: list[str]) -> None:
    """Starts, skips or computes a node; the followers of one that ended at once are `more`."""
    frame = machine.block_frames[key]
    ends, child = frame["ends"], frame["children"].get(name)
    is_idle = name in frame.get("idle", ())
    if name in ends or not (child is None or is_idle) or not ends.keys() >= plan.needs[name]:
        return
    # A node that is tried again, or goes on where it failed, has been let in before.
    is_known = is_idle or name in frame.get("retries", ())
    if not is_known and end_at_once(machine, frame, plan, name):
        more.extend(plan.followers[name])
        _halt_if_lost(machine, frame, plan)
    elif _is_full(frame, plan):
        frame.setdefault("queue", []).append(name)
    elif child is not None:
        del frame["idle"][name]
        _count_running(frame, 1)
        arm(machine, plan.nodes[name], child)
        machine.revive(child)
    else:
        _start(machine, key, plan, plan.nodes[name])


def _halt_if_lost(machine: State, frame: BlockFrame, plan: BlockPlan) -> None:
    """Starts no more nodes in this block after a failure, until the run is resumed."""
    if "lost" not in frame or "halted" in frame or plan.block.on_failure == "go_on":
        return
    frame["halted"] = True
    idle = frame.pop("idle", {})
    discard(frame, "queue", "retries", "running")
    for name in plan.nodes:
        child = frame["children"].get(name) if name not in idle else None
        if name in frame["ends"] or (child is not None and plan.block.on_failure == "halt"):
            continue
        if child is not None:
            frame.setdefault("attempts", {})[name] = machine.frames[child].get("attempt", 1)
            machine.drop(frame["children"].pop(name))
        machine.forget_if_pending(inner(join(frame["address"], name), "retry"))
        record(machine, frame, name, SKIPPED_BY_HALT)


def _look_anew(frame: BlockFrame) -> None:
    """Recomputes the failed and running nodes of the block after ends were taken back."""
    discard(frame, "lost", "halted", "running")
    if any(map(is_lost, frame["ends"].values())):
        frame["lost"] = True


def _is_full(frame: BlockFrame, plan: BlockPlan) -> bool:
    most = plan.block.concurrency
    if most is None:
        return False
    if "running" not in frame:
        ends, idle = frame["ends"], frame.get("idle", ())
        frame["running"] = sum(n not in ends and n not in idle for n in frame["children"])
    return frame["running"] >= most


def _count_running(frame: BlockFrame, step: int) -> None:
    if "running" in frame:
        frame["running"] += step


def _start(machine: State, key: str, plan: BlockPlan, node: Node) -> None:
    frame = machine.block_frames[key]
    attempt = frame.get("attempts", {}).get(node.name, 0) + 1
    # Another attempt has its name: the block's own attempts have the other addresses.
    is_unnamed = isinstance(node, Call) and node.unnamed and attempt == 1
    base = frame["address"] if is_unnamed else join(frame["address"], node.name)
    child = machine.new_frame(
        kind_of(type(node).__name__),
        parent=key,
        scope=frame["scope"],
        node=plan.key + node.name,
        name=node.name,
        base=base,
        address=attempted(base, attempt),
        attempt=attempt,
    )
    frame["children"][node.name] = child
    _count_running(frame, 1)
    if machine.plan.recorders:
        machine.frames[child] |= {"at": machine.now, "echo": echo_of(machine, frame, node)}
    arm(machine, node, child)
    machine.enter(child)


def arm(machine: State, node: Node, child: str) -> None:
    """Sets the time limit of a node; that of a task covers all its attempts together."""
    time_s = node.total_timeout_s if isinstance(node, Task) else node.timeout_s
    if time_s is not None:
        frame = machine.frames[child]
        assert frame["parent"] is not None
        # By its name, also where the node itself is unnamed: what is around it may have a clock.
        named = join(machine.frames[frame["parent"]]["address"], node.name)
        frame["alarm"] = inner(attempted(named, frame["attempt"]), "timeout")
        machine.expect(frame["alarm"], child, "alarm", due=machine.now + time_s)


def _retries(machine: State, key: str, name: str, attempt: int, outcome: Outcome) -> bool:
    """Checks whether a node gets another attempt; tasks do not: they retry by themselves."""
    frame, plan = machine.block(key)
    node = plan.nodes[name]
    if isinstance(node, Task) or node.retry is None or outcome["status"] == "cancelled":
        return False
    # Attempts are counted through, also those that a person asked for: retries are not.
    tried = frame.get("retries", {}).get(name, 0)
    if tried >= node.retry.times or "halted" in frame:
        return False
    if node.retry.on and not may_help(node.retry, outcome["error"]):
        return False
    machine.drop(frame["children"].pop(name))
    _forget_results(machine.values_at(frame["scope"]), plan, name)
    _count_running(frame, -1)
    frame.setdefault("attempts", {})[name] = attempt
    frame.setdefault("retries", {})[name] = tried + 1
    address = inner(join(frame["address"], name), "retry")
    wait = pause(machine, f"{address}#{attempt}", node.retry, tried + 1)
    machine.expect(address, key, "timer", due=machine.now + wait, name=name)
    _consider(machine, key, plan, [])
    return True


# Nodes of a block that need no frame: they are skipped, or they only compute.


def end_at_once(machine: State, frame: BlockFrame, plan: BlockPlan, name: str) -> bool:
    """Ends a node that needs no frame: it is skipped, or it only computes."""
    node = plan.nodes[name]
    ends = frame["ends"]
    for after in plan.nodes[name].after:
        if not satisfies(ends[after.node], after):
            record(machine, frame, name, SKIPPED_BY_ORDER)
            return True
    address = join(frame["address"], name)
    inputs: Json = None
    try:
        if node.when is not None and not truth(node.when, machine.scope(frame)):
            record(machine, frame, name, SKIPPED_BY_CONDITION)
            machine.note("node.skipped", address, {"cause": "condition"})
            return True
        if not isinstance(node, Compute | Assign):
            return False
        if machine.observer is not None:
            machine.observer.computing(machine, frame, node)
        inputs = echo_of(machine, frame, node)
        outcome = _compute(machine, frame, node)
    except LanguageError as fault:
        outcome = frames.failed(frames.language_failure(fault, address, node))
    end = end_of(machine, frame, node, outcome)
    record(machine, frame, name, end, outcome["value"], inputs=inputs)
    is_answer = isinstance(node, Compute) and node.answers and end is SUCCEEDED
    if is_answer and frame["block"].startswith(":"):
        # What a workflow answers that is called is its result, and no answer of the run.
        machine.note("run.answered", address)
    return True


def _compute(machine: State, frame: BlockFrame, node: Compute | Assign) -> Outcome:
    scope = machine.scope(frame)
    value: Json
    if isinstance(node, Assign):
        value = _assign(machine, frame, node)
    elif node.over is None:
        value = value_of(node.value, scope)
    else:
        place = f"{frame['scope']} {node.name}"
        value = machine.collect(place, partial(values_over, node, scope))
    if isinstance(node, Compute) and node.warns is not None:
        warning = value_of(node.warns, OverlayScope({"it": value}, scope))
        machine.warn_of(join(frame["address"], node.name), warning)
    if node.shape is not None:
        value = value_of(node.shape, OverlayScope({"it": value}, scope))
    return frames.succeeded(value)


def _assign(machine: State, frame: BlockFrame, node: Assign) -> Values:
    scope = machine.scope(frame)
    assigned: Values = {}
    root: dict[str, Any] = machine.root_values(frame["scope"])
    recorder = machine.plan.recorder(frame["block"] + node.name)
    for name, assignment in node.sets:
        value = value_of(assignment, scope)
        variables = root if recorder is None else root[recorder.variables]
        assigned[name] = changed(node.operation, name, variables.get(name), value)
        if recorder is None:
            root[name] = assigned[name]
        else:
            # Records may hold the variables as they were.
            root[recorder.variables] = variables | {name: assigned[name]}
    return assigned


def echo_of(machine: State, frame: BlockFrame, node: Node) -> Json:
    """Returns the inputs for a node's record, or nothing if they cannot be computed."""
    if node.echo is None:
        return None
    try:
        return value_of(node.echo, machine.scope(frame))
    except LanguageError:
        # The node itself fails of it, and says why.
        return None


# How the nodes of a block end, what is kept of that, and what it makes of the block.
#
# A block's status is that of its last nodes; a last node that was skipped because of another one
# counts as that other one. So the block succeeds if a later node handles a failure.

# How a node ended is kept by its name. Most nodes just succeed.
SUCCEEDED: End = {"status": "succeeded"}
SKIPPED_BY_CONDITION: End = {"status": "skipped", "cause": "condition"}
SKIPPED_BY_ORDER: End = {"status": "skipped", "cause": "order"}
SKIPPED_BY_HALT: End = {"status": "skipped", "cause": "halt"}


def is_lost(end: End) -> bool:
    return end["status"] in ("failed", "timed_out", "cancelled") and not end.get("tolerated")


def satisfies(end: End, after: After) -> bool:
    """Checks whether the outcome of a node is one that another node waits for."""
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
    if frames.is_failure(outcome):
        end["error"] = outcome["error"]
        if node.on_failure == "continue" and outcome["status"] != "cancelled":
            end["tolerated"] = True
            address = attempted(join(frame["address"], node.name), attempt)
            if "noted" not in outcome:
                machine.note("node.finished", address, {"status": "failed", "error": end["error"]})
            message = f"{end['error']['message']}; the run went on without it"
            machine.warn(address, "R100", message, facts=frames.error_facts(end["error"]))
    return end


def record(
    machine: State, frame: BlockFrame, name: str, end: End, value: Json = None, **facts: Json
) -> None:
    """Keeps how a node ended and its result; the facts are for records of it."""
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
        return frames.succeeded()
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
        return frames.succeeded()
    first = next(name for name in plan.nodes if name in blamed)
    status = "failed" if ends[first]["status"] == "cancelled" else ends[first]["status"]
    return frames.failed(ends[first]["error"], status=status)
