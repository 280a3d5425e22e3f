"""Functions of JSON actions: results of loops, branches and agents, contents and arrays.

What an action gives is `{body, ...}`, but for a *bare* one, which gives its value as it is.
"""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, TypeAlias

from whorl.formats.loom.functions.collections import join
from whorl.formats.loom.values import arguments
from whorl.formats.loom.values.arguments import type_name
from whorl.language.calls import FunctionEntry
from whorl.language.core.text import from_json
from whorl.language.faults import EvaluationError, LimitExceeded
from whorl.language.schema import STEPS_MAX, misfits
from whorl.language.values import UNDEFINED, Limits, kind_of, measure

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.language.calls import Run
    from whorl.language.schema import SchemaError
    from whorl.language.values import Json, Value


def value_at(value: Value, *keys: str) -> Value:
    """What stands at the end of a path of keys; null where there is no such."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def agent_calls(run: Run, asked: str) -> list[Value]:
    """The tools that a model wants."""
    calls = value_at(fact(run, asked), "calls")
    return calls if isinstance(calls, list) else []


def agent_done(run: Run, asked: str) -> Value:
    """Whether a model wants no tool."""
    return not agent_calls(run, asked)


def agent_tool(run: Run, agent: str, call: str) -> Value:
    """The tool that is called, behind the agent that has it."""
    wanted = fact(run, call)
    name = value_at(wanted, "name") if value_at(wanted, "error") is None else ""
    return f"{fact(run, agent)}/{name}"


def agent_result(run: Run, call: str, tool: str) -> Value:
    """What became of a call, for the model that made it."""
    wanted, record = fact(run, call), record_of(run, tool)
    entry: dict[str, Value] = {"role": "tool", "id": value_at(wanted, "id")}
    if (error := value_at(wanted, "error")) is not None:
        return entry | {"error": error}
    if isinstance(record.get("error"), dict):
        return entry | {"error": value_at(record, "error", "message")}
    return entry | {"value": record.get("outputs")}


def agent_turns(run: Run, turns: str, names: list[str]) -> Value:
    """What was said so far, with what the model said last and what its tools gave."""
    asked, used, result = names
    before, results = fact(run, turns), fact(run, used)
    assert isinstance(before, list)
    rows = results if isinstance(results, list) else []
    run.spend(len(before) + len(rows))
    values = (row.get(result) for row in rows if isinstance(row, dict))
    return [*before, value_at(fact(run, asked), "turn"), *values]


def agent_after(run: Run, agent: str, asked: str, handovers: Value) -> Value:
    """The agent that goes on: the last one that was handed over to, or the same."""
    own = fact(run, agent)
    assert isinstance(handovers, dict)
    calls = [call for call in agent_calls(run, asked) if value_at(call, "error") is None]
    keys = [f"{own}/{value_at(call, 'name')}" for call in calls]
    return next((handovers[key] for key in reversed(keys) if key in handovers), own)


def agent_outputs(run: Run, results: Value, asked: str) -> Value:
    """What an agent gives: its last words, and how often it was asked."""
    reply, count = value_at(results, asked), value_at(results, "loop", "iterations")
    words = reply.get("content") if isinstance(reply, dict) else reply
    return {"body": words, "lastAssistantMessage": words, "iterations": count}


_MISFITS_SHOWN = 3
_QUOTED = (",", '"', "\n", "\r")


def parsed(run: Run, answer: Value) -> Value:
    """An answer that is a JSON object or array as that, and any other as it is."""
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
    """JSON content, parsed where it is a text, and checked against its schema."""
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
    """What does not fit a schema, in the words of Logic Apps where it has some."""
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
    """The reply of a web service as outputs; content that is no JSON and no text is wrapped."""
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
    """Content with the values of a form, or the parts of a message, where it is such."""
    written = str(wrapped["$content-type"])
    kind, content = written.partition(";")[0].strip().lower(), arguments.content_bytes(run, wrapped)
    if kind == "application/x-www-form-urlencoded":
        text = content.decode("utf-8", "replace")
        return {**wrapped, "$formdata": arguments.form_pairs(run, text)}
    if kind.startswith("multipart/"):
        return {**wrapped, "$multipart": arguments.multipart_bodies(run, content, written)}
    return wrapped


def transformed(run: Run, made: Value) -> Value:
    """What a map made: XML or HTML as content of its type, and a text as it is."""
    if not isinstance(made, dict) or not isinstance(text := made.get("text"), str):
        return made
    kind = {"xml": "application/xml", "html": "text/html"}.get(str(made.get("method")))
    return arguments.envelope(text.encode(), f"{kind}; charset=utf-8") if kind else text


def trigger_body(run: Run, body: Value, given: Value) -> Value:
    """What a run was started with: its body, or else the fields that it was given."""
    if body is not None and body is not UNDEFINED:
        return unfolded(run, body) if arguments.is_envelope(body) else parsed(run, body)
    if not isinstance(given, dict):
        return None
    fields = {name: value for name, value in given.items() if value is not None}
    return fields or None


def joined(run: Run, inputs: dict[str, Value]) -> Value:
    """The items of an array as one text."""
    return join(run, inputs.get("from"), inputs.get("joinWith"))


def table_of(run: Run, inputs: dict[str, Value]) -> str:
    """An array of objects as a table, in HTML or CSV."""
    rows = inputs.get("rows")
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise EvaluationError(f"a table needs an array of objects, not {kind_of(rows)}")
    headers = list(dict.fromkeys(name for row in rows if isinstance(row, dict) for name in row))
    cells = len(rows) * max(1, len(headers))
    run.check_items(cells, "table")
    run.spend(cells)
    lines = [[arguments.print_text(run, value_at(row, name)) for name in headers] for row in rows]
    if str(inputs.get("format")).upper() == "CSV":
        text = "".join(",".join(map(_cell, line)) + "\r\n" for line in (headers, *lines))
    else:
        text = "<table><thead>{}</thead><tbody>{}</tbody></table>".format(
            _row("th", headers), "".join(_row("td", line) for line in lines)
        )
    run.check_text(len(text), "table")
    return text


def _cell(text: str) -> str:
    is_plain = not any(mark in text for mark in _QUOTED)
    return text if is_plain else '"' + text.replace('"', '""') + '"'


def _row(tag: str, line: list[str]) -> str:
    return f"<tr>{''.join(f'<{tag}>{html.escape(text)}</{tag}>' for text in line)}</tr>"


if TYPE_CHECKING:
    # The last actions of a block: the name of each, and whether it is bare.
    Ends: TypeAlias = list[tuple[str, bool]]

_SHOWN_MAX = 4_000
_SHOWN_LIMITS = Limits(items_max=500)
# The statuses of calls that failed.
_FAILED_FROM = 400


def fact(run: Run, name: str) -> Value:
    """What the scope says under a name that no expression can spell; null where it says nothing."""
    assert isinstance(name, str)
    value = run.lookup(name)
    return None if value is UNDEFINED else value


def last_of(run: Run, results: Value, ends: Ends) -> Value:
    """The result of the first of these actions that has one, among the results of a block."""
    for place, (name, bare) in enumerate(ends):
        value = value_at(results, name)
        status = None if bare else value_at(value, "statusCode")
        # The others are those whose failures the first one deals with: calls that failed.
        if place and isinstance(status, int) and status >= _FAILED_FROM:
            continue
        result = _unwrapped(value, bare)
        if result is not None:
            return result
    return None


def own_result(run: Run, ends: Ends) -> Value:
    """The result of the iteration that is just ending, or what kind it is of.

    It is told after each iteration, so one that grows with the loop must not be told whole.
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
    """The result of the iteration before."""
    return last_of(run, fact(run, place), ends)


