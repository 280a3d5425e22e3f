"""Trees as sources again: what each syntax can say, printed so that it reads back as the same tree.

Whatever is printed is read again before it is given away, so a printer can refuse but not lie.
"""

from __future__ import annotations

from whorl.language.printing.faults import CannotSay
from whorl.language.printing.jinja_statements import literal
from whorl.language.printing.printers import print_tree
from whorl.language.printing.sameness import is_same
from whorl.language.printing.translation import changed_tree, translate

__all__ = ["CannotSay", "changed_tree", "is_same", "literal", "print_tree", "translate"]
