"""What can be added to a graph file: the types of nodes with what a new one says, their forms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whorl.formats.shodan.functions import TYPES
from whorl.formats.shodan.graph import FIELDS
from whorl.formats.shodan.ports import USUAL
from whorl.wings.editor.kit.canvas import Row, data_field

if TYPE_CHECKING:
    from whorl.source import Json
    from whorl.wings.editor.kit.changes import FormField

_CONDITION: dict[str, Json] = {"output": "work.result", "operator": "!=", "value": "done"}


def _data(kind: str, label: str, **fields: Json) -> dict[str, Json]:
    return {"nodeType": kind, "label": label, **fields}


NEW: dict[str, Any] = {
    "trigger": _data("trigger", "Start", triggerType="manual"),
    "agent": _data("agent", "Agent", runner="demo", prompt="Say hello."),
    "shell": _data("shell", "Shell", script="echo hello"),
    "function": _data(
        "function",
        "Function",
        code="return {result: 1}",
        outputs=[{"name": "result", "type": "any"}],
    ),
    "constant": _data("constant", "Constant", valueType="string", value="text"),
    "workdir": _data("workdir", "Folder", path="."),
    "wire": _data("wire", "Wire"),
    "component": _data("component", "Component", workflowPath="other.yaml"),
    "loop": _data(
        "loop",
        "Loop",
        maxIterations=5,
        continueWhile=_CONDITION,
        inputMappings=[],
        outputMappings=[],
        inlineWorkflow={"nodes": [], "edges": []},
    ),
    "interface-input": _data("interface-input", "Input"),
    "interface-output": _data("interface-output", "Output"),
    "interface-continue": _data("interface-continue", "Continue"),
}
GROUPS: dict[str, tuple[str, ...]] = {
    "START": ("trigger",),
    "WORK": ("agent", "shell", "function", "constant", "workdir", "wire", "component"),
    "LOGIC": ("loop",),
    "INTERFACE": ("interface-input", "interface-output", "interface-continue"),
}
TITLES: dict[str, str] = {}
NEEDS = {"shell": "[allow] commands", "agent": "[allow] commands, for agent programs"}
_STARTS, _MODELS, _WORKS, _VALUES, _LOOPS, _RIMS = (
    "#2f5a3c", "#2a4a7a", "#6a4a1f", "#3f5060", "#4a2a6a", "#4a5560"
)  # fmt: skip
LOOKS = {
    "trigger": ("play", _STARTS),
    "agent": ("bot", _MODELS),
    "shell": ("terminal", _WORKS),
    "function": ("code", _WORKS),
    "constant": ("hash", _VALUES),
    "workdir": ("folder", _VALUES),
    "wire": ("minus", _VALUES),
    "component": ("workflow", _WORKS),
    "loop": ("repeat", _LOOPS),
    "interface-input": ("log-in", _RIMS),
    "interface-output": ("circle-dot", _RIMS),
    "interface-continue": ("skip-forward", _RIMS),
}
# What a new node can be connected by; ports of any name can be declared.
PORTS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    kind: ((), USUAL.get(kind, ())) for kind in NEW
}
PORTS |= {"wire": (("value",), USUAL["wire"]), "agent": (("prompt",), USUAL["agent"])}
PORTS["function"] = ((), ("result",))
EMPTY = """\
version: 1
metadata:
  name: new
nodes:
  - id: start
    type: trigger
    position: {x: 0, y: 0}
    data:
      nodeType: trigger
      label: Start
      triggerType: manual
  - id: write
    type: agent
    position: {x: 240, y: 0}
    data:
      nodeType: agent
      label: Write
      runner: demo
      prompt: "{{ inputs.input }}"
      inputs: [{name: input, type: string}]
      outputs: [{name: output, type: string}]
edges:
  - {id: e1, source: start, target: write, sourceHandle: "output:text", targetHandle: "input:input"}
"""
_FIELDS: dict[str, Row] = {
    "label": ("Label", "text", None),
    "triggerType": ("Start", ("manual", "cron", "idle"), "manual"),
    "cron": ("Schedule", "text", None),
    "idleMinutes": ("Idle minutes", "number", None),
    "runner": ("Runner", "text", "claude-code"),
    "model": ("Model", "text", None),
    "prompt": ("Prompt", "long text", None),
    "promptFiles": ("Prompt files", "json", None),
    "outputSchema": ("Answer schema", "long text", None),
    "path": ("Folder", "text", None),
    "script": ("Script", "long text", None),
    "commands": ("Commands, in older files", "json", None),
    "scriptFiles": ("Script files", "json", None),
    "code": ("Code", "long text", None),
    "file": ("File with the code", "text", None),
    "timeout": ("Timeout in seconds", "number", None),
    "valueType": ("Type", TYPES[:4], None),
    "value": ("Value", "json", None),
    "workflowPath": ("Workflow", "text", None),
    "componentRef": ("Component", "text", None),
    "workflowRef": ("Inner workflow, in a file", "text", None),
    "continueWhile": ("Continue while", "json", None),
    "maxIterations": ("Max iterations", "number", None),
    "inputMappings": ("Input mappings", "json", None),
    "outputMappings": ("Output mappings", "json", None),
    "dockSlots": ("Slots", "json", None),
    "forEach": ("For each", "json", None),
    "exitWhen": ("Exit when", "json", None),
    "inputs": ("Inputs", "json", None),
    "outputs": ("Outputs", "json", None),
    "continueOnFailure": ("Continue on failure", "boolean", False),
}
_RARE = ("commands", "forEach", "exitWhen", "dockSlots", "timeout", "continueOnFailure")


def form_of(kind: str) -> list[FormField]:
    names = (name for name in FIELDS[kind] if name != "inlineWorkflow")
    return [
        data_field(name, _FIELDS[name], is_rare=name in _RARE)
        for name in ("label", *names, "inputs", "outputs", "continueOnFailure")
    ]
