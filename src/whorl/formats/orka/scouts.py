"""How a scout chooses a path of agents: by rules, by a model's answer, by a brain's knowledge."""

from __future__ import annotations

import re
from itertools import combinations, islice
from typing import TYPE_CHECKING

from whorl.formats.orka import outputs
from whorl.formats.orka.outputs import number_in, table_in, tables_in, texts_in
from whorl.language.faults import EvaluationError
from whorl.language.values import UNDEFINED, Value, to_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.formats.orka.outputs import Table
    from whorl.language.calls import Run

# The default settings; `None` is for those without a default.
USUAL: dict[str, float | str | bool] = {
    "k_beam": 3,
    "max_depth": 2,
    "commit_margin": 0.15,
    "cost_budget_tokens": 800,
    "latency_budget_ms": 1_200,
    "safety_profile": "default",
    "safety_threshold": 0.2,
    "fallback_to_heuristics": True,
    "brain_boost_weight": 0.15,
}
WEIGHTS = {"llm": 0.45, "heuristics": 0.20, "prior": 0.20, "cost": 0.10, "latency": 0.05}
# The expected time of one agent.
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
# The words that lower the safety of a question, and by how much.
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
# Why there is no path, by the status of the options.
_NO_PATH = {
    "no_candidates": "there is no agent to choose: all agents of the file run anyway",
    "budget_exceeded": "every path takes more than the budget allows",
    "safety_violation": "no path is safe enough for this request",
}
_ASKED = (
    "Choose the path of agents that answers the request best. The agents:\n{agents}\n\n"
    "Paths to choose from (others of these agents are allowed, too):\n{paths}\n\n"
    "The request:\n{question}\n\n"
    "Answer with one JSON object and nothing else: recommended_path (a list of agent ids in the "
    "order in which they run), reasoning, confidence (0 to 1), expected_outcome, path_evaluations "
    "(a list of {{path, score (0 to 1), pros, cons}})."
)


def options(run: Run, question: Value, settings: Value) -> Table:
    """Returns the paths that a scout may take, the best first, or the reason for an empty list."""
    table, text = table_in(settings), run.text(question)
    agents = {str(agent["id"]): agent for agent in tables_in(table.get("agents"))}
    if not agents:
        return {"status": "no_candidates", "paths": []}
    run.spend(min(_TRIED_MAX, 2 ** len(agents)) + (len(text) >> 6))
    time_ms, tokens = map(number_in, (table["latency_budget_ms"], table["cost_budget_tokens"]))
    costs = {name: number_in(agent["tokens"]) for name, agent in agents.items()}
    tried = (p for p in islice(_paths(agents, table), _TRIED_MAX) if len(p) * _AGENT_MS <= time_ms)
    within = [path for path in tried if sum(map(costs.__getitem__, path)) <= tokens]
    if not within:
        return {"status": "budget_exceeded", "paths": []}
    forbidden = {*_FORBIDDEN.get(str(table["safety_profile"]), ())}
    barred = {n for n, agent in agents.items() if forbidden & {*texts_in(agent["capabilities"])}}
    allowed = [path for path in within if barred.isdisjoint(path)]
    safety = 1.0 - sum(cost for risk, cost in _RISKS if risk.search(text))
    if not allowed or safety < 1 - number_in(table["safety_threshold"]):
        return {"status": "safety_violation", "paths": []}
    rated = [_candidate(path, agents, text, table, safety) for path in allowed]
    rated.sort(key=lambda candidate: -number_in(candidate["score"]))
    return {"status": "success", "paths": rated[:_PATHS_MAX], "rated": len(rated)}


def _paths(agents: dict[str, Table], table: Table) -> Iterator[list[str]]:
    """Yields paths of agents in the order of the file; an agent that ends a path is last."""
    ends = [[name] for name, agent in agents.items() if agent.get("terminal")] or [[]]
    others = [name for name, agent in agents.items() if not agent.get("terminal")]
    for length in range(int(number_in(table["max_depth"])) + 1):
        for chosen in combinations(others, length):
            yield from ([*chosen, *end] for end in ends if chosen or end)


