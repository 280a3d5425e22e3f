"""Ollama's wire format against a real server: what is sent, what is read."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from provider_server import ask, providers_for, send, serve
from wires import OLLAMA, fault_of, perform

from whorl.providers.models.wires import OllamaWire
from whorl.providers.settings.sections import settings_from

if TYPE_CHECKING:
    from provider_server import Answerer, Seen

SCHEMA = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}


def answering(reply: dict[str, Any], status: int = 200) -> Answerer:
    async def answer(seen: Seen, writer: asyncio.StreamWriter) -> None:
        send(writer, reply, status=status)

    return answer


def test_what_is_sent() -> None:
    request = ask("P", system="S", temperature=0.2, max_tokens=9, stop=["x"], seed=5)

    _, server, _ = perform(OLLAMA, answering(OLLAMA.plain("hi")), request)

    assert server.seen[0].path == "/api/chat"
    assert server.seen[0].json == {
        "model": "m",
        "messages": [{"role": "system", "content": "S"}, {"role": "user", "content": "P"}],
        "stream": True,
        "truncate": False,
        "options": {"temperature": 0.2, "num_predict": 9, "stop": ["x"], "seed": 5},
    }


@pytest.mark.parametrize(
    ("base_url", "url"),
    [
        ("http://h:11434", "http://h:11434/api/chat"),
        ("http://h:11434/", "http://h:11434/api/chat"),
        ("http://h:11434/api", "http://h:11434/api/chat"),
        ("http://h:11434/api/chat", "http://h:11434/api/chat"),
        ("http://h:11434/v1", "http://h:11434/api/chat"),
        ("http://h/ollama", "http://h/ollama/api/chat"),
    ],
)
def test_addresses(base_url: str, url: str) -> None:
    assert OllamaWire.url(base_url) == url


def test_a_plain_reply() -> None:
    reply, server, _ = perform(OLLAMA, answering(OLLAMA.plain("hi")), stream=False)

    assert reply.value == "hi"
    assert server.seen[0].json["stream"] is False
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (7, 3)
    assert reply.usage.cost_usd == 0.0


def test_a_cached_prompt_is_not_counted_by_the_server() -> None:
    said = OLLAMA.plain("hi")
    del said["prompt_eval_count"]

    reply, _, _ = perform(OLLAMA, answering(said))

    assert reply.usage.input_tokens == 5
    assert reply.detail["usage_estimated"] is True


def test_an_answer_cut_at_its_limit_is_told() -> None:
    reply, _, _ = perform(OLLAMA, answering(OLLAMA.plain("half") | {"done_reason": "length"}))

    assert reply.detail["finish"] == "length"
    assert "own limit" in str(reply.detail["warnings"])


def test_the_schema_is_the_format() -> None:
    reply, server, _ = perform(OLLAMA, answering(OLLAMA.plain('{"ok": true}')), ask(returns=SCHEMA))

    assert reply.value == {"ok": True}
    assert server.seen[0].json["format"] == SCHEMA
    assert '"ok"' in server.seen[0].json["messages"][0]["content"]


def test_an_answer_that_does_not_fit_and_its_repair() -> None:
    fault = fault_of(OLLAMA, answering(OLLAMA.plain("{}")), ask(returns=SCHEMA))
    assert (fault.code, fault.detail["answer"]) == ("P105", "{}")

    repair = {"answer": "{}", "errors": fault.detail["errors"]}
    _, server, _ = perform(
        OLLAMA, answering(OLLAMA.plain('{"ok": true}')), ask(returns=SCHEMA, repair=repair)
    )

    messages = server.seen[0].json["messages"]
    assert [m["role"] for m in messages] == ["system", "user", "assistant", "user"]
    assert "$ needs 'ok'" in messages[3]["content"]


def test_a_model_that_knows_no_formats() -> None:
    async def answer(seen: Seen, writer: asyncio.StreamWriter) -> None:
        if "format" in seen.json:
            send(writer, {"error": "format is not supported by this model"}, status=400)
        else:
            send(writer, OLLAMA.plain('{"ok": false}'))

    reply, _, _ = perform(OLLAMA, answer, ask(returns=SCHEMA))

    assert reply.value == {"ok": False}
    assert reply.detail["left_out"] == ["format"]


def test_a_model_that_is_not_there() -> None:
    fault = fault_of(OLLAMA, answering({"error": "model 'm' not found"}, status=404))

    assert (fault.code, fault.retryable) == ("P104", False)
    assert "model 'm' not found; check the URL and the model's name" in str(fault)


def test_the_variable_that_everybody_knows() -> None:
    settings = settings_from({}, {"OLLAMA_HOST": "somewhere:11434"})
    provider = settings.providers["ollama"]

    assert (provider.kind, provider.base_url) == ("ollama", "http://somewhere:11434")


@pytest.mark.parametrize(("status", "ok"), [(200, True), (500, False)])
def test_the_provider_is_checked(status: int, ok: bool) -> None:
    async def answer(seen: Seen, writer: asyncio.StreamWriter) -> None:
        send(writer, {"models": []}, status=status if seen.path == "/api/tags" else 404)

    async def main() -> Any:
        async with serve(answer) as server:
            table = {"providers": {"o": {"kind": "ollama", "base_url": server.url}}}
            async with providers_for(settings_from(table, {})) as providers:
                return await providers.check_provider("o")

    assert asyncio.run(main()).ok is ok
