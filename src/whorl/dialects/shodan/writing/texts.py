"""Texts with places in them, and scripts whose places are variables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.native.writing.scripts import write_script
from whorl.dialects.shodan.texts import _WORDS, NUMBERS
from whorl.dialects.shodan.writing.parts import called, plain, source_of, tree_of
from whorl.language import tree
from whorl.language.printing import CannotSay

if TYPE_CHECKING:
    from whorl.dialects.shodan.writing.graph import Graph


def write_text(graph: Graph, node: str, value: ir.Value) -> str | None:
    """A field with places; None where nothing is written. Raises CannotSay."""
    if isinstance(value, ir.Constant):
        return None if value.value is None else str(value.value)
    found = tree_of(value)
    if found is None:
        raise CannotSay("a text that is computed", "a text holds outputs and inputs only")
    return text_of(graph, node, found)


def text_of(graph: Graph, node: str, found: tree.Expr) -> str:
    """The text that an expression makes, with its places."""
    parts = found.parts if isinstance(found, tree.Concat) else (found,)
    return "".join(_part(graph, node, part) for part in parts)


def _part(graph: Graph, node: str, part: tree.Expr) -> str:
    call = called(part)
    if call.function == "shown":
        return placed(graph, node, call.arguments[0])
    return str(plain(part))


def placed(graph: Graph, node: str, value: tree.Expr) -> str:
    """A place in a text."""
    content = graph.place(node, source_of(value))
    if not _WORDS.fullmatch(content):
        raise CannotSay(f"the name {content!r} in a text", "it cannot be spelt there")
    return f"{{{{ {content} }}}}"


def write_shell(graph: Graph, node: str, script: str, variables: ir.Fields) -> str:
    """A script with its values back in their places; raises CannotSay."""
    sources: list[str] = []
    numbers: list[tuple[str, str]] = []
    for key, value in variables.entries:
        call = called(value)
        if call.function == "whole":
            placed(graph, node, call.arguments[0])
            # Its message tells how the place is written.
            numbers.append((str(key), call.text(1).partition(" in the script of ")[0]))
        elif call.function == "shown":
            sources.append(_content(graph, node, call.arguments[0]))
        else:
            raise CannotSay("a value in a script", "it is no output or input as it is")
    written = write_script(script, sources)
    if written is None:
        raise CannotSay("values in a shell script", "they cannot be put back into their places")
    return _numbered(written, numbers)


def _content(graph: Graph, node: str, value: tree.Expr) -> str:
    if isinstance(value, tree.Literal):
        # A place that stands for nothing stays as it is written.
        return str(value.value).removeprefix("{{ ").removesuffix(" }}")
    return placed(graph, node, value).removeprefix("{{ ").removesuffix(" }}")


def _numbered(script: str, numbers: list[tuple[str, str]]) -> str:
    """Puts whole numbers back into calculations."""
    for name, place in numbers:
        assert name.startswith(NUMBERS)
        # As wide as the space that it left.
        variable = f"${{{name}}}".ljust(len(place))
        if variable not in script:
            raise CannotSay("a number in a script", "it has no place there")
        script = script.replace(variable, place, 1)
    return script
