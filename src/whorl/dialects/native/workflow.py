"""A whole workflow: the fields at the top of a native file, read and written."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from whorl import ir
from whorl.dialects.native import context as native
from whorl.dialects.native import forms
from whorl.dialects.native.blocks import OPTIONS, Body, Steps
from whorl.dialects.native.context import Attributes, Context, Location
from whorl.dialects.native.forms import Choice
from whorl.dialects.native.loop import FORM, last_with_result
from whorl.dialects.native.steps import CASE, CHOOSE, KINDS
from whorl.dialects.native.table import VALUE, fields
from whorl.dialects.native.tasks import let_read_codes_pass, returns_schema
from whorl.dialects.reading.fields import shown, text_of
from whorl.ir.checks import check
from whorl.ir.expressions import Names
from whorl.ir.walk import Places, blocks_of, is_hidden, names_given, walk
from whorl.source import Mapping, Value

if TYPE_CHECKING:
    from whorl.errors import Span
    from whorl.language import Json

# What the default of an input of each type can be.
_ACCEPTED: dict[str, type | tuple[type, ...]] = {
    "string": str,
    "number": (int, float),
    "integer": int,
    "boolean": bool,
    "json": object,
    "list": list,
    "file": str,
    "files": (list, str),
    "any": object,
    "secret": str,
}


def read_file(context: Context, *, is_checked: bool = True) -> ir.Workflow:
    """Reads a native file, with the workflows in it, and checks them."""
    root = context.root
    local = root.get("workflows")
    context.local |= {entry.name for entry in local} if isinstance(local, Mapping) else set()
    name = context.file.replace("\\", "/").rpartition("/")[2].partition(".")[0] or "workflow"
    at = Location("the workflow", "", root.span)
    shared = Mapping(tuple(entry for entry in root if entry.name in SHARED), root.span)
    context.shared = forms.read_object(context, shared, SHARED, at)
    workflow = _read(context, root, at, name)
    for check_inputs in context.calls:
        check_inputs()
    workflow = replace(workflow, workflows=tuple(context.workflows.items()))
    if is_checked:
        _check(context, workflow)
    return workflow


def _check(context: Context, workflow: ir.Workflow) -> None:
    if not context.is_full:
        is_plain, facts = not context.exact, tuple(native.FACTS)
        options: Any = {"is_budget_needed": is_plain, "is_text_suspicious": is_plain}
        context.adopt(check(workflow, context.places, context.names, facts=facts, **options))


def _read(context: Context, root: Mapping, at: Location, name: str) -> ir.Workflow:
    if "expressions" in root:
        context.exact, context.library = True, native.library_name(root.get("expressions"))
    context.name = text_of(root.get("name")) or name
    table = FILE if at.owner == "the workflow" else LOCAL
    attributes = forms.read_object(context, root, table, at)
    attributes["name"] = context.name
    attributes.setdefault("body", ir.Block(()))
    if not attributes.get("outputs") and not context.exact:
        attributes.pop("outputs", None)
    forms.derive(context, FILE, attributes)
    names = forms.defaults(ir.Workflow).keys() - {"workflows"}
    workflow = ir.Workflow(**{name: part for name, part in attributes.items() if name in names})
    if context.exact:
        return workflow
    _check_clashes(context, root, workflow.body)
    return let_read_codes_pass(workflow, context.names)


class Port(forms.Object):
    """An input: its type, its default, and its description."""

    def build(self, context: Context, attributes: dict[str, Any]) -> Any:
        kind = attributes.pop("type", "any")
        has_default = "default" in attributes
        required = attributes.get("required", not has_default and not kind.endswith("?"))
        attributes["required"] = required and (context.exact or not has_default)
        kind = kind.removesuffix("?")
        if kind == "secret":
            kind, attributes["secret"] = "string", True
        return {"type": kind, **attributes}

    def take(self, context: Context, value: Mapping, at: Location) -> Any:
        attributes, default = super().take(context, value, at), value.get("default")
        if attributes is not None and default is not None and not context.exact:
            self._check_default(context, at.field, attributes, default)
            if attributes.get("secret"):
                message = f"input {at.field!r} is secret, and its default is in the file"
                advice = "leave the default out: a secret is given to each run"
                label, span = "not secret", default.span
                context.report("W007", message, span, label=label, help=advice, is_secret=True)
        return attributes

    def _check_default(
        self, context: Context, name: str, attributes: dict[str, Any], default: Value
    ) -> None:
        kind, value = attributes["type"], attributes["default"]
        accepted = _ACCEPTED[kind]
        is_other = (isinstance(value, bool) and accepted is not object) != (kind == "boolean")
        if value is not None and (is_other or not isinstance(value, accepted)):
            other = "another value" if attributes.get("secret") else shown(default)
            message = f"the default of input {name!r} must be of type {kind}, not {other}"
            advice = "change the default or the type"
            context.report("W007", message, default.span, label=f"expected {kind}", help=advice)

    def write(self, context: Context, value: Any) -> Any:
        written = forms.write_object(context, self.fields, value)
        has_default = "default" in written
        written.pop("required", None)
        kind: str = value.type
        if value.secret and kind == "string":
            del written["secret"]
            written["type"] = kind = "secret"
        if value.required and has_default:
            written["required"] = True
        elif not value.required and not has_default:
            written = {**written, "type": f"{kind}?"}
        return {"type": kind, **written} if "type" in written or not written else written


def _main_input(context: Context, attributes: Attributes) -> str:
    inputs: tuple[ir.Port, ...] = attributes.get("inputs", ())
    if len(inputs) == 1:
        return inputs[0].name
    plain = [port for port in inputs if port.required and not port.secret]
    texts = [port.name for port in plain if port.type == "string"]
    files = [port.name for port in plain if port.type in ("file", "files")]
    return texts[0] if texts else files[0] if len(files) == len(plain) == 1 else ""


def _outputs(context: Context, attributes: Attributes) -> tuple[tuple[str, ir.Value], ...]:
    last = last_with_result(attributes["body"])
    return () if last is None else ((last.name, native.read_result(last.name)),)


def _hidden(context: Context, attributes: Attributes) -> tuple[str, ...]:
    """Returns the last step if its output is the workflow's and secure; viewers do not see it."""
    last = last_with_result(attributes["body"])
    if last is None or attributes["outputs"] != _outputs(context, attributes):
        return ()
    return (last.name,) if is_hidden(last, context.workflows) else ()


