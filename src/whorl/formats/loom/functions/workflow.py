"""Functions that read the run. The scope holds the values that they need, by these names.

`$parameters`, `$variables`: objects: value by name.
`$actions`: object: record by action name; null for an action that has not run.
`$trigger`: the record of the trigger.
`$items`, `$iterations`: objects by loop name: the current item, the index from 0.
`$item`: the item of the innermost loop.
`$scopes`: object by scope or loop name: array of the names of its actions.
`$loop`: object: the variables of the loops around, by name.
`$workflow`: `{id, name, type, location, tags, run: {id, name, type}}`.
`$action`: the record of the action that is being evaluated, for `action()`.
`$settings`: object: value by name.
`$call`: the tool call of a model, with its `arguments`.
`$callback_url`: the result of `listCallbackUrl()`.
`$now`: seconds since 1970 (date functions).
`$seed`: a text (`guid`, `rand`).

A record is `{name, status, inputs, outputs, code, error, startTime, endTime, ...}`; `outputs` of
most actions is `{statusCode, headers, body}`. Case does not matter in names. A name that is not
in the scope is undefined, and the function that needs it raises an error.
"""

from __future__ import annotations

import csv
import html
from io import StringIO
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import parse_qsl

from whorl.errors import did_you_mean
from whorl.formats.loom.functions.collections import join
from whorl.formats.loom.values import arguments
from whorl.formats.loom.values.arguments import find_key, forgiving_item, not_valid, text, type_name
from whorl.language.calls import declare
from whorl.language.core.text import from_json
from whorl.language.faults import EvaluationError, LimitExceeded
from whorl.language.schema import STEPS_MAX, misfits
from whorl.language.values import UNDEFINED, Limits, kind_of, measure

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.language.calls import Run
    from whorl.language.schema import SchemaError
    from whorl.language.values import Json, Value


INTERNAL = arguments.Family("internal")
WORKFLOW = arguments.Family("workflow")
# The functions that differ where what is missing is null.
LENIENT = arguments.Family("workflow")

_NAMES_MAX = 1_000
_FAILED = ("Failed", "TimedOut", "Cancelled")


@INTERNAL(
    "$settled(action, function)",
    "whether an action has not failed, for the condition of a loop",
    reads="$actions",
)
def _settled(run: Run, name: Value, function: Value) -> bool:
    """Returns whether the value that a function reads is valid, not left by a failed action."""
    table = run.lookup("$actions")
    record = table.get(find_key(table, str(name)) or "") if isinstance(table, dict) else None
    if not isinstance(record, dict) or record.get("status") not in _FAILED:
        return True
    # The outputs of a failed call can be read; its body does not count as a result.
    return function != "body" and record.get("outputs") is not None


def _named(
    function: str, place: str, noun: str, run: Run, name: Value, *, lenient: bool = False
) -> Value:
    """Returns the value of a name in one of the tables of the scope."""
    key, found = text(function, None, name), run.lookup(place)
    table = found if isinstance(found, dict) else {}
    if key not in table:
        run.spend(len(table) >> 4)
    own = find_key(table, key)
    if own is not None or lenient:
        return None if own is None else table[own]
    names = list(table)[:_NAMES_MAX]
    fault = EvaluationError(
        f"The template language function {function!r} cannot be evaluated: "
        f"the {noun} {key!r} is not defined",
        help=did_you_mean(key, names) or f"known are: {', '.join(names[:5]) or 'none'}",
    )
    fault.name = key
    raise fault


for _signature, _place, _noun, _doc in (
    ("parameters(name)", "$parameters", "workflow parameter", "the value of a parameter"),
    ("items(loop)", "$items", "loop", "the current item of a loop"),
    ("iterationIndexes(loop)", "$iterations", "loop", "the index of a loop's iteration, from 0"),
    ("appsetting(name)", "$settings", "app setting", "the value of an app setting"),
):
    WORKFLOW(_signature, _doc, _place, _noun, reads=_place, borrows=True)(_named)


@WORKFLOW("agentParameters(name)", "an argument that the model chose", reads="$call", borrows=True)
def _agent_parameter(run: Run, name: Value) -> Value:
    given = _scoped("agentParameters", "$call", run, "arguments")
    return forgiving_item(given, text("agentParameters", None, name))


