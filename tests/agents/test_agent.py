"""The task `agent`: what comes back from programs that work, fail, lie, hang or talk."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from stand_in import (
    CLAUDE,
    CODEX,
    GEMINI,
    SCHEMA,
    StandIn,
    claude,
    claude_says,
    codex,
    codex_says,
    fault_of,
    gemini_says,
    perform,
    play,
)

from waiting import PATIENCE_S
from whorl.errors import UsageError
from whorl.providers.settings import AgentSettings
from whorl.providers.settings.sections import agents_from
from whorl.providers.task import Usage

if TYPE_CHECKING:
    from pathlib import Path


def test_claude_answers(tmp_path: Path) -> None:
    said: list[str] = []

    reply = perform(claude(tmp_path, play(claude_says("Grüße, Welt"))), CLAUDE, said=said)

    assert reply.value == "Grüße, Welt"
    assert reply.usage == Usage(1, 123, 7, 0.25)
    assert reply.detail == {
        "agent": "claude-code",
        "exit_code": 0,
        "session": "5e551011-0000-4000-8000-000000000001",
        "model": "claude-x",
    }
    assert said == ["Grüße", ", Welt"]


def test_text_is_sent_while_the_program_runs(tmp_path: Path) -> None:
    """The stand-in waits for a file that appears only when its first words have arrived."""
    flag = tmp_path / "heard"
    code = (
        f"while not os.path.exists({str(flag)!r}): time.sleep(0.01)\n"
        f"print({json.dumps(claude_says('late')[-1])!r}, end='')"
    )
    stand_in = claude(tmp_path, play(claude_says("early")[:-1], code=code))

    class Heard(list[str]):
        def append(self, text: str) -> None:
            super().append(text)
            flag.touch()

    said = Heard()
    reply = perform(stand_in, CLAUDE, said=said, timeout_s=PATIENCE_S)

    assert reply.value == "late"
    assert "".join(said) == "early"


def test_claude_without_pieces_tells_whole_messages(tmp_path: Path) -> None:
    events = [event for event in claude_says("one") if event["type"] != "stream_event"]
    message = {"content": [{"type": "tool_use", "name": "Read"}, {"type": "text", "text": "two"}]}
    helper = {"type": "assistant", "message": message, "parent_tool_use_id": "toolu_1"}
    more = {"type": "assistant", "message": message}
    said: list[str] = []

    lines = [*events[:-1], helper, more, events[-1]]
    perform(claude(tmp_path, play(lines)), CLAUDE, said=said)

    assert said == ["one", "\ntwo"]


def test_codex_answers_with_its_last_message(tmp_path: Path) -> None:
    first, second = codex_says("thinking aloud"), codex_says("the answer")
    retry = {"type": "error", "message": "Reconnecting... 2/5 (status 503)"}
    said: list[str] = []

    reply = perform(codex(tmp_path, play([*first[:-1], retry, *second[1:]])), CODEX, said=said)

    assert reply.value == "the answer"
    assert reply.usage == Usage(1, 120, 7, None)
    assert reply.detail["session"] == "t-1:120:7"
    assert "".join(said) == "thinking aloud\nthe answer"


def test_codex_counts_each_call_by_itself(tmp_path: Path) -> None:
    stand_in = codex(
        tmp_path,
        *(play(codex_says("a", tokens=count)) for count in ((100, 10), (250, 30), (250, 31))),
    )

    first = perform(stand_in, CODEX)
    second = perform(stand_in, CODEX, session=str(first.detail["session"]))
    third = perform(stand_in, CODEX, session=str(second.detail["session"]))
    unknown = perform(stand_in, CODEX, session="t-1")

    assert (first.usage.input_tokens, first.usage.output_tokens) == (100, 10)
    assert (second.usage.input_tokens, second.usage.output_tokens) == (150, 20)
    assert second.detail["session"] == "t-1:250:30"
    assert (third.usage.input_tokens, third.usage.output_tokens) == (0, 1)
    # Where nobody knows what was counted before, all of it counts: never too little.
    assert (unknown.usage.input_tokens, unknown.usage.output_tokens) == (250, 31)


def test_codex_costs_what_its_model_costs(tmp_path: Path) -> None:
    table = {"prices": {"gpt-x": {"input": 1000.0, "output": 10_000.0}}}
    environment = {"OPENAI_API_KEY": "openai-key"}
    stand_in = codex(tmp_path, play(codex_says("a", tokens=(100, 10))))

    inputs = {**CODEX, "model": "openai/gpt-x"}
    priced = perform(stand_in, inputs, table=table, environment=environment)
    unpriced = perform(stand_in, inputs, environment=environment)
    subscribed = perform(stand_in, inputs, table=table)

    assert priced.usage.cost_usd == pytest.approx(0.2)
    assert unpriced.usage.cost_usd is None
    assert subscribed.usage.cost_usd is None


def test_gemini_answers(tmp_path: Path) -> None:
    said: list[str] = []
    stand_in = StandIn(tmp_path, "gemini").plays(play(gemini_says("a heron")))

    reply = perform(stand_in, {**GEMINI, "system": "be brief"}, said=said)

    assert reply.value == "a heron"
    assert reply.usage == Usage(1, 50, 5, None)
    assert "session" not in reply.detail
    assert "".join(said) == "a heron"
    assert stand_in.calls[0]["stdin"] == "be brief\n\ndo it"


def test_a_configured_program_prints_its_answer(tmp_path: Path) -> None:
    stand_in = StandIn(tmp_path, "helperbird").plays(play(["a line", "and another"]))
    table = {"agents": {"bird": {"program": "helperbird", "flags": ["--quiet"]}}}
    said: list[str] = []

    reply = perform(stand_in, {"agent": "bird", "prompt": "sing"}, table=table, said=said)

    assert reply.value == "a line\nand another"
    assert reply.usage == Usage(1, 0, 0, None)
    assert "".join(said) == "a line\nand another\n"
    assert stand_in.calls[0]["argv"] == ["--quiet"]


def test_the_whole_record_is_given_where_it_is_asked_for(tmp_path: Path) -> None:
    stand_in = codex(tmp_path, play(codex_says('{"n": 2}')))

    reply = perform(stand_in, {**CODEX, "whole": True}, returns=SCHEMA)

    ended = {"session": "t-1:120:7", "model": None, "exit_code": 0}
    assert reply.value == {"text": '{"n": 2}', "value": {"n": 2}, **ended}


def test_a_typed_answer_of_claude_is_checked_again(tmp_path: Path) -> None:
    good = claude(tmp_path / "good", play(claude_says("see", structured_output={"n": 3.0})))
    bad = claude(tmp_path / "bad", play(claude_says("see", structured_output={"n": "three"})))

    more = claude(tmp_path / "more", play(claude_says("see", structured_output={"n": 3, "m": 1})))
    closed = {**SCHEMA, "additionalProperties": False}

    assert perform(good, CLAUDE, returns=SCHEMA).value == {"n": 3}
    kept = perform(more, CLAUDE, returns=closed)
    assert (kept.value, kept.detail["extra"]) == ({"n": 3}, {"m": 1})
    fault = fault_of(bad, CLAUDE, returns=SCHEMA)
    assert fault.code == "P105"
    assert fault.detail["errors"] == ["$.n must be integer, not string"]
    assert fault.detail["session"] == "5e551011-0000-4000-8000-000000000001"


def test_an_answer_that_does_not_fit_is_repaired_in_its_session(tmp_path: Path) -> None:
    stand_in = codex(
        tmp_path,
        play(codex_says("three")),
        play(codex_says('```json\n{"n": 3}\n```', tokens=(150, 9))),
    )

    fault = fault_of(stand_in, CODEX, returns=SCHEMA)
    repaired = perform(stand_in, CODEX, returns=SCHEMA, repair=fault.detail, attempt=2)

    assert fault.code == "P105"
    assert fault.detail["answer"] == "three"
    assert repaired.value == {"n": 3}
    assert repaired.usage == Usage(1, 30, 2, None)
    assert stand_in.calls[1]["argv"][:2] == ["exec", "resume"]
    assert stand_in.calls[1]["stdin"].startswith("That answer does not fit the schema:\n- the ans")


def test_without_sessions_the_repair_tells_everything_again(tmp_path: Path) -> None:
    stand_in = StandIn(tmp_path, "gemini").plays(
        play(gemini_says("three")), play(gemini_says('{"n": 3}'))
    )

    fault = fault_of(stand_in, GEMINI, returns=SCHEMA)
    repaired = perform(stand_in, GEMINI, returns=SCHEMA, repair=fault.detail)

    assert repaired.value == {"n": 3}
    prompt = stand_in.calls[1]["stdin"]
    assert prompt.startswith("do it\n\nYour answer was:\nthree\n\nThat answer does not fit")


def test_secrets_do_not_come_back(tmp_path: Path) -> None:
    secret, key = "given-secret-1", "anthropic-key-1"
    table = {"agents": {"claude-code": {"env": {"TOKEN": secret}}}}
    options: dict[str, Any] = {"table": table, "environment": {"ANTHROPIC_API_KEY": key}}
    said: list[str] = []
    working = claude(tmp_path / "working", play(claude_says(f"{secret} {secret} {key} given-sec")))
    failing = claude(tmp_path / "failing", play(stderr=f"no {secret}, {key}", exit_code=1))

    reply = perform(working, CLAUDE, said=said, **options)
    fault = fault_of(failing, CLAUDE, **options)

    # The second one is streamed in two pieces; at the end one could have been cut.
    assert "".join(said) == "*** *** *** given-sec"
    assert reply.value == "*** *** *** ***"
    shown = str(fault) + repr(fault.detail) + repr(reply.detail)
    assert secret not in shown
    assert key not in shown


def test_the_known_agents_need_no_configuration() -> None:
    agents = agents_from({}, {})

    assert sorted(agents) == ["claude", "claude-code", "codex", "gemini"]
    assert agents["claude"] == agents["claude-code"]
    assert agents["codex"] == AgentSettings(name="codex", kind="codex", program="codex")
    assert not any(agent.skip_permissions or agent.flags for agent in agents.values())


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"programme": "claude"}, "did you mean 'program'?"),
        ({"kind": "parrot"}, "kind must be one of"),
        ({"kind": "text"}, "needs a program"),
        ({"program": ["claude"]}, "program must be a text"),
        ({"program": "claude", "flags": "--x"}, "flags must be a list"),
        ({"program": "claude", "flags": [1]}, "flags must be a list of texts"),
        ({"program": "claude", "flags": ["a\0"]}, "NUL"),
        ({"program": "claude", "skip_permissions": "yes"}, "true or false"),
        ({"program": "claude", "env": {"A=B": "x"}}, "env.A=B"),
        ({"program": "claude", "env": {"A": 1}}, "env.A"),
        ("claude", "must be a table"),
    ],
)
def test_a_wrong_table_is_named(table: Any, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        agents_from({"mine": table}, {})

    assert "[agents.mine]" in str(caught.value)
    assert words in f"{caught.value} {caught.value.help}"
