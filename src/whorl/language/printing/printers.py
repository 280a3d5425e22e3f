"""The printers by syntax; what they print is read again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.language.expression import Expression, parse
from whorl.language.faults import LanguageError
from whorl.language.printing.faults import CannotSay
from whorl.language.printing.jinja import print_expression
from whorl.language.printing.jinja_statements import print_template
from whorl.language.printing.logic import print_logic
from whorl.language.printing.plain import print_plain
from whorl.language.printing.sameness import is_same

if TYPE_CHECKING:
    from whorl.language.tree import Tree

_PRINTERS = {
    "jinja": print_expression,
    "template": print_template,
    "plain": print_plain,
    "logic": print_logic,
    "logic-lenient": print_logic,
}


def print_tree(tree: Tree, syntax: str, library: str = "") -> Expression:
    """Print a tree in a syntax with the functions of a library; raises CannotSay."""
    expression = Expression(syntax, _PRINTERS[syntax](tree), library)
    shown = f"the expression {expression.source[:60]!r}"
    try:
        again = parse(expression)
    except LanguageError as fault:
        raise CannotSay(shown, fault.message) from None
    if not is_same(tree, again):
        raise CannotSay(shown, f"{syntax} would read it in another way")
    return expression
