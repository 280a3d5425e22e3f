"""How each agent program is started: its exact command line, its input, its environment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import pytest
from stand_in import SCHEMA, StandIn, claude_says, codex_says, gemini_says, perform, play

from whorl.errors import ProviderError

if TYPE_CHECKING:
    from pathlib import Path

SESSION = "SESSION"
CLAUDE = ["--print", "--output-format", "stream-json", "--verbose", "--include-partial-messages"]
CODEX = ["--json", "--skip-git-repo-check"]
GEMINI = ["--output-format", "stream-json"]
PROGRAMS = {"claude-code": "claude", "codex": "codex", "gemini": "gemini"}
EVENTS = {
    "claude-code": claude_says('{"n": 1}'),
    "codex": codex_says('{"n": 1}'),
    "gemini": gemini_says('{"n": 1}'),
}


def started(folder: Path, inputs: dict[str, Any], **options: Any) -> dict[str, Any]:
    """How the agent's program was started."""
    agent = inputs["agent"]
    stand_in = StandIn(folder, PROGRAMS[agent]).plays(play(EVENTS[agent]))
    perform(stand_in, {"prompt": "do it", **inputs}, **options)
    (call,) = stand_in.calls
    if "--session-id" in call["argv"]:
        call["argv"][call["argv"].index("--session-id") + 1] = SESSION
    return call


# Agent, inputs, [agents.NAME], session, and then the command line after the program's name.
Row: TypeAlias = tuple[str, dict[str, Any], dict[str, Any], str, list[str]]
TABLE: list[Row] = [
    ("claude-code", {}, {}, "", [*CLAUDE, "--session-id", SESSION]),
    ("claude-code", {}, {}, "5e55-1", [*CLAUDE, "--resume", "5e55-1"]),
    ("claude-code", {"session": "5e55-2"}, {}, "", [*CLAUDE, "--resume", "5e55-2"]),
    (
        *("claude-code", {"model": ["anthropic/claude-x", "claude-y", "claude-z"]}),
        *({"model": "ignored"}, "s"),
        [*CLAUDE, "--resume", "s", "--model", "claude-x", "--fallback-model", "claude-y,claude-z"],
    ),
    (
        "claude-code",
        {"system": "--bad", "max_cost_usd": 1.5, "tools": ["Read", "Grep"]},
        {},
        "s",
        [
            *CLAUDE,
            *("--resume", "s", "--append-system-prompt=--bad"),
            *("--max-budget-usd", "1.500000", "--tools=Read,Grep"),
        ],
    ),
    (
        *("claude-code", {}),
        *({"skip_permissions": True, "flags": ["--add-dir", "../x"], "model": "haiku"}, "s"),
        [
            *CLAUDE,
            *("--resume", "s", "--model", "haiku", "--dangerously-skip-permissions"),
            *("--add-dir", "../x"),
        ],
    ),
    ("codex", {}, {}, "", ["exec", *CODEX, "-"]),
    ("codex", {}, {}, "t-1", ["exec", "resume", *CODEX, "t-1", "-"]),
    (
        *("codex", {"model": "openai/gpt-x", "system": 'say "x"'}),
        *({"flags": ["--add-dir", "../x"]}, ""),
        [
            *("exec", *CODEX, "--model", "gpt-x", "-c", 'developer_instructions="say \\"x\\""'),
            *("--add-dir", "../x", "-"),
        ],
    ),
    (
        "codex",
        {},
        {"skip_permissions": True, "flags": ["--sandbox", "workspace-write"], "model": "gpt-y"},
        "t-1",
        [
            *("exec", "--sandbox", "workspace-write", "resume", *CODEX, "--model", "gpt-y"),
            *("--dangerously-bypass-approvals-and-sandbox", "t-1", "-"),
        ],
    ),
    ("gemini", {}, {}, "", GEMINI),
    (
        *("gemini", {}, {"skip_permissions": True, "flags": ["--skip-trust"]}, ""),
        [*GEMINI, "--yolo", "--skip-trust"],
    ),
]


@pytest.mark.parametrize("row", TABLE)
def test_the_command_line(tmp_path: Path, row: Row) -> None:
    agent, inputs, configured, session, argv = row
    call = started(
        tmp_path, {"agent": agent, **inputs}, table={"agents": {agent: configured}}, session=session
    )

    assert call["argv"] == argv
    assert call["stdin"] == "do it"


@pytest.mark.threat(row="T21")
@pytest.mark.parametrize("agent", list(PROGRAMS))
@pytest.mark.parametrize(
    "prompt",
    ["--dangerously-skip-permissions", "-p", "--", "-", "x\0y\n", "grün " * 200_000],
    ids=lambda prompt: ascii(prompt)[:20],
)
def test_a_prompt_is_never_a_flag(tmp_path: Path, agent: str, prompt: str) -> None:
    call = started(tmp_path, {"agent": agent, "prompt": prompt})

    assert call["stdin"] == prompt
    assert "--dangerously-skip-permissions" not in call["argv"]


def test_a_new_session_has_an_id_of_its_own(tmp_path: Path) -> None:
    stand_in = StandIn(tmp_path, "claude").plays(play(claude_says("x")))
    for _ in range(2):
        perform(stand_in, {"agent": "claude-code", "prompt": "x"})

    first, second = (call["argv"][-1] for call in stand_in.calls)
    assert len(first) == len(second) == 36
    assert first != second


