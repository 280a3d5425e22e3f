"""A fork of a run, made ready: which iteration is redone, and what is changed for it."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

from whorl.errors import UsageError, did_you_mean, plural
from whorl.interpreter.events import numbered, split_iteration
from whorl.ir import Constant, Expression, Fields, Task, to_json
from whorl.ir.walk import walk, with_nodes
from whorl.language import LanguageError, parse
from whorl.runtimes.journal.sealed_secrets import opened
from whorl.services.files.preflight import check_allowed
from whorl.services.inspecting.places import loop_around, some
from whorl.services.inspecting.results import loop_node, workflow_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whorl.ir import Node, Value, Workflow
    from whorl.providers.registry import Providers
    from whorl.runtimes.journal.forking import Fork
    from whorl.runtimes.journal.journal import RunId
    from whorl.runtimes.runtime import Runtime
    from whorl.runtimes.sqlite import SqliteStore


def with_steps(workflow: Workflow, steps: Mapping[str, Mapping[str, str]]) -> Workflow:
    """The workflow with another model or prompt in steps that ask, by their paths or names."""
    asking = {p: n for p, n in walk(workflow.body) if isinstance(n, Task) and n.kind == "ask"}
    changed: dict[int, Node] = {}
    for name, fields in steps.items():
        found = [node for path, node in asking.items() if name in (path, node.name)]
        if len(found) != 1:
            words = f"{len(found) or 'no'} steps that ask a model have the name {name!r}"
            advice = did_you_mean(name, asking) or f"there are: {some(asking)}"
            raise UsageError(words, help=advice, code="W907")
        others = [entry for entry in found[0].inputs.entries if entry[0] not in fields]
        written = dict(found[0].inputs.entries)
        values = [(field, _rewritten(written.get(field), text)) for field, text in fields.items()]
        changed[id(found[0])] = replace(found[0], inputs=Fields((*others, *values)))
    return replace(workflow, body=with_nodes(workflow.body, lambda n: changed.get(id(n), n)))


def _rewritten(written: Value | None, text: str) -> Value:
    """Another text in the place of one, in the same syntax."""
    if not isinstance(written, Expression):
        return Expression("jinja", text) if "{{" in text else Constant(text)
    expression = replace(written, source=text)
    try:
        parse(expression)
    except LanguageError as fault:
        raise UsageError(f"the text cannot be read: {fault}", code="W903") from fault
    return expression


async def new_fork(
    runtime: Runtime, providers: Providers, source: RunId, fork: Fork
) -> tuple[RunId, bool]:
    """Makes a run that redoes an iteration of another one; whoever asks for it drives it.

    False: a run with the fork's key exists already.
    """
    store = runtime.store
    fork = await asyncio.to_thread(_checked_fork, store, providers, source, fork)
    run, is_new = await runtime.fork(source, fork)
    if not is_new:
        await asyncio.to_thread(_check_key, store, run, source, fork)
    return run, is_new


def _check_key(store: SqliteStore, run: RunId, source: RunId, fork: Fork) -> None:
    """Refuses a key whose run was forked elsewhere, or otherwise: it is another request."""
    forked = None
    for entry in store.read(run):
        if entry.event.kind == "run.forked":
            forked = entry.event
    body = {} if forked is None else opened(forked, run, store.seals).body
    known = [body.get("source"), body.get("at"), body.get("set"), to_json(workflow_of(store, run))]
    workflow = fork.workflow or workflow_of(store, source)
    if known != [source, fork.at, fork.values, to_json(workflow)]:
        words = f"the key {fork.key!r} belongs to run {run}, which is not this fork of {source}"
        advice = f"choose another key, or look at that run: `whorl show {run}`"
        raise UsageError(words, help=advice, code="W905")


def _checked_fork(store: SqliteStore, providers: Providers, source: RunId, fork: Fork) -> Fork:
    """The fork with the iteration that its address names or lies in."""
    workflow = fork.workflow or workflow_of(store, source)
    loop, number = _iteration_meant(store, source, fork.at)
    path = next((row.path for row in store.loops(source) if row.address == loop), loop)
    node = loop_node(workflow, path)
    carried = [carry.name for carry in node.carry] if node is not None else []
    names = [*carried, *(port.name for port in workflow.inputs)]
    names += [name for name, _ in workflow.variables]
    for name in fork.values:
        if name not in names and not workflow.open_inputs:
            raise UsageError(
                f"{name!r} cannot be set: it is not an input, variable or carried value",
                help=did_you_mean(name, names) or f"there are: {', '.join(names) or 'none'}",
            )
    check_allowed(workflow, providers)
    return replace(fork, at=numbered(loop, number))


def _iteration_meant(store: SqliteStore, run: RunId, at: str) -> tuple[str, int]:
    rows = {row.address: row for row in store.loops(run)}
    loop, number = loop_around(at, rows)
    if not loop:
        wanted = split_iteration(at)[0]
        hint = did_you_mean(wanted, rows) or f"loops: {some(rows)}"
        raise UsageError(f"run {run} has no loop {wanted!r}", help=hint, code="W907")
    begun = max(rows[loop].iterations, rows[loop].explored)
    if number is None:
        last = f" to '{loop}[{begun}]'" if begun > 1 else ""
        words = f"say which iteration to redo: '{loop}[1]'{last}"
        raise UsageError(words, code="W903")
    if not 1 <= number <= begun:
        had = plural(begun, "iteration")
        words = f"{loop!r} has no iteration {number}; it has begun {had}"
        raise UsageError(words, help=f"`whorl show {run}` lists them", code="W907")
    return loop, number
