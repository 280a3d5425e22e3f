"""The smaller nodes: groups, branches and for-each, which hold blocks; waits, gates and jumps."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from whorl.errors import plural
from whorl.interpreter.constructs import run
from whorl.interpreter.constructs.block import new_block, results
from whorl.interpreter.constructs.loops import loop
from whorl.interpreter.evaluation import seconds_of, shown, value_of
from whorl.interpreter.events import attempted, inner, numbered
from whorl.interpreter.frames import children_of, error_at, failed, is_failure, succeeded
from whorl.interpreter.plan import inner_key
from whorl.interpreter.state import Behaviour
from whorl.ir import Branch, Break, Gate, Stop, Wait
from whorl.ir.values import parse_time
from whorl.language import EvaluationError, to_text, truth

if TYPE_CHECKING:
    from whorl.interpreter.events import Event
    from whorl.interpreter.frames import Outcome, Values
    from whorl.interpreter.state import State
    from whorl.ir import Case, ForEach
    from whorl.language import Json, Scope

WAIT_MAX_S = 366 * 86_400.0
# Far enough away, as seconds since the epoch, for no sum of it to be too large.
MOMENT_MAX = 1e15


class GroupBehaviour(Behaviour):
    """A block as a node; its value is the results by name."""

    stays = True

    def enter(self, machine: State, key: str) -> None:
        _start_block(machine, key, "body")

    def child_left(self, machine: State, key: str, child: str, outcome: Outcome) -> None:
        if not is_failure(outcome):
            taken = machine.plain_frames[key].get("branch")
            branch: Values = {} if taken is None else {"branch": taken}
            outcome = succeeded(branch | results(machine, child))
        machine.finish(key, outcome)


class BranchBehaviour(GroupBehaviour):
    """A branch; its value is the results, and the name of the branch taken."""

    def enter(self, machine: State, key: str) -> None:
        frame = machine.plain_frames[key]
        node: Branch = machine.node(frame)
        scope = machine.scope(frame)
        subject = value_of(node.subject, scope) if node.subject is not None else None
        taken = next((case for case in node.cases if _fits(case, subject, scope)), node.default)
        if taken is None:
            machine.finish(key, succeeded({"branch": None}))
            return
        frame["branch"] = taken.name
        machine.note("node.finished", frame["address"], {"branch": taken.name})
        _start_block(machine, key, "default" if taken is node.default else f"case.{taken.name}")


def _start_block(machine: State, key: str, slot: str) -> None:
    frame = machine.frames[key]
    block, scope = inner_key(frame["node"], slot), frame["scope"]
    if not machine.plan.blocks[block].block.open:
        scope = frame["own_scope"] = machine.new_scope({}, scope)
    frame["body"] = new_block(machine, block, parent=key, scope=scope, address=frame["address"])


def _fits(case: Case, subject: Json, scope: Scope) -> bool:
    if case.when is not None and not truth(case.when, scope):
        return False
    if case.equals is None:
        return case.when is not None
    wanted = value_of(case.equals, scope)
    return wanted == subject and isinstance(wanted, bool) == isinstance(subject, bool)


class WaitBehaviour(Behaviour):
    """Durable pauses; a restart does not start them again."""

    def enter(self, machine: State, key: str) -> None:
        frame = machine.plain_frames[key]
        due, is_date = _due(machine.node(frame), machine.scope(frame), machine.now)
        frame["due"] = due
        if due <= machine.now:
            machine.finish(key, succeeded())
        else:
            date: Values = {"date": True} if is_date else {}
            machine.expect(inner(frame["address"], "wait"), key, "timer", due=due, **date)

    def receive(self, machine: State, key: str, event: Event) -> None:
        machine.settle(event.address)
        machine.finish(key, succeeded())


class GateBehaviour(Behaviour):
    def enter(self, machine: State, key: str) -> None:
        frame = machine.frames[key]
        node: Gate = machine.node(frame)
        scope = machine.scope(frame)
        message, show = to_text(value_of(node.message, scope)), value_of(node.show, scope)
        machine.ask_person(frame["address"], key, "gate", message, show=show)

    def receive(self, machine: State, key: str, event: Event) -> None:
        machine.settle(event.address)
        edited = {"value": event.body["value"]} if "value" in event.body else {}
        approved = bool(event.body.get("approved"))
        _decide(machine, key, approved, event.body.get("feedback"), **edited)

    def time_out(self, machine: State, key: str) -> None:
        frame = machine.frames[key]
        on_timeout = machine.node(frame).on_timeout
        machine.forget(frame["address"])
        if on_timeout == "fail":
            message = f"nobody decided {frame['name']!r} in time"
            machine.fail(key, "R101", message, status="timed_out")
        else:
            _decide(machine, key, on_timeout == "approve", "nobody decided in time")


class SignalBehaviour(Behaviour):
    """Stop, break and continue: they end the run, a loop, or its iteration."""

    def enter(self, machine: State, key: str) -> None:
        frame = machine.frames[key]
        node = machine.node(frame)
        if not isinstance(node, Stop):
            around = frame["loop"]
            while around is not None and machine.frames[around]["name"] != node.loop:
                around = machine.frames[around]["loop"]
            assert around is not None, f"no loop {node.loop!r} around (the checks refuse this)"
            loop.interrupt(machine, around, breaks=isinstance(node, Break))
            return
        scope = machine.scope(frame)
        message, code = (to_text(value_of(value, scope)) for value in (node.message, node.code))
        output = value_of(node.output, scope) if node.output is not None else None
        if node.status == "succeeded":
            outcome = succeeded({"message": message} if output is None else {"output": output})
        else:
            message = message or f"stopped by {frame['name']!r}"
            detail: Json = {"code": code} if code else {}
            error = error_at(frame["address"], "R109", message, detail=detail)
            outcome = failed(error, status=node.status)
        if node.ends == "workflow":
            run.end_around(machine, key, outcome)
        else:
            run.end_now(machine, outcome)


def _decide(machine: State, key: str, approved: bool, feedback: Json, **edited: Json) -> None:
    frame = machine.frames[key]
    if not approved and machine.node(frame).on_reject == "fail":
        why = feedback or "no reason given"
        machine.fail(key, "R108", f"{frame['name']!r} was rejected: {why}")
        return
    machine.finish(key, succeeded({"approved": approved, "feedback": feedback or "", **edited}))


def _due(node: Wait, scope: Scope, now: float) -> tuple[float, bool]:
    """Returns when a wait is over, and whether that is a time of day."""
    if node.until is not None:
        due, is_date = _moment(value_of(node.until, scope)), True
    else:
        assert node.duration is not None
        value = value_of(node.duration, scope)
        try:
            due, is_date = now + max(0.0, seconds_of(value)), False
        except EvaluationError as fault:
            # A computed text may also be a time.
            try:
                due, is_date = parse_time(value if isinstance(value, str) else ""), True
            except ValueError:
                raise fault from None
    # NaN is not smaller either.
    if not due - now <= WAIT_MAX_S:
        raise EvaluationError(
            f"a wait of {due - now:g} s is longer than a year, the most that it can be"
        )
    return due, is_date


def _moment(value: Json) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(max(min(value, MOMENT_MAX), -MOMENT_MAX))
    try:
        moment = datetime.fromisoformat(str(value).replace("Z", "+00:00"))
    except ValueError:
        raise EvaluationError(
            f"a time such as '2026-01-31T12:00:00Z' is needed, not {shown(value)}"
        ) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return moment.timestamp()


# For-each: the body for each item of a list, several at once.


class ForEachBehaviour(Behaviour):
    """Runs the body for each item, several at once; a failed item does not stop the others."""

    stays = True

    def enter(self, machine: State, key: str) -> None:
        frame = machine.foreach_frames[key]
        node: ForEach = machine.node(frame)
        items = value_of(node.items, machine.scope(frame))
        if not isinstance(items, list) or len(items) > node.items_max:
            names = {dict: "an object", str: "a text", bool: "a boolean", type(None): "null"}
            kind = names.get(type(items), "a number")
            given = plural(len(items), "item") if isinstance(items, list) else kind
            limit = f"a list of at most {plural(node.items_max, 'item')}"
            raise EvaluationError(f"{node.name!r} needs {limit}, not {given}")
        frame |= {"items": items, "next": 0, "left": len(items), "children": {}, "failures": {}}
        frame["results"] = [None] * len(items)
        if not items:
            machine.finish(key, succeeded([]))
        for index in range(min(node.concurrency, len(items))):
            _start(machine, key, index)

    def child_left(self, machine: State, key: str, child: str, outcome: Outcome) -> None:
        frame = machine.foreach_frames[key]
        index = machine.block_frames[child]["index"]
        machine.forget_if_pending(inner(machine.frames[child]["address"], "time"))
        if recorder := machine.plan.recorder(frame["node"]):
            inside: Any = machine.values_at(machine.frames[child]["own_scope"])[recorder.table]
            records = recorder.item_ended(inside, machine.node(frame))
            frame.setdefault("kept", {})[str(index)] = records
        if is_failure(outcome):
            frame["failures"][str(index)] = outcome["error"]
        else:
            frame["results"][index] = results(machine, child)
            is_kept = machine.plan.has_program and _holds_loop(machine, child)
            if not is_kept and frame["node"] not in machine.plan.keeping:
                del frame["children"][str(index)]
                machine.drop(child)
        _item_left(machine, key)

    def receive(self, machine: State, key: str, event: Event) -> None:
        frame = machine.foreach_frames[key]
        index = machine.pending[event.address]["index"]
        machine.settle(event.address)
        machine.drop(frame["children"].pop(str(index)))
        message = "it took longer than its time limit"
        frame["failures"][str(index)] = error_at(event.address, "R101", message)
        _item_left(machine, key)

    def revive(self, machine: State, key: str) -> None:
        frame = machine.foreach_frames[key]
        if "items" not in frame:
            machine.enter(key)
            return
        lost = [*frame["failures"], *frame.get("lost", ())]
        frame["left"] += len(frame["failures"])
        frame["failures"] = {}
        at_once = machine.node(frame).concurrency
        frame["lost"] = lost[at_once:]
        for index in lost[:at_once]:
            _try_again(machine, key, index)

    def reopen(self, machine: State, key: str, child: str) -> None:
        frame = machine.foreach_frames[key]
        index = machine.block_frames[child]["index"]
        frame["failures"].pop(str(index), None)
        frame["results"][index] = None
        if str(index) in frame.get("lost", ()):
            # It was to be tried again anyhow, and counts as one that is left.
            frame["lost"].remove(str(index))
        else:
            frame["left"] += 1
        _arm(machine, key, index)


def _holds_loop(machine: State, key: str) -> bool:
    """Checks whether the code of an item has made a loop, which a person may continue."""
    frame = machine.frames[key]
    return frame["kind"] == "loop" or any(
        _holds_loop(machine, below) for below in children_of(frame)
    )


def _item_left(machine: State, key: str) -> None:
    frame = machine.foreach_frames[key]
    frame["left"] -= 1
    if frame["failures"] and machine.node(frame).on_item_failure == "halt":
        if frame["left"] == len(frame["items"]) - frame["next"] + len(frame.get("lost", ())):
            machine.finish(key, _outcome(machine, key))
    elif frame.get("lost"):
        _try_again(machine, key, frame["lost"].pop(0))
    elif frame["next"] < len(frame["items"]):
        _start(machine, key, frame["next"])
    elif frame["left"] == 0:
        machine.finish(key, _outcome(machine, key))


def _try_again(machine: State, key: str, index: str) -> None:
    """Retries an item where it failed, or from its start if it ran out of time."""
    frame = machine.foreach_frames[key]
    if index in frame["children"]:
        _arm(machine, key, int(index))
        machine.revive(frame["children"][index])
    else:
        _start(machine, key, int(index))


def _start(machine: State, key: str, index: int) -> None:
    frame = machine.foreach_frames[key]
    node: ForEach = machine.node(frame)
    frame["next"] = max(frame["next"], index + 1)
    values: Values = {node.item_name: frame["items"][index]}
    if node.index_name:
        values[node.index_name] = index
    if recorder := machine.plan.recorder(frame["node"]):
        around = machine.scope(frame)
        table: Any = around.lookup(recorder.table)
        items: Any = around.lookup(recorder.items)
        values |= recorder.item_values(table, node, frame["items"][index], items)
    scope = machine.new_scope(values, frame["scope"])
    tries = frame.setdefault("tries", {})
    attempt = tries.get(str(index), 0) + 1
    if node.item_timeout_s is not None:
        tries[str(index)] = attempt
    block = inner_key(frame["node"], "body")
    address = attempted(numbered(frame["address"], index + 1), attempt)
    child = new_block(machine, block, parent=key, scope=scope, address=address)
    machine.block_frames[child].update({"index": index, "own_scope": scope})
    frame["children"][str(index)] = child
    _arm(machine, key, index)


def _arm(machine: State, key: str, index: int) -> None:
    frame = machine.foreach_frames[key]
    seconds = machine.node(frame).item_timeout_s
    if seconds is not None:
        child = machine.frames[frame["children"][str(index)]]
        alarm = inner(child["address"], "time")
        machine.expect(alarm, key, "alarm", due=machine.now + seconds, index=index)


def _outcome(machine: State, key: str) -> Outcome:
    frame = machine.foreach_frames[key]
    values = frame["results"]
    node: ForEach = machine.node(frame)
    if recorder := machine.plan.recorder(frame["node"]):
        records = frame.pop("kept", {})
        rows = [records.get(str(index), {}) for index in range(len(values))]
        table: Any = machine.scope(frame).lookup(recorder.table)
        recorder.items_ended(table, node, rows, machine.now)
    # One division is exact where the rate is written so; a difference of two rates is not.
    well = len(values) - len(frame["failures"])
    rate, wanted = well / len(values), node.min_success_rate
    if well == len(values):
        return succeeded(values)
    first, more = min(frame["failures"], key=int), len(frame["failures"]) - 1
    cause = dict(frame["failures"][first])
    cause["message"] = f"item {int(first) + 1} of {frame['name']!r}: {cause['message']}"
    cause["message"] += f" (and {more} more)" if more else ""
    if rate >= wanted:
        words = f"{cause['message']}; the run went on without {'them' if more else 'it'}"
        machine.warn(frame["address"], cause["code"], words, facts=cause.get("facts"))
        return succeeded(values)
    if wanted * node.items_max < 1:
        cause["message"] += f"; none of {plural(len(values), 'item')} succeeded"
    elif wanted < 1:
        cause["message"] += f"; {well} of {len(values)} items succeeded ({rate:.3g}), "
        cause["message"] += f"and min_success_rate is {wanted:g}"
    return failed(cause, value=values)
