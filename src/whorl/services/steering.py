"""Prepares the requests of people to runs: finds their place, and checks what a resume needs."""

from __future__ import annotations

import asyncio
import os
import time
from dataclasses import asdict, replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from whorl.errors import UsageError, did_you_mean, plural
from whorl.interpreter.constructs.loops.exploring import went_past
from whorl.interpreter.events import Event, numbered, split_iteration
from whorl.interpreter.requests import Refused, chosen_loop, objection
from whorl.ir import Constant, Expression, Fields, Program, Task, to_json
from whorl.ir.walk import walk, with_all_nodes
from whorl.language import LanguageError, parse
from whorl.lazily import dataclass
from whorl.runtimes.journal.folding import check_key, fold
from whorl.runtimes.journal.sealed_secrets import opened
from whorl.runtimes.runtime import check_unmocked
from whorl.services.configuration.trust import ENDING
from whorl.services.files.forecasting import tasks_of
from whorl.services.files.preflight import check_allowed, check_performable, unknown_names
from whorl.services.inspecting import places, results

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from whorl.ir import Node, Value, Workflow
    from whorl.language import Json
    from whorl.providers.registry import Providers
    from whorl.runtimes.journal.forking import Fork
    from whorl.runtimes.journal.journal import RunId
    from whorl.runtimes.runtime import Runtime
    from whorl.runtimes.sqlite import SqliteStore
    from whorl.services.inspecting.results import Gate


def asked(kind: str, body: dict[str, Json] | None = None, address: str = "") -> Event:
    """Returns a request with a unique name, so that it is carried out once."""
    return Event(kind, address, time.time(), {"request": os.urandom(16).hex(), **(body or {})})


def paused(store: SqliteStore, run: RunId) -> Event:
    if store.run(run).status == "interrupted":
        words = f"run {run} is interrupted, so there is nothing to pause"
        raise UsageError(words, help=f"`whorl resume {run}` resumes it")
    return asked("run.paused", {"by": "person"})


def decided(
    store: SqliteStore,
    run: RunId,
    at: str,
    *,
    approved: bool,
    feedback: str,
    by: str = "person",
    edits: Edits | None = None,
) -> Event:
    body: dict[str, Json] = {"approved": approved, "by": by}
    body |= {"feedback": feedback} if feedback else {}
    gate = _chosen_gate(store, run, at)
    if edits is not None:
        body["value"] = _checked_edits(gate, edits.value)
    return asked("gate.decided", body, gate.address)


@dataclass(frozen=True, slots=True)
class Edits:
    """A person's edits of the value that a question shows; for a loop, its results by name."""

    value: Json


def _checked_edits(gate: Gate, value: Json) -> Json:
    if gate.show is None or gate.reason not in ("gate", "iteration", "limit"):
        raise UsageError(f"the question at {gate.place!r} has no value that can be edited")
    if gate.reason == "gate":
        return value
    known = list(gate.show) if isinstance(gate.show, dict) else []
    if not isinstance(value, dict) or not value or not value.keys() <= set(known):
        words = f"an edit of {gate.place!r} needs the names of its results"
        raise UsageError(words, help=f"there are: {places.some(known)}", code="W903")
    return value


def called(store: SqliteStore, run: RunId, at: str, value: Json) -> Event:
    """Returns the event of a call that a task waits for, with the data that was sent."""
    gate = _chosen_gate(store, run, at)
    if gate.reason != "call":
        raise UsageError(f"{at[:80]!r} of run {run} does not wait for a call")
    return asked("gate.decided", {"approved": True, "by": "call", "value": value}, gate.address)


@dataclass(frozen=True, slots=True)
class More:
    """The amounts that are added to the budgets of a run or a loop."""

    cost_usd: float | None = None
    tokens: int | None = None
    calls: int | None = None

    def amounts(self) -> dict[str, Json]:
        return {name: amount for name, amount in asdict(self).items() if amount is not None}


def continued(
    store: SqliteStore, run: RunId, at: str, *, iterations: int | None, more: More
) -> Event:
    if store.run(run).status != "running":
        # Nobody else drives it, who may have the key.
        check_key(store, run)
    body = more.amounts()
    body |= {"around": True} if body else {}
    if at or iterations is not None:
        body["at"] = loop_at(store, run, at, at_limit=True)
    elif not store.loops(run):
        places.one_meant(run, "loop", "", (), ())
    if iterations is not None:
        body["iterations"] = iterations
    return asked("run.continued", body)


def resumed(more: More | None = None, *, new_code: bool = False) -> Event:
    """Returns the request to resume; with `new_code`, other words of a program are accepted."""
    return asked(
        "run.resumed", (more.amounts() if more else {}) | ({"new_code": True} if new_code else {})
    )


def cancelled(feedback: str = "") -> Event:
    return asked("run.cancelled", {"feedback": feedback} if feedback else {})