def defaults_of(context: Context, attributes: Attributes) -> tuple[tuple[str, ir.Fields], ...]:
    """Returns the defaults of all questions, `model` and `system`; judges share the model."""
    inputs = {name: attributes.get(f"inputs.{name}") for name in ("model", "system")}
    ask = [(name, value) for name, value in inputs.items() if value is not None]
    judge = [entry for entry in ask if entry[0] == "model"]
    kinds = (("ask", ir.Fields(tuple(ask))), ("judge", ir.Fields(tuple(judge))))
    return tuple((kind, given) for kind, given in kinds if given.entries)


def _check_clashes(context: Context, root: Mapping, body: ir.Block) -> None:
    """Reports each name with two meanings: an input, a variable, a step, or a value in steps."""
    steps = {name for name, _ in names_given(body)}
    sets = {name for _, node in walk(body) if isinstance(node, ir.Assign) for name, _ in node.sets}
    inputs = root.get("inputs")
    clashes: list[tuple[str, str, str, Span | None]] = [
        (entry.name, "an input", "a step" if entry.name in steps else "a variable", entry.key.span)
        for entry in (inputs if isinstance(inputs, Mapping) else ())
        if entry.name in steps | sets and entry.name not in native.RESERVED
    ]
    for path, node in walk(body):
        if node.name in sets:
            clashes.append((node.name, "a step", "a variable", context.places.node(path)))
        known = _names_inside(node)
        for name in [name for _, block in blocks_of(node) for name, _ in names_given(block)]:
            if name in known:
                inside, place = f"a step inside of {node.name!r}", f"{path}/{name}"
                clashes.append((name, known[name], inside, context.places.node(place)))
    for name, what, other, span in clashes:
        message = f"{name!r} is the name of {what} and of {other}"
        label, advice = "this name has two meanings", "choose another name for one of them"
        context.report("W012", message, span, label=label, help=advice)


def _names_inside(node: ir.Node) -> dict[str, str]:
    """Describes the names that a loop or a list gives to its steps, or that are beside theirs."""
    if isinstance(node, ir.ForEach):
        return {node.index_name: "the number of the item", node.item_name: "the item"}
    if not isinstance(node, ir.Loop):
        return {}
    collected = dict.fromkeys((collect.name for collect in node.collect), "a collected result")
    return collected | dict.fromkeys((carry.name for carry in node.carry), "a carried value")