def milliseconds(run: Run, place: str) -> Value:
    """A time in milliseconds since 1970."""
    seconds = fact(run, place)
    return int(seconds * 1_000) if isinstance(seconds, int | float) else None


def taken_of(run: Run, results: Value, cases: Value) -> Value:
    """The result of the last action of the branch that was taken; null where none was."""
    name = value_at(results, "branch")
    taken = value_at(cases, name) if isinstance(name, str) else None
    return last_of(run, results, taken) if isinstance(taken, list) else None


def results_of(run: Run, results: Value, bare: Value) -> Value:
    """The results of all actions of a scope, by name."""
    assert isinstance(bare, dict)
    return {name: _unwrapped(value_at(results, name), is_bare) for name, is_bare in bare.items()}


def each_last(run: Run, items: Value, ends: Ends) -> Value:
    """The result of the last action, for each item."""
    if not isinstance(items, list):
        return None
    run.spend(len(items))
    return [last_of(run, item, ends) for item in items]


def final_of(run: Run, ends: Ends) -> Value:
    """The result of the last action of the run."""
    return last_of(run, {name: record_of(run, name).get("outputs") for name, _ in ends}, ends)


def response_of(run: Run, names: list[str]) -> Value:
    """The body of the response that came first."""
    return _unwrapped(_first_response(run, names), False)


