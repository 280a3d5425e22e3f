"""One file while it is being read: what was found wrong, and what its parts share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from whorl.dialects.loom.templates import Template
from whorl.dialects.reading.context import Findings
from whorl.ir.places import Places

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl import ir
    from whorl.dialects.loom.action import Scene
    from whorl.dialects.loom.order import Order
    from whorl.dialects.reader import Files
    from whorl.errors import Diagnostic, Span
    from whorl.language import Json
    from whorl.source import Document, Mapping


@dataclass(slots=True)
class Draft(Findings):
    """Everything that the readers of the parts of one file share.

    A lenient file follows the seed's rules (what is missing is null, actions run in the order in
    which they stand), any other one follows Azure's.
    """

    document: Document
    files: Files
    # Reads the actions of a block; the readers of actions that hold blocks have it from here.
    read_block: Callable[[Draft, Mapping, Order, Scene], ir.Block]
    lenient: bool = False
    template: Template = field(default_factory=Template)
    places: Places = field(default_factory=Places)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    warnings: list[Diagnostic] = field(default_factory=list)
    steps_read: list[Span] = field(default_factory=list)
    workflows: dict[str, ir.Workflow] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)
    # The variables by their names in lower case: the spelling of whoever declares or sets them.
    variables: dict[str, str] = field(default_factory=dict)
    # Their types, as far as they are declared, in lower case.
    types: dict[str, str] = field(default_factory=dict)
    # Where each name of an action stands first, by the name in lower case.
    named: dict[str, Span] = field(default_factory=dict)
    # The names of what starts the workflow.
    triggers: tuple[str, ...] = ()
    # Whether some expression reads what actions were given.
    reads_inputs: bool = False
    # The loops by path, with the words that their authors wrote.
    loops: dict[str, Json] = field(default_factory=dict)
    # The values of parameters in a file beside this one.
    beside: Mapping | None = None
    # What answers in place of an action, by the name that its settings give.
    static_results: Mapping | None = None
    # The names of the actions inside of each scope and loop, and the responses, as they are read.
    scopes: dict[str, list[str]] = field(default_factory=dict)
    responses: list[str] = field(default_factory=list)

    def variable(self, name: str) -> str:
        """A variable's name as it is declared."""
        return self.variables.get(name.lower(), name)