REFUSED: dict[str, list[dict[str, Any]]] = {
    "claude-code": [
        *({"model": "--bad"}, {"model": ["opus", "-x"]}),
        {"model": "anthropic/--dangerously-skip-permissions"},
        *({"model": ["opus", "claude-code/--x"]}, {"tools": ["--bad"]}),
        *({"tools": ["Read,Bash(rm *)"]}, {"session": "--bad"}),
        *({"max_cost_usd": -1}, {"system": "x" * 100_001}, {"prompt": ""}),
        *({"folder": "../.."}, {"folder": "/etc"}),
    ],
    "codex": [
        {"model": "openai/--dangerously-bypass-approvals-and-sandbox"},
        {"tools": ["Read"]},
        {"model": ["a", "b"]},
    ],
    "gemini": [
        *({"model": "google/--yolo"}, {"model": "google/"}),
        *({"max_cost_usd": 3}, {"session": "s"}, {"keep_session": True}),
    ],
}


@pytest.mark.threat(row="T21")
@pytest.mark.parametrize(
    ("agent", "inputs"), [(agent, inputs) for agent, rows in REFUSED.items() for inputs in rows]
)
def test_what_a_program_cannot_do_is_refused(
    tmp_path: Path, agent: str, inputs: dict[str, Any]
) -> None:
    stand_in = StandIn(tmp_path, PROGRAMS[agent]).plays(play())

    with pytest.raises(ProviderError) as caught:
        perform(stand_in, {"agent": agent, "prompt": "do it", **inputs})

    assert caught.value.code == "P113"
    assert stand_in.calls == []


ANTHROPIC = {"ANTHROPIC_API_KEY": "a-key", "ANTHROPIC_BASE_URL": "https://anthropic.example"}
OPENAI = {"OPENAI_API_KEY": "openai-key", "OPENAI_BASE_URL": "https://openai.example/v1"}
GOOGLE = {"GEMINI_API_KEY": "gemini-key"}
QUIET = {"DISABLE_AUTOUPDATER": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
KEYS = {**ANTHROPIC, **OPENAI, **GOOGLE, "AWS_SECRET_ACCESS_KEY": "not-for-agents"}
OWN = {
    "claude-code": ANTHROPIC | QUIET,
    "codex": OPENAI | {"CODEX_API_KEY": "openai-key"},
    "gemini": GOOGLE,
}


@pytest.mark.parametrize("agent", list(PROGRAMS))
def test_a_program_sees_its_own_key_only(tmp_path: Path, agent: str) -> None:
    table = {"agents": {agent: {"env": {"MINE": "given"}}}}

    call = started(tmp_path, {"agent": agent}, table=table, environment=KEYS)

    seen = {name: text for name, text in call["env"].items() if name != "LC_CTYPE"}
    assert seen.pop("PATH").startswith(str(tmp_path / "bin"))
    assert seen == {**OWN[agent], "HOME": str(tmp_path), "MINE": "given"}


def test_codex_receives_the_place_of_its_key(tmp_path: Path) -> None:
    """It does not read OPENAI_BASE_URL any more, and would send the key to the usual host."""
    call = started(tmp_path, {"agent": "codex"}, environment=KEYS)

    assert call["argv"][3:] == ["-c", 'openai_base_url="https://openai.example/v1"', "-"]


def test_gemini_gets_no_key_of_another_host(tmp_path: Path) -> None:
    other = {"base_url": "https://gateway.example/v1", "api_key": "gateway-key"}

    call = started(tmp_path, {"agent": "gemini"}, table={"providers": {"gemini": other}})

    assert "gateway-key" not in call["env"].values()


def test_an_agent_works_in_its_folder(tmp_path: Path) -> None:
    (tmp_path / "project" / "part").mkdir(parents=True)

    assert started(tmp_path, {"agent": "codex"})["folder"] == str(tmp_path / "project")
    other = StandIn(tmp_path / "other", "codex").plays(play(codex_says("x")))
    (tmp_path / "other" / "project" / "part").mkdir(parents=True)
    perform(other, {"agent": "codex", "prompt": "x", "folder": "part"})
    assert other.calls[0]["folder"] == str(tmp_path / "other" / "project" / "part")


def test_a_program_that_takes_a_schema_is_given_it(tmp_path: Path) -> None:
    flagged = started(tmp_path, {"agent": "claude-code"}, returns=SCHEMA)

    assert flagged["argv"][-1].startswith('--json-schema={"properties": {"n"')
    assert flagged["stdin"] == "do it"


@pytest.mark.parametrize(
    ("agent", "schema"),
    [("gemini", SCHEMA), ("codex", SCHEMA), ("claude-code", {"anyOf": [SCHEMA]})],
)
def test_others_receive_the_schema_in_words(
    tmp_path: Path, agent: str, schema: dict[str, Any]
) -> None:
    call = started(tmp_path, {"agent": agent}, returns=schema)

    assert call["stdin"].startswith("do it\n\nAnswer with one JSON value")
    assert '"integer"' in call["stdin"]
    assert not any("schema" in word for word in call["argv"])
