"""The paths that executors run: which agents a value names, and what came of each of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.formats.orka import outputs
from whorl.formats.orka.outputs import FAILED, RAN, RECORDS, texts_in
from whorl.language.faults import EvaluationError
from whorl.language.values import UNDEFINED, Value, to_text

if TYPE_CHECKING:
    from whorl.language.calls import Run

PATH_MAX = 100


def came_of(run: Run, name: Value, known: Value, is_last: Value) -> Value:
    """What an agent of a path gave, or why it gave nothing; null where it was not tried."""
    agent, records = run.text(name), run.lookup(RECORDS)
    records = records if isinstance(records, dict) else {}
    if agent not in texts_in(known):
        return {"id": agent, "error": f"there is no agent {agent[:60]!r} that a path can run"}
    record = records.get(agent)
    if not isinstance(record, dict):
        return None
    if record.get("status") == "succeeded":
        return {"id": agent, "value": outputs.known(run.lookup(agent))}
    error = to_text(record.get("error") or "it failed")
    if is_last is True:
        raise EvaluationError(f"{agent[:60]!r}, the last agent of the path, failed: {error}")
    return {"id": agent, "error": error}


def kept(run: Run, variable: Value, result: Value) -> Value:
    """The results of paths, or their failures, with one more."""
    before = outputs.variable(run, run.text(variable))
    row = result if isinstance(result, dict) else {}
    key = "value" if variable == RAN else "error"
    return {**before, run.text(row["id"]): row[key]} if key in row else before


def unhindered(run: Run) -> bool:
    return not outputs.variable(run, FAILED)


def source_of(run: Run, source: Value) -> Value:
    """What the agents of a path are given; the input of the run where there is no such value."""
    name, _, rest = run.text(source).partition(".")
    value: Value = next((found for _, found in outputs.outputs_of(run, [name])), UNDEFINED)
    for part in filter(None, rest.split(".")):
        value = outputs.member(value, part)
    return outputs.get_input(run) if value is UNDEFINED or value is None else value


def find_path(run: Run, source: Value, dropped: Value) -> dict[str, Value]:
    """The agents that a path names, or why there are none."""
    written = run.text(source)
    names, error = _names_at(run, written.split("."))
    if names is None:
        return {"path": [], "error": error or f"{written!r} has no list of agents to run"}
    unrun = texts_in(dropped)
    return {"path": [name for name in names if name not in unrun][:PATH_MAX], "error": ""}


def _names_at(run: Run, parts: list[str]) -> tuple[list[str] | None, str]:
    whole: Value = next((found for _, found in outputs.outputs_of(run, parts[:1])), UNDEFINED)
    behind = parts[1:]
    ways = (
        behind,
        [part for part in behind if part != "response"],
        [part for part in behind if part not in ("response", "result")],
        ["response", *behind],
    )
    for way in ways:
        value: Value = whole
        holder: Value = UNDEFINED
        for part in way:
            value, holder = outputs.member(value, part), value
        names, error = _names_in(value, holder, way[-1] if way else "")
        if names is not None or error:
            return names, error
    return None, ""


def _names_in(value: Value, holder: Value, key: str) -> tuple[list[str] | None, str]:
    """The agents that a value lists; the decision that stands in it, or beside it, counts."""
    for _ in range(8):
        if isinstance(value, str):
            inner = outputs.object_in(value) or _list_in(value)
            if inner is None:
                is_name = key in ("target", "path") and bool(value.strip())
                return ([value.strip()] if is_name else None), ""
            value = inner
        if not isinstance(value, dict):
            break
        if (loop := value.get("result")) and "loops_completed" in value and isinstance(loop, dict):
            decisions = (part for part in loop.values() if _proposes(part))
            holder, value = value, next(decisions, None)
            continue
        opened = ("target", "response", "result", "payload", "path")
        key = next((name for name in opened if name in value), "")
        holder, value = value, value.get(key) if key else None
    beside = holder if isinstance(holder, dict) else {}
    return _decided(value, beside.get("decision"))


def _proposes(value: Value) -> bool:
    return isinstance(value, dict) and ("target" in value or "path" in value)


def _decided(value: Value, decision: Value) -> tuple[list[str] | None, str]:
    if isinstance(decision, str) and decision not in ("commit_next", "commit_path", "shortlist"):
        return None, f"the decision is {decision[:60]!r}, which does not name agents to run"
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, list):
        return None, ""
    is_shortlist = decision == "shortlist"
    names: list[str] = []
    for item in value:
        if isinstance(item, str):
            names.append(item)
        elif isinstance(item, dict):
            first = item.get("node_id")
            listed = texts_in(item.get("path"))
            names += [first] if isinstance(first, str) and (is_shortlist or not listed) else listed
    return (names[:1] if decision == "commit_next" else names), ""


def _list_in(text: str) -> list[Value] | None:
    """The names in a list that is written as JSON or YAML."""
    stripped = text.strip()
    if stripped[:1] == "[" and stripped[-1:] == "]":
        parts = stripped[1:-1].split(",")
        return [name for part in parts if (name := part.strip().strip("\"'"))]
    lines = [line.strip() for line in stripped.splitlines() if line.strip()]
    if lines and all(line.startswith("- ") for line in lines):
        return [line[2:].strip().strip("\"'") for line in lines]
    return None


def executed(run: Run, it: Value, aborts: Value) -> dict[str, Value]:
    """What an executor tells: the path, what each agent gave, and how it went as a whole."""
    whole = it if isinstance(it, dict) else {}
    plan, rows = whole.get("path_plan"), whole.get("path_run")
    plan = plan if isinstance(plan, dict) else {}
    results: dict[str, Value] = {}
    errors: list[Value] = []
    for row in rows if isinstance(rows, list) else []:
        came = row.get("path_result") if isinstance(row, dict) else None
        if not isinstance(came, dict):
            continue
        name = run.text(came["id"])
        results[name] = came["value"] if "value" in came else {"error": came["error"]}
        errors += [f"{name}: {came['error']}"] if "error" in came else []
    status = "success" if not errors else "error" if aborts is True else "partial"
    result: dict[str, Value] = {"executed_path": plan.get("path"), "results": results}
    if plan.get("error"):
        return {**result, "status": "error", "error": plan["error"]}
    return {**result, "status": status, **({"errors": errors} if errors else {})}
