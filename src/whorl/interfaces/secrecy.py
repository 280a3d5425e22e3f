"""What is kept from everybody who looks at a run: the outputs of tasks that are secure.

The journal holds them, since nothing that was paid for may be lost; nobody is shown them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whorl.ir.walk import index_nodes, is_hidden
from whorl.providers.secrets import HIDDEN

if TYPE_CHECKING:
    from whorl.interpreter.events import Event
    from whorl.ir import Workflow
    from whorl.language import Json

_KEPT = ("status", "type", "secure")
_KEPT_OF_TASKS = ("secure", "usage", "model", "provider", "status", "error")
_ENDS = ("task.finished", "task.failed")


def shown(event: Event) -> dict[str, Json]:
    """The body of an event as people and programs may see it."""
    body = event.body
    if body.get("secure") is True:
        if event.kind in _ENDS:
            body = {name: body[name] for name in _KEPT_OF_TASKS if name in body}
        if event.kind != "task.failed":
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
    """The names of the tasks whose outputs are shown to nobody, and of what holds them."""
    nodes, called = index_nodes(workflow).values(), dict(workflow.workflows)
    return frozenset(node.name for node in nodes if is_hidden(node, called))
