"""The loop: everything that `repeat` can say."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from whorl import ir
from whorl.dialects.native.names import FACTS
from whorl.dialects.native.repeat import HISTORY_KEPT
from whorl.dialects.native.writing.actions import constant_duration
from whorl.dialects.native.writing.conditions import write_condition
from whorl.dialects.writing import Inline, duration_text
from whorl.ir.nodes import ITERATIONS_MAX
from whorl.language import tree
from whorl.language.printing import CannotSay

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.dialects.native.writing.here import Here
    from whorl.dialects.native.writing.shapes import Replacement

SAID = (
    "body",
    "until",
    "check",
    "limits",
    "on_limit",
    "carry",
    "returns",
    "collect",
    "delay",
    "on_iteration_failure",
    "session",
    "memory",
    "ask",
    "facts",
    "bind",
    "history_keep",
)
_NAMES = {fact: name for name, fact in FACTS.items()}


def write_loop(
    here: Here, node: ir.Loop, write_block: Callable[[Here, ir.Block], dict[str, Any]]
) -> dict[str, Any]:
    """The fields of a loop, its steps last."""
    inside = _inside(here, node)
    repeat: dict[str, Any] = {}
    if node.until is not None:
        repeat["until"] = write_condition(inside, node.until, node.body)
    _add_words(here, node, repeat)
    repeat["at_most"] = _limits(here, node.limits)
    if node.carry:
        repeat["carry"] = {
            here.naming.of(carry.name): _carried(here, inside, carry) for carry in node.carry
        }
    if node.delay is not None:
        repeat["wait"] = _delay(inside, node.delay)
    _add_failure(here, node.on_iteration_failure, repeat)
    if node.collect:
        repeat["collect"] = {
            here.result_name(one.name): {one.take: inside.value(one.value)} for one in node.collect
        }
    if node.memory is not None:
        repeat["memory"] = _memory(here, inside, node)
    repeat["steps"] = write_block(inside, node.body)
    return {"repeat": _in_order(repeat)}


_ORDER = (
    "until",
    "check",
    "at_most",
    "on_limit",
    "carry",
    "return",
    "on_failure",
    "wait",
    "ask_person",
    "collect",
    "memory",
    "session",
    "steps",
)


def _in_order(repeat: dict[str, Any]) -> dict[str, Any]:
    return {name: repeat[name] for name in _ORDER if name in repeat}


def _add_words(here: Here, node: ir.Loop, repeat: dict[str, Any]) -> None:
    if node.check == "between":
        here.lose("a condition that is weighed between iterations", "it is before or after each")
    elif node.check != "after":
        repeat["check"] = node.check
    for name, word, default in (
        ("on_limit", node.on_limit, "finish"),
        ("return", node.returns, "last"),
        ("session", node.session, "fresh"),
        ("ask_person", node.ask, "never"),
    ):
        if word != default:
            repeat[name] = word


def _limits(here: Here, limits: ir.LoopLimits) -> Any:
    found: dict[str, Any] = Inline()
    found["iterations"] = _iterations(here, limits.iterations)
    if isinstance(limits.time_s, ir.Expression):
        found["time"] = here.template(limits.time_s)
    elif limits.time_s is not None:
        found["time"] = duration_text(limits.time_s)
    if limits.iteration_time_s is not None:
        found["each_time"] = duration_text(limits.iteration_time_s)
    for name, value in (("cost", limits.cost_usd), ("tokens", limits.tokens)):
        if value is not None:
            found[name] = value
    if limits.calls is not None:
        found["calls"] = limits.calls
    if not limits.interrupts and limits.time_s is not None:
        here.lose("a time limit that lets an iteration finish", "`time` interrupts it")
    return found["iterations"] if len(found) == 1 else found


def _iterations(here: Here, most: int | ir.Expression) -> int | str:
    if isinstance(most, ir.Expression):
        return here.template(most)
    if not 1 <= most <= ITERATIONS_MAX:
        here.lose(f"a limit of {most:,} iterations", f"it is from 1 to {ITERATIONS_MAX:,}")
    return min(max(1, most), ITERATIONS_MAX)


def _carried(here: Here, inside: Here, carry: ir.Carry) -> Any:
    first = None if carry.first is None else here.value(carry.first)
    later = None if carry.later is None else inside.value(carry.later)
    if carry.first is None and carry.later is not None:
        is_plain = not isinstance(later, dict) or not set(later) <= {"first", "then"}
        return later if is_plain else {"then": later}
    found = {} if carry.first is None else {"first": first}
    return found if carry.later is None else found | {"then": later}


def _delay(inside: Here, delay: ir.Value) -> str | float:
    if isinstance(delay, ir.Constant):
        return constant_duration(inside, delay)
    return inside.text(delay)


def _add_failure(here: Here, failure: ir.IterationFailure, repeat: dict[str, Any]) -> None:
    if failure.action == "retry":
        repeat["on_failure"] = Inline(retry=failure.times)
        if failure.wait_s:
            here.lose(f"a wait of {failure.wait_s} s before an iteration is retried", "no field")
    elif failure.action == "continue":
        repeat["on_failure"] = "continue"
    if failure.last_counts:
        here.lose("a last iteration whose failure counts", "`on_failure: continue` forgives it")


def _memory(here: Here, inside: Here, node: ir.Loop) -> dict[str, Any]:
    memory = node.memory
    assert memory is not None
    here.lose_unsaid(memory, ("record", "keep", "across_runs", "key"))
    found: dict[str, Any] = {"keep": memory.keep}
    if memory.across_runs:
        found["across_runs"] = True
        found["key"] = memory.key
    if memory.record.entries:
        found["record"] = inside.value(memory.record)
    return found


def _inside(here: Here, node: ir.Loop) -> Here:
    """The scope of an iteration: facts have the names of the format there."""
    replaced = {name: _outer(name, one) for name, one in here.replaced.items()}
    for name, fact in node.facts:
        if FACTS.get(name) == fact:
            replaced.pop(name, None)
        else:
            replaced[name] = _fact(node, name, fact)
    for carry in node.carry:
        replaced.pop(carry.name, None)
    kept = node.history_keep
    most = node.limits.iterations
    is_cut = not isinstance(most, int) or most > min(kept, HISTORY_KEPT)
    if "history" in dict(node.facts).values() and kept and kept != HISTORY_KEPT and is_cut:
        here.lose(f"a history of {kept} iterations", f"the format keeps {HISTORY_KEPT}")
    inside = replace(
        here,
        replaced=replaced,
        shapes=here.shapes.within(node),
        loops=(*here.loops, node.name),
    )
    for name, value in node.bind:
        replaced[name] = _bound(inside, node, name, value)
    return inside


def _bound(inside: Here, node: ir.Loop, name: str, value: ir.Value) -> Replacement:
    """A name that is computed in each iteration: its value stands wherever it is read."""
    try:
        return inside.built(value, node)
    except CannotSay as loss:
        return CannotSay(f"the name {name!r}", f"{loss.what}: {loss.why}")


def _fact(node: ir.Loop, name: str, fact: str) -> Replacement:
    if fact in _NAMES:
        return tree.Name(_NAMES[fact], 0)
    if fact == "index":
        return tree.Arithmetic(tree.Name("iteration", 0), (("-", tree.Literal(1)),), 0)
    if fact == "limit" and isinstance(node.limits.iterations, int):
        return tree.Literal(node.limits.iterations)
    return CannotSay(f"the name {name!r}", f"the format does not tell the {fact} of a loop")


def _outer(name: str, replacement: Replacement) -> Replacement:
    """A fact of a loop further out: inside of another loop, its name means that one's."""
    if isinstance(replacement, CannotSay | tree.Literal):
        return replacement
    return CannotSay(f"the name {name!r}", "it tells of a loop further out, which has no name here")
