"""Blocks of actions: their order, the settings that all have, and each by its kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, assert_never

from whorl import ir
from whorl.dialects.loom.vocabulary import STATUSES
from whorl.dialects.loom.writing import control, foreign, loops, plain, variables, work
from whorl.dialects.loom.writing.control import SHARED
from whorl.dialects.loom.writing.times import iso, retry_policy
from whorl.ir.walk import walk

if TYPE_CHECKING:
    from whorl.dialects.loom.writing.here import Here
    from whorl.ir.fields import Wanted

_WORDS = dict(STATUSES)
_SUCCEEDED: tuple[Wanted, ...] = ("succeeded",)
# Inputs that no record tells.
_UNTOLD = ("authentication", "retryPolicy")


_SAID: dict[str, tuple[str, ...]] = {
    "Task": work.SAID,
    "Branch": ("cases", "subject", "default"),
    "Group": ("body",),
    "Call": ("workflow", "inputs"),
    "Compute": ("value", "over", "keep"),
    "Assign": ("sets", "operation"),
    "Wait": ("duration", "until"),
    "Stop": ("status", "message", "output"),
    # These are losses as a whole.
    "Gate": ("message", "show", "on_timeout", "on_reject"),
    "Break": ("loop",),
    "Continue": ("loop",),
}


def write_block(here: Here, block: ir.Block) -> dict[str, Any]:
    """The actions of a block, by name."""
    actions: dict[str, Any] = {}
    before = ""
    # A step that runs on a condition stands in an action of its own.
    around = {node.name: _around(here, node) for node in block.nodes}
    for node in block.nodes:
        inner = here.at(node)
        after = tuple(_said_after(one, around) for one in node.after)
        for name, action in _actions(inner, node, around[node.name]).items():
            usual = (ir.After(before, _SUCCEEDED),) if before and here.page.lenient else ()
            if after != usual:
                action["runAfter"] = {one.node: [_WORDS[s] for s in one.statuses] for one in after}
            actions[name] = action
            if all("succeeded" in one.statuses for one in after):
                before = name
            after = (ir.After(name, _SUCCEEDED),)
    return actions


def _around(here: Here, node: ir.Node) -> str:
    return node.name if here.page.is_own or node.when is None else f"{node.name}_if"


def _said_after(one: ir.After, around: dict[str, str]) -> ir.After:
    """What an action waits for; one that passed has succeeded there."""
    statuses = _SUCCEEDED if one.statuses == ("passed",) else one.statuses
    return ir.After(around.get(one.node, one.node), statuses)


def _actions(here: Here, node: ir.Node, name: str) -> dict[str, Any]:
    """The action of a node, behind those that it needs before it."""
    found: dict[str, Any] = {}
    if isinstance(node, ir.Loop) and node.carry:
        found = foreign.carried_before(here, node)
    action = _write(here, node)
    if name == node.name:
        return found | {name: action}
    assert node.when is not None
    if any(isinstance(inner, ir.Loop) for _, inner in walk(ir.Block((node,)))):
        here.lose("the address of a loop that runs on a condition", "it stands in an `if` there")
    test = here.source(node.when, condition=True)
    key = "condition" if here.page.lenient else "expression"
    wrapped = {"type": here.page.word("If"), key: test, "actions": {node.name: action}}
    return found | {name: wrapped}


def _write(here: Here, node: ir.Node) -> dict[str, Any]:
    action = _kind(here, node)
    if node.echo is not None:
        _echo(here, node.echo, action)
    if node.timeout_s is not None:
        if isinstance(node, ir.Loop):
            action["timeout"] = node.timeout_s * 1_000
        else:
            action["limit"] = {"timeout": iso(node.timeout_s)}
    if not isinstance(node, ir.Task) and node.retry is not None:
        action["retry" if here.page.lenient else "retryPolicy"] = retry_policy(
            here, node.retry, None
        )
    if node.on_failure != "halt":
        here.lose("a failure that lets others go on", "`runAfter` of each of them says so there")
    if not here.page.is_own and not isinstance(node, ir.Loop | ir.ForEach):
        here.lose_unsaid(node, (*SHARED, *_SAID[type(node).__name__]))
    return action


def _echo(here: Here, echo: ir.Value, action: dict[str, Any]) -> None:
    """What an action was given is told as its author wrote it."""
    given, ours = here.value(echo), action.get("inputs")
    if isinstance(given, dict) and isinstance(ours, dict):
        hidden = {name: ours[name] for name in _UNTOLD if name in ours}
        given = given | hidden
    action["inputs"] = given


def _kind(here: Here, node: ir.Node) -> dict[str, Any]:
    match node:
        case ir.Task():
            return work.write_task(here, node)
        case ir.Loop():
            return loops.write_loop(here, node, write_block)
        case ir.ForEach():
            return control.write_each(here, node, write_block)
        case ir.Branch():
            return control.write_branch(here, node, write_block)
        case ir.Group():
            return control.write_group(here, node, write_block)
        case ir.Call():
            return plain.write_call(here, node)
        case ir.Compute():
            return plain.write_compute(here, node)
        case ir.Assign():
            return variables.write_assign(here, node)
        case ir.Wait():
            return plain.write_wait(here, node)
        case ir.Stop():
            return plain.write_stop(here, node)
        case ir.Gate() | ir.Break() | ir.Continue():
            words = type(node).__name__.lower()
            here.lose(f"a {words}", "the format has no action for it")
            return {"type": here.page.word("Compose"), "inputs": None}
        case _:
            assert_never(node)
