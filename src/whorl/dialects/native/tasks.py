"""Steps that are work, of every kind that there is, and the types of their answers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from whorl import ir
from whorl.dialects.native.blocks import COMMON, Kind, maker
from whorl.dialects.native.context import Location, shown
from whorl.dialects.native.forms import WRONG, Form, OneOf, Template, Text, reads_as
from whorl.dialects.native.objects import (
    ALL,
    Object,
    Values,
    defaults,
    read_object,
    short,
    write_object,
)
from whorl.dialects.native.table import VALUE, doc_of, fields
from whorl.dialects.native.values import RESULTS, CannotWriteError, as_source, is_same
from whorl.errors import Span, did_you_mean
from whorl.ir.checks.scopes import uses_in
from whorl.ir.nodes import NodeFields
from whorl.ir.walk import blocks_of, names_given, walk, with_nodes
from whorl.language import LanguageError
from whorl.source import Mapping, Scalar, Sequence, plain

if TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Mapping as MappingOf

    from whorl.dialects.native.context import Context
    from whorl.dialects.native.objects import FieldTable
    from whorl.ir.checks.scopes import View
    from whorl.ir.expressions import Names
    from whorl.language import Json
    from whorl.language.names import NameUse, Path
    from whorl.source import Entry, Value


# The attributes that all nodes have.
NODE = tuple(defaults(NodeFields))
TYPES: dict[str, dict[str, Json]] = {
    "string": {"type": "string"},
    "text": {"type": "string"},
    "number": {"type": "number"},
    "integer": {"type": "integer"},
    "boolean": {"type": "boolean"},
    "list": {"type": "array"},
    "object": {"type": "object"},
    "json": {},
    "any": {},
}
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
_MORE = "inputs.*"
_EXIT_CODE = "exit_code"
# The facts of a loop that are results of an iteration, or a list of them.
_ITERATIONS = ("previous", "best", "history")


class Returns(Form):
    """The type of an answer."""

    words = "the fields of the answer, such as {approved: boolean, score: number}"
    shape = object
    ref = "returns"

    def read(self, context: Context, value: Value, at: Location) -> Any:
        full = _full_schema(value)
        if full is not None:
            return plain(full)
        _check_type(context, value, f"'returns' of {at.owner}")
        return _schema(value)

    def write(self, context: Context, value: Any) -> Any:
        short = _short(value)
        return short if reads_as(context, self, short, value) else {"schema": value}


def returns_schema() -> Json:
    """The JSON Schema of what can be written as the type of an answer."""
    words: list[Json] = [f"{word}{mark}" for word in TYPES for mark in ("", "?")]
    own: Json = {"$ref": "#/$defs/returns"}
    return {
        "anyOf": [
            {"enum": words},
            {"type": "array", "items": own, "minItems": 1, "maxItems": 1},
            {"type": "object", "properties": {"enum": {"type": "array"}}, "required": ["enum"]},
            {"type": "object", "properties": {"type": {"enum": words}}, "required": ["type"]},
            {
                "type": "object",
                "properties": {"schema": {"type": "object"}},
                "required": ["schema"],
            },
            {"type": "object", "additionalProperties": own},
        ]
    }


def _full_schema(value: Value) -> Mapping | None:
    if isinstance(value, Mapping) and len(value) == 1:
        schema = value.get("schema")
        return schema if isinstance(schema, Mapping) else None
    return None


def _check_type(context: Context, value: Value, words: str) -> None:
    match value:
        case Scalar() if isinstance(value.value, str) and _word(value) in TYPES:
            return
        case Sequence() if len(value) == 1:
            _check_type(context, value.items[0], words)
        case Mapping() if value.entries:
            if not _is_enum(value) and not _is_keywords(value):
                for entry in value:
                    _check_type(context, entry.value, f"{_field(entry)!r} in {words}")
        case _:
            meant = did_you_mean(value.text, TYPES) if isinstance(value, Scalar) else ""
            context.report(
                "W007",
                f"{words} must be a type, not {shown(value)}",
                value.span,
                label="no type",
                help=meant or _FORMS,
            )


def _short(schema: Any) -> Any:
    """The short form that a JSON Schema probably has."""
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
        return {name if name in needed else f"{name}?": _short(one) for name, one in fields}
    return {"enum": schema["enum"]} if set(schema) <= {"type", "enum"} else schema


def _schema(value: Value) -> Json:
    match value:
        case Scalar():
            return dict(TYPES.get(_word(value), {}))
        case Sequence():
            return {"type": "array", "items": _schema(value.items[0]) if value.items else {}}
        case Mapping():
            if _is_enum(value):
                return _enum(value)
            if _is_keywords(value):
                return _keywords(value)
            return _object(value)


def _object(value: Mapping) -> Json:
    properties: dict[str, Json] = {_field(entry): _schema(entry.value) for entry in value}
    required: list[Json] = [_field(entry) for entry in value if not _is_optional(entry)]
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def _word(scalar: Scalar) -> str:
    return scalar.text.strip().removesuffix("?")


def _field(entry: Entry) -> str:
    return entry.name.removesuffix("?")


def _is_optional(entry: Entry) -> bool:
    value: Value | None = entry.value
    if isinstance(value, Mapping) and _is_keywords(value):
        value = value.get("type")
    is_marked = isinstance(value, Scalar) and value.text.strip().endswith("?")
    return is_marked or entry.name.endswith("?")


def _is_enum(value: Mapping) -> bool:
    options = value.get("enum")
    return len(value) == 1 and isinstance(options, Sequence) and bool(options.items)


def _enum(value: Mapping) -> Json:
    options = plain(value.entries[0].value)
    assert isinstance(options, list)
    if options and all(isinstance(option, str) for option in options):
        return {"type": "string", "enum": options}
    return {"enum": options}


def _is_keywords(value: Mapping) -> bool:
    """Whether an object is JSON Schema itself: a known type, and nothing but its keywords.

    Fields may have the names of keywords, too: where all of them are types, that is what they are.
    """
    if not _is_type(value.get("type")) or any(entry.name not in _KEYWORDS for entry in value):
        return False
    return len(value) == 1 or not all(_is_type(entry.value) for entry in value)


def _is_type(value: Value | None) -> bool:
    return isinstance(value, Scalar) and isinstance(value.value, str) and _word(value) in TYPES


def _keywords(value: Mapping) -> Json:
    schema = plain(value)
    assert isinstance(schema, dict)
    kind = value.get("type")
    schema.pop("type")
    return {**TYPES[_word(kind)], **schema} if isinstance(kind, Scalar) else schema


class TaskName(Text):
    """The name of a task, which is never a template."""

    gives_value = True

    def parse(self, context: Context, scalar: Scalar) -> Any:
        found = super().parse(context, scalar)
        return WRONG if found is WRONG else ir.Constant(found)

    def print(self, context: Context, value: Any) -> Any:
        return getattr(value, "value", WRONG)


class Command(OneOf):
    """A command: a list of arguments, or a script for the shell whose values become variables."""

    def read(self, context: Context, value: Value, at: Location) -> Any:
        found = super().read(context, value, at)
        if found is None or not isinstance(value, Scalar):
            return None if found is None else {"inputs.argv": found}
        from whorl.dialects.native.shell import PREFIX, read_script

        script = read_script(value.text)
        for fault in script.faults:
            span = value.locate(fault.offset, fault.length)
            context.report("W021", fault.message, span, label="here", help=fault.help)
        variables: list[tuple[str, ir.Value]] = []
        for number, placed in enumerate(script.placed, start=1):
            expression = ir.Expression("jinja", placed.source, context.library)
            context.places.remember(expression, value, placed.offset)
            variables.append((f"{PREFIX}{number}", expression))
        return {
            "inputs.script": ir.Constant(script.text),
            "inputs.variables": ir.Fields(tuple(variables)),
        }

    def write(self, context: Context, value: Any) -> Any:
        inputs = dict(value.inputs.entries)
        if "argv" in inputs:
            return self.forms[1].write(context, inputs["argv"])
        script, variables = inputs.get("script"), inputs.get("variables")
        if not isinstance(script, ir.Constant) or not isinstance(variables, ir.Fields):
            raise CannotWriteError(value)
        return _with_values(str(script.value), [one for _, one in variables.entries])


def _with_values(script: str, values: list[ir.Value]) -> str:
    """A script with {{ }} for its variables, found by reading the result again."""
    from whorl.dialects.native.shell import PREFIX, read_script

    text = script
    for number, value in enumerate(values, start=1):
        variable = f"${{{PREFIX}{number}}}"
        source = value.source if isinstance(value, ir.Expression) else ""
        # As `shell.py` quotes it: inside of quotes of each kind, or bare.
        forms = (f"'\"{variable}\"$'", f"'\"{variable}\"'", f'"{variable}"', variable)
        for form in forms:
            tried = text.replace(form, f"{{{{{source}}}}}", 1)
            read = read_script(tried) if form in text else None
            if read is not None and not read.faults and read.text == script:
                text = tried
                break
        else:
            raise CannotWriteError(value)
    return text


def _task(name: str, forms: dict[str, Form], inside: FieldTable | None = None) -> Kind:
    """A kind of task; its inputs are fields of its own, or stand `inside` of one of them."""
    own = fields(name, {**forms, "returns": Returns()})
    known = {**own, **fields("task", None, ir.Task, *_OWN, *NODE, secure_outputs=_secure)}
    order = [field.attribute for field in (inside or own).values()]

    def make(context: Context, found: dict[str, Any]) -> Any:
        entries = [(key, one) for key, one in found.items() if key.startswith("inputs.")]
        rest = {key: one for key, one in found.items() if not key.startswith("inputs.")}
        if not context.exact:
            # A converted file has them in the order of its source, others in that of the table.
            entries.sort(key=lambda entry: order.index(entry[0]) if entry[0] in order else -1)
        if name == "use" and "inputs.with" not in found:
            entries.append(("inputs.with", ir.Fields()))
        given: list[tuple[Any, ir.Value]] = []
        for key, one in entries:
            given += one.entries if key == _MORE else [(key.removeprefix("inputs."), one)]
        if entries:
            rest |= {"kind": name, "inputs": ir.Fields(tuple(given))}
        return maker(ir.Task, known)(context, rest)

    return Kind(name, doc_of(name), known, make, _write)


def _secure(context: Context, found: MappingOf[str, Any]) -> bool:
    del context
    return bool(found.get("secure", False))


def _write(kind: Kind, context: Context, node: Any) -> dict[str, Any]:
    """A task as the step of its kind, if that is read as just this task."""
    if not isinstance(node, ir.Task) or node.kind != kind.name:
        raise CannotWriteError(node)
    step: dict[str, Any] = {}
    entries = list(node.inputs.entries)
    if kind.name == "run":
        step["run"] = kind.own["run"].form.write(context, node)
        entries = [one for one in entries if one[0] not in ("argv", "script", "variables")]
    inputs = _write_inputs(context, _HTTP if kind.name == "http" else kind.own, entries)
    if kind.name == "http":
        inputs = {"http": inputs["url"] if list(inputs) == ["url"] else inputs}
    known = {name: field for name, field in kind.own.items() if field.attribute != ALL}
    step = {**step, **inputs, **write_object(context, {**known, **COMMON}, node)}
    source = as_source(step)
    assert isinstance(source, Mapping)
    found = read_object(context, source, kind.fields, Location("", "", Span("", 1, 1)))
    again = kind.make(context, {"name": node.name, "place": node.place, **found})
    is_right = not context.diagnostics and is_same(again, node)
    context.diagnostics.clear()
    if not is_right:
        raise CannotWriteError(node)
    return step


def _write_inputs(
    context: Context, known: FieldTable, entries: list[tuple[Any, ir.Value]]
) -> dict[str, Any]:
    fields = {field.attribute: (name, field.form) for name, field in known.items()}
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


def _write_any(kind: Kind, context: Context, node: Any) -> dict[str, Any]:
    if not isinstance(node, ir.Task):
        raise CannotWriteError(node)
    return write_object(context, {**kind.own, **COMMON}, node)


_OWN = ("kind", "inputs", "returns", "session")
_HTTP = fields("request")
_ANY: FieldTable = {
    **fields("~task", {"any_task": Object("task", fields("any_task")), "returns": Returns()}),
    **fields("task", None, ir.Task, *_OWN, *NODE, secure_outputs=_secure),
}
del _ANY["inputs"]
TASKS = (
    _task("ask", {}),
    _task("agent", {}),
    _task("run", {"command": Command((Text("a text for the shell"), Values(VALUE, least=1)))}),
    _task(
        "http", {"request": short("url", Object("http", _HTTP), Template("a URL"))}, inside=_HTTP
    ),
    _task("use", {"task_name": TaskName("a name", needed=True)}),
)
ANY_TASK = Kind("task", doc_of("~task"), _ANY, maker(ir.Task, _ANY), _write_any, rare=True)


def let_read_codes_pass(workflow: ir.Workflow, names: Names) -> ir.Workflow:
    """The workflow with `check: false` at each command whose exit code an expression reads."""
    if not any(_decides(node) for _, node in walk(workflow.body)):
        return workflow
    read = {id(node) for node in _read_commands(workflow, names)}

    def change(node: ir.Node) -> ir.Node:
        if id(node) not in read:
            return node
        assert isinstance(node, ir.Task)
        check = ("check", ir.Constant(False))
        return replace(node, inputs=ir.Fields((*node.inputs.entries, check)))

    return replace(workflow, body=with_nodes(workflow.body, change)) if read else workflow


def _decides(node: ir.Node) -> bool:
    """Whether a node is a command whose author leaves it to the file what its code means."""
    return (
        isinstance(node, ir.Task)
        and node.kind == "run"
        and "check" not in dict(node.inputs.entries)
    )


def _read_commands(workflow: ir.Workflow, names: Names) -> Iterator[ir.Node]:
    for use in uses_in(workflow):
        try:
            found = names.uses(use.expression)
        except LanguageError:
            continue
        for name in found:
            node = _command(use.view, name) if _EXIT_CODE in name.path else None
            if node is not None and _decides(node):
                yield node


def _command(view: View, use: NameUse) -> ir.Node | None:
    """The node whose exit code a name and its path read, if they do."""
    name, path = use.name, use.path
    if name == RESULTS:
        name, path = str(path[0]), path[1:]
    node = view.origin(name)
    if isinstance(node, ir.Loop) and name != node.name:
        fact = dict(node.facts).get(name)
        if fact not in _ITERATIONS:
            return None
        path = path[1:] if fact == "history" else path
    return _inside(node, path)


def _inside(node: ir.Node | None, path: Path) -> ir.Node | None:
    """The node inside of another one's result whose exit code a path reads."""
    while node is not None and path != (_EXIT_CODE,):
        if isinstance(node, ir.ForEach):
            path = path[1:]
        given = {name: inner for _, block in blocks_of(node) for name, inner in names_given(block)}
        node, path = (given.get(str(path[0])), path[1:]) if path else (None, ())
    return node
