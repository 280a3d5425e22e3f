"""Codex: `codex exec --json`, its events of threads, turns and items."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from whorl.providers.agents.runner import (
    Command,
    Said,
    count_in,
    model_of,
    permission_of,
    prompt_of,
    refuse_all,
    text_in,
)

if TYPE_CHECKING:
    from whorl.language import Json
    from whorl.providers.agents.order import Order
    from whorl.providers.agents.runner import Means, Reader
    from whorl.providers.settings.agents import AgentSettings

MODES = ("read-only", "workspace-write")

_STATUS = re.compile(r"\bstatus:? (\d{3})\b")


class Codex:
    """Runs `codex exec`, or `codex exec resume` where a conversation goes on."""

    kind = "codex"
    package = "npm install -g @openai/codex"
    provider = "openai"
    takes_schema_file = True

    def command(self, order: Order, agent: AgentSettings, *, means: Means) -> Command:
        """`codex exec [resume] --json ... [THREAD] -`, the prompt on stdin."""
        wishes = {"max_turns": order.max_turns, "max_cost_usd": order.max_cost_usd}
        refuse_all(order, {**wishes, "tools": order.tools}, "has no flag for it; leave it out")
        mode = permission_of(order, MODES)
        # A folder of the project is chosen on purpose, whether or not git knows it.
        options = ["--json", "--skip-git-repo-check"]
        if model := model_of(order, agent, ("openai", "codex")):
            options += ["--model", model]
        if means.base_url:
            options += ["-c", f"openai_base_url={_toml(means.base_url)}"]
        if order.system:
            options += ["-c", f"developer_instructions={_toml(order.system)}"]
        if means.schema_file:
            options += ["--output-schema", means.schema_file]
        if mode:
            options += ["-c", f"sandbox_mode={_toml(mode)}"]
        elif agent.skip_permissions:
            options.append("--dangerously-bypass-approvals-and-sandbox")
        prompt = prompt_of(order, schema=not means.schema_file)
        if not order.session:
            return Command((agent.program, "exec", *options, *agent.flags, "-"), prompt)
        # The operator's flags stand before `resume`, which does not know all of them.
        thread = order.session.partition(":")[0]
        argv = (agent.program, "exec", *agent.flags, "resume", *options, thread, "-")
        return Command(argv, prompt)

    def environment(self, key: str, base_url: str) -> dict[str, str]:
        """Its key and address under all names that versions of it read."""
        given = {"CODEX_API_KEY": key, "OPENAI_API_KEY": key, "OPENAI_BASE_URL": base_url}
        return {name: text for name, text in given.items() if text}

    def reader(self, order: Order) -> Reader:
        """A reader of its events."""
        return _Reader(order.session)


def _toml(text: str) -> str:
    """The text as a TOML string, which is how `-c name=value` takes one."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


class _Reader:
    """Follows the events; the last message of the agent is the answer.

    A thread that is resumed counts its tokens from its beginning, so the name of a session holds
    what was counted before: `THREAD:INPUT:OUTPUT`.
    """

    def __init__(self, session: str) -> None:
        self.said = Said(session=session)
        self._thread, _, counted = session.partition(":")
        before, _, after = counted.partition(":")
        self._before = (int(before), int(after)) if before.isdigit() and after.isdigit() else (0, 0)

    def take(self, event: dict[str, Json]) -> str:
        kind = event.get("type")
        if kind == "thread.started":
            self._thread = text_in(event, "thread_id") or self._thread
            self.said.session = self._thread
        elif kind == "item.completed":
            return self._item(event.get("item"))
        elif kind == "turn.completed":
            self._finish(event.get("usage"))
        elif kind == "turn.failed":
            self.said.ended = True
            self._fail(text_in(event, "error", "message") or "the turn failed")
        elif kind == "error" and not self.said.ended:
            # Also told of tries that are made again, so that only a completed turn settles it.
            self._fail(text_in(event, "message"))
        return ""

    def _item(self, item: Json) -> str:
        text = text_in(item, "text")
        if text_in(item, "type") != "agent_message" or not text:
            return ""
        separator = "\n" if self.said.text else ""
        self.said.text = text
        return separator + text

    def _finish(self, usage: Json) -> None:
        said, (read, written) = self.said, self._before
        total_read, total_written = (
            count_in(usage, "input_tokens"),
            count_in(usage, "output_tokens"),
        )
        said.ended, said.error, said.status = True, "", None
        said.input_tokens = total_read - read if total_read >= read else total_read
        said.output_tokens = total_written - written if total_written >= written else total_written
        if self._thread:
            said.session = f"{self._thread}:{total_read}:{total_written}"

    def _fail(self, message: str) -> None:
        found = _STATUS.search(message)
        self.said.error = message
        self.said.status = int(found[1]) if found else None
