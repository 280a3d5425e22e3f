"""How a scout chooses a path of agents: by rules, by what a model says, by what a brain knows."""

from __future__ import annotations

import re
from itertools import combinations
from typing import TYPE_CHECKING, TypeAlias

from whorl.formats.orka import outputs
from whorl.formats.orka.outputs import FAILED, RAN, RECORDS, texts_in
from whorl.language.faults import EvaluationError
from whorl.language.values import UNDEFINED, Value, to_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.language.calls import Run

Table: TypeAlias = "dict[str, Value]"

# What settings are where a file does not say; `None` is for those that have none.
USUAL: dict[str, float | str | bool] = {
    "k_beam": 3,
    "max_depth": 2,
    "commit_margin": 0.15,
    "scoring_mode": "numeric",
    "cost_budget_tokens": 800,
    "latency_budget_ms": 1_200,
    "safety_profile": "default",
    "safety_threshold": 0.2,
    "fallback_to_heuristics": True,
    "strict_mode": False,
    "require_critical": True,
    "important_threshold": 0.8,
    "include_nice_to_have": False,
    "min_success_rate": 0.7,
    "min_domain_overlap": 0.3,
    "max_acceptable_cost": 0.10,
    "max_acceptable_latency": 10_000,
    "brain_boost_weight": 0.15,
}
WEIGHTS = {"llm": 0.45, "heuristics": 0.20, "prior": 0.20, "cost": 0.10, "latency": 0.05}
# What one agent is expected to take.
_AGENT_MS = 1_000
_AGENT_COST = 0.001
# Paths that are looked at, and those that are compared.
_TRIED_MAX = 4_000
_PATHS_MAX = 50
_PRIORS = {1: 0.5, 2: 0.9, 3: 0.9, 4: 0.7}
# By what the classifier of an input says, how much the best path must be ahead.
_MARGINS = {"factual": 0.08, "analytical": 0.15, "technical": 0.12, "creative": 0.20}
_FORBIDDEN = {"default": (), "moderate": ("code_execution", "file_system")}
_FORBIDDEN["strict"] = (*_FORBIDDEN["moderate"], "external_api", "web_search", "data_write")
PROFILES = tuple(_FORBIDDEN)
# What lowers the safety of a question, and by how much.
_RISKS = (
    (re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}\.[\w.]{2,20}"), 0.3),
    (re.compile(r"\b\d{3}-\d{2}-\d{4}\b"), 0.3),
    (re.compile(r"\b(?:\d[ -]?){15,16}\b"), 0.3),
    (re.compile(r"\b(?:diagnosis|prescription|dosage|symptoms)\b", re.IGNORECASE), 0.15),
    (re.compile(r"\b(?:lawsuit|legal advice|attorney)\b", re.IGNORECASE), 0.15),
    (re.compile(r"\b(?:kill|bomb|weapon|murder)\b", re.IGNORECASE), 0.3),
)
_REQUIRED = re.compile(r"REQUIRED_AGENTS:\s*\[([^\]\n]*)\]")
_STRUCTURE = re.compile(r"REQUIRED PATH STRUCTURE:\s*([^\n]*(?:→|->)[^\n]*)")
_WORD = re.compile(r"\w+")
_ASKED = (
    "Choose the path of agents that answers the request best. The agents:\n{agents}\n\n"
    "Paths to choose from (others of these agents are allowed, too):\n{paths}\n\n"
    "The request:\n{question}\n\n"
    "Answer with one JSON object and nothing else: recommended_path (a list of agent ids in the "
    "order in which they run), reasoning, confidence (0 to 1), expected_outcome, path_evaluations "
    "(a list of {{path, score (0 to 1), pros, cons}})."
)


def _table(value: Value) -> Table:
    return value if isinstance(value, dict) else {}


