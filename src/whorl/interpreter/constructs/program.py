"""Programs: code outside of the engine requests nodes, and receives how they ended.

The driver of the run runs the code. What it requests comes in as `program.stepped`, an event like
all others: the machine never runs code, and a run stays a fold over its journal. The nodes are
below the frame of the program, and have the addresses that they would have in its block. An
iteration, an item and a part of a program are blocks with a program of their own.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from whorl.interpreter import frames
from whorl.interpreter.constructs import block, run
from whorl.interpreter.constructs.loops import loop
from whorl.interpreter.events import Give, attempted, inner, join
from whorl.interpreter.state import Behaviour
from whorl.ir import (
    AnyOf,
    Expression,
    ForEach,
    Gate,
    Plateau,
    Score,
    Stable,
    Task,
    Wait,
    When,
    to_json,
)
from whorl.ir import Loop as LoopNode
from whorl.lazily import regex

if TYPE_CHECKING:
    from whorl.interpreter.events import Event
    from whorl.interpreter.frames import Answer, Outcome, ProgramFrame, ProgramState, Values
    from whorl.interpreter.state import State

WORD = "program"
# So many ends and values of nodes are kept; those before are in the journal alone.
KEPT = 200
# A loop whose state is not declared resumes by running again what all of its iterations did.
TURNS_WARNED = 2_000
ANSWERS_MAX = 100_000
# A log in the state is given up where it becomes longer; the journal has all of it.
LOG_MAX = 2_000
_SCOPED = (Gate, Wait, ForEach)
_ATTEMPT = regex(r"#[0-9]+$")


class ProgramBehaviour(Behaviour):
    stays = True

    def enter(self, machine: State, key: str) -> None:
        """Informs the code that its input, an iteration, an item or a part of it is there."""
        frame = machine.program_frames[key]
        around = machine.block_frames[str(frame["parent"])]
        frame["address"] = frame["base"] = at = around["address"]
        frame |= {"children": {}, "ends": {}}
        _open(machine, key)
        holder = machine.frames[str(around["parent"])]
        if holder["kind"] == "run":
            if machine.node(frame).keeps:
                _code(machine)["log"] = []
            give(machine, inner("", WORD), {})
            return
        above = machine.frames[str(holder["parent"])]
        body: Values = {"at": at}
        if holder["kind"] == "loop":
            body["turn"] = holder["count"]
            if "state" in holder:
                body |= {"state": _state(holder), "previous": None, "best": None}
                for name in ("previous", "best"):
                    results: Any = holder.get(name) or {}
                    results = results.get("results") if name == "best" else results
                    body[name] = (results or {}).get("value")
        elif holder["kind"] == "foreach":
            body["item"] = around["index"]
        give(machine, join(above["address"], str(holder["name"])), body)

    def child_left(self, machine: State, key: str, child: str, outcome: Outcome) -> None:
        """Gives the code how a node that it has requested ended."""
        frame, left = machine.program_frames[key], machine.frames[child]
        name = left["name"]
        is_task = left["kind"] == "task"
        body: Values = {"status": outcome["status"]}
        if frames.is_failure(outcome):
            body["error"] = outcome["error"]
        if left["kind"] == "loop":
            body["at"] = left["address"]
        value: Any = outcome.get("value")
        if left["kind"] == "loop" and isinstance(value, dict):
            body |= {"loop": value.get("loop"), "value": value.get("value")}
            value = body["value"]
        elif value is not None:
            body["value"] = value
        is_reply = is_task and outcome["status"] == "succeeded"
        number = give(
            machine, join(frame["address"], name), body, left["address"] if is_reply else ""
        )
        end: Values = {"status": outcome["status"], "answer": number}
        if left["attempt"] > 1:
            end["attempt"] = left["attempt"]
        frame["ends"][name] = end
        if frame["address"]:
            frame.setdefault("values", {})[name] = value
        if not machine.behaviour(left).stays:
            del frame["children"][name]
        if len(frame["ends"]) > KEPT:
            _forget_oldest(machine, frame)

    def receive(self, machine: State, key: str, event: Event) -> None:
        """Takes what the code has requested; it is carried out as the work of this event."""
        code, body = _code(machine), _facts(event)
        requests, taken = body["requests"], int(body["given"])
        code["taken"], lost = taken, set(body.get("lost") or ())
        code["answers"] = [each for each in code["answers"] if each["number"] not in lost]
        log = code.get("log")
        if log is not None:
            zone = body.get("again")
            for entry in log if zone is not None else ():
                if any(each["number"] >= zone for each in entry["took"]):
                    entry["free"] = True
                entry["took"] = [each for each in entry["took"] if each["number"] not in lost]
            took = [each for each in code["answers"] if each["number"] <= taken]
            log.append({"took": took, "requests": requests, "free": zone is not None})
            if most := machine.node(machine.frames[key]).log_max:
                code["size"] = code.get("size", 0) + len(json.dumps(log[-1]))
                if code["size"] > most:
                    words = f"what the code has received and requested has over {most:,} characters"
                    _end_too_long(machine, f"{words}, the most that its run keeps")
            elif sum(len(entry["took"]) for entry in log) > LOG_MAX:
                code["log"] = None
        code["answers"] = [each for each in code["answers"] if each["number"] > taken]
        code.pop("restart", None)
        if requests and key in machine.frames:
            frame = machine.program_frames[key]
            frame["queue"] = [*frame.get("queue", ()), *requests]
            machine.go_on_later(key)

    def go_on(self, machine: State, key: str, nodes: list[str]) -> None:
        """Carries out one request, once all that the one before it led to is done.

        The next one may be inside of what it has begun, or come after what it has ended.
        """
        queue = machine.program_frames[key].get("queue")
        if queue and machine.has_work:
            machine.go_on_later(key)
        elif queue:
            request = queue.pop(0)
            place = machine.pending.get(inner(request["at"], WORD))
            if place is not None:
                # If a limit has ended it meanwhile, it is no longer wanted.
                if "error" in request.get("end", ()) and "cut" not in request:
                    queue[:0] = _cut(machine, request)
                else:
                    _carry_out(machine, place["frame"], request)
            if queue:
                machine.go_on_later(key)

    def revive(self, machine: State, key: str) -> None:
        """Begins the code again without the failure; after an error of its own, with its last step.

        Also reopens an iteration, item or part that the code was in.
        """
        frame = machine.program_frames[key]
        fault = frame.pop("fault", None)
        _open(machine, key)
        if frame["address"]:
            return
        _begin_again(machine)
        programs = [frame for frame in machine.program_frames.values() if frame["kind"] == WORD]
        faults = [fault, *(frame.get("fault") for frame in programs)]
        paths = (str(fault["path"]).partition("/:")[0] for fault in faults if fault)
        failed = {_ATTEMPT.sub("", path) for path in paths}
        untaken = {answer["number"] for answer in _code(machine)["answers"]}
        for other in programs:
            for name, end in other["ends"].items():
                # What the end of the code has brought about is no answer to it.
                is_after = end["answer"] in untaken and name in other["children"]
                is_cause = any(is_at(path, join(other["address"], name)) for path in failed)
                if end["status"] != "succeeded" and (is_after or is_cause):
                    _withdraw(machine, end["answer"])

    def reopen(self, machine: State, key: str, child: str) -> None:
        """Begins the code again without the end of a loop that a person continues."""
        frame = machine.program_frames[key]
        end = frame["ends"].pop(machine.frames[child]["name"], None)
        frame.pop("fault", None)
        _open(machine, key)
        _begin_again(machine)
        if end is not None and machine.frames[child]["kind"] != WORD:
            _withdraw(machine, end["answer"])


def give(machine: State, address: str, body: Values, source: str = "") -> int:
    """Gives the code an answer; returns its number."""
    code = _code(machine)
    code["given"] = number = code["given"] + 1
    machine.command(Give(number, address, body, machine.now, source))
    answer: Answer = {"number": number, "address": address, "at": machine.now, "body": body}
    if source:
        answer["source"] = source
        if code.get("log") is None:
            answer["body"] = {}
    code["answers"].append(answer)
    if number > ANSWERS_MAX and code.get("log") is None:
        words = f"the code has received {ANSWERS_MAX:,} answers, the most that a run repeats"
        _end_too_long(machine, words)
    return number


def _end_too_long(machine: State, words: str) -> None:
    words += "; declare the state of its loop: `whorl.loop(..., state=...)`"
    run.end_now(machine, frames.failed(frames.error_at("", "R105", words)))


def _facts(event: Event) -> dict[str, Any]:
    return event.body


def _code(machine: State) -> ProgramState:
    return machine.state["program"]


def is_at(path: str, address: str) -> bool:
    """Checks whether an error comes from a node, or from inside of it."""
    return path.startswith(address) and path[len(address) :][:1] in ("", "/", "[", "#")


def _open(machine: State, key: str) -> None:
    address = inner(machine.frames[key]["address"], WORD)
    if address not in machine.pending:
        machine.expect(address, key, WORD)


def _begin_again(machine: State) -> None:
    _code(machine).setdefault("restart", [])
    machine.restarts += 1


def accept_new_words(machine: State) -> None:
    """Keeps the answers so far, also where the code requests them with other inputs now."""
    for entry in _code(machine).get("log") or ():
        entry["old"] = True


def begin_elsewhere(machine: State) -> None:
    """Begins the code again in a fork, whose words may be others."""
    accept_new_words(machine)
    _begin_again(machine)


def _withdraw(machine: State, number: int) -> None:
    _code(machine)["restart"].append(number)


def _state(holder: Any) -> Any:
    """Returns the declared state of a loop; what a fork has set counts."""
    state, chosen = holder["state"], holder["carry"]
    if isinstance(state, dict) and ("state" in state or "state" not in chosen):
        return state | chosen
    return chosen.get("state", state)


def _forget_oldest(machine: State, frame: ProgramFrame) -> None:
    """Forgets how the oldest node ended; its values are in the journal."""
    name = next(iter(frame["ends"]))
    del frame["ends"][name]
    frame.get("values", {}).pop(name, None)
    if (child := frame["children"].get(name)) is not None:
        machine.drop(child)
        del frame["children"][name]
    words = f"{frame['address'] or 'the run'} keeps the values of its newest {KEPT} steps"
    machine.warn(frame["address"], "R105", words, once=f"R105 {WORD} {frame['node']}")


# What the code requests.


def _carry_out(machine: State, key: str, request: dict[str, Any]) -> None:
    frame = machine.program_frames[key]
    name = request.get("name", "")
    if "end" in request:
        _end(machine, key, request["end"])
    elif "warn" in request:
        machine.warn(frame["address"], request["warn"]["code"], request["warn"]["message"])
    elif "node" in request:
        _start(machine, key, name, request)
    elif "open" in request:
        child = frame["children"].get(name)
        if child is not None and frame["ends"].pop(name, None) is not None:
            machine.revive(child)
    else:
        _drop(machine, frame, name)


def _start(machine: State, key: str, name: str, request: dict[str, Any]) -> None:
    """Starts a node; one that was requested before, as its next attempt."""
    frame = machine.program_frames[key]
    place = machine.plan.blocks[machine.block_frames[str(frame["parent"])]["block"]].key
    node_key, is_new = machine.plan.request(place, name, request["node"])
    if is_new:
        ways = _code(machine)["grown"].setdefault(place, {}).setdefault(name, [])
        ways.append(request["node"])
    _drop(machine, frame, name)
    attempt = frame.get("attempts", {}).get(name, 0) + 1
    node, extra = machine.plan.nodes[node_key], request.get("extra") or {}
    base = join(frame["address"], name)
    fields: Values = {"node": node_key, "name": name, "base": base, "attempt": attempt}
    fields["address"] = attempted(base, attempt)
    scope = frame["scope"]
    if isinstance(node, _SCOPED):
        fields["own_scope"] = scope = machine.new_scope(extra, None)
    child = machine.new_frame(block.kind_of(type(node).__name__), parent=key, scope=scope, **fields)
    frame["children"][name] = child
    if isinstance(node, Task):
        machine.task_frames[child]["extra"] = extra
    elif isinstance(node, LoopNode):
        own = machine.loop_frames[child]
        own["rule"] = {n: value for n, value in extra.items() if n != "state"}
        if "state" in extra:
            own["state"] = extra["state"]
    block.arm(machine, node, child)
    machine.enter(child)


def _drop(machine: State, frame: ProgramFrame, name: str) -> None:
    """Forgets a node, except how often it was started."""
    child, end = frame["children"].pop(name, None), frame["ends"].pop(name, None)
    frame.get("values", {}).pop(name, None)
    if child is not None:
        frame.setdefault("attempts", {})[name] = machine.frames[child]["attempt"]
        machine.drop(child)
    elif end is not None:
        frame.setdefault("attempts", {})[name] = end.get("attempt", 1)


def _end(machine: State, key: str, end: dict[str, Any]) -> None:
    """Ends the run, an iteration, an item or a part; what it has left behind is dropped."""
    frame = machine.program_frames[key]
    for name in [name for name in frame["children"] if name not in frame["ends"]]:
        _drop(machine, frame, name)
    machine.settle(inner(frame["address"], WORD))
    around = machine.block_frames[str(frame["parent"])]
    holder = str(around["parent"])
    is_turn = machine.frames[holder]["kind"] == "loop"
    if is_turn:
        # Other rules, which what-if asks about, read the results of its steps by name.
        given = frame.get("values", {}).items()
        seen = {name: value for name, value in given if name != frame["name"]}
        machine.values_at(around["scope"]).update(seen)
        _end_turn(machine, holder, end)
    if "error" in end:
        frame["fault"] = end["error"]
        machine.finish(key, frames.failed(end["error"]))
    elif end.get("breaks"):
        machine.values_at(around["scope"])[frame["name"]] = end["value"]
        loop.interrupt(machine, holder, breaks=True)
    else:
        value: Any = end.get("value")
        if frame["address"] and not is_turn:
            value = {"value": value}
        machine.finish(key, frames.succeeded(value))


def _cut(machine: State, request: dict[str, Any]) -> list[dict[str, Any]]:
    """Returns the ends of the places that a failure cancels, innermost first, and its own end.

    They fail, rather than being dropped, so that a resumed run continues where they were.
    """
    at = request["at"]
    words = f"cancelled, since {at or 'the run'} failed"
    everywhere = machine.program_frames.values()
    inside = (frame["address"] for frame in everywhere if frame["kind"] == WORD)
    running = [each for each in inside if each != at and inner(each, WORD) in machine.pending]
    ends = [
        {"at": each, "end": {"error": frames.error_at(each, "R107", words)}, "cut": True}
        for each in reversed(running)
        if not at or each.startswith(f"{at}/")
    ]
    return [*ends, {**request, "cut": True}]


# Iterations: what they say is the rule of their loop.


def _end_turn(machine: State, holder: str, end: dict[str, Any]) -> None:
    frame = machine.loop_frames[holder]
    if "error" not in end:
        _set_rule(machine, holder, end)
    if "state" in frame:
        if "error" not in end:
            # What a failed iteration was given is needed when it is resumed.
            frame["state"] = end.get("state", frame["state"])
            frame["carry"] = {}
            _trim(machine, f"{frame['address']}[")
    elif frame["count"] == TURNS_WARNED:
        words = f"loop {frame['name']!r} has made {TURNS_WARNED:,} iterations without a declared "
        words += "state, so that resuming the run takes longer and longer"
        machine.warn(frame["address"], "R144", words, facts={"loop": frame["name"]})


def _trim(machine: State, inside: str) -> None:
    """Removes from the log what was in an iteration that only its state outlives."""
    code = _code(machine)
    log = code.get("log")
    if log is None:
        return
    for entry in log:
        took = [each for each in entry["took"] if not _is_inside(each, inside)]
        if len(took) < len(entry["took"]):
            # What the code requested when it had left the loop it now requests at the loop's end.
            entry["late"] = True
        entry["took"] = took
        entry["requests"] = [r for r in entry["requests"] if not r["at"].startswith(inside)]
    code["log"] = log = [entry for entry in log if entry["took"] or entry["requests"]]
    if "size" in code:
        code["size"] = len(json.dumps(log))


def _is_inside(answer: Any, inside: str) -> bool:
    begun = str(answer["body"].get("at", "")) if "turn" in answer["body"] else ""
    return bool(answer["address"].startswith(inside) or begun.startswith(inside))


def _set_rule(machine: State, key: str, end: dict[str, Any]) -> None:
    """Makes the rule of a loop of what the loop and its latest iteration say."""
    frame, node = machine.loop_frames[key], machine.loop(key)
    own: dict[str, Any] = frame.get("rule", {})
    value = end["value"]
    at_least = end.get("at_least", own.get("at_least"))
    low, high = own.get("range") or (None, None)
    rules: list[Any] = []
    has_score = node.until is not None and bool(machine.plan.rules[frame["node"]].scores)
    if value.get("score") is not None or has_score:
        rules.append(Score(Expression("jinja", "turn.score"), None, at_least, low, high))
        if own.get("plateau"):
            rules.append(Plateau(own["plateau"]))
    if own.get("stable"):
        rules.append(Stable(Expression("jinja", "turn.value")))
    if value.get("stop"):
        reason = value.get("reason", "")
        words = f"stop: {reason}" if reason else "stop"
        rules.append(When(Expression("jinja", "turn.stop"), words))
    wanted = replace(node, until=AnyOf(tuple(rules)) if rules else None)
    if wanted != node:
        parent = machine.frames[str(frame["parent"])]
        place = machine.plan.blocks[machine.block_frames[str(parent["parent"])]["block"]].key
        encoded: Any = to_json(wanted)
        frame["node"], is_new = machine.plan.request(place, str(frame["name"]), encoded)
        if is_new:
            grown = _code(machine)["grown"].setdefault(place, {})
            grown.setdefault(str(frame["name"]), []).append(encoded)