def _record(function: str, run: Run, name: Value) -> Value:
    """Returns the record of an action, or of the trigger if it has that name."""
    try:
        return _named(function, "$actions", "workflow action", run, name)
    except EvaluationError:
        started = run.lookup("$trigger")
        own = value_at(started, "name")
        if isinstance(own, str) and own.lower() == str(name).lower():
            return started
        raise


def _outputs(function: str, run: Run, name: Value) -> Value:
    return forgiving_item(_record(function, run, name), "outputs")


_OLD = "the outputs of an action; old name"
WORKFLOW("outputs(action)", "the outputs of an action", reads="$actions", borrows=True)(_outputs)
WORKFLOW("actionOutputs(action)", _OLD, reads="$actions", borrows=True)(_outputs)


@WORKFLOW(
    "result(scope)", "the records of the actions in a scope or loop", reads="$actions", borrows=True
)
def _result(run: Run, name: Value) -> Value:
    inside = _named("result", "$scopes", "scope", run, name)
    assert isinstance(inside, list)
    run.spend(len(inside))
    each = [value_at(run.lookup("$actions"), str(action)) for action in inside]
    return [record for record in each if record is not None]


@WORKFLOW("actions(action, part?)", "a record", reads="$actions", borrows=True)
def _actions(run: Run, name: Value, part: Value) -> Value:
    record = _record("actions", run, name)
    return record if part is None else forgiving_item(record, text("actions", 1, part))


def _variable(function: str, lenient: bool, run: Run, name: Value) -> Value:
    loop = run.lookup("$loop")
    if isinstance(loop, dict):
        own = find_key(loop, text(function, None, name))
        if own is not None:
            return loop[own]
    return _named(function, "$variables", "variable", run, name, lenient=lenient)


def _body(function: str, lenient: bool, run: Run, name: Value) -> Value:
    given = _outputs(function, run, name)
    # In lenient files the whole result of an action is its body, unless it has a part for it.
    otherwise = given if lenient else None
    # Outputs of an action such as Compose may have any type.
    return forgiving_item(given, "body", otherwise) if isinstance(given, dict) else otherwise


_VARIABLE = "the value of a variable, or of a variable of the loop"
for _signature, _call, _doc, _place in (
    ("variables(name)", _variable, _VARIABLE, "$variables"),
    ("body(action)", _body, "the body of an action's outputs", "$actions"),
    ("actionBody(action)", _body, "the body of an action's outputs; old name", "$actions"),
):
    for _family, _lenient in ((WORKFLOW, False), (LENIENT, True)):
        _family(_signature, _doc, _lenient, reads=_place, borrows=True)(_call)


def _scoped(function: str, place: str, run: Run, part: Value = None) -> Value:
    """Returns a value of the scope by name, or a part of it; raises if there is no such value."""
    value = run.lookup(place)
    if value is UNDEFINED:
        raise EvaluationError(
            f"The template language function {function!r} cannot be used here: "
            f"there is no {place[1:].replace('_', ' ')}"
        )
    return value if part is None else forgiving_item(value, text(function, None, part))


def _trigger_outputs(function: str, place: str, run: Run) -> Value:
    return _scoped(function, place, run, "outputs")


def _trigger_body(function: str, place: str, run: Run) -> Value:
    given = _trigger_outputs(function, place, run)
    return forgiving_item(given, "body") if isinstance(given, dict) else None


_SCOPED: tuple[tuple[str, Callable[..., Value], str, str], ...] = (
    ("trigger()", _scoped, "the record of the trigger", "$trigger"),
    ("triggerOutputs()", _trigger_outputs, "the outputs of the trigger", "$trigger"),
    ("triggerBody()", _trigger_body, "the body of the trigger", "$trigger"),
    ("item()", _scoped, "the current item", "$item"),
    ("workflow()", _scoped, "the run", "$workflow"),
    ("action(part?)", _scoped, "the record of this action", "$action"),
    ("listCallbackUrl()", _scoped, "the address that starts this workflow", "$callback_url"),
)
for _signature, _call, _doc, _place in _SCOPED:
    WORKFLOW(_signature, _doc, _place, reads=_place, borrows=_place != "$callback_url")(_call)


