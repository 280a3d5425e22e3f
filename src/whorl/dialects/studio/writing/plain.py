"""Nodes that the engine does itself: input, output, transform, approval, and called workflows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whorl import ir
from whorl.dialects.studio.writing.asking import draw_pattern, feed_input, inputs_of, spoken
from whorl.dialects.studio.writing.fields import constant, seconds
from whorl.dialects.studio.writing.texts import feed, written
from whorl.dialects.studio.writing.trees import called, literal_of, text_of, tree_of
from whorl.language.printing import CannotSay

if TYPE_CHECKING:
    from whorl.dialects.studio.writing.sketch import Here
    from whorl.language import tree

_TYPES = ("number", "boolean", "json")


def draw_input(here: Here, port: ir.Port) -> dict[str, Any]:
    """What the run was given."""
    here.lose_unsaid(port, ("name", "type", "required", "default", "description", "aliases"))
    return {
        "name": None if port.name == here.node.name else port.name,
        "dataType": port.type if port.type in _TYPES else None,
        "default": port.default,
        "description": port.description or None,
    } | seconds(here.node)


def draw_output(here: Here, node: ir.Compute, name: str) -> dict[str, Any]:
    """What the workflow gives under a name."""
    if isinstance(node.value, ir.Expression):
        feed_input(here, tree_of(node.value))
    return {"name": None if name == node.name else name} | seconds(node)


def draw_transform(here: Here, node: ir.Compute) -> tuple[str, dict[str, Any]]:
    """A value that is computed: its type, and the fields."""
    value = node.value
    if not isinstance(value, ir.Expression):
        return "transform", {"template": _constant_text(here, value)} | seconds(node)
    parsed = tree_of(value)
    name, arguments = called(parsed)
    if name == "match":
        return "router", draw_pattern(here, *arguments)
    if name == "jsonpath":
        feed_input(here, arguments[0])
        data: dict[str, Any] = {"mode": "jsonpath", "template": text_of(arguments[1])}
    elif name == "pipe" and not _is_placed(arguments[0]):
        data = {"mode": "script", "template": _script(here, parsed)}
    else:
        data = {"template": spoken(here, parsed, value)}
    return "transform", data | seconds(node)


def _constant_text(here: Here, value: ir.Value) -> str:
    said = constant(value)
    if not isinstance(said, str):
        here.lose("a value that is no text", "a transform makes texts, or takes what comes in")
    return said if isinstance(said, str) else str(written(here, value))


def _is_placed(node: tree.Expr) -> bool:
    """Whether a pipe stands inside of a place, which keeps how it is written."""
    name, arguments = called(node)
    if name == "pipe":
        return _is_placed(arguments[0])
    return name == "dig" and "|" in (text_of(arguments[1]) or "")


def _script(here: Here, node: tree.Expr | None) -> str:
    pipes: list[str] = []
    name, arguments = called(node)
    while name == "pipe":
        pipes.insert(0, _pipe(arguments))
        node = arguments[0]
        name, arguments = called(node)
    reference = ""
    if name == "dig":
        place = text_of(arguments[1]) or ""
        reference = place.removeprefix("{{").removesuffix("}}").strip()
        spoken(here, node, ir.Expression("jinja", reference))
    else:
        feed_input(here, node)
    return " | ".join([reference, *pipes]).strip()


def _pipe(arguments: list[tree.Expr]) -> str:
    name = text_of(arguments[1]) or ""
    given = [literal_of(one) for one in arguments[2:]]
    if not given:
        return name
    if name == "select":
        return f"select({given[0]}={_quoted(given[1])})"
    return f"{name}({', '.join(map(_quoted, given))})"


def _quoted(value: object) -> str:
    if not isinstance(value, str):
        return repr(value)
    mark = '"' if "'" in value else "'"
    return f"{mark}{value}{mark}".replace("\n", "\\n").replace("\t", "\\t")


def draw_approval(here: Here, node: ir.Gate) -> dict[str, Any]:
    """A question to a person; what came in goes on."""
    here.lose_unsaid(
        node,
        ("name", "after", "when", "timeout_s", "shape", "message", "show", "on_reject"),
    )
    if not here.sketch.is_own:
        _lose_foreign(here, node)
    if isinstance(node.shape, ir.Expression):
        feed_input(here, tree_of(node.shape))
    message = written(here, node.message)
    return {
        "message": None if message == f"approve {node.name!r}?" else message,
        "showData": None if node.show == node.shape else False,
    } | seconds(node)


def _lose_foreign(here: Here, node: ir.Gate) -> None:
    if node.on_reject != "fail":
        here.lose("what a person decides, as a result", "who rejects there ends the run")
    if node.show not in (ir.Constant(None), node.shape):
        here.lose("what a person is shown", "it is what comes in there")


def draw_call(here: Here, node: ir.Call) -> dict[str, Any]:
    """A call of another canvas."""
    given = [value for _, value in node.inputs.entries if isinstance(value, ir.Expression)]
    for value in given:
        name, arguments = called(tree_of(value))
        if not here.sketch.is_own:
            here.lose("what a called workflow is given", "it is what comes in there")
            break
        try:
            feed(here, arguments[0] if name == "argument" else tree_of(value))
        except CannotSay as loss:
            here.lose(loss.what, loss.why)
    file = here.sketch.files.get(node.workflow, node.workflow)
    return {"workflowId": file} | seconds(node)


def draw_validator(here: Here, node: ir.Task) -> dict[str, Any]:
    """A check against a schema."""
    inputs = inputs_of(node)
    value = inputs.get("value")
    if isinstance(value, ir.Expression):
        feed_input(here, tree_of(value))
    fails = False
    if isinstance(node.shape, ir.Expression):
        _, arguments = called(tree_of(node.shape))
        fails = literal_of(arguments[-1]) is True if arguments else False
    data = {"schema": constant(inputs.get("schema")), "failOnError": True if fails else None}
    return data | seconds(node)
