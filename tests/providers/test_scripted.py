"""Scripted replies: in order, by iteration, with faults."""

from __future__ import annotations

from provider_server import ask, say, scripted

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