def _content(run: Run, function: str, action: list[Value], key: str) -> Value:
    """Returns the value of a key in the body of an action, or else of the trigger."""
    if action:
        given = _body(function, False, run, action[0])
    else:
        given = _trigger_body("triggerBody", "$trigger", run)
    return forgiving_item(given, key) if isinstance(given, dict) else None


def _form_values(function: str, run: Run, *given: Value) -> list[Value]:
    *action, key = given
    pairs = _content(run, function, action, "$formdata")
    wanted = text(function, None, key).lower()
    if not isinstance(pairs, list):
        raise not_valid(function, "the body is not form data")
    run.spend(len(pairs))
    rows = (pair for pair in pairs if isinstance(pair, dict))
    keyed = ((str(forgiving_item(row, "key")).lower(), row) for row in rows)
    return [forgiving_item(row, "value") for key, row in keyed if key == wanted]


def _form_value(function: str, run: Run, *given: Value) -> Value:
    values = _form_values(function, run, *given)
    if len(values) > 1:
        key = given[-1]
        raise not_valid(function, f"the form has {len(values)} values for the key {key!r}")
    return values[0] if values else None


def _multipart(function: str, run: Run, *given: Value) -> Value:
    *action, index = given
    parts = _content(run, function, action, "$multipart")
    number = arguments.whole(function, None, index)
    if not isinstance(parts, list) or not 0 <= number < len(parts):
        raise not_valid(function, f"the body has no part with the index '{number}'")
    return forgiving_item(parts[number], "body")


_PARTS: tuple[tuple[str, Callable[..., Value], str], ...] = (
    ("formDataValue(action, key)", _form_value, "the one value of a key in a form"),
    ("formDataMultiValues(action, key)", _form_values, "all values of a key in a form"),
    ("multipartBody(action, index)", _multipart, "one part of a multipart body"),
    ("triggerFormDataValue(key)", _form_value, "the one value of a key in the trigger's form"),
    ("triggerFormDataMultiValues(key)", _form_values, "all values of a key in the trigger's form"),
    ("triggerMultipartBody(index)", _multipart, "a part of the trigger's body"),
)
for _signature, _call, _doc in _PARTS:
    _place = "$actions" if "(action" in _signature else ""
    WORKFLOW(_signature, _doc, reads=_place)(_call)


# Functions of JSON actions: results of loops, branches and agents, contents and arrays.
#
# What an action gives is `{body, ...}`, but for a *bare* one, which gives its value as it is.


