"""What each node of a block is up to, also those of which the journal tells nothing.

A group, a list or a wait leaves no entry when it begins; what runs before, inside and after it says
how far it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.interpreter.events import join
from whorl.ir import Assign, Break, Compute, Continue, Group, Stop

if TYPE_CHECKING:
    from whorl.interfaces.progress import LoopProgress, Progress, Step
    from whorl.ir import Block, Node

# What is computed at once, or ends something else, is not drawn.
UNSEEN = (Compute, Assign, Stop, Break, Continue)
_UNDER_WAY = frozenset({"running", "retrying", "waiting"})
_WELL = frozenset({"succeeded", "skipped"})


def states_of(progress: Progress, block: Block, address: str) -> dict[str, str]:
    """The state of each node by its name: running, succeeded, failed; empty: it has not begun."""
    signs = {node.name: _sign(progress, join(address, node.name)) for node in block.nodes}
    states: dict[str, str] = {}
    for node in block.nodes:
        sign = signs[node.name]
        is_left = any(_follows(other, node) and signs[other.name] for other in block.nodes)
        if sign in ("", "running") and (is_left or progress.status == "succeeded"):
            states[node.name] = "succeeded"
        elif isinstance(node, Group) and sign == "running":
            inner = states_of(progress, node.body, join(address, node.name))
            is_done = all(state in _WELL for state in inner.values())
            states[node.name] = "succeeded" if is_done else sign
        elif not sign and _is_due(node, states, progress):
            states[node.name] = "succeeded" if isinstance(node, UNSEEN) else "running"
        else:
            states[node.name] = sign
    return states


def newest_loop(progress: Progress, address: str) -> LoopProgress | None:
    """The loop at an address; one that was run again has a number behind its name."""
    found = [
        loop
        for key, loop in progress.loops.items()
        if key == address or key.startswith(f"{address}#")
    ]
    return found[-1] if found else None


def steps_below(progress: Progress, address: str) -> list[Step]:
    """The steps inside of what is at an address."""
    return [step for key, step in progress.steps.items() if is_below(key, address)]


def is_below(address: str, above: str) -> bool:
    """Whether an address lies inside another one."""
    return address.startswith((f"{above}/", f"{above}["))


def _sign(progress: Progress, address: str) -> str:
    """What the journal tells about a node, by itself or by what is inside of it."""
    loop = newest_loop(progress, address)
    if loop is not None:
        ended = "failed" if loop.is_failed else "succeeded"
        return ended if loop.exit_reason else "running"
    step = progress.steps.get(address)
    if step is not None and not step.branch:
        return "running" if step.state in _UNDER_WAY else step.state
    inside = steps_below(progress, address)
    if any(one.state in _UNDER_WAY for one in inside) or not inside:
        return "running" if inside or (step is not None and progress.status == "running") else ""
    if progress.status not in ("failed", "cancelled"):
        return "running"
    worst = {one.state for one in inside} - _WELL
    return "failed" if "failed" in worst else "cancelled" if worst else "succeeded"


def _follows(other: Node, node: Node) -> bool:
    return any(after.node == node.name for after in other.after)


def _is_due(node: Node, states: dict[str, str], progress: Progress) -> bool:
    """Whether everything that a node waits for is over."""
    is_free = all(states.get(after.node) in _WELL for after in node.after)
    return is_free and progress.status == "running"
