"""What a run has done, as rules check it: which agents ran and failed, which ways were taken."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeAlias

from whorl.formats.orka import outputs
from whorl.formats.orka.outputs import RECORDS, VARIABLES, texts_in

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whorl.ir import ForEach, Node, Workflow
    from whorl.language import Json
    from whorl.language.calls import Run
    from whorl.language.values import Value

Table: TypeAlias = "dict[str, Value]"

ORDER = "$order"
_ORDER_MAX = 2_000
_HOLDING = ("fork", "join", "router", "loop")
_MARKER = re.compile(r"EXECUTION_DATA_JSON:\s*", re.IGNORECASE)


class AgentRecords:
    """Keeps how the nodes of a run have ended, and in which order."""

    table = RECORDS
    variables = VARIABLES
    items = "$items"

    def begin(self, workflow: Workflow, run: str) -> dict[str, Json]:
        """The names that a workflow begins with."""
        return {RECORDS: {}, VARIABLES: {}, self.items: {}}

    def node_ended(
        self,
        table: dict[str, Any],
        node: Node,
        end: Mapping[str, Any],
        others: Mapping[str, Mapping[str, Any]],
        **facts: Any,
    ) -> None:
        """A node has ended."""
        if end["status"] == "skipped":
            return
        record = {"status": end["status"]}
        if "error" in end:
            record["error"] = str(end["error"].get("message"))[:1_000]
        table[node.name] = record
        table[ORDER] = [*table.get(ORDER, ()), node.name][-_ORDER_MAX:]

    def item_values(
        self, table: dict[str, Any], node: ForEach, item: Json, items: Json
    ) -> dict[str, Json]:
        """The names that an item of a for-each begins with, beside its own."""
        return {RECORDS: {}}

    def item_ended(self, table: dict[str, Any], node: ForEach) -> dict[str, Any]:
        """The records of what is inside, when an item of a for-each is done."""
        return dict(table)

    def items_ended(
        self, table: dict[str, Any], node: ForEach, rows: list[dict[str, Any]], now: float
    ) -> None:
        """All items are done: what is inside has ended once for each."""
        for row in rows:
            order = row.pop(ORDER, [])
            table.update(row)
            table[ORDER] = [*table.get(ORDER, ()), *order][-_ORDER_MAX:]


RECORDER = AgentRecords()


def artifacts(run: Run) -> Table:
    """What has happened so far, by the records of the run."""
    records = _table(run.lookup(RECORDS))
    graph = _table(_table(run.lookup(outputs.FLOW)).get("graph"))
    agents, forks = _table(graph.get("nodes")), _table(graph.get("forks"))
    order = [name for name in texts_in(records.get(ORDER)) if name in agents]
    run.spend(len(order) + len(agents))
    failed = [name for name in order if _table(records.get(name)).get("status") != "succeeded"]
    # What only holds others fails because of them.
    calls = [n for n in dict.fromkeys(failed) if _table(agents[n]).get("type") not in _HOLDING]
    routed = {name: run.lookup(name) for name in texts_in(graph.get("routers")) if name in records}
    decided = [_table(run.lookup(name)) for name in order]
    return {
        "nodes_executed": [*order],
        "fork_groups": {name: _group(fork, records) for name, fork in forks.items()},
        "router_decisions": {
            name: {"chosen_target": targets[0] if isinstance(targets, list) and targets else None}
            for name, targets in routed.items()
        },
        "graph_structure": {"nodes": agents, "edges": graph.get("edges") or []},
        "tool_calls": [
            {
                "node_id": name,
                "status": "error",
                "error": _table(records[name]).get("error"),
                "error_handled": False,
                "execution_continued_after_error": True,
            }
            for name in calls
        ],
        "structured_outputs": {
            name: {
                "schema_valid": set(texts_in(fields)) <= outputs.fields_of(run.lookup(name)).keys()
            }
            for name, fields in _table(graph.get("structured")).items()
            if name in records and name not in failed
        },
        "graphscout_candidates": [
            {"path": row["path"]} for decision in decided for row in _tables(decision.get("trace"))
        ],
    }


def _fields(run: Run, name: str) -> set[str]:
    return {*outputs.fields_of(run.lookup(name))}


def _group(fork: Value, records: Table) -> Table:
    branches = texts_in(_table(fork).get("branches"))
    done = [b for b in branches if _table(records.get(b)).get("status") == "succeeded"]
    return {
        "has_join": _table(fork).get("has_join") is True,
        "branches": [*branches],
        "completed_branches": [*done],
    }


def _table(value: Value) -> Table:
    return value if isinstance(value, dict) else {}


def _tables(value: Value) -> list[Table]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _data(value: Value) -> Table | None:
    """The data that a validator is given: an object, or a text that holds one behind a marker."""
    if isinstance(value, str):
        text = _MARKER.split(value)[-1].strip()
        return outputs.object_in(text) if text else {}
    return {} if value is None else _table(value) or None


def unchecked(run: Run, data: Value, agent: Value) -> Value:
    """What to warn of where there is nothing to check; null where there is."""
    if _data(data) == {}:
        return f"{run.text(agent)!r} has no execution data, so it has checked nothing"
    return None


def invariants(run: Run, value: Value, config: Value) -> Table:
    """The facts by rule; what breaks one of them is listed."""
    data, settings = _data(value), _table(config)
    if data is None:
        return {"status": "error", "error": "the execution data is not a JSON object", "facts": []}
    routing, warnings = _routing(data)
    cycles = _cycles(data, texts_in(settings.get("allow_reentrant_nodes")))
    tools, tool_warnings = _tools(data, strict=settings.get("strict_tool_errors") is True)
    by_rule: dict[str, tuple[str, list[Value]]] = {
        "fork_join": ("fork_join_integrity", _forks(data)),
        "routing": ("routing_integrity", [*routing, *warnings]),
        "cycles": ("cycle_detection", [f"{c[0]} ran more than once" for c in cycles]),
        "tool_errors": ("tool_integrity", [*tools, *tool_warnings]),
        "schema": ("schema_compliance", _schemas(data)),
        "depth": ("depth_compliance", _depths(data, settings.get("max_depth"))),
    }
    facts: Table = {
        name: {"status": "FAIL" if found else "PASS", "violations": [*found]}
        for name, found in by_rule.values()
    }
    facts["cycle_detection"] = {**_table(facts["cycle_detection"]), "cycles_found": [*cycles]}
    total = sum(len(found) for _, found in by_rule.values())
    minor = len(warnings) + len(tool_warnings)
    summary: Table = {
        "total_violations": total,
        "critical_count": total - minor,
        "warning_count": minor,
        "categories_failed": [name for name, (_, found) in by_rule.items() if found],
        "validator_config": settings,
    }
    return {
        **facts,
        "critical_failures_detected": total > minor,
        "validation_summary": summary,
    }


def _forks(data: Table) -> list[Value]:
    found: list[Value] = []
    for name, fork in _table(data.get("fork_groups")).items():
        if _table(fork).get("has_join") is not True:
            found.append(f"fork {name!r} has no join")
        branches = texts_in(_table(fork).get("branches"))
        done = texts_in(_table(fork).get("completed_branches"))
        if sorted(branches) != sorted(done):
            missing = ", ".join(branch for branch in branches if branch not in done)
            found.append(f"fork {name!r} did not complete {missing or 'its branches'}")
    return found


def _routing(data: Table) -> tuple[list[Value], list[Value]]:
    """What is wrong with where routers went; that no edge leads there is only a warning."""
    graph = _table(data.get("graph_structure"))
    edges = {(row.get("src"), row.get("dst")) for row in _tables(graph.get("edges"))}
    found: list[Value] = []
    warnings: list[Value] = []
    for name, decision in _table(data.get("router_decisions")).items():
        target = _table(decision).get("chosen_target")
        if not isinstance(target, str) or not target:
            found.append(f"router {name!r} chose nothing")
            continue
        if target not in _table(graph.get("nodes")):
            found.append(f"router {name!r} chose {target!r}, which is not an agent")
        if (name, target) not in edges:
            warnings.append(f"no edge leads from router {name!r} to {target!r}")
    return found, warnings


def _cycles(data: Table, allowed: list[str]) -> list[list[Value]]:
    """The stretches between an agent and the next time that it runs."""
    order = texts_in(data.get("nodes_executed"))
    seen: dict[str, int] = {}
    found: list[list[Value]] = []
    for index, name in enumerate(order):
        if name in seen and name not in allowed:
            found.append([*order[seen[name] : index + 1]])
        seen[name] = index
    return found


def _tools(data: Table, *, strict: bool) -> tuple[list[Value], list[Value]]:
    found: list[Value] = []
    warnings: list[Value] = []
    for call in _tables(data.get("tool_calls")):
        name, is_handled = call.get("node_id"), call.get("error_handled") is True
        if call.get("status") == "error" and not is_handled:
            if call.get("execution_continued_after_error") is True:
                found.append(f"{name} failed, and the run went on without handling it")
        elif strict and call.get("status") in ("error", "warning"):
            warnings.append(f"{name} ended with {call['status']}")
    return found, warnings


def _schemas(data: Table) -> list[Value]:
    rows = _table(data.get("structured_outputs")).items()
    wrong = [name for name, row in rows if _table(row).get("schema_valid") is False]
    return [f"the answer of {name} does not fit its schema" for name in wrong]


def _depths(data: Table, most: Value) -> list[Value]:
    if not isinstance(most, int | float):
        return []
    count = len(texts_in(data.get("nodes_executed")))
    found: list[Value] = [f"{count} agents ran, more than {most:g}"] if count > most else []
    for row in _tables(data.get("graphscout_candidates")):
        path = texts_in(row.get("path"))
        if len(path) > most:
            found.append(f"the path {' -> '.join(path)} has more than {most:g} agents")
    return found
