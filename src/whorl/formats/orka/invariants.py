"""The history of a run as rules check it: agents that ran and failed, and chosen routes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from whorl.formats.orka import outputs
from whorl.formats.orka.outputs import RECORDS, VARIABLES, table_in, tables_in, texts_in

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whorl.formats.orka.outputs import Table
    from whorl.ir import ForEach, Node, Workflow
    from whorl.language import Json
    from whorl.language.calls import Run
    from whorl.language.values import Value

ORDER = "$order"
_ORDER_MAX = 2_000
_HOLDING = ("fork", "join", "router", "loop")
_MARKER = re.compile(r"EXECUTION_DATA_JSON:\s*", re.IGNORECASE)


class AgentRecords:
    """Records how the nodes of a run have ended, and in which order."""

    table = RECORDS
    variables = VARIABLES
    items = "$items"

    def begin(self, workflow: Workflow, run: str) -> dict[str, Json]:
        """Returns the names that a workflow begins with."""
        return {RECORDS: {}, VARIABLES: {}, self.items: {}}

    def node_ended(
        self,
        table: dict[str, Any],
        node: Node,
        end: Mapping[str, Any],
        others: Mapping[str, Mapping[str, Any]],
        **facts: Any,
    ) -> None:
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
        """Returns the names that an item of a for-each begins with, beside its own."""
        return {RECORDS: {}}

    def item_ended(self, table: dict[str, Any], node: ForEach) -> dict[str, Any]:
        """Returns the records of the inner nodes when an item of a for-each is done."""
        return dict(table)

    def items_ended(
        self, table: dict[str, Any], node: ForEach, rows: list[dict[str, Any]], now: float
    ) -> None:
        """Records that the inner nodes have ended once for each item, when all items are done."""
        for row in rows:
            order = row.pop(ORDER, [])
            table.update(row)
            table[ORDER] = [*table.get(ORDER, ()), *order][-_ORDER_MAX:]


RECORDER = AgentRecords()


def artifacts(run: Run) -> Table:
    """Returns the history so far, from the records of the run."""
    records = table_in(run.lookup(RECORDS))
    graph = table_in(table_in(run.lookup(outputs.FLOW)).get("graph"))
    agents, forks = table_in(graph.get("nodes")), table_in(graph.get("forks"))
    order = [name for name in texts_in(records.get(ORDER)) if name in agents]
    run.spend(len(order) + len(agents))
    done = {name for name in records if table_in(records[name]).get("status") == "succeeded"}
    # A node that only holds others fails because of them.
    failed = [name for name in dict.fromkeys(order) if name not in done]
    calls = [name for name in failed if table_in(agents[name]).get("type") not in _HOLDING]
    routed = {name: run.lookup(name) for name in texts_in(graph.get("routers")) if name in records}
    decided = [table_in(run.lookup(name)) for name in order]
    traced = [row for decision in decided for row in tables_in(decision.get("trace"))]
    unhandled = {"error_handled": False, "execution_continued_after_error": True}
    errors = {name: table_in(records[name]).get("error") for name in calls}
    return {
        "nodes_executed": order,
        "fork_groups": {
            name: {
                "has_join": table_in(fork).get("has_join") is True,
                "branches": _branches(fork),
                "completed_branches": [branch for branch in _branches(fork) if branch in done],
            }
            for name, fork in forks.items()
        },
        "router_decisions": {
            name: {"chosen_target": targets[0] if isinstance(targets, list) and targets else None}
            for name, targets in routed.items()
        },
        "graph_structure": {"nodes": agents, "edges": graph.get("edges") or []},
        "tool_calls": [
            {"node_id": name, "status": "error", "error": error, **unhandled}
            for name, error in errors.items()
        ],
        "structured_outputs": {
            name: {"schema_valid": {*texts_in(f)} <= outputs.fields_of(run.lookup(name)).keys()}
            for name, f in table_in(graph.get("structured")).items()
            if name in records and name not in failed
        },
        "graphscout_candidates": [{"path": row["path"]} for row in traced],
    }


def _branches(fork: Value, what: str = "branches") -> list[str]:
    return texts_in(table_in(fork).get(what))


def _data(value: Value) -> Table | None:
    """Returns the data for a validator: an object, or a text that holds one after a marker."""
    if isinstance(value, str):
        text = _MARKER.split(value)[-1].strip()
        return outputs.object_in(text) if text else {}
    return {} if value is None else table_in(value) or None


def unchecked(run: Run, data: Value, agent: Value) -> Value:
    """Returns a warning if the data is empty, or null."""
    if _data(data) == {}:
        return f"{run.text(agent)!r} has no execution data, so it has checked nothing"
    return None


def invariants(run: Run, value: Value, config: Value) -> Table:
    """Returns the facts by rule, with lists of violations."""
    data, settings = _data(value), table_in(config)
    if data is None:
        return {"status": "error", "error": "the execution data is not a JSON object", "facts": []}
    # The stretches between an agent and its next run.
    cycles: list[list[str]] = []
    order, allowed = texts_in(data.get("nodes_executed")), settings.get("allow_reentrant_nodes")
    seen: dict[str, int] = {}
    for index, name in enumerate(order):
        if name in seen and name not in texts_in(allowed):
            cycles.append(order[seen[name] : index + 1])
        seen[name] = index
    answers = table_in(data.get("structured_outputs")).items()
    names = [name for name, row in answers if table_in(row).get("schema_valid") is False]
    wrong = [f"the answer of {name} does not fit its schema" for name in names]
    deep, most = list[str](), settings.get("max_depth")
    if isinstance(most, int | float):
        deep += [f"{len(order)} agents ran, more than {most:g}"] if len(order) > most else []
        paths = [texts_in(row.get("path")) for row in tables_in(data.get("graphscout_candidates"))]
        long = (" -> ".join(path) for path in paths if len(path) > most)
        deep += [f"the path {path} has more than {most:g} agents" for path in long]
    strict = settings.get("strict_tool_errors") is True
    # For each category: its fact, what breaks its rule, and what is only odd.
    rules: dict[str, tuple[str, list[str], list[str]]] = {
        "fork_join": ("fork_join_integrity", _forks(data), []),
        "routing": ("routing_integrity", *_routing(data)),
        "cycles": ("cycle_detection", [f"{c[0]} ran more than once" for c in cycles], []),
        "tool_errors": ("tool_integrity", *_tools(data, strict=strict)),
        "schema": ("schema_compliance", wrong, []),
        "depth": ("depth_compliance", deep, []),
    }
    facts: Table = {
        name: {"status": "FAIL" if broken or odd else "PASS", "violations": [*broken, *odd]}
        for name, broken, odd in rules.values()
    }
    facts["cycle_detection"] = {**table_in(facts["cycle_detection"]), "cycles_found": cycles}
    critical = sum(len(broken) for _, broken, _ in rules.values())
    minor = sum(len(odd) for _, _, odd in rules.values())
    summary: Table = {
        "total_violations": critical + minor,
        "critical_count": critical,
        "warning_count": minor,
        "categories_failed": [name for name, (_, broken, odd) in rules.items() if broken or odd],
        "validator_config": settings,
    }
    return {**facts, "critical_failures_detected": critical > 0, "validation_summary": summary}


def _forks(data: Table) -> list[str]:
    found: list[str] = []
    for name, fork in table_in(data.get("fork_groups")).items():
        if table_in(fork).get("has_join") is not True:
            found.append(f"fork {name!r} has no join")
        branches, done = _branches(fork), _branches(fork, "completed_branches")
        if sorted(branches) != sorted(done):
            missing = ", ".join(branch for branch in branches if branch not in done)
            found.append(f"fork {name!r} did not complete {missing or 'its branches'}")
    return found


def _routing(data: Table) -> tuple[list[str], list[str]]:
    """Returns the errors in the routers' choices, and oddities such as a missing edge."""
    graph = table_in(data.get("graph_structure"))
    edges = {(row.get("src"), row.get("dst")) for row in tables_in(graph.get("edges"))}
    broken: list[str] = []
    odd: list[str] = []
    for name, decision in table_in(data.get("router_decisions")).items():
        target = table_in(decision).get("chosen_target")
        if not isinstance(target, str) or not target:
            broken.append(f"router {name!r} chose nothing")
            continue
        if target not in table_in(graph.get("nodes")):
            broken.append(f"router {name!r} chose {target!r}, which is not an agent")
        if (name, target) not in edges:
            odd.append(f"no edge leads from router {name!r} to {target!r}")
    return broken, odd


def _tools(data: Table, *, strict: bool) -> tuple[list[str], list[str]]:
    broken: list[str] = []
    odd: list[str] = []
    for call in tables_in(data.get("tool_calls")):
        name, status = call.get("node_id"), call.get("status")
        if status == "error" and call.get("error_handled") is not True:
            if call.get("execution_continued_after_error") is True:
                broken.append(f"{name} failed, and the run continued without handling it")
        elif strict and status in ("error", "warning"):
            odd.append(f"{name} ended with {status}")
    return broken, odd
