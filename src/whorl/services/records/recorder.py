"""Derives records of steps while a journal is folded; they are never stored.

There is a record for each node that began or was skipped, for each item of a for-each and for each
iteration of a loop, if it is wanted.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import field, fields, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from whorl import ir
from whorl.interpreter.constructs.block import results, satisfies
from whorl.interpreter.evaluation import value_of
from whorl.interpreter.events import amount_in, charged, join, split_iteration
from whorl.interpreter.plan import inner_key
from whorl.interpreter.state import Observer
from whorl.ir.expressions import expressions_in, inner_values, outer_values
from whorl.ir.walk import blocks_of, is_hidden
from whorl.language import UNDEFINED, LanguageError, Undefined, evaluate, free_names
from whorl.lazily import dataclass
from whorl.providers.redaction import HIDDEN
from whorl.runtimes.journal.sealed_secrets import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from whorl.interpreter.events import Event
    from whorl.interpreter.frames import BlockFrame, End, Frame, Outcome, RunState, Values
    from whorl.interpreter.plan import Plan
    from whorl.interpreter.state import State
    from whorl.ir import Expression, Node, Value
    from whorl.language import Json, Scope

# Records, and selections of records.

_REPETITION = re.compile(r".*\](?:#[0-9]+)?")
# Words of the file and of the engine, times and numbers: what else a record has are values.
_NAMES = """address name kind node started_at status ended_at usage reason branch number repetitions
    attempts frame"""
_OWN = frozenset(_NAMES.split())


@dataclass(slots=True)
class Attempt:
    """One attempt at a task."""

    address: str
    status: str
    ended_at: float
    error: Json = None


@dataclass(slots=True)
class Record:
    """The outcome of a step, an item or an iteration; `node` is the key of its node in the plan.

    `kind` is the kind of a task, the IR's word for another node, `item` or `iteration`. A skip has
    the `reason` `condition` (its own), `order` (a step before it), `halt` (a failure), `branch`
    (another case was taken), `around` (the node around it), `end` (too late) or `budget`. `because`
    has the facts.
    """

    address: str
    name: str
    kind: str
    node: str
    started_at: float | None
    status: str = "running"
    ended_at: float | None = None
    inputs: Json = None
    output: Json = None
    error: Any = None
    usage: dict[str, float] = field(default_factory=dict)
    reason: str = ""
    because: Values = field(default_factory=dict)
    branch: str | None = None
    number: int | None = None
    repetitions: int | None = None
    attempts: list[Attempt] = field(default_factory=list)
    # The key of its frame.
    frame: str = ""

    def end(self, at: float, status: str, **facts: Any) -> None:
        self.ended_at, self.status = at, status
        for name, fact in facts.items():
            setattr(self, name, fact)

    def hide(self, hidden: Callable[[str, Any], Json]) -> None:
        """Replaces each field with values by its visible form, also in the attempts."""
        holders: tuple[Record | Attempt, ...] = (self, *self.attempts)
        for holder in holders:
            for name in (part.name for part in fields(holder) if part.name not in _OWN):
                setattr(holder, name, hidden(name, getattr(holder, name)))


@dataclass(frozen=True, slots=True)
class Focus:
    """The selection of records: a place and everything inside it.

    `depth` is the levels of iterations and items inside it, or None; `only_repetitions`: only them.
    """

    at: str = ""
    depth: int | None = None
    only_repetitions: bool = False

    @property
    def inside(self) -> str:
        """The innermost iteration or item that is the place or around it."""
        match = _REPETITION.match(self.at)
        return match[0] if match else ""

    def wants(self, address: str) -> bool:
        if self.at and not is_inside(self.at, address):
            return False
        if self.only_repetitions and not _REPETITION.fullmatch(address):
            return False
        return self.depth is None or address.count("[", len(self.at)) <= self.depth


def is_inside(place: str, address: str) -> bool:
    """Returns whether an address is a place, an attempt at it, or inside it."""
    return address.startswith(place) and address[len(place) :][:1] in ("", "/", "[", "#")


def kind_of(node: Node) -> str:
    return node.kind if isinstance(node, ir.Task) else type(node).__name__.lower()


# What an iteration that a budget stops is called in its note.
_STOPPED = {"cut": "cancelled", "not_begun": "skipped"}
# After these the same places of a run may have other records.
STEERING = frozenset(f"run.{word}" for word in ("resumed", "continued", "accepted", "forked"))


class Recorder(Observer):
    """Makes the wanted records, up to a maximum, while a machine is fed."""

    def __init__(self, focus: Focus, limit: int) -> None:
        self.focus = focus
        self.is_full = False
        self._limit = limit
        self._records: list[tuple[Record, SecureParts]] = []
        # By the key of a frame, whether it has ended or not; those of iterations by their loops.
        self._known: dict[str, Record] = {}
        self._iterations: dict[str, Record] = {}
        self._latest: dict[str, Record] = {}
        self._inside = ("", 0)
        self._given: Json = None
        self._abandoned: dict[str, tuple[list[Record], Values]] = {}
        # Each part of a fork has a plan of its own.
        self._secure: dict[int, tuple[Plan, SecureParts]] = {}

    def begun(self, machine: State, key: str) -> None:
        frame = machine.frames[key]
        if frame["kind"] == "block":
            self._begin_repetition(machine, key)
            return
        if "node" not in frame or not self.focus.wants(frame["address"]):
            return
        if frame["kind"] == "program":
            return  # what it requests has records
        node, parent = machine.node(frame), machine.frames[str(frame["parent"])]
        if isinstance(node, ir.Call) and frame["address"] == parent["address"]:
            return  # it lends its address to what is in it
        record = Record(frame["address"], node.name, kind_of(node), frame["node"], machine.now)
        if not isinstance(node, ir.Task):
            record.inputs = given_to(node, machine.scope(frame))
        self._add(machine, record, key)

    def _begin_repetition(self, machine: State, key: str) -> None:
        frame = machine.block_frames[key]
        holder = str(frame["parent"])
        parent = machine.frames[holder]
        if parent["kind"] not in ("loop", "foreach"):
            return
        number = split_iteration(frame["address"])[1]
        if frame["address"] == self.focus.inside:
            self._inside = (holder, number or 0)
        self._iterations.pop(holder, None)
        if (around := self._known.get(holder)) is not None:
            around.repetitions = max(around.repetitions or 0, number or 0)
        if not self.focus.wants(frame["address"]):
            return
        kind = "iteration" if parent["kind"] == "loop" else "item"
        record = Record(frame["address"], parent["name"], kind, parent["node"], machine.now)
        record.number = number
        if parent["kind"] == "loop":
            record.inputs = dict(parent["carry"]) or None
            self._iterations[holder] = record
        else:
            name = machine.node(parent).item_name
            record.inputs = {name.lstrip("$"): machine.values_at(frame["scope"])[name]}
        self._add(machine, record, key)

    def left(self, machine: State, key: str, outcome: Outcome) -> None:
        frame, value = machine.frames[key], outcome.get("value")
        if frame["kind"] == "branch":
            self._skip_cases(machine, key)
        record = self._known.get(key)
        if record is None:
            return
        if frame["kind"] == "block":
            value = results(machine, key) if outcome["status"] == "succeeded" else None
            if record.kind == "iteration":
                record.output = value
                return  # it is judged before it ends
        elif isinstance(value, list):
            value = [*value]  # that of a for-each changes where an item is tried again
        record.end(machine.now, outcome["status"], output=value, error=outcome.get("error"))
        if frame["kind"] == "task":
            self._take_inputs(machine, key, record)
            self._give_up(machine, key)
        elif frame["kind"] == "branch":
            record.branch = frame.get("branch")

    def dropped(self, machine: State, key: str) -> None:
        frame = machine.frames[key]
        if frame["kind"] == "block" and frame["left"] and "ended" not in frame:
            plan = machine.plan.blocks[frame["block"]]
            for name, node in plan.nodes.items():
                if name not in frame["ends"] and name not in frame["children"]:
                    skipped = Record("", "", "", "", machine.now, reason="end")
                    place = join(frame["address"], name)
                    self._skip(machine, place, plan.key, node, skipped)
        if frame["kind"] == "task":
            self._give_up(machine, key)
        if frame["kind"] == "signal":
            self._end_around(machine, key)
        record = self._known.pop(key, None)
        if record is not None and record.ended_at is None:
            if frame["kind"] == "task":
                self._take_inputs(machine, key, record)
            record.end(machine.now, "cancelled")

    def _end_around(self, machine: State, key: str) -> None:
        """Ends the records of a jump and of the nodes around it, which may end as failed."""
        node = machine.node(machine.frames[key])
        status = getattr(node, "status", "succeeded")
        at: str | None = key
        # The caller of a workflow receives its status.
        held = ("call",) if getattr(node, "ends", "") == "workflow" else ()
        while at is not None and machine.frames[at]["kind"] not in ("loop", "run", *held):
            record = self._known.get(at)
            if record is not None and record.ended_at is None:
                record.end(machine.now, "succeeded" if at == key else status)
            at = machine.frames[at]["parent"]

    def computing(self, machine: State, frame: BlockFrame, node: Node) -> None:
        self._given = None
        if self.focus.wants(join(frame["address"], node.name)):
            self._given = given_to(node, machine.scope(frame))

    def recorded(self, machine: State, frame: BlockFrame, name: str, end: End, value: Json) -> None:
        plan = machine.plan.blocks[frame["block"]]
        node, address = plan.nodes[name], join(frame["address"], name)
        record = Record(address, name, kind_of(node), plan.key + name, machine.now)
        if end["status"] == "skipped":
            record.reason, record.because = _why(end, node, frame)
            if record.reason == "condition":
                record.inputs = read_by(node, machine.scope(frame)) or None
            self._skip(machine, address, plan.key, node, record)
        elif isinstance(node, ir.Compute | ir.Assign) and self.focus.wants(address):
            inputs, self._given = self._given, None
            record.end(machine.now, end["status"], inputs=inputs, output=value)
            record.error = end.get("error")
            self._add(machine, record)
        if end.get("tolerated") and (last := self._latest.get(address)) is not None:
            last.reason = "tolerated"

    def closed(self, machine: State, key: str, note: Values) -> None:
        frame, status = machine.loop_frames[key], str(note["status"])
        if status == "not_begun":
            # What it has done is nothing, as far as anybody sees.
            for record, _ in self._records:
                if is_inside(frame["iteration"]["address"], record.address):
                    record.end(machine.now, "skipped", reason="budget")
        iteration = self._iterations.get(key)
        if iteration is None:
            return
        iteration.end(machine.now, _STOPPED.get(status, status), error=note.get("error"))
        iteration.reason = "budget" if status in _STOPPED else ""
        if status == "succeeded":
            iteration.output = frame.get("previous")
        facts = ("score", "met", "by", "best")
        iteration.because = {name: note[name] for name in facts if note.get(name) is not None}

    def taking(self, machine: State, event: Event) -> None:
        """Takes an event before it is fed."""
        if event.kind in CHARGED:
            self._take_reply(machine, event)
        elif event.kind in STEERING:
            under_way = [record for record in self._known.values() if record.ended_at is None]
            # What a fork has from another run has cost it nothing.
            for record in under_way if event.kind == "run.forked" else ():
                record.usage.clear()

    def moved(self, before: RunState, after: RunState, key: str) -> None:
        """Moves on to a later state; the usage in between is charged to one frame."""
        used = {n: v - before["usage"].get(n, 0) for n, v in after["usage"].items()}
        charge(self._around(after["frames"], key), used)
        frame: Any = after["frames"][key]
        if (record := self._known.get(key)) is not None:
            record.repetitions = frame.get("count", frame.get("next"))

    def _take_inputs(self, machine: State, key: str, record: Record) -> None:
        """Adds the inputs of a task, or the values that it reads if they cannot be computed."""
        frame, node = machine.task(key)
        inputs = frame.get("inputs")
        if inputs is not None:
            record.inputs = {name: value for name, value in inputs.items() if name != "turns"}
        elif not node.secure:
            record.inputs = read_by(node, machine.scope(machine.frames[key])) or None

    def _skip_cases(self, machine: State, key: str) -> None:
        """Adds the nodes of the cases that were not taken."""
        frame = machine.plain_frames[key]
        node: ir.Branch = machine.node(frame)
        chosen = frame.get("branch")
        cases = [case for case in (*node.cases, node.default) if case is not None]
        taken = {n.name for case in cases if case.name == chosen for n in case.body.nodes}
        skipped = Record("", "", "", "", machine.now, reason="branch", because={"taken": chosen})
        for case in cases:
            slot = "default" if case is node.default else f"case.{case.name}"
            for inside in case.body.nodes if case.name != chosen else ():
                if inside.name not in taken:
                    place = join(frame["address"], inside.name)
                    block = f"{frame['node']}@{slot}/"
                    self._skip(machine, place, block, inside, skipped)

    def _skip(self, machine: State, address: str, block: str, node: Node, skipped: Record) -> None:
        """Adds the records of a skipped node of a block and everything inside it."""
        key, latest = block + node.name, self._latest.get(address)
        if skipped.reason == "halt" and latest is not None and latest.status == "cancelled":
            return
        if self.focus.wants(address):
            record = replace(skipped, address=address, name=node.name, kind=kind_of(node), node=key)
            record.end(machine.now, "skipped")
            self._add(machine, record)
        around = replace(skipped, reason="around", because={"step": address}, inputs=None)
        for slot, held in blocks_of(node):
            for inside in held.nodes:
                place = join(address, inside.name)
                self._skip(machine, place, inner_key(key, slot), inside, around)

    def _add(self, machine: State, record: Record, key: str = "") -> None:
        latest = self._latest.get(record.address)
        if latest is not None and latest.status == "skipped":
            latest.status = ""  # it has its turn after all
        if len(self._records) >= self._limit:
            self.is_full = True
            return
        plan = machine.plan
        if id(plan) not in self._secure:
            self._secure[id(plan)] = (plan, SecureParts(plan))
        self._records.append((record, self._secure[id(plan)][1]))
        self._latest[record.address] = record
        if key:
            self._known[key], record.frame = record, key

    def _take_reply(self, machine: State, event: Event) -> None:
        """Charges the usage of a call to all records around it."""
        waiting = machine.pending.get(event.address)
        usage: Any = event.body.get("usage")
        if event.kind == "task.in_doubt":
            usage = charged(event.body.get("reserve") or {})  # type: ignore[arg-type]
        if waiting is None:
            records, paid = self._abandoned.pop(event.address, ([], {}))
            charge(records, paid, -1)
            charge(records, usage)
            return
        charge(self._around(machine.frames, waiting["frame"]), usage)
        record = self._known.get(waiting["frame"])
        if record is not None and event.kind != "task.in_doubt":
            status = "succeeded" if event.kind == "task.finished" else "failed"
            error = shown(event).get("error")
            record.attempts.append(Attempt(event.address, status, event.at, error))

    def _give_up(self, machine: State, key: str) -> None:
        """Charges an abandoned call, until its reply arrives."""
        address = machine.frames[key]["address"]
        call = machine.state["abandoned"].get(address)
        if call is not None and address not in self._abandoned:
            records = self._around(machine.frames, key)
            charge(records, call["usage"])
            self._abandoned[address] = (records, call["usage"])

    def _around(self, frames: dict[str, Frame], key: str | None) -> list[Record]:
        """Returns the records of a frame and of all frames around it."""
        records: list[Record] = []
        while key is not None:
            if (record := self._known.get(key)) is not None:
                records.append(record)
            inside, key = key, frames[key]["parent"]
            # The judge of an iteration is no part of its body; one ahead of the next is of neither.
            iteration = self._iterations.get(key or "")
            if iteration is not None and key is not None and iteration.frame != inside:
                records += [] if frames[key].get("before") else [iteration]
        return records

    def found(self, machine: State) -> list[Record]:
        """Returns the records; those of running nodes are as in the machine now."""
        for key, record in self._known.items():
            frame = machine.frames.get(key)
            if frame is None or (record.kind == "iteration" and record.ended_at is not None):
                continue
            if frame["kind"] == "task":
                self._take_inputs(machine, key, record)
            if machine.done and record.ended_at is None:
                record.end(machine.now, "cancelled", reason="end")
            elif machine.behaviour(frame).stays and "ended" not in frame and not machine.done:
                record.status, record.ended_at, record.output = "running", None, None
        for waiting in machine.pending.values():
            if waiting["what"] == "gate":
                for record in self._around(machine.frames, waiting["frame"])[:1]:
                    record.status = "waiting"
        for record, secure in self._records:
            secure.hide(record)
        return [record for record, _ in self._records if record.status]

    def is_passed(self, machine: State) -> bool:
        """Returns whether a later iteration has begun, so that the place's records are final."""
        loop: Any = machine.frames.get(self._inside[0])
        return loop is not None and bool(loop.get("count", 0) > self._inside[1])