def _candidate(
    path: list[str], agents: dict[str, Table], question: str, table: Table, safety: float
) -> Table:
    length, words = len(path), set(_WORD.findall(question.lower()))
    # How many words of the agents' names the question has.
    named = {part for name in path for part in name.lower().split("_") if part}
    overlap = 0.3 + 0.7 * len(words & named) / len(named) if named else 0.3
    parts = {
        "llm": 0.5,
        "heuristics": round(0.3 * 0.9 + 0.3 * 0.7 + 0.2 * overlap + 0.2 * 0.9, 4),
        "prior": _PRIORS.get(length, max(0.1, 0.7 - 0.1 * (length - 4))),
        "cost": round(max(0.0, 1 - length * _AGENT_COST / 0.10), 4),
        "latency": round(max(0.0, 1 - length * _AGENT_MS / 10_000), 4),
    }
    rated = [*parts.values(), safety]
    mean = sum(rated) / len(rated)
    spread = sum((part - mean) ** 2 for part in rated) / len(rated)
    weights = table_in(table["score_weights"])
    score = sum(number_in(weights.get(name)) * part for name, part in parts.items())
    listed, drawn = _REQUIRED.search(question), _STRUCTURE.search(question)
    names = listed[1].split(",") if listed else re.split("→|->", drawn[1]) if drawn else []
    if not {part.strip().strip("\"'`") for part in names if part.strip()} <= set(path):
        score = 0.01
    return {
        "node_id": path[0],
        "path": path,
        "score": round(score, 4),
        "score_components": parts,
        "confidence": round(mean - min(0.3, spread), 3),
        "terminal": length <= number_in(table["max_depth"])
        and bool(agents[path[-1]].get("terminal")),
    }


def asked(run: Run, question: Value, found: Value, settings: Value) -> str:
    """Returns the prompt for a model about the paths."""
    table = table_in(settings)
    agents = "\n".join(f"- {a['id']}: {a['about']}" for a in tables_in(table.get("agents")))
    best = tables_in(table_in(found).get("paths"))[: int(number_in(table["k_beam"]))]
    paths = "\n".join(f"- {' -> '.join(texts_in(candidate['path']))}" for candidate in best)
    text = _ASKED.format(agents=agents, paths=paths, question=run.text(question))
    run.check_text(len(text), "what a scout asks")
    return text


def decide(run: Run, question: Value, found: Value, opinion: Value, settings: Value) -> Table:
    """Returns a scout's decision from the paths, the skills' support and a model's answer."""
    table, whole = table_in(settings), table_in(found)
    candidates = [{**row} for row in tables_in(whole.get("paths"))]
    if not candidates:
        status = str(whole.get("status"))
        decision = "human_gate" if status == "safety_violation" else "fallback"
        none: Table = {"target": None, "confidence": 0.0, "reasoning": _NO_PATH[status]}
        return {"decision": decision, **none, "status": status}
    advice, answered = table_in(opinion).get("advice"), table_in(opinion).get("said")
    boosts = advice if isinstance(advice, list) else []
    weight = number_in(table["brain_boost_weight"])
    for candidate, boost in zip(candidates, boosts, strict=False):
        candidate["score"] = round(number_in(candidate["score"]) + weight * number_in(boost), 4)
    wanted, why = _recommended(answered, candidates, table)
    candidates.sort(key=lambda candidate: -number_in(candidate["score"]))
    best = candidates[: max(1, int(number_in(table["k_beam"])))]
    if wanted is None:
        decision, target, top = _chosen(run, best, table)
        why = why or f"{' -> '.join(texts_in(top['path']))} has the highest score, {top['score']}"
    else:
        top, path = wanted, texts_in(wanted["path"])
        decision, target = ("commit_path", path) if path[1:] else ("commit_next", path[0])
    reasons: Table = {"confidence": top["confidence"], "reasoning": why}
    result: Table = {"decision": decision, "target": target, **reasons}
    rated = {"candidates_evaluated": whole.get("rated")}
    return {
        **result,
        "status": "success",
        "input": run.text(question),
        "selected_path": followed(run, result),
        "trace": [{"path": row["path"], "score": row["score"]} for row in best],
        "metrics": rated,
        "result": {**result, **rated, "top_score": top["score"]},
    }


