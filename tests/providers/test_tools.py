"""Tools that models are offered, in each wire format: what is sent, and whole runs with crashes."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections import Counter
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from provider_server import (
    answering,
    ask,
    completion,
    events,
    piece,
    providers_for,
    say,
    say_at,
    scripted,
    send,
    serve,
)
from wires import ANTHROPIC, OPENAI, Format, anthropic_event, anthropic_message, every_format

from strikes import StruckJournal
from whorl.dialects import ProjectFiles, read_workflow
from whorl.errors import ProviderError
from whorl.interpreter.events import Event
from whorl.ir import content_hash, to_json
from whorl.providers.functions import Tasks
from whorl.providers.settings.sections import settings_from
from whorl.providers.task import Request
from whorl.runtimes.driver import Driver
from whorl.runtimes.journal.folding import fold
from whorl.runtimes.journal.journal import NewRun, RunId
from whorl.services.runs import ProviderWorkers

if TYPE_CHECKING:
    from provider_server import Seen

    from whorl.providers.settings import Settings


PROGRAM = [sys.executable, str(Path(__file__).parent / "tool_server.py")]
ARGUMENTS = {"text": "grüße"}


def wanting(form: Format, name: str, *, stream: bool = True) -> bytes:
    """A reply of the format that asks for a tool."""
    given = json.dumps(ARGUMENTS)
    match form.kind, stream:
        case "openai", False:
            call = {"id": "call_1", "type": "function", "function": {"name": name}}
            call["function"]["arguments"] = given  # type: ignore[index]
            wanted = completion(None, message={"tool_calls": [call]}, finish_reason="tool_calls")
            return json.dumps(wanted).encode()
        case "openai", True:
            pieces = [
                {"index": 0, "id": "call_1", "function": {"name": name, "arguments": ""}},
                {"index": 0, "function": {"arguments": given[:7]}},
                {"index": 0, "function": {"arguments": given[7:]}},
            ]
            last = piece({"delta": {}, "finish_reason": "tool_calls"})
            return events(*(piece({"delta": {"tool_calls": [part]}}) for part in pieces), last)
        case "anthropic", False:
            block = {"type": "tool_use", "id": "toolu_1", "name": name, "input": ARGUMENTS}
            message = anthropic_message("", content=[block], stop_reason="tool_use")
            return json.dumps(message).encode()
        case "anthropic", True:
            start = anthropic_message("", content=[], stop_reason=None)
            block = {"type": "tool_use", "id": "toolu_1", "name": name, "input": {}}
            texts = ("", given[:7], given[7:])
            parts = [{"type": "input_json_delta", "partial_json": text} for text in texts]
            end = {"delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 3}}
            stream_events: list[dict[str, Any]] = [
                {"type": "message_start", "message": start},
                {"type": "content_block_start", "index": 0, "content_block": block},
                *({"type": "content_block_delta", "index": 0, "delta": part} for part in parts),
                {"type": "message_delta", **end},
                {"type": "message_stop"},
            ]
            return b"".join(map(anthropic_event, stream_events))
    function: Any = {"function": {"name": name, "arguments": ARGUMENTS}}
    message = {"role": "assistant", "content": "", "tool_calls": [function]}
    body = json.dumps({"message": message, "done": True, "done_reason": "stop"}).encode()
    return body + b"\n"


def functions() -> Tasks:
    registered = Tasks()

    @registered.task()
    def shout(text: str, times: int = 1) -> str:
        """Says a text loudly."""
        return text.upper() * times

    return registered


def settings_with_tools(form: Format, url: str, **provider: Any) -> Settings:
    table = {
        "providers": {"one": {"kind": form.kind, "base_url": url, "model": "m", **provider}},
        "allow": {"commands": True},
        "mcp": {"t": {"command": PROGRAM, "tools": ["shout", "add"]}},
    }
    return settings_from(table, {"PATH": "/usr/bin:/bin"})


@every_format
def test_a_model_asks_for_a_tool_and_gets_its_result(form: Format) -> None:
    sent: list[Any] = []

    async def answer(seen: Seen, writer: asyncio.StreamWriter) -> None:
        sent.append(seen.json)
        if len(sent) == 1:
            send(writer, wanting(form, "shout"), kind=form.stream_type)
        else:
            send(writer, form.plain("It says GRÜSSE"))

    async def main() -> tuple[Any, Any]:
        async with serve(answer) as server:
            settings = settings_with_tools(form, server.url)
            async with providers_for(settings, functions=functions()) as providers:
                kind = providers.kind("ask")
                first: Any = await kind.perform(ask(tools=["shout"]), lambda _: None)
                (call,) = first.detail["calls"]
                request = Request("r", "a", call["kind"], call["inputs"])
                value = (await providers.kind(call["kind"]).perform(request, print)).value
                result = {"role": "tool", "id": call["id"], "value": value}
                turns = [first.detail["said"], result]
                last = await kind.perform(ask(tools=["shout"], turns=turns), lambda _: None)
                return first, last

    first, last = asyncio.run(main())

    assert first.detail["finish"] in ("tool_calls", "stop")
    assert first.detail["calls"][0]["inputs"] == {"task": "shout", "with": ARGUMENTS}
    assert last.value == "It says GRÜSSE"
    assert "calls" not in last.detail
    messages = sent[1]["messages"]
    assert messages[-1] == _result_message(form)
    assert "grüße" in json.dumps(messages[-2], ensure_ascii=False)
    properties = {"text": {"type": "string"}, "times": {"type": "integer"}}
    schema = {"type": "object", "properties": properties, "required": ["text"]}
    schema["additionalProperties"] = False
    assert _offered(form, sent[1]) == {"shout": ("Says a text loudly.", schema)}


def _result_message(form: Format) -> dict[str, Any]:
    match form.kind:
        case "openai":
            return {"role": "tool", "tool_call_id": "call_1", "content": "GRÜSSE"}
        case "anthropic":
            result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "GRÜSSE"}
            return {"role": "user", "content": [result]}
    return {"role": "tool", "content": "GRÜSSE", "tool_name": "shout"}


def _offered(form: Format, sent: dict[str, Any]) -> dict[str, Any]:
    if form.kind == "anthropic":
        return {t["name"]: (t["description"], t["input_schema"]) for t in sent["tools"]}
    functions = [t["function"] for t in sent["tools"]]
    return {f["name"]: (f["description"], f["parameters"]) for f in functions}


def asked(form: Format, body: Any, kind: str = "application/json", **inputs: Any) -> Any:
    """What a server that says this gives to somebody with a tool, and what it was sent."""
    settings = partial(settings_with_tools, form)
    request = ask(tools=["shout"], **inputs)
    (found,), seen = say_at(answering(body, kind=kind), settings, request, functions=functions())
    return found, seen[0].json


@every_format
def test_in_its_last_turn_a_model_must_answer(form: Format) -> None:
    call = {"id": "c", "name": "shout", "arguments": {}}
    turns = [
        {"role": "assistant", "content": "", "calls": [call]},
        {"role": "tool", "id": "c", "error": "it broke"},
    ]
    _, sent = asked(form, form.plain("well then"), turns=turns, max_turns=2)

    assert "error: it broke" in json.dumps(sent["messages"][-1])
    match form.kind:
        case "openai":
            assert sent["tool_choice"] == "none"
        case "anthropic":
            assert sent["tool_choice"] == {"type": "none"}
            assert sent["messages"][-1]["content"][0]["is_error"] is True
        case "ollama":
            assert "tools" not in sent


def scripted_call(name: str, arguments: Any = None) -> dict[str, Any]:
    return {"calls": [{"name": name, "arguments": arguments or {}}]}


@pytest.mark.parametrize(
    ("reply", "word"),
    [
        (scripted_call("shoud"), "did you mean 'shout'"),
        (scripted_call("shout", "{not json"), "not JSON"),
        (scripted_call("shout", [1]), "not a JSON object"),
    ],
)
def test_calls_that_make_no_sense_are_answered_to_the_model(reply: Any, word: str) -> None:
    settings = scripted({"match": ".", "replies": [reply]})

    (found,) = say(settings, ask(tools=["shout"]), functions=functions())

    (call,) = found.detail["calls"]
    assert word in call["error"]
    assert "kind" not in call


@pytest.mark.parametrize("name", ["nothing", 5, "t/nothing"])
def test_tools_that_are_not_there(name: Any) -> None:
    settings = scripted({"match": ".", "replies": ["x"]})

    (fault,) = say(settings, ask(tools=[name]))

    assert isinstance(fault, ProviderError)
    assert fault.code == "P113"


def test_keys_in_what_a_model_wants_do_not_reach_the_journal() -> None:
    key = "secret-key-1"
    replies = [{"replies": [scripted_call("shout", {"text": key})]}]
    provider = {"kind": "scripted", "model": "m", "api_key": key, "replies": replies}
    settings = settings_from({"providers": {"s": provider}}, {})

    (reply,) = say(settings, ask(tools=["shout"]), functions=functions())

    assert reply.detail["calls"]
    assert key not in json.dumps(reply.detail)


@pytest.mark.parametrize("places", [(0, 1), (0, 0), (None, None)])
def test_two_calls_in_one_stream_are_kept_apart(places: tuple[Any, Any]) -> None:
    given = [{"name": "shout", "arguments": json.dumps({"text": f"t{n}"})} for n in range(2)]
    pieces = [
        {"index": place, "id": f"call_{number}", "function": given[number]}
        for number, place in enumerate(places)
    ]
    end = {"choices": [{"delta": {}, "finish_reason": "tool_calls"}]}
    said = [{"choices": [{"delta": {"tool_calls": [piece]}}]} for piece in pieces]

    reply, _ = asked(OPENAI, events(*said, end), "text/event-stream")

    found = [call["inputs"]["with"] for call in reply.detail["calls"]]
    assert found == [{"text": "t0"}, {"text": "t1"}]


def test_a_typed_answer_may_come_after_tools() -> None:
    schema = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}
    block = {"type": "tool_use", "id": "t", "name": "give_answer", "input": {"ok": True}}
    message = anthropic_message("", content=[block], stop_reason="tool_use")

    reply, sent = asked(ANTHROPIC, message, returns=schema)

    assert reply.value == {"ok": True}
    assert [tool["name"] for tool in sent["tools"]] == ["shout", "give_answer"]
    assert sent["tool_choice"] == {"type": "any"}


def test_ids_that_are_used_twice_are_distinguished_and_long_results_are_cut() -> None:
    call = {"id": "call1", "name": "shout", "arguments": {}}
    turns = [
        {"role": "assistant", "content": "", "calls": [call]},
        {"role": "tool", "id": "call1", "value": "x" * 200_000},
    ]

    settings = scripted(
        {"match": "150000 characters left out", "replies": [scripted_call("shout")]}
    )

    (reply,) = say(settings, ask(tools=["shout"], turns=turns), functions=functions())

    found = reply.detail
    (warning,) = found["warnings"]
    words = "the model got 50,000 of the 200,000 characters that tool 'shout' returned"
    assert warning == {"code": "R117", "message": f"{words}: the middle was left out"}
    assert found["calls"][0]["id"] not in ("call1", "")
    assert found["said"]["calls"][0]["id"] == found["calls"][0]["id"]


def test_a_tool_that_failed_is_reported_to_the_model_and_to_people() -> None:
    pytest.importorskip("mcp", reason="the extra `mcp` is not installed")
    replies = [scripted_call("t__fail", {"why": "no ink"}), "It failed."]
    table = {
        "allow": {"commands": True},
        "mcp": {"t": {"command": PROGRAM}},
        "providers": {"s": {"kind": "scripted", "model": "m", "replies": [{"replies": replies}]}},
    }
    journal = StruckJournal()

    result = asyncio.run(run_to_the_end(settings_from(table, {}), journal))

    entries = [entry.event for entry in journal.read(RunId("r"))]
    (warning,) = [event.body for event in entries if event.kind == "warning"]
    assert result["output"] == "It failed."
    assert warning["code"] == "P123"
    assert "tool 't__fail' failed; the model got the error: " in str(warning["message"])
    assert "no ink" in str(warning["message"])


def test_a_description_that_changed_since_the_last_turn_is_refused() -> None:
    pytest.importorskip("mcp", reason="the extra `mcp` is not installed")
    turns = [{"role": "assistant", "content": "", "calls": [], "tools": {"t/shout": "0" * 16}}]

    (fault,) = say(
        settings_with_tools(OPENAI, "http://127.0.0.1:9"), ask(tools=["t/shout"], turns=turns)
    )

    assert (fault.code, "'shout'" in str(fault)) == ("P122", True)


WORKFLOW = 'whorl: 1\nsteps: {talk: {ask: "Shout it", tools: [t]}}\n'


class Crash(Exception):
    """The process is gone."""


async def run_to_the_end(settings: Settings, journal: StruckJournal) -> dict[str, Any]:
    """Drives a run again and again until it ends."""
    workflow = read_workflow(WORKFLOW, "w.yaml", ProjectFiles(".")).workflow
    made = NewRun(RunId("r"), to_json(workflow), content_hash(to_json(workflow)), "w", "native")
    body: Any = {"run": "r", "seed": "s", "input": {}}
    strike, journal.strike = journal.strike, None
    await journal.create(made, Event("run.started", "", 0.0, body))
    journal.strike = strike
    while True:
        folded = fold(journal, RunId("r"))
        async with providers_for(settings) as providers:
            driver = Driver(
                RunId("r"),
                folded,
                owner=await journal.claim(RunId("r")),
                journal=journal,
                workers=ProviderWorkers(providers),
                clock=time.time,
            )
            try:
                await driver.drive()
            except Crash:
                continue
            found: dict[str, Any] = driver.machine.state["result"]
            return found


@pytest.mark.slow
@every_format
def test_a_crash_at_any_append_repeats_no_finished_call(form: Format) -> None:
    pytest.importorskip("mcp", reason="the extra `mcp` is not installed")

    async def answer(seen: Seen, writer: asyncio.StreamWriter) -> None:
        if len(seen.json["messages"]) == 1:
            send(writer, wanting(form, "t__shout"), kind=form.stream_type)
        else:
            send(writer, b"".join(form.pieces(["It says ", "GRÜSSE"])), kind=form.stream_type)

    async def attempt(point: int) -> tuple[Any, StruckJournal, int, list[Seen]]:
        struck = 0

        def strike(when: str, run: RunId) -> None:
            nonlocal struck
            struck += 1
            if struck == point:
                raise Crash

        journal = StruckJournal(strike=strike)
        async with serve(answer) as server:
            result = await run_to_the_end(settings_with_tools(form, server.url), journal)
            return result, journal, struck, server.seen

    async def main() -> None:
        result, journal, points, seen = await attempt(0)
        entries = [entry.event for entry in journal.read(RunId("r"))]
        finished = [event.address for event in entries if event.kind == "task.finished"]
        assert result["output"] == "It says GRÜSSE"
        assert finished == ["talk", "talk/:tool1", "talk/:turn2"]
        first = next(event for event in entries if event.kind == "task.finished")
        assert set(first.body["tools"]) == {"t/shout", "t/add"}  # type: ignore[arg-type]
        assert len(seen) == 2
        for point in range(1, points + 1):
            again, journal, _, seen = await attempt(point)
            assert again["output"] == "It says GRÜSSE", point
            told = Counter(e.event.kind for e in journal.read(RunId("r")))
            assert told["task.finished"] == 3, point
            assert len(seen) <= 2 + told["task.in_doubt"], point

    asyncio.run(main())
