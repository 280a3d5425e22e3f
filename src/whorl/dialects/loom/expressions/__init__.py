"""Expressions of Logic Apps: the syntax, its functions, and Loom's functions for actions."""

from __future__ import annotations

from whorl.dialects.loom.expressions.syntax import read_lenient_logic, read_logic
from whorl.dialects.loom.functions import LENIENT_LOGIC_FUNCTIONS, LOGIC_FUNCTIONS
from whorl.dialects.loom.functions.actions import ACTION_FUNCTIONS
from whorl.dialects.loom.values.access import forgiving_item, strict_item
from whorl.dialects.loom.values.printing import pay, print_text, to_plain_json
from whorl.language.libraries import Library, Semantics

LOOM = Library(functions=ACTION_FUNCTIONS, recorder="whorl.dialects.loom.records:RECORDER")
LOGIC = Library(
    functions=LOGIC_FUNCTIONS,
    stands_alone=True,
    read=read_logic,
    semantics=Semantics(strict_item, strict_item, print_text, forgiving_item, pay, to_plain_json),
)
# Members that are missing are null, as if there were a `?` before each.
LENIENT_LOGIC = Library(
    functions=LENIENT_LOGIC_FUNCTIONS,
    stands_alone=True,
    read=read_lenient_logic,
    semantics=Semantics(
        forgiving_item, forgiving_item, print_text, forgiving_item, pay, to_plain_json
    ),
)
