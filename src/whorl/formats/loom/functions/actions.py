"""Functions of JSON actions: results of loops, branches and scopes, and operations on arrays.

What an action gives is `{body, ...}`, but for a *bare* one, which gives its value as it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from whorl.formats.loom.functions.contents import (
    checked_content,
    http_outputs,
    joined,
    parsed,
    table_of,
    transformed,
    trigger_body,
)
from whorl.formats.loom.values.arguments import find_key
from whorl.language.faults import EvaluationError, LimitExceeded
from whorl.language.signatures import FunctionEntry
from whorl.language.values import UNDEFINED, Limits, kind_of, measure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from whorl.language.calls import Run
    from whorl.language.values import Json, Value

    # The last actions of a block: the name of each, and whether it is bare.
    Ends: TypeAlias = list[tuple[str, bool]]

_SHOWN_MAX = 4_000
_SHOWN_LIMITS = Limits(items_max=500)
# The statuses of calls that failed.
_FAILED_FROM = 400
_TRACKING, _TRACKING_HEADER = "clientTrackingId", "x-ms-client-tracking-id"
_RUN_HEADER = "x-ms-workflow-run-id"


def fact(run: Run, name: str) -> Value:
    """What the scope says under a name that no expression can spell; null where it says nothing."""
    assert isinstance(name, str)
    value = run.lookup(name)
    return None if value is UNDEFINED else value


def last_of(run: Run, results: Value, ends: Ends) -> Value:
    """The result of the first of these actions that has one, among the results of a block."""
    given = results if isinstance(results, dict) else {}
    for place, (name, bare) in enumerate(ends):
        value = given.get(name)
        status = value.get("statusCode") if isinstance(value, dict) and not bare else None
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
    if not isinstance(results, dict) or not isinstance(cases, dict):
        return None
    name = results.get("branch")
    taken = cases.get(name) if isinstance(name, str) else None
    return last_of(run, results, taken) if isinstance(taken, list) else None


def results_of(run: Run, results: Value, bare: Value) -> Value:
    """The results of all actions of a scope, by name."""
    if not isinstance(results, dict) or not isinstance(bare, dict):
        return None
    return {name: _unwrapped(results.get(name), is_bare) for name, is_bare in bare.items()}


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


def answer_headers(run: Run, names: list[str]) -> Value:
    """The headers of the response that came first, with the names of the run."""
    headers = response_part(run, names, "headers")
    trigger = fact(run, "$trigger")
    tracking = trigger.get(_TRACKING) if isinstance(trigger, dict) else None
    named = {_TRACKING_HEADER: tracking or tracking_of(run, ""), _RUN_HEADER: _run_name(run)}
    return named | (headers if isinstance(headers, dict) else {})


def tracking_of(run: Run, name: str) -> Value:
    """What whoever started a run calls it: as it was given, or in a header; else the run's name."""
    given, headers = fact(run, name) if name else None, fact(run, "headers")
    if given is None and isinstance(headers, dict):
        key = find_key(headers, _TRACKING_HEADER)
        given = None if key is None else headers[key]
    return _run_name(run) if given is None else given


def _run_name(run: Run) -> Value:
    workflow = fact(run, "$workflow")
    own = workflow.get("run") if isinstance(workflow, dict) else None
    return own.get("name") if isinstance(own, dict) else None


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
    code = outputs.get("statusCode") if isinstance(outputs, dict) else None
    return code if isinstance(code, int) else 200


def returned(run: Run, value: Value) -> Value:
    """What code gives: a body, whose fields are outputs as well, since files read both."""
    return (value if isinstance(value, dict) else {}) | {"body": value}


def main_of(run: Run, outputs: Value) -> Value:
    """The first output of a workflow that was called."""
    return next(iter(outputs.values()), None) if isinstance(outputs, dict) else outputs


def fail_with(run: Run, message: Value) -> Value:
    """Nothing: it fails, with these words."""
    raise EvaluationError(run.text(message))


def record_of(run: Run, name: str) -> dict[str, Json]:
    records = run.lookup("$actions")
    record = records.get(name) if isinstance(records, dict) else None
    return record if isinstance(record, dict) else {}


def _unwrapped(value: Value, bare: Value) -> Value:
    return value if bare or not isinstance(value, dict) else value.get("body")


def appended(run: Run, sets: Value, name: Value) -> Value:
    """The item that was put at the end of a variable."""
    items = sets.get(name) if isinstance(sets, dict) and isinstance(name, str) else None
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
    *(
        response_of,
        response_part,
        answered_once,
        called_status,
        appended,
        given_of,
        given_beside,
        main_of,
    ),
)
_COMPUTING: tuple[Callable[..., Value], ...] = (
    *(milliseconds, parsed, checked_content, http_outputs, trigger_body, fail_with, joined),
    *(table_of, transformed, returned, answer_headers, tracking_of),
)


def entries_of(
    borrowing: Iterable[Callable[..., Value]], computing: Iterable[Callable[..., Value]]
) -> Iterator[FunctionEntry]:
    """Functions by the names that they and their parameters have, the run aside."""
    for is_borrowing, calls in ((True, borrowing), (False, computing)):
        for call in calls:
            yield FunctionEntry(
                *("function", "actions", call.__name__, call, (call.__doc__ or "")[:-1]),
                call.__code__.co_varnames[1 : call.__code__.co_argcount],
                borrows=is_borrowing,
            )


ACTION_FUNCTIONS = tuple(entries_of(_BORROWING, _COMPUTING))
