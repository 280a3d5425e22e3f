"""Loops over items: a workflow for each item of a JSON array, of JSON lines or of plain lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.mcp_cli.calls import call_inputs, main_output, read_given
from whorl.dialects.mcp_cli.execution import WORKERS
from whorl.dialects.mcp_cli.functions import quoted
from whorl.dialects.mcp_cli.nodes import RETRIES, read_shared
from whorl.dialects.mcp_cli.scalars import duration_of, is_true, number_of, text_of, whole_of
from whorl.dialects.mcp_cli.texts import PLACE
from whorl.dialects.mcp_cli.variables import LIBRARY, View
from whorl.errors import InvalidWorkflow
from whorl.source import Mapping, Scalar

if TYPE_CHECKING:
    from whorl.dialects.mcp_cli.draft import Item
    from whorl.dialects.mcp_cli.nodes import Page
    from whorl.dialects.reader import Called

# At least one item must succeed where failures are tolerated.
_ANY = 1e-9
_FILE = "file://"


def read_iterate(page: Page, item: Item, fields: Mapping, called: Called | None) -> ir.ForEach:
    """Reads a loop with `mode: iterate`."""
    shared = read_shared(page, item)
    limits = [shared["timeout_s"], duration_of(fields.get("total_timeout"))]
    shared["timeout_s"] = min((time for time in limits if time is not None), default=None)
    word = text_of(fields.get("on_failure"))
    rate = number_of(fields.get("min_success_rate"))
    halts = word == "halt" or (word != "continue" and rate is None)
    _check_iterate(page, item, fields)
    return ir.ForEach(
        items=_items(page, item, fields),
        body=_body(page, item, fields, called),
        item_name="loop",
        concurrency=_workers(fields),
        item_timeout_s=duration_of(fields.get("timeout_per_item")),
        min_success_rate=1.0 if halts else max(rate or 0.0, _ANY),
        on_item_failure="halt" if halts else "continue",
        shape=ir.Expression("jinja", "each_result(it)", LIBRARY),
        **shared,
    )


def _workers(fields: Mapping) -> int:
    if not is_true(fields.get("parallel")):
        return 1
    return whole_of(fields.get("max_workers")) or WORKERS


def _body(page: Page, item: Item, fields: Mapping, called: Called | None) -> ir.Block:
    given = read_given(page.draft, item, called, fields.get("with"))
    view = View(item, inside=item)
    item_ = ir.Expression("jinja", "loop.item")
    inputs = call_inputs(page.texts, called, given, view, input_=_item_input(page, given, view))
    entries = [(name, value) for name, value in inputs.entries if name != "item"]
    retry = None
    if text_of(fields.get("on_failure")) == "retry":
        times = whole_of(fields.get("max_retries")) or RETRIES
        delay = duration_of(fields.get("retry_delay")) or 0.0
        retry = ir.Retry(times, wait_s=delay, backoff=1.0, wait_max_s=delay, on=("*",))
    call = ir.Call(
        name="output",
        workflow=called.key if called else "",
        inputs=ir.Fields((*entries, ("item", item_))) if _takes_item(called) else inputs,
        shape=main_output(),
        unnamed=True,
        retry=retry,
    )
    return ir.Block((call,))


def _takes_item(called: Called | None) -> bool:
    if called is None or called.reading.workflow.open_inputs:
        return True
    return any(port.name == "item" for port in called.reading.workflow.inputs)


def _item_input(page: Page, given: Mapping, view: View) -> ir.Value:
    """The input for one item: a JSON object with all of `with`, and the item."""
    source = f"item_input({page.texts.source(given, view)}, loop.item)"
    return ir.Expression("jinja", source, LIBRARY)


def _items(page: Page, item: Item, fields: Mapping) -> ir.Value:
    source = fields.get("items")
    most = whole_of(fields.get("max_iterations")) or 1
    if not isinstance(source, Scalar):
        return ir.Constant([])
    if source.text.startswith(_FILE):
        return _items_of_file(page, item, source, most)
    expression = _listed(page.texts.source(source, page.view(item)), most)
    page.draft.places.remember_part(expression, source.span)
    return expression


def _listed(source: str, most: int) -> ir.Expression:
    return ir.Expression("jinja", f"items_in({source}, {most})", LIBRARY)


def _items_of_file(page: Page, item: Item, source: Scalar, most: int) -> ir.Value:
    env = page.draft.root.get("env")
    values = {e.name: text_of(e.value) for e in env} if isinstance(env, Mapping) else {}
    reference = PLACE.sub(
        lambda found: values.get(found[1].strip().removeprefix("env."), found[0]),
        source.text.removeprefix(_FILE),
    )
    try:
        _, text = page.draft.files.text(reference, source.span)
    except InvalidWorkflow as fault:
        page.draft.report(
            "W016",
            f"'items' of {item.words}: {fault.diagnostics[0].message}",
            source.span,
            label="this file",
            help="name a file of the project (file://items.json), or give the items as input: "
            'items: "{{input}}"',
        )
        return ir.Constant([])
    return _listed(quoted(text), most)


def _check_iterate(page: Page, item: Item, fields: Mapping) -> None:
    if not text_of(fields.get("items")).strip():
        page.draft.report(
            "W006",
            f"{item.words} goes over items, but lacks the field 'items'",
            item.key.span,
            label="'items' is missing",
            help='add items: "{{input}}": a JSON array, JSON lines, or one item per line',
        )
    entry = fields.entry("until")
    if entry is not None:
        page.draft.warn(
            "W023",
            f"'until' of {item.words} has no effect: it ends when no items are left",
            entry.key.span,
            label="not used",
            help="remove it, or leave out mode: iterate",
        )