def _recommended(
    answered: Value, candidates: list[Table], table: Table
) -> tuple[Table | None, str]:
    """Returns the path that a model recommends, if it is a candidate, and uses its scores."""
    if answered is None:
        return None, ""
    answer = table_in(answered) or outputs.object_in(to_text(answered))
    if answer is None:
        if not table["fallback_to_heuristics"]:
            raise EvaluationError("the model that was asked for a path did not answer with JSON")
        return None, ""
    weight = number_in(table_in(table["score_weights"]).get("llm"))
    for row in tables_in(answer.get("path_evaluations")):
        for candidate in candidates:
            if candidate["path"] == row.get("path"):
                parts = table_in(candidate["score_components"])
                change = min(1.0, max(0.0, number_in(row.get("score")))) - number_in(parts["llm"])
                candidate["score"] = round(number_in(candidate["score"]) + weight * change, 4)
                candidate["score_components"] = {**parts, "llm": number_in(row.get("score"))}
    known = {str(agent["id"]) for agent in tables_in(table.get("agents"))}
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
    if len(rows) == 1:
        sure = number_in(top["score"]) >= 0.7 and number_in(top["confidence"]) >= 0.6
        is_ahead = bool(terminal) or sure
    else:
        kind = to_text(outputs.response_of(run.lookup("input_classifier")) or "").lower()
        meant = (margin for word, margin in _MARGINS.items() if word in kind)
        margin = next(meant, number_in(table["commit_margin"]))
        is_ahead = number_in(top["score"]) - number_in(rows[1]["score"]) >= margin
    if not is_ahead:
        return "shortlist", [{**row} for row in rows], top
    if len(path) == 1 and not terminal:
        return "commit_next", path[0], top
    return "commit_path", path, top


def followed(run: Run, decision: Value) -> list[Value]:
    """Returns the agents that a decision runs: a whole path, or the first of the best candidate."""
    table = table_in(decision)
    target, word = table.get("target"), table.get("decision")
    if word in ("commit_path", "commit_next"):
        return [target] if isinstance(target, str) else [*texts_in(target)]
    best = tables_in(target)
    return [best[0]["node_id"]] if word == "shortlist" and best else []


# The paths that executors run: which agents a value names, and what came of each of them.

PATH_MAX = 100


def came_of(run: Run, name: Value, known: Value, is_last: Value) -> Value:
    """Returns the result of an agent of a path, or its failure; null if it did not run."""
    agent = run.text(name)
    if agent not in texts_in(known):
        return {"id": agent, "error": f"there is no agent {agent[:60]!r} that a path can run"}
    record = table_in(table_in(run.lookup(outputs.RECORDS)).get(agent))
    if not record:
        return None
    if record.get("status") == "succeeded":
        value = run.lookup(agent)
        return {"id": agent, "value": None if value is UNDEFINED else value}
    error = to_text(record.get("error") or "it failed")
    if is_last is True:
        raise EvaluationError(f"{agent[:60]!r}, the last agent of the path, failed: {error}")
    return {"id": agent, "error": error}


def kept(run: Run, variable: Value, result: Value) -> Value:
    """Returns the results of paths, or their failures, with one more."""
    before, row = outputs.variable(run, run.text(variable)), table_in(result)
    key = "value" if variable == outputs.RAN else "error"
    return {**before, run.text(row["id"]): row[key]} if key in row else before


def source_of(run: Run, source: Value) -> Value:
    """Returns the input of a path's agents; the input of the run if there is no such value."""
    name, _, rest = run.text(source).partition(".")
    value = outputs.last_of(run, [name])
    for part in filter(None, rest.split(".")):
        value = outputs.member(value, part)
    return outputs.get_input(run) if value is UNDEFINED or value is None else value


