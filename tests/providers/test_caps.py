"""Caps: how long an answer may be where a budget says it, and the file does not."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from provider_server import answering, ask, providers_for, say, scripted, send, serve, settings_for
from wires import ANTHROPIC, OPENAI, Format, cut, every_format, fault_of, perform

from whorl.dialects import read_workflow
from whorl.errors import ProviderError
from whorl.interpreter.events import Send
from whorl.interpreter.machine import Machine
from whorl.providers.models.conversation import Answer, Conversation, Limit, fault_in
from whorl.providers.task import Cap, Request
from whorl.runtimes.local import LocalRuntime
from whorl.runtimes.sqlite import SqliteStore
from whorl.runtimes.start_options import Start
from whorl.services.runs import ProviderWorkers

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from provider_server import Seen, Server

    from whorl.interpreter.events import Command
    from whorl.runtimes.journal.journal import RunId


PRICES = {"prices": {"m": {"input": 1.0, "output": 10.0}, "dear": {"input": 2.0, "output": 50.0}}}
JUDGE = {"question": "Good?", "text": "x"}
LIMITS: dict[str, Callable[[Any], Any]] = {
    "openai": lambda body: body.get("max_tokens"),
    "anthropic": lambda body: body.get("max_tokens"),
    "ollama": lambda body: body.get("options", {}).get("num_predict"),
}


def capped(cap: int | None, **inputs: Any) -> Request:
    return replace(ask(**inputs), cap=cap)


def estimate(kind: str, inputs: dict[str, Any], **provider: Any) -> Any:
    async def main() -> Any:
        settings = settings_for("http://127.0.0.1:1", PRICES, **provider)
        async with providers_for(settings) as providers:
            return providers.kind(kind).estimate(Request("r", "a", kind, inputs))

    return asyncio.run(main())


def test_an_open_answer_has_a_cap_in_its_estimate() -> None:
    found = estimate("ask", {"prompt": "12345678"})
    limited = estimate("ask", {"prompt": "12345678", "max_tokens": 100})
    longer = estimate("ask", {"prompt": "x"}, answer_tokens=20_000)

    assert found.tokens == 2 + 3 + 1024
    assert found.cost_usd == pytest.approx((5 * 1.0 + 1024 * 10.0) / 1_000_000)
    assert (limited.tokens, limited.cap) == (105, None)
    # Answers that the operator expects to be longer may be.
    assert longer.cap.least == 20_000
    assert longer.cap.most > 20_000


@pytest.mark.parametrize(
    ("kind", "inputs", "least", "most", "dollars"),
    [
        ("ask", {"prompt": "12345678"}, 1024, 16_384, 10.0),
        # The dearest of several models counts.
        ("ask", {"prompt": "x", "model": ["m", "dear"]}, 1024, 16_384, 50.0),
        ("ask", {"prompt": "x", "model": "other"}, 1024, 16_384, None),
        ("judge", JUDGE, 64, 4_096, 10.0),
    ],
)
def test_a_cap_has_tokens_and_a_price(
    kind: str, inputs: dict[str, Any], least: int, most: int, dollars: float | None
) -> None:
    price = None if dollars is None else pytest.approx(dollars / 1_000_000)

    assert estimate(kind, inputs).cap == Cap(least, most, price)


@every_format
def test_the_cap_is_sent_in_the_field_of_the_format(form: Format) -> None:
    """Where the file has a limit, that one; where there is none, none, if the format permits."""
    answer = answering(form.plain("hello"))
    for request, limit in (
        (capped(700), 700),
        (capped(700, max_tokens=50), 50),
        (capped(None), 16_384 if form is ANTHROPIC else None),
    ):
        _, server, _ = perform(form, answer, request)

        assert LIMITS[form.kind](server.seen[0].json) == limit


@every_format
def test_an_answer_that_is_cut_at_the_cap_is_none(form: Format) -> None:
    field = {"ollama": "num_predict"}.get(form.kind, "max_tokens")
    answer = answering(cut(form, "half"))

    fault = fault_of(form, answer, capped(3))

    assert (fault.code, fault.retryable, fault.answered) == ("P118", False, True)
    assert "was cut in the middle after 3 tokens: the step sets no max_tokens" in str(fault)
    assert f"the {field} that was sent is 3; set" in str(fault)
    assert "set max_tokens on the step, or raise the budget" in str(fault)
    assert fault.detail["partial"] == "half"
    assert fault.detail["usage"]["output_tokens"] == 3  # type: ignore[index]
    # One that is cut below what was sent needs no budget.
    below = str(fault_of(form, answer, capped(700)))
    said = f"after 3 tokens: the step sets no max_tokens, and the {field} that was sent is 700; set"
    assert said in below
    assert "raise the budget" not in below


@pytest.mark.parametrize(("tokens", "advice"), [(16_384, "ask for a shorter"), (99, "raise the")])
def test_more_than_the_most_that_is_sent_needs_no_budget(tokens: int, advice: str) -> None:
    answer = Answer("half", "length", output_tokens=tokens, limit=Limit("max_tokens", tokens))

    fault = fault_in(answer, Conversation(messages=()), "m")

    assert f"set max_tokens on the step, or {advice}" in str(fault)


@every_format
def test_an_answer_that_is_cut_at_the_limit_of_the_file_is_told(form: Format) -> None:
    reply, _, _ = perform(form, answering(cut(form, "half")), capped(700, max_tokens=50))
    empty = fault_of(form, answering(cut(form, "")), capped(None, max_tokens=50))

    words = "an answer was cut at max_tokens, which is 50; raise it for a whole answer"
    assert reply.value == "half"
    assert reply.detail["warnings"] == [{"code": "P118", "message": words}]
    # Nothing but thinking is no answer.
    assert (empty.code, empty.retryable) == ("P118", False)
    assert "before it said anything" in str(empty)
    assert "which is 50; raise max_tokens of the step" in str(empty)


REFUSALS = [
    (OPENAI, "max_tokens is too large: {n}. This model supports at most 4096 completion tokens"),
    (OPENAI, "Invalid max_tokens value, the valid range of max_tokens is [1, 4096]"),
    (OPENAI, "This model's maximum context length is 4096 tokens, your request has 9 input tokens"),
    (ANTHROPIC, "max_tokens: {n} > 4096, which is the maximum allowed number of output tokens"),
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
    assert fault.code == ("P106" if "context" in said else "P104")


def test_a_scripted_reply_is_cut_at_the_cap() -> None:
    settings = scripted({"match": "", "replies": ["one two three"]})

    whole, cut = say(settings, capped(3), capped(2))

    assert whole.value == "one two three"
    assert isinstance(cut, ProviderError)
    assert (cut.code, cut.detail["partial"]) == ("P118", "one two")
    assert cut.detail["usage"]["output_tokens"] == 2  # type: ignore[index]


async def driven(text: str, server: Server, store: SqliteStore) -> tuple[RunId, str]:
    """Runs a file with models at a server to its end."""
    async with providers_for(settings_for(server.url, PRICES)) as providers:
        runtime = LocalRuntime(store, ProviderWorkers(providers))
        run, _ = await runtime.start(read_workflow(text, "case.yaml").workflow, Start())
        return run, await runtime.drive(run)


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
        async with (
            serve(answering(OPENAI.plain("hello"))) as server,
            SqliteStore(tmp_path / "runs.db") as store,
        ):
            text = "whorl: 1\nsteps: {a: {ask: Hello}, b: {ask: Hello, max_tokens: 9}}\n"
            run, status = await driven(text, server, store)
            assert status == "succeeded"
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
            run, status = await driven(MANY.format(budget=budget), server, store)
            return status, store.run(run).cost_usd, len(server.seen)

    return asyncio.run(main())


@pytest.mark.parametrize(
    ("budget", "status", "calls", "dollars"),
    [(0.05, "paused", 1, 0.15), (1.0, "succeeded", 6, 0.9)],
)
def test_a_server_that_ignores_limits_goes_over_by_one_call_at_most(
    tmp_path: Path, budget: float, status: str, calls: int, dollars: float
) -> None:
    """With money for all at full length, they are asked side by side."""
    found = spent_side_by_side(tmp_path, budget, calls)

    assert found == (status, pytest.approx(dollars, rel=0.01), calls)