def value_at(value: Value, *keys: str) -> Value:
    """Returns the value at the end of a path of keys, or null."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def agent_calls(run: Run, asked: str) -> list[Value]:
    """Returns the tool calls that a model asks for."""
    calls = value_at(fact(run, asked), "calls")
    return calls if isinstance(calls, list) else []


def agent_done(run: Run, asked: str) -> Value:
    """Returns whether a model asks for no tool."""
    return not agent_calls(run, asked)


def agent_tool(run: Run, agent: str, call: str) -> Value:
    """Returns the name of the called tool, after the agent that has it."""
    wanted = fact(run, call)
    name = value_at(wanted, "name") if value_at(wanted, "error") is None else ""
    return f"{fact(run, agent)}/{name}"


def agent_result(run: Run, call: str, tool: str) -> Value:
    """Returns the result of a tool call, for the model that made it."""
    wanted, record = fact(run, call), record_of(run, tool)
    entry: dict[str, Value] = {"role": "tool", "id": value_at(wanted, "id")}
    if (error := value_at(wanted, "error")) is not None:
        return entry | {"error": error}
    if isinstance(record.get("error"), dict):
        return entry | {"error": value_at(record, "error", "message")}
    return entry | {"value": record.get("outputs")}


def agent_turns(run: Run, turns: str, names: list[str]) -> Value:
    """Returns the conversation so far, with the model's last message and its tools' results."""
    asked, used, result = names
    before, results = fact(run, turns), fact(run, used)
    assert isinstance(before, list)
    rows = results if isinstance(results, list) else []
    run.spend(len(before) + len(rows))
    values = (row.get(result) for row in rows if isinstance(row, dict))
    return [*before, value_at(fact(run, asked), "turn"), *values]


def agent_after(run: Run, agent: str, asked: str, handovers: Value) -> Value:
    """Returns the agent that continues: the last one of a handover, or the same one."""
    own = fact(run, agent)
    assert isinstance(handovers, dict)
    calls = [call for call in agent_calls(run, asked) if value_at(call, "error") is None]
    keys = [f"{own}/{value_at(call, 'name')}" for call in calls]
    return next((handovers[key] for key in reversed(keys) if key in handovers), own)


def agent_outputs(run: Run, results: Value, asked: str) -> Value:
    """Returns the outputs of an agent: its last message, and the number of calls."""
    reply, count = value_at(results, asked), value_at(results, "loop", "iterations")
    words = reply.get("content") if isinstance(reply, dict) else reply
    return {"body": words, "lastAssistantMessage": words, "iterations": count}


_MISFITS_SHOWN = 3


def parsed(run: Run, answer: Value) -> Value:
    """Returns the parsed answer if it is a JSON object or array, and any other answer unchanged."""
    if not isinstance(answer, str):
        return answer
    inner = answer.strip()
    if inner.startswith("```"):
        inner = inner.strip("`").removeprefix("json").strip()
    if not inner.startswith(("{", "[")):
        return answer
    try:
        return from_json(run, inner)
    except EvaluationError:
        return answer


def checked_content(run: Run, inputs: dict[str, Value]) -> Value:
    """Returns JSON content, parsed if it is a text, and checked against its schema."""
    content, schema = value_at(inputs, "content"), value_at(inputs, "schema")
    if arguments.is_envelope(content):
        content = arguments.content_bytes(run, content).decode("utf-8-sig", "replace")
    value = from_json(run, content) if isinstance(content, str) else content
    if not schema:
        return value
    run.weigh(value)
    faults = [_fault_text(misfit) for misfit in misfits(schema, value)]  # type: ignore[arg-type]
    if faults:
        more = f" (and {len(faults) - _MISFITS_SHOWN} more)" if len(faults) > _MISFITS_SHOWN else ""
        shown = "; ".join(faults[:_MISFITS_SHOWN])
        raise EvaluationError(f"The schema validation failed. {shown}{more}")
    return value


def _fault_text(misfit: SchemaError) -> str:
    """Returns how a value violates its schema, in the words of Logic Apps if there are any."""
    words = misfit.words
    if misfit.rule == "required":
        words = f"Required properties are missing from object: {misfit.wanted[0]}"
    elif misfit.rule == "type":
        wanted = ", ".join(name.capitalize() for name in misfit.wanted)
        words = f"Invalid type. Expected {wanted} but got {type_name(misfit.value)}"
    elif misfit.rule == "steps":
        words = f"The check of the schema takes more than {STEPS_MAX} steps"
    return f"{words}. Path '{misfit.path[1:].lstrip('.')}'"


def http_outputs(run: Run, reply: Value) -> Value:
    """Returns the reply of a web service as outputs; content other than JSON or text is wrapped."""
    if not isinstance(reply, dict) or "status" not in reply:
        return {"statusCode": 200, "body": reply}
    headers, body, is_coded = reply.get("headers"), reply.get("body"), "encoding" in reply
    outputs: dict[str, Value] = {"statusCode": reply["status"], "headers": headers}
    if body == "":
        return outputs
    if arguments.is_envelope(body):
        return outputs | {"body": unfolded(run, body)}
    written = value_at(headers, "content-type")
    kind = written.partition(";")[0].strip().lower() if isinstance(written, str) else ""
    is_json = kind == "application/json" or kind.endswith("+json")
    is_text = (kind.startswith("text/") or not kind) and not is_coded
    if not isinstance(body, str) or is_json or is_text:
        return outputs | {"body": body}
    content = arguments.decode(run, body) if is_coded else body.encode("utf-8", "replace")
    wrapped = arguments.envelope(content, str(written or arguments.OCTETS))
    return outputs | {"body": unfolded(run, wrapped)}


def unfolded(run: Run, wrapped: dict[str, Value]) -> Value:
    """Returns content with the values of a form, or the parts of a multipart message."""
    written = str(wrapped["$content-type"])
    kind, content = written.partition(";")[0].strip().lower(), arguments.content_bytes(run, wrapped)
    if kind == "application/x-www-form-urlencoded":
        pairs = parse_qsl(content.decode("utf-8", "replace"), keep_blank_values=True)
        run.check_items(len(pairs), "form")
        return {**wrapped, "$formdata": [{"key": key, "value": value} for key, value in pairs]}
    if kind.startswith("multipart/"):
        return {**wrapped, "$multipart": arguments.multipart_bodies(run, content, written)}
    return wrapped


def transformed(run: Run, made: Value) -> Value:
    """Returns the result of a map: XML or HTML as content of its type, and a text unchanged."""
    if not isinstance(made, dict) or not isinstance(text := made.get("text"), str):
        return made
    kind = {"xml": "application/xml", "html": "text/html"}.get(str(made.get("method")))
    return arguments.envelope(text.encode(), f"{kind}; charset=utf-8") if kind else text


def trigger_body(run: Run, body: Value, given: Value) -> Value:
    """Returns the input of a run: its body, or else its other fields."""
    if body is not None and body is not UNDEFINED:
        return unfolded(run, body) if arguments.is_envelope(body) else parsed(run, body)
    if not isinstance(given, dict):
        return None
    fields = {name: value for name, value in given.items() if value is not None}
    return fields or None


def joined(run: Run, inputs: dict[str, Value]) -> Value:
    """Returns the items of an array as one text."""
    return join(run, inputs.get("from"), inputs.get("joinWith"))


def table_of(run: Run, inputs: dict[str, Value]) -> str:
    """Returns an array of objects as a table, in HTML or CSV."""
    rows = inputs.get("rows")
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise EvaluationError(f"a table needs an array of objects, not {kind_of(rows)}")
    headers = list(dict.fromkeys(name for row in rows if isinstance(row, dict) for name in row))
    cells = len(rows) * max(1, len(headers))
    run.check_items(cells, "table")
    run.spend(cells)
    lines = [[arguments.print_text(run, value_at(row, name)) for name in headers] for row in rows]
    if inputs.get("format") == "CSV":
        written = StringIO(newline="")
        csv.writer(written).writerows((headers, *lines))
        text = written.getvalue()
    else:
        text = "<table><thead>{}</thead><tbody>{}</tbody></table>".format(
            _row("th", headers), "".join(_row("td", line) for line in lines)
        )
    run.check_text(len(text), "table")
    return text


def _row(tag: str, line: list[str]) -> str:
    return f"<tr>{''.join(f'<{tag}>{html.escape(text)}</{tag}>' for text in line)}</tr>"


# The last actions of a block: the name of each, and whether it is bare.
Ends: TypeAlias = list[tuple[str, bool]]
_SHOWN_MAX = 4_000
_SHOWN_LIMITS = Limits(items_max=500)


def fact(run: Run, name: str) -> Value:
    """Returns the scope's value of a name that no expression can spell, or null."""
    assert isinstance(name, str)
    value = run.lookup(name)
    return None if value is UNDEFINED else value


