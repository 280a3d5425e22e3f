"""An answer that is taken in event by event, as a server streams it."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from whorl.providers.json_values import as_text, clean
from whorl.providers.models.conversation import Answer, counted, tool_calls

if TYPE_CHECKING:
    from whorl.language import Json
    from whorl.providers.task import Emit

    Body = dict[str, Json]

CALLS_MAX = 64


class AnswerReader:
    """Takes in the events of an answer; `counts` names the tokens read and written in `usage`."""

    counts: ClassVar[tuple[str, str]]

    def __init__(self, emit: Emit) -> None:
        self._emit = emit
        self._pieces: list[str] = []
        self._held = ""
        self._calls: dict[str, dict[str, str]] = {}
        self._last_keys: dict[str, str] = {}
        self.usage: Body = {}
        self.finish = ""
        self.refusal = ""
        self.served_by: Json = None
        self.has_message = False

    def take(self, event: Body) -> bool:
        """Takes in an event of a stream; true where it is the last one."""
        raise NotImplementedError

    def take_reply(self, reply: Body) -> None:
        self.take(reply)

    @property
    def text(self) -> str:
        return "".join(self._pieces)

    def add_text(self, piece: Json) -> None:
        """Takes the next piece; half of a character that was cut in two waits for the other."""
        if not piece or not isinstance(piece, str):
            return
        self._pieces.append(piece)
        piece, self._held = self._held + piece, ""
        if "\ud800" <= piece[-1] <= "\udbff":
            piece, self._held = piece[:-1], piece[-1]
        if piece:
            self._emit(clean(piece))

    def add_call(
        self, place: Json, *, call_id: Json = None, name: Json = None, arguments: Json = None
    ) -> None:
        """Takes a piece of the call at a place (None: the next); another id begins another."""
        place = str(len(self._calls) if place is None else place)
        key = self._last_keys.get(place, place)
        earlier_id = self._calls.get(key, {}).get("id")
        if earlier_id and isinstance(call_id, str) and call_id and call_id != earlier_id:
            key = f"{place} {call_id}"
        self._last_keys[place] = key
        if key not in self._calls and len(self._calls) >= CALLS_MAX:
            return
        call = self._calls.setdefault(key, {"id": "", "name": "", "arguments": ""})
        for field, piece in (("id", call_id), ("name", name)):
            if isinstance(piece, str) and piece and not call[field]:
                call[field] = piece
        if arguments is not None:
            call["arguments"] += as_text(arguments)

    def answer(self) -> Answer:
        """The answer, with the counts that the server gave and the model that it says it used."""
        if self._held:
            self._emit(clean(self._held))
        is_named = isinstance(self.served_by, str) and self.served_by
        return Answer(
            clean(self.text),
            self.finish,
            counted(self.usage.get(self.counts[0])),
            counted(self.usage.get(self.counts[1])),
            {"served_by": clean(str(self.served_by))[:200]} if is_named else {},
            tool_calls([{**call} for call in self._calls.values()]),
            refusal=self.refusal,
        )