def loop_at(store: SqliteStore, run: RunId, at: str, *, at_limit: bool = False) -> str:
    """Returns the address of the loop at `at`; without `at`, of the only loop that it can be."""
    machine = fold(store, run).machine
    open_ones = [str(f["address"]) for f in machine.frames.values() if f["kind"] == "loop"]
    wanted = ""
    if at or not open_ones:
        meant = places.loops_meant(at, open_ones)
        wanted = places.one_meant(run, "loop", split_iteration(at)[0], meant, open_ones)
    try:
        return chosen_loop(machine, wanted, at_limit=at_limit)
    except Refused as refusal:
        raise UsageError(str(refusal), help="say which with --at", code="W903") from refusal


def accepted(store: SqliteStore, run: RunId, at: str, number: int) -> Event:
    """Returns the request to end a loop with the result of an iteration."""
    loop = loop_at(store, run, at)
    frame: Any = results.loop_frame(fold(store, run).machine, loop)
    if frame.get("accepted_number") == number:
        raise UsageError(f"iteration {number} of {loop!r} is accepted already")
    result = places.iteration_results(store, run, loop, (number,), to_drive=True).get(number)
    if result is None:
        words = f"{loop!r} has no iteration {number} with a result"
        raise UsageError(words, help=f"`whorl show {run}` lists the iterations", code="W902")
    explored = {"explored": True} if went_past(frame) else {}
    return asked("run.accepted", {"at": loop, "iteration": number, **result, **explored})


def stopped(store: SqliteStore, run: RunId, at: str) -> Event:
    """Returns the request to stop a loop after the running iteration."""
    return asked("run.accepted", {"at": loop_at(store, run, at)})


def _chosen_gate(store: SqliteStore, run: RunId, at: str) -> Gate:
    gates = results.open_gates(store, run)
    shown = ", ".join(gate.place for gate in gates)
    same = [gate for gate in gates if not at or at in (gate.address, gate.place)]
    if len(same) > 1 and not at:
        words = f"several questions are open: {shown}"
        raise UsageError(words, help="say which with --at", code="W903")
    if same:
        return same[0]
    if gates:
        words = f"no question is open at {at!r}, or it is answered already"
        raise UsageError(words, help=f"open now: {shown}", code="W905")
    words = f"run {run} has no open question; it {results.status_words(store.run(run).status)}"
    raise UsageError(words, help=f"`whorl show {run}`", code="W905")


# What runs need to go on that may not be here: functions, models, permissions.


def program_of(store: SqliteStore, run: RunId) -> str:
    """Returns the program of a run, as `module:name`, or "" if it was read from a file."""
    place = PurePath(store.run(run).file).name
    return place if ":" in place else ""


def check_drivable(
    store: SqliteStore, providers: Providers, run: RunId, requests: Sequence[Event] = ()
) -> None:
    """Refuses to resume a run that would fail because something is missing here.

    It can still be paused and cancelled. On a cluster, the workers drive it.
    """
    is_ending = bool(requests) and all(event.kind in ENDING for event in requests)
    if providers.settings.runtime.kind != "local" or is_ending:
        return
    try:
        check_performable(results.workflow_of(store, run), providers)
    except UsageError:
        from whorl.runtimes.runtime import raise_objection

        # What the run itself has against it comes first: nothing that is given here would help.
        for event in requests:
            raise_objection(objection(fold(store, run).machine, event))
        raise


def check_functions(store: SqliteStore, providers: Providers, run: RunId) -> None:
    """Refuses to resume a run whose functions are missing here, unless workers drive it."""
    if providers.settings.runtime.kind != "local":
        return
    place, workflow = program_of(store, run), results.workflow_of(store, run)
    missing = unknown_names(workflow, providers) if place else ()
    code = [n.function for n in workflow.body.nodes if isinstance(n, Program)]
    lacks_code = any(providers.functions.program(function) is None for function in code)
    if lacks_code or any(unknown.code == "P114" for unknown in missing):
        place = place or code[0]
        words = f"run {run} needs the functions of {place!r}, which are not here"
        advice = f"resume it in a program that imports them: `asyncio.run(whorl.resume('{run}'))`"
        raise UsageError(words, help=advice, code="P114")


# A fork of a run, made ready: which iteration is redone, and what is changed for it.


