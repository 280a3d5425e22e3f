"""Nodes that the engine does itself: input, output, transform, approval, and called workflows."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.studio.functions.paths import read_path
from whorl.dialects.studio.nodes.config import Config
from whorl.dialects.studio.texts.placeholders import (
    own_input,
    read_text,
    script_source,
    text_source,
)
from whorl.dialects.studio.texts.scripts import ScriptFault, read_script
from whorl.dialects.studio.texts.sources import called, expression, known, quoted
from whorl.errors import InvalidWorkflow
from whorl.language import LanguageError
from whorl.source import Mapping, Scalar, plain

if TYPE_CHECKING:
    from whorl.dialects.studio.canvas.parts import CanvasNode
    from whorl.dialects.studio.scene import Scene
    from whorl.ir.values import PortType
    from whorl.language import Json

_TYPES: dict[str, PortType] = {"number": "number", "boolean": "boolean", "json": "json"}
_MODES = ("template", "jsonpath", "script")


def port_name(node: CanvasNode) -> str:
    """The name under which a run is given the value of an input."""
    for field in ("name", "inputName"):
        value = node.fields.get(field)
        if isinstance(value, Scalar) and value.text.strip():
            return value.text.strip()
    return node.id


def read_port(scene: Scene, node: CanvasNode) -> ir.Port:
    """An input of the workflow, known by its name, by its node's id, and as `input`."""
    config = Config(scene.draft, node)
    default = config.get("default")
    if default is None:
        default = config.get("defaultValue")
    name = port_name(node)
    return ir.Port(
        name,
        _TYPES.get(config.text("dataType").lower(), "any"),
        required=default is None,
        default=None if default is None else plain(default),
        description=config.text("description"),
        aliases=tuple(dict.fromkeys(alias for alias in (node.id, "input", "*") if alias != name)),
    )


def read_input(scene: Scene, node: CanvasNode) -> list[ir.Node]:
    """What the run was given."""
    common = Config(scene.draft, node).common()
    return [ir.Compute(value=expression(known(port_name(node))), **common)]


def read_output(scene: Scene, node: CanvasNode) -> list[ir.Node]:
    """Passes through what comes in."""
    common = Config(scene.draft, node).common()
    return [ir.Compute(value=expression(scene.value(node.id)), **common)]


def read_transform(scene: Scene, node: CanvasNode) -> list[ir.Node]:
    """Makes a text, follows a path, or runs a script of pipes."""
    config = Config(scene.draft, node)
    written = config.scalar("template")
    mode = config.word("mode", _MODES, "template")
    if written is None or not written.text.strip():
        source: str = scene.value(node.id)
    elif mode == "template":
        source = _template(scene, node.id, written)
    elif mode == "jsonpath":
        source = _path(scene, node.id, written)
    else:
        source = _script(scene, node.id, written)
    return [ir.Compute(value=expression(source), **config.common())]


def _template(scene: Scene, node: str, written: Scalar) -> str:
    if written.text.lstrip().startswith("|"):
        return _script(scene, node, written)
    return text_source(scene, node, written) or quoted(written.text)


def _path(scene: Scene, node: str, written: Scalar) -> str:
    try:
        read_path(written.text)
    except LanguageError as fault:
        span = written.locate(fault.offset or 0)
        scene.draft.report("W008", fault.message, span, label="here", help=fault.help)
    return called("jsonpath", own_input(scene, node) or "none", quoted(written.text))


def _script(scene: Scene, node: str, written: Scalar) -> str:
    try:
        script = read_script(written.text)
    except ScriptFault as fault:
        span = written.locate(fault.offset)
        scene.draft.report("W020", str(fault), span, label="here", help=fault.help)
        return "none"
    return script_source(scene, node, written, script)


def read_approval(scene: Scene, node: CanvasNode) -> list[ir.Node]:
    """Asks a person; what came in goes on, or the run fails."""
    config = Config(scene.draft, node)
    value = expression(scene.value(node.id))
    shown = config.flag("showData", default=True)
    message: ir.Value = read_text(scene, node.id, config.scalar("message"))
    if message == ir.Constant(None):
        message = ir.Constant(f"approve {node.id!r}?")
    gate = ir.Gate(
        message=message,
        show=value if shown else ir.Constant(None),
        on_reject="fail",
        shape=value,
        **config.common(),
    )
    return [gate]


def read_validator(scene: Scene, node: CanvasNode) -> list[ir.Node]:
    """Checks what comes in against a JSON Schema."""
    config = Config(scene.draft, node)
    fails = config.flag("failOnError", default=False)
    inputs: tuple[tuple[str, ir.Value], ...] = (
        ("value", expression(scene.value(node.id))),
        ("schema", ir.Constant(_schema(config))),
    )
    shape = called("checked", "it", quoted(node.id), "true" if fails else "false")
    return [
        ir.Task(
            kind="validate",
            inputs=ir.Fields(inputs),
            shape=expression(shape),
            **config.common(),
        )
    ]


def _schema(config: Config) -> Json:
    """The schema, which is written as an object or as a text that holds one."""
    written = config.get("schema")
    if isinstance(written, Mapping):
        return plain(written)
    if isinstance(written, Scalar) and isinstance(written.value, bool):
        return written.value
    if not isinstance(written, Scalar) or not written.text.strip():
        config.missing("schema", 'a JSON Schema, such as {"type": "object"}')
        return {}
    try:
        schema = json.loads(written.text)
    except (ValueError, RecursionError) as fault:
        config.wrong("schema", f"a JSON Schema ({fault})", written)
        return {}
    if not isinstance(schema, dict | bool):
        config.wrong("schema", "a JSON Schema, which is an object", written)
        return {}
    return schema


def read_subworkflow(scene: Scene, node: CanvasNode) -> list[ir.Node]:
    """Calls another workflow file; a name without an ending means a canvas of that name."""
    config = Config(scene.draft, node)
    reference = config.text("workflowId")
    common = config.common()
    if not reference:
        config.missing("workflowId", "the file of the workflow, such as 'review.json'")
        return [ir.Compute(value=ir.Constant(None), **common)]
    if not reference.endswith((".json", ".yaml", ".yml")):
        reference += ".json"
    draft = scene.draft
    try:
        called_file = draft.files.workflow(reference, config.span("workflowId"))
    except InvalidWorkflow as fault:
        draft.adopt(fault.diagnostics)
        return [ir.Compute(value=ir.Constant(None), **common)]
    workflow = called_file.reading.workflow
    draft.sources.update(called_file.reading.sources)
    draft.adopt(called_file.reading.warnings)
    draft.workflows.update(workflow.workflows)
    draft.workflows[called_file.key] = replace(workflow, workflows=())
    call = ir.Call(
        workflow=called_file.key,
        inputs=_arguments(scene, node.id, workflow),
        shape=expression(called("only", "it")),
        **common,
    )
    return [call]


def _arguments(scene: Scene, node: str, workflow: ir.Workflow) -> ir.Fields:
    source = scene.value(node)
    is_only = "true" if len(workflow.inputs) == 1 else "false"
    return ir.Fields(
        tuple(
            (port.name, expression(called("argument", source, quoted(port.name), is_only)))
            for port in workflow.inputs
        )
    )
