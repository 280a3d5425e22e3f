"""What runs say about themselves, in plain words.

Conditions, what was found at the end of an iteration, why loops ended, requests, forecasts.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, assert_never

from whorl import ir
from whorl.errors import plural, safe
from whorl.interfaces import formatting
from whorl.interfaces.formatting import line, score

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from whorl.interpreter.events import Event
    from whorl.ir import Condition
    from whorl.language import Json
    from whorl.runtimes.journal.journal import IterationRow, LoopRow, RunId
    from whorl.runtimes.sqlite import SqliteStore
    from whorl.services.files.forecasting import Effects, Forecast
    from whorl.services.inspecting.results import Request


ENDED = frozenset({"succeeded", "failed", "cancelled"})
EXIT_CODES = {"succeeded": 0, "failed": 1, "waiting": 4, "paused": 5, "cancelled": 5}
EXIT_CODES |= {"interrupted": 5, "running": 0}
_NAMED_MAX = 5

_REASONS = {
    "condition_met": "its condition was met",
    "max_iterations": "it reached its limit of iterations",
    "timeout": "it reached its limit of time",
    "budget": "the next call did not fit into the budget",
    "failed": "an iteration failed",
    "cancelled": "the run was cancelled",
    "accepted": "a person accepted an iteration",
    "rejected": "a person rejected it",
}
EXIT_REASONS = tuple(_REASONS)
_STOPPED_BY = {
    "expression": "an expression became true",
    "score": "the score reached its target",
    "judge": "the judge said yes",
    "branch": "the branch that ends it was taken",
    "stable": "two results in a row were alike",
    "plateau": "the score stopped improving",
    "break": "a `break` was reached",
    "items": "no items were left",
    "person": "a person approved it",
}
# What is said where a dialect has no words of its own.
_JUDGEMENT = {
    "line": "judge: {question} -> {verdict}",
    "met": "YES",
    "not_met": "NO",
    "ambiguous": "AMBIGUOUS ({answer})",
}
_TAKEN = {"first": "the first one", "last": "the last one that finished"}
# What a fact has beside the value that the condition looked at.
_NO_MEASURE = frozenset({"leaf", "by", "met"})


def ending_words(status: str) -> str:
    """How something ended, in words."""
    words = {"cut": "cut short", "timed_out": "timed out", "passed": "succeeded"}
    return words.get(status, status.replace("_", " "))


def more_words(body: Mapping[str, Any]) -> str:
    """Returns how much more a loop is given to continue, in words."""
    iterations, cost_usd = body.get("iterations"), body.get("cost_usd")
    parts = [plural(iterations, "more iteration")] if iterations else []
    parts += [f"{formatting.dollars(cost_usd)} more"] if cost_usd else []
    parts += [f"{body[name]:,} more {name}" for name in ("tokens", "calls") if body.get(name)]
    return " and ".join(parts) or "another try"


def request_words(request: Request) -> str:
    """Returns what a person requested or answered, as a clause."""
    body: Mapping[str, Any] = request.body
    match request.kind:
        case "gate.decided":
            words = "approved" if body.get("approved") else "rejected"
            words += " with edits" if "value" in body and body.get("by") != "call" else ""
        case "run.accepted" if "iteration" not in body:
            words = "asked to stop after its iteration"
        case "run.accepted":
            words = f"accepted with iteration {body.get('iteration')}"
        case _:
            words = f"continued with {more_words(body)}"
    feedback = line(request.feedback, 400)
    # More money without a place is for the loops that lacked it.
    nowhere = "every loop that a budget stopped" if request.kind == "run.continued" else "the run"
    return f"{safe(request.place) or nowhere} was {words}{f': {feedback}' if feedback else ''}"


def skip_words(reason: str, facts: Mapping[str, Any]) -> str:
    """Why a step did not run, as a clause."""
    step = line(str(facts.get("step")), 60)
    match reason:
        case "condition":
            when = line(str(facts.get("when") or ""), 100)
            return f"its condition is not true{f': {when}' if when else ''}"
        case "order":
            wanted = " or ".join(ending_words(str(status)) for status in facts["wanted"])
            ended = ending_words(str(facts["status"]))
            return f"it runs only if {step!r} ends as {wanted}, and it ended as {ended}"
        case "halt":
            return f"{step!r} failed, so no further step began"
        case "branch":
            taken = facts.get("taken")
            return f"case {line(str(taken), 60)!r} was taken" if taken else "no case applies"
        case "around":
            return f"{step!r}, which contains it, did not run"
        case "budget":
            return "a budget does not allow it"
    return "the step around it ended before it could begin"


def exit_words(reason: str, stopped_by: str = "") -> str:
    """Returns the exit reason as results show it, with what decided it."""
    return f"{reason} ({line(stopped_by, 60)})" if stopped_by else reason


def condition_words(condition: Condition | None) -> str:
    """Returns a loop's condition as a person would say it."""
    match condition:
        case None:
            return ""
        case ir.When():
            return line(condition.described or condition.test.source, 60)
        case ir.Score():
            goal = "" if condition.at_least is None else f" ≥ {score(condition.at_least)}"
            return f"score{goal}" if goal else ""
        case ir.Judge(ir.Expression(source=text) | ir.Constant(text)):
            return f"judge: {line(str(text), 50)}"
        case ir.Judge():
            return "judge: "
        case ir.BranchTaken():
            return f"{condition.node} takes {condition.name!r}"
        case ir.Stable():
            return f"{formatting.bare(condition.threshold * 100)}% alike"
        case ir.Plateau():
            return f"no better score for {condition.patience}"
        case ir.AnyOf() | ir.AllOf():
            word = " or " if isinstance(condition, ir.AnyOf) else " and "
            return word.join(filter(None, map(condition_words, condition.conditions)))
        case _:
            assert_never(condition)


