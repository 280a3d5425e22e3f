"""The judge on the wire: its reason is asked for in every format, and is not needed."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from provider_server import answering
from wires import Format, cut, every_format, fault_of, perform, streaming

from whorl.providers.task import Request

WHY = "give your reason in one sentence"
INPUTS: dict[str, Any] = {"question": "It is done", "text": "Two is open.", "model": "one/m"}
REQUEST = Request("r", "l[1]/:judge", "judge", INPUTS, key="k")


@every_format
@pytest.mark.parametrize("streams", [True, False])
def test_a_verdict_has_its_reason_and_its_evidence(form: Format, streams: bool) -> None:
    said = 'NO. The second point is open.\nEVIDENCE: "Two is open."'
    request = replace(REQUEST, inputs=INPUTS | {"evidence": True})
    streamed = streaming(form, form.pieces([said[:9], said[9:]]))
    answer = streamed if streams else answering(form.plain(said))

    reply, server, _ = perform(form, answer, request, stream=streams)

    assert WHY in json.dumps(server.seen[0].json)
    assert reply.value == {
        "verdict": "not_met",
        "answer": said,
        "reason": "The second point is open.",
        "evidence": "Two is open.",
        "evidence_in_text": True,
    }


@every_format
def test_a_verdict_without_a_reason_is_a_verdict(form: Format) -> None:
    request = replace(REQUEST, cap=64)

    bare, _, _ = perform(form, answering(form.plain("YES")), REQUEST)
    reply, _, _ = perform(form, answering(cut(form, "**No**, since the sec")), request)
    fault = fault_of(form, answering(cut(form, "I think that the sec")), request)

    assert bare.value == {"verdict": "met", "answer": "YES"}
    assert reply.value["verdict"] == "not_met"  # type: ignore[index,call-overload]
    assert "warnings" not in reply.detail
    assert fault.code == "P118"


@every_format
def test_reasons_can_be_switched_off_by_the_file(form: Format) -> None:
    said = answering(form.plain("NO, it is open"))

    by_file, server, _ = perform(form, said, replace(REQUEST, inputs=INPUTS | {"reason": False}))
    assert WHY not in json.dumps(server.seen[0].json)
    assert by_file.value == {"verdict": "not_met", "answer": "NO, it is open"}

    asked, server, _ = perform(form, said, REQUEST)
    assert WHY in json.dumps(server.seen[0].json)
    assert asked.value["reason"] == "it is open"  # type: ignore[index,call-overload]


@every_format
@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, {"code": "context_length_exceeded", "message": "too many tokens"}),
        (400, {"type": "invalid_request_error", "message": "prompt is too long: 9 tokens > 8"}),
        (400, {"message": "the request exceeds the available context size, try increasing it"}),
        (400, {"message": "the input length exceeds the context length"}),
        (400, {"message": "The input token count (9) exceeds the maximum number of tokens"}),
        (413, {"type": "request_too_large", "message": "Request exceeds the maximum size"}),
    ],
)
def test_a_text_that_the_model_refuses_for_its_length_has_no_verdict(
    form: Format, status: int, error: dict[str, str]
) -> None:
    request = replace(REQUEST, inputs=INPUTS | {"text": "word " * 20_000})
    reply, server, _ = perform(form, answering({"error": error}, status=status), request)

    assert "word " * 20_000 in server.seen[0].body.decode()
    assert reply.value == {
        "verdict": "inconclusive",
        "answer": "no verdict: its text of 100,000 characters is too long for one/m",
    }
    assert reply.usage.calls == 1
