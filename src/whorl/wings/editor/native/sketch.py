"""The picture of a native file, and what can be added to it: steps in the order of the file."""

from __future__ import annotations

from dataclasses import MISSING
from typing import TYPE_CHECKING, Any

from whorl import ir
from whorl.dialects.native import forms
from whorl.dialects.native.blocks import COMMON, kinds_of
from whorl.dialects.native.loop import REPEAT
from whorl.dialects.native.steps import KINDS
from whorl.dialects.reading.fields import text_of, texts_of
from whorl.source import Mapping, Value
from whorl.wings.editor.kit.changes import FormField
from whorl.wings.editor.kit.operations import Kind
from whorl.wings.editor.kit.sketch import (
    Keys,
    Sketch,
    SketchEdge,
    SketchNode,
    at,
    joined,
    unique_path,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.dialects.native.forms import Field, FieldTable, Form
    from whorl.source import Document, Json
    from whorl.wings.editor.kit.changes import Widget


def draw(document: Document) -> Sketch:
    drawing = _Drawing()
    if isinstance(document.root, Mapping):
        drawing.block(document.root.get("steps"), ("steps",), "", "", None)
    return Sketch(tuple(drawing.nodes), tuple(drawing.edges))


class _Drawing:
    def __init__(self) -> None:
        self.nodes: list[SketchNode] = []
        self.edges: list[SketchEdge] = []
        self._taken: set[str] = set()

    def block(
        self, steps: Value | None, where: Keys, address: str, parent: str, case: str | None,
        *, is_ordered: bool = True,
    ) -> list[str]:  # fmt: skip
        """Draws the steps of a block and their connections; returns their paths."""
        paths: dict[str, str] = {}
        for entry in steps if isinstance(steps, Mapping) else ():
            if entry.name in paths:
                continue
            location = joined(address, entry.name)
            path = unique_path(self._taken, location)
            before = list(paths.values())[-1:] if is_ordered else []
            after = at(entry.value, "after")
            if after is not None:
                names = [each.name for each in after] if isinstance(after, Mapping) else None
                before = [paths[name] for name in names or texts_of(after) if name in paths]
            self.edges += [SketchEdge(source, path) for source in before]
            paths[entry.name] = path
            self._step(entry.value, (*where, entry.name), (location, path), parent, case)
        return list(paths.values())

    def _step(
        self, step: Value, where: Keys, own: tuple[str, str], parent: str, case: str | None
    ) -> None:
        location, path = own
        kinds = kinds_of(KINDS, step) if isinstance(step, Mapping) else []
        kind = kinds[0] if len(kinds) == 1 else ""
        slots = slots_of(step, kind, where)
        called = text_of(at(step, "call")) if kind == "call" else ""
        self.nodes.append(
            SketchNode(
                path,
                kind,
                where,
                parent,
                case,
                title=str(where[-1]),
                body="inline" if slots else "file" if called else "none",
                file=called,
                value=step,
                slots=slots,
            )
        )
        for name, keys in slots.items():
            inner = at(step, *keys[len(where) :])
            is_ordered = kind != "together"
            paths = self.block(inner, keys, location, path, name or None, is_ordered=is_ordered)
            carry = at(step, "repeat", "carry")
            if kind == "repeat" and paths:
                words = [entry.name for entry in carry] if isinstance(carry, Mapping) else []
                edge = SketchEdge(paths[-1], paths[0], "feedback", label=", ".join(words))
                self.edges.append(edge)


def slots_of(step: Value | None, kind: str, where: Keys) -> dict[str, Keys]:
    """Returns the keys of the steps inside a step, by case; "" is for steps without a case."""
    match kind:
        case "repeat":
            return {"": (*where, "repeat", "steps")}
        case "each":
            return {"": (*where, "steps")}
        case "together":
            return {"": _body(at(step, "together"), (*where, "together"))}
        case "if":
            names = {"then": "then", "default": "else"}
            found = {slot: name for slot, name in names.items() if at(step, name) is not None}
            return {slot: _body(at(step, name), (*where, name)) for slot, name in found.items()}
        case "choose":
            keys, choose = (*where, "choose"), at(step, "choose")
            cases, default = at(choose, "cases"), at(choose, "default")
            taken = [entry.name for entry in cases] if isinstance(cases, Mapping) else []
            slots = {name: _body(at(cases, name), (*keys, "cases", name)) for name in taken}
            last = {} if default is None else {"default": _body(default, (*keys, "default"))}
            return slots | last
    return {}


def _body(value: Value | None, where: Keys) -> Keys:
    """Returns the keys of steps, which are directly in their place or under `steps`."""
    return (*where, "steps") if at(value, "steps") is not None else where


# What can be added to a native file: the kinds of steps, with forms from the format's own table.


_ASKS, _WORKS, _LOOPS, _CHOOSES, _KEEPS, _ENDS = (
    "#2a4a7a", "#2f5a3c", "#4a2a6a", "#6a3a4a", "#4a5560", "#7a2f2a"
)  # fmt: skip
_COMMANDS = "[allow] commands"
SHOWN = (
    Kind("ASK", "ask", "message-square", _ASKS, {"ask": "Say hello."}, title="Ask a model"),
    Kind("ASK", "agent", "bot", _ASKS, {"agent": "demo", "prompt": "Look around."}, _COMMANDS),
    Kind("WORK", "run", "terminal", _WORKS, {"run": "echo hello"}, _COMMANDS, "Run a command"),
    Kind("WORK", "http", "globe", _WORKS, {"http": "https://example.org"}, title="Call HTTP"),
    Kind("WORK", "read", "file-text", _WORKS, {"read": "input.txt"}, title="Read a file"),
    Kind("WORK", "write", "file-pen", _WORKS, {"write": "output.txt", "content": "text"},
         "[allow] files", "Write a file"),
    Kind("WORK", "use", "wrench", _WORKS, {"use": "server/tool"}, "[mcp]", "Use a tool"),
    Kind("WORK", "call", "workflow", _WORKS, {"call": "other.yaml"}, title="Call a workflow"),
    Kind("LOGIC", "repeat", "repeat", _LOOPS, {"repeat": {"at_most": 5, "steps": {}}}, "", "Loop"),
    Kind("LOGIC", "each", "list", _LOOPS, {"each": "[1, 2, 3]", "steps": {}}, title="For each"),
    Kind("LOGIC", "together", "columns", _LOOPS, {"together": {}}),
    Kind("LOGIC", "if", "git-branch", _CHOOSES, {"if": "true", "then": {}}),
    Kind("LOGIC", "choose", "split", _CHOOSES, {"choose": {"on": "'yes'", "cases": {"yes": {}}}}),
    Kind("LOGIC", "approve", "user-check", _CHOOSES, {"approve": "Continue?"}, "", "Ask a person"),
    Kind("LOGIC", "wait", "clock", _KEEPS, {"wait": "5s"}),
    Kind("VALUES", "set", "variable", _KEEPS, {"set": {"name": "value"}}, title="Set variables"),
    Kind("VALUES", "value", "braces", _KEEPS, {"value": "text"}),
    Kind("END", "stop", "octagon", _ENDS, {"stop": True}, title="End the run"),
    Kind("END", "break", "log-out", _ENDS, {"break": True}, title="Leave the loop"),
    Kind("END", "continue", "skip-forward", _ENDS, {"continue": True}, title="Next iteration"),
)  # fmt: skip
# The parts of all results of a kind, for feeding one back. Connections are between whole steps.
PORTS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "run": ((), ("stdout", "stderr", "exit_code")),
    "http": ((), ("status", "headers", "body")),
    "read": ((), ("content", "path", "size")),
    "write": ((), ("path", "size")),
    "approve": ((), ("approved", "feedback")),
}
EMPTY = """\
whorl: 1
name: new
inputs:
  task: string
steps:
  write:
    ask: "Write {{ task }}"
outputs:
  text: "{{ write }}"
"""
_MORE = ("wait", "collect", "memory", "session", "check", "delivery", "secure")
_LABELS = {
    "if": "Only if",
    "after": "Waits for",
    "retry": "Retries",
    "timeout": "Time limit",
    "on_failure": "On failure",
    "ask": "Prompt",
    "system": "System prompt",
    "returns": "Fields of the answer",
    "max_tokens": "Max tokens of the answer",
    "max_turns": "Max turns with tools",
    "run": "Command",
    "env": "Environment",
    "stdin": "Standard input",
    "http": "Address",
    "read": "File",
    "write": "File",
    "use": "Tool",
    "with": "Inputs",
    "call": "Workflow",
    "each": "List",
    "as": "Name of the item",
    "index": "Name of its number",
    "at_once": "Items at the same time",
    "approve": "Question",
    "set": "Variables",
    "until": "Repeat until",
    "check": "Check the condition",
    "carry": "Feed back",
    "on_limit": "At the limit",
    "return": "Returns",
    "on": "Choose by",
    "break": "Loop",
    "continue": "Loop",
    "stop": "End with",
}
_LONG = frozenset({"ask", "prompt", "system", "run", "approve", "description"})
# Fields that hold steps are drawn, and are not in a form.
_HELD = frozenset({"steps", "repeat", "together", "then", "else", "choose"})
# The widgets by form; the first that fits is used.
_WIDGETS: tuple[tuple[tuple[type[Form], ...], Widget], ...] = (
    ((forms.Choice,), "choice"),
    ((forms.Boolean,), "boolean"),
    ((forms.Number, forms.Count), "number"),
    ((forms.Condition, forms.Computed), "expression"),
    ((forms.Text, forms.Duration), "text"),
)


