"""A definition as a workflow: its parameters, trigger and variables become inputs."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.loom.action import Scene, find, find_deep, text_at
from whorl.dialects.loom.block import read_block
from whorl.dialects.loom.order import order_of
from whorl.dialects.loom.parameters import read_parameters
from whorl.dialects.loom.references import undeclared_parameters, undeclared_variables
from whorl.dialects.loom.texts import computed, reads_inputs, value_of
from whorl.dialects.loom.variables import SETTING, declared, name_of, type_of
from whorl.dialects.loom.vocabulary import VOCABULARY
from whorl.ir.walk import hides
from whorl.source import Mapping

if TYPE_CHECKING:
    from whorl.dialects.loom.draft import Draft
    from whorl.dialects.loom.forms import Form
    from whorl.dialects.loom.order import Order
    from whorl.language import Json
    from whorl.source import Value

BODY, HEADERS, QUERIES = "body", "headers", "queries"
_RESULT = "result"


def read_definition(draft: Draft, form: Form) -> ir.Workflow:
    """The workflow of a definition."""
    definition = form.definition
    actions = find(definition, "actions")
    assert isinstance(actions, Mapping)
    static = find(definition, "staticResults")
    draft.static_results = static if isinstance(static, Mapping) else None
    triggers = find(definition, "triggers")
    draft.triggers = tuple(e.name for e in triggers) if isinstance(triggers, Mapping) else ()
    draft.reads_inputs = reads_inputs(definition)
    _collect_variables(draft, actions)
    order = order_of(draft, actions)
    body = read_block(draft, actions, order, Scene())
    order = _without_secure(draft, order, body)
    workflow = ir.Workflow(
        name=form.name or _stem(draft.document.file),
        dialect="loom",
        body=body,
        outputs=_outputs(draft, definition, order),
        main_input=BODY,
        recorder="loom",
    )
    parameters = read_parameters(draft, form, undeclared_parameters(draft, form, workflow))
    undeclared = undeclared_variables(draft, workflow)
    fields = _trigger_fields(definition)
    ports = {port.name: port for port in parameters.ports}
    others = (*parameters.mentioned, *parameters.settings, *undeclared)
    for name in (*others, BODY, HEADERS, QUERIES, *fields):
        ports.setdefault(name, ir.Port(name, required=False))
    return replace(
        workflow,
        inputs=tuple(ports.values()),
        hidden_outputs=_hidden_outputs(draft, definition, order, body),
        variables=(
            ("$settings", _facts(parameters.settings)),
            *parameters.variables,
            ("$variables", _undeclared(draft, undeclared)),
            ("$trigger", _trigger(draft, fields)),
            ("$scopes", ir.Constant({name: [*held] for name, held in draft.scopes.items()})),
        ),
        vocabulary=VOCABULARY | {"loops": draft.loops} if draft.loops else VOCABULARY,
        workflows=tuple(draft.workflows.items()),
    )


def _undeclared(draft: Draft, names: list[str]) -> ir.Value:
    """Variables that nothing declares: null unless they are given; in Azure's files, then only."""
    return _facts(names) if draft.lenient else computed("given_of", [*names])


def _facts(names: list[str]) -> ir.Value:
    return ir.Fields(tuple((name, computed("fact", name)) for name in names))


def _collect_variables(draft: Draft, actions: Mapping) -> None:
    """Finds how variables are spelled where they are declared, or else set."""
    queue: list[Value] = [actions]
    for value in queue:
        if not isinstance(value, Mapping):
            continue
        kind = text_at(value, "type").lower()
        if kind == "initializevariable":
            listed = find_deep(value, "inputs", "variables") or find(value, "variables")
            for item in declared(listed):
                name = text_at(item, "name")
                draft.variables[name.lower()] = name
                draft.types[name.lower()] = type_of(item)
        elif kind in SETTING:
            name = name_of(value)
            draft.variables.setdefault(name.lower(), name)
        queue.extend(entry.value for entry in value)


def _trigger_fields(definition: Mapping) -> list[str]:
    """The fields that the schema of a request names: each may be given to the run by name."""
    triggers = find(definition, "triggers")
    for entry in triggers if isinstance(triggers, Mapping) else ():
        properties = find_deep(entry.value, "inputs", "schema", "properties")
        if isinstance(properties, Mapping):
            return [field.name for field in properties]
    return []


def _trigger(draft: Draft, fields: list[str]) -> ir.Value:
    """The record of the trigger: what the run was given."""
    given = computed("fact", BODY).source
    listed = ", ".join(f"{_quoted(name)}: {computed('fact', name).source}" for name in fields)
    body = ir.Expression("jinja", f"trigger_body({given}, {{ {listed} }})", "loom")
    outputs = ir.Fields(
        (
            ("headers", computed("fact", HEADERS)),
            ("queries", computed("fact", QUERIES)),
            ("body", body),
        )
    )
    return ir.Fields(
        (
            ("name", ir.Constant(draft.triggers[0] if draft.triggers else "manual")),
            ("status", ir.Constant("Succeeded")),
            ("outputs", outputs),
        )
    )


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _outputs(draft: Draft, definition: Mapping, order: Order) -> tuple[tuple[str, ir.Value], ...]:
    """The outputs that the definition names; else the response, else the last action's result."""
    written = find(definition, "outputs")
    found: list[tuple[str, ir.Value]] = []
    for entry in written if isinstance(written, Mapping) else ():
        inner = find(entry.value, "value")
        found.append((entry.name, value_of(draft, entry.value if inner is None else inner)))
    if draft.responses:
        names: list[Json] = [*draft.responses]
        return tuple(found) or (("body", computed("response_of", names)),)
    if not found and order.last:
        found.append((_RESULT, computed("final_of", order.ends)))
    return tuple(found)


def _hidden_outputs(
    draft: Draft, definition: Mapping, order: Order, body: ir.Block
) -> tuple[str, ...]:
    """A secure action that is only the last one gives its result to nobody who looks on."""
    written = find(definition, "outputs")
    is_asked_for = isinstance(written, Mapping) and bool(written.entries)
    if is_asked_for or draft.responses or not order.last:
        return ()
    return (_RESULT,) if hides(body, order.last[0], draft.workflows) else ()


def _without_secure(draft: Draft, order: Order, body: ir.Block) -> Order:
    """What deals with the failures of a secure action is shown; that action's result is not."""
    others = (name for name in order.last[1:] if not hides(body, name, draft.workflows))
    return replace(order, last=(*order.last[:1], *others))


def _stem(file: str) -> str:
    return file.replace("\\", "/").rpartition("/")[2].rpartition(".")[0] or file