def _why(end: End, node: Node, frame: BlockFrame) -> tuple[str, Values]:
    """Returns why a node is skipped, and the facts."""
    cause, ends = str(end.get("cause", "")), frame["ends"]
    if cause == "condition" and node.when is not None:
        return cause, {"when": node.when.source}
    if cause == "order":
        for after in node.after:
            if not satisfies(ends[after.node], after):
                status: Json = ends[after.node]["status"]
                return cause, {"step": after.node, "status": status, "wanted": [*after.statuses]}
    if cause == "halt":
        lost = (n for n, e in ends.items() if e["status"] != "skipped" and "error" in e)
        return cause, {"step": next(lost, None)}
    return cause, {}


# What calls used, charged to the records of all that they happened in.

CHARGED = frozenset({"task.finished", "task.failed", "task.in_doubt"})


def charge(records: list[Record], usage: Any, sign: int = 1) -> None:
    if not isinstance(usage, dict):
        return
    amounts = {name: amount_in(amount) for name, amount in usage.items()}
    if usage.get("calls") and usage.get("cost_usd", 0) is None:
        amounts["unpriced"] = amounts["calls"]
    for record in records:
        for name in (name for name in amounts if amounts[name]):
            record.usage[name] = record.usage.get(name, 0) + sign * amounts[name]


