"""Steps that are work, of every kind that there is, and the types of their answers."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from whorl import ir
from whorl.dialects.native import context as native
from whorl.dialects.native import forms
from whorl.dialects.native.blocks import COMMON, NODE, Kind
from whorl.dialects.native.context import CannotWriteError, Context, Location
from whorl.dialects.native.forms import WRONG, Form, OneOf, Template, Text, is_read, reads_as
from whorl.dialects.native.table import TEMPLATE, VALUE, fields
from whorl.dialects.reading.fields import shown, text_of
from whorl.errors import InvalidWorkflow
from whorl.ir.checks.scopes import View, uses_in
from whorl.ir.walk import blocks_of, names_given, walk, with_nodes
from whorl.language import LanguageError
from whorl.lazily import dataclass
from whorl.source import Entry, Lines, Mapping, Scalar, Sequence, Value, plain

if TYPE_CHECKING:
    from whorl.ir.expressions import Names
    from whorl.language import Json
    from whorl.language.tree import NameUse


# Typed answers: the short form in `returns`, and the schema that it means.

_NAMED = {"text": "string", "list": "array"}
_SIMPLE = ("string", "text", "number", "integer", "boolean", "list", "object")
TYPES: dict[str, dict[str, Json]] = {word: {"type": _NAMED.get(word, word)} for word in _SIMPLE}
TYPES["json"], TYPES["any"] = {}, {}
_KEYWORDS = {
    *("type", "description", "enum", "minimum", "maximum", "items", "minItems", "maxItems"),
    *("minLength", "maxLength", "pattern", "format", "properties", "required"),
    "additionalProperties",
}
_WORDS = {"array": "list", **{kind: kind for kind in TYPES if kind not in ("list", "text", "any")}}
_FORMS = (
    "write a type (string, number, integer, boolean, json), [type] for a list, {enum: [...]}, "
    "an object of fields, or {schema: <JSON Schema>}; a ? makes a field optional"
)


class Returns(Form):
    """The type of an answer."""

    words = "the fields of the answer, such as {approved: boolean, score: number}"
    shape = object
    ref = "returns"

    def read(self, context: Context, value: Value, at: Location) -> Any:
        schema = value.get("schema") if isinstance(value, Mapping) and len(value) == 1 else None
        if isinstance(schema, Mapping):
            return plain(schema)
        return _schema(context, value, f"'returns' of {at.owner}")

    def write(self, context: Context, value: Any) -> Any:
        written = _short(value)
        return written if reads_as(context, self, written, value) else {"schema": value}


def returns_schema() -> Json:
    """Returns the JSON Schema of what can be written as the type of an answer."""
    words: list[Json] = [f"{word}{mark}" for word in TYPES for mark in ("", "?")]
    own: Json = {"$ref": "#/$defs/returns"}
    listed: Json = {"type": "array", "items": own, "minItems": 1, "maxItems": 1}
    options: list[Json] = [{"enum": words}, listed]
    parts: dict[str, Json] = {"enum": {"type": "array"}, "type": {"enum": words}}
    parts["schema"] = {"type": "object"}
    for name, part in parts.items():
        options.append({"type": "object", "properties": {name: part}, "required": [name]})
    return {"anyOf": [*options, {"type": "object", "additionalProperties": own}]}


def _schema(context: Context, value: Value, words: str) -> Json:
    """Returns the JSON Schema of a type; reports an invalid type."""
    match value:
        case Scalar() if _is_type(value):
            return dict(TYPES[_word(value)])
        case Sequence() if len(value) == 1:
            return {"type": "array", "items": _schema(context, value.items[0], words)}
        case Mapping() if _is_enum(value):
            options: Any = plain(value.entries[0].value)
            is_text = all(isinstance(option, str) for option in options)
            return {"type": "string", "enum": options} if is_text else {"enum": options}
        case Mapping() if _is_keywords(value):
            schema: Any = plain(value)
            del schema["type"]
            return {**TYPES[_word(value.get("type"))], **schema}
        case Mapping() if value.entries:
            names = {entry.name.removesuffix("?"): entry for entry in value}
            properties: dict[str, Json] = {
                name: _schema(context, entry.value, f"{name!r} in {words}")
                for name, entry in names.items()
            }
            required: list[Json] = [name for name, entry in names.items() if _is_needed(entry)]
            outer: dict[str, Json] = {"type": "object", "properties": properties}
            return {**outer, "required": required, "additionalProperties": False}
    message = f"{words} must be a type, not {shown(value)}"
    advice = forms.meant_type(text_of(value), TYPES, has_items=True) or _FORMS
    context.report("W007", message, value.span, label="not a type", help=advice)
    return {}


def _short(schema: Any) -> Any:
    """Returns the short form that a JSON Schema probably has."""
    kind = schema.get("type") if isinstance(schema, dict) else None
    if not isinstance(schema, dict):
        return schema
    if not schema:
        return "json"
    if len(schema) == 1 and kind in _WORDS:
        return _WORDS[kind]
    if kind == "array" and set(schema) == {"type", "items"}:
        return [_short(schema["items"])]
    if kind == "object" and isinstance(schema.get("properties"), dict):
        needed = schema.get("required") or ()
        fields = schema["properties"].items()
        return {name if name in needed else f"{name}?": _short(part) for name, part in fields}
    return {"enum": schema["enum"]} if set(schema) <= {"type", "enum"} else schema


def _word(value: Value | None) -> str:
    return text_of(value).strip().removesuffix("?")


def _is_type(value: Value | None) -> bool:
    return isinstance(value, Scalar) and isinstance(value.value, str) and _word(value) in TYPES


def _is_needed(entry: Entry) -> bool:
    value: Value | None = entry.value
    if isinstance(value, Mapping) and _is_keywords(value):
        value = value.get("type")
    return not entry.name.endswith("?") and not text_of(value).strip().endswith("?")


def _is_enum(value: Mapping) -> bool:
    options = value.get("enum")
    return len(value) == 1 and isinstance(options, Sequence) and bool(options.items)


def _is_keywords(value: Mapping) -> bool:
    """Checks whether an object is JSON Schema itself: a known type, and only its keywords.

    A field may also have the name of a keyword: if all values are types, they are fields.
    """
    if not _is_type(value.get("type")) or any(entry.name not in _KEYWORDS for entry in value):
        return False
    return len(value) == 1 or not all(_is_type(entry.value) for entry in value)


_EXIT_CODE = "exit_code"
# The facts of a loop that are iterations, with how many keys come before the name of a step.
_ITERATIONS = {"previous": 0, "best": 0, "history": 1}


class PromptFile(forms.Object):
    """A prompt in a file of its own, which is read as if it were in the workflow."""

    def take(self, context: Context, value: Mapping, at: Location) -> Any:
        named, written = super().take(context, value, at), value.get("file")
        if not named or written is None:
            return None
        try:
            name, text = context.files.text(named["file"], written.span)
        except InvalidWorkflow as fault:
            context.adopt(fault.diagnostics)
            return None
        context.sources[name] = text
        # An editor ends the last line; that end is not part of the prompt.
        text, lines = text.removesuffix("\n"), Lines(text, name)
        return context.read_text(Scalar(text, lines.span(0), lines=lines, extent=(0, len(text))))

    def write(self, context: Context, value: Any) -> Any:
        raise CannotWriteError(value)


class Prompt(OneOf):
    """A prompt: a text, or a file."""

    gives_value = True


class TaskName(Text):
    """The name of a task, which is never a template."""

    gives_value = True

    def parse(self, context: Context, scalar: Scalar) -> Any:
        name = super().parse(context, scalar)
        return WRONG if name is WRONG else ir.Constant(name)


class Command(OneOf):
    """A command: a list of arguments, or a script for the shell whose values become variables."""

    def read(self, context: Context, value: Value, at: Location) -> Any:
        command = super().read(context, value, at)
        if command is None:
            return None
        from whorl.dialects.native.shell import read_script, steered_values

        if not isinstance(value, Scalar):
            steered = steered_values(command.items) if isinstance(command, ir.Items) else []
            more = {"inputs.steered": ir.Constant(steered)} if steered else {}
            return {"inputs.argv": command, **more}
        script = read_script(value.text)
        for fault in script.faults:
            span = value.locate(fault.offset, fault.length)
            context.report("W021", fault.message, span, label="here", help=fault.help)
        variables: list[tuple[str, ir.Value]] = []
        for placed in script.placed:
            expression = ir.Expression("jinja", placed.source, context.library)
            context.places.remember(expression, value, placed.offset)
            variables.append((placed.name, expression))
        given = ir.Fields(tuple(variables))
        return {"inputs.script": ir.Constant(script.text), "inputs.variables": given}

    def write(self, context: Context, value: Any) -> Any:
        inputs = dict(value.inputs.entries)
        if "argv" in inputs:
            return self.forms[1].write(context, inputs["argv"])
        script, variables = inputs.get("script"), inputs.get("variables")
        if not isinstance(script, ir.Constant) or not isinstance(variables, ir.Fields):
            raise CannotWriteError(value)
        return _with_values(str(script.value), variables)


def _with_values(script: str, variables: ir.Fields) -> str:
    """Returns a script with {{ }} for its variables, checked by reading the result again."""
    from whorl.dialects.native.shell import BARE, EXPANDED, SINGLE, read_script

    text = script
    for name, value in variables.entries:
        source = value.source if isinstance(value, ir.Expression) else ""
        for quotes in (SINGLE, BARE, EXPANDED):
            variable = quotes.format(f"${{{name}}}")
            tried = text.replace(variable, f"{{{{{source}}}}}", 1)
            read = read_script(tried) if variable in text else None
            if read is not None and not read.faults and read.text == script:
                text = tried
                break
        else:
            raise CannotWriteError(value)
    return text


# What a command is read into.
_COMMANDS = ("argv", "steered", "script", "variables")


@dataclass(eq=False, repr=False)
class TaskKind(Kind):
    """A kind of task, whose inputs are fields of the step or `inside` of one of them.

    `task` is its name in the engine.
    """

    task: str = ""

    def make(self, context: Context, attributes: dict[str, Any]) -> Any:
        entries = [(key, value) for key, value in attributes.items() if key.startswith("inputs.")]
        rest = {key: value for key, value in attributes.items() if not key.startswith("inputs.")}
        if not context.exact:
            # A converted file has them in the order of its source, others in that of the table.
            order = [field.attribute for field in (self.inside or self.own).values()]
            entries.sort(key=lambda entry: order.index(entry[0]) if entry[0] in order else -1)
        if self.name == "use" and "inputs.with" not in attributes:
            entries.append(("inputs.with", ir.Fields()))
        given: list[tuple[Any, ir.Value]] = []
        for key, value in entries:
            given += value.entries if key == "inputs.*" else [(key.removeprefix("inputs."), value)]
        if entries:
            rest |= {"kind": self.task, "inputs": ir.Fields(tuple(given))}
        return super().make(context, rest)

    def write(self, context: Context, node: Any) -> dict[str, Any]:
        """Returns a task as the step of its kind, if that is read as just this task."""
        if not isinstance(node, ir.Task) or node.kind != self.task:
            raise CannotWriteError(node)
        entries, step = list(node.inputs.entries), {}
        if self.name == "run":
            step["run"] = self.own["run"].form.write(context, node)
            entries = [pair for pair in entries if pair[0] not in _COMMANDS]
        inputs = _write_inputs(context, self.inside or self.own, entries)
        if self.inside:
            inputs = {self.name: inputs["url"] if list(inputs) == ["url"] else inputs}
        table = {name: field for name, field in self.own.items() if field.attribute != forms.ALL}
        step |= inputs | forms.write_object(context, {**table, **COMMON}, node)
        source = native.as_source(step)
        assert isinstance(source, Mapping)
        attributes = forms.read_object(context, source, self.fields, native.NOWHERE)
        again = self.make(context, {"name": node.name, "place": node.place, **attributes})
        if not is_read(context, again, node):
            raise CannotWriteError(node)
        return step


def _write_inputs(
    context: Context, table: forms.FieldTable, entries: list[tuple[Any, ir.Value]]
) -> dict[str, Any]:
    fields = {field.attribute: (name, field.form) for name, field in table.items()}
    step: dict[str, Any] = {}
    for key, value in entries:
        name, form = fields.get(f"inputs.{key}", ("", VALUE))
        written = (form if form.gives_value else VALUE).write(context, value)
        if name:
            step[name] = written
        elif isinstance(key, str):
            step.setdefault("inputs", {})[key] = written
        else:
            raise CannotWriteError(key)
    return step


# Steps whose word is not the name of the task that they are.
_TASK_KINDS = {"read": "file_read", "write": "file_write"}
_OWN = ("kind", "inputs", "returns", "session")
_SECURE = {"secure_outputs": lambda _, attributes: bool(attributes.get("secure"))}
_ALL_TASKS = fields("task", None, ir.Task, *_OWN, *NODE, **_SECURE)
_HTTP = fields("request")
_PROMPT_FILE = fields("prompt", {"reference": Text("a file of the project", needed=True)})
_TASK_FORMS: dict[str, Form] = {
    "returns": Returns(),
    "prompt": Prompt(TEMPLATE, PromptFile("prompt", _PROMPT_FILE)),
    "command": Command(Text("a text for the shell"), forms.Values(least=1)),
    "request": forms.Short("url", forms.Object("http", _HTTP), Template("a URL")),
    "task_name": TaskName("a name", needed=True),
    "any_task": forms.Object("task", fields("any_task")),
}
_NAMES = ("ask", "agent", "run", "http", "use", "read", "write")
_FIELDS_OF = {name: {**fields(name, _TASK_FORMS), **_ALL_TASKS} for name in _NAMES}
TASKS = [
    TaskKind(n, ir.Task, own, _HTTP if n == "http" else {}, task=_TASK_KINDS.get(n, n))
    for n, own in _FIELDS_OF.items()
]
_OTHERS = {name: field for name, field in _ALL_TASKS.items() if name != "inputs"}
ANY_TASK = Kind("~task", ir.Task, {**fields("~task", _TASK_FORMS), **_OTHERS})


def let_read_codes_pass(workflow: ir.Workflow, names: Names) -> ir.Workflow:
    """Sets `check: false` at each command whose exit code an expression reads."""
    if not any(_decides(node) for _, node in walk(workflow.body)):
        return workflow
    read: set[int] = set()
    for use in uses_in(workflow):
        with suppress(LanguageError):
            for name in names.uses(use.expression):
                steps = steps_read(use.view, name)[1] if _EXIT_CODE in name.path else ()
                read |= {id(node) for node, at in steps if name.path[at:] == (_EXIT_CODE,)}

    def change(node: ir.Node) -> ir.Node:
        if id(node) not in read or not _decides(node):
            return node
        assert isinstance(node, ir.Task)
        check = ("check", ir.Constant(False))
        return replace(node, inputs=ir.Fields((*node.inputs.entries, check)))

    return replace(workflow, body=with_nodes(workflow.body, change)) if read else workflow


def _decides(node: ir.Node) -> bool:
    """Checks whether a node is a command without `check`; then reading its exit code decides."""
    if not isinstance(node, ir.Task) or node.kind != "run":
        return False
    return "check" not in dict(node.inputs.entries)


def steps_read(view: View, name: NameUse) -> tuple[ir.Loop | None, list[tuple[ir.Node, int]]]:
    """Returns the steps that a name and its path read, each in the result of the one before.

    Each has the index of its token: 0 is the name, 1 the first key of its path. What is read of
    iterations comes with their loop.
    """
    origin, token, start = view.origin(name.name), 0, 0
    if name.name == native.RESULTS and name.path:
        origin, token, start = view.origin(str(name.path[0])), 1, 1
    elif isinstance(origin, ir.Loop | ir.ForEach) and name.name != origin.name:
        fact = dict(origin.facts).get(name.name) if isinstance(origin, ir.Loop) else None
        if fact not in _ITERATIONS:
            return None, []
        token, start = -1, _ITERATIONS[fact]
    loop = origin if token < 0 and isinstance(origin, ir.Loop) else None
    steps = [(origin, token)] if origin is not None and token >= 0 else []
    for index, key in enumerate(name.path[start:], start=start + 1):
        if isinstance(key, int):
            continue
        blocks = () if origin is None else blocks_of(origin)
        origin = dict(pair for _, block in blocks for pair in names_given(block)).get(key)
        if origin is None:
            break
        steps.append((origin, index))
    return loop, steps
