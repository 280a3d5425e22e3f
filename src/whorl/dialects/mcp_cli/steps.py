"""Steps: a prompt, a template (another workflow), a consensus of several models."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.mcp_cli.calls import call_inputs, main_output, read_given
from whorl.dialects.mcp_cli.execution import inputs_of, sequence_of, warn_of_skills
from whorl.dialects.mcp_cli.finding import find_workflow
from whorl.dialects.mcp_cli.functions import quoted
from whorl.dialects.mcp_cli.loops import read_loop
from whorl.dialects.mcp_cli.nodes import read_shared
from whorl.dialects.mcp_cli.scalars import duration_of, is_true, text_of
from whorl.dialects.mcp_cli.variables import LIBRARY, spelled
from whorl.source import Mapping

if TYPE_CHECKING:
    from whorl.dialects.mcp_cli.draft import Item
    from whorl.dialects.mcp_cli.nodes import Page


def read_node(page: Page, item: Item) -> ir.Node:
    """Reads a step or loop into a node."""
    page.draft.places.remember_node(item.name, item.key.span)
    _warn_of_unused(page, item)
    if item.loop is not None:
        return read_loop(page, item, item.loop)
    if isinstance(item.get("template"), Mapping):
        return _read_template(page, item)
    if isinstance(item.get("consensus"), Mapping):
        return _read_consensus(page, item)
    return _read_run(page, item)


def _read_run(page: Page, item: Item) -> ir.Task:
    shared = read_shared(page, item)
    shared["timeout_s"] = page.execution.timeout(item.fields)
    prompt = page.texts.prompt(item.get("run"), page.view(item))
    return ir.Task(
        kind="ask", inputs=inputs_of(page.execution.asking(item.fields), prompt), **shared
    )


def _read_template(page: Page, item: Item) -> ir.Node:
    template = item.get("template")
    assert isinstance(template, Mapping)
    called = find_workflow(page.draft, item, template.get("name"))
    given = read_given(page.draft, item, called, template.get("with"))
    view = page.view(item)
    input_: ir.Value = ir.Expression("jinja", "input", LIBRARY)
    if given.entries:
        input_ = page.texts.lines(given, view, strict=False)
    else:
        page.texts.variables.reads_input = True
    inputs = call_inputs(page.texts, called, given, view, input_=input_)
    return ir.Call(
        workflow=called.key if called else "",
        inputs=inputs,
        shape=main_output(),
        **read_shared(page, item),
    )


def _read_consensus(page: Page, item: Item) -> ir.Group:
    consensus = item.get("consensus")
    assert isinstance(consensus, Mapping)
    voters = sequence_of(consensus.get("executions"))
    if len(voters) < 2 and "executions" in consensus:
        page.draft.report(
            "W007",
            f"{item.words} needs at least two 'executions' to agree, not {len(voters)}",
            item.key.span,
            label="too few",
            help="add another one: {provider: ..., model: ...}",
        )
    prompt = page.texts.prompt(consensus.get("prompt"), page.view(item))
    times = (duration_of(consensus.get("timeout")), page.execution.timeout(item.fields))
    time = next((one for one in times if one is not None), None)
    tasks = _named_apart(
        [_read_voter(page, item, voter, prompt=prompt, time=time) for voter in voters]
    )
    vote = ir.Compute(
        name="vote",
        after=tuple(ir.After(task.name) for task in tasks),
        value=_vote(item, consensus, tasks),
    )
    shared = read_shared(page, item)
    shared["timeout_s"] = None
    body = ir.Block((*tasks, vote))
    return ir.Group(body=body, shape=ir.Expression("jinja", "it.vote"), **shared)


def _read_voter(
    page: Page, item: Item, voter: Mapping, *, prompt: ir.Value, time: float | None
) -> ir.Task:
    label = " ".join(text_of(voter.get(part)) for part in ("provider", "model")).strip()
    own = duration_of(voter.get("timeout"))
    return ir.Task(
        name=label or "model",
        kind="ask",
        inputs=inputs_of(page.execution.asking(voter, item.fields), prompt),
        on_failure="continue",
        timeout_s=time if own is None else own,
    )


def _named_apart(tasks: list[ir.Task]) -> list[ir.Task]:
    seen: dict[str, int] = {"vote": 1}
    found: list[ir.Task] = []
    for task in tasks:
        number = seen[task.name] = seen.get(task.name, 0) + 1
        found.append(task if number == 1 else replace(task, name=f"{task.name} {number}"))
    return found


def _vote(item: Item, consensus: Mapping, tasks: list[ir.Task]) -> ir.Expression:
    answers = ", ".join(spelled(task.name) for task in tasks)
    share = text_of(consensus.get("require")) or "unanimous"
    least = 1 if is_true(consensus.get("allow_partial")) else 2
    # A validating step passes when the models agree on SUCCESS, not on just anything.
    wanted = quoted("SUCCESS") if "validate" in item.name.lower() else "none"
    source = f"vote([{answers}], {quoted(share)}, {least}, {wanted})"
    return ir.Expression("jinja", source, LIBRARY)


_UNUSED = {
    "execution_order": "write `needs` to order steps",
    "input": "write what the step is to read into `run`",
}


def _warn_of_unused(page: Page, item: Item) -> None:
    if item.loop is item.fields:
        return
    warn_of_skills(page.draft, item.fields, item.words)
    for name, advice in _UNUSED.items():
        entry = item.fields.entry(name)
        if entry is not None:
            page.draft.warn(
                "W023",
                f"{name!r} of {item.words} has no effect",
                entry.key.span,
                label="not used",
                help=advice,
            )
