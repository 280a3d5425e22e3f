"""What the functions of mcp-cli files mean in plain Jinja."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl import ir
from whorl.language import tree
from whorl.language.functions.library import find
from whorl.language.functions.mcp_cli import HISTORY, NUMBER, PREVIOUS
from whorl.language.printing import CannotSay

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whorl.dialects.writing.meanings import About, Meaning

_FALSE = ("", "false", "0")


def _filter(name: str, subject: tree.Expr, *arguments: tree.Expr) -> tree.Expr:
    entry = find("", "filter", name)
    defaults = [tree.Literal(value) for _, value in entry.optional[len(arguments) :]]
    return tree.Apply(entry, (subject, *arguments, *defaults), (), (), 0)


def _text(value: tree.Expr) -> tree.Expr:
    return _filter("string", value)


def _variable(call: tree.Apply, about: About) -> tree.Expr:
    name = call.arguments[0]
    if isinstance(name, tree.Literal) and isinstance(name.value, str):
        return tree.Name(name.value, 0)
    raise CannotSay("a variable whose name is computed", "names are written down elsewhere")


def _is_true(call: tree.Apply, about: About) -> tree.Expr:
    text = _filter("lower", _filter("trim", _text(call.arguments[0])))
    texts = tree.ListDisplay(tuple(map(tree.Literal, _FALSE)), 0)
    return tree.Comparison(text, (("not in", texts),), 0)


def _main_output(call: tree.Apply, about: About) -> tree.Expr:
    called = about.workflows.get(about.node.workflow) if isinstance(about.node, ir.Call) else None
    if called is None:
        raise CannotSay("the main output of a workflow", "which workflow it is, is not known here")
    if not called.outputs:
        return tree.Literal("")
    return _text(tree.Member(call.arguments[0], called.outputs[0][0], 0))


def _loop_state(call: tree.Apply, about: About) -> tree.Expr:
    """What an iteration sees as `loop`; whoever reads a part of it gets that part alone."""
    previous = tree.Member(tree.Name(PREVIOUS, 0), "output", 0)
    last = _text(_filter("default", previous, tree.Literal("")))
    history: tree.Expr = tree.Apply(_JOINED, (tree.Name(HISTORY, 0),), (), (), 0)
    if isinstance(about.node, ir.Loop) and not about.node.history_keep:
        # Nobody reads it, so none is kept.
        history = tree.Literal("")
    return _display(
        iteration=_text(tree.Name(NUMBER, 0)),
        output=last,
        last=_display(output=last),
        history=history,
    )


_JOINED = find("mcp-cli", "function", "joined")


def _display(**parts: tree.Expr) -> tree.Expr:
    pairs = ((tree.Literal(name), value) for name, value in parts.items())
    return tree.ObjectDisplay(tuple(pairs), 0)


MEANINGS: Mapping[str, Meaning] = {
    "variable": _variable,
    "is_true": _is_true,
    "main_output": _main_output,
    "loop_state": _loop_state,
}
