"""Stand-ins for agent programs: real executables that write down how they were started."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from whorl.errors import ProviderError
from whorl.providers.registry import Providers
from whorl.providers.settings.sections import settings_from
from whorl.providers.task import Reply, Request

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

CLAUDE: dict[str, Any] = {"agent": "claude-code", "prompt": "do it"}
CODEX: dict[str, Any] = {"agent": "codex", "prompt": "do it"}
GEMINI: dict[str, Any] = {"agent": "gemini", "prompt": "do it"}
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}

# Each start takes the next of the plays that are written beside it; the last one is repeated.
PROGRAM = """#!{python}
import json, os, sys, time
place = {place!r}
calls = sorted(name for name in os.listdir(place) if name.startswith("call-"))
call = {{
    "argv": sys.argv[1:],
    "stdin": sys.stdin.read(),
    "env": dict(os.environ),
    "folder": os.getcwd(),
    "pid": os.getpid(),
}}
with open(os.path.join(place, "call-%03d" % len(calls)), "w") as file:
    json.dump(call, file)
with open(os.path.join(place, "plays")) as file:
    plays = json.load(file)
play = plays[min(len(calls), len(plays) - 1)]
for line in play["lines"]:
    print(line, flush=True)
sys.stderr.write(play["stderr"])
sys.stderr.flush()
exec(play["code"])
sys.exit(play["exit_code"])
"""


@dataclass
class StandIn:
    """One stand-in: what it will do, and what was done with it."""

    folder: Path
    name: str

    @property
    def bin(self) -> Path:
        return self.folder / "bin"

    @property
    def calls(self) -> list[dict[str, Any]]:
        return [json.loads(path.read_text()) for path in sorted(self._place.glob("call-*"))]

    @property
    def _place(self) -> Path:
        return self.folder / f"of-{self.name}"

    def plays(self, *plays: dict[str, Any]) -> StandIn:
        """Writes the program down, with what each of its starts does."""
        self.bin.mkdir(parents=True, exist_ok=True)
        self._place.mkdir(exist_ok=True)
        (self._place / "plays").write_text(json.dumps(plays))
        program = self.bin / self.name
        program.write_text(PROGRAM.format(python=sys.executable, place=str(self._place)))
        program.chmod(0o755)
        return self


def play(
    lines: Sequence[object] = (), *, exit_code: int = 0, stderr: str = "", code: str = ""
) -> dict[str, Any]:
    """What one start does: lines are printed, objects as JSON, before the code runs."""
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    return {"lines": texts, "exit_code": exit_code, "stderr": stderr, "code": code}


def perform(
    stand_in: StandIn,
    inputs: dict[str, Any],
    *,
    table: dict[str, Any] | None = None,
    environment: dict[str, str] | None = None,
    said: list[str] | None = None,
    **request: Any,
) -> Reply:
    """Performs the task `agent` with the stand-in on PATH, in a project of its own."""
    root = stand_in.folder / "project"
    root.mkdir(exist_ok=True)
    variables = {
        "PATH": f"{stand_in.bin}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(stand_in.folder),
        **(environment or {}),
    }
    given = {"allow": {"commands": True}, **(table or {})}
    settings = settings_from(given, variables, project_root=str(root))

    async def main() -> Reply:
        providers = Providers(settings)
        try:
            asked = Request("run-1", "work", "agent", inputs, **request)
            emit = (lambda _: None) if said is None else said.append
            return await providers.kind("agent").perform(asked, emit)
        finally:
            await providers.close()

    return asyncio.run(main())


def fault_of(stand_in: StandIn, inputs: dict[str, Any], **options: Any) -> ProviderError:
    """The error with which the task fails."""
    with pytest.raises(ProviderError) as caught:
        perform(stand_in, inputs, **options)
    return caught.value


def claude(folder: Path, *plays: dict[str, Any]) -> StandIn:
    """A stand-in for Claude Code."""
    return StandIn(folder, "claude").plays(*plays)


def codex(folder: Path, *plays: dict[str, Any]) -> StandIn:
    """A stand-in for Codex."""
    return StandIn(folder, "codex").plays(*plays)


def claude_says(text: str, **fields: Any) -> list[dict[str, Any]]:
    """The events of a small conversation with Claude Code, as version 2.1 prints them."""
    session = fields.pop("session_id", "5e551011-0000-4000-8000-000000000001")
    half = len(text) // 2
    deltas = [
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": piece}}
        for piece in (text[:half], text[half:])
    ]
    usage = {"input_tokens": 100, "cache_creation_input_tokens": 20, "cache_read_input_tokens": 3}
    result = {"type": "result", "subtype": "success", "is_error": False, "num_turns": 1}
    result |= {"result": text, "total_cost_usd": 0.25, "permission_denials": []}
    result["usage"] = {**usage, "output_tokens": 7}
    message = {"role": "assistant", "content": [{"type": "text", "text": text}]}
    return [
        {"type": "system", "subtype": "init", "session_id": session, "model": "claude-x"},
        *({"type": "stream_event", "event": d, "parent_tool_use_id": None} for d in deltas),
        {"type": "assistant", "message": message, "parent_tool_use_id": None},
        {**result, "session_id": session, **fields},
    ]


def codex_says(text: str, *, thread: str = "t-1", tokens: tuple[int, int] = (120, 7)) -> list[Any]:
    """The events of one turn of Codex, as version 0.166 prints them."""
    usage = {"input_tokens": tokens[0], "cached_input_tokens": 0, "output_tokens": tokens[1]}
    return [
        {"type": "thread.started", "thread_id": thread},
        {"type": "turn.started"},
        {"type": "item.completed", "item": {"id": "0", "type": "reasoning", "text": "hm"}},
        {"type": "item.completed", "item": {"id": "1", "type": "agent_message", "text": text}},
        {"type": "turn.completed", "usage": usage},
    ]


def gemini_says(text: str) -> list[dict[str, Any]]:
    """The events of a conversation with Gemini CLI, as version 0.61 prints them."""
    half = len(text) // 2
    return [
        {"type": "init", "session_id": "s", "model": "gemini-x"},
        {"type": "message", "role": "user", "content": "the prompt"},
        {"type": "message", "role": "assistant", "content": text[:half], "delta": True},
        {"type": "message", "role": "assistant", "content": text[half:], "delta": True},
        {"type": "result", "status": "success", "stats": {"input_tokens": 50, "output_tokens": 5}},
    ]
