"""Tool calls of models: gathered from pieces, their arguments read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.providers.models.wire import ToolCall
from whorl.providers.texts import NotJson, clean, parse_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whorl.language import Json

CALLS_MAX = 64


def tool_call(number: int, *, call_id: Json, name: Json, arguments: Json) -> ToolCall:
    """The call that a reply speaks of; one without an id is known by its number in the reply."""
    given = arguments
    fault = ""
    if isinstance(given, str):
        try:
            given = parse_json(given) if given.strip() else {}
        except NotJson as cause:
            given, fault = {}, f"its arguments are not JSON: {cause}"
    if given is None:
        given = {}
    if not isinstance(given, dict):
        given, fault = {}, "its arguments are no JSON object"
    known = clean(call_id) if isinstance(call_id, str) and call_id else f"call{number}"
    return ToolCall(known[:200], clean(str(name or ""))[:200], given, fault)


class Gathering:
    """Calls whose names and arguments arrive in pieces; each piece names the place of its call."""

    def __init__(self) -> None:
        self._found: dict[str, dict[str, str]] = {}
        self._last: dict[str, str] = {}

    def add(
        self, place: Json, *, call_id: Json = None, name: Json = None, text: Json = None
    ) -> None:
        """Takes a piece."""
        key = self._key(str(place), call_id)
        if key not in self._found and len(self._found) >= CALLS_MAX:
            return
        call = self._found.setdefault(key, {"id": "", "name": "", "text": ""})
        for field, piece in (("id", call_id), ("name", name)):
            if isinstance(piece, str) and piece and not call[field]:
                call[field] = piece
        if isinstance(text, str):
            call["text"] += text

    def _key(self, place: str, call_id: Json) -> str:
        """Some servers give all calls the same place; another id then begins another call."""
        key = self._last.get(place, place)
        known = self._found.get(key, {}).get("id")
        if known and isinstance(call_id, str) and call_id and call_id != known:
            key = f"{place} {call_id}"
        self._last[place] = key
        return key

    def calls(self) -> tuple[ToolCall, ...]:
        """The calls in the order in which they began."""
        return tuple(
            tool_call(number, call_id=call["id"], name=call["name"], arguments=call["text"])
            for number, call in enumerate(self._found.values(), start=1)
        )


def offered_json(name: str, description: str, schema: Mapping[str, Json]) -> dict[str, Json]:
    """A tool in the form that OpenAI and Ollama share."""
    function: dict[str, Json] = {"name": name, "parameters": dict(schema)}
    if description:
        function["description"] = description
    return {"type": "function", "function": function}
