"""The task `ask`: asks a model, and checks its answer where a typed one is wanted.

One call is one question to one model. A model that wants tools does not get them in here: the reply
holds the `calls`, the machine carries them out, each journaled, and asks again with their results
in `turns`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.errors import ProviderError
from whorl.providers.inputs import Inputs
from whorl.providers.models.answers import correction_for, instruction_for, typed_answer
from whorl.providers.models.asking import usage_json
from whorl.providers.models.choosing import choose_models
from whorl.providers.models.turns import is_last_turn, pins_of, said_of, turn_messages
from whorl.providers.models.wire import Conversation, Message
from whorl.providers.secrets import redact
from whorl.providers.task import Reply
from whorl.providers.texts import clean

if TYPE_CHECKING:
    from whorl.language import Json
    from whorl.providers.context import Context
    from whorl.providers.models.asking import Outcome
    from whorl.providers.models.wire import Role, ToolOffer
    from whorl.providers.task import Effect, Emit, Estimate, Request
    from whorl.providers.tools.toolbox import Offered, Toolbox

_ROLES: dict[str, Role] = {"system": "system", "user": "user", "assistant": "assistant"}


class Ask:
    """Inputs: prompt or messages, system, model (one or a list), provider, model_url, temperature,
    max_tokens, stop, seed, tools (MCP servers and tasks by name), max_turns, and turns: what was
    said and done since the prompt. The value is the answer's text, or what `returns` describes.
    """

    effect: Effect = "priced"

    def __init__(self, context: Context) -> None:
        self._settings = context.settings
        self._models = context.models
        self._context = context
        self._toolbox: Toolbox | None = None

    def estimate(self, request: Request) -> Estimate:
        """The tokens of the conversation and of the answer, by price."""
        choice = choose_models(self._settings, request.inputs)
        return self._models.estimate(choice, conversation_of(request))

    async def perform(self, request: Request, emit: Emit) -> Reply:
        """Asks. Raises ProviderError; P105 when the answer does not fit `returns`."""
        choice = choose_models(self._settings, request.inputs)
        offered = await self._offered(request)
        conversation = conversation_of(request, offered.offers if offered else ())
        outcome = await self._models.ask(
            choice, conversation, timeout_s=request.timeout_s, emit=emit
        )
        may_want = not (conversation.must_answer and outcome.answer.text)
        if offered is not None and outcome.answer.calls and may_want:
            return self._wanting(request, outcome, offered)
        detail = outcome.detail
        if offered is not None and offered.pins:
            # What the model was told is on record, though it wanted none of it.
            detail = detail | {"tools": offered.pins}
        if request.returns is None:
            return Reply(outcome.answer.text, outcome.usage, detail)
        value, faults = typed_answer(request.returns, outcome.answer.text)
        if faults:
            raise _unfit(outcome, faults)
        return Reply(value, outcome.usage, detail)

    async def _offered(self, request: Request) -> Offered | None:
        names = Inputs("ask", request.inputs).items("tools")
        if not names:
            return None
        if self._toolbox is None:
            from whorl.providers.tools.toolbox import Toolbox

            self._toolbox = Toolbox(self._context)
        told = pins_of(Inputs("ask", request.inputs).items("turns"))
        return await self._toolbox.offered(names, request.run, told)

    def _wanting(self, request: Request, outcome: Outcome, offered: Offered) -> Reply:
        """A reply that is no answer yet: what the model wants, and what it said."""
        turns = Inputs("ask", request.inputs).items("turns")
        said, ids = said_of(outcome.answer, turns, offered.pins)
        found = [offered.wanted(c, i) for c, i in zip(outcome.answer.calls, ids, strict=True)]
        told: Json = {"calls": [*found], "said": said, "tools": offered.pins}
        redacted = redact(told, self._settings.secrets())
        assert isinstance(redacted, dict)
        return Reply(outcome.answer.text, outcome.usage, outcome.detail | redacted)


def conversation_of(request: Request, offers: tuple[ToolOffer, ...] = ()) -> Conversation:
    """What the model is sent; the texts are as the workflow made them, and rendered no more."""
    inputs = Inputs("ask", request.inputs)
    turns = inputs.items("turns")
    messages = (*_messages(inputs, request.returns), *turn_messages(turns))
    return Conversation(
        messages=(*messages, *_repair(request.repair)),
        temperature=inputs.number("temperature"),
        max_tokens=inputs.count("max_tokens"),
        cap=request.cap,
        stop=_stop(inputs),
        seed=inputs.count("seed"),
        schema=request.returns,
        tools=offers,
        must_answer=is_last_turn(turns, inputs.count("max_turns")),
        key=request.key,
        address=request.address,
        attempt=request.attempt,
    )


def _messages(inputs: Inputs, schema: Json) -> list[Message]:
    system = [text] if (text := inputs.text("system")) else []
    if schema is not None:
        # Stated in words too, because a server may not know `response_format` and ignore it.
        system.append(instruction_for(schema))
    found = [Message("system", clean("\n\n".join(system)))] if system else []
    for item in inputs.items("messages"):
        fields = item if isinstance(item, dict) else {}
        role = _ROLES.get(str(fields.get("role")))
        if role is None:
            inputs.refuse("messages", f"holds {item!r:.80}; each needs a role and a content")
        found.append(Message(role, clean(Inputs("ask", fields).text("content"))))
    if inputs.get("prompt") is not None:
        found.append(Message("user", clean(inputs.text("prompt"))))
    if not any(message.role == "user" for message in found):
        inputs.refuse("prompt", "is missing")
    return found


def _repair(repair: Json) -> list[Message]:
    """The wrong answer and what was wrong with it, when this is the second try."""
    if not isinstance(repair, dict):
        return []
    inputs = Inputs("ask", repair)
    faults = [str(fault) for fault in inputs.items("errors")]
    return [
        Message("assistant", clean(inputs.text("answer"))),
        Message("user", clean(correction_for(faults))),
    ]


def _stop(inputs: Inputs) -> tuple[str, ...]:
    stop = inputs.get("stop")
    if isinstance(stop, str):
        return (stop,)
    return tuple(str(text) for text in inputs.items("stop"))


def _unfit(outcome: Outcome, faults: list[str]) -> ProviderError:
    cut = outcome.answer.finish == "length"
    advice = "; the answer was cut off, so raise max_tokens" if cut else ""
    return ProviderError(
        f"the answer of {outcome.detail['model']} does not fit: {'; '.join(faults[:3])}{advice}",
        code="P105",
        detail={
            **outcome.detail,
            "answer": outcome.answer.text,
            "errors": list(faults),
            "usage": usage_json(outcome.usage),
        },
    )