# Which records tell nothing: what a step is given or gives that comes of something secure.
#
# A secure step says so itself. What is computed of it stands in no journal, and records do not tell
# it either, nor inputs that quote it. What a task is given is journaled, unless it is secure.

_NAME = re.compile(r"[.\[]")


class SecureParts:
    """The parts of a plan's nodes that are hidden, by the keys of the nodes."""

    def __init__(self, plan: Plan) -> None:
        nodes = plan.nodes
        self.outputs = {key for key, node in nodes.items() if is_hidden(node, plan.workflows)}
        self.inputs = {k for k, node in nodes.items() if isinstance(node, ir.Task) and node.secure}
        self.names = {nodes[key].name.casefold() for key in self.outputs}
        if self.outputs:
            self._follow(plan)
        self.inputs |= self.outputs

    def hide(self, record: Record) -> None:
        """Removes hidden values from a record."""
        computes = record.kind in ("compute", "assign")
        names = record.inputs if computes and isinstance(record.inputs, dict) else ()
        if any(_NAME.split(name)[0].casefold() in self.names for name in names):
            # Some of them only its functions have looked up.
            self.names.add(record.name.casefold())
            self.inputs.add(record.node)
            self.outputs.add(record.node)
        if record.node in self.inputs and record.inputs is not None:
            record.inputs = HIDDEN
        if record.kind not in ("item", "iteration"):
            if record.node in self.outputs and record.output is not None:
                record.output = HIDDEN
        elif isinstance(record.output, dict):
            given = record.output.items()
            record.output = {n: HIDDEN if n.casefold() in self.names else v for n, v in given}

    def _follow(self, plan: Plan) -> None:
        """Also hides all values that are computed from hidden ones, directly or not."""
        reads = {key: _reads(node, plan) for key, node in plan.nodes.items()}
        holders, count = _holders(plan), -1
        while count != len(self.names) + len(self.outputs):
            count = len(self.names) + len(self.outputs)
            for key in (key for key, names in reads.items() if names & self.names):
                node = plan.nodes[key]
                if not isinstance(node, ir.Task):
                    self.inputs.add(key)
                if isinstance(node, ir.Compute | ir.Assign | ir.Call):
                    self.outputs.add(key)
                self.names.update(name.casefold() for name in _gives(node))
            around = [holders[key] for key in self.outputs if key in holders]
            self.outputs.update(around)
            self.names.update(plan.nodes[key].name.casefold() for key in around)


