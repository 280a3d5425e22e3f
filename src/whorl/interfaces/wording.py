"""What runs say about themselves, in plain words: verdicts, conditions, exit reasons."""

from __future__ import annotations

from math import ceil, floor, log10
from typing import TYPE_CHECKING, Any, assert_never

from whorl import ir
from whorl.errors import safe
from whorl.interfaces.figures import (
    allowed,
    bare,
    dollars,
    dollars_at_most,
    line,
    outside_words,
    plural,
    score,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from whorl.interpreter.events import Event
    from whorl.ir import Condition
    from whorl.language import Json
    from whorl.services.files.effects import Effects
    from whorl.services.files.preflight import Forecast
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
_STOPPED_BY = {
    "expression": "an expression became true",
    "score": "the score reached its goal",
    "judge": "the judge said yes",
    "branch": "the branch that ends it was taken",
    "stable": "two results in a row were alike",
    "plateau": "the score did not get better any more",
    "break": "a `break` step was reached",
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

# The flags of the command line that raise a budget.
_FLAGS = {"cost_usd": "--budget", "tokens": "--tokens", "calls": "--calls"}
# What a budget is called in fields.
_BUDGETS = {"cost_usd": "cost", "tokens": "tokens", "calls": "calls"}
# The fields that raise a limit, where a loop's own format names none; of the run: `run`.
_FIELDS = {
    "max_iterations": "at_most.iterations",
    "timeout": "at_most.time",
    "cost": "at_most.cost",
    "tokens": "at_most.tokens",
    "calls": "at_most.calls",
    "run": "budget",
    "score": "`low` and `high` of the score",
}


def advice(code: str, facts: Mapping[str, Any] | None, run: str = "RUN") -> str:
    """What to do about an error, a warning or a refusal: made from its code and its facts alone.

    A message that passes another one on has the code of that one among its facts.
    """
    if not facts:
        return ""
    match facts.get("code", code):
        case "R102":
            return f"raise {_raised_by(facts, run)}"
        case "R103":
            verb = f"continue {run} --at '{facts['loop']}'" if "loop" in facts else f"resume {run}"
            return f"give it more: `whorl {verb} {flags(facts['more'])}`"
        case "R105" if "history" in facts:
            return "records of `memory` can hold more"
        case "R105" if "cpu_s" in facts:
            return "give its loops lower limits, or raise `cpu` in [limits] of whorl.toml"
        case "R105":
            return "give its loops lower limits, or let them `wait` for a second from time to time"
        case "R106":
            return f"see why, then `whorl resume {run}` tries it again"
        case "R111":
            return f"give it with `-i {facts['input']}=VALUE`"
        case "R115":
            low, high = facts["low"], facts["high"]
            ends = "" if low is None else f" from {low:g}"
            ends += "" if high is None else f" to {high:g}"
            field = (facts.get("fields") or _FIELDS).get("score")
            return f"ask for a score{ends} in the prompt{f', or change {field}' if field else ''}"
        case "P124":
            return "raise max_turns"
        case "W900" | "W905":
            return _after_refusal(facts, run)
    return ""


def _raised_by(facts: Mapping[str, Any], run: str) -> str:
    """The field that raises a limit, and the command where the loop can go on."""
    fields, budget = facts.get("fields") or _FIELDS, _BUDGETS.get(facts["limit"], "")
    field = fields.get(budget) or fields.get(facts["reason"], "the limit")
    if facts["of_run"]:
        # A format without a field for it has the flag of the command line.
        field = fields.get("run", "--budget")
        field += f".{budget}" if "run" in fields and budget != "cost" else ""
    if not facts["continues"]:
        return f"`{field}`"
    iterations = f"--iterations {facts['iterations']}" if facts["iterations"] else ""
    # More money alone is for all loops that lack it: one of many need not be named.
    at = "" if budget and "[" in facts["address"] else f"--at '{facts['address']}'"
    amounts = (part for part in (run, at, iterations, flags(facts["more"])) if part)
    return f"`{field}`, or `whorl continue {' '.join(amounts)}`"


def _after_refusal(facts: Mapping[str, Any], run: str) -> str:
    amounts = facts.get("more") or {}
    more = given_flags(amounts)
    match facts.get("verb"):
        case "continue" if "at" in facts:
            return f"it goes on with `whorl continue {run} --at '{facts['at']}' {more}`"
        case "continue":
            return f"loops that stopped for their budget go on with `whorl continue {run} {more}`"
        case "resume":
            return f"it goes on with `whorl resume {run} {more}`"
        case "add":
            return f"add `{flags(amounts)}`"
        case "fork":
            return f"fork there instead: `whorl fork {run} --at ...`"
        case "start":
            return "start a new one"
    return "say which with --at" if "loops" in facts else ""


def flags(more: Mapping[str, float]) -> str:
    """The flags that raise some budgets by sensible amounts: at least by what is missing."""
    amounts = ((name, more.get(name) or 0.0) for name in _FLAGS)
    return " ".join(f"{_FLAGS[name]} +{_amount(name, much)}" for name, much in amounts if much)


def given_flags(amounts: Mapping[str, Any]) -> str:
    """The amounts that a person gave, as flags."""
    return " ".join(f"{_FLAGS[name]} +{amounts[name]:g}" for name in _FLAGS if amounts.get(name))


def _amount(name: str, much: float) -> str:
    if name != "cost_usd":
        return str(ceil(much))
    digits = 1 - floor(log10(much))
    step = 10.0**-digits
    return f"{ceil(much / step - 1e-9) * step:.{max(digits, 1)}f}".rstrip("0").rstrip(".")


def advised(message: Mapping[str, Any], run: str = "RUN") -> str:
    """An error or a warning with what to do about it."""
    words, help_ = str(message.get("message", "")), message.get("help")
    if help_ is None:
        help_ = advice(str(message.get("code", "")), message.get("facts"), run)
    return f"{words}; {help_}" if help_ else words


def with_help(result: dict[str, Any]) -> dict[str, Any]:
    """A result document in which errors and warnings say what to do about them."""
    for message in (*result["warnings"], result["error"]):
        if message and message.get("facts"):
            message["help"] = advice(message["code"], message["facts"], result["run"])
    return result


def ending_words(status: str) -> str:
    """How an iteration ended that has not succeeded."""
    return {"cut": "cut short", "timed_out": "timed out"}.get(status, status.replace("_", " "))


def root_code(error: Mapping[str, Any]) -> str:
    """The code of what an error comes from in the end: the page about it says most."""
    cause = error.get("cause")
    return root_code(cause) if isinstance(cause, dict) and cause.get("code") else str(error["code"])


def more_words(body: Mapping[str, Any]) -> str:
    """What a loop is given to go on."""
    iterations, cost_usd = body.get("iterations"), body.get("cost_usd")
    parts = [plural(iterations, "more iteration")] if iterations else []
    parts += [f"{dollars(cost_usd)} more"] if cost_usd else []
    parts += [f"{body[name]:,} more {name}" for name in ("tokens", "calls") if body.get(name)]
    return " and ".join(parts) or "another try"


def request_words(request: Request) -> str:
    """What a person asked or answered, as a clause."""
    body: Mapping[str, Any] = request.body
    match request.kind:
        case "gate.decided":
            words = "approved" if body.get("approved") else "rejected"
            words += " with edits" if "value" in body and body.get("by") != "call" else ""
        case "run.accepted" if "iteration" not in body:
            words = "told to stop after its iteration"
        case "run.accepted":
            words = f"accepted with iteration {body.get('iteration')}"
        case _:
            words = f"continued with {more_words(body)}"
    feedback = line(request.feedback, 400)
    # More money without a place is for the loops that lacked it.
    nowhere = "what had stopped for its budget" if request.kind == "run.continued" else "the run"
    return f"{safe(request.place) or nowhere} was {words}{f': {feedback}' if feedback else ''}"


def skip_words(reason: str, facts: Mapping[str, Any]) -> str:
    """Why a step did not run, as a clause."""
    step = line(str(facts.get("step")), 60)
    match reason:
        case "condition":
            when = line(str(facts.get("when") or ""), 100)
            return f"its condition is not true{f': {when}' if when else ''}"
        case "order":
            wanted = " or ".join(map(str, facts["wanted"])).replace("passed", "succeeded")
            return f"{step!r} should be {wanted}, but is {facts['status']}"
        case "halt":
            return f"{step!r} failed, and nothing new begins after that"
        case "branch":
            taken = facts.get("taken")
            return (
                "no case applies" if taken is None else f"case {line(str(taken), 60)!r} was taken"
            )
        case "around":
            return f"{step!r}, which it is in, did not run"
        case "budget":
            return "a budget does not allow it"
    return "the step around it ended before its turn"


def reason_words(reason: str, stopped_by: str = "") -> str:
    """Why a loop ended, as a clause."""
    if reason == "condition_met" and stopped_by:
        return _STOPPED_BY.get(stopped_by, f"stopped by {stopped_by}")
    return _REASONS.get(reason, reason)


def exit_words(reason: str, stopped_by: str = "") -> str:
    """The exit reason as it stands in results, with what decided it."""
    return f"{reason} ({stopped_by})" if stopped_by else reason


# What a fact has beside the value that the condition looked at.
_NO_MEASURE = frozenset({"leaf", "by", "met"})


def verdict_words(
    note: Mapping[str, Json], width_max: int = 60, *, with_reasons: bool = True
) -> str:
    """What was found at the end of an iteration, from its note."""
    error = note.get("error")
    if isinstance(error, dict):
        return line(str(error.get("message", "failed")), width_max)
    facts = _facts(note)
    if note.get("met"):
        facts = [fact for fact in facts if fact.get("met")] or facts
    if not with_reasons:
        facts = [
            f | {"answer": _answer_of(f), "reason": ""} if f.get("reason") else f for f in facts
        ]
    words = [fact_words(fact) for fact in facts if fact.keys() - _NO_MEASURE]
    words = words or ([str(note["by"])] if note.get("by") else [])
    outside = note.get("outside")
    if isinstance(outside, dict) and outside_words(outside) not in words:
        # Whatever ended the iteration, a score that does not count must not go unseen.
        words.append(outside_words(outside))
    return line("; ".join(words), width_max)


def goals_of(note: Mapping[str, Any]) -> tuple[float, ...]:
    """The scores that an iteration was measured against."""
    goals = [fact.get("at_least") for fact in _facts(note) if fact.get("by") == "score"]
    return tuple(float(goal) for goal in goals if isinstance(goal, int | float))


def _facts(note: Mapping[str, Any]) -> list[dict[str, Any]]:
    facts = note.get("facts")
    return [fact for fact in facts if isinstance(fact, dict)] if isinstance(facts, list) else []


def score_cell(note: Mapping[str, Any], number: float | None) -> str:
    """The score of an iteration in a table; one outside its range is marked: its words say why."""
    outside = note.get("outside")
    if number is None and isinstance(outside, dict):
        return f"{bare(outside.get('score'))}!"
    return score(number, *goals_of(note))


def fact_words(fact: Mapping[str, Any]) -> str:
    """One condition's value, such as `score 0.40 < 0.95`."""
    match fact.get("by"):
        case "score":
            number, goal = fact.get("score"), fact.get("at_least")
            if fact.get("outside") is not None:
                return outside_words({**fact, "score": fact["outside"]})
            if number is None:
                return "no score"
            sign = "≥" if fact.get("met") else "<"
            return f"score {score(number, goal)} {sign} {score(goal, number)}"
        case "judge" if fact.get("reason"):
            return f"judge: {_answer_of(fact)}. {line(str(fact['reason']), 160)}"
        case "judge":
            answer = line(str(fact.get("answer", "")), 80)
            return f"judge: {answer}" if answer else "judge: no clear answer"
        case "expression":
            expression = line(str(fact.get("expression", "")), 60)
            if fact["met"] is None:
                lost: Any = fact.get("failed") or []
                return f"{expression} is not known: {', '.join(map(repr, lost))} failed"
            if " is " in expression:
                # A sentence, which is so or is not.
                return f"{expression}: {'yes' if fact['met'] else 'no'}"
            return f"{expression} is {str(bool(fact['met'])).lower()}"
        case "stable":
            return f"{bare(round(float(fact.get('similarity', 0)), 4) * 100)}% alike"
        case "plateau":
            stale = plural(int(fact.get("stale") or 0), "iteration")
            return f"{stale} without a better score"
        case "branch":
            return f"branch {fact.get('branch')!r}"
    return str(fact.get("by", ""))


def reason_lines(note: Mapping[str, Any]) -> list[str]:
    """Why judges decided as they did, in their own words, with what they quote."""
    lines: list[str] = []
    for fact in _facts(note):
        reason, evidence = line(str(fact.get("reason") or ""), 600), fact.get("evidence")
        if reason:
            lines.append(f"{_answer_of(fact)}. {reason}")
        if evidence:
            found = "" if fact.get("evidence_in_text") else "  (not found in the text)"
            lines.append(f'"{line(str(evidence), 600)}"{found}')
    return lines


def _answer_of(fact: Mapping[str, Any]) -> str:
    met = fact.get("met")
    return "no clear answer" if met is None else "YES" if met else "NO"


def condition_words(condition: Condition | None) -> str:
    """A loop's condition as a person would say it."""
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
            return f"{bare(condition.threshold * 100)}% alike"
        case ir.Plateau():
            return f"no better score for {condition.patience}"
        case ir.AnyOf() | ir.AllOf():
            word = " or " if isinstance(condition, ir.AnyOf) else " and "
            parts = [condition_words(part) for part in condition.conditions]
            return word.join(part for part in parts if part)
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
    """The forecast in words, or nothing when no call is made.

    "At most" is said of money only where something bounds it; anything else is an estimate.
    """
    if forecast.calls == 0:
        return ""
    words = calls_words(forecast.calls, forecast.usual)
    if forecast.has_tools:
        words += " and the tools that models use"
    if forecast.is_priced:
        return words + _cost_words(forecast)
    words += ", of a price that is not known"
    if forecast.budget_usd is None:
        return words
    budget = f"the budget of {allowed(forecast.budget_usd)} cannot hold them"
    return f"{words}, so {budget}: set [prices.MODEL] in whorl.toml"


def effects_words(effects: Effects) -> str:
    """What a workflow would write, run and call; nothing where it does nothing outside."""
    verbs = (("writes", effects.writes), ("runs", effects.runs), ("calls", effects.calls))
    return "; ".join(f"{verb} {_some(names)}" for verb, names in verbs if names)


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(map(safe, names[:_NAMED_MAX]))
    more = len(names) - _NAMED_MAX
    return f"{shown} and {more} more" if more > 0 else shown


def _cost_words(forecast: Forecast) -> str:
    cost, bound, budget = forecast.cost_usd, forecast.bound_usd, forecast.budget_usd
    about = f", about {dollars(cost or 0.0)}"
    if budget is not None and (bound is None or bound >= budget):
        return f"{about if cost and cost < budget else ''}; at most {allowed(budget)}, the budget"
    if bound is not None:
        return f", at most {dollars_at_most(bound)}" if bound else ""
    if not cost:
        return ""
    why = "prompts may be longer than they are in the file"
    if forecast.answer_tokens:
        why = f"answers may be longer than {forecast.answer_tokens:,} tokens"
    return f"{about}, an estimate: {why}"


def calls_words(calls: int | None, usual: int | None) -> str:
    """How many calls there can be, and how many of them if none has to be tried again."""
    if calls is None:
        return "the number of calls depends on the inputs"
    words = f"at most {plural(calls, 'call')}"
    return words if usual is None or usual == calls else f"{words} ({usual:,} without retries)"


def judgement_lines(vocabulary: Json, event: Event) -> list[str]:
    """A line for each judgement of an iteration that has just finished."""
    if event.kind != "iteration.finished":
        return []
    own: Any = vocabulary.get("judgement") if isinstance(vocabulary, dict) else None
    words: dict[str, str] = _JUDGEMENT | (own or {})
    facts: Any = event.body.get("facts") or []
    lines: list[str] = []
    for fact in facts:
        if fact.get("by") == "judge":
            state = {None: "ambiguous", True: "met", False: "not_met"}[fact.get("met")]
            filled = {name: fact.get(name, "") for name in ("question", "answer")}
            verdict = _fill(words[state], filled)
            lines.append(safe(_fill(words["line"], filled | {"verdict": verdict})))
    return lines


def status_lines(vocabulary: Json, path: str, facts: dict[str, str]) -> list[str]:
    """What a dialect says of a run in the loop at `path`; nothing where it has no words for it."""
    words: Any = vocabulary if isinstance(vocabulary, dict) else {}
    lines: list[str] = words.get("status") or []
    of_loop = {name: str(word) for name, word in (words.get("loops") or {}).get(path, {}).items()}
    return [safe(_fill(line, of_loop | facts)) for line in lines]


def _fill(text: str, values: dict[str, str]) -> str:
    for name, value in values.items():
        text = text.replace("{" + name + "}", str(value))
    return text
