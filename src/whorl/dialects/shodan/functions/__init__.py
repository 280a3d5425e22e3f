"""The function library of graphs of nodes with typed ports."""

from __future__ import annotations

from whorl.dialects.shodan.functions.flow import FLOW_FUNCTIONS
from whorl.language.libraries import Library

LIBRARY = Library(functions=FLOW_FUNCTIONS)
