"""Functions of JSON actions: results of loops, branches and scopes, and operations on arrays.

What an action gives is `{body, ...}`, but for a *bare* one, which gives its value as it is.
"""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from whorl.language.entry import FunctionEntry
from whorl.language.faults import EvaluationError
from whorl.language.functions.json import from_json
from whorl.language.values import UNDEFINED, kind_of

if TYPE_CHECKING:
    from whorl.language.run import Run
    from whorl.language.values import Json, Value

_QUOTED = (",", '"', "\n", "\r")


def fact(run: Run, name: Value) -> Value:
    """What the scope says under a name that no expression can spell; null where it says nothing."""
    assert isinstance(name, str)
    found = run.lookup(name)
    return None if found is UNDEFINED else found


def last_of(run: Run, results: Value, action: Value, bare: Value) -> Value:
    """The result of one action among the results of a block; null where there is none."""
    del run
    if not isinstance(results, dict) or not isinstance(action, str):
        return None
    return _unwrapped(results.get(action), bare)


def last_before(run: Run, place: Value, action: Value, bare: Value) -> Value:
    """The result of the last action of the iteration before."""
    return last_of(run, fact(run, place), action, bare)


def milliseconds(run: Run, place: Value) -> Value:
    """A time in milliseconds since 1970."""
    seconds = fact(run, place)
    return int(seconds * 1_000) if isinstance(seconds, int | float) else None


def taken_of(run: Run, results: Value, cases: Value) -> Value:
    """The result of the last action of the branch that was taken; null where none was."""
    if not isinstance(results, dict) or not isinstance(cases, dict):
        return None
    name = results.get("branch")
    taken = cases.get(name) if isinstance(name, str) else None
    return last_of(run, results, taken[0], taken[1]) if isinstance(taken, list) else None


def results_of(run: Run, results: Value, bare: Value) -> Value:
    """The results of all actions of a scope, by name."""
    del run
    if not isinstance(results, dict) or not isinstance(bare, dict):
        return None
    return {name: _unwrapped(results.get(name), is_bare) for name, is_bare in bare.items()}


def each_last(run: Run, items: Value, action: Value, bare: Value) -> Value:
    """The result of the last action, for each item."""
    if not isinstance(items, list):
        return None
    run.spend(len(items))
    return [last_of(run, item, action, bare) for item in items]


def final_of(run: Run, action: Value, bare: Value) -> Value:
    """The result of an action of the run."""
    record = _record(run, action)
    return None if record is None else _unwrapped(record.get("outputs"), bare)


def response_of(run: Run, names: Value) -> Value:
    """The body of the response that came first."""
    assert isinstance(names, list)
    found = [record for record in (_record(run, name) for name in names) if record is not None]
    sent = [record for record in found if "outputs" in record and "error" not in record]
    sent.sort(key=lambda record: str(record.get("endTime")))
    return _unwrapped(sent[0].get("outputs"), False) if sent else None


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


def content_of(run: Run, content: Value) -> Value:
    """JSON content, parsed where it is a text."""
    if not isinstance(content, str):
        return content
    return from_json(run, content)


def trigger_body(run: Run, body: Value, given: Value) -> Value:
    """What a run was started with: its body, or else the fields that it was given."""
    if body is not None and body is not UNDEFINED:
        return parsed(run, body)
    if not isinstance(given, dict):
        return None
    fields = {name: value for name, value in given.items() if value is not None}
    return fields or None


def main_of(run: Run, outputs: Value) -> Value:
    """The first output of a workflow that was called."""
    del run
    return next(iter(outputs.values()), None) if isinstance(outputs, dict) else outputs


def as_outputs(run: Run, given: Value) -> Value:
    """What answered for a connector as its outputs."""
    del run
    if isinstance(given, dict) and ("body" in given or "statusCode" in given):
        return given
    return {"statusCode": 200, "body": given}


def fail_with(run: Run, message: Value) -> Value:
    """Nothing: it fails, with these words."""
    raise EvaluationError(run.text(message))


def joined(run: Run, inputs: Value) -> Value:
    """The items of an array as one text."""
    from whorl.language.functions.logic.strings import join

    assert isinstance(inputs, dict)
    return join(run, inputs.get("from"), inputs.get("joinWith"))


def table_of(run: Run, inputs: Value) -> str:
    """An array of objects as a table, in HTML or CSV."""
    from whorl.language.functions.logic.printing import print_text

    assert isinstance(inputs, dict)
    rows = inputs.get("rows")
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise EvaluationError(f"a table needs an array of objects, not {kind_of(rows)}")
    headers: dict[str, None] = {}
    for row in rows:
        assert isinstance(row, dict)
        headers.update(dict.fromkeys(row))
    run.check_items(len(rows) * max(1, len(headers)), "table")
    run.spend(len(rows) * max(1, len(headers)))
    lines = [[*headers]]
    for row in rows:
        assert isinstance(row, dict)
        lines.append([print_text(run, row.get(name)) for name in headers])
    text = _csv(lines) if str(inputs.get("format")).upper() == "CSV" else _html(lines)
    run.check_text(len(text), "table")
    return text


def _csv(lines: list[list[str]]) -> str:
    return "".join(",".join(map(_cell, line)) + "\r\n" for line in lines)


def _cell(text: str) -> str:
    if not any(mark in text for mark in _QUOTED):
        return text
    return '"' + text.replace('"', '""') + '"'


def _html(lines: list[list[str]]) -> str:
    head = "".join(f"<th>{html.escape(text)}</th>" for text in lines[0])
    body = "".join(
        f"<tr>{''.join(f'<td>{html.escape(text)}</td>' for text in line)}</tr>"
        for line in lines[1:]
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _record(run: Run, name: Value) -> dict[str, Json] | None:
    known = run.lookup("$actions")
    record = known.get(name) if isinstance(known, dict) and isinstance(name, str) else None
    return record if isinstance(record, dict) else None


def _unwrapped(value: Value, bare: Value) -> Value:
    if bare or not isinstance(value, dict):
        return value
    return value.get("body")


def _function(name: str, call: object, parameters: tuple[str, ...] = ()) -> FunctionEntry:
    assert callable(call)
    return FunctionEntry("function", "actions", name, call, (call.__doc__ or "")[:-1], parameters)


LOOM: tuple[FunctionEntry, ...] = (
    _function("fact", fact, ("name",)),
    _function("last_of", last_of, ("results", "action", "bare")),
    _function("last_before", last_before, ("place", "action", "bare")),
    _function("milliseconds", milliseconds, ("place",)),
    _function("taken_of", taken_of, ("results", "cases")),
    _function("results_of", results_of, ("results", "bare")),
    _function("each_last", each_last, ("items", "action", "bare")),
    _function("final_of", final_of, ("action", "bare")),
    _function("response_of", response_of, ("names",)),
    _function("parsed", parsed, ("answer",)),
    _function("content_of", content_of, ("content",)),
    _function("trigger_body", trigger_body, ("body", "given")),
    _function("main_of", main_of, ("outputs",)),
    _function("as_outputs", as_outputs, ("given",)),
    _function("fail_with", fail_with, ("message",)),
    _function("joined", joined, ("inputs",)),
    _function("table_of", table_of, ("inputs",)),
)
