"""Nodes that need something from the operator: triggers, knowledge bases and mail.

They load. A trigger gives what a run was started with; the others are tasks that the operator's
configuration may provide under the name of their type.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.studio.nodes.config import Config
from whorl.dialects.studio.texts.placeholders import read_tree
from whorl.dialects.studio.texts.sources import called, expression, known, quoted
from whorl.source import Scalar

if TYPE_CHECKING:
    from whorl.dialects.studio.canvas.parts import CanvasNode
    from whorl.dialects.studio.scene import Scene
    from whorl.language import Json

_WHAT = {"knowledge_base": "searches documents", "email_send": "sends mail"}
_UNTOLD = frozenset({"label", "description", "timeout", "smtpPass", "smtpUser"})


def read_trigger(scene: Scene, node: CanvasNode) -> list[ir.Node]:
    """What a run was started with: what it is given under the node's id, and the time."""
    config = Config(scene.draft, node)
    if node.type == "cron_trigger":
        advice = f"have cron run it: {config.text('expression', '0 9 * * *')} whorl run FILE"
    else:
        advice = f"POST to a `whorl serve`, with the payload as the input {node.id!r}"
    scene.draft.warn(
        "W023",
        f"{node.type} {node.id!r} does not start runs by itself",
        node.span,
        label="started from outside",
        help=advice,
    )
    fields = called(
        "fields",
        known(node.id),
        quoted("timestamp"),
        called("timestamp"),
        quoted("payload"),
        known(node.id),
    )
    return [ir.Compute(value=expression(fields), **config.common())]


def trigger_port(scene: Scene, node: CanvasNode) -> ir.Port:
    """The input that a trigger takes its payload from."""
    default: Json = {}
    written = Config(scene.draft, node).scalar("staticInput")
    if written is not None and written.text.strip():
        try:
            default = json.loads(written.text)
        except (ValueError, RecursionError):
            default = written.text
    return ir.Port(node.id, "any", required=False, default=default)


def read_provided(scene: Scene, node: CanvasNode) -> list[ir.Node]:
    """A task of the operator's, with all fields of the node and all that comes in."""
    config = Config(scene.draft, node)
    scene.draft.warn(
        "W022",
        f"{node.type} {node.id!r} needs a task of the name {node.type!r}, which {_WHAT[node.type]}",
        node.span,
        label="needs a task",
        help=f'add {node.type} = "python:MODULE:FUNCTION" (or a URL) to [tasks] of whorl.toml',
    )
    given: dict[str, ir.Value] = {
        entry.name: read_tree(scene, node.id, entry.value)
        for entry in node.fields
        if entry.name not in _UNTOLD and not _is_empty(entry.value)
    }
    given |= {name: expression(source) for name, source in scene.incoming(node.id).items()}
    inputs = ir.Fields(
        (("task", ir.Constant(node.type)), ("with", ir.Fields(tuple(given.items()))))
    )
    return [ir.Task(kind="use", inputs=inputs, **config.common())]


def _is_empty(value: object) -> bool:
    return isinstance(value, Scalar) and value.value in (None, "")
