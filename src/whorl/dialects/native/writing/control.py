"""Steps that hold steps or call files: if, choose, each, together and call."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from whorl import ir
from whorl.dialects.native.writing.naming import find_names
from whorl.dialects.writing import Ledger
from whorl.ir.walk import walk

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.dialects.native.writing.here import Here

    WriteBlock = Callable[..., dict[str, Any]]


def write_branch(here: Here, node: ir.Branch, write_block: WriteBlock) -> dict[str, Any]:
    """A condition with one or two branches, or a choice among cases."""
    for case in (*node.cases, *((node.default,) if node.default else ())):
        _check_open(here, case.body, f"case {case.name!r}")
    if _is_if(node):
        test = node.cases[0].when
        assert test is not None
        step: dict[str, Any] = {"if": here.test(test)}
        step["then"] = _case(here, "case.then", node.cases[0], write_block)
        if node.default is not None:
            step["else"] = _case(here, "default", node.default, write_block)
        return step
    return {"choose": _choose(here, node, write_block)}


def _case(here: Here, slot: str, case: ir.Case, write_block: WriteBlock) -> dict[str, Any]:
    spot = replace(here.spot, path=f"{here.spot.path}@{slot}")
    return write_block(
        replace(here, spot=spot, shapes=here.shapes.with_block(case.body)), case.body
    )


def _is_if(node: ir.Branch) -> bool:
    return (
        len(node.cases) == 1
        and node.subject is None
        and node.when is None
        and node.cases[0].name == "then"
        and node.cases[0].when is not None
        and (node.default is None or node.default.name == "else")
    )


def _choose(here: Here, node: ir.Branch, write_block: WriteBlock) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if node.subject is not None:
        found["on"] = _subject(here, node.subject)
    cases: dict[str, Any] = {}
    for case in node.cases:
        steps = _case(here, f"case.{case.name}", case, write_block)
        if case.when is not None:
            cases[case.name] = {"if": here.test(case.when), "steps": steps}
            continue
        if case.equals != ir.Constant(case.name):
            here.lose(f"the value of case {case.name!r}", "a case is taken by its name, a text")
        cases[case.name] = {"steps": steps} if "steps" in steps else steps
    found["cases"] = cases
    if node.default is not None:
        if node.default.name != "default":
            here.lose(f"the name {node.default.name!r} of a default", "it is called 'default'")
        found["default"] = _case(here, "default", node.default, write_block)
    return found


def _subject(here: Here, subject: ir.Value) -> str | bool:
    if not isinstance(subject, ir.Expression):
        here.lose("a constant that is chosen by", "`on` is an expression")
        return "false"
    source = str(here.test(subject))
    start, end = "(", ") ~ ''"
    if source.startswith(start) and source.endswith(end):
        # The reader makes a text of the subject in just this way.
        return source[len(start) : -len(end)]
    here.lose("a subject that is no text", "cases are compared with the text of `on`")
    return source


def write_each(here: Here, node: ir.ForEach, write_block: WriteBlock) -> dict[str, Any]:
    """Steps for each item of a list."""
    step: dict[str, Any] = {"each": here.computed(node.items)}
    if node.item_name != "item":
        step["as"] = here.naming.of(node.item_name)
    if node.index_name:
        step["index"] = here.naming.of(node.index_name)
    if node.concurrency != 1:
        step["at_once"] = node.concurrency
    hidden = {node.item_name, node.index_name}
    kept = {name: one for name, one in here.replaced.items() if name not in hidden}
    inside = replace(here, replaced=kept, shapes=here.shapes.with_block(node.body))
    return step | {"steps": write_block(inside, node.body)}


def write_group(here: Here, node: ir.Group, write_block: WriteBlock) -> dict[str, Any]:
    """Steps side by side."""
    _check_open(here, node.body, "a group")
    inside = replace(here, shapes=here.shapes.with_block(node.body))
    return {"together": write_block(inside, node.body, is_ordered=False)}


def _check_open(here: Here, body: ir.Block, what: str) -> None:
    if not body.open and body.nodes:
        here.lose(f"{what} that keeps its results to itself", "its steps are seen around it there")


def write_call(here: Here, node: ir.Call) -> dict[str, Any]:
    """A call of another file."""
    called = here.companions.workflows.get(node.workflow)
    step: dict[str, Any] = {"call": here.companions.names.get(node.workflow, node.workflow)}
    if called is None:
        here.lose(f"the workflow {node.workflow!r}", "it is not there")
        return step
    if node.unnamed and any(isinstance(one, ir.Loop) for _, one in walk(called.body)):
        here.lose(
            "a call without a name of its own", "its loops have the step's name before theirs"
        )
    names = find_names(called, Ledger(), node.workflow)
    given = {names.of(name): value for name, value in here.value(node.inputs).items()}
    return step | {"with": given} if given else step