def last_of(run: Run, results: Value, ends: Ends) -> Value:
    """Returns the first result that exists of these actions, among the results of a block."""
    for place, (name, bare) in enumerate(ends):
        value = value_at(results, name)
        status = None if bare else value_at(value, "statusCode")
        # The others are those whose failures the first one deals with: calls that failed.
        if place and isinstance(status, int) and status >= 400:
            continue
        result = _unwrapped(value, bare)
        if result is not None:
            return result
    return None


def own_result(run: Run, ends: Ends) -> Value:
    """Returns the result of the iteration that is just ending, or a short description of it.

    It is recorded after each iteration, so a result that grows with the loop is shortened.
    """
    result = last_of(run, {name: fact(run, name) for name, _ in ends}, ends)
    if isinstance(result, str):
        return result if len(result) <= _SHOWN_MAX else f"{result[:_SHOWN_MAX]}..."
    try:
        measure(result, _SHOWN_LIMITS, _SHOWN_MAX)
    except LimitExceeded:
        return f"({kind_of(result)}, too large to be shown here)"
    return result


def last_before(run: Run, place: str, ends: Ends) -> Value:
    """Returns the result of the iteration before."""
    return last_of(run, fact(run, place), ends)


def milliseconds(run: Run, place: str) -> Value:
    """Returns a time in milliseconds since 1970."""
    seconds = fact(run, place)
    return int(seconds * 1_000) if isinstance(seconds, int | float) else None


