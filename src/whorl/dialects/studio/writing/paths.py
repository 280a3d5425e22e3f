"""Expressions of other formats as texts with places: a canvas knows paths, and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl import ir
from whorl.language import LanguageError, parse, tree
from whorl.language.printing import CannotSay

if TYPE_CHECKING:
    from whorl.dialects.studio.writing.sketch import Here

_WHY = "texts of a canvas hold places such as {{node.field}}"
_MISSING = "a place whose value is missing stays as it is written there"


def path_text(here: Here, expression: ir.Expression) -> str:
    """An expression as a text with places; raises CannotSay."""
    try:
        source = parse(expression)
    except LanguageError as fault:
        raise CannotSay("an expression", fault.message) from None
    if source.value is not None:
        return _place(here, source.value)
    return "".join(_piece(here, one) for one in source.body)


def _piece(here: Here, statement: tree.Stmt) -> str:
    if isinstance(statement, tree.Emit):
        return _place(here, statement.value)
    if not isinstance(statement, tree.Text):
        raise CannotSay("a tag of a template", _WHY)
    if "{{" in statement.text:
        raise CannotSay("a text with {{", "it would be read as a place")
    return statement.text


def _place(here: Here, value: tree.Expr) -> str:
    if isinstance(value, tree.Literal) and isinstance(value.value, str) and "{{" not in value.value:
        return value.value
    return f"{{{{{_path(here, value)}}}}}"


def _path(here: Here, value: tree.Expr) -> str:
    match value:
        case tree.Name():
            return _name(here, value.name)
        case tree.Member(target=target, name=name):
            return _part(here, target, f".{name}", name)
        case tree.Item(target=target, key=tree.Literal(value=str() as name)) if _is_plain(name):
            return _part(here, target, f".{name}", name)
        case tree.Item(target=target, key=tree.Literal(value=int() as index)):
            return _part(here, target, f"[{index}]", "")
        case _:
            raise CannotSay("a value that is computed", _WHY)


def _is_plain(name: str) -> bool:
    return name.replace("-", "_").isidentifier()


def _part(here: Here, target: tree.Expr, step: str, name: str) -> str:
    if isinstance(target, tree.Name):
        node = here.sketch.nodes.get(target.name)
        if isinstance(node, ir.Loop) and not _is_inside(here, node):
            return _loop_part(here, node, name)
        if isinstance(node, ir.Group):
            return _name(here, name)
    if not _is_reply(here, target):
        here.lose(f"the part {name or step!r} of a value", _MISSING)
    return f"{_path(here, target)}{step}"


def _is_reply(here: Here, target: tree.Expr) -> bool:
    """Whether a value is a record whose parts are always there."""
    node = here.sketch.nodes.get(target.name) if isinstance(target, tree.Name) else None
    return isinstance(node, ir.Task) and node.kind in ("http", "run")


def _loop_part(here: Here, loop: ir.Loop, name: str) -> str:
    last = loop.body.nodes[-1].name if loop.body.nodes else ""
    if name != last:
        raise CannotSay(f"the result {name!r} of a loop", "a loop gives what reaches its exit")
    return f"{loop.name}.output"


def _is_inside(here: Here, loop: ir.Loop) -> bool:
    return loop.name in here.path.split("/")[:-1]


def _name(here: Here, name: str) -> str:
    sketch = here.sketch
    start = sketch.nodes.get(here.around)
    if isinstance(start, ir.ForEach):
        if name == start.item_name:
            return "item"
        if name and name == start.index_name:
            return "index"
    if isinstance(start, ir.Loop):
        if any(carry.name == name for carry in start.carry[:1]):
            return start.name
        if (name, "number") in start.facts:
            return "iteration"
    if name in sketch.nodes:
        return _step(here, name)
    if name in sketch.ports:
        return name
    raise CannotSay(f"the name {name!r}", "a canvas has nothing that is the same")


def _step(here: Here, name: str) -> str:
    node = here.sketch.nodes[name]
    if isinstance(node, ir.Task | ir.Compute | ir.Call | ir.Gate):
        if node.when is not None or node.on_failure != "halt" or name in here.sketch.unsure:
            here.lose(f"the result of {name!r}, which may be missing", _MISSING)
        here.sketch.references.setdefault(here.node.name, []).append(name)
        return name
    words = type(node).__name__.lower()
    raise CannotSay(f"the result of a {words}", "a canvas gives it another form")
