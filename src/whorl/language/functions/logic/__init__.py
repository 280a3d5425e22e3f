"""The functions of Logic Apps expressions, one table per family."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.language.functions.logic.binary import BINARY
from whorl.language.functions.logic.collections import COLLECTIONS, LENIENT_COLLECTIONS
from whorl.language.functions.logic.conversion import CONVERSION
from whorl.language.functions.logic.dates import DATES
from whorl.language.functions.logic.logical import LOGICAL
from whorl.language.functions.logic.math import MATH
from whorl.language.functions.logic.objects import OBJECTS
from whorl.language.functions.logic.seeds import SEEDS
from whorl.language.functions.logic.strings import STRINGS
from whorl.language.functions.logic.uris import URIS
from whorl.language.functions.logic.variables import TYPING
from whorl.language.functions.logic.workflow import WORKFLOW, lenient_entries
from whorl.language.functions.logic.xml import XML_FUNCTIONS

if TYPE_CHECKING:
    from whorl.language.entry import FunctionEntry

LOGIC: tuple[FunctionEntry, ...] = (
    STRINGS
    + SEEDS
    + COLLECTIONS
    + LOGICAL
    + CONVERSION
    + BINARY
    + MATH
    + DATES
    + WORKFLOW
    + URIS
    + OBJECTS
    + XML_FUNCTIONS
    + TYPING
)

# Later entries take the place of earlier ones of the same name.
LENIENT_LOGIC: tuple[FunctionEntry, ...] = LOGIC + LENIENT_COLLECTIONS + lenient_entries()