def _tables(value: Value) -> list[Table]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _number(value: Value) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def options(run: Run, question: Value, settings: Value) -> Table:
    """The paths that a scout may take, the best first, or why there are none."""
    table, text = _table(settings), run.text(question)
    agents = {str(agent["id"]): agent for agent in _tables(table.get("agents"))}
    if not agents:
        return {"status": "no_candidates", "paths": []}
    run.spend(min(_TRIED_MAX, 2 ** len(agents)) + (len(text) >> 6))
    within = [path for path in _paths(agents, table) if _is_affordable(path, agents, table)]
    if not within:
        return {"status": "budget_exceeded", "paths": []}
    forbidden = _FORBIDDEN.get(str(table["safety_profile"]), ())
    allowed = [path for path in within if not _has_any(path, agents, forbidden)]
    safety = 1.0 - sum(cost for risk, cost in _RISKS if risk.search(text))
    if not allowed or safety < 1 - _number(table["safety_threshold"]):
        return {"status": "safety_violation", "paths": []}
    rated = [_candidate(path, agents, text, table, safety) for path in allowed]
    rated.sort(key=lambda candidate: -_number(candidate["score"]))
    return {"status": "success", "paths": [*rated[:_PATHS_MAX]], "rated": len(rated)}


def _paths(agents: dict[str, Table], table: Table) -> Iterator[list[str]]:
    """Agents in the order of the file; one that ends a path is put behind it."""
    terminal = [name for name, agent in agents.items() if agent.get("terminal")]
    others = [name for name in agents if name not in terminal]
    depth = int(_number(table["max_depth"]))
    seen: set[tuple[str, ...]] = set()
    for length in range(depth + 1):
        for chosen in combinations(others, length):
            for last in terminal or [""]:
                if path := (*chosen, *filter(None, [last])):
                    seen.add(path)
                    yield list(path)
                if len(seen) >= _TRIED_MAX:
                    return


def _is_affordable(path: list[str], agents: dict[str, Table], table: Table) -> bool:
    tokens = sum(_number(agents[name]["tokens"]) for name in path)
    is_fast = len(path) * _AGENT_MS <= _number(table["latency_budget_ms"])
    return is_fast and tokens <= _number(table["cost_budget_tokens"])


def _has_any(path: list[str], agents: dict[str, Table], words: tuple[str, ...]) -> bool:
    return any(word in words for name in path for word in texts_in(agents[name]["capabilities"]))


def _candidate(
    path: list[str], agents: dict[str, Table], question: str, table: Table, safety: float
) -> Table:
    is_terminal = bool(agents[path[-1]].get("terminal")) and len(path) <= _number(
        table["max_depth"]
    )
    parts = _parts(path, question)
    overlap = _overlap(path, question)
    if table["scoring_mode"] == "boolean":
        score, checks = _checked(path, table, safety, is_terminal, overlap)
    else:
        weights = _table(table["score_weights"])
        score, checks = sum(_number(weights.get(name)) * part for name, part in parts.items()), {}
    required = _required(question)
    if required and not set(required) <= set(path):
        score = 0.01
    candidate: Table = {
        "node_id": path[0],
        "path": [*path],
        "depth": len(path),
        "score": round(score, 4),
        "score_components": {**parts},
        "confidence": _sureness([*parts.values(), safety]),
        "estimated_cost": round(len(path) * _AGENT_COST, 6),
        "estimated_latency": len(path) * _AGENT_MS,
        "safety_score": round(safety, 4),
        "terminal": is_terminal,
    }
    return {**candidate, "checks": checks} if checks else candidate


def _parts(path: list[str], question: str) -> dict[str, float]:
    length = len(path)
    heuristics = 0.3 * 0.9 + 0.3 * 0.7 + 0.2 * _overlap(path, question) + 0.2 * 0.9
    return {
        "llm": 0.5,
        "heuristics": round(heuristics, 4),
        "prior": _PRIORS.get(length, max(0.1, 0.7 - 0.1 * (length - 4))),
        "cost": round(max(0.0, 1 - length * _AGENT_COST / 0.10), 4),
        "latency": round(max(0.0, 1 - length * _AGENT_MS / 10_000), 4),
    }


