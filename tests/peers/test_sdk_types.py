"""The official SDKs' own types: for what we send to models, and for what our servers answer."""

from __future__ import annotations

import asyncio
import json
from functools import cache
from typing import TYPE_CHECKING, Any

import pydantic
import pytest
from provider_server import ask, providers_for, send, serve
from test_tools import functions, settings_with_tools, wanting
from wires import ANTHROPIC, OPENAI, Format

from whorl.providers.task import Request

if TYPE_CHECKING:
    from collections.abc import Callable

    from provider_server import Answerer, Seen

REASON = "the SDKs of OpenAI and Anthropic are not installed"

both_formats = pytest.mark.parametrize("form", [OPENAI, ANTHROPIC], ids=lambda form: form.kind)
both_ways = pytest.mark.parametrize("stream", [True, False], ids=["streamed", "plain"])
NESTED = {
    "type": "object",
    "properties": {
        "approved": {"type": "boolean"},
        "notes": {"type": "array", "items": {"type": "object", "properties": {"n": {}}}},
    },
    "required": ["approved", "notes"],
}
VALUE = {"approved": True, "notes": []}
EARLIER = [{"role": "user", "content": "Q"}, {"role": "assistant", "content": "A"}]
CALLS = [{"id": f"c{n}", "name": "shout", "arguments": {"text": "grüße"}} for n in (1, 2)]
TURNS = [
    {"role": "assistant", "content": "I look.", "calls": CALLS},
    {"role": "tool", "id": "c1", "value": "GRÜSSE"},
    {"role": "tool", "id": "c2", "error": "it broke"},
]
EVERYTHING = {
    "system": "S",
    "messages": EARLIER,
    "temperature": 1.5,
    "max_tokens": 9,
    "stop": ["x"],
    "seed": 5,
}
REQUESTS = {
    "least": ask,
    "everything": lambda: ask("P", **EVERYTHING),
    "schema": lambda: ask(returns=NESTED),
    "repair": lambda: ask(returns=NESTED, repair={"answer": "", "errors": ["$ needs 'notes'"]}),
    "tools": lambda: ask(tools=["shout", "t/add"]),
    "turns": lambda: ask(tools=["shout"], turns=TURNS),
    "last turn": lambda: ask(tools=["shout"], turns=TURNS, max_turns=2),
    "tools and schema": lambda: ask(tools=["shout"], returns=NESTED, turns=TURNS),
    "judge": lambda: Request("r", "l[1]/:judge", "judge", {"question": "Q", "text": "T"}, key="k"),
}


@pytest.fixture(autouse=True)
def sdks() -> None:
    for name in ("openai", "anthropic"):
        pytest.importorskip(name, reason=REASON)


@cache
def types_of(form: Format) -> Any:
    """What the SDK accepts as a request; what it has no name for is refused."""
    if form is OPENAI:
        from openai.types.chat.completion_create_params import CompletionCreateParams as Accepted
    else:
        from anthropic.types.message_create_params import MessageCreateParams as Accepted
    return pydantic.TypeAdapter(Accepted, config=pydantic.ConfigDict(extra="forbid"))


def checked(form: Format, body: Any) -> Any:
    """A body as the SDK's types read it; the lists in it are only checked as they are read."""

    def read(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: read(inner) for name, inner in value.items()}
        if isinstance(value, str) or not hasattr(value, "__iter__"):
            return value
        return [read(inner) for inner in value]

    return read(types_of(form).validate_python(body))


async def ask_by_sdk(form: Format, url: str, body: dict[str, Any]) -> list[Any]:
    """What the SDK reads in an answer: the message, or the events; it bears with no mistake."""
    options: Any = {"api_key": "k", "max_retries": 0, "_strict_response_validation": True}
    if form is OPENAI:
        import openai

        client: Any = openai.AsyncOpenAI(base_url=f"{url}/v1", **options)
        create = client.chat.completions.create
    else:
        import anthropic

        client = anthropic.AsyncAnthropic(base_url=url, **options)
        create = client.messages.create
    async with client:
        answer = await create(**body)
        return [event async for event in answer] if body.get("stream") else [answer]


def strict(form: Format, text: str) -> Answerer:
    """A server that answers what the SDK could have sent, and refuses all else as the real one."""

    async def answer(seen: Seen, writer: asyncio.StreamWriter) -> None:
        try:
            assert checked(form, seen.json) == seen.json
        except pydantic.ValidationError as refusal:
            extra = [e["loc"][-1] for e in refusal.errors() if e["type"] == "extra_forbidden"]
            why = f"{extra[0]}: Extra inputs are not permitted" if extra else str(refusal)
            error = {"type": "invalid_request_error", "message": why}
            send(writer, {"type": "error", "error": error}, status=400)
        else:
            send(writer, form.plain(text))

    return answer


