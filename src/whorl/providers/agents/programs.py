"""The agent programs, and what is asked of each: its work, its command line, how it is read.

Claude Code, Codex, Gemini CLI, and any other that prints its answer.
"""

from __future__ import annotations

import json
import re
from dataclasses import field
from math import isfinite
from typing import TYPE_CHECKING, NoReturn
from uuid import uuid4

from whorl.errors import ProviderError
from whorl.lazily import dataclass
from whorl.providers.json_values import table_of, tables_of
from whorl.providers.models.conversation import counted, instruction_for
from whorl.providers.settings.sections import TEXT_AGENT

if TYPE_CHECKING:
    from whorl.language import Json
    from whorl.providers.settings import AgentSettings


# What is asked of an agent program: its work, its command line, and how its output is read.

SCHEMA_BYTES_MAX = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Invocation:
    """One piece of work for an agent. Nothing in it but `prompt` and `system` can begin with `-`.

    `session` is a conversation to go on with; `wants_session` says that the next step will ask for
    one. `models` are tried in order. `schema` is what the answer must fit (`strict`: with no field
    more), and `schema_file` holds it for a program that takes one. `settings` are the operator's;
    `base_url` is the provider's address where that is not the usual one.
    """

    agent: str
    settings: AgentSettings
    prompt: str
    system: str = ""
    models: tuple[str, ...] = ()
    folder: str = ""
    session: str = ""
    wants_session: bool = False
    max_turns: int | None = None
    max_cost_usd: float | None = None
    permission_mode: str = ""
    tools: tuple[str, ...] = ()
    schema: Json = None
    strict: bool = False
    whole: bool = False
    schema_file: str = ""
    base_url: str = ""

    def refuse(self, name: str, why: str) -> NoReturn:
        raise ProviderError(f"input {name!r} of task 'agent': {self.agent!r} {why}", code="P113")

    def stdin(self, *, system: bool = False, schema: bool = False) -> str:
        """The prompt, with what the program has no flag for said in words."""
        texts = [self.system] if system and self.system else []
        texts.append(self.prompt)
        if schema and self.schema is not None:
            texts.append(instruction_for(self.schema))
        return "\n\n".join(texts)


@dataclass(slots=True)
class AgentOutput:
    """What a program has said so far. `ended` is true once it said that its work is over.

    `error` holds its own words for what went wrong, even where its exit code claims success.
    `cost_usd` is None where the program does not tell. What `is_plain` is whatever it printed.
    """

    text: str = ""
    structured: Json = None
    session: str = ""
    model: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    error: str = ""
    status: int | None = None
    ended: bool = False
    detail: dict[str, Json] = field(default_factory=dict)
    is_plain: bool = False

    def take(self, event: dict[str, Json]) -> str:
        """Takes in an event that the program printed; gives the text for people to see now."""
        raise NotImplementedError


class AgentProgram:
    """One agent program: how it is started, and how its output is read.

    `package` is how people install it, `provider` the one whose key and address it is given in
    `variables`, `takes_schema_file` whether it takes the schema of an answer in a file. `modes`
    are the permission modes in which it still asks, or refuses, before it runs commands;
    `prefixes` are the providers whose names its models may be written with. `lacks` are the inputs
    for which it has no flag, and `no_sessions` says why it cannot go on with a conversation.
    """

    package = ""
    provider = ""
    takes_schema_file = False
    modes: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ("max_turns", "max_cost_usd", "tools")
    lacks_because = "has no flag for it; leave it out"
    no_sessions = ""
    output_kind: type[AgentOutput] | None = None

    def command_line(self, invocation: Invocation) -> tuple[list[str], str]:
        """The command line, and stdin, which has the prompt so that it is no flag. Raises P113."""
        raise NotImplementedError

    def variables(self, key: str, base_url: str) -> dict[str, str]:
        """What it needs beside PATH and HOME; empty ones are not set."""
        return {}

    def output(self, invocation: Invocation) -> AgentOutput | None:
        """What reads the events that it prints; None where all that it prints is the answer."""
        return None if self.output_kind is None else self.output_kind()

    def check(self, invocation: Invocation) -> None:
        if self.no_sessions and invocation.wants_session:
            invocation.refuse("session", self.no_sessions)
        for name in self.lacks:
            if getattr(invocation, "models" if name == "model" else name):
                invocation.refuse(name, self.lacks_because)

    def models(self, invocation: Invocation) -> list[str]:
        usual = invocation.settings.model
        names = invocation.models or ((usual,) if usual else ())
        bare = [bare_model(name, self.prefixes) for name in names]
        if flags := [name for name in bare if not name or name.startswith("-")]:
            invocation.refuse("model", f"takes the name of a model, not {flags[0]!r:.80}")
        return bare

    def model_flags(self, invocation: Invocation) -> list[str]:
        if len(invocation.models) > 1:
            invocation.refuse("model", "takes one model, not a list")
        return [word for model in self.models(invocation) for word in ("--model", model)]

    def permission_mode(self, invocation: Invocation) -> str:
        """The mode that the author asks for; modes that skip questions are the operator's."""
        mode = invocation.permission_mode
        if mode and mode not in self.modes:
            more = f"skip_permissions or flags in [agents.{invocation.agent}] of whorl.toml"
            why = f"takes {', '.join(self.modes)} here, not {mode!r}"
            invocation.refuse(
                "permission_mode", f"{why}; only the operator can give more, with {more}"
            )
        return mode