def _overlap(path: list[str], question: str) -> float:
    """How many words of the agents' names the question has."""
    words = set(_WORD.findall(question.lower()))
    names = {part for name in path for part in name.lower().split("_") if part}
    return 0.3 + 0.7 * len(words & names) / len(names) if names else 0.3


def _checked(
    path: list[str], table: Table, safety: float, is_terminal: bool, overlap: float
) -> tuple[float, dict[str, Value]]:
    """The share of the criteria that hold; 0 where one does not that has to."""
    critical = {"is_safe": safety >= 1 - _number(table["safety_threshold"])}
    important = {
        "ends_with_an_answer": is_terminal,
        "fits_the_domain": overlap >= _number(table["min_domain_overlap"]),
        "cost": len(path) * _AGENT_COST <= _number(table["max_acceptable_cost"]),
        "latency": len(path) * _AGENT_MS <= _number(table["max_acceptable_latency"]),
    }
    nice = {"is_short": len(path) <= 3} if table["include_nice_to_have"] else {}
    checks: dict[str, Value] = {**critical, **important, **nice}
    share = sum(map(bool, checks.values())) / len(checks)
    if table["strict_mode"] and not all(checks.values()):
        return 0.0, checks
    if table["require_critical"] and not all(critical.values()):
        return 0.0, checks
    is_enough = sum(important.values()) / len(important) >= _number(table["important_threshold"])
    return (share if is_enough else 0.0), checks


def _required(question: str) -> list[str]:
    listed, drawn = _REQUIRED.search(question), _STRUCTURE.search(question)
    parts = listed[1].split(",") if listed else re.split("→|->", drawn[1]) if drawn else []
    return [part.strip().strip("\"'`") for part in parts if part.strip()]


def _sureness(parts: list[float]) -> float:
    mean = sum(parts) / len(parts)
    spread = sum((part - mean) ** 2 for part in parts) / len(parts)
    return round(mean - min(0.3, spread), 3)


def asked(run: Run, question: Value, found: Value, settings: Value) -> str:
    """What a model is asked about the paths."""
    table = _table(settings)
    agents = "\n".join(f"- {a['id']}: {a['about']}" for a in _tables(table.get("agents")))
    best = _tables(_table(found).get("paths"))[: int(_number(table["k_beam"]))]
    paths = "\n".join(f"- {' -> '.join(texts_in(candidate['path']))}" for candidate in best)
    text = _ASKED.format(agents=agents, paths=paths, question=run.text(question))
    run.check_text(len(text), "what a scout asks")
    return text


def decide(run: Run, question: Value, found: Value, opinion: Value, settings: Value) -> Table:
    """What a scout decides, given the paths, what skills say of them, and what a model does."""
    table, whole = _table(settings), _table(found)
    candidates = [{**row} for row in _tables(whole.get("paths"))]
    if not candidates:
        return _without_a_path(run, str(whole.get("status")), table)
    advice, answered = _table(opinion).get("advice"), _table(opinion).get("said")
    boosts = advice if isinstance(advice, list) else []
    weight = _number(table["brain_boost_weight"])
    for candidate, boost in zip(candidates, boosts, strict=False):
        candidate["score"] = round(_number(candidate["score"]) + weight * _number(boost), 4)
    wanted, why = _recommended(answered, candidates, table)
    candidates.sort(key=lambda candidate: -_number(candidate["score"]))
    best = candidates[: max(1, int(_number(table["k_beam"])))]
    if wanted is not None:
        decision = "commit_next" if len(texts_in(wanted["path"])) == 1 else "commit_path"
        chosen: Value = wanted["node_id"] if decision == "commit_next" else wanted["path"]
        top = wanted
    else:
        decision, chosen, top = _chosen(run, best, table)
        why = why or f"{' -> '.join(texts_in(top['path']))} has the highest score, {top['score']}"
    result: Table = {
        "decision": decision,
        "target": chosen,
        "confidence": top["confidence"],
        "reasoning": why,
    }
    return {
        **result,
        "status": "success",
        "input": run.text(question),
        "selected_path": _followed(result),
        "trace": [{"path": row["path"], "score": row["score"]} for row in best],
        "metrics": {"candidates_evaluated": whole.get("rated")},
        "result": {**result, "candidates_evaluated": whole.get("rated"), "top_score": top["score"]},
    }