def target_of(condition: Condition | None) -> float | None:
    """The score that a loop works towards, if it has one."""
    if isinstance(condition, ir.Score):
        return condition.at_least
    if isinstance(condition, ir.AnyOf | ir.AllOf):
        goals = (target_of(part) for part in condition.conditions)
        return next((goal for goal in goals if goal is not None), None)
    return None


def forecast_words(forecast: Forecast) -> str:
    """Returns the forecast in words, or "" if no call is made.

    It says "at most" of money only if a limit bounds it; anything else is an estimate.
    """
    if forecast.calls == 0:
        return ""
    words = calls_words(forecast.calls, forecast.usual)
    if forecast.source and forecast.calls is not None:
        words = f"about {plural(forecast.calls, 'call')} (from {forecast.source})"
    if forecast.has_tools:
        words += " and the tools that models use"
    if forecast.is_priced:
        return words + _cost_words(forecast)
    words += ", of a price that is not known"
    if forecast.budget_usd is None:
        return words
    budget = f"the budget of {formatting.allowed(forecast.budget_usd)} cannot limit them"
    return f"{words}, so {budget}: set [prices.MODEL] in whorl.toml"


def effects_words(effects: Effects) -> str:
    """Returns what a workflow would read, write, run and call, or "" if it has no effects."""
    parts = []
    for verb, names in asdict(effects).items():
        more = f" and {len(names) - _NAMED_MAX} more" if len(names) > _NAMED_MAX else ""
        shown = ", ".join(map(safe, names[:_NAMED_MAX]))
        parts += [f"{verb} {shown}{more}"] if names else []
    return "; ".join(parts)


def _cost_words(forecast: Forecast) -> str:
    cost, bound, budget = forecast.cost_usd, forecast.bound_usd, forecast.budget_usd
    about = f", about {formatting.dollars(cost)}" if cost else ""
    if budget is not None and (bound is None or bound >= budget):
        about = about if cost and cost < budget else ""
        return f"{about}; at most {formatting.allowed(budget)}, the budget"
    if bound is not None:
        return f", at most {formatting.dollars_at_most(bound)}" if bound else ""
    return about and f"{about}, an estimate"


