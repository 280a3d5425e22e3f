"""Gemini CLI: `gemini --output-format stream-json`; it is given no conversations to go on with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.providers.agents.runner import (
    Command,
    Said,
    count_in,
    model_of,
    permission_of,
    prompt_of,
    refuse,
    refuse_all,
    text_in,
)

if TYPE_CHECKING:
    from whorl.language import Json
    from whorl.providers.agents.order import Order
    from whorl.providers.agents.runner import Means, Reader
    from whorl.providers.settings.agents import AgentSettings

MODES = ("default", "auto_edit", "plan")


class Gemini:
    """Runs `gemini`."""

    kind = "gemini"
    package = "npm install -g @google/gemini-cli"
    provider = "gemini"
    takes_schema_file = False

    def command(self, order: Order, agent: AgentSettings, *, means: Means) -> Command:
        """`gemini --output-format stream-json ...`, the prompt on stdin after the system's."""
        if order.wants_session:
            refuse(
                order,
                "session",
                "keeps no sessions, so it cannot go on with a conversation; use claude-code or "
                "codex, or put what it must know into the prompt",
            )
        wishes = {"max_turns": order.max_turns, "max_cost_usd": order.max_cost_usd}
        refuse_all(order, {**wishes, "tools": order.tools}, "has no flag for it; leave it out")
        argv = [agent.program, "--output-format", "stream-json"]
        if model := model_of(order, agent, ("gemini", "google")):
            argv += ["--model", model]
        if mode := permission_of(order, MODES):
            argv += ["--approval-mode", mode]
        elif agent.skip_permissions:
            argv.append("--yolo")
        return Command((*argv, *agent.flags), prompt_of(order, system=True, schema=True))

    def environment(self, key: str, base_url: str) -> dict[str, str]:
        """Its key, unless that belongs to another host, to which the program would not go."""
        return {"GEMINI_API_KEY": key} if key and not base_url else {}

    def reader(self, order: Order) -> Reader:
        """A reader of its events."""
        return _Reader()


class _Reader:
    """Follows the stream: pieces of messages, then one result with counts."""

    def __init__(self) -> None:
        self.said = Said()
        self._apart = False

    def take(self, event: dict[str, Json]) -> str:
        kind = event.get("type")
        if kind == "init":
            self.said.model = text_in(event, "model")
        elif kind == "message" and event.get("role") == "assistant":
            return self._message(text_in(event, "content"))
        elif kind == "tool_use":
            self._apart = bool(self.said.text)
        elif kind == "error" and event.get("severity") != "warning":
            self.said.error = text_in(event, "message")
        elif kind == "result":
            self._finish(event)
        return ""

    def _message(self, piece: str) -> str:
        text = f"\n{piece}" if self._apart and piece else piece
        self._apart = self._apart and not piece
        self.said.text += text
        return text

    def _finish(self, event: dict[str, Json]) -> None:
        said, stats = self.said, event.get("stats")
        said.ended = True
        said.input_tokens = count_in(stats, "input_tokens")
        said.output_tokens = count_in(stats, "output_tokens")
        if event.get("status") == "success":
            said.error = ""
        else:
            said.error = text_in(event, "error", "message") or said.error or "it failed"