def _holders(plan: Plan) -> dict[str, str]:
    """Returns the key of the node around each node that is inside another."""
    nodes = plan.nodes.items()
    owners = {inner_key(key, slot): key for key, node in nodes for slot, _ in blocks_of(node)}
    blocks = {key: key.removesuffix(node.name) for key, node in nodes}
    return {key: owners[block] for key, block in blocks.items() if block in owners}


def _gives(node: Node) -> Iterable[str]:
    """Returns the names under which other nodes see the values that a node computes."""
    match node:
        case ir.Compute() | ir.Call():
            return (node.name,)
        case ir.Assign():
            return (node.name, *(name for name, _ in node.sets))
        case ir.ForEach():
            return (node.item_name, "$item", "$items")
        case ir.Loop():
            return [carry.name for carry in node.carry]
        case _:
            return ()


def _reads(node: Node, plan: Plan) -> frozenset[str]:
    """Returns the names that a node reads; for a call, also those of the called outputs."""
    values: list[Value | None] = [*outer_values(node)]
    if isinstance(node, ir.Loop):
        values += inner_values(node)
    elif isinstance(node, ir.Call) and node.workflow in plan.workflows:
        values += [value for _, value in plan.workflows[node.workflow].outputs]
    names: set[str] = set()
    for value in values:
        for expression in expressions_in(value):
            try:
                uses = free_names(expression)
            except LanguageError:
                continue
            for use in uses:
                names.add(use.name.casefold())
                # A table of the engine's own, and the name that is looked up in it.
                if use.name.startswith("$") and use.path:
                    names.add(str(use.path[0]).casefold())
    return frozenset(names)