def response_part(run: Run, names: list[str], part: str) -> Value:
    """Another part of the response that came first."""
    outputs = _first_response(run, names)
    if not isinstance(outputs, dict):
        return None
    return outputs.get(part, 200 if part == "statusCode" else None)


def tracking_of(run: Run, name: str) -> Value:
    """What whoever started a run calls it, or else its name."""
    given = fact(run, name)
    return value_at(fact(run, "$workflow"), "run", "name") if given is None else given


def _first_response(run: Run, names: list[str]) -> Value:
    records = [record_of(run, name) for name in names]
    sent = [record for record in records if "outputs" in record and "error" not in record]
    sent.sort(key=lambda record: str(record.get("endTime")))
    return sent[0].get("outputs") if sent else None


def answered_once(run: Run, response: Value, others: list[str]) -> Value:
    """A response, unless another one was sent before."""
    for name in others:
        if record_of(run, name).get("status") == "Succeeded":
            raise EvaluationError(
                f"{name!r} has already answered the caller, and only one response is sent",
                help="let only one of the responses run: put them into branches of an If",
            )
    return response


def called_status(run: Run, outputs: Value) -> Value:
    """The status code of a workflow that was called: its response's, or 200."""
    code = value_at(outputs, "statusCode")
    return code if isinstance(code, int) else 200


def returned(run: Run, value: Value) -> Value:
    """What code gives: a body, whose fields are outputs as well, since files read both."""
    return (value if isinstance(value, dict) else {}) | {"body": value}


def main_of(run: Run, outputs: Value) -> Value:
    """The first output of a workflow that was called."""
    return next(iter(outputs.values()), None) if isinstance(outputs, dict) else outputs


def record_of(run: Run, name: str) -> dict[str, Json]:
    record = value_at(run.lookup("$actions"), name)
    return record if isinstance(record, dict) else {}


def _unwrapped(value: Value, bare: Value) -> Value:
    return value if bare or not isinstance(value, dict) else value.get("body")


def appended(run: Run, sets: Value, name: str) -> Value:
    """The item that was put at the end of a variable."""
    items = value_at(sets, name)
    return items[-1] if isinstance(items, list) and items else None


def given_of(run: Run, names: list[str]) -> dict[str, Value]:
    """The names among these that the run was given something for, with it."""
    return {name: value for name in names if (value := fact(run, name)) is not None}


def given_beside(run: Run, place: str, names: list[str]) -> Value:
    """A table of the scope with those of the names that the run was given something for."""
    table = fact(run, place)
    assert isinstance(table, dict)
    return table | given_of(run, names)


_BORROWING: tuple[Callable[..., Value], ...] = (
    *(fact, last_of, own_result, last_before, taken_of, results_of, each_last, final_of),
    *(response_of, response_part, answered_once, called_status, appended, given_of, given_beside),
    *(main_of, agent_calls),
)
_COMPUTING: tuple[Callable[..., Value], ...] = (
    *(milliseconds, parsed, checked_content, http_outputs, trigger_body, joined, table_of),
    *(transformed, returned, tracking_of, agent_result, agent_turns, agent_after),
    *(agent_outputs, agent_tool, agent_done),
)
# Functions by the names that they and their parameters have, the run aside.
ACTION_FUNCTIONS = tuple(
    FunctionEntry(
        *("function", "actions", call.__name__, call, (call.__doc__ or "")[:-1]),
        call.__code__.co_varnames[1 : call.__code__.co_argcount],
        borrows=call in _BORROWING,
    )
    for call in (*_BORROWING, *_COMPUTING)
)