@both_formats
@both_ways
@pytest.mark.sample(4)
@pytest.mark.parametrize("name", REQUESTS)
def test_what_we_send_is_what_the_sdk_accepts_and_would_send(
    form: Format, stream: bool, name: str
) -> None:
    request = REQUESTS[name]()
    text = json.dumps(VALUE) if request.returns else "met: it does"

    async def main() -> tuple[Any, Any]:
        async with serve(strict(form, text)) as server:
            settings = settings_with_tools(form, server.url, stream=stream)
            async with providers_for(settings, functions=functions()) as providers:
                reply = await providers.kind(request.kind).perform(request, lambda _: None)
            return reply, server.seen[-1].json

    reply, body = asyncio.run(main())

    # Anthropic's newest models take no temperature, and older ones do, so it is tried.
    spared = {"temperature", "seed"} if form is ANTHROPIC else set()
    assert set(reply.detail.get("left_out", ())) <= spared
    assert sent_by_sdk(form, body) == body


def sent_by_sdk(form: Format, body: Any) -> Any:
    async def answer(seen: Seen, writer: asyncio.StreamWriter) -> None:
        if seen.json.get("stream"):
            send(writer, b"".join(form.pieces(["x"])), kind=form.stream_type)
        else:
            send(writer, form.plain("x"))

    async def main() -> Any:
        async with serve(answer) as server:
            await ask_by_sdk(form, server.url, body)
            return server.seen[0].json

    return asyncio.run(main())


@both_formats
@pytest.mark.parametrize(
    "wrong",
    [
        {"no_such_field": 1},
        {"max_tokens": "many"},
        {"messages": [{"role": "nobody", "content": "x"}]},
        {"messages": [{"role": "user", "content": [{"type": "text", "txt": "x"}]}]},
        {"tools": [{"title": "x"}]},
    ],
    ids=lambda wrong: next(iter(wrong)),
)
def test_the_sdks_types_refuse_what_is_wrong(form: Format, wrong: dict[str, Any]) -> None:
    body = {"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": "x"}]}
    assert checked(form, body) == body

    with pytest.raises(pydantic.ValidationError):
        checked(form, body | wrong)


def replying(form: Format, *, stream: bool) -> dict[str, Callable[[], bytes]]:
    """The replies of our scripted servers, which the tests of our client rest on."""

    def text() -> bytes:
        if stream:
            return b"".join(form.pieces(["Grüße ", "an 😀"]))
        return json.dumps(form.plain("Grüße an 😀")).encode()

    return {"text": text, "tool": lambda: wanting(form, "shout", stream=stream)}


@both_formats
@both_ways
@pytest.mark.parametrize("name", ["text", "tool"])
def test_what_our_servers_answer_is_read_by_the_sdk_as_by_us(
    form: Format, stream: bool, name: str
) -> None:
    content = replying(form, stream=stream)[name]()

    async def answer(seen: Seen, writer: asyncio.StreamWriter) -> None:
        send(writer, content, kind=form.stream_type if stream else "application/json")

    async def main() -> list[Any]:
        async with serve(answer) as server:
            body = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "x"}]}
            return await ask_by_sdk(form, server.url, body | {"stream": stream})

    assert said_in(form, asyncio.run(main())) == said_by_us(form, answer, name, stream=stream)


def said_in(form: Format, read: list[Any]) -> str:
    """The text of an answer that the SDK has read, or the arguments of the call in it."""
    found = [item.model_dump(exclude_none=True) for item in read]
    if form is OPENAI:
        parts = [choice for item in found for choice in item["choices"]]
        messages = [part.get("delta") or part.get("message") or {} for part in parts]
        calls = [call["function"] for m in messages for call in m.get("tool_calls", ())]
        return "".join([m.get("content", "") for m in messages] + [c["arguments"] for c in calls])
    texts = []
    for item in found:
        for block in item.get("content") or [item.get("delta") or {}]:
            given = block.get("text", block.get("partial_json", block.get("input", "")))
            texts.append(given if isinstance(given, str) else json.dumps(given))
    return "".join(texts)


def said_by_us(form: Format, answer: Answerer, name: str, *, stream: bool) -> str:
    request = ask(tools=["shout"]) if name == "tool" else ask()

    async def main() -> Any:
        async with serve(answer) as server:
            settings = settings_with_tools(form, server.url, stream=stream)
            async with providers_for(settings, functions=functions()) as providers:
                return await providers.kind("ask").perform(request, lambda _: None)

    reply = asyncio.run(main())
    if name == "text":
        return str(reply.value)
    return json.dumps(reply.detail["calls"][0]["inputs"]["with"])


def test_a_reply_in_another_format_is_noticed() -> None:
    async def answer(seen: Seen, writer: asyncio.StreamWriter) -> None:
        send(writer, {"choices": "none"})

    async def main() -> None:
        async with serve(answer) as server:
            body = {"model": "m", "messages": [{"role": "user", "content": "x"}]}
            await ask_by_sdk(OPENAI, server.url, body)

    import openai

    with pytest.raises(openai.APIResponseValidationError):
        asyncio.run(main())
