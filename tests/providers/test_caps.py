"""Caps: how long an answer may be where a budget says it, and the file does not."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from provider_server import ask, providers_for, say, scripted, send, serve, settings_for
from wires import ANTHROPIC, OLLAMA, OPENAI, Format, every_format, fault_of, perform

from whorl.dialects import read_workflow
from whorl.errors import ProviderError
from whorl.interpreter.events import Send
from whorl.interpreter.machine import Machine
from whorl.providers.models.conversation import Answer, Conversation, Limit, fault_in
from whorl.providers.task import Cap, Request
from whorl.runtimes.local import LocalRuntime
from whorl.runtimes.sqlite import SqliteStore
from whorl.runtimes.starting import Start
from whorl.services.runs import ProviderWorkers

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from provider_server import Answerer, Seen

    from whorl.interpreter.events import Command


PRICES = {"prices": {"m": {"input": 1.0, "output": 10.0}, "dear": {"input": 2.0, "output": 50.0}}}
JUDGE = {"question": "Good?", "text": "x"}
LIMITS: dict[str, Callable[[Any], Any]] = {
    "openai": lambda body: body.get("max_tokens"),
    "anthropic": lambda body: body.get("max_tokens"),
    "ollama": lambda body: body.get("options", {}).get("num_predict"),
}


def capped(cap: int | None, **inputs: Any) -> Request:
    return replace(ask(**inputs), cap=cap)


def saying(form: Format, text: str = "hello", *, cut: bool = False) -> Answerer:
    body = form.plain(text)
    if cut:
        match form.kind:
            case "openai":
                body["choices"][0]["finish_reason"] = "length"
            case "anthropic":
                body["stop_reason"] = "max_tokens"
            case _:
                body["done_reason"] = "length"

    async def answer(seen: Seen, writer: asyncio.StreamWriter) -> None:
        send(writer, body)

    return answer


def estimate(kind: str, inputs: dict[str, Any], **provider: Any) -> Any:
    async def main() -> Any:
        settings = settings_for("http://127.0.0.1:1", PRICES, **provider)
        async with providers_for(settings) as providers:
            return providers.kind(kind).estimate(Request("r", "a", kind, inputs))

    return asyncio.run(main())


def test_an_open_answer_has_a_cap_in_its_estimate() -> None:
    found = estimate("ask", {"prompt": "12345678"})

    assert found.tokens == 2 + 3 + 1024
    assert found.cost_usd == pytest.approx((5 * 1.0 + 1024 * 10.0) / 1_000_000)
    assert found.cap == Cap(1024, 16_384, pytest.approx(10.0 / 1_000_000))


def test_an_answer_that_the_file_limits_has_none() -> None:
    found = estimate("ask", {"prompt": "12345678", "max_tokens": 100})

    assert (found.tokens, found.cap) == (105, None)


def test_the_dearest_of_several_models_counts() -> None:
    found = estimate("ask", {"prompt": "x", "model": ["m", "dear"]})

    assert found.cap == Cap(1024, 16_384, pytest.approx(50.0 / 1_000_000))


def test_a_model_without_a_price_has_a_cap_in_tokens_only() -> None:
    assert estimate("ask", {"prompt": "x", "model": "other"}).cap == Cap(1024, 16_384, None)


def test_answers_that_the_operator_expects_to_be_longer_may_be() -> None:
    found = estimate("ask", {"prompt": "x"}, answer_tokens=20_000)

    assert found.cap.least == 20_000
    assert found.cap.most > 20_000


def test_a_judge_is_given_little_and_may_need_more() -> None:
    assert estimate("judge", JUDGE).cap == Cap(64, 4_096, pytest.approx(10.0 / 1_000_000))


@every_format
def test_the_cap_is_sent_in_the_field_of_the_format(form: Format) -> None:
    _, server, _ = perform(form, saying(form), capped(700))

    assert LIMITS[form.kind](server.seen[0].json) == 700


@every_format
def test_the_limit_of_the_file_comes_first(form: Format) -> None:
    _, server, _ = perform(form, saying(form), capped(700, max_tokens=50))

    assert LIMITS[form.kind](server.seen[0].json) == 50


@pytest.mark.parametrize("form", [OPENAI, OLLAMA], ids=lambda form: form.kind)
def test_without_a_cap_nothing_is_sent(form: Format) -> None:
    _, server, _ = perform(form, saying(form), capped(None))

    assert LIMITS[form.kind](server.seen[0].json) is None


def test_the_field_may_be_named_by_the_operator() -> None:
    _, server, _ = perform(
        OPENAI, saying(OPENAI), capped(700), max_tokens_field="max_completion_tokens"
    )

    assert server.seen[0].json["max_completion_tokens"] == 700
    assert "max_tokens" not in server.seen[0].json


@every_format
def test_an_answer_that_is_cut_at_the_cap_is_none(form: Format) -> None:
    fault = fault_of(form, saying(form, "half", cut=True), capped(3))

    field = {"ollama": "num_predict"}.get(form.kind, "max_tokens")
    assert (fault.code, fault.retryable, fault.answered) == ("P118", False, True)
    said = f"cut in the middle at 3 tokens, the {field} that was sent because the step sets none"
    assert said in str(fault)
    assert "set max_tokens on the step, or raise the budget" in str(fault)
    assert fault.detail["partial"] == "half"
    assert fault.detail["usage"]["output_tokens"] == 3  # type: ignore[index]


@every_format
def test_an_answer_that_is_cut_below_what_was_sent_needs_no_budget(form: Format) -> None:
    fault = fault_of(form, saying(form, "half", cut=True), capped(700))

    field = {"ollama": "num_predict"}.get(form.kind, "max_tokens")
    said = f"after 3 tokens, by a limit of the server: the {field} that was sent is 700; set"
    assert said in str(fault)
    assert "raise the budget" not in str(fault)


@pytest.mark.parametrize(("tokens", "advice"), [(16_384, "ask for a shorter"), (99, "raise the")])
def test_more_than_the_most_that_is_sent_needs_no_budget(tokens: int, advice: str) -> None:
    answer = Answer("half", "length", output_tokens=tokens, limit=Limit("max_tokens", tokens))

    fault = fault_in(answer, Conversation(messages=()), "m")

    assert f"set max_tokens on the step, or {advice}" in str(fault)


@every_format
def test_an_answer_that_is_cut_at_the_limit_of_the_file_is_told(form: Format) -> None:
    reply, _, _ = perform(form, saying(form, "half", cut=True), capped(700, max_tokens=50))

    assert reply.value == "half"
    assert reply.detail["warnings"] == [
        {
            "code": "R120",
            "message": "an answer was cut at max_tokens, which is 50; raise it for a whole answer",
        }
    ]


@every_format
def test_nothing_but_thinking_within_the_limit_of_the_file_is_no_answer(form: Format) -> None:
    fault = fault_of(form, saying(form, "", cut=True), capped(None, max_tokens=50))

    assert (fault.code, fault.retryable) == ("P118", False)
    assert "before it said anything" in str(fault)
    assert "which is 50; raise max_tokens of the step" in str(fault)


REFUSALS = [
    (OPENAI, "max_tokens is too large: {n}. This model supports at most 4096 completion tokens"),
    (OPENAI, "Invalid max_tokens value, the valid range of max_tokens is [1, 4096]"),
    (OPENAI, "This model's maximum context length is 4096 tokens, your request has 9 input tokens"),
    (
        ANTHROPIC,
        "max_tokens: {n} > 4096, which is the maximum allowed number of output tokens for claude-3",
    ),
]


@pytest.mark.parametrize(("form", "said"), REFUSALS)
def test_a_model_that_gives_less_is_asked_for_less(form: Format, said: str) -> None:
    """What the file wants is not changed; what only the budget allows may be less."""

    async def answer(seen: Seen, writer: asyncio.StreamWriter) -> None:
        limit = seen.json["max_tokens"]
        if limit > 4096 - 9 * ("context" in said):
            send(writer, form.error(said.format(n=limit)), status=400)
        else:
            send(writer, form.plain("hello"))

    reply, server, _ = perform(form, answer, capped(16_384))

    assert reply.value == "hello"
    assert server.seen[-1].json["max_tokens"] == (2048 if "context" in said else 4096)
    keys = [seen.headers["idempotency-key"] for seen in server.seen]
    assert len(set(keys)) == len(keys)
    fault = fault_of(form, answer, capped(None, max_tokens=16_384))
    assert fault.code == "P104"


def test_a_scripted_reply_is_cut_at_the_cap() -> None:
    settings = scripted({"match": "", "replies": ["one two three"]})

    whole, cut = say(settings, capped(3), capped(2))

    assert whole.value == "one two three"
    assert isinstance(cut, ProviderError)
    assert (cut.code, cut.detail["partial"]) == ("P118", "one two")
    assert cut.detail["usage"]["output_tokens"] == 2  # type: ignore[index]


def test_the_driver_journals_what_is_open_and_sends_what_is_allowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    polled = Machine.poll

    def poll(machine: Machine) -> list[Command]:
        return [
            replace(one, cap=1_500) if isinstance(one, Send) else one for one in polled(machine)
        ]

    monkeypatch.setattr(Machine, "poll", poll)

    async def main() -> tuple[Any, list[Seen]]:
        async with serve(saying(OPENAI)) as server, SqliteStore(tmp_path / "runs.db") as store:
            async with providers_for(settings_for(server.url, PRICES)) as providers:
                runtime = LocalRuntime(store, ProviderWorkers(providers))
                text = "whorl: 1\nsteps: {a: {ask: Hello}, b: {ask: Hello, max_tokens: 9}}\n"
                run, _ = await runtime.start(read_workflow(text, "case.yaml").workflow, Start())
                assert await runtime.drive(run) == "succeeded"
            events = [entry.event for entry in store.read(run)]
            return [e.body.get("cap") for e in events if e.kind == "task.started"], server.seen

    intents, seen = asyncio.run(main())

    assert intents == [{"least": 1024, "most": 16_384, "usd_per_token": pytest.approx(1e-5)}, None]
    assert [one.json["max_tokens"] for one in seen] == [1_500, 9]


MANY = """
whorl: 1
budget: {budget}
steps:
  all:
    each: "{{{{ range(6) | list }}}}"
    at_once: 6
    steps: {{a: {{ask: "Hello {{{{ item }}}}"}}}}
