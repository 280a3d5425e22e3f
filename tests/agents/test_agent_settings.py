"""The operator's `[agents.NAME]`: typed, and every mistake in it named."""

from __future__ import annotations

from typing import Any

import pytest

from whorl.errors import UsageError
from whorl.providers.redaction import Secret
from whorl.providers.settings import AgentSettings, Settings, revealed
from whorl.providers.settings.sections import agents_from


def test_the_known_agents_need_no_configuration() -> None:
    agents = agents_from({}, {})

    assert sorted(agents) == ["claude", "claude-code", "codex", "gemini"]
    assert agents["claude"] == agents["claude-code"]
    assert agents["codex"] == AgentSettings(name="codex", kind="codex", program="codex")
    assert not any(agent.skip_permissions or agent.flags for agent in agents.values())


def test_a_whole_table() -> None:
    table = {
        "program": "/opt/claude",
        "model": "opus",
        "flags": ["--add-dir", "../x"],
        "skip_permissions": True,
        "env": {"OAUTH": "env:MINE", "GITHUB_TOKEN": "t-1", "LANG": "C"},
        "timeout_s": 60,
    }

    agent = agents_from({"reviewer": table}, {"MINE": "m-1"})["reviewer"]

    assert agent == AgentSettings(
        name="reviewer",
        kind="claude-code",
        program="/opt/claude",
        model="opus",
        flags=("--add-dir", "../x"),
        skip_permissions=True,
        env={"OAUTH": Secret("m-1"), "GITHUB_TOKEN": Secret("t-1"), "LANG": "C"},
        timeout_s=60.0,
    )
    assert revealed(agent.env) == {"OAUTH": "m-1", "GITHUB_TOKEN": "t-1", "LANG": "C"}
    assert Settings(agents={"reviewer": agent}).secrets() == (Secret("m-1"), Secret("t-1"))
    assert "m-1" not in repr(agent)


@pytest.mark.parametrize(
    ("name", "table", "kind"),
    [
        ("codex", {"program": "/opt/wrapper"}, "codex"),
        ("mine", {"program": "bin/gemini"}, "gemini"),
        ("mine", {"program": "aider"}, "text"),
        ("mine", {"program": "wrapper", "kind": "codex"}, "codex"),
        ("mine", {"kind": "claude-code"}, "claude-code"),
    ],
)
def test_how_an_agent_is_spoken_to(name: str, table: Any, kind: str) -> None:
    assert agents_from({name: table}, {})[name].kind == kind


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