def bare_model(model: str, prefixes: tuple[str, ...]) -> str:
    """The model as the program calls it: `anthropic/claude-x` is `claude-x` to claude."""
    provider, slash, name = model.partition("/")
    return name if slash and provider in prefixes else model


def text_in(value: Json, *keys: str) -> str:
    for key in keys:
        value = table_of(value).get(key)
    return value if isinstance(value, str) else ""


def count_in(value: Json, key: str) -> int:
    """The whole number at a key; anything that cannot be believed is 0."""
    return counted(table_of(value).get(key)) or 0


_CLAUDE_INPUT = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
_CLAUDE_SUBTYPES = {
    "error_max_turns": "it reached max_turns before it was done",
    "error_max_budget_usd": "it reached max_cost_usd before it was done",
    "error_max_structured_output_retries": "it gave no answer that fits the schema",
}
_CODEX_STATUS = re.compile(r"\bstatus:? (\d{3})\b")


@dataclass(slots=True)
class _ClaudeOutput(AgentOutput):
    has_pieces: bool = False

    def take(self, event: dict[str, Json]) -> str:
        self.session = text_in(event, "session_id") or self.session
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
            self.model = text_in(event, "model") or self.model
        return ""

    def _piece(self, event: Json) -> str:
        piece = text_in(event, "delta", "text")
        if text_in(event, "type") == "content_block_delta" and piece:
            self.has_pieces = True
            return piece
        starts = text_in(event, "content_block", "type") == "text"
        return "\n" if starts and self.text else ""

    def _message(self, message: dict[str, Json]) -> str:
        texts = [text_in(block, "text") for block in tables_of(message.get("content"))]
        text = "\n".join(filter(None, texts))
        if not text:
            return ""
        is_shown, self.has_pieces = self.has_pieces, False
        added = f"\n{text}" if self.text else text
        self.text += added
        return "" if is_shown else added

    def _finish(self, event: dict[str, Json]) -> None:
        usage = event.get("usage")
        self.ended = True
        self.structured = event.get("structured_output")
        self.text = text_in(event, "result") or self.text
        self.input_tokens = sum(count_in(usage, name) for name in _CLAUDE_INPUT)
        self.output_tokens = count_in(usage, "output_tokens")
        cost = event.get("total_cost_usd")
        if isinstance(cost, int | float) and not isinstance(cost, bool) and isfinite(cost):
            self.cost_usd = max(float(cost), 0.0)
        if turns := count_in(event, "num_turns"):
            self.detail["turns"] = turns
        denials = event.get("permission_denials")
        if isinstance(denials, list) and denials:
            self.detail["denied"] = [text_in(denial, "tool_name") for denial in denials[:20]]
        self.status = count_in(event, "api_error_status") or None
        subtype = text_in(event, "subtype") or "success"
        self.error = ""
        # A result can have failed under the subtype `success`.
        if event.get("is_error") is True or subtype != "success":
            listed = event.get("errors")
            errors = [str(error) for error in listed[:3]] if isinstance(listed, list) else []
            reason = "; ".join(errors) or text_in(event, "error") or text_in(event, "result")
            self.error = _CLAUDE_SUBTYPES.get(subtype) or reason or subtype


