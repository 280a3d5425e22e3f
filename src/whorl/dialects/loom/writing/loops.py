"""Loops: `until` and `doUntil` by the seed's rules, and Azure's `Until` by Azure's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whorl import ir
from whorl.dialects.loom.loops import COUNT, COUNT_MAX, TIME_MAX_S, TIME_S
from whorl.dialects.loom.writing import foreign
from whorl.dialects.loom.writing.times import interval, iso
from whorl.dialects.writing.unsaid import words_for

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.dialects.loom.writing.here import Here

SAID = (
    *("name", "after", "when", "on_failure", "retry", "timeout_s", "shape", "echo"),
    *("body", "until", "check", "limits", "on_limit", "carry", "returns", "delay"),
    *("on_iteration_failure", "facts", "history_keep"),
)
AZURE_FAILURE = ir.IterationFailure("continue", last_counts=True)


def write_loop(
    here: Here, node: ir.Loop, write_block: Callable[[Here, ir.Block], dict[str, Any]]
) -> dict[str, Any]:
    """A loop."""
    is_azure = node.on_iteration_failure == AZURE_FAILURE
    body = condition = here
    if not here.page.is_own:
        _lose_foreign(here, node)
        body, condition = foreign.inside_loop(here, node)
    action: dict[str, Any] = {"type": _type(here, node, is_azure)}
    name = _other_name(node)
    if name:
        action["name"] = name
    action["expression" if is_azure else "condition"] = _condition(condition, node)
    action["actions"] = write_block(body, node.body)
    if node.carry:
        last = foreign.carried_after(body, node)
        _follow(action["actions"], last)
    limit = _limit(here, node.limits, is_azure)
    if limit:
        action["limit"] = limit
    if node.delay is not None:
        action["delay"] = {"interval": interval(body, node.delay)}
    if is_azure and node.on_limit == "time_out":
        action["operationOptions"] = "FailWhenLimitsReached"
    return action


def _lose_foreign(here: Here, node: ir.Loop) -> None:
    """What the loops of a definition do not know."""
    if node.on_limit != "fail":
        here.lose(f"a loop that ends with {node.on_limit!r} at its limit", "it fails there")
    if node.on_iteration_failure != ir.IterationFailure():
        here.lose("what a loop does when an iteration fails", "it fails there")
    if node.returns != "last":
        here.lose(f"the result {node.returns!r} of a loop", "it is that of the last iteration")
    here.lose_unsaid(node, SAID)


def _follow(actions: dict[str, Any], last: dict[str, Any]) -> None:
    """Puts actions behind all others."""
    awaited = {name for action in actions.values() for name in action.get("runAfter", ())}
    names = list(actions)
    is_chain = all("runAfter" not in action for action in actions.values())
    leaves = [name for name in names if name not in awaited]
    for name, action in last.items():
        if not is_chain:
            action["runAfter"] = {leaf: ["Succeeded"] for leaf in leaves}
            leaves = [name]
        actions[name] = action


def _type(here: Here, node: ir.Loop, is_azure: bool) -> str:
    if is_azure or node.check == "before":
        return here.page.word("Until")
    return "doUntil"


def _condition(here: Here, node: ir.Loop) -> str:
    if isinstance(node.until, ir.When):
        return here.source(node.until.test, condition=True)
    if node.until is not None:
        words = words_for(node.until)
        here.lose(f"{words} as the condition of a loop", "a loop ends by an expression there")
    return "@false"


def _other_name(node: ir.Loop) -> str:
    """The second name of a loop, under which the loops inside know it."""
    indexes = dict(node.bind).get("$iterations")
    places = [f'"{name}"' for name, _ in node.facts]
    for key, value in indexes.entries if isinstance(indexes, ir.Fields) else ():
        source = value.source if isinstance(value, ir.Expression) else ""
        is_own = any(place in source for place in places)
        if is_own and isinstance(key, str) and key != node.name:
            return key
    return ""


def _limit(here: Here, limits: ir.LoopLimits, is_azure: bool) -> dict[str, Any]:
    found: dict[str, Any] = {}
    count, time = limits.iterations, limits.time_s
    if isinstance(count, ir.Expression):
        found["count"] = _counted(here, count)
    elif count != COUNT:
        found["count"] = count
        if count > COUNT_MAX and not is_azure:
            here.lose(f"{count} iterations", f"a loop takes at most {COUNT_MAX}")
            found["count"] = COUNT_MAX
    if isinstance(time, ir.Expression):
        found["timeout"] = here.source(time)
    elif time is None:
        here.lose("a loop without a limit of time", "each loop has one, of 24 hours at most")
        found["timeout"] = iso(TIME_MAX_S)
    elif time != TIME_S:
        found["timeout"] = iso(time)
        if time > TIME_MAX_S and not is_azure:
            here.lose(f"a time limit of {time:g} s", "a loop takes at most 24 hours")
            found["timeout"] = iso(TIME_MAX_S)
    here.lose_unsaid(limits, ("iterations", "time_s", "interrupts"))
    return found


def _counted(here: Here, count: ir.Expression) -> str:
    source = here.source(count)
    if source.startswith("@int(") and source.endswith(")") and here.page.is_own:
        return f"@{source[5:-1]}"
    return source
