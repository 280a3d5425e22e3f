"""Reads files with actions into the workflow of a definition."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from whorl import ir
from whorl.dialects.reader import several_workflows
from whorl.dialects.reading.texts import called, quoted
from whorl.errors import Diagnostic, InvalidWorkflow
from whorl.formats.loom import blocks, control, forms, references
from whorl.formats.loom.action import Location, order_of
from whorl.formats.loom.blocks import read_block
from whorl.formats.loom.definitions import form_of, forms_of
from whorl.formats.loom.forms import LoomContext, computed, fields, find, find_mapping, text_at
from whorl.formats.loom.triggers import BODY, read_trigger
from whorl.ir.walk import hides
from whorl.source import Mapping

if TYPE_CHECKING:
    from collections.abc import Iterable

    from whorl.dialects.reader import Files, Reading
    from whorl.formats.loom.action import Order
    from whorl.formats.loom.definitions import Form
    from whorl.source import Document

    Outputs = tuple[tuple[str, ir.Value], ...]

_RESULT = "result"
_PARTS = tuple((part, part) for part in (BODY, "headers", "queries"))


class LoomReader:
    """Reads files with `actions`, and templates that hold such a definition."""

    name = "loom"
    # Azure takes JSON with repeated keys, and the last one counts.
    joined: frozenset[str] | None = frozenset()
    editing = "whorl.formats.loom.sketch:LoomChanges"
    linters: ClassVar = {"azure": ("Logic Apps", "whorl.formats.loom.linting:lint_for_azure")}
    mocking = "whorl.formats.loom.history:WORDS"

    def claims(self, document: Document) -> bool:
        """Returns whether the file has a definition."""
        return form_of(document.root) is not None

    def read(self, document: Document, files: Files) -> Reading:
        """Reads a file into the IR; raises InvalidWorkflow with all mistakes in it."""
        context = LoomContext(document, files)
        form = _choose(context)
        workflow = _read_definition(context, form)
        if kept := form.templates[0].meter.kept:
            message = f"{len(kept)} values such as {kept[0][:60]} are known only after the "
            message += "deployment of a template; they stay as they are written"
            advice = "write the values into the file, or run the deployed definition"
            context.warn("W023", message, form.definition.span, help=advice)
        if not context.diagnostics:
            context.check(workflow)
            references.check_references(context, form, workflow)
        return context.finish(workflow)


def _choose(context: LoomContext) -> Form:
    """Returns the chosen definition, after the deployment of the template around it."""
    root = context.document.root
    first = form_of(root)
    assert first is not None
    is_bare = not first.is_template and isinstance(first.definition, Mapping)
    context.lenient = is_bare and forms.is_lenient(first.definition)
    beside = (f"{context.stem}.parameters.json", "parameters.json")
    values = references.open_beside(context, *beside, is_kept=True)
    context.beside = find_mapping(values, "parameters") or values
    found = [first] if is_bare else list(forms_of(root, context.beside))
    names = {form.name.lower(): form for form in found}
    form = found[0]
    if len(found) > 1:
        chosen = context.files.chosen
        if chosen.lower() not in names:
            raise several_workflows([form.name for form in found], chosen, root.span)
        form = names[chosen.lower()]
    form = form if context.lenient else form.deployed()
    context.lenient |= form.is_template and forms.is_lenient(form.definition)
    if find_mapping(form.definition, "actions") is None:
        message = f"the definition of workflow {form.name!r} is known only after its deployment"
        advice = "write it into the template, or run the deployed definition"
        fault = Diagnostic("W007", message, form.definition.span, "no definition", advice)
        raise InvalidWorkflow([fault])
    return form


def _read_definition(context: LoomContext, form: Form) -> ir.Workflow:
    """Reads a definition into a workflow: its parameters, trigger and variables become inputs."""
    definition, actions = form.definition, find_mapping(form.definition, "actions")
    assert isinstance(definition, Mapping)
    assert actions is not None
    if not form.is_part:
        _check_spelling(context, definition)
    _look_through(context, definition)
    actions = blocks.started_actions(context, actions)
    location = Location(read_block)
    trigger = read_trigger(context, definition, location, references.parameters_of(context, form))
    order = order_of(context, actions)
    body = read_block(context, actions, order, location)
    # Actions that handle failures of a secure action are shown; that action's result is not.
    others = (name for name in order.last[1:] if not hides(body, name, context.workflows))
    order = replace(order, last=(*order.last[:1], *others))
    outputs, hidden, early = _outputs(context, definition, order, body)
    # The answer to the caller of the run is the first response.
    parts = (("status", "statusCode"), ("headers", "headers"), ("body", "body"))
    sent = {n: computed("response_part", [*context.responses], part) for n, part in parts}
    workflow = ir.Workflow(
        name=form.name or references.name_of(context),
        dialect="loom",
        body=body,
        outputs=outputs,
        hidden_outputs=hidden,
        early_outputs=early,
        main_input=BODY,
        recorder="loom",
        trigger=trigger,
        answer=fields(**sent) if context.responses else None,
        is_late=context.answers_later,
    )
    # The fields that the schema of a request names: each may be given to the run by name.
    given_parts, names = (trigger.gives, trigger.fields) if trigger else (_PARTS, ())
    started_with = (*(name for _, name in given_parts), *names)
    ports, tables = references.read_names(context, form, workflow, started_with)
    scopes = ir.Constant({name: [*held] for name, held in context.scopes.items()})
    started = _trigger(context, given_parts, names)
    return replace(
        workflow,
        inputs=ports,
        variables=(*tables, ("$trigger", started), ("$scopes", scopes)),
        words=forms.VOCABULARY | {"loops": context.loops} if context.loops else forms.VOCABULARY,
        workflows=tuple(context.workflows.items()),
    )


def _look_through(context: LoomContext, definition: Mapping) -> None:
    """Finds the settings, names and variables of a whole definition."""
    context.static_results = find_mapping(definition, "staticResults")
    triggers = find_mapping(definition, "triggers") or ()
    context.triggers = tuple(trigger.name for trigger in triggers)
    context.is_trigger_secret = any(forms.secured(trigger.value) for trigger in triggers)
    texts = [scalar.text for scalar in forms.scalars_in(definition)]
    context.reads_inputs = any(map(forms.READS_INPUTS.search, texts))
    for name, action in forms.objects_in(definition):
        if name and text_at(action, "type").lower() == "response":
            context.answering.append(name)
    # Variables are spelled as where they are declared, or else set.
    for name, variable_type in control.variables_in(find(definition, "actions")):
        context.setters[name.lower()] += 1
        if variable_type is None:
            context.variables.setdefault(name.lower(), name)
        else:
            context.variables[name.lower()] = name
            context.types[name.lower()] = variable_type


def _check_spelling(context: LoomContext, definition: Mapping) -> None:
    """Reports misspelt fields of a definition, its triggers, parameters and outputs."""
    context.check_spelling(definition, forms.OBJECT_FIELDS["definition"], "the definition")
    for part, kind in (("triggers", "trigger"), ("parameters", "parameter"), ("outputs", "output")):
        for entry in find_mapping(definition, part) or ():
            # An output may be any object, unless it says its type or its value.
            if kind != "output" or (find(entry.value, "type") or find(entry.value, "value")):
                owner, names = f"{kind} {entry.name[:60]!r}", forms.OBJECT_FIELDS[kind]
                context.check_spelling(entry.value, names, owner, warns=kind == "trigger")
            if kind == "trigger" and text_at(entry.value, "type").lower() == "request":
                owner = f"inputs of {kind} {entry.name[:60]!r}"
                given, names = find(entry.value, "inputs"), forms.OBJECT_FIELDS["request"]
                context.check_spelling(given, names, owner)


def _trigger(
    context: LoomContext, parts: Iterable[tuple[str, str]], names: Iterable[str]
) -> ir.Value:
    """Returns the record of the trigger: the inputs of the run."""
    listed = ", ".join(f"{quoted(name)}: {computed('fact', name).source}" for name in names)
    body = forms.jinja(called("trigger_body", computed("fact", BODY).source, f"{{ {listed} }}"))
    given = {part: (name, computed("fact", name)) for part, name in parts if part != "body"}
    tracking = given.pop("tracking", None)
    name = context.triggers[0] if context.triggers else "manual"
    outputs = fields(**dict(given.values()), body=body)
    tracked = {} if tracking is None else {tracking[0]: computed("tracking_of", tracking[0])}
    return fields(name=name, status="Succeeded", outputs=outputs, **tracked)


def _outputs(
    context: LoomContext, definition: Mapping, order: Order, body: ir.Block
) -> tuple[Outputs, tuple[str, ...], tuple[str, ...]]:
    """Returns the outputs of the definition; else the response, else the last action's result.

    The second part names hidden outputs: the result of a last action that is secure. The third
    names early outputs: the caller has the response, even if the run fails later.
    """
    if declared := find_mapping(definition, "outputs"):
        values = ((entry.name, entry.value, find(entry.value, "value")) for entry in declared)
        given = ((name, whole if value is None else value) for name, whole, value in values)
        return tuple((name, context.value(value)) for name, value in given), (), ()
    if context.responses:
        names = ("body", "statusCode", *(("headers",) if context.sends_headers else ()))
        answer = ((name, computed("response_part", [*context.responses], name)) for name in names)
        is_hidden = any(hides(body, name, context.workflows) for name in context.responses)
        return tuple(answer), names if is_hidden else (), names
    if not order.last:
        return (), (), ()
    hidden = (_RESULT,) if hides(body, order.last[0], context.workflows) else ()
    return ((_RESULT, computed("final_of", order.ends)),), hidden, ()