def taken_of(run: Run, results: Value, cases: Value) -> Value:
    """Returns the result of the last action of the chosen branch; null if no branch was chosen."""
    name = value_at(results, "branch")
    taken = value_at(cases, name) if isinstance(name, str) else None
    return last_of(run, results, taken) if isinstance(taken, list) else None


def results_of(run: Run, results: Value, bare: Value) -> Value:
    """Returns the results of all actions of a scope, by name."""
    assert isinstance(bare, dict)
    return {name: _unwrapped(value_at(results, name), is_bare) for name, is_bare in bare.items()}


def each_last(run: Run, items: Value, ends: Ends) -> Value:
    """Returns the result of the last action, for each item."""
    if not isinstance(items, list):
        return None
    run.spend(len(items))
    return [last_of(run, item, ends) for item in items]


def final_of(run: Run, ends: Ends) -> Value:
    """Returns the result of the last action of the run."""
    return last_of(run, {name: record_of(run, name).get("outputs") for name, _ in ends}, ends)


def response_of(run: Run, names: list[str]) -> Value:
    """Returns the body of the first response; stored runs call it."""
    return response_part(run, names, "body")


def response_part(run: Run, names: list[str], part: str) -> Value:
    """Returns a part of the first response: its body, statusCode or headers."""
    records = [record_of(run, name) for name in names]
    sent = [record for record in records if "outputs" in record and "error" not in record]
    outputs = min(sent, key=lambda record: str(record.get("endTime")), default={}).get("outputs")
    if not isinstance(outputs, dict):
        return None
    return outputs.get(part, 200 if part == "statusCode" else None)


def tracking_of(run: Run, name: str) -> Value:
    """Returns the run's tracking id, which its caller may give, or else its name."""
    given = fact(run, name)
    return value_at(fact(run, "$workflow"), "run", "name") if given is None else given


def answered_once(run: Run, response: Value, others: list[str]) -> Value:
    """Returns a response; raises if another one was sent before."""
    for name in others:
        if record_of(run, name).get("status") == "Succeeded":
            raise EvaluationError(
                f"{name!r} has already answered the caller, and only one response is sent",
                help="let only one of the responses run: put them into branches of an If",
            )
    return response


def called_status(run: Run, outputs: Value) -> Value:
    """Returns the status code of a called workflow: that of its response, or 200."""
    code = value_at(outputs, "statusCode")
    return code if isinstance(code, int) else 200


def returned(run: Run, value: Value) -> Value:
    """Returns the result of code as a body whose fields are also outputs: files read both."""
    return (value if isinstance(value, dict) else {}) | {"body": value}


def main_of(run: Run, outputs: Value) -> Value:
    """Returns the first output of a called workflow."""
    return next(iter(outputs.values()), None) if isinstance(outputs, dict) else outputs


def record_of(run: Run, name: str) -> dict[str, Json]:
    record = value_at(run.lookup("$actions"), name)
    return record if isinstance(record, dict) else {}


def _unwrapped(value: Value, bare: Value) -> Value:
    return value if bare or not isinstance(value, dict) else value.get("body")


def appended(run: Run, sets: Value, name: str) -> Value:
    """Returns the item that was appended to a variable."""
    items = value_at(sets, name)
    return items[-1] if isinstance(items, list) and items else None


def given_of(run: Run, names: list[str]) -> dict[str, Value]:
    """Returns those of the names for which the run received a value, with the value."""
    return {name: value for name in names if (value := fact(run, name)) is not None}


def given_beside(run: Run, place: str, names: list[str]) -> Value:
    """Returns a table of the scope, with the values that the run received for these names."""
    table = fact(run, place)
    assert isinstance(table, dict)
    return table | given_of(run, names)


_BORROWING: tuple[Callable[..., Value], ...] = (
    *(fact, last_of, own_result, last_before, taken_of, results_of, each_last, final_of),
    *(response_of, response_part, answered_once, called_status, appended, given_of, given_beside),
    *(main_of, agent_calls),
)
ACTION_FUNCTIONS = declare(
    "actions",
    *_BORROWING,
    *(milliseconds, parsed, checked_content, http_outputs, trigger_body, joined, table_of),
    *(transformed, returned, tracking_of, agent_result, agent_turns, agent_after),
    *(agent_outputs, agent_tool, agent_done),
    borrowing=_BORROWING,
)
