"""The top of a native file: name, inputs, defaults, budget and outputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whorl.dialects.native.header import _main_input
from whorl.dialects.native.names import read_result
from whorl.dialects.native.subjects import last_with_result
from whorl.dialects.native.writing.here import Here
from whorl.dialects.native.writing.naming import find_names
from whorl.dialects.native.writing.shapes import Shapes
from whorl.dialects.native.writing.steps import write_block
from whorl.dialects.writing import Inline, Spot, duration_text

if TYPE_CHECKING:
    from whorl import ir
    from whorl.dialects.native.writing.files import Companions
    from whorl.dialects.writing import Ledger

_SAID = (
    "name",
    "body",
    "inputs",
    "main_input",
    "outputs",
    "variables",
    "limits",
    "defaults",
    "workflows",
    "description",
    "hidden_outputs",
)


def write_header(
    workflow: ir.Workflow, ledger: Ledger, companions: Companions, *, key: str = ""
) -> dict[str, Any]:
    """A whole native file as an object."""
    naming = find_names(workflow, ledger, key)
    shapes = Shapes(companions.workflows).with_block(workflow.body)
    here = Here(ledger, companions, naming, shapes, Spot(key=key))
    here.lose_unsaid(workflow, _SAID)
    found: dict[str, Any] = {"whorl": 1, "name": workflow.name}
    if workflow.description:
        found["description"] = workflow.description
    inputs = _inputs(here, workflow)
    if inputs:
        found["inputs"] = inputs
    found |= _defaults(here, workflow)
    budget = _budget(workflow.limits)
    if budget is not None:
        found["budget"] = budget
    found["steps"] = _steps(here, workflow)
    outputs = _outputs(here, workflow)
    if outputs and not workflow.hidden_outputs:
        found["outputs"] = outputs
    return found


def _inputs(here: Here, workflow: ir.Workflow) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for port in workflow.inputs:
        here.lose_unsaid(port, ("name", "type", "required", "default", "description"))
        found[here.naming.of(port.name)] = _port(port)
    if not here.spot.key and workflow.main_input != _main_input(workflow.inputs):
        shown = workflow.main_input or "none"
        here.lose(f"the main input ({shown})", "it is the only input, or the first required text")
    return found


def _port(port: ir.Port) -> Any:
    has_default = port.default is not None
    word = port.type if port.required or has_default else f"{port.type}?"
    if not has_default and not port.description:
        return word
    found: dict[str, Any] = Inline(type=word)
    if has_default:
        found["default"] = port.default
    if port.description:
        found["description"] = port.description
    return found


def _defaults(here: Here, workflow: ir.Workflow) -> dict[str, Any]:
    """`model` and `system` of the file, which hold for all questions; judges share the model."""
    defaults = {kind: dict(fields.entries) for kind, fields in workflow.defaults}
    ask, judge = defaults.pop("ask", {}), defaults.pop("judge", {})
    found: dict[str, Any] = {}
    if "model" in ask and judge.get("model") == ask["model"]:
        found["model"] = here.value(ask.pop("model"))
        judge.pop("model")
    if "system" in ask:
        found["system"] = here.text(ask.pop("system"))
    for kind, left in ({"ask": ask, "judge": judge} | defaults).items():
        for name in left:
            here.lose(f"the default {name!r} of {kind!r} tasks", "the top of a file has none")
    return found


def _budget(limits: ir.RunLimits) -> Any:
    found: dict[str, Any] = Inline()
    for name, value in (
        ("cost", limits.cost_usd),
        ("tokens", limits.tokens),
        ("calls", limits.calls),
        ("time", None if limits.time_s is None else duration_text(limits.time_s)),
    ):
        if value is not None:
            found[name] = value
    if not found:
        return None
    return found["cost"] if set(found) == {"cost"} else found


def _steps(here: Here, workflow: ir.Workflow) -> dict[str, Any]:
    steps = write_block(here, workflow.body)
    if not workflow.variables:
        return steps
    name = "variables"
    while name in steps:
        name += "_"
    sets = {here.naming.of(one): here.value(value) for one, value in workflow.variables}
    for number, step in enumerate(steps.values()):
        # The first step would wait for the new one before it anyway.
        if number and step.get("after") == []:
            step["after"] = name
    return {name: {"set": sets}} | steps


def _outputs(here: Here, workflow: ir.Workflow) -> dict[str, Any]:
    last = last_with_result(workflow.body)
    usual = () if last is None else ((last.name, read_result(last.name)),)
    if workflow.outputs == usual and (last is None or here.is_read_as_it_is(last.name)):
        return {}
    if not workflow.outputs:
        here.lose("a workflow without outputs", "the result of the last step is one")
    return {here.result_name(name): here.value(value) for name, value in workflow.outputs}
