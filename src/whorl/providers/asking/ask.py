"""The task `ask`: ask a model for an answer.

One call is one question to one model. A model that wants tools does not get them in here: the reply
holds the `calls`, the machine carries them out, each journaled, and asks again with their results
in `turns`.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

from whorl.errors import ProviderError
from whorl.ir.worst_case import TURNS
from whorl.providers.context import OwnTask
from whorl.providers.json_values import clean, table_of, tables_of
from whorl.providers.models.attachments import described, expected_files, read_files, with_texts
from whorl.providers.models.conversation import (
    Conversation,
    Message,
    next_turn,
    pins_of,
    result_warnings,
    turn_messages,
    turn_number,
)
from whorl.providers.models.selection import choose_models
from whorl.providers.models.typed_answers import (
    correction_for,
    fault_words,
    instruction_for,
    typed_answer,
)
from whorl.providers.redaction import redact
from whorl.providers.task import Effect, Emit, Estimate, Inputs, Reply, Request, before_sending

if TYPE_CHECKING:
    from whorl.language import Json
    from whorl.providers.asking.offers import ToolOffers
    from whorl.providers.models.conversation import Answer, Attachment, Role, ToolOffer


_ROLES: dict[str, Role] = {"system": "system", "user": "user", "assistant": "assistant"}


class Ask(OwnTask):
    """Inputs: prompt or messages, system, model (one or a list), provider, model_url, temperature,
    top_p, max_tokens, stop, seed, images and files (paths of what goes with the prompt), tools (MCP
    servers and tasks by name), max_turns, and turns: what was said and done since the prompt. The
    value is the answer's text, or what `returns` describes.

    With `offers` (name, description and schema of each) the workflow carries tools out itself, also
    those of `tools`, whose calls have the name of their server, and what the task `tool` needs: the
    value is `{content, calls, turn}`, and `turn` with the results goes into the next `turns`.
    """

    effect: Effect = "priced"

    def estimate(self, request: Request) -> Estimate:
        choice = choose_models(self._settings, request.inputs)
        files = expected_files(Inputs("ask", request.inputs), self._settings)
        return self._context.models.estimate(choice, conversation_of(request, files=files))

    async def perform(self, request: Request, emit: Emit) -> Reply:
        with before_sending():
            choice = choose_models(self._settings, request.inputs)
            own, offered = _own_offers(request), await self._offered(request)
            if own is not None and offered is not None:
                own.extend(offered)
            inputs = Inputs("ask", request.inputs)
            files: tuple[Attachment, ...] = ()
            if inputs.get("images") or inputs.get("files"):
                files = await asyncio.to_thread(read_files, inputs, self._settings, request.run)
            offers = tuple(tools.offers) if (tools := own or offered) else ()
            conversation = conversation_of(request, offers, files=files)
        answer, usage, detail = await self._context.models.ask(choice, conversation, request, emit)
        detail |= described(files)
        if warnings := result_warnings(inputs.items("turns")):
            earlier = detail.get("warnings")
            detail["warnings"] = [*(earlier if isinstance(earlier, list) else ()), *warnings]
        may_want = not (conversation.must_answer and answer.text)
        if own is not None:
            calls = answer.calls if may_want else ()
            detail |= {"tools": own.pins} if own.pins else {}
            return Reply(_turn_of(request, replace(answer, calls=calls), own), usage, detail)
        if offered is not None and answer.calls and may_want:
            return Reply(answer.text, usage, detail | self._wanted(request, answer, offered))
        value: Json = answer.text
        if request.returns is not None:
            extra: dict[str, Json] | None = None if request.inputs.get("strict") is True else {}
            value, faults = typed_answer(request.returns, answer.text, extra)
            detail |= {"extra": extra} if extra else {}
            if faults:
                cut = answer.finish == "length"
                advice = "; describe the fields in the prompt, or take a stronger model"
                advice = "; the answer was cut off, so raise max_tokens" if cut else advice
                why = f"the answer of {detail['model']} does not fit: {fault_words(faults)}"
                unfit = {"answer": answer.text, "errors": faults, "usage": usage.as_json()}
                raise ProviderError(f"{why}{advice}", code="P105", detail={**detail, **unfit})
        if offered is not None and offered.pins:
            # What the model was told is on record, though it wanted none of it.
            detail = detail | {"tools": offered.pins}
        return Reply(value, usage, detail)

    async def _offered(self, request: Request) -> ToolOffers | None:
        inputs = Inputs("ask", request.inputs)
        names = inputs.items("tools")
        if not names:
            return None
        from whorl.providers.asking.offers import offered_tools

        return await offered_tools(
            self._context, names, request.run, pins_of(inputs.items("turns"))
        )

    def _wanted(self, request: Request, answer: Answer, offered: ToolOffers) -> dict[str, Json]:
        turn, ids = next_turn(answer, Inputs("ask", request.inputs).items("turns"), offered.pins)
        calls = [offered.wanted(c, i) for c, i in zip(answer.calls, ids, strict=True)]
        detail: Json = {"calls": [*calls], "said": turn, "tools": offered.pins}
        redacted = redact(detail, self._settings.secrets())
        assert isinstance(redacted, dict)
        return redacted


def _own_offers(request: Request) -> ToolOffers | None:
    """The tools that the workflow itself carries out."""
    listed = request.inputs.get("offers")
    if not isinstance(listed, list):
        return None
    from whorl.providers.asking.offers import ToolOffers

    offers = ToolOffers()
    for offer in tables_of(listed):
        name, schema = str(offer.get("name")), table_of(offer.get("schema"))
        offers.add(name, str(offer.get("description") or ""), schema, {"name": name})
    return offers


def _turn_of(request: Request, answer: Answer, offers: ToolOffers) -> dict[str, Json]:
    """What a model said and wants, its tools by the names that the workflow has for them."""
    turn, ids = next_turn(answer, Inputs("ask", request.inputs).items("turns"), offers.pins)
    calls: list[Json] = []
    for call, call_id in zip(answer.calls, ids, strict=True):
        made: dict[str, Json] = {"id": call_id, "arguments": call.arguments}
        target = offers.targets.get(call.name)
        fault = call.fault if target else f"there is no tool {call.name!r}"
        made |= target or {"name": call.name}
        made.setdefault("name", made.get("server") or made.get("task"))
        calls.append(made | {"error": fault} if fault else made)
    return {"content": answer.text, "calls": calls, "turn": turn}


def conversation_of(
    request: Request, offers: tuple[ToolOffer, ...] = (), *, files: tuple[Attachment, ...] = ()
) -> Conversation:
    """What the model is sent; the texts are as the workflow made them, and rendered no more."""
    inputs = Inputs("ask", request.inputs)
    if not offers and (own := _own_offers(request)):
        offers = tuple(own.offers)
    turns, stop = inputs.items("turns"), inputs.get("stop")
    messages = [*_messages(inputs, request.returns, files), *turn_messages(turns)]
    if isinstance(request.repair, dict):
        # The wrong answer and what was wrong with it: this is the second try.
        repair = Inputs("ask", request.repair)
        correction = correction_for([str(fault) for fault in repair.items("errors")])
        messages.append(Message("assistant", clean(repair.text("answer"))))
        messages.append(Message("user", clean(correction)))
    return Conversation(
        messages=tuple(messages),
        temperature=inputs.number("temperature"),
        top_p=inputs.number("top_p"),
        max_tokens=inputs.count("max_tokens"),
        cap=request.cap,
        stop=(stop,) if isinstance(stop, str) else tuple(map(str, inputs.items("stop"))),
        seed=inputs.count("seed"),
        schema=request.returns,
        tools=offers,
        must_answer=turn_number(turns) >= (inputs.count("max_turns") or TURNS),
        key=request.key,
        address=request.address,
        attempt=request.attempt,
    )


def _messages(inputs: Inputs, schema: Json, files: tuple[Attachment, ...]) -> list[Message]:
    system = [text] if (text := inputs.text("system")) else []
    if schema is not None:
        # Stated in words too, because a server may not know `response_format` and ignore it.
        system.append(instruction_for(schema))
    messages = [Message("system", clean("\n\n".join(system)))] if system else []
    for item in inputs.items("messages"):
        fields = item if isinstance(item, dict) else {}
        role = _ROLES.get(str(fields.get("role")).lower())
        if role is None:
            inputs.refuse("messages", f"holds {item!r:.80}; each needs a role and a content")
        messages.append(Message(role, clean(Inputs("ask", fields).text("content"))))
    if inputs.get("prompt") is not None:
        prompt, files = with_texts(clean(inputs.text("prompt")), files)
        messages.append(Message("user", prompt, files=files))
    if not any(message.role == "user" for message in messages):
        inputs.refuse("prompt", "is missing")
    return messages
