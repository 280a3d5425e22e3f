"""Templates: those of the dialect as they are, those of others with the names that it has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whorl import ir
from whorl.dialects.orka.values import LIBRARY, is_template
from whorl.language import LanguageError, parse, tree
from whorl.language.names import free_names_of
from whorl.language.printing import CannotSay, literal, print_tree
from whorl.language.printing.rebuilding import rebuild

if TYPE_CHECKING:
    from whorl.dialects.orka.writing.page import Here

_AS_TEXT = "{{ '' }}"
_READS = "a JSON object is read and printed by its 'response' there"


def write_text(here: Here, value: ir.Value) -> str:
    """A prompt or another text."""
    match value:
        case ir.Constant(value=str() as text):
            return literal(text) if is_template(text) else text
        case ir.Expression():
            return _prompt(_source(here, value))
        case _:
            here.lose("a text that is made of parts", "a text is one template there")
            return ""


def _prompt(source: str) -> str:
    bare = source.removesuffix(_AS_TEXT)
    is_one = bare.startswith("{{") and bare.endswith("}}")
    return bare if bare != source and is_one else source


def write_value(here: Here, value: ir.Value) -> Any:
    """Any value whose texts may be templates."""
    match value:
        case ir.Constant():
            return value.value
        case ir.Expression():
            return _source(here, value)
        case ir.Items():
            return [write_value(here, item) for item in value.items]
        case ir.Fields():
            return {_key(here, key): write_value(here, item) for key, item in value.entries}


def _key(here: Here, key: str | ir.Expression) -> str:
    if isinstance(key, str):
        return key
    here.lose(f"the computed key {key.source[:60]!r}", "keys are texts")
    return key.source


def _source(here: Here, expression: ir.Expression) -> str:
    if expression.library == LIBRARY and expression.syntax == "template":
        return expression.source
    shown = repr(expression.source[:80])
    try:
        source = parse(expression)
        if source.syntax not in ("template", "jinja", "plain") or source.library:
            raise CannotSay(f"an expression of {source.library or source.syntax}", "it is foreign")
        free = {use.name for use in free_names_of(source)}
        changed = rebuild(source, lambda node: _named(here, node, free))
        said = print_tree(changed, "template", LIBRARY).source
    except CannotSay as loss:
        here.lose(f"{loss.what} in {shown}", loss.why)
        return literal(expression.source)
    except LanguageError as fault:
        here.lose(f"the expression {shown}", fault.message)
        return literal(expression.source)
    if free:
        here.lose(f"how {shown} is read", _READS)
    return said


def _named(here: Here, node: tree.Expr, free: set[str]) -> tree.Expr:
    if not isinstance(node, tree.Name) or node.name not in free:
        return node
    found = here.names.get(node.name)
    if isinstance(found, CannotSay):
        here.lose(found.what, found.why)
        return node
    return node if found is None else found