class Workflows(forms.MapOf):
    """Workflows in the file that calls them."""

    def take(self, context: Context, value: Mapping, at: Location) -> Any:
        read: list[tuple[Context, ir.Workflow]] = []
        for entry in value:
            inner = replace(context, places=Places(), names=Names(), around=native.Enclosing())
            what = Location(f"workflow {entry.name[:60]!r}", "", entry.key.span)
            if isinstance(entry.value, Mapping):
                workflow = _read(inner, entry.value, what, entry.name)
                context.workflows[entry.name] = workflow
                read.append((inner, workflow))
            else:
                forms.Object("workflow", LOCAL).read(context, entry.value, what)
        for inner, workflow in read:
            _check(inner, replace(workflow, workflows=tuple(context.workflows.items())))
        return ()

    def write(self, context: Context, value: Any) -> Any:
        return forms.OMIT

    def own_schema(self) -> dict[str, Json]:
        return {"type": "object", "additionalProperties": {"$ref": "#/$defs/workflow"}}


class _Type(Choice):
    """The type of an input."""

    def __init__(self) -> None:
        super().__init__(tuple(f"{word}{mark}" for word in _ACCEPTED for mark in ("", "?")))
        self.words = "a type"

    def meant(self, text: str) -> str:
        usual = f"write one of {', '.join(_ACCEPTED)}; a ? makes the input optional"
        return forms.meant_type(text, _ACCEPTED) or usual


_KINDS = _Type()
_PORT = Port("input", fields("input", {"type": _KINDS}, ir.Port, "name"), ir.Port)
_BY_NAME = "inputs by name, such as {task: string}"
_INPUTS = forms.MapOf(forms.Short("type", _PORT), _BY_NAME, make=ir.Port, if_wrong={})
_BUDGET = forms.Object("budget", fields("budget", None, ir.RunLimits), ir.RunLimits)
_FORMS: dict[str, forms.Form] = {
    "inputs": _INPUTS,
    "budget": forms.Short("cost", _BUDGET),
    "steps": Steps(),
    "block": OPTIONS,
    "workflows": Workflows(VALUE, "workflows by name", "any"),
    "trigger": forms.Object("trigger", fields("trigger", None, ir.Trigger), ir.Trigger),
}
_DERIVED = {"main_input": _main_input, "defaults": defaults_of, "hidden_outputs": _hidden}
_FIELDS = fields("file", _FORMS, outputs=_outputs, **_DERIVED)
# What a workflow in a file has from the file where it does not say it: its dialect, and the words.
_STATED = {field.attribute for field in _FIELDS.values()}
_UNSTATED = fields("block", None, ir.Workflow, "body", *_STATED)
# What it answers with is its own.
_OWN = {name: _UNSTATED.pop(name) for name in ("answer", "is_late")}
SHARED: forms.FieldTable = {"dialect": _FIELDS["dialect"], **_UNSTATED}


def _share(name: str, field: forms.Field) -> forms.Field:
    usual = forms.defaults(ir.Workflow)[name]
    return replace(field, derive=lambda context, _: context.shared.get(name, usual))


_SHARED = {name: _share(name, field) for name, field in SHARED.items()}
FILE: forms.FieldTable = {**_FIELDS, **_OWN, **_SHARED}
LOCAL = {name: field for name, field in FILE.items() if name not in ("whorl", "workflows")}


# Values of converted files that no plain value says.
_MARKED: Json = {
    "type": "object",
    "properties": {
        "expr": {"type": "string", "description": "an expression as it was written"},
        "in": {"type": "string", "description": "its syntax; default: jinja"},
        "library": {"type": "string", "description": "whose functions it has"},
        "literal": {"description": "a value as it is, never a template"},
        "items": {"type": "array", "description": "a list of values"},
        "entries": {"type": "array", "description": "pairs of a key and a value"},
    },
    "additionalProperties": False,
}


def native_schema() -> dict[str, Json]:
    """Returns the schema of a native file, draft 2020-12; every field has a description."""
    steps: Json = {"$ref": "#/$defs/steps"}
    kinds: list[Json] = [
        {"title": kind.name, "description": kind.doc, **forms.schema_of(kind.fields)}
        for kind in KINDS.values()
    ]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Whorl workflow",
        **forms.schema_of(FILE),
        "$defs": {
            "steps": {
                "type": "object",
                "minProperties": 1,
                "propertyNames": {"pattern": f"^{native.NAMES['dashed']}$"},
                "additionalProperties": {"$ref": "#/$defs/step"},
            },
            "step": {"type": "object", "anyOf": kinds},
            "body": {"anyOf": [forms.schema_of(Body().fields), steps]},
            "case": {"anyOf": [forms.schema_of(CASE.fields), steps]},
            "choose": forms.schema_of(CHOOSE),
            "condition": FORM.schema(),
            "returns": returns_schema(),
            "workflow": forms.schema_of(LOCAL),
            "marked": _MARKED,
        },
    }
