"""A whole file: its steps and loops in document order, its inputs, its output."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.mcp_cli.draft import Item
from whorl.dialects.mcp_cli.execution import read_execution
from whorl.dialects.mcp_cli.functions import quoted
from whorl.dialects.mcp_cli.nodes import Page
from whorl.dialects.mcp_cli.order import find_order
from whorl.dialects.mcp_cli.scalars import text_of
from whorl.dialects.mcp_cli.steps import read_node
from whorl.dialects.mcp_cli.texts import Texts
from whorl.dialects.mcp_cli.variables import (
    LIBRARY,
    MAIN,
    RESERVED,
    View,
    collect_variables,
)
from whorl.dialects.mcp_cli.vocabulary import VOCABULARY
from whorl.source import Mapping, Scalar, Sequence

if TYPE_CHECKING:
    from whorl.dialects.mcp_cli.draft import Draft
    from whorl.dialects.mcp_cli.variables import Variables

ITEMS_MAX = 1_000
_NAME = re.compile(r"[^\s{}\x00-\x1f](?:[^{}\x00-\x1f]{0,126}[^\s{}\x00-\x1f])?")


def read_workflow(draft: Draft) -> ir.Workflow:
    """Reads a file whose fields were checked; what is wrong in it is in the draft."""
    items = _read_items(draft)
    variables = collect_variables(items, draft.root.get("env"))
    page = Page(
        draft,
        Texts(draft, variables),
        find_order(draft, items, variables),
        read_execution(draft),
    )
    nodes = [read_node(page, item) for item in items]
    if nodes:
        # Its result is that of the workflow, which has none where it failed.
        nodes[-1] = replace(nodes[-1], on_failure="halt")
    draft.mentions.update((name, one.span) for name, one in variables.inputs.items())
    if variables.reads_input:
        draft.mentions[MAIN] = draft.root.span
    return ir.Workflow(
        name=text_of(draft.root.get("name")) or "workflow",
        description=text_of(draft.root.get("description")),
        inputs=_inputs(variables),
        main_input=MAIN,
        open_inputs=True,
        body=ir.Block(
            tuple(nodes), concurrency=page.execution.workers, on_failure=page.execution.on_failure
        ),
        outputs=_outputs(items, variables),
        variables=_env(draft),
        workflows=tuple(draft.workflows.items()),
        dialect="mcp-cli",
        vocabulary=VOCABULARY,
    )


def _read_items(draft: Draft) -> list[Item]:
    found: list[Item] = []
    for field in ("steps", "loops"):
        listed = draft.root.get(field)
        for fields in listed.items if isinstance(listed, Sequence) else ():
            name = fields.get("name") if isinstance(fields, Mapping) else None
            if isinstance(fields, Mapping) and isinstance(name, Scalar) and name.text:
                own = fields if field == "loops" else fields.get("loop")
                loop = own if isinstance(own, Mapping) else None
                found.append(Item(name.text, name, fields, loop))
    if len(found) > ITEMS_MAX:
        draft.report(
            "W015",
            f"the workflow has {len(found):,} steps and loops; the limit is {ITEMS_MAX:,}",
            draft.root.span,
            label="too many",
            help="go over items with `loop: {mode: iterate}`, or call other workflows",
        )
        return []
    found.sort(key=lambda item: (item.fields.span.line, item.fields.span.column))
    if not found and not draft.diagnostics:
        draft.report(
            "W006",
            "the workflow has neither steps nor loops",
            draft.root.span,
            label="nothing to do",
            help='add steps: [{name: write, run: "Write {{input}}"}]',
        )
    return _named_once(draft, found)


def _named_once(draft: Draft, items: list[Item]) -> list[Item]:
    seen: dict[str, Item] = {}
    for item in items:
        first = seen.get(item.name)
        if first is not None:
            draft.report(
                "W012",
                f"two steps or loops are called {item.name[:60]!r}",
                item.key.span,
                label=f"the first one is on line {first.key.span.line}",
                help="choose another name for one of them",
            )
            continue
        seen[item.name] = item
        if item.name in RESERVED or not _NAME.fullmatch(item.name):
            draft.report(
                "W012",
                f"a step or loop cannot be called {item.name[:60]!r}",
                item.key.span,
                label="reserved" if item.name in RESERVED else "not a name",
                help=f"choose another name, such as {'my_' + item.name[:40]!r}",
            )
    _check_accumulators(draft, seen)
    return list(seen.values())


def _check_accumulators(draft: Draft, items: dict[str, Item]) -> None:
    taken = dict(items)
    for item in items.values():
        named = item.loop.get("accumulate") if item.loop is not None else None
        if not isinstance(named, Scalar) or not named.text:
            continue
        first = taken.setdefault(named.text, item)
        if first is not item or named.text in RESERVED or named.text == item.name:
            draft.report(
                "W012",
                f"{item.words} cannot accumulate as {named.text[:60]!r}: that name has a meaning",
                named.span,
                label="taken",
                help=f"choose another name, such as {item.name[:40] + '_history'!r}",
            )


def _inputs(variables: Variables) -> tuple[ir.Port, ...]:
    """The main input, and every name that texts mention and nothing in the file gives.

    One that only prompts mention stays in them as it is written unless it is given.
    """
    main = ir.Port(MAIN, "string", required=False, default="")
    others = [
        ir.Port(name, required=one.required, default=None if one.required else one.written)
        for name, one in variables.inputs.items()
    ]
    return (main, *others)


def _outputs(items: list[Item], variables: Variables) -> tuple[tuple[str, ir.Value], ...]:
    if not items:
        return ()
    last = variables.find(items[-1].name, View())
    assert last is not None
    return (("output", ir.Expression("jinja", last.expression, LIBRARY)),)


def _env(draft: Draft) -> tuple[tuple[str, ir.Value], ...]:
    """What `env` sets, over what the caller's file set."""
    env = draft.root.get("env")
    if not isinstance(env, Mapping) or not env.entries:
        return ()
    pairs = ", ".join(f"{quoted(e.name)}: {quoted(text_of(e.value))}" for e in env)
    return (("env", ir.Expression("jinja", f"merged(env, {{{pairs}}})", LIBRARY)),)
