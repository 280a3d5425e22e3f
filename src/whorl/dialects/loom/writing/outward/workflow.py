"""A definition as a workflow that other formats can say."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from whorl import ir
from whorl.dialects.loom.writing.control import item_kind
from whorl.dialects.loom.writing.here import LOGIC
from whorl.dialects.loom.writing.outward.expressions import Outward
from whorl.dialects.loom.writing.outward.kinds import counts, kinds_of
from whorl.dialects.loom.writing.outward.results import Actions, Place
from whorl.dialects.loom.writing.scope import Said
from whorl.dialects.writing import Ledger, Spot
from whorl.ir.walk import walk
from whorl.language import LanguageError
from whorl.language.printing import CannotSay

if TYPE_CHECKING:
    from whorl.dialects.writing import Loss

_FINAL = re.compile(r'final_of\("((?:[^"\\]|\\.)*)", \w+\)')
_WRAPPED = re.compile(r"@\$typed(?:OrNull)?\('(?:[^']|'')*', '\w+', (.*)\)", re.DOTALL)
_NEVER = ir.Expression("jinja", "false")


@dataclass(slots=True)
class _Path:
    """Where the converter is."""

    ledger: Ledger
    outward: Outward
    spot: Spot

    def value(self, value: ir.Value | None) -> Any:
        """A value with its expressions in Jinja."""
        match value:
            case ir.Expression():
                return self.expression(value)
            case ir.Items():
                return ir.Items(tuple(self.value(item) for item in value.items))
            case ir.Fields():
                return ir.Fields(tuple((self._key(k), self.value(v)) for k, v in value.entries))
            case _:
                return value

    def _key(self, key: str | ir.Expression) -> str | ir.Expression:
        return key if isinstance(key, str) else self.expression(key)

    def expression(self, value: ir.Expression, *, condition: bool = False) -> ir.Expression:
        """An expression in Jinja; what cannot be said is a loss."""
        wrapped = _WRAPPED.fullmatch(value.source)
        if wrapped is not None:
            self.lose("the type of a variable", "variables of other formats have none")
            value = replace(value, source=f"@{wrapped[1]}")
        try:
            return self.outward.said(value, condition=condition)
        except (CannotSay, LanguageError) as fault:
            what = fault.what if isinstance(fault, CannotSay) else "an expression"
            why = fault.why if isinstance(fault, CannotSay) else str(fault)
            self.lose(f"{what} in {value.source[:80]!r}", why)
            return _NEVER

    def lose(self, what: str, why: str) -> None:
        """Lists what other formats cannot say."""
        self.ledger.lose(self.spot, what, why)


def plain_workflow(workflow: ir.Workflow) -> tuple[ir.Workflow, tuple[Loss, ...]]:
    """The workflow of a definition without functions of the dialect, and what that loses."""
    ledger = Ledger()
    actions = Actions()
    actions.add(workflow.body)
    tables = dict(workflow.variables)
    given = _names(tables.get("$parameters"))
    variables: dict[str, Said] = {}
    for _, node in walk(workflow.body):
        for name, _ in node.sets if isinstance(node, ir.Assign) else ():
            variables[name.lower()] = Said(name)
    for name in _names(tables.get("$variables")):
        what = f"the variable {name!r}, which may be given to a run"
        ledger.lose(Spot(), what, "variables of other formats are no inputs")
    if isinstance(tables.get("$variables"), ir.Expression):
        _lose_given(ledger, tables["$variables"])
    outward = Outward(actions, Place(), variables, frozenset(given))
    outward = replace(outward, kinds=kinds_of(outward))
    body = _block(_Path(ledger, outward, Spot()), workflow.body, ())
    ports = tuple(port for port in workflow.inputs if port.name in given)
    outputs = tuple(
        (name, _output(_Path(ledger, outward, Spot()), value)) for name, value in workflow.outputs
    )
    if workflow.workflows:
        ledger.lose(Spot(), "calls of other definitions", "their bodies have another form")
    plain = replace(
        workflow,
        body=body,
        inputs=ports,
        main_input=ports[0].name if len(ports) == 1 else "",
        outputs=outputs,
        variables=(),
        statuses=(),
        vocabulary=None,
    )
    return plain, tuple(ledger.losses)


def _lose_given(ledger: Ledger, table: ir.Value) -> None:
    for name in re.findall(
        r'"((?:[^"\\]|\\.)*)"', table.source if isinstance(table, ir.Expression) else ""
    ):
        what = f"the variable {name!r}, which may be given to a run"
        ledger.lose(Spot(), what, "variables of other formats are no inputs")


def _names(table: ir.Value | None) -> list[str]:
    entries = table.entries if isinstance(table, ir.Fields) else ()
    return [key for key, _ in entries if isinstance(key, str)]


def _output(path: _Path, value: ir.Value) -> ir.Value:
    found = _FINAL.fullmatch(value.source) if isinstance(value, ir.Expression) else None
    if found is not None:
        last = path.outward.actions.held.get(found[1].lower())
        function = "outputs" if last and isinstance(last.node, ir.Compute) else "body"
        value = ir.Expression("logic", f"@{function}('{found[1]}')")
    result: ir.Value = path.value(value)
    return result


def _block(path: _Path, block: ir.Block, around: tuple[ir.Node, ...]) -> ir.Block:
    nodes: list[ir.Node] = []
    base = path.spot.path
    for node in block.nodes:
        spot = Spot(f"{base}/{node.name}" if base else node.name, node.place)
        outward = replace(path.outward, place=Place(around, node, block))
        nodes.append(_node(_Path(path.ledger, outward, spot), node, around))
    return replace(block, nodes=tuple(nodes))


def _node(path: _Path, node: ir.Node, around: tuple[ir.Node, ...]) -> ir.Node:
    if node.when is not None:
        path.lose("a result that stands for an action", "other formats have none")
    common: dict[str, Any] = {"shape": None, "echo": None, "when": None}
    inner = (*around, node)
    match node:
        case ir.Task():
            return replace(node, inputs=path.value(node.inputs), **common)
        case ir.Compute():
            if node.over is not None or node.shape is not None:
                path.lose("an action on the items of an array", "other formats have none")
            return replace(node, value=path.value(node.value), over=None, keep=None, **common)
        case ir.Assign():
            sets = tuple((name, path.value(value)) for name, value in node.sets)
            return replace(node, sets=sets, **common)
        case ir.Wait():
            duration, until = path.value(node.duration), path.value(node.until)
            return replace(node, duration=duration, until=until, **common)
        case ir.Stop():
            return replace(node, message=path.value(node.message), **common)
        case ir.Group():
            return replace(node, body=_block(path, node.body, inner), **common)
        case ir.Branch():
            return _branch(path, node, inner, common)
        case ir.ForEach():
            return _each(path, node, inner, common)
        case ir.Loop():
            return _loop(path, node, inner, common)
        case _:
            return replace(node, **common)


def _branch(
    path: _Path, node: ir.Branch, inner: tuple[ir.Node, ...], common: dict[str, Any]
) -> ir.Node:
    is_if = node.subject is None
    cases = tuple(
        replace(
            case,
            name="then" if is_if else case.name,
            when=None if case.when is None else path.expression(case.when, condition=True),
            body=_opened(path, f"case.{case.name}", case.body, inner),
        )
        for case in node.cases
    )
    default = None
    if node.default is not None and node.default.body.nodes:
        body = _opened(path, "default", node.default.body, inner)
        default = ir.Case("else" if is_if else node.default.name, body)
    subject = None if node.subject is None else _subject(path, node.subject)
    return replace(node, cases=cases, default=default, subject=subject, **common)


def _subject(path: _Path, subject: ir.Value) -> ir.Value:
    """What a switch looks at: elsewhere it is a text."""
    said: ir.Value = path.value(subject)
    source = subject if isinstance(subject, ir.Expression) else None
    if source is None or path.outward.kind(source) != "text" or not isinstance(said, ir.Expression):
        path.lose("a switch over a value that may be no text", "cases are compared as texts")
        return said
    if said.syntax == "template":
        return replace(said, syntax="jinja", source=_joined(said.source))
    return replace(said, source=f"({said.source}) ~ ''")


def _joined(template: str) -> str:
    """A text with one place as a value that is made a text."""
    inner = template.strip()
    if inner.startswith("{{") and inner.endswith("}}") and inner.count("{{") == 1:
        return f"({inner[2:-2].strip()}) ~ ''"
    return f"({template!r}) ~ ''"


def _opened(path: _Path, slot: str, block: ir.Block, inner: tuple[ir.Node, ...]) -> ir.Block:
    spot = replace(path.spot, path=f"{path.spot.path}@{slot}")
    return replace(_block(_Path(path.ledger, path.outward, spot), block, inner), open=True)


def _each(
    path: _Path, node: ir.ForEach, inner: tuple[ir.Node, ...], common: dict[str, Any]
) -> ir.Node:
    items = path.value(node.items)
    item = Said("item", item_kind(node.items))
    inside = _Path(path.ledger, replace(path.outward, item=item), path.spot)
    body = _block(inside, node.body, inner)
    return replace(node, items=items, body=body, item_name="item", **common)


def _loop(
    path: _Path, node: ir.Loop, inner: tuple[ir.Node, ...], common: dict[str, Any]
) -> ir.Node:
    """A loop; one that is checked between iterations is checked after each."""
    is_before = node.check == "before"
    if node.delay is not None and not is_before:
        path.lose("a condition that is weighed after the delay", "elsewhere it is weighed before")
    known = path.outward.variables
    body = _Path(
        path.ledger,
        replace(path.outward, variables=dict(known) | counts("iteration")),
        path.spot,
    )
    counted = counts("iteration" if is_before else "(iteration + 1)")
    place = replace(path.outward.place, condition=True)
    outward = replace(path.outward, place=place, variables=dict(known) | counted)
    checked = _Path(path.ledger, outward, path.spot)
    until = node.until
    if isinstance(until, ir.When) and until.test.syntax in LOGIC:
        until = ir.When(checked.expression(until.test, condition=True))
    limits = node.limits
    if isinstance(limits.iterations, ir.Expression):
        limits = replace(limits, iterations=path.expression(limits.iterations))
    if isinstance(limits.time_s, ir.Expression):
        limits = replace(limits, time_s=path.expression(limits.time_s))
    return replace(
        node,
        body=_block(body, node.body, inner),
        until=until,
        check="before" if is_before else "after",
        limits=limits,
        delay=path.value(node.delay),
        facts=(("iteration", "number"), ("previous", "previous")),
        bind=(),
        tells_after=(),
        **common,
    )
