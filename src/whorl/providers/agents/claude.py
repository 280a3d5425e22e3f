"""Claude Code: `claude --print`, its stream of JSON, its sessions by UUID."""

from __future__ import annotations

import json
from math import isfinite
from typing import TYPE_CHECKING

from whorl.providers.agents.runner import (
    Command,
    Said,
    bare_model,
    count_in,
    permission_of,
    prompt_of,
    refuse,
    text_in,
)

if TYPE_CHECKING:
    from whorl.language import Json
    from whorl.providers.agents.order import Order
    from whorl.providers.agents.runner import Means, Reader
    from whorl.providers.settings.agents import AgentSettings

# Modes in which the program still asks, or refuses, before it runs commands.
MODES = ("default", "plan", "acceptEdits", "dontAsk")
SCHEMA_BYTES_MAX = 100_000

_INPUT_TOKENS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
_SUBTYPES = {
    "error_max_turns": "it reached max_turns before it was done",
    "error_max_budget_usd": "it reached max_cost_usd before it was done",
    "error_max_structured_output_retries": "it gave no answer that fits the schema",
}


class Claude:
    """Runs `claude`."""

    kind = "claude-code"
    package = "npm install -g @anthropic-ai/claude-code"
    provider = "anthropic"
    takes_schema_file = False

    def command(self, order: Order, agent: AgentSettings, *, means: Means) -> Command:
        """`claude --print --output-format stream-json ...`, the prompt on stdin."""
        argv = [agent.program, "--print", "--output-format", "stream-json", "--verbose"]
        argv.append("--include-partial-messages")
        if order.session:
            argv += ["--resume", order.session]
        else:
            argv += ["--session-id", means.session]
        argv += _models(order, agent)
        if order.system:
            argv.append(f"--append-system-prompt={order.system}")
        if order.max_turns is not None:
            argv += ["--max-turns", str(order.max_turns)]
        if order.max_cost_usd is not None:
            argv += ["--max-budget-usd", f"{order.max_cost_usd:.6f}"]
        if order.tools:
            argv.append(f"--tools={','.join(order.tools)}")
        schema = _schema(order)
        if schema:
            argv.append(f"--json-schema={schema}")
        if mode := permission_of(order, MODES):
            argv += ["--permission-mode", mode]
        elif agent.skip_permissions:
            argv.append("--dangerously-skip-permissions")
        return Command((*argv, *agent.flags), prompt_of(order, schema=not schema))

    def environment(self, key: str, base_url: str) -> dict[str, str]:
        """Its key and address; no update and no paid-for title in the middle of a run."""
        found = {"DISABLE_AUTOUPDATER": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
        given = {"ANTHROPIC_API_KEY": key, "ANTHROPIC_BASE_URL": base_url}
        return found | {name: text for name, text in given.items() if text}

    def reader(self, order: Order) -> Reader:
        """A reader of its events."""
        return _Reader()


def _models(order: Order, agent: AgentSettings) -> list[str]:
    names = order.models or ((agent.model,) if agent.model else ())
    models = [bare_model(name, ("anthropic", "claude-code")) for name in names]
    found = ["--model", models[0]] if models else []
    return found + (["--fallback-model", ",".join(models[1:])] if models[1:] else [])


def _schema(order: Order) -> str:
    """The schema as the flag takes it: the program makes a tool of it, and tools take objects."""
    if not isinstance(order.schema, dict) or order.schema.get("type") != "object":
        return ""
    written = json.dumps(order.schema, sort_keys=True)
    if len(written) > SCHEMA_BYTES_MAX:
        refuse(order, "returns", f"takes a schema of at most {SCHEMA_BYTES_MAX:,} bytes")
    return written


class _Reader:
    """Follows the stream: pieces of text as they come, then one result that says how it went."""

    def __init__(self) -> None:
        self.said = Said()
        self._has_pieces = False

    def take(self, event: dict[str, Json]) -> str:
        self.said.session = text_in(event, "session_id") or self.said.session
        kind = event.get("type") or ("result" if "result" in event else "")
        if kind == "result":
            self._finish(event)
            return ""
        if event.get("parent_tool_use_id") is not None:
            # An agent that this agent started speaks to it, not to people.
            return ""
        if kind == "stream_event":
            return self._piece(event)
        if kind == "assistant":
            return self._message(event)
        if kind == "system":
            self.said.model = text_in(event, "model") or self.said.model
        return ""

    def _piece(self, event: dict[str, Json]) -> str:
        inner = event.get("event")
        piece = text_in(inner, "delta", "text")
        if text_in(inner, "type") == "content_block_delta" and piece:
            self._has_pieces = True
            return piece
        starts = text_in(inner, "content_block", "type") == "text"
        return "\n" if starts and self.said.text else ""

    def _message(self, event: dict[str, Json]) -> str:
        message = event.get("message")
        blocks = message.get("content") if isinstance(message, dict) else None
        texts = [text_in(block, "text") for block in blocks] if isinstance(blocks, list) else []
        text = "\n".join(filter(None, texts))
        if not text:
            return ""
        shown, self._has_pieces = self._has_pieces, False
        separator = "\n" if self.said.text else ""
        self.said.text += separator + text
        return "" if shown else separator + text

    def _finish(self, event: dict[str, Json]) -> None:
        said = self.said
        said.ended = True
        said.structured = event.get("structured_output")
        said.text = text_in(event, "result") or said.text
        usage = event.get("usage")
        said.input_tokens = sum(count_in(usage, name) for name in _INPUT_TOKENS)
        said.output_tokens = count_in(usage, "output_tokens")
        cost = event.get("total_cost_usd")
        if isinstance(cost, int | float) and not isinstance(cost, bool) and isfinite(cost):
            said.cost_usd = max(float(cost), 0.0)
        if turns := count_in(event, "num_turns"):
            said.detail["turns"] = turns
        denials = event.get("permission_denials")
        if isinstance(denials, list) and denials:
            said.detail["denied"] = [text_in(denial, "tool_name") for denial in denials[:20]]
        said.status = count_in(event, "api_error_status") or None
        said.error = _error(event)


def _error(event: dict[str, Json]) -> str:
    """Why it failed; a result can have failed under the subtype `success`."""
    subtype = text_in(event, "subtype") or "success"
    if event.get("is_error") is not True and subtype == "success":
        return ""
    listed = event.get("errors")
    errors = [str(error) for error in listed[:3]] if isinstance(listed, list) else []
    told = "; ".join(errors) or text_in(event, "error") or text_in(event, "result")
    return _SUBTYPES.get(subtype) or told or subtype
