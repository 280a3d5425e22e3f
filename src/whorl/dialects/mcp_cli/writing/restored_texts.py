"""Texts as their file had them, from the expressions that the reader makes of them."""

from __future__ import annotations

from whorl import ir
from whorl.language import parse, tree
from whorl.language.printing import CannotSay
from whorl.language.printing.jinja import printed
from whorl.language.printing.rebuilding import rebuild


def restore_text(value: ir.Value) -> str:
    """A text with placeholders; raises CannotSay."""
    match value:
        case ir.Constant() if isinstance(value.value, str):
            return value.value
        case ir.Expression():
            source = parse(value)
            if source.value is not None:
                return place_of(source.value)
            return "".join(_piece(statement) for statement in source.body)
        case _:
            raise CannotSay("a value that is no text", "texts of mcp-cli hold variables only")


def _piece(statement: tree.Stmt) -> str:
    if isinstance(statement, tree.Text):
        return statement.text
    if isinstance(statement, tree.Emit):
        return place_of(statement.value)
    raise CannotSay("a tag of a template", "texts of mcp-cli hold variables only")


def place_of(node: tree.Expr) -> str:
    """The placeholder, or the literal text, that an expression was made of."""
    match node:
        case tree.Literal(value=str() as text):
            return text
        case tree.Concat():
            return "".join(place_of(part) for part in node.parts)
        case tree.Apply():
            return _place_of_call(node)
        case tree.Item(target=tree.Name(name="env"), key=tree.Literal(value=str() as name)):
            return f"{{{{env.{name}}}}}"
        case _:
            return f"{{{{{_name_of(node)}}}}}"


def _place_of_call(node: tree.Apply) -> str:
    name, arguments = node.function.name, node.arguments
    match name, arguments:
        case "string", (subject, *_):
            return place_of(subject)
        case "default", (_, tree.Literal(value=str() as written), *_):
            # What stays in the text where the variable is not set is what was written.
            return written
        case "required", (_, tree.Literal(value=str() as required)):
            return f"{{{{{required}}}}}"
        case _:
            return f"{{{{{_name_of(node)}}}}}"


def _name_of(node: tree.Expr) -> str:
    match node:
        case tree.Name():
            return node.name
        case tree.Apply() if node.function.name == "variable":
            return str(getattr(node.arguments[0], "value", ""))
        case tree.Member(target=tree.Name(name="loop")):
            return f"loop.{node.name}"
        case tree.Member(target=tree.Member(target=tree.Name(name="loop"), name="last")):
            return f"loop.last.{node.name}"
        case tree.Member(name="output"):
            return _name_of(node.target)
        case tree.Member(name="accumulator"):
            return f"{_name_of(node.target)}_accumulator"
        case _:
            words = type(node).__name__.lower()
            raise CannotSay(f"the construct {words!r}", "variables of mcp-cli are flat")


def restore_condition(test: ir.Expression) -> str:
    """The condition of a step."""
    source = parse(test)
    value = source.value
    if isinstance(value, tree.Apply) and value.function.name == "is_true":
        return place_of(value.arguments[0])
    places: list[str] = []

    def marked(node: tree.Expr) -> tree.Expr:
        if not isinstance(node, tree.Name | tree.Apply | tree.Item | tree.Member):
            return node
        # A member holds names that were marked before it.
        text = _unmarked(node, places)
        places.append(text)
        return tree.Name(f"PLACE_{len(places)}_", 0)

    changed = rebuild(source, marked).value
    assert changed is not None
    text = printed(changed)
    for number, place in reversed(list(enumerate(places, start=1))):
        text = text.replace(f"PLACE_{number}_", place)
    return text


def _unmarked(node: tree.Expr, places: list[str]) -> str:
    if isinstance(node, tree.Member):
        inner = node.target
        assert isinstance(inner, tree.Name)
        before = places[int(inner.name.split("_")[1]) - 1].strip("{}")
        return f"{{{{{before}}}}}" if node.name == "output" else f"{{{{{before}.{node.name}}}}}"
    return place_of(node)