def calls_words(calls: int | None, usual: int | None) -> str:
    """How many calls there can be, and how many of them if none has to be tried again."""
    if calls is None:
        return "the number of calls depends on the inputs"
    words = f"at most {plural(calls, 'call')}"
    return words if usual is None or usual == calls else f"{words} ({usual:,} without retries)"


# Why a loop ended, and why it returned the iteration that it did.


def end_words(row: LoopRow, *, is_stopped: bool) -> str:
    """Returns why a loop ended, as a clause; `is_stopped`: by a person who chose no iteration."""
    if is_stopped and row.exit_reason == "accepted":
        return "a person stopped it"
    if row.exit_reason == "condition_met" and row.stopped_by:
        return _STOPPED_BY.get(row.stopped_by, row.stopped_by)
    return _REASONS.get(row.exit_reason, row.exit_reason)


def returned_words(
    takes: str, row: LoopRow, iterations: Sequence[IterationRow], *, is_stopped: bool
) -> str:
    """Returns why a loop returned the iteration that it did, if that is known."""
    if row.exit_reason == "accepted" and not is_stopped:
        return "which a person accepted"
    own = next((one for one in iterations if one.number == row.returned_iteration), None)
    if takes != "best" or own is None or row.best_iteration != own.number:
        return _TAKEN.get(takes, "")
    if own.note.get("approved"):
        return "the best one that was approved"
    return f"the best one: no score is better than {score_cell(own.note, own.score)}"


def why_document(store: SqliteStore, run: RunId, rows: Sequence[LoopRow]) -> dict[str, Any]:
    """Returns why loops ended: their conditions, the requests of people, the reasons in words."""
    from whorl.services.inspecting import results

    workflow, stopped = results.shown_workflow(store, run), results.stopped_loops(store, run)
    loops = []
    for row in rows:
        node, is_stopped = results.loop_node(workflow, row.path), row.address in stopped
        iterations = results.begun_iterations(store, run, row)
        why = returned_words(node.returns if node else "", row, iterations, is_stopped=is_stopped)
        loop = {
            "path": row.address,
            "exit_reason": row.exit_reason or None,
            "stopped_by": row.stopped_by or None,
            "iterations": [item.note for item in iterations],
            "why": end_words(row, is_stopped=is_stopped) if row.exit_reason else None,
            "returned_iteration": row.returned_iteration,
            "returned_because": why or None if row.returned_iteration is not None else None,
        }
        loops.append(loop)
    requests = results.requests_of(store, run)
    people = [{"kind": each.kind, "place": each.place, "body": each.body} for each in requests]
    result = results.full_result(store, run)
    names = ("status", "paused_by", "waiting_for", "warnings", "error")
    return {"run": run, "loops": loops, "people": people, **{name: result[name] for name in names}}


# What was found at the end of an iteration: conditions, scores, what judges said.


def verdict_words(
    note: Mapping[str, Json], width_max: int = 60, *, with_reasons: bool = True
) -> str:
    """Returns what was found at the end of an iteration, from its note."""
    error = note.get("error")
    if isinstance(error, dict):
        return line(str(error.get("message", "failed")), width_max)
    facts = facts_of(note)
    if note.get("met"):
        facts = [fact for fact in facts if fact.get("met")] or facts
    words = [fact_words(f, with_reasons=with_reasons) for f in facts if f.keys() - _NO_MEASURE]
    words = words or ([str(note["by"])] if note.get("by") else [])
    outside = note.get("outside")
    if isinstance(outside, dict) and formatting.outside_words(outside) not in words:
        # A score that does not count is always shown, for any end of the iteration.
        words.append(formatting.outside_words(outside))
    return line("; ".join(words), width_max)


def facts_of(note: Mapping[str, Any]) -> list[dict[str, Any]]:
    facts = note.get("facts")
    return [fact for fact in facts if isinstance(fact, dict)] if isinstance(facts, list) else []