class _Claude(AgentProgram):
    """Claude Code: `claude --print`, its stream of JSON, its sessions by UUID."""

    package = "npm install -g @anthropic-ai/claude-code"
    provider = "anthropic"
    modes = ("default", "plan", "acceptEdits", "dontAsk")
    prefixes = ("anthropic", "claude-code")
    lacks = ()
    output_kind = _ClaudeOutput

    def command_line(self, invocation: Invocation) -> tuple[list[str], str]:
        agent = invocation.settings
        argv = [agent.program, "--print", "--output-format", "stream-json", "--verbose"]
        argv.append("--include-partial-messages")
        if invocation.session:
            argv += ["--resume", invocation.session]
        else:
            argv += ["--session-id", str(uuid4())]
        models = self.models(invocation)
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
        # The program makes a tool of the schema, and tools take objects.
        by_flag = table_of(invocation.schema).get("type") == "object"
        if by_flag:
            schema = json.dumps(invocation.schema, sort_keys=True)
            if len(schema) > SCHEMA_BYTES_MAX:
                why = f"takes a schema of at most {SCHEMA_BYTES_MAX:,} bytes"
                invocation.refuse("returns", why)
            argv.append(f"--json-schema={schema}")
        if mode := self.permission_mode(invocation):
            argv += ["--permission-mode", mode]
        elif agent.skip_permissions:
            argv.append("--dangerously-skip-permissions")
        return [*argv, *agent.flags], invocation.stdin(schema=not by_flag)

    def variables(self, key: str, base_url: str) -> dict[str, str]:
        """Its key and address; no update and no paid-for title in the middle of a run."""
        fixed = {"DISABLE_AUTOUPDATER": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
        return fixed | {"ANTHROPIC_API_KEY": key, "ANTHROPIC_BASE_URL": base_url}


class _Codex(AgentProgram):
    """`codex exec --json`, or `codex exec resume` where a conversation goes on."""

    package = "npm install -g @openai/codex"
    provider = "openai"
    takes_schema_file = True
    modes = ("read-only", "workspace-write")
    prefixes = ("openai", "codex")

    def command_line(self, invocation: Invocation) -> tuple[list[str], str]:
        agent, mode = invocation.settings, self.permission_mode(invocation)
        # A folder of the project is chosen on purpose, whether or not git knows it.
        options = ["--json", "--skip-git-repo-check", *self.model_flags(invocation)]
        if invocation.schema_file:
            options += ["--output-schema", invocation.schema_file]
        settings = {
            "openai_base_url": invocation.base_url,
            "developer_instructions": invocation.system,
            "sandbox_mode": mode,
        }
        for name, text in settings.items():
            if text:
                # `-c` takes a TOML string.
                written = json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
                options += ["-c", f"{name}={written}"]
        if agent.skip_permissions and not mode:
            options.append("--dangerously-bypass-approvals-and-sandbox")
        prompt = invocation.stdin(schema=not invocation.schema_file)
        if not invocation.session:
            return [agent.program, "exec", *options, *agent.flags, "-"], prompt
        # The operator's flags stand before `resume`, which does not know all of them.
        thread = invocation.session.partition(":")[0]
        return [agent.program, "exec", *agent.flags, "resume", *options, thread, "-"], prompt

    def variables(self, key: str, base_url: str) -> dict[str, str]:
        """Its key and address under all names that versions of it read."""
        return {"CODEX_API_KEY": key, "OPENAI_API_KEY": key, "OPENAI_BASE_URL": base_url}

    def output(self, invocation: Invocation) -> AgentOutput:
        return _CodexOutput(session=invocation.session)


class _CodexOutput(AgentOutput):
    """Follows the events of threads, turns and items; the last message is the answer.

    A thread that is resumed counts its tokens from its beginning, so the name of a session holds
    what was counted before: `THREAD:INPUT:OUTPUT`.
    """

    def __init__(self, session: str) -> None:
        super().__init__(session=session)
        self._thread, _, counts = session.partition(":")
        before, _, after = counts.partition(":")
        self._before = (int(before), int(after)) if before.isdigit() and after.isdigit() else (0, 0)

    def take(self, event: dict[str, Json]) -> str:
        kind = event.get("type")
        if kind == "thread.started":
            self._thread = text_in(event, "thread_id") or self._thread
            self.session = self._thread
        elif kind == "item.completed":
            return self._item(event.get("item"))
        elif kind == "turn.completed":
            self._finish(event.get("usage"))
        elif kind == "turn.failed":
            self.ended = True
            self._fail(text_in(event, "error", "message") or "the turn failed")
        elif kind == "error" and not self.ended:
            # Also told of tries that are made again, so that only a completed turn settles it.
            self._fail(text_in(event, "message"))
        return ""

    def _item(self, item: Json) -> str:
        text = text_in(item, "text")
        if text_in(item, "type") != "agent_message" or not text:
            return ""
        separator = "\n" if self.text else ""
        self.text = text
        return separator + text

    def _finish(self, usage: Json) -> None:
        read, written = self._before
        all_read, all_written = count_in(usage, "input_tokens"), count_in(usage, "output_tokens")
        self.ended, self.error, self.status = True, "", None
        self.input_tokens = all_read - read if all_read >= read else all_read
        self.output_tokens = all_written - written if all_written >= written else all_written
        if self._thread:
            self.session = f"{self._thread}:{all_read}:{all_written}"

    def _fail(self, message: str) -> None:
        status = _CODEX_STATUS.search(message)
        self.error = message
        self.status = int(status[1]) if status else None


@dataclass(slots=True)
class _GeminiOutput(AgentOutput):
    # Whether a tool was used since the last piece, so that the next one begins a line.
    is_apart: bool = False

    def take(self, event: dict[str, Json]) -> str:
        kind = event.get("type")
        if kind == "init":
            self.model = text_in(event, "model")
        elif kind == "message" and event.get("role") == "assistant":
            piece = text_in(event, "content")
            text = f"\n{piece}" if self.is_apart and piece else piece
            self.is_apart = self.is_apart and not piece
            self.text += text
            return text
        elif kind == "tool_use":
            self.is_apart = bool(self.text)
        elif kind == "error" and event.get("severity") != "warning":
            self.error = text_in(event, "message")
        elif kind == "result":
            self.ended = True
            self.input_tokens = count_in(event.get("stats"), "input_tokens")
            self.output_tokens = count_in(event.get("stats"), "output_tokens")
            words = text_in(event, "error", "message") or self.error or "it failed"
            self.error = "" if event.get("status") == "success" else words
        return ""


class _Gemini(AgentProgram):
    package = "npm install -g @google/gemini-cli"
    provider = "gemini"
    modes = ("default", "auto_edit", "plan")
    prefixes = ("gemini", "google")
    output_kind = _GeminiOutput
    no_sessions = (
        "keeps no sessions, so it cannot continue a conversation; use claude-code or codex, or "
        "put what it must know into the prompt"
    )

    def command_line(self, invocation: Invocation) -> tuple[list[str], str]:
        agent = invocation.settings
        argv = [agent.program, "--output-format", "stream-json", *self.model_flags(invocation)]
        if mode := self.permission_mode(invocation):
            argv += ["--approval-mode", mode]
        elif agent.skip_permissions:
            argv.append("--yolo")
        return [*argv, *agent.flags], invocation.stdin(system=True, schema=True)

    def variables(self, key: str, base_url: str) -> dict[str, str]:
        """Its key, unless that belongs to another host, to which the program would not go."""
        return {"GEMINI_API_KEY": "" if base_url else key}


class _TextProgram(AgentProgram):
    lacks = ("model", "max_turns", "max_cost_usd", "permission_mode", "tools")
    lacks_because = f"is of kind {TEXT_AGENT!r}, which has no flag for it; leave it out"
    no_sessions = f"is of kind {TEXT_AGENT!r}, which keeps no sessions"

    def command_line(self, invocation: Invocation) -> tuple[list[str], str]:
        argv = [invocation.settings.program, *invocation.settings.flags]
        return argv, invocation.stdin(system=True, schema=True)


PROGRAMS: dict[str, AgentProgram] = {
    "claude-code": _Claude(),
    "codex": _Codex(),
    "gemini": _Gemini(),
    TEXT_AGENT: _TextProgram(),
}
