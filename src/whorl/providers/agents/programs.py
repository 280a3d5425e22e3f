"""The agent programs: Claude Code, Codex, Gemini CLI, and any other that prints its answer."""

from __future__ import annotations

import json
import re
from math import isfinite
from typing import TYPE_CHECKING

from whorl.providers.agents.invocation import (
    AgentProgram,
    CommandLine,
    EventReader,
    bare_model,
    prompt_of,
)
from whorl.providers.json_values import table_of, tables_of
from whorl.providers.settings.sections import TEXT_AGENT

if TYPE_CHECKING:
    from whorl.language import Json
    from whorl.providers.agents.invocation import Invocation, Launch

SCHEMA_BYTES_MAX = 100_000

_CLAUDE_INPUT = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
_CLAUDE_SUBTYPES = {
    "error_max_turns": "it reached max_turns before it was done",
    "error_max_budget_usd": "it reached max_cost_usd before it was done",
    "error_max_structured_output_retries": "it gave no answer that fits the schema",
}
_CODEX_STATUS = re.compile(r"\bstatus:? (\d{3})\b")


class Claude(AgentProgram):
    """Claude Code: `claude --print`, its stream of JSON, its sessions by UUID."""

    kind = "claude-code"
    package = "npm install -g @anthropic-ai/claude-code"
    provider = "anthropic"
    modes = ("default", "plan", "acceptEdits", "dontAsk")
    prefixes = ("anthropic", "claude-code")
    lacks = ()

    def command_line(self, invocation: Invocation, launch: Launch) -> CommandLine:
        """`claude --print --output-format stream-json ...`, the prompt on stdin."""
        agent = launch.agent
        argv = [agent.program, "--print", "--output-format", "stream-json", "--verbose"]
        argv.append("--include-partial-messages")
        if invocation.session:
            argv += ["--resume", invocation.session]
        else:
            argv += ["--session-id", launch.session]
        names = invocation.models or ((agent.model,) if agent.model else ())
        models = [bare_model(name, self.prefixes) for name in names]
        argv += ["--model", models[0]] if models else []
        argv += ["--fallback-model", ",".join(models[1:])] if models[1:] else []
        if invocation.system:
            argv.append(f"--append-system-prompt={invocation.system}")
        if invocation.max_turns is not None:
            argv += ["--max-turns", str(invocation.max_turns)]
        if invocation.max_cost_usd is not None:
            argv += ["--max-budget-usd", f"{invocation.max_cost_usd:.6f}"]
        if invocation.tools:
            argv.append(f"--tools={','.join(invocation.tools)}")
        schema = _claude_schema(invocation)
        if schema:
            argv.append(f"--json-schema={schema}")
        if mode := self.permission_mode(invocation):
            argv += ["--permission-mode", mode]
        elif agent.skip_permissions:
            argv.append("--dangerously-skip-permissions")
        return CommandLine((*argv, *agent.flags), prompt_of(invocation, schema=not schema))

    def environment(self, key: str, base_url: str) -> dict[str, str]:
        """Its key and address; no update and no paid-for title in the middle of a run."""
        fixed = {"DISABLE_AUTOUPDATER": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
        return fixed | _set(ANTHROPIC_API_KEY=key, ANTHROPIC_BASE_URL=base_url)

    def reader(self, invocation: Invocation) -> EventReader:
        return _ClaudeReader()


def _claude_schema(invocation: Invocation) -> str:
    """The schema as the flag takes it: the program makes a tool of it, and tools take objects."""
    schema = invocation.schema
    if not isinstance(schema, dict) or schema.get("type") != "object":
        return ""
    written = json.dumps(schema, sort_keys=True)
    if len(written) > SCHEMA_BYTES_MAX:
        invocation.refuse("returns", f"takes a schema of at most {SCHEMA_BYTES_MAX:,} bytes")
    return written


class _ClaudeReader(EventReader):
    """Follows the stream: pieces of text as they come, then one result that says how it went."""

    def __init__(self) -> None:
        super().__init__()
        self._has_pieces = False

    def take(self, event: dict[str, Json]) -> str:
        output = self.output
        output.session = text_in(event, "session_id") or output.session
        kind = event.get("type") or ("result" if "result" in event else "")
        if kind == "result":
            self._finish(event)
        elif event.get("parent_tool_use_id") is not None:
            # An agent that this agent started speaks to it, not to people.
            return ""
        elif kind == "stream_event":
            return self._piece(event.get("event"))
        elif kind == "assistant":
            return self._message(table_of(event.get("message")))
        elif kind == "system":
            output.model = text_in(event, "model") or output.model
        return ""

    def _piece(self, event: Json) -> str:
        piece = text_in(event, "delta", "text")
        if text_in(event, "type") == "content_block_delta" and piece:
            self._has_pieces = True
            return piece
        starts = text_in(event, "content_block", "type") == "text"
        return "\n" if starts and self.output.text else ""

    def _message(self, message: dict[str, Json]) -> str:
        texts = [text_in(block, "text") for block in tables_of(message.get("content"))]
        text = "\n".join(filter(None, texts))
        if not text:
            return ""
        is_shown, self._has_pieces = self._has_pieces, False
        separator = "\n" if self.output.text else ""
        self.output.text += separator + text
        return "" if is_shown else separator + text

    def _finish(self, event: dict[str, Json]) -> None:
        output, usage = self.output, event.get("usage")
        output.ended = True
        output.structured = event.get("structured_output")
        output.text = text_in(event, "result") or output.text
        output.input_tokens = sum(count_in(usage, name) for name in _CLAUDE_INPUT)
        output.output_tokens = count_in(usage, "output_tokens")
        cost = event.get("total_cost_usd")
        if isinstance(cost, int | float) and not isinstance(cost, bool) and isfinite(cost):
            output.cost_usd = max(float(cost), 0.0)
        if turns := count_in(event, "num_turns"):
            output.detail["turns"] = turns
        denials = event.get("permission_denials")
        if isinstance(denials, list) and denials:
            output.detail["denied"] = [text_in(denial, "tool_name") for denial in denials[:20]]
        output.status = count_in(event, "api_error_status") or None
        output.error = _claude_error(event)


def _claude_error(event: dict[str, Json]) -> str:
    """Why it failed; a result can have failed under the subtype `success`."""
    subtype = text_in(event, "subtype") or "success"
    if event.get("is_error") is not True and subtype == "success":
        return ""
    listed = event.get("errors")
    errors = [str(error) for error in listed[:3]] if isinstance(listed, list) else []
    reason = "; ".join(errors) or text_in(event, "error") or text_in(event, "result")
    return _CLAUDE_SUBTYPES.get(subtype) or reason or subtype


class Codex(AgentProgram):
    """`codex exec --json`, or `codex exec resume` where a conversation goes on."""

    kind = "codex"
    package = "npm install -g @openai/codex"
    provider = "openai"
    takes_schema_file = True
    modes = ("read-only", "workspace-write")
    prefixes = ("openai", "codex")

    def command_line(self, invocation: Invocation, launch: Launch) -> CommandLine:
        """`codex exec [resume] --json ... [THREAD] -`, the prompt on stdin."""
        agent, mode = launch.agent, self.permission_mode(invocation)
        # A folder of the project is chosen on purpose, whether or not git knows it.
        options = ["--json", "--skip-git-repo-check"]
        if model := self.model(invocation, launch):
            options += ["--model", model]
        if launch.schema_file:
            options += ["--output-schema", launch.schema_file]
        settings = {
            "openai_base_url": launch.base_url,
            "developer_instructions": invocation.system,
            "sandbox_mode": mode,
        }
        for name, text in settings.items():
            options += ["-c", f"{name}={_toml(text)}"] if text else []
        if agent.skip_permissions and not mode:
            options.append("--dangerously-bypass-approvals-and-sandbox")
        prompt = prompt_of(invocation, schema=not launch.schema_file)
        if not invocation.session:
            return CommandLine((agent.program, "exec", *options, *agent.flags, "-"), prompt)
        # The operator's flags stand before `resume`, which does not know all of them.
        thread = invocation.session.partition(":")[0]
        argv = (agent.program, "exec", *agent.flags, "resume", *options, thread, "-")
        return CommandLine(argv, prompt)

    def environment(self, key: str, base_url: str) -> dict[str, str]:
        """Its key and address under all names that versions of it read."""
        return _set(CODEX_API_KEY=key, OPENAI_API_KEY=key, OPENAI_BASE_URL=base_url)

    def reader(self, invocation: Invocation) -> EventReader:
        return _CodexReader(invocation.session)


def _toml(text: str) -> str:
    """The text as a TOML string, which is how `-c name=value` takes one."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


class _CodexReader(EventReader):
    """Follows the events of threads, turns and items; the last message is the answer.

    A thread that is resumed counts its tokens from its beginning, so the name of a session holds
    what was counted before: `THREAD:INPUT:OUTPUT`.
    """

    def __init__(self, session: str) -> None:
        super().__init__()
        self.output.session = session
        self._thread, _, counts = session.partition(":")
        before, _, after = counts.partition(":")
        self._before = (int(before), int(after)) if before.isdigit() and after.isdigit() else (0, 0)

    def take(self, event: dict[str, Json]) -> str:
        kind, output = event.get("type"), self.output
        if kind == "thread.started":
            self._thread = text_in(event, "thread_id") or self._thread
            output.session = self._thread
        elif kind == "item.completed":
            return self._item(event.get("item"))
        elif kind == "turn.completed":
            self._finish(event.get("usage"))
        elif kind == "turn.failed":
            output.ended = True
            self._fail(text_in(event, "error", "message") or "the turn failed")
        elif kind == "error" and not output.ended:
            # Also told of tries that are made again, so that only a completed turn settles it.
            self._fail(text_in(event, "message"))
        return ""

    def _item(self, item: Json) -> str:
        text = text_in(item, "text")
        if text_in(item, "type") != "agent_message" or not text:
            return ""
        separator = "\n" if self.output.text else ""
        self.output.text = text
        return separator + text

    def _finish(self, usage: Json) -> None:
        output, (read, written) = self.output, self._before
        all_read, all_written = count_in(usage, "input_tokens"), count_in(usage, "output_tokens")
        output.ended, output.error, output.status = True, "", None
        output.input_tokens = all_read - read if all_read >= read else all_read
        output.output_tokens = all_written - written if all_written >= written else all_written
        if self._thread:
            output.session = f"{self._thread}:{all_read}:{all_written}"

    def _fail(self, message: str) -> None:
        status = _CODEX_STATUS.search(message)
        self.output.error = message
        self.output.status = int(status[1]) if status else None


class Gemini(AgentProgram):
    """Gemini CLI; it is given no conversations to go on with."""

    kind = "gemini"
    package = "npm install -g @google/gemini-cli"
    provider = "gemini"
    modes = ("default", "auto_edit", "plan")
    prefixes = ("gemini", "google")
    no_sessions = (
        "keeps no sessions, so it cannot go on with a conversation; use claude-code or codex, or "
        "put what it must know into the prompt"
    )

    def command_line(self, invocation: Invocation, launch: Launch) -> CommandLine:
        """`gemini --output-format stream-json ...`, the prompt on stdin after the system's."""
        agent = launch.agent
        argv = [agent.program, "--output-format", "stream-json"]
        if model := self.model(invocation, launch):
            argv += ["--model", model]
        if mode := self.permission_mode(invocation):
            argv += ["--approval-mode", mode]
        elif agent.skip_permissions:
            argv.append("--yolo")
        prompt = prompt_of(invocation, system=True, schema=True)
        return CommandLine((*argv, *agent.flags), prompt)

    def environment(self, key: str, base_url: str) -> dict[str, str]:
        """Its key, unless that belongs to another host, to which the program would not go."""
        return _set(GEMINI_API_KEY="" if base_url else key)

    def reader(self, invocation: Invocation) -> EventReader:
        return _GeminiReader()


class _GeminiReader(EventReader):
    """Follows the stream: pieces of messages, then one result with counts."""

    def __init__(self) -> None:
        super().__init__()
        self._apart = False

    def take(self, event: dict[str, Json]) -> str:
        kind = event.get("type")
        if kind == "init":
            self.output.model = text_in(event, "model")
        elif kind == "message" and event.get("role") == "assistant":
            return self._message(text_in(event, "content"))
        elif kind == "tool_use":
            self._apart = bool(self.output.text)
        elif kind == "error" and event.get("severity") != "warning":
            self.output.error = text_in(event, "message")
        elif kind == "result":
            self._finish(event)
        return ""

    def _message(self, piece: str) -> str:
        text = f"\n{piece}" if self._apart and piece else piece
        self._apart = self._apart and not piece
        self.output.text += text
        return text

    def _finish(self, event: dict[str, Json]) -> None:
        output, stats = self.output, event.get("stats")
        output.ended = True
        output.input_tokens = count_in(stats, "input_tokens")
        output.output_tokens = count_in(stats, "output_tokens")
        if event.get("status") == "success":
            output.error = ""
        else:
            output.error = text_in(event, "error", "message") or output.error or "it failed"


class TextProgram(AgentProgram):
    """Any other program of the operator: it reads the prompt on stdin and prints the answer."""

    kind = TEXT_AGENT
    lacks = ("model", "max_turns", "max_cost_usd", "permission_mode", "tools")
    lacks_because = f"is of kind {TEXT_AGENT!r}, which has no flag for it; leave it out"
    no_sessions = f"is of kind {TEXT_AGENT!r}, which keeps no sessions"

    def command_line(self, invocation: Invocation, launch: Launch) -> CommandLine:
        """The program and the operator's flags, the prompt on stdin after the system's."""
        prompt = prompt_of(invocation, system=True, schema=True)
        return CommandLine((launch.agent.program, *launch.agent.flags), prompt)


PROGRAMS: dict[str, AgentProgram] = {
    program.kind: program for program in (Claude(), Codex(), Gemini(), TextProgram())
}


def _set(**variables: str) -> dict[str, str]:
    """The variables that have a text."""
    return {name: text for name, text in variables.items() if text}


def text_in(value: Json, *keys: str) -> str:
    """The text at a path of keys, or nothing."""
    for key in keys:
        value = table_of(value).get(key)
    return value if isinstance(value, str) else ""


def count_in(value: Json, key: str) -> int:
    """The whole number at a key; anything that cannot be believed is 0."""
    count = table_of(value).get(key)
    is_believable = isinstance(count, int) and not isinstance(count, bool) and 0 <= count < 2**50
    return int(count) if is_believable and isinstance(count, int) else 0