def _without_a_path(run: Run, status: str, table: Table) -> Table:
    why = {
        "no_candidates": "there is no agent to choose: all agents of the file run anyway",
        "budget_exceeded": "every path takes more than the budget allows",
        "safety_violation": "no path is safe enough for this request",
    }[status]
    decision = "human_gate" if status == "safety_violation" else "fallback"
    result: Table = {"decision": decision, "target": None, "confidence": 0.0, "reasoning": why}
    return {**result, "status": status}


def _recommended(
    answered: Value, candidates: list[Table], table: Table
) -> tuple[Table | None, str]:
    """The path that a model recommends, if it is one; its scores are taken over."""
    if answered is None:
        return None, ""
    answer = _table(answered) or outputs.object_in(to_text(answered))
    if answer is None:
        if not table["fallback_to_heuristics"]:
            raise EvaluationError("the model that was asked for a path did not answer with JSON")
        return None, ""
    weight = _number(_table(table["score_weights"]).get("llm"))
    for row in _tables(answer.get("path_evaluations")):
        for candidate in candidates:
            if candidate["path"] == row.get("path"):
                parts = _table(candidate["score_components"])
                change = min(1.0, max(0.0, _number(row.get("score")))) - _number(parts["llm"])
                candidate["score"] = round(_number(candidate["score"]) + weight * change, 4)
                candidate["score_components"] = {**parts, "llm": _number(row.get("score"))}
    known = {str(agent["id"]) for agent in _tables(table.get("agents"))}
    path = texts_in(answer.get("recommended_path"))
    if not path or not set(path) <= known:
        return None, ""
    listed = next((row for row in candidates if row["path"] == path), None)
    wanted = listed or {"node_id": path[0], "path": [*path], "score": None}
    confidence = answer.get("confidence")
    sure = confidence if isinstance(confidence, int | float) else wanted.get("confidence", 0.5)
    why = to_text(answer.get("reasoning") or "")
    return {**wanted, "confidence": sure}, why or "a model recommends this path"


def _chosen(run: Run, best: list[Table], table: Table) -> tuple[str, Value, Table]:
    terminal = [candidate for candidate in best if candidate["terminal"]]
    rows = terminal or best
    top, path = rows[0], texts_in(rows[0]["path"])
    scores = [_number(row["score"]) for row in rows]
    if len(rows) == 1:
        sure = _number(top["score"]) >= 0.7 and _number(top["confidence"]) >= 0.6
        is_ahead = bool(terminal) or sure
    else:
        is_ahead = scores[0] - scores[1] >= _margin(run, table)
    if not is_ahead:
        return "shortlist", [{**row} for row in rows], top
    if len(path) == 1 and not terminal:
        return "commit_next", path[0], top
    return "commit_path", [*path], top


def _margin(run: Run, table: Table) -> float:
    word_of = to_text(outputs.response_of(run.lookup("input_classifier")) or "").lower()
    meant = (margin for word, margin in _MARGINS.items() if word in word_of)
    return next(meant, _number(table["commit_margin"]))


def _followed(decision: Table) -> list[Value]:
    """The agents that a decision runs: all of a path, or the first of the best candidate."""
    target = decision.get("target")
    if decision.get("decision") in ("commit_path", "commit_next"):
        return [target] if isinstance(target, str) else [*texts_in(target)]
    best = _tables(target)
    return [best[0]["node_id"]] if decision.get("decision") == "shortlist" and best else []


def followed(run: Run, decision: Value) -> list[Value]:
    return _followed(_table(decision))


def option_paths(run: Run, found: Value) -> list[Value]:
    return [candidate["path"] for candidate in _tables(_table(found).get("paths"))]


# The paths that executors run: which agents a value names, and what came of each of them.

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
