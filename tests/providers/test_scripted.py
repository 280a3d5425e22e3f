"""Scripted replies: in order, by iteration, with faults."""

from __future__ import annotations

import re

import pytest
from provider_server import ask, say, scripted

from whorl.providers.json_values import NotJson, parse_json
from whorl.providers.models.conversation import fault_words, typed_answer
from whorl.providers.task import Request


def test_scripted_replies_in_order() -> None:
    settings = scripted(
        {"match": "rate", "replies": ["one", {"json": {"a": 1}}]}, {"match": ".", "replies": ["x"]}
    )

    replies = say(settings, *[ask(text) for text in ("rate it", "other", "rate", "rate")])

    assert [reply.value for reply in replies] == ["one", "x", '{"a": 1}', '{"a": 1}']
    assert replies[0].detail["scripted"] is True
    assert (replies[0].usage.input_tokens, replies[0].usage.output_tokens) == (2, 1)
    assert replies[0].usage.cost_usd == 0


def test_scripted_replies_by_iteration_are_the_same_in_every_process() -> None:
    settings = scripted({"match": ".", "replies": ["a", "b", "c"], "by": "iteration"})

    def at(address: str) -> Request:
        return Request("r", address, "ask", {"prompt": "p"})

    replies = say(settings, at("loop[3]/write"), at("loop[1]/write"), at("out[1]/in[2]/w"), at("w"))

    assert [reply.value for reply in replies] == ["c", "a", "b", "a"]


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


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Sure! Here", "it begins with other words, at line 1, column 1"),
        ('{"a": 1', "it ends too early, at line 1, column 8"),
        ('{"a" 1}', "Expecting ':' delimiter at line 1, column 6"),
        ("{a: 1}", "Expecting property name enclosed in double quotes at line 1, column 2"),
        ("", "it is empty"),
    ],
)
def test_a_text_that_is_not_json_is_told_in_plain_words(text: str, words: str) -> None:
    with pytest.raises(NotJson, match=f"^{re.escape(words)}$"):
        parse_json(text)


def test_the_faults_of_an_answer_name_its_fields() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "number"}}, "required": ["a"]}

    assert fault_words(typed_answer(schema, "{}")[1]) == "it needs 'a'"
    assert fault_words(typed_answer(schema, '{"a": "x"}')[1]) == "a must be number, not string"
