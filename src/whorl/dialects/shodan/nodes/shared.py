"""What all nodes have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypedDict

from whorl.dialects.shodan.fields import flag_of
from whorl.dialects.shodan.sources import packed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from whorl.dialects.shodan.parts import GraphNode, PortSpec


class Common(TypedDict):
    """What all nodes take, by the names of the IR."""

    name: str
    place: str
    on_failure: Literal["halt", "continue"]


def common(node: GraphNode) -> Common:
    """The fields of the IR that every node has."""
    is_tolerated = flag_of(node.fields, "continueOnFailure")
    return {
        "name": node.id,
        "place": f"{node.span.line}:{node.span.column}",
        "on_failure": "continue" if is_tolerated else "halt",
    }


def packed_ports(ports: Iterable[PortSpec]) -> str:
    """Declared outputs, as functions take them."""
    return packed([port.packed() for port in ports])