# What a step was given: its inputs, or where it has none, the names that it reads.

# What a name stands for, and how far into its value it is read.
Use: TypeAlias = tuple[str, str, tuple[str | int, ...]]
# All names at once, which tells nothing.
_EVERYTHING = "results"


def given_to(node: Node, scope: Scope) -> Json:
    """Returns the input of a node in its scope, or None if it cannot be computed."""
    written = _written(node)
    if written is None:
        return read_by(node, scope) or None
    try:
        return value_of(written, scope)
    except LanguageError:
        # The node itself fails of it, and says why.
        return read_by(node, scope) or None


def read_by(node: Node, scope: Scope) -> dict[str, Json]:
    """Returns the values that a node reads by name, only the parts that it reads."""
    given: dict[str, Json] = {}
    uses, looking = _uses(node)
    for label, name, path in uses:
        value: Any = scope.lookup(name)
        if value is not UNDEFINED:
            given[label] = _inside(value, path)
    if looking:
        tracing, known = _Tracing(scope), {name for _, name, _ in uses}
        for expression in looking:
            with suppress(LanguageError):
                evaluate(expression, tracing)
        given |= {name: tracing.read[name] for name in tracing.read if name not in known}
    return given


class _Tracing:
    """A scope that records the names that are looked up in it."""

    def __init__(self, below: Scope) -> None:
        self._below = below
        self.read: dict[str, Json] = {}

    def lookup(self, name: str) -> Json | Undefined:
        value = self._below.lookup(name)
        if not isinstance(value, Undefined) and not name.startswith("$") and name != _EVERYTHING:
            self.read[name] = value
        return value


