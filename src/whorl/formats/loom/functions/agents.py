"""Functions of agents: what a model said and wants, what its tools gave, and who goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.formats.loom.functions.actions import entries_of, fact, record_of
from whorl.formats.loom.values.printing import json_text

if TYPE_CHECKING:
    from whorl.language.calls import Run
    from whorl.language.values import Value

# About so many characters are a token.
_TOKEN = 4


def agent_calls(run: Run, asked: str) -> list[Value]:
    """The tools that a model wants."""
    reply = fact(run, asked)
    calls = reply.get("calls") if isinstance(reply, dict) else None
    return calls if isinstance(calls, list) else []


def agent_done(run: Run, asked: str) -> Value:
    """Whether a model wants no tool."""
    return not agent_calls(run, asked)


def agent_tool(run: Run, agent: str, call: str) -> Value:
    """The tool that is called, behind the agent that has it."""
    wanted = fact(run, call)
    name = wanted.get("name") if isinstance(wanted, dict) and "error" not in wanted else ""
    return f"{fact(run, agent)}/{name}"


def agent_result(run: Run, call: str, tool: str) -> Value:
    """What became of a call, for the model that made it."""
    wanted, record = fact(run, call), record_of(run, tool)
    assert isinstance(wanted, dict)
    entry: dict[str, Value] = {"role": "tool", "id": wanted.get("id")}
    if "error" in wanted:
        return entry | {"error": wanted["error"]}
    if isinstance(error := record.get("error"), dict):
        return entry | {"error": error.get("message")}
    return entry | {"value": record.get("outputs")}


def agent_turns(run: Run, turns: str, names: list[str]) -> Value:
    """What was said so far, with what the model said last and what its tools gave."""
    asked, used, result = names
    before, reply, results = fact(run, turns), fact(run, asked), fact(run, used)
    assert isinstance(before, list)
    turn = reply.get("turn") if isinstance(reply, dict) else None
    rows = results if isinstance(results, list) else []
    run.spend(len(before) + len(rows))
    return [*before, turn, *(row.get(result) for row in rows if isinstance(row, dict))]


def agent_recent(run: Run, turns: str, kept: dict[str, int]) -> Value:
    """What was said so far, without the oldest of it where that is more than an agent keeps."""
    history = fact(run, turns)
    assert isinstance(history, list)
    return history[_oldest(run, history, kept) :]


def agent_left(run: Run, turns: str, kept: dict[str, int], most: int) -> Value:
    """How often a model may still answer, counted from the oldest turn that it is told."""
    history = fact(run, turns)
    assert isinstance(history, list)
    dropped = history[: _oldest(run, history, kept)]
    return max(1, most - sum(not _is_result(turn) for turn in dropped))


def _oldest(run: Run, history: list[Value], kept: dict[str, int]) -> int:
    """Where what is kept begins: a tool's result is of use with the turn that asked for it only."""
    begins = [index for index, turn in enumerate(history) if not _is_result(turn)]
    tokens, messages = kept.get("tokens"), kept.get("messages")
    size, first = 0, len(history)
    while first > 0:
        size += len(json_text(run, history[first - 1])) // _TOKEN if tokens else 0
        if (tokens and size > tokens) or (messages and len(history) - first >= messages):
            break
        first -= 1
    return next((begin for begin in begins if begin >= first), begins[-1] if begins else 0)


def _is_result(turn: Value) -> bool:
    return isinstance(turn, dict) and turn.get("role") == "tool"


def agent_after(run: Run, agent: str, asked: str, handovers: Value) -> Value:
    """The agent that goes on: the last one that was handed over to, or the same."""
    own = fact(run, agent)
    assert isinstance(handovers, dict)
    calls = [call for call in agent_calls(run, asked) if isinstance(call, dict)]
    keys = [f"{own}/{call.get('name')}" for call in calls if "error" not in call]
    return next((handovers[key] for key in reversed(keys) if key in handovers), own)


def agent_outputs(run: Run, results: Value, asked: str) -> Value:
    """What an agent gives: its last words, and how often it was asked."""
    given = results if isinstance(results, dict) else {}
    reply, loop = given.get(asked), given.get("loop")
    words = reply.get("content") if isinstance(reply, dict) else reply
    count = loop.get("iterations") if isinstance(loop, dict) else None
    return {"body": words, "lastAssistantMessage": words, "iterations": count}


_COMPUTING = (
    *(agent_result, agent_turns, agent_after, agent_outputs, agent_tool, agent_done),
    *(agent_recent, agent_left),
)
AGENT_FUNCTIONS = tuple(entries_of((agent_calls,), _COMPUTING))