def score_cell(note: Mapping[str, Any], number: float | None) -> str:
    """The score of an iteration in a table; one outside its range is marked: its words say why."""
    outside = note.get("outside")
    if number is None and isinstance(outside, dict):
        return f"{formatting.bare(outside.get('score'))}!"
    return score(number)


def fact_words(fact: Mapping[str, Any], *, with_reasons: bool = True) -> str:
    """One condition's value, such as `score 0.40 < 0.95`."""
    match fact.get("by"):
        case "score":
            number, goal = fact.get("score"), fact.get("at_least")
            if fact.get("outside") is not None:
                return formatting.outside_words({**fact, "score": fact["outside"]})
            if number is None:
                return "no score"
            sign = "≥" if fact.get("met") else "<"
            return f"score {score(number)} {sign} {score(goal)}"
        case "judge" if fact.get("reason"):
            reason = f". {line(str(fact['reason']), 160)}" if with_reasons else ""
            return f"judge: {_answer_of(fact)}{reason}"
        case "judge":
            return f"judge: {line(str(fact.get('answer', '')), 80) or 'no clear answer'}"
        case "expression":
            expression, met = line(str(fact.get("expression", "")), 60), fact["met"]
            if met is None:
                lost: Any = fact.get("failed") or []
                return f"{expression} is not known: {', '.join(map(repr, lost))} failed"
            if " is " in expression:
                # A sentence, which is so or is not.
                return f"{expression}: {'yes' if met else 'no'}"
            return f"{expression} is {str(bool(met)).lower()}"
        case "stable":
            return f"{formatting.bare(round(float(fact.get('similarity', 0)), 4) * 100)}% alike"
        case "plateau":
            stale = plural(int(fact.get("stale") or 0), "iteration")
            return f"{stale} without a better score"
        case "branch":
            return f"branch {fact.get('branch')!r}"
    return str(fact.get("by", ""))


def reason_lines(note: Mapping[str, Any]) -> list[str]:
    """Why judges decided as they did, in their own words, with what they quote."""
    lines: list[str] = []
    for fact in facts_of(note):
        reason, evidence = line(str(fact.get("reason") or ""), 600), fact.get("evidence")
        lines += [f"{_answer_of(fact)}. {reason}"] if reason else []
        found = "" if fact.get("evidence_in_text") else "  (not found in the text)"
        lines += [f'"{line(str(evidence), 600)}"{found}'] if evidence else []
    return lines


def _answer_of(fact: Mapping[str, Any]) -> str:
    return {None: "no clear answer", True: "YES", False: "NO"}[fact.get("met")]


# The words that a dialect has of its own.


def judgement_lines(vocabulary: Json, event: Event) -> list[str]:
    """A line for each judgement of an iteration that has just finished."""
    if event.kind != "iteration.finished":
        return []
    own: Any = vocabulary.get("judgement") if isinstance(vocabulary, dict) else None
    words: dict[str, str] = _JUDGEMENT | (own or {})
    lines: list[str] = []
    for fact in (fact for fact in facts_of(event.body) if fact.get("by") == "judge"):
        state = {None: "ambiguous", True: "met", False: "not_met"}[fact.get("met")]
        filled = {name: fact.get(name, "") for name in ("question", "answer")}
        verdict = _fill(words[state], filled)
        lines.append(safe(_fill(words["line"], filled | {"verdict": verdict})))
    return lines


def status_lines(vocabulary: Json, path: str, facts: dict[str, str]) -> list[str]:
    """Returns a dialect's lines about a run in the loop at `path`, or [] if it has none."""
    words: Any = vocabulary if isinstance(vocabulary, dict) else {}
    lines: list[str] = words.get("status") or []
    of_loop = {name: str(word) for name, word in (words.get("loops") or {}).get(path, {}).items()}
    return [safe(_fill(line, of_loop | facts)) for line in lines]


def _fill(text: str, values: dict[str, str]) -> str:
    for name, value in values.items():
        text = text.replace("{" + name + "}", str(value))
    return text
