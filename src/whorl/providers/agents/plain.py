"""Any other agent program: it reads the prompt on stdin, and what it prints is the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.providers.agents.runner import Command, prompt_of, refuse, refuse_all
from whorl.providers.settings.agents import PLAIN

if TYPE_CHECKING:
    from whorl.providers.agents.order import Order
    from whorl.providers.agents.runner import Means
    from whorl.providers.settings.agents import AgentSettings


class Plain:
    """Runs a program that the operator configured."""

    kind = PLAIN
    package = ""
    provider = ""
    takes_schema_file = False

    def command(self, order: Order, agent: AgentSettings, *, means: Means) -> Command:
        """The program and the operator's flags, the prompt on stdin after the system's."""
        if order.wants_session:
            refuse(order, "session", f"is of kind {PLAIN!r}, which keeps no sessions")
        wishes = {
            "model": order.models,
            "max_turns": order.max_turns,
            "max_cost_usd": order.max_cost_usd,
            "permission_mode": order.permission_mode,
            "tools": order.tools,
        }
        refuse_all(order, wishes, f"is of kind {PLAIN!r}, which has no flag for it; leave it out")
        return Command((agent.program, *agent.flags), prompt_of(order, system=True, schema=True))

    def environment(self, key: str, base_url: str) -> dict[str, str]:
        """Nothing but what the operator gives it."""
        return {}

    def reader(self, order: Order) -> None:
        """Its output is the answer."""
        return
