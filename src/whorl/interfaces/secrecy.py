"""What is kept from everybody who looks at a run: the outputs of tasks that are secure.

The journal holds them, since nothing that was paid for may be lost; nobody is shown them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whorl.ir import Task
from whorl.ir.walk import index_nodes
from whorl.providers.secrets import HIDDEN

if TYPE_CHECKING:
    from whorl.interpreter.events import Event
    from whorl.ir import Workflow
    from whorl.language import Json

_KEPT = ("status", "type", "secure")


def shown(event: Event) -> dict[str, Json]:
    """The body of an event as people and programs may see it."""
    body = event.body
    if body.get("secure") is True:
        body = body | {"value": HIDDEN}
    error: Any = body.get("error")
    detail = error.get("detail") if isinstance(error, dict) else None
    if isinstance(detail, dict) and detail.get("secure") is True:
        kept = {name: detail[name] for name in _KEPT if name in detail}
        body = body | {"error": error | {"detail": kept}}
        if "value" in body:
            body = body | {"value": HIDDEN}
    return body


def hidden_names(workflow: Workflow) -> frozenset[str]:
    """The names of the tasks whose outputs are shown to nobody."""
    nodes = index_nodes(workflow).values()
    return frozenset(node.name for node in nodes if isinstance(node, Task) and node.secure_outputs)
