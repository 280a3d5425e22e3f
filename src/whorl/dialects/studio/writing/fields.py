"""Single fields of nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whorl import ir

if TYPE_CHECKING:
    from whorl.language import Json


def constant(value: ir.Value | None) -> Json:
    """What a constant says; None for anything else."""
    return value.value if isinstance(value, ir.Constant) else None


def number(value: Any) -> Any:
    """A number without a needless fraction; anything else as it is."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def seconds(node: ir.Node, usual: float | None = None) -> dict[str, Any]:
    """How long a node may take, unless that is how long nodes of its type may."""
    if node.timeout_s is None or node.timeout_s == usual:
        return {}
    return {"timeout": number(node.timeout_s)}
