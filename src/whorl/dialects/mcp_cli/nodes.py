"""What all steps and loops share as nodes: order, condition, failure, time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypedDict

from whorl import ir
from whorl.dialects.mcp_cli.calls import place_of
from whorl.dialects.mcp_cli.scalars import duration_of, text_of, whole_of
from whorl.dialects.mcp_cli.variables import View

if TYPE_CHECKING:
    from whorl.dialects.mcp_cli.draft import Draft, Item
    from whorl.dialects.mcp_cli.execution import Execution
    from whorl.dialects.mcp_cli.order import Order
    from whorl.dialects.mcp_cli.texts import Texts

# How often `retry` tries again where the file does not say.
RETRIES = 3


@dataclass(frozen=True, slots=True)
class Page:
    """What the readers of steps and loops share."""

    draft: Draft
    texts: Texts
    order: Order
    execution: Execution

    def view(self, item: Item) -> View:
        """From where the texts of a step look."""
        return View(item, before=self.order.before.get(item.name))


class Shared(TypedDict):
    """What all nodes take, by the names of the IR."""

    name: str
    after: tuple[ir.After, ...]
    when: ir.Expression | None
    on_failure: Literal["halt", "continue"]
    retry: ir.Retry | None
    timeout_s: float | None
    place: str


def read_shared(page: Page, item: Item) -> Shared:
    """Reads the fields that every step has; those of a top-level loop are the loop's own."""
    is_step = item.loop is not item.fields
    failure = text_of(item.get("on_failure")) if is_step else ""
    tolerated = failure == "continue" or (not failure and page.execution.tolerates)
    times = whole_of(item.get("max_retries")) or RETRIES
    return {
        "name": item.name,
        "after": page.order.after(item, parallel=page.execution.parallel),
        "when": page.texts.condition(item.get("if"), page.view(item)) if is_step else None,
        "on_failure": "continue" if tolerated else "halt",
        "retry": ir.Retry(times, on=("*",)) if failure == "retry" else None,
        "timeout_s": duration_of(item.get("timeout")) if is_step else None,
        "place": place_of(item.key),
    }
