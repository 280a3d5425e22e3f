"""Actions that hold other actions: conditions, switches, for-each and scopes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from whorl import ir
from whorl.dialects.loom.control import AZURE_CONCURRENCY, CONCURRENCY_MAX
from whorl.dialects.loom.writing.scope import Said, value_kind

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.dialects.loom.writing.here import Here

    WriteBlock = Callable[[Here, ir.Block], dict[str, Any]]


SHARED = ("name", "after", "when", "on_failure", "retry", "timeout_s", "shape", "echo")


def write_branch(here: Here, node: ir.Branch, write_block: WriteBlock) -> dict[str, Any]:
    """A condition, or a switch."""
    if node.subject is None:
        return _if(here, node, write_block)
    key = "on" if here.page.lenient else "expression"
    cases: dict[str, Any] = {}
    for case in node.cases:
        inner = write_block(here.inside(f"case.{case.name}").with_block(case.body), case.body)
        said = case.equals.value if isinstance(case.equals, ir.Constant) else None
        if not isinstance(case.equals, ir.Constant):
            here.lose(f"the value of case {case.name!r}", "a case is a constant there")
        is_named = here.page.lenient and said == case.name
        cases[case.name] = ({} if is_named else {"case": said}) | {"actions": inner}
    action: dict[str, Any] = {"type": here.page.word("Switch"), key: here.value(node.subject)}
    action["cases"] = cases
    if node.default is not None:
        body = node.default.body
        inner = write_block(here.inside("default").with_block(body), body)
        action["default"] = {"actions": inner}
    return action


def _if(here: Here, node: ir.Branch, write_block: WriteBlock) -> dict[str, Any]:
    key = "condition" if here.page.lenient else "expression"
    first, *others = node.cases
    if others:
        rest = replace(node, name=f"{node.name}_else", cases=tuple(others), after=(), when=None)
        default = ir.Case("else", ir.Block((rest,), open=True))
        node = replace(node, cases=(first,), default=default)
    action: dict[str, Any] = {"type": here.page.word("If")}
    assert first.when is not None
    action[key] = here.source(first.when, condition=True)
    inside = here.inside(f"case.{first.name}").with_block(first.body)
    action["actions"] = write_block(inside, first.body)
    if node.default is not None and node.default.body.nodes:
        body = node.default.body
        inner = write_block(here.inside("default").with_block(body), body)
        action["else"] = {"actions": inner}
    return action


def write_each(here: Here, node: ir.ForEach, write_block: WriteBlock) -> dict[str, Any]:
    """Actions for each item."""
    action: dict[str, Any] = {"type": here.page.word("Foreach"), "foreach": here.value(node.items)}
    usual = 1 if here.page.lenient or here.is_in_each else AZURE_CONCURRENCY
    if node.concurrency != usual:
        if node.concurrency == 1:
            action["operationOptions"] = "Sequential"
        else:
            repetitions = min(node.concurrency, CONCURRENCY_MAX)
            action["runtimeConfiguration"] = {"concurrency": {"repetitions": repetitions}}
    if node.concurrency > CONCURRENCY_MAX:
        here.lose(f"{node.concurrency} items at once", f"there are at most {CONCURRENCY_MAX}")
    inside = replace(here, is_in_each=True)
    if not here.page.is_own:
        inside = _each_item(inside, node)
    action["actions"] = write_block(inside, node.body)
    return action


def _each_item(here: Here, node: ir.ForEach) -> Here:
    """The names of an item: only that of the innermost for-each can be read."""
    here.lose_unsaid(node, (*SHARED, "items", "body", "item_name", "index_name", "concurrency"))
    outer = {name for name, said in here.crossing.scope.names.items() if said.source == "item()"}
    scope = here.crossing.scope.without(*outer, node.item_name, node.index_name)
    item = Said("item()", item_kind(node.items))
    return here.where(scope.with_names({node.item_name: item})).with_block(node.body)


def item_kind(items: ir.Value) -> str:
    """The kind of the items of a list that is written down."""
    if not isinstance(items, ir.Constant) or not isinstance(items.value, list):
        return "any"
    kinds = {value_kind(ir.Constant(item), lambda _: "any") for item in items.value}
    return kinds.pop() if len(kinds) == 1 else "any"


def write_group(here: Here, node: ir.Group, write_block: WriteBlock) -> dict[str, Any]:
    """A block of actions."""
    inside = here.with_block(node.body)
    return {"type": here.page.word("Scope"), "actions": write_block(inside, node.body)}