def with_steps(workflow: Workflow, steps: Mapping[str, Mapping[str, str]]) -> Workflow:
    """Returns the workflow with another model or prompt in model steps, by paths or names.

    An empty name means every step, also in the workflows that it calls.
    """
    asking = {p: n for p, n in walk(workflow.body) if isinstance(n, Task) and n.kind == "ask"}
    everywhere = steps.get("", {})
    if everywhere and not any(task.kind == "ask" for _, task in tasks_of(workflow)):
        raise UsageError(f"no step of {workflow.name!r} asks a model", code="W902")
    own: dict[int, Mapping[str, str]] = {}
    for name, fields in ((name, fields) for name, fields in steps.items() if name):
        found = [node for path, node in asking.items() if name in (path, node.name)]
        if len(found) != 1:
            advice = did_you_mean(name, asking) or f"known: {places.some(asking)}"
            words = f"{name!r} does not name one step that asks a model"
            raise UsageError(words, help=advice, code="W902")
        own[id(found[0])] = {**own.get(id(found[0]), {}), **fields}

    def change(node: Node) -> Node:
        fields = {**everywhere, **own.get(id(node), {})}
        if not fields or not isinstance(node, Task) or node.kind != "ask":
            return node
        written = dict(node.inputs.entries)
        others = [entry for entry in node.inputs.entries if entry[0] not in fields]
        values = [(field, _rewritten(written.get(field), text)) for field, text in fields.items()]
        return replace(node, inputs=Fields((*others, *values)))

    return with_all_nodes(workflow, change) if steps else workflow


def chosen_steps(store: SqliteStore, run: RunId) -> dict[str, dict[str, str]]:
    """Returns the models and prompts that a person chose for steps when starting a run."""
    kinds = frozenset({"run.started", "run.forked"})
    chosen: Any = [entry.event.body.get("steps") for entry in store.read(run, kinds=kinds)]
    return dict(chosen[-1] or {}) if chosen else {}


def _rewritten(written: Value | None, text: str) -> Value:
    """Returns a replacement of a text, in the same syntax."""
    if not isinstance(written, Expression):
        if "{{" not in text:
            return Constant(text)
        written = Expression("template", text)
    expression = replace(written, source=text)
    try:
        parse(expression)
    except LanguageError as fault:
        raise UsageError(f"the text cannot be read: {fault}", code="W903") from fault
    return expression


async def new_fork(
    runtime: Runtime, providers: Providers, source: RunId, fork: Fork
) -> tuple[RunId, bool]:
    """Makes a run that redoes an iteration, for the caller to drive; False if its key is taken."""
    store = runtime.store
    fork = await asyncio.to_thread(_checked_fork, store, providers, source, fork)
    run, is_new = await runtime.fork(source, fork)
    if not is_new:
        await asyncio.to_thread(_check_key, store, run, source, fork)
    return run, is_new


def _check_key(store: SqliteStore, run: RunId, source: RunId, fork: Fork) -> None:
    """Refuses a key whose run was forked elsewhere, or otherwise: it is another request."""
    forks = [entry.event for entry in store.read(run, kinds=frozenset({"run.forked"}))]
    body = opened(forks[-1], run, store.seals).body if forks else {}
    own = to_json(results.workflow_of(store, run))
    known = [body.get("source"), body.get("at"), body.get("set"), own]
    workflow = fork.workflow or results.workflow_of(store, source)
    if known != [source, fork.at, fork.values, to_json(workflow)]:
        words = f"the key {fork.key!r} belongs to run {run}, which is not this fork of {source}"
        advice = f"choose another key, or look at that run: `whorl show {run}`"
        raise UsageError(words, help=advice, code="W905")


def _checked_fork(store: SqliteStore, providers: Providers, source: RunId, fork: Fork) -> Fork:
    """Returns the fork with the iteration at or around its address."""
    check_unmocked(store, source)
    workflow = fork.workflow or results.workflow_of(store, source)
    loop, number = _iteration_meant(store, source, fork.at)
    path = next((row.path for row in store.loops(source) if row.address == loop), loop)
    node = results.loop_node(workflow, path)
    names = [carry.name for carry in (node.carry if node is not None else ())]
    names += [port.name for port in workflow.inputs] + [name for name, _ in workflow.variables]
    state = results.loop_frame(fold(store, source).machine, loop).get("state")
    names += [] if state is None else ["state", *(state if isinstance(state, dict) else ())]
    for name in fork.values:
        if name not in names and not workflow.open_inputs:
            words = f"{name!r} cannot be set: it is not an input, variable or carried value"
            advice = did_you_mean(name, names) or f"known: {', '.join(names) or 'none'}"
            raise UsageError(words, help=advice)
    check_allowed(workflow, providers)
    # Another version of the file has its own models and prompts.
    steps = {} if fork.sources is not None else chosen_steps(store, source)
    for name, fields in fork.steps.items():
        steps[name] = {**steps.get(name, {}), **fields}
    return replace(fork, at=numbered(loop, number), steps=steps)


def _iteration_meant(store: SqliteStore, run: RunId, at: str) -> tuple[str, int]:
    rows = {row.address: row for row in store.loops(run)}
    loop, number = places.loop_around(at, rows)
    loop = places.one_meant(run, "loop", split_iteration(at)[0], [loop] if loop else [], rows)
    begun = max(rows[loop].iterations, rows[loop].explored)
    if number is None or not 1 <= number <= begun:
        words = f"say which iteration of {loop!r} to redo; it has begun "
        words += plural(begun, "iteration")
        raise UsageError(words, help=f"for example --at '{loop}[1]'", code="W902")
    return loop, number
