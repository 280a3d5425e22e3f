"""What was said and done since the prompt, when a model has asked for tools: as messages."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from whorl.ir.worst_case import TURNS
from whorl.providers.models.wire import Message
from whorl.providers.models.wires.calls import tool_call
from whorl.providers.models.wires.streaming import table_of, tables_of
from whorl.providers.texts import clean

if TYPE_CHECKING:
    from whorl.language import Json
    from whorl.providers.models.wire import Answer

RESULT_MAX = 50_000

_UNUSUAL = re.compile(r"[^a-zA-Z0-9_-]")


def turn_messages(turns: list[Json]) -> list[Message]:
    """The messages of all turns so far."""
    found: list[Message] = []
    names: dict[str, str] = {}
    for turn in tables_of(turns):
        if turn.get("role") == "tool":
            call = str(turn.get("id"))
            text, failed = _result(turn)
            found.append(Message("tool", text, call=call, tool=names.get(call, ""), failed=failed))
            continue
        calls = tuple(
            tool_call(
                number,
                call_id=call.get("id"),
                name=call.get("name"),
                arguments=call.get("arguments"),
            )
            for number, call in enumerate(tables_of(turn.get("calls")), start=1)
        )
        names |= {call.id: call.name for call in calls}
        found.append(Message("assistant", clean(str(turn.get("content") or "")), calls))
    return found


def is_last_turn(turns: list[Json], most: int | None) -> bool:
    """Whether the model may ask for no more tools."""
    return _number(turns) >= (most or TURNS)


def pins_of(turns: list[Json]) -> dict[str, str]:
    """The hashes of all descriptions of tools that the model was told in earlier turns."""
    return {
        name: str(pin)
        for turn in tables_of(turns)
        for name, pin in table_of(turn.get("tools")).items()
    }


def said_of(answer: Answer, turns: list[Json], pins: dict[str, Json]) -> tuple[Json, list[str]]:
    """What a model said that wants tools, for its next turn; and ids that no turn has used yet."""
    known = {str(call.get("id")) for turn in tables_of(turns) for call in _calls(turn)}
    ids: list[str] = []
    for call in answer.calls:
        name = _UNUSUAL.sub("-", call.id)
        if name in known or name in ids:
            name = f"{name}-{_number(turns)}-{len(ids) + 1}"
        ids.append(name)
    calls: list[Json] = [
        {"id": known_as, "name": call.name, "arguments": call.arguments}
        for known_as, call in zip(ids, answer.calls, strict=True)
    ]
    said: Json = {"role": "assistant", "content": answer.text, "calls": calls, "tools": pins}
    return said, ids


def _calls(turn: dict[str, Json]) -> list[dict[str, Json]]:
    return tables_of(turn.get("calls"))


def _number(turns: list[Json]) -> int:
    return 1 + sum(turn.get("role") != "tool" for turn in tables_of(turns))


def _result(turn: dict[str, Json]) -> tuple[str, bool]:
    """The text that a model sees of a result, and whether it is one of a failure."""
    if "error" in turn:
        return clean(f"error: {turn['error']}")[:RESULT_MAX], True
    value = turn.get("value")
    text = clean(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
    left_out = len(text) - RESULT_MAX
    if left_out <= 0:
        return text, False
    half = RESULT_MAX // 2
    return f"{text[:half]}\n[{left_out} characters left out]\n{text[-half:]}", False