def find_path(run: Run, source: Value, dropped: Value) -> Table:
    """Returns the agents that a path names, or an error."""
    written, unrun = run.text(source), texts_in(dropped)
    error = f"{written!r} has no list of agents to run"
    try:
        names = _names_at(run, written.split("."))
    except EvaluationError as fault:
        names, error = None, fault.message
    if names is None:
        return {"path": [], "error": error}
    return {"path": [name for name in names if name not in unrun][:PATH_MAX], "error": ""}


def _names_at(run: Run, parts: list[str]) -> list[str] | None:
    whole = outputs.last_of(run, parts[:1])
    behind = parts[1:]
    spoken = [part for part in behind if part != "response"]
    bare = [part for part in spoken if part != "result"]
    for way in (behind, spoken, bare, ["response", *behind]):
        value: Value = whole
        holder: Value = UNDEFINED
        for part in way:
            value, holder = outputs.member(value, part), value
        names = _names_in(value, holder, way[-1] if way else "")
        if names is not None:
            return names
    return None


def _names_in(value: Value, holder: Value, key: str) -> list[str] | None:
    """Returns the agents that a value lists; a decision inside or beside the list counts."""
    for _ in range(8):
        if isinstance(value, str):
            inner = outputs.object_in(value) or _list_in(value)
            if inner is None:
                is_name = key in ("target", "path") and bool(value.strip())
                return [value.strip()] if is_name else None
            value = inner
        if not isinstance(value, dict):
            break
        holder = value
        if (loop := table_in(value.get("result"))) and "loops_completed" in value:
            parts = tables_in([*loop.values()])
            value = next((part for part in parts if {"target", "path"} & part.keys()), None)
            continue
        opened = ("target", "response", "result", "payload", "path")
        key = next((name for name in opened if name in value), "")
        value = value.get(key) if key else None
    decision = table_in(holder).get("decision")
    if isinstance(decision, str) and decision not in ("commit_next", "commit_path", "shortlist"):
        raise EvaluationError(f"the decision is {decision[:60]!r}, which names no agents to run")
    if isinstance(value, str):
        return [value]
    if not isinstance(value, list):
        return None
    names: list[str] = []
    for item in value:
        if isinstance(item, str):
            names.append(item)
        elif isinstance(item, dict):
            first, path = item.get("node_id"), texts_in(item.get("path"))
            is_first = isinstance(first, str) and (decision == "shortlist" or not path)
            names += [str(first)] if is_first else path
    return names[:1] if decision == "commit_next" else names


def _list_in(text: str) -> list[Value] | None:
    """Returns the names in a list that is written as JSON or YAML."""
    stripped = text.strip()
    if stripped[:1] == "[" and stripped[-1:] == "]":
        return [name for part in stripped[1:-1].split(",") if (name := part.strip().strip("\"'"))]
    lines = [line.strip() for line in stripped.splitlines() if line.strip()]
    is_list = bool(lines) and all(line.startswith("- ") for line in lines)
    return [line[2:].strip().strip("\"'") for line in lines] if is_list else None


def executed(run: Run, it: Value, aborts: Value) -> Table:
    """Returns the result of an executor: the path, each agent's result, and the overall status."""
    whole = table_in(it)
    results: Table = {}
    errors: list[str] = []
    plan = table_in(whole.get("path_plan"))
    for row in tables_in(whole.get("path_run")):
        came = table_in(row.get("path_result"))
        if not came:
            continue
        name = run.text(came["id"])
        results[name] = came["value"] if "value" in came else {"error": came["error"]}
        errors += [f"{name}: {came['error']}"] if "error" in came else []
    status = "success" if not errors else "error" if aborts is True else "partial"
    result: Table = {"executed_path": plan.get("path"), "results": results}
    if plan.get("error"):
        return {**result, "status": "error", "error": plan["error"]}
    return {**result, "status": status, **({"errors": errors} if errors else {})}
