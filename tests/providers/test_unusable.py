"""Replies that are no answer: empty ones, refusals, tools that nobody offered, errors for good."""

from __future__ import annotations

from typing import Any

import pytest
from provider_server import answering, ask, completion, events, say, scripted
from wires import (
    ANTHROPIC,
    OLLAMA,
    OPENAI,
    Format,
    anthropic_message,
    every_format,
    fault_of,
    streaming,
)

SENTENCE = "I cannot help with that."


def openai_message(finish: str = "stop", **message: Any) -> dict[str, Any]:
    made = completion("")
    made["choices"] = [{"message": {"role": "assistant", **message}, "finish_reason": finish}]
    return made


CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
USED = {"type": "tool_use", "id": "c", "name": "f", "input": {}}
CALLS = [
    (OPENAI, openai_message(content=None, tool_calls=[CALL])),
    (OPENAI, openai_message(content="Let me see.", tool_calls=[CALL])),
    (ANTHROPIC, anthropic_message("", content=[USED], stop_reason="tool_use")),
    (OLLAMA, OLLAMA.plain("") | {"message": {"content": "", "tool_calls": [CALL]}}),
]
REFUSALS = [
    (OPENAI, openai_message(content=None, refusal=SENTENCE)),
    (OPENAI, openai_message(content=SENTENCE, finish="content_filter")),
    (ANTHROPIC, anthropic_message(SENTENCE, stop_reason="refusal")),
]


@every_format
@pytest.mark.parametrize("text", ["", "  \n"])
def test_an_empty_reply_is_no_answer(form: Format, text: str) -> None:
    null = answering(openai_message(content=None))
    for answer in (answering(form.plain(text)), streaming(form, form.pieces([text])), null):
        fault = fault_of(form if answer is not null else OPENAI, answer)

        assert (fault.code, fault.retryable, fault.answered) == ("P111", True, True)
        assert "neither text nor tool calls" in str(fault)
        assert fault.detail["usage"]["output_tokens"] == 3  # type: ignore[index]


@pytest.mark.parametrize(("form", "body"), CALLS)
def test_a_tool_that_was_not_offered_is_refused(form: Format, body: dict[str, Any]) -> None:
    fault = fault_of(form, answering(body), stream=False)

    assert (fault.code, fault.retryable) == ("P111", True)
    assert "asks for the tool 'f', but no tool was offered" in str(fault)


@pytest.mark.parametrize(("form", "body"), REFUSALS)
def test_a_refusal_is_an_error_in_its_own_words(form: Format, body: dict[str, Any]) -> None:
    fault = fault_of(form, answering(body), stream=False)

    assert (fault.code, fault.retryable, fault.answered) == ("P119", False, True)
    assert f"refuses to answer: {SENTENCE}" in str(fault)
    assert fault.detail["usage"]["output_tokens"] == 3  # type: ignore[index]


def openai_error(code: str, message: str) -> dict[str, Any]:
    return {"error": {"message": message, "type": code, "param": None, "code": code}}


def anthropic_error(message: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": "invalid_request_error", "message": message}}


NO_CREDIT = "the account has no credit left"
TOO_LONG = "the prompt is longer than the model can read"
CONTENT = "the provider refuses this content"
CODES = {NO_CREDIT: "P128", TOO_LONG: "P106", CONTENT: "P119"}


@pytest.mark.parametrize(
    ("form", "status", "body", "advice"),
    [
        (OPENAI, 429, openai_error("insufficient_quota", "You exceeded your quota"), NO_CREDIT),
        (ANTHROPIC, 400, anthropic_error("Your credit balance is too low to access"), NO_CREDIT),
        (OPENAI, 400, openai_error("context_length_exceeded", "too many"), TOO_LONG),
        (ANTHROPIC, 400, anthropic_error("prompt is too long: 9 > 8 maximum"), TOO_LONG),
        (OPENAI, 400, openai_error("content_policy_violation", "not allowed"), CONTENT),
        (OPENAI, 401, openai_error("invalid_api_key", "Incorrect API key"), "check the key"),
        (OPENAI, 404, openai_error("model_not_found", "no such model"), "the model's name"),
        (OLLAMA, 404, OLLAMA.error("model 'm' not found"), "found; check the URL and the model"),
        (OPENAI, 200, openai_error("insufficient_quota", "You exceeded your quota"), NO_CREDIT),
    ],
)
def test_permanent_errors_are_not_retried(
    form: Format, status: int, body: dict[str, Any], advice: str
) -> None:
    is_streamed = status == 200
    answer = streaming(form, [events(body)]) if is_streamed else answering(body, status=status)
    fault = fault_of(form, answer)

    code = CODES.get(advice, "P127" if status == 404 else "P104")
    assert (fault.code, fault.retryable) == (code, False)
    assert advice in str(fault)


def test_scripted_faults() -> None:
    settings = scripted(
        {"match": "fail", "replies": [{"status": 429, "retry_after": 3}]},
        {"match": "once", "replies": ["x"], "exhaust": "error"},
    )

    fault, _, used_up, unmatched = say(
        settings, ask("fail"), ask("once"), ask("once"), ask("nothing")
    )

    assert (fault.code, fault.retry_after_s) == ("P102", 3.0)
    assert (used_up.code, unmatched.code) == ("P112", "P112")
    assert "matches the prompt 'nothing'; add one below [providers." in str(unmatched)
