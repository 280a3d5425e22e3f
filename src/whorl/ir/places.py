"""Where the parts of a workflow stand in its file.

The IR is plain data without positions; a reader remembers them here, by identity, while it reads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from whorl.errors import Span
    from whorl.source import Scalar


class Places:
    """Spans of expressions, of nodes by path, and of any other part of the IR."""

    __slots__ = ("_fields", "_nodes", "_parts", "_texts")

    def __init__(self) -> None:
        # The part itself is kept beside its place, so that its id stays its own.
        self._texts: dict[int, tuple[object, Scalar, int]] = {}
        self._parts: dict[int, tuple[object, Span]] = {}
        self._nodes: dict[str, Span] = {}
        self._fields: dict[tuple[str, str], Span] = {}

    def remember(self, expression: object, scalar: Scalar, offset: int = 0) -> None:
        """An expression is this scalar's text from `offset` on."""
        self._texts[id(expression)] = (expression, scalar, offset)

    def remember_part(self, part: object, span: Span) -> None:
        """A condition, an order or another part of the IR stands here."""
        self._parts[id(part)] = (part, span)

    def remember_node(self, path: str, span: Span) -> None:
        self._nodes.setdefault(path, span)

    def remember_field(self, path: str, field: str, span: Span) -> None:
        self._fields.setdefault((path, field), span)

    def span(self, expression: object, offset: int | None = None, length: int = 1) -> Span | None:
        """Returns where the characters of an expression stand, as far as it is known."""
        known = self._texts.get(id(expression))
        if known is None:
            return self.part(expression)
        _, scalar, start = known
        if offset is None:
            return scalar.span
        return scalar.locate(max(0, start + offset), length)

    def part(self, part: object) -> Span | None:
        known = self._parts.get(id(part))
        return None if known is None else known[1]

    def node(self, path: str) -> Span | None:
        """Returns where the node of this path stands; a path that is none: its nearest holder."""
        while path not in self._nodes and "/" in path:
            holder = path.rpartition("/")[0]
            path = holder if holder in self._nodes else holder.split("@")[0]
        return self._nodes.get(path)

    def field(self, path: str, field: str) -> Span | None:
        return self._fields.get((path, field)) or self.node(path)