def _written(node: Node) -> Value | None:
    """Returns the expression of a node's input, if it has one."""
    if node.echo is not None:
        return node.echo
    match node:
        case ir.Call():
            return node.inputs
        case ir.ForEach():
            return ir.Fields((("items", node.items),))
        case ir.Assign():
            return ir.Fields(node.sets)
        case ir.Branch(subject=subject) if subject is not None:
            return ir.Fields((("subject", subject),))
        case ir.Compute(over=over) if over is not None:
            return ir.Fields((("items", over),))
        case ir.Compute(shape=shape, value=ir.Fields()) if shape is not None:
            return node.value
        case ir.Gate():
            return ir.Fields((("message", node.message), ("show", node.show)))
        case ir.Wait() if node.until is not None:
            return ir.Fields((("until", node.until),))
        case ir.Wait():
            return ir.Fields((("duration", node.duration or ir.Constant(None)),))
        case ir.Stop():
            output = () if node.output is None else (("output", node.output),)
            code = () if node.code == ir.Constant(None) else (("code", node.code),)
            return ir.Fields((("message", node.message), *code, *output))
        case _:
            return None


def _uses(node: Node) -> tuple[list[Use], list[Expression]]:
    """Returns the names that a node reads, and the expressions whose functions read more."""
    uses: dict[str, Use] = {}
    looking: list[Expression] = []
    for expression in (e for value in outer_values(node) for e in expressions_in(value)):
        if expression.library:
            looking.append(expression)
        try:
            names = free_names(expression)
        except LanguageError:
            continue
        for use in names:
            # Names that begin so are tables of the engine's own, where a thing has a name in them.
            label, path = use.name, use.path
            if label.startswith("$"):
                label, path = (str(path[0]) if path else ""), path[:1]
            else:
                label += "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in path)
            if label:
                uses[label] = (label, use.name, path)
    return list(uses.values()), looking


def _inside(value: Any, path: tuple[str | int, ...]) -> Json:
    for step in path:
        if isinstance(value, dict) and step not in value:
            # Some dialects do not tell small letters from capital ones.
            alike = (name for name in value if name.casefold() == str(step).casefold())
            step = next(alike, step)
        try:
            value = value[step]
        except (LookupError, TypeError):
            return None
    is_record = isinstance(value, dict) and {"name", "status", "code"} <= value.keys()
    return value.get("outputs") if is_record else value  # type: ignore[no-any-return]