"""


def spent_side_by_side(folder: Path, budget: float, at_once: int) -> tuple[str, float, int]:
    """Six calls to a server that ignores every limit, and answers once so many are under way."""
    body = OPENAI.plain("hello") | {"usage": {"prompt_tokens": 7, "completion_tokens": 15_000}}

    async def main() -> tuple[str, float, int]:
        full = asyncio.Event()

        async def answer(seen: Seen, writer: asyncio.StreamWriter) -> None:
            if len(server.seen) >= at_once:
                full.set()
            await full.wait()
            send(writer, body)

        async with serve(answer) as server, SqliteStore(folder / "runs.db") as store:
            async with providers_for(settings_for(server.url, PRICES)) as providers:
                runtime = LocalRuntime(store, ProviderWorkers(providers))
                workflow = read_workflow(MANY.format(budget=budget), "case.yaml").workflow
                run, _ = await runtime.start(workflow, Start())
                status = await runtime.drive(run)
            return status, store.run(run).cost_usd, len(server.seen)

    return asyncio.run(main())


def test_a_server_that_ignores_limits_goes_over_by_one_call_at_most(tmp_path: Path) -> None:
    status, spent, calls = spent_side_by_side(tmp_path, 0.05, 1)

    assert (status, calls) == ("paused", 1)
    assert spent == pytest.approx(0.15, rel=0.01)


def test_with_money_for_all_at_full_length_they_are_asked_side_by_side(tmp_path: Path) -> None:
    status, spent, calls = spent_side_by_side(tmp_path, 1.0, 6)

    assert (status, calls) == ("succeeded", 6)
    assert spent == pytest.approx(0.9, rel=0.01)