def form_of(kind: str) -> list[FormField]:
    """Returns the fields of a kind: first its own, then those of all steps."""
    table = KINDS[kind]
    names = sorted(table.fields, key=lambda name: name in COMMON and name != kind)
    made = list(_fields(names, table.fields, forms.defaults(table.node)))
    if kind == "repeat":
        plain = forms.defaults(ir.Loop)
        made = [*_fields([*REPEAT.fields], REPEAT.fields, plain, kind), *made]
    if kind == "choose":
        words = "the expression whose value names the case"
        made.insert(0, FormField(("choose", "on"), "expression", words, (), True, _LABELS["on"]))
    return made


def _fields(
    names: list[str], table: FieldTable, usual: dict[str, Any], *around: str
) -> Iterator[FormField]:
    for name in names:
        if name not in _HELD and not table[name].rare:
            yield _field((*around, name), table[name], _default(table[name], usual))


def _field(keys: tuple[str, ...], field: Field, default: Json) -> FormField:
    name = keys[-1]
    form: Form | None = field.form
    if isinstance(form, forms.OneOf):
        first = form.forms[0]
        # A truth value that may also be something else gets no tick box.
        form = None if isinstance(first, forms.Boolean) else first
    widget: Widget = next((word for kinds, word in _WIDGETS if isinstance(form, kinds)), "json")
    if name == "until":
        widget = "expression"
    if widget == "text" and name in _LONG:
        widget = "long text"
    is_common = len(keys) == 1 and name in COMMON and not field.required
    return FormField(
        keys,
        widget,
        field.doc,
        tuple(getattr(form, "choices", ())),
        field.required,
        _LABELS.get(name, name.replace("_", " ").capitalize()),
        default,
        "more" if is_common or (name in _MORE and not field.required) else "",
    )


def _default(field: Field, usual: Any) -> Json:
    """Returns the default of a field, or None if it is not a plain value."""
    value = usual.get(field.attribute, MISSING)
    value = getattr(value, "iterations", getattr(value, "action", value))
    return value if isinstance(value, str | int | float) and value != "" else None
