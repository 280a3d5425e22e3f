"""Expressions of a canvas in plain words: values are read by name."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from whorl import ir
from whorl.dialects.studio.writing.trees import called, literal_of, text_of, texts_of, tree_of
from whorl.dialects.writing import Ledger, Spot
from whorl.ir.walk import walk
from whorl.language import parse, tree
from whorl.language.printing import CannotSay
from whorl.language.printing.jinja import printed, quoted

_WHY = "other formats have nothing that is the same"


@dataclass(slots=True)
class Canvas:
    """The nodes of a canvas by name, and what stands for those that other formats do not have."""

    workflow: ir.Workflow
    ledger: Ledger = field(default_factory=Ledger)
    nodes: dict[str, ir.Node] = field(default_factory=dict)
    inputs: dict[str, str] = field(default_factory=dict)
    read: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        ports = {port.name for port in self.workflow.inputs}
        for _, node in walk(self.workflow.body):
            self.nodes[node.name] = node
            if isinstance(node, ir.Compute) and isinstance(node.value, ir.Expression):
                name, arguments = called(tree_of(node.value))
                given = text_of(arguments[0]) if name == "known" else None
                if given in ports and not (given in self.nodes and given != node.name):
                    self.inputs[node.name] = str(given)


@dataclass(frozen=True, slots=True)
class Place:
    """Where an expression stands: in which node, and in which loops and iterators."""

    canvas: Canvas
    spot: Spot
    around: tuple[str, ...] = ()

    def lose(self, what: str, why: str = _WHY) -> None:
        """Lists what other formats cannot say."""
        self.canvas.ledger.lose(self.spot, what, why)

    def value(self, value: ir.Value | None) -> Any:
        """A value in plain words."""
        match value:
            case ir.Expression():
                return self.expression(value)
            case ir.Items():
                return ir.Items(tuple(self.value(item) for item in value.items))
            case ir.Fields():
                return ir.Fields(tuple((key, self.value(one)) for key, one in value.entries))
            case _:
                return value

    def expression(self, value: ir.Expression) -> ir.Expression:
        """An expression in plain words; what cannot be said is a loss."""
        try:
            source = self.said(tree_of(value))
        except CannotSay as loss:
            self.lose(f"{loss.what} in {value.source[:80]!r}", loss.why)
            return ir.Expression("jinja", "none")
        tidy = parse(ir.Expression("jinja", source)).value
        assert tidy is not None
        return ir.Expression("jinja", printed(tidy))

    def said(self, node: tree.Expr | None) -> str:
        """A part of an expression; raises CannotSay."""
        if isinstance(node, tree.Literal):
            return printed(node)
        if isinstance(node, tree.Concat):
            return f"({' ~ '.join(map(self.said, node.parts))})"
        name, arguments = called(node)
        match name:
            case "known":
                return self._known(texts_of(arguments)[0])
            case "field":
                return self._field(*texts_of(arguments))
            case "main":
                return self._main(arguments[0])
            case "dig":
                return self._dig(arguments)
            case "pick" if len(arguments) == 2 and literal_of(arguments[0]) is True:
                return self.said(arguments[1])
        raise CannotSay(f"the function {name!r}" if name else "an expression", _WHY)

    def _known(self, name: str) -> str:
        canvas = self.canvas
        if name in canvas.inputs:
            canvas.read.add(canvas.inputs[name])
            return _spelt(canvas.inputs[name])
        if name in self.around:
            is_loop = isinstance(canvas.nodes[name], ir.Loop)
            return carried_name(name) if is_loop else "item"
        owner, _, word = name.rpartition(".")
        if owner in self.around[-1:] and word == "iteration":
            return "iteration"
        if owner in self.around[-1:] and word == "index":
            return "(iteration - 1)" if isinstance(canvas.nodes[owner], ir.Loop) else "index"
        if name in canvas.nodes and self._gives_itself(name):
            return _spelt(name)
        if name in dict(canvas.workflow.variables):
            return _spelt(name)
        raise CannotSay(f"the value of {name!r}", _WHY)

    def _gives_itself(self, name: str) -> bool:
        node = self.canvas.nodes[name]
        return isinstance(node, ir.Task | ir.Compute) and node.shape is None

    def _field(self, name: str, key: str) -> str:
        node = self.canvas.nodes.get(name)
        if isinstance(node, ir.Task) and shape_of(node) == "answered" and key in _ANSWER:
            return _spelt(name)
        if isinstance(node, ir.Task) and key in _RECORDS.get(node.kind, ()):
            return f"{_spelt(name)}.{key}"
        if isinstance(node, ir.Loop) and key in ("output", "count") and name not in self.around:
            return f"{_spelt(name)}{_end(node) if key == 'output' else '.loop.iterations'}"
        raise CannotSay(f"the field {key!r} of {name!r}", _WHY)

    def _main(self, value: tree.Expr) -> str:
        """The main text of a result: what is a text is that itself."""
        name, arguments = called(value)
        texts = texts_of(arguments)
        node = self.canvas.nodes.get(texts[0]) if texts else None
        if name == "known" and isinstance(node, ir.Task) and shape_of(node) == "answered":
            return _spelt(texts[0])
        if self._is_text(value):
            return self.said(value)
        raise CannotSay("the main part of a value that may be no text", _WHY)

    def _is_text(self, value: tree.Expr | None, assumed: tuple[object, ...] = ()) -> bool:
        """Whether a value is certain to be a text; what is assumed of nodes must hold for them."""
        if text_of(value) is not None or isinstance(value, tree.Concat):
            return True
        name, arguments = called(value)
        if name == "pick":
            is_one = len(arguments) == 2 and literal_of(arguments[0]) is True
            return is_one and self._is_text(arguments[1], assumed)
        if name in ("main", "dig"):
            return len(arguments) == 2 and self._is_text(arguments[0], assumed)
        texts = texts_of(arguments)
        if name not in ("known", "field") or (name, texts) in assumed:
            return (name, texts) in assumed
        assumed = (*assumed, (name, texts))
        node = self.canvas.nodes.get(texts[0])
        if isinstance(node, ir.Task):
            return shape_of(node) == "answered" and (name == "known" or texts[1] in _ANSWER)
        if isinstance(node, ir.Compute) and node.name not in self.canvas.inputs:
            return self._is_text(_tree(node.value), assumed)
        if isinstance(node, ir.Loop) and name == "known" and node.carry:
            carry = node.carry[0]
            return all(self._is_text(_tree(one), assumed) for one in (carry.first, carry.later))
        if isinstance(node, ir.Loop) and name == "field" and texts[1] == "output":
            end = self.canvas.nodes.get(end_name(node))
            return isinstance(end, ir.Compute) and self._is_text(_tree(end.value), assumed)
        return False

    def _dig(self, arguments: list[tree.Expr]) -> str:
        steps = "".join(f"[{printed(part)}]" for part in arguments[2:])
        found = f"{self.said(arguments[0])}{steps}"
        if not steps and self._is_text(arguments[0]):
            return found
        return f"({found} if {found} is defined else {printed(arguments[1])})"


_ANSWER = ("response", "content")
_RECORDS = {"http": ("status", "headers", "body"), "run": ("stdout", "stderr", "exit_code")}


def _tree(value: ir.Value | None) -> tree.Expr | None:
    return tree_of(value) if isinstance(value, ir.Expression) else None


def _spelt(name: str) -> str:
    return name if name.isidentifier() else f"results[{quoted(name)}]"


def carried_name(loop: str) -> str:
    """The name of what goes round in a loop."""
    kept = "".join(letter if letter.isalnum() else "_" for letter in loop)
    return f"{kept}_input"


def end_name(loop: ir.Loop) -> str:
    """The exit of a loop."""
    _, arguments = (
        called(tree_of(loop.shape)) if isinstance(loop.shape, ir.Expression) else ("", [])
    )
    return text_of(arguments[1]) or "" if len(arguments) > 1 else ""


def _end(loop: ir.Loop) -> str:
    name = end_name(loop)
    return f".{name}" if name.isidentifier() else f"[{quoted(name)}]"


def shape_of(node: ir.Node) -> str:
    """The function that makes a node's result what it is; empty where none does."""
    return called(tree_of(node.shape))[0] if isinstance(node.shape, ir.Expression) else ""
